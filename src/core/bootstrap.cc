#include "core/bootstrap.h"

#include "base/log.h"
#include "core/entries.h"
#include "core/neighbour.h"
#include "core/root_call.h"
#include "core/tree.h"
#include "transport/interfaces.h"

#include <poll.h>

#include <algorithm>
#include <deque>
#include <optional>

namespace gyre {

namespace {

// Ranks that wait for each other give up at nearly the same time. Those near the one that is really
// missing must be first, so that their word, which names it, reaches the others in time.
constexpr Nanos kGracePerLevel = 100_ms;

Key doorway_key(const std::vector<JobId>& ids) {
  Key out = ids[0].key();
  for (std::size_t i = 1; i < ids.size(); ++i)
    out = derive_key(ids[i].secret, {reinterpret_cast<const char*>(out.data()), out.size()});
  return out;
}

// What others make of a failure: disagreements stay what they are; any other is a remote failure.
Code seen_from_outside(Code code) {
  return code == Code::timeout || code == Code::invalid_usage ? code : Code::remote;
}

}  // namespace

struct Bootstrap::State {
  JoinOptions options;
  Tree tree;
  std::shared_ptr<Doorway> doorway;
  std::uint64_t job_hash = 0;
  std::optional<Neighbour> parent;
  std::deque<Neighbour> children;
  std::uint32_t step = 0;
  bool dead = false;  // failed: nothing more can be said

  ~State() {
    if (!dead) say_last({.kind = FrameKind::bye, .step = step}, {});
  }

  template <class F>
  void for_neighbours(F&& visit) {
    if (parent) visit(*parent);
    for (Neighbour& child : children) visit(child);
  }

  void say_last(const FrameHead& head, std::string_view text) {
    for_neighbours([&](Neighbour& one) { one.say_last(head, text); });
  }

  void tell_failure(const Error& error) {
    if (dead) return;
    FrameHead head{.kind = FrameKind::failure,
                   .step = step,
                   .culprit = error.rank,
                   .code = static_cast<int>(error.code)};
    head.bytes = error.text.size();
    say_last(head, error.text);
    dead = true;
  }

  // Moves bytes on all edges until `done()`; any neighbour's failure or silence ends it.
  template <class Done>
  Status turn_until(Done&& done, Nanos deadline, std::string_view step_name,
                    const Neighbour* awaited) {
    const Until until{deadline, options.abort};
    for (;;) {
      Status status;
      for_neighbours([&](Neighbour& one) {
        if (status) status = serve(one, step_name);
      });
      if (!status) return status;
      if (done()) return {};
      if (awaited && awaited->said_bye())
        return error(Code::remote, "rank {} left before step '{}'", awaited->rank(), step_name)
            .blame(awaited->rank());
      if (until.aborted()) return error(Code::aborted, "aborted at step '{}'", step_name);
      if (until.passed())
        return error(Code::timeout, "time-out at step '{}': rank {} waits for rank {}", step_name,
                     options.rank, awaited ? awaited->rank() : -1)
            .blame(awaited ? awaited->rank() : -1);
      std::vector<pollfd> entries;
      for_neighbours([&](Neighbour& one) {
        const int events = (one.wants_read() ? POLLIN : 0) | (one.wants_write() ? POLLOUT : 0);
        if (events) entries.push_back({one.fd(), static_cast<short>(events), 0});
      });
      ::poll(entries.data(), entries.size(), until.slice_ms());
    }
  }

  Status serve(Neighbour& one, std::string_view step_name) {
    Status sent = one.write();
    Status got = one.read();  // also after a failed write: its last words may be waiting
    if (one.has_frame() && one.peek().kind == FrameKind::failure) return failure_from(one);
    if (sent && got) return {};
    Error why = sent ? got.take_error() : sent.take_error();
    if (why.code != Code::remote) return why;
    return error(Code::remote, "rank {} failed at step '{}': {}", one.rank(), step_name, why.text)
        .blame(one.rank());
  }

  static Error failure_from(Neighbour& one) {
    const Frame frame = one.take_frame();
    const auto* text = reinterpret_cast<const char*>(frame.bytes.data());
    const bool known = frame.head.code > 0 && frame.head.code <= static_cast<int>(Code::aborted);
    return error(known ? static_cast<Code>(frame.head.code) : Code::internal, "{}",
                 std::string_view(text, frame.bytes.size()))
        .blame(frame.head.culprit);
  }

