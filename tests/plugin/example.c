/* An example transport: messages of up to 16 KiB over unix sockets (SOCK_SEQPACKET) with abstract
 * names, so that nothing is left in a file system. Knows the public header alone. It shows what a
 * fabric of messages has to do: cut long posts short, and keep a message that the reader has not
 * room for. */
#include <gyre/transport.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { kMessageBytes = 16384, kPartsMax = 16, kNameBytes = 24 };

struct Listener {
  int socket;
};

struct Connection {
  int socket;
  size_t first, last; /* of the message not yet given in whole */
  char message[kMessageBytes];
};

static socklen_t address_of(const void* card, size_t bytes, struct sockaddr_un* address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path + 1, card, bytes); /* a leading 0: no file */
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + bytes);
}

static gyreTransportResult_t stopped(void) {
  return errno == EAGAIN || errno == EINTR ? gyreTransportAgain : gyreTransportFailed;
}

static gyreTransportResult_t wrap(int socket, void** connection) {
  struct Connection* made = calloc(1, sizeof *made);
  if (!made) {
    close(socket);
    errno = ENOMEM;
    return gyreTransportFailed;
  }
  made->socket = socket;
  *connection = made;
  return gyreTransportDone;
}

/* The tests make it the better or the worse choice. */
static int example_reach(const void* card, size_t card_bytes) {
  (void)card;
  const char* score = getenv("EXAMPLE_SCORE");
  if (card_bytes != kNameBytes) return 0;
  return score ? atoi(score) : GYRE_TRANSPORT_SCORE_SHM + 1;
}

static gyreTransportResult_t example_listen(void** listener, void* card, size_t* card_bytes) {
  if (getrandom(card, kNameBytes, 0) != kNameBytes) return gyreTransportFailed;
  struct sockaddr_un address;
  const socklen_t length = address_of(card, kNameBytes, &address);
  const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct Listener* out = calloc(1, sizeof *out);
  if (!out || made < 0 || bind(made, (struct sockaddr*)&address, length) != 0 ||
      listen(made, 4) != 0) {
    const int reason = errno;
    free(out);
    if (made >= 0) close(made);
    errno = reason;
    return gyreTransportFailed;
  }
  out->socket = made;
  *listener = out;
  *card_bytes = kNameBytes;
  return gyreTransportDone;
}

static gyreTransportResult_t example_dial(const void* card, size_t card_bytes, void** connection) {
  struct sockaddr_un address;
  const socklen_t length = address_of(card, card_bytes, &address);
  const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return gyreTransportFailed;
  if (connect(made, (struct sockaddr*)&address, length) == 0) return wrap(made, connection);
  const int reason = errno;
  close(made);
  errno = reason;
  return stopped();
}

static gyreTransportResult_t example_answer(void* listener, void** connection) {
  const int caller =
      accept4(((struct Listener*)listener)->socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  return caller < 0 ? stopped() : wrap(caller, connection);
}

static void example_close_listener(void* listener) {
  close(((struct Listener*)listener)->socket);
  free(listener);
}

static gyreTransportResult_t example_post(void* connection, const gyreTransportPart_t* parts,
                                          size_t part_count, size_t* posted_bytes) {
  struct iovec some[kPartsMax];
  size_t count = 0, room = kMessageBytes;
  for (; count < part_count && count < kPartsMax && room > 0; ++count) {
    some[count].iov_base = (void*)parts[count].data;
    some[count].iov_len = parts[count].bytes < room ? parts[count].bytes : room;
    room -= some[count].iov_len;
  }
  const struct msghdr message = {.msg_iov = some, .msg_iovlen = count};
  const ssize_t sent =
      sendmsg(((struct Connection*)connection)->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return stopped();
  *posted_bytes = (size_t)sent;
  return gyreTransportDone;
}

static gyreTransportResult_t example_poll(void* connection, void* into, size_t room_bytes,
                                          size_t* received_bytes) {
  struct Connection* from = connection;
  if (from->first == from->last) {
    ssize_t got = recv(from->socket, from->message, sizeof from->message, MSG_DONTWAIT);
    /* A unix socket tells that the peer closed with bytes unread before it gives what came earlier.
     */
    if (got < 0 && errno == ECONNRESET)
      got = recv(from->socket, from->message, sizeof from->message, MSG_DONTWAIT);
    if (got == 0) return gyreTransportClosed;
    if (got < 0) return stopped();
    from->first = 0;
    from->last = (size_t)got;
  }
  const size_t there = from->last - from->first;
  const size_t step = there < room_bytes ? there : room_bytes;
  memcpy(into, from->message + from->first, step);
  from->first += step;
  *received_bytes = step;
  return gyreTransportDone;
}

static int example_descriptor(void* connection) { return ((struct Connection*)connection)->socket; }

static void example_close(void* connection) {
  close(((struct Connection*)connection)->socket);
  free(connection);
}

__attribute__((visibility("default"))) const gyreTransportPlugin_v1_t gyreTransportPlugin_v1 = {
    .size = sizeof(gyreTransportPlugin_v1_t),
    .name = "example",
    .reach = example_reach,
    .listen = example_listen,
    .dial = example_dial,
    .answer = example_answer,
    .close_listener = example_close_listener,
    .post = example_post,
    .poll = example_poll,
    .descriptor = example_descriptor,
    .close = example_close,
};
