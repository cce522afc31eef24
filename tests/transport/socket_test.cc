#include "transport/socket.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>

namespace gyre {
namespace {

Address loopback(std::uint16_t port = 0) { return Address::v4({127, 0, 0, 1}, port); }
Until within(Nanos span) { return {deadline_in(span)}; }

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

struct Pair {
  Listener door;
  Socket near, far;
};

Pair connected(const Address& at) {
  Pair out;
  out.door = *Listener::open(at);
  out.near = *Socket::connect(out.door.local(), within(5_s));
  EXPECT_TRUE(wait_ready(out.door.fd(), POLLIN, within(5_s), "accept"));
  auto caller = out.door.accept();
  out.far = std::move(**caller);
  return out;
}

TEST(Socket, whole_messages_cross_even_when_buffers_are_smaller) {
  for (const Address& at : {loopback(), Address::abstract_unix("gyre-test-whole")}) {
    Pair pair = connected(at);
    std::vector<std::byte> sent(8 << 20), got(sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i)
      sent[i] = static_cast<std::byte>(i * 2654435761u >> 13);
    std::thread sender([&] { EXPECT_TRUE(pair.near.send_all(sent, within(20_s))); });
    EXPECT_TRUE(pair.far.recv_all(got, within(20_s)));
    sender.join();
    EXPECT_TRUE(sent == got);
  }
}

TEST(Socket, silence_ends_at_the_deadline) {
  Pair pair = connected(loopback());
  std::byte one;
  const Status status = pair.near.recv_all({&one, 1}, within(30_ms));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::timeout);
  EXPECT_NE(status.error().text.find(pair.near.remote().text()), std::string::npos)
      << status.error().text;
}

TEST(Socket, a_full_pipe_ends_at_the_deadline) {
  Pair pair = connected(loopback());
  const std::vector<std::byte> much(64 << 20);
  const Status status = pair.near.send_all(much, within(50_ms));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::timeout);
}

TEST(Socket, abort_word_ends_a_wait_without_limit) {
  Pair pair = connected(loopback());
  std::atomic<bool> abort{false};
  std::atomic<bool> waiting{false};
  Code code = Code::ok;
  std::thread waiter([&] {
    std::byte one;
    waiting = true;
    if (Status status = pair.near.recv_all({&one, 1}, {kNever, &abort}); !status)
      code = status.error().code;
  });
  while (!waiting) std::this_thread::yield();
  abort = true;
  waiter.join();
  EXPECT_EQ(code, Code::aborted);
}

TEST(Socket, refused_connection_names_both_ends_and_the_reason) {
  std::uint16_t port;
  {
    Listener door = *Listener::open(loopback());
    port = door.local().port();
  }
  const auto socket = Socket::connect(loopback(port), within(5_s));
  ASSERT_FALSE(socket);
  EXPECT_NE(socket.error().text.find(fmt::format("to 127.0.0.1:{}", port)), std::string::npos);
  EXPECT_NE(socket.error().text.find("Connection refused"), std::string::npos);
}

TEST(Socket, closed_peer_is_an_error_and_not_a_signal) {
  Pair pair = connected(loopback());
  pair.far = Socket();
  EXPECT_TRUE(wait_ready(pair.near.fd(), POLLIN, within(5_s), "end"));
  std::byte one{};
  const Status got = pair.near.recv_all({&one, 1}, within(5_s));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::remote);
  Status sent;
  for (int i = 0; i < 1000 && sent; ++i) sent = pair.near.send_all({&one, 1}, within(5_s));
  EXPECT_FALSE(sent);
}

TEST(Socket, descriptors_ride_over_unix_sockets) {
  Pair pair = connected(Address::abstract_unix("gyre-test-fds"));
  Fd memory(memfd_create("gyre-test", MFD_CLOEXEC));
  ASSERT_EQ(::write(memory.get(), "hello", 5), 5);
  const int fds[] = {memory.get(), memory.get()};
  ASSERT_TRUE(pair.near.send_fds(fds, bytes_of("two files"), within(5_s)));
  std::byte text[9];
  auto got = pair.far.recv_fds(text, within(5_s));
  ASSERT_TRUE(got) << got.error().text;
  ASSERT_EQ(got->size(), 2u);
  EXPECT_EQ(std::memcmp(text, "two files", 9), 0);
  char back[5];
  ASSERT_EQ(::pread((*got)[1].get(), back, 5, 0), 5);
  EXPECT_EQ(std::memcmp(back, "hello", 5), 0);
}

TEST(Listener, address_in_use_is_named) {
  Listener first = *Listener::open(loopback());
  const auto second = Listener::open(first.local());
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text.find(first.local().text()), std::string::npos);
  EXPECT_NE(second.error().text.find("Address already in use"), std::string::npos);
}

TEST(Listener, port_is_free_again_at_once_though_a_fork_still_holds_it) {
  Listener door = *Listener::open(loopback());
  const Address at = door.local();
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char c;
    ::close(gate[1]);
    (void)!::read(gate[0], &c, 1);
    ::_exit(0);
  }
  ::close(gate[0]);
  door.close();
  EXPECT_TRUE(Listener::open(at));
  ::close(gate[1]);
  ::waitpid(child, nullptr, 0);
}

TEST(Listener, a_forked_child_that_ends_leaves_its_parents_door_open) {
  Listener door = *Listener::open(loopback());
  const pid_t child = ::fork();
  if (child == 0) {
    door.close();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(Socket::connect(door.local(), within(5_s)));
}

TEST(Listener, ports_come_from_the_range_and_a_small_range_says_how_many_it_takes) {
  const PortRange range = *parse_port_range("21230-21232");
  std::vector<Listener> doors;
  for (int i = 0; i < 3; ++i) {
    auto door = Listener::open(loopback(), range);
    ASSERT_TRUE(door) << door.error().text;
    EXPECT_GE(door->local().port(), 21230);
    EXPECT_LE(door->local().port(), 21232);
    doors.push_back(*std::move(door));
  }
  const auto more = Listener::open(loopback(), range);
  ASSERT_FALSE(more);
  const std::string& text = more.error().text;
  EXPECT_NE(text.find("GYRE_PORT_RANGE=21230-21232"), std::string::npos) << text;
  EXPECT_NE(text.find("all 3 are taken and at least 4 are needed"), std::string::npos) << text;
}

TEST(Listener, malformed_range_is_refused) {
  for (const char* bad : {"42000", "42000-", "5-4", "0-9", "1-70000", "a-b", "1-2-3"})
    EXPECT_FALSE(parse_port_range(bad)) << bad;
}

// In a child, since limits are the process's own.
int in_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Socket, soft_file_limit_is_raised_and_the_hard_one_named) {
  EXPECT_EQ(0, in_child([] {
              rlimit limit{12, 24};
              if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
              Listener door = *Listener::open(loopback());
              std::vector<Socket> sockets;
              for (int i = 0; i < 30; ++i) {
                auto socket = Socket::start(door.local());
                if (!socket)
                  return i > 12 && socket.error().text.find("24") != std::string::npos &&
                         socket.error().text.find("RLIMIT_NOFILE") != std::string::npos;
                sockets.push_back(*std::move(socket));
              }
              return false;
            }));
}

}  // namespace
}  // namespace gyre