  Nanos deadline_plus(int levels) const {
    return options.deadline == kNever ? kNever : options.deadline + levels * kGracePerLevel;
  }

  Result<Blob> recv_frame(Neighbour& from, FrameKind kind, std::string_view step_name, int levels) {
    GYRE_TRY(turn_until([&] { return from.has_frame(); }, deadline_plus(levels), step_name, &from));
    Frame frame = from.take_frame();
    if (frame.head.kind != kind || frame.head.step != step)
      return error(Code::internal, "rank {} is at step {} while rank {} is at step {} '{}'",
                   from.rank(), frame.head.step, options.rank, step, step_name);
    return std::move(frame.bytes);
  }

  Status send_frame(Neighbour& to, FrameKind kind, const Blob& bytes, std::string_view step_name,
                    int levels) {
    FrameHead head{.kind = kind, .step = step};
    head.bytes = bytes.size();
    to.queue(head, bytes);
    return turn_until([&] { return !to.wants_write(); }, deadline_plus(levels), step_name, &to);
  }

  // Up the tree, each adding its own; down again, all alike.
  Result<Blob> gather(std::string_view step_name, std::span<const std::byte> mine) {
    ++step;
    Blob all;
    append_entry(all, options.rank, mine);
    const int up_levels = tree.height(options.rank);
    for (Neighbour& child : children) {
      const Blob below = GYRE_TRY(recv_frame(child, FrameKind::gather, step_name, up_levels));
      all.insert(all.end(), below.begin(), below.end());
    }
    const int down_levels = tree.height(0) + 1 + tree.depth(options.rank);
    if (parent) {
      GYRE_TRY(send_frame(*parent, FrameKind::gather, all, step_name, down_levels));
      all = GYRE_TRY(recv_frame(*parent, FrameKind::result, step_name, down_levels));
    }
    for (Neighbour& child : children)
      GYRE_TRY(send_frame(child, FrameKind::result, all, step_name, down_levels));
    return all;
  }

  Status meet();
  Status open_doorway(const RootCall& own_root);
  Status connect_tree(const std::vector<RootCall>& roots, const std::vector<Answer>& answers);
};

namespace {

Status check_options(const JoinOptions& options) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size)
    return error(Code::invalid_argument, "rank {} of {} ranks", options.rank, options.size);
  if (options.ids.empty() || std::ssize(options.ids) > options.size)
    return error(Code::invalid_argument, "{} unique ids for {} ranks, expected 1..{}",
                 options.ids.size(), options.size, options.size);
  return {};
}

// A root gives up a little before its ranks do, so that its answer, which names who is missing,
// still reaches them.
Nanos patience_for(Nanos deadline) {
  if (deadline == kNever) return kNever;
  const Nanos left = deadline - now_ns();
  return std::max<Nanos>(1, left - std::min(left / 10, 1_s));
}

}  // namespace

Status Bootstrap::State::open_doorway(const RootCall& own_root) {
  const Address local = GYRE_TRY(choose_local_address(own_root.address()));
  doorway = GYRE_TRY(Doorway::open(doorway_key(options.ids), local));
  return {};
}

Status Bootstrap::State::connect_tree(const std::vector<RootCall>& roots,
                                      const std::vector<Answer>& answers) {
  std::vector<Peer> peers;
  std::vector<int> alarms;
  for (const RootCall& root : roots) alarms.push_back(root.fd());
  for (const Answer& answer : answers)
    if (answer.parent_rank >= 0) peers.push_back({answer.parent_rank, answer.parent});
  const bool has_parent = !peers.empty();
  if (has_parent != (options.rank > 0))
    return error(Code::internal, "rank {} was told a wrong parent", options.rank);
  for (const int child : tree.children(options.rank)) peers.push_back({child, {}});
  static const std::atomic<bool> never{false};
  const Call call{
      .comm = job_hash, .rank = options.rank, .purpose = Purpose::bootstrap, .alarms = alarms};
  auto connections = GYRE_TRY(
      doorway->connect(call, peers, options.deadline, options.abort ? *options.abort : never));
  for (std::size_t i = 0; i < connections.size(); ++i) {
    Neighbour one(connections[i].rank, std::move(connections[i].socket));
    if (i == 0 && has_parent)
      parent.emplace(std::move(one));
    else
      children.push_back(std::move(one));
  }
  return {};
}

