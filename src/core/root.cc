#include "core/root.h"

#include "base/log.h"
#include "base/thread.h"
#include "core/roll_call.h"
#include "transport/interfaces.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <optional>

namespace gyre {

namespace {

constexpr Nanos kStrangerLimit = 2_s;
constexpr std::size_t kStrangersMax = 1024;

// A connection that has not yet proven to know the secret.
struct Stranger {
  Handshake handshake;
  Nanos since;
};

// A rank of this job, or a process that can say which it is.
struct Member {
  Socket socket;
  std::uint16_t protocol = 0;
  std::optional<Join> join;
  std::array<std::byte, std::max(sizeof(Join), sizeof(Word))> frame{};  // a Join, later a Word
  std::size_t frame_got = 0;
  bool readable = true;
};

class Service {
 public:
  Service(std::vector<Listener> doors, const Key& key, int wake)
      : doors_(std::move(doors)), key_(key), wake_(wake) {}

  // Until every rank is answered or `wake` is written.
  void run() {
    while (!done_ && wait()) {
      accept_strangers();
      std::erase_if(strangers_, [this](Stranger& one) { return greet(one); });
      std::erase_if(members_, [this](Member& one) { return one.readable && !hear(one); });
      roll_.check_patience(now_ns());
      if (roll_.verdict())
        tell_verdict();
      else if (roll_.complete() && !doors_.empty())
        tell_parents();
      else if (roll_.all_ready())
        tell_tree_stands();
    }
  }

 private:
  // False when asked to stop.
  bool wait() {
    std::vector<pollfd> entries{{wake_, POLLIN, 0}};
    Nanos due = roll_.verdict() ? kNever : roll_.deadline();
    for (const Member& one : members_) entries.push_back({one.socket.fd(), POLLIN, 0});
    for (const Stranger& one : strangers_) {
      entries.push_back({one.handshake.fd(), one.handshake.poll_events(), 0});
      due = std::min(due, one.since + kStrangerLimit);
    }
    if (strangers_.size() < kStrangersMax)
      for (const Listener& door : doors_) entries.push_back({door.fd(), POLLIN, 0});
    ::poll(entries.data(), entries.size(), poll_timeout_ms(due));
    auto entry = entries.begin();
    const bool go_on = (entry++)->revents == 0;
    for (Member& one : members_) one.readable = (entry++)->revents != 0;
    return go_on;
  }

  void accept_strangers() {
    for (Listener& door : doors_) {
      while (strangers_.size() < kStrangersMax) {
        auto accepted = door.accept();
        if (!accepted) {
          roll_.fail(accepted.take_error().context("serving as root"));
          break;
        }
        if (!*accepted) break;
        const Hello mine{Purpose::join};
        strangers_.push_back({Handshake::answer(**std::move(accepted), key_, mine), now_ns()});
      }
    }
  }

  // True when it is no stranger any more: known, or dropped.
  bool greet(Stranger& one) {
    const Handshake::State state = one.handshake.step();
    if (state == Handshake::State::done) {
      Member member;
      member.protocol = one.handshake.peer().protocol;
      const bool joins = one.handshake.peer().purpose == Purpose::join;
      member.socket = one.handshake.take_socket();
      if (joins) members_.push_back(std::move(member));
      return true;
    }
    std::string why = "no handshake in time";
    if (state == Handshake::State::failed)
      why = one.handshake.take_error().text;
    else if (now_ns() - one.since <= kStrangerLimit)
      return false;
    const std::string from = one.handshake.socket().remote().host_text();
    if (log_first("stranger at root " + from))
      GYRE_LOG(warn, "root dropped a stranger: {} (further ones from {} are not logged)", why,
               from);
    return true;
  }

  // Reads the Join, afterwards the Word. False when the member is to be let go.
  bool hear(Member& one) {
    const std::size_t frame_bytes = one.join ? sizeof(Word) : sizeof(Join);
    auto got = one.socket.recv_some(std::span(one.frame).first(frame_bytes).subspan(one.frame_got));
    if (!got) return depart(one, {});
    one.frame_got += *got;
    if (one.frame_got < frame_bytes) return true;
    one.frame_got = 0;
    return one.join ? hear_word(one) : hear_join(one);
  }

