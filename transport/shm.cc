#include "transport/shm.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/log.h"
#include "base/param.h"
#include "transport/socket.h"

namespace gyre {

GYRE_PARAM(cma, bool, true, "single copy between local processes by process_vm_readv");

namespace {

constexpr std::uint32_t kHelloMagic = 0x68736d31;

// Fixed frames on the unix socket; a descriptor rides with hello and region.
enum class NoteKind : std::uint32_t { hello = kHelloMagic, region = 1, freed = 2, bye = 3 };
struct Note {
  NoteKind kind;
  std::uint32_t id = 0;
  std::uint64_t bytes = 0;  // of a region; in hello the address of the token
  std::uint8_t token[16] = {};
};
static_assert(sizeof(Note) == 32);

Status send_note(int socket, const Note& note, int descriptor) {
  iovec part{const_cast<Note*>(&note), sizeof note};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  // Notes are few and small: they always fit the socket's buffer, so a short or refused send means
  // the peer is gone.
  if (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(sizeof note))
    return error(Code::remote, "send to a local peer").because(errno);
  return {};
}

struct Received {
  Note note{NoteKind::bye};
  Fd descriptor;
};

// A descriptor that comes where none is free is lost for good, so room is made before.
void make_room_for_descriptor(int any) {
  const Fd spare(fcntl(any, F_DUPFD_CLOEXEC, 0));
  if (!spare && errno == EMFILE) (void)raise_file_limit();
}

// One note, nullopt when none is there yet; remote error at the end of the stream.
Result<std::optional<Received>> receive_note(int socket) {
  char first;
  if (recv(socket, &first, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN)
    return std::optional<Received>();
  make_room_for_descriptor(socket);
  Received out;
  iovec part{&out.note, sizeof out.note};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::optional<Received>();
  if (got <= 0) return error(Code::remote, "closed its connection");
  if (message.msg_flags & MSG_CTRUNC) return descriptor_error("taking a peer's memory", EMFILE);
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(c), sizeof(int));
    out.descriptor.reset(descriptor);
  }
  if (got != static_cast<ssize_t>(sizeof out.note))
    return error(Code::remote, "sent a broken note of {} B", got);
  return std::optional(std::move(out));
}

class ShmLink final : public Link {
 public:
  ShmLink(const ShmEnds& ends, Fd socket, DeskView view, pid_t pid)
      : Link(ends.peer),
        ends_(ends),
        socket_(std::move(socket)),
        view_(std::move(view)),
        pid_(pid) {}
  ~ShmLink() override { (void)send_note(socket_.get(), Note{NoteKind::bye}, -1); }

  const char* name() const override { return ends_.same_process ? "loop" : "shm"; }

  Result<FifoReader> incoming(const EdgeKey& key, const FifoShape& shape) override {
    return FifoReader(GYRE_TRY(ends_.desk->open_fifo(peer(), key, shape)));
  }
  Result<std::optional<FifoWriter>> outgoing(const EdgeKey& key, const FifoShape& shape) override {
    const auto memory = GYRE_TRY(view_.find_fifo(ends_.rank, key, shape));
    return memory ? std::optional(FifoWriter(*memory)) : std::nullopt;
  }

  Status announce(const RegionRef& region) override;
  bool can_map() const override { return true; }
  Result<std::byte*> map(const RemoteRange& range) override;
  bool can_pull() const override { return can_pull_; }
  Status pull(void* target, std::uint64_t source, std::size_t bytes) override;
  bool borrow() override;
  void give_back() override { ends_.desk->end_touch(); }
  std::uint32_t touches() const override { return view_.touches(); }
  Result<PeerNews> check() override;
  void leave(const Farewell& farewell) override {
    view_.leave(farewell);
    ring_bell(view_.bell());
  }
  Bell* bell() override { return &view_.bell(); }
  void watch(std::vector<pollfd>& into) const override {
    if (!closed_) into.push_back({socket_.get(), POLLIN, 0});
  }

  void probe_pull(const Note& hello);

 private:
  struct PeerRegion {
    std::uint32_t id;
    Mapping mapping;
  };
  Status read_notes();
  std::byte* find(const RemoteRange& range) const;