// Each leader of a block but the first also calls root 0, which gives the leaders their parents.
Status Bootstrap::State::meet() {
  const Until until{options.deadline, options.abort};
  const int block = tree.block_of(options.rank);
  std::vector<int> blocks{block};
  if (block != 0 && tree.leads(options.rank)) blocks.push_back(0);
  Hello hello;
  hello.purpose = Purpose::join;
  hello.protocol = options.protocol;
  hello.rank = options.rank;
  std::vector<RootCall> roots;
  Status status = [&]() -> Status {
    for (const int to : blocks) {
      const JobId& id = options.ids[static_cast<std::size_t>(to)];
      roots.push_back(GYRE_TRY(RootCall::open(id, hello, until)));
      if (!doorway) GYRE_TRY(open_doorway(roots[0]));
      Join join;
      join.rank = options.rank;
      join.size = options.size;
      join.blocks = tree.blocks;
      join.block = to;
      join.patience_ns = patience_for(options.deadline);
      join.protocol = options.protocol;
      join.card = doorway->card();
      GYRE_TRY(roots.back().send_join(join, until));
    }
    const auto answers = GYRE_TRY(recv_answers(roots, until));
    if (Status tree_stands = connect_tree(roots, answers); !tree_stands) {
      // A root that called it off has the reason.
      const bool called_off = std::any_of(roots.begin(), roots.end(),
                                          [](const RootCall& root) { return root.has_news(); });
      if (called_off) (void)GYRE_TRY(recv_answers(roots, until));
      return tree_stands;
    }
    for (RootCall& root : roots) root.send_ready();
    GYRE_TRY(recv_answers(roots, until));
    return {};
  }();
  if (!status)
    for (RootCall& root : roots) root.send_failure(status.error());
  return status;
}

Bootstrap::Bootstrap(std::unique_ptr<State> state) : state_(std::move(state)) {}
Bootstrap::Bootstrap(Bootstrap&&) noexcept = default;
Bootstrap& Bootstrap::operator=(Bootstrap&&) noexcept = default;
Bootstrap::~Bootstrap() = default;

Result<Bootstrap> Bootstrap::join(const JoinOptions& options) {
  GYRE_TRY(check_options(options));
  const Nanos begun = now_ns();
  auto state = std::make_unique<State>();
  state->options = options;
  state->tree = {options.size, static_cast<int>(options.ids.size())};
  state->job_hash = hash64(doorway_key(options.ids), "gyre job hash");
  if (Status met = state->meet(); !met)
    return met.take_error().context(fmt::format("rank {} of {} joins", options.rank, options.size));
  GYRE_LOG(info, "rank {} of {} joined in {:.1f} ms, {} bootstrap sockets", options.rank,
           options.size, static_cast<double>(now_ns() - begun) / 1e6,
           state->children.size() + (state->parent ? 1 : 0));
  return Bootstrap(std::move(state));
}

Result<std::vector<Blob>> Bootstrap::all_gather(std::string_view step,
                                                std::span<const std::byte> mine) {
  if (state_->dead)
    return error(Code::invalid_usage, "step '{}' after the bootstrap has failed", step);
  auto all = state_->gather(step, mine);
  if (!all) {
    Error outside = error(seen_from_outside(all.error().code), "{}", all.error().text);
    if (all.error().code == Code::aborted)
      outside =
          error(Code::remote, "rank {} failed at step '{}': aborted", rank(), step).blame(rank());
    else
      outside.rank = all.error().rank;
    state_->tell_failure(outside);
    return all.take_error();
  }
  return split_entries(*all, size());
}

Status Bootstrap::barrier(std::string_view step) {
  GYRE_TRY(all_gather(step, {}));
  return {};
}

void Bootstrap::fail(std::string_view step, const Error& reason) {
  state_->tell_failure(error(seen_from_outside(reason.code), "rank {} failed at step '{}': {}",
                             rank(), step, reason.text)
                           .blame(rank()));
}

const std::shared_ptr<Doorway>& Bootstrap::doorway() const { return state_->doorway; }
int Bootstrap::rank() const { return state_->options.rank; }
int Bootstrap::size() const { return state_->options.size; }
std::uint64_t Bootstrap::job_hash() const { return state_->job_hash; }
int Bootstrap::socket_count() const {
  return static_cast<int>(state_->children.size()) + (state_->parent ? 1 : 0);
}

}  // namespace gyre