  bool hear_join(Member& one) {
    Join join;
    std::memcpy(static_cast<void*>(&join), one.frame.data(), sizeof join);
    const auto card = unpack_card(std::as_bytes(std::span(&join.card, 1)));
    if (!card) return false;
    join.card = *card;
    one.join = join;
    roll_.add(join, one.protocol);
    return true;
  }

  bool hear_word(Member& one) {
    Word word;
    std::memcpy(&word, one.frame.data(), sizeof word);
    if (word.code != 0) return depart(one, get_text(word.text));
    roll_.ready(one.join->rank);
    return true;
  }

  bool depart(Member& one, const std::string& reason) {
    if (one.join) {
      roll_.left(one.join->rank, reason);
      ++settled_;
    }
    return false;
  }

  void tell_parents() {
    // Before any rank can go on: the next job may want this very port.
    doors_.clear();
    for (Member& one : members_)
      if (one.join) tell(one, roll_.answer_for(one.join->rank));
  }

  void tell_tree_stands() {
    for (Member& one : members_)
      if (one.join) tell(one, Answer{});
    done_ = true;
  }

  // A job that failed while gathering stays open for the ranks still to come: they learn why.
  void tell_verdict() {
    const Error& why = *roll_.verdict();
    Answer answer;
    answer.code = static_cast<int>(why.code);
    answer.culprit = why.rank;
    put_text(answer.text, why.text);
    for (auto one = members_.begin(); one != members_.end();) {
      if (!one->join) {
        ++one;
        continue;
      }
      tell(*one, answer);
      ++settled_;
      one = members_.erase(one);
    }
    done_ = roll_.expected() > 0 && settled_ >= roll_.expected();
  }

  // An answer is far smaller than an empty socket's buffer: what does not go at once never will.
  static void tell(Member& one, const Answer& answer) {
    auto sent = one.socket.send_some(std::as_bytes(std::span(&answer, 1)));
    if (!sent || *sent != sizeof answer)
      GYRE_LOG(info, "root could not answer rank {}", one.join->rank);
  }

  std::vector<Listener> doors_;
  const Key key_;
  const int wake_;
  RollCall roll_;
  std::list<Stranger> strangers_;
  std::list<Member> members_;
  std::size_t settled_ = 0;  // ranks that know of the failure, or caused it
  bool done_ = false;
};

Result<std::vector<Listener>> open_doors(std::span<const Address> addresses, JobId& id) {
  std::vector<Listener> out;
  Error first_error;
  for (const Address& address : addresses) {
    auto door = Listener::open(address);
    if (door) {
      if (id.roots.size() < kRootAddressesMax) id.roots.push_back(door->local());
      out.push_back(*std::move(door));
    } else if (first_error.text.empty()) {
      first_error = door.take_error();
    }
  }
  if (!out.empty()) return out;
  return std::move(first_error).context("opening the job's root");
}

}  // namespace

Result<std::unique_ptr<Root>> Root::start(const RootOptions& options) {
  std::unique_ptr<Root> out(new Root);
  out->id_.secret = options.secret;
  auto doors = GYRE_TRY(open_doors(options.addresses, out->id_));
  out->wake_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!out->wake_) return descriptor_error("eventfd for the root", errno);
  out->thread_ =
      GYRE_TRY(start_thread("a job's root", [doors = std::move(doors), key = out->id_.key(),
                                             wake = out->wake_.get()]() mutable {
        Service(std::move(doors), key, wake).run();
      }));
  return out;
}

Root::~Root() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

Result<JobId> start_job() {
  RootOptions options;
  options.secret = random_secret();
  options.addresses = GYRE_TRY(advertised_addresses(kRootAddressesMax));
  JobId id;
  id.secret = options.secret;
  auto doors = GYRE_TRY(open_doors(options.addresses, id));
  // Detached: it owns all it uses, and ends with the job's gathering or with the process.
  std::thread thread =
      GYRE_TRY(start_thread("a job's root", [doors = std::move(doors), key = id.key()]() mutable {
        Service(std::move(doors), key, -1).run();
      }));
  thread.detach();
  return id;
}

}  // namespace gyre