  ShmEnds ends_;
  Fd socket_;
  DeskView view_;
  pid_t pid_;
  bool can_pull_ = false;
  bool closed_ = false;  // the peer said bye
  std::vector<PeerRegion> theirs_;
  std::vector<RegionRef> announced_;
  std::uint64_t generation_ = 0;  // of the region table when announced_ was last swept
};

// Tells the peer of regions freed since the last call, so that it unmaps them.
Status ShmLink::announce(const RegionRef& region) {
  if (ends_.same_process) return {};
  if (const std::uint64_t now = region_generation(); now != generation_) {
    generation_ = now;
    for (std::size_t i = 0; i < announced_.size();) {
      if (find_region(announced_[i]->base, 1) == announced_[i]) {
        ++i;
        continue;
      }
      GYRE_TRY(send_note(socket_.get(), Note{NoteKind::freed, announced_[i]->id}, -1));
      announced_.erase(announced_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (const RegionRef& known : announced_)
    if (known == region) return {};
  GYRE_TRY(send_note(socket_.get(), Note{NoteKind::region, region->id, region->bytes},
                     region->fd.get()));
  announced_.push_back(region);
  return {};
}

std::byte* ShmLink::find(const RemoteRange& range) const {
  for (const PeerRegion& region : theirs_)
    if (region.id == range.window) return region.mapping.data() + range.offset;
  return nullptr;
}

Result<std::byte*> ShmLink::map(const RemoteRange& range) {
  if (range.window == 0)
    return ends_.same_process ? reinterpret_cast<std::byte*>(range.offset) : nullptr;
  if (ends_.same_process) {
    const RegionRef region = find_region(range.window);
    return region ? region->base + range.offset : nullptr;
  }
  if (std::byte* known = find(range)) return known;
  GYRE_TRY(read_notes());  // the announcement came before the range that names it
  // Null when it was freed since: of a call whose peers have long finished their parts, and which
  // then does not touch it.
  return find(range);
}

Status ShmLink::read_notes() {
  while (!closed_) {
    std::optional<Received> got =
        GYRE_TRY_WHILE(receive_note(socket_.get()), "reading from rank {}", peer());
    if (!got) return {};
    switch (got->note.kind) {
      case NoteKind::region: {
        Mapping mapping = GYRE_TRY(map_region(got->descriptor.get(), got->note.bytes));
        theirs_.push_back({got->note.id, std::move(mapping)});
        break;
      }
      case NoteKind::freed:
        std::erase_if(theirs_, [&](const PeerRegion& r) { return r.id == got->note.id; });
        break;
      case NoteKind::bye:
        closed_ = true;
        break;
      case NoteKind::hello:
        return error(Code::internal, "rank {} greeted twice", peer());
    }
  }
  return {};
}

Status ShmLink::pull(void* target, std::uint64_t source, std::size_t bytes) {
  auto* to = static_cast<std::byte*>(target);
  while (bytes > 0) {  // the kernel may copy less than asked
    const iovec local{to, bytes};
    const iovec remote{reinterpret_cast<void*>(source), bytes};
    const ssize_t got = process_vm_readv(pid_, &local, 1, &remote, 1, 0);
    if (got <= 0)
      return error(Code::remote, "process_vm_readv of {} B from rank {}", bytes, peer())
          .because(got < 0 ? errno : EFAULT)
          .blame(peer());
    to += got;
    source += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return {};
}

bool ShmLink::borrow() {
  ends_.desk->begin_touch();
  if (!view_.recalled()) return true;
  ends_.desk->end_touch();
  return false;
}

void ShmLink::probe_pull(const Note& hello) {
  if (!param_cma.get() || pid_ <= 0) return;
  DeskToken seen{};
  can_pull_ = static_cast<bool>(pull(seen.data(), hello.bytes, seen.size())) &&
              std::memcmp(seen.data(), hello.token, seen.size()) == 0;
  if (!can_pull_ && log_first("no process_vm_readv"))
    GYRE_LOG(info, "process_vm_readv from local peers is refused; copying through shared memory");
}

// Farewells of local peers lie in this rank's desk.
Result<PeerNews> ShmLink::check() {
  if (!read_notes())
    return error(Code::remote, "rank {} is gone: its process (pid {}) ended", peer(), pid_)
        .blame(peer());
  return PeerNews{.left = closed_};
}

}  // namespace

Status greet_shm(int socket, const Desk& desk) {
  Note hello{NoteKind::hello, 0, reinterpret_cast<std::uint64_t>(&desk.token())};
  std::memcpy(hello.token, desk.token().data(), sizeof hello.token);
  return send_note(socket, hello, desk.descriptor());
}

Result<std::unique_ptr<Link>> meet_shm(Fd& socket, const ShmEnds& ends) {
  Result<std::optional<Received>> heard = receive_note(socket.get());
  if (!heard)
    return heard.take_error().context(fmt::format("greeting rank {}", ends.peer)).blame(ends.peer);
  std::optional<Received>& got = *heard;
  if (!got) return std::unique_ptr<Link>();
  if (got->note.kind != NoteKind::hello || !got->descriptor)
    return error(Code::remote, "rank {} sent no greeting", ends.peer).blame(ends.peer);
  std::optional<DeskView> shared;
  if (ends.same_process) shared = DeskView::share(std::to_array(got->note.token));
  DeskView view = shared ? *std::move(shared) : GYRE_TRY(DeskView::map(std::move(got->descriptor)));
  if (std::memcmp(view.token().data(), got->note.token, sizeof got->note.token) != 0)
    return error(Code::internal, "rank {}'s shared memory does not hold its token", ends.peer);
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
    credentials.pid = 0;
  auto link = std::make_unique<ShmLink>(ends, std::move(socket), std::move(view), credentials.pid);
  link->probe_pull(got->note);
  return std::unique_ptr<Link>(std::move(link));
}

}  // namespace gyre
