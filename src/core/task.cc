#include "core/task.h"

#include <algorithm>
#include <cstring>

#include "core/communicator.h"

namespace gyre {

namespace {

// How this rank's buffers can be reached, for every local peer: 28 of a slot's 32 inline bytes.
struct BufferCard {
  std::uint64_t send_at, recv_at;  // offset in the window, or the bare address
  std::uint32_t send_window, recv_window;
  std::uint16_t can_map, can_pull;  // this rank can map, or copy from, all its peers' memory
};
static_assert(sizeof(BufferCard) <= kInlineBytes);
constexpr std::size_t kCardBytes = sizeof(BufferCard);

// From here on results are written around the caches: nothing of the beginning would still be
// there.
constexpr std::size_t kStreamingBytes = 8 << 20;

// Windows need no slots: chunks are only as small as a stop must be noticed between them.
constexpr std::size_t kWindowChunkBytes = 4 << 20;

// Ranks whose first exchange is with everyone, over the same small edges.
bool symmetric(Collective what) {
  switch (what) {
    case Collective::all_reduce:
    case Collective::all_gather:
    case Collective::all_gather_v:
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_v:
    case Collective::all_to_all:
    case Collective::barrier:
      return true;
    default:
      return false;
  }
}

std::size_t buffer_elems(std::size_t count, int blocks) {
  return count * static_cast<std::size_t>(blocks);
}

// Elements in the send and the receive buffer of this rank.
std::pair<std::size_t, std::size_t> extents(const Request& r, int rank, int size) {
  const auto all = [&] { return buffer_elems(r.count, size); };
  const auto span = [](const std::vector<std::size_t>& counts, const std::vector<std::size_t>& at) {
    std::size_t end = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) end = std::max(end, at[i] + counts[i]);
    return end;
  };
  switch (r.what) {
    case Collective::all_gather:
      return {r.count, all()};
    case Collective::gather:
      return {r.count, rank == r.root ? all() : 0};
    case Collective::reduce_scatter:
      return {all(), r.count};
    case Collective::scatter:
      return {rank == r.root ? all() : 0, r.count};
    case Collective::all_to_all:
      return {all(), all()};
    case Collective::broadcast:
      return {rank == r.root ? r.count : 0, r.count};
    case Collective::reduce:
      return {r.count, rank == r.root ? r.count : 0};
    case Collective::all_gather_v:
    case Collective::reduce_scatter_v:
    case Collective::all_to_all_v:
      break;
    default:
      return {r.count, r.count};
  }
  const Uneven& u = *r.uneven;
  const std::size_t own = u.send_counts[static_cast<std::size_t>(rank)];
  const std::size_t spread = span(u.send_counts, u.send_offsets);
  if (r.what == Collective::all_gather_v) return {own, spread};
  if (r.what == Collective::reduce_scatter_v) return {spread, own};
  return {spread, span(u.recv_counts, u.recv_offsets)};
}

}  // namespace

// What one agreement leaves behind, kept by the communicator's one task between calls.
struct CollectiveTask::Agreement {
  BufferCard mine{};
  std::vector<BufferCard> cards;
  std::vector<PeerWindow> windows;
};

CollectiveTask::CollectiveTask(Communicator& comm)
    : comm_(comm), agreement_(std::make_unique<Agreement>()) {}
CollectiveTask::~CollectiveTask() = default;

void CollectiveTask::begin(const Request& request) {
  request_ = &request;
  failure_.reset();
  const std::uint64_t sequence = comm_.next_sequence();
  call_ = signature_of(request, sequence);
  comm_.status_page().start(sequence, call_);
}

Status CollectiveTask::prepare() {
  const Chooser& chooser = comm_.chooser();
  if (chooser.is_small(*request_)) {
    phase_ = Phase::main;
    return start_small();
  }
  if (chooser.agrees(*request_)) return start_agree();
  phase_ = Phase::main;
  const Choice choice = GYRE_TRY(chooser.large(*request_, {}));
  return start_main(choice);
}

// Where the buffers are, told to all; also the first exchange of the call, so that a mismatch shows
// before anything has moved.
Status CollectiveTask::start_agree() {
  phase_ = Phase::agree;
  Agreement& a = *agreement_;
  BoundPlan* plan =
      GYRE_TRY(comm_.plan({Algorithm::one_shot, EdgeKind::small}, Collective::all_gather, 0));
  const auto [send_elems, recv_elems] = extents(*request_, comm_.rank(), comm_.size());
  const std::size_t elem = size_of(request_->type);
  a.mine = {};
  a.mine.send_at = reinterpret_cast<std::uint64_t>(request_->send);
  a.mine.recv_at = reinterpret_cast<std::uint64_t>(request_->recv);
  RegionRef send = find_region(request_->send, send_elems * elem);
  RegionRef recv = find_region(request_->recv, recv_elems * elem);
  a.mine.can_map = a.mine.can_pull = 1;
  for (const auto& [peer, link] : comm_.mesh().links()) {
    if (send) GYRE_TRY(link->announce(send));
    if (recv && recv != send) GYRE_TRY(link->announce(recv));
    a.mine.can_map &= link->can_map();
    a.mine.can_pull &= link->can_pull();
  }
  auto place = [](const RegionRef& region, std::uint64_t& at, std::uint32_t& window) {
    if (!region) return;
    window = region->id;
    at -= reinterpret_cast<std::uint64_t>(region->base);
  };
  place(send, a.mine.send_at, a.mine.send_window);
  place(recv, a.mine.recv_at, a.mine.recv_window);

  const auto n = static_cast<std::size_t>(comm_.size());
  a.cards.resize(n);
  work_ = {};
  work_.call = call_;
  work_.type = Type::u8;
  work_.rank = comm_.rank();
  work_.ranks = comm_.size();
  work_.input = reinterpret_cast<std::uintptr_t>(&a.mine) -
                static_cast<std::size_t>(comm_.rank()) * kCardBytes;
  work_.output = reinterpret_cast<std::uintptr_t>(a.cards.data());
  work_.geometry = {.total_elems = n * kCardBytes,
                    .block_elems = kCardBytes,
                    .chunk_elems = kSmallSlotBytes,
                    .loops = 1};
  work_.tolerant = true;
  runner_ = plan->runner.get();
  runner_->start(work_);
  return {};
}

// All ranks see the same cards, so all come to the same reach.
Status CollectiveTask::finish_agree() {
  Agreement& a = *agreement_;
  Reach reach{.mapped = true, .pull = true};
  const bool one_process = comm_.all_in_one_process();
  for (std::size_t r = 0; r < a.cards.size(); ++r) {
    const auto [send_elems, recv_elems] = extents(*request_, static_cast<int>(r), comm_.size());
    const BufferCard& card = a.cards[r];
    if (send_elems > 0 && card.send_window == 0 && !one_process) reach.mapped = false;
    if (recv_elems > 0 && card.recv_window == 0 && !one_process) reach.mapped = false;
    if (!card.can_map) reach.mapped = false;
    if (!card.can_pull) reach.pull = false;
  }
  const Choice choice = GYRE_TRY(comm_.chooser().large(*request_, reach));
  const Entry* entry = find_entry(request_->what, choice.algorithm);
  if (entry && entry->needs_windows) GYRE_TRY(map_windows());
  phase_ = Phase::main;
  return start_main(choice);
}

Status CollectiveTask::map_windows() {
  Agreement& a = *agreement_;
  const int n = comm_.size();
  a.windows.assign(static_cast<std::size_t>(n), {});
  for (int r = 0; r < n; ++r) {
    if (r == comm_.rank()) continue;
    Link* link = comm_.mesh().link(r);
    const BufferCard& card = a.cards[static_cast<std::size_t>(r)];
    PeerWindow& window = a.windows[static_cast<std::size_t>(r)];
    window.input = GYRE_TRY(link->map({card.send_window, card.send_at}));
    window.output = GYRE_TRY(link->map({card.recv_window, card.recv_at}));
    window.remote_input = card.send_at;
    window.remote_output = card.recv_at;
    window.link = link;
    // Virtual bases, as the owner's own Work has them.
    Work theirs = bind_work(*request_, Program{}, r, n, kSmallSlotBytes, tables_);
    const std::uintptr_t send_shift =
        theirs.input - reinterpret_cast<std::uintptr_t>(request_->send);
    const std::uintptr_t recv_shift =
        theirs.output - reinterpret_cast<std::uintptr_t>(request_->recv);
    if (window.input) window.input += static_cast<std::ptrdiff_t>(send_shift);
    if (window.output) window.output += static_cast<std::ptrdiff_t>(recv_shift);
    window.remote_input += send_shift;
    window.remote_output += recv_shift;
  }
  return {};
}

Status CollectiveTask::start_small() {
  BoundPlan* plan = GYRE_TRY(comm_.small_plan(*request_, root()));
  const bool alone = comm_.size() == 1;
  bind(*plan, alone ? kWindowChunkBytes : kSmallSlotBytes);
  work_.tolerant = symmetric(request_->what);
  if (request_->what == Collective::barrier) work_.loops_min = 1;
  runner_->start(work_);
  return {};
}

Status CollectiveTask::start_main(const Choice& choice) {
  BoundPlan* plan = GYRE_TRY(comm_.plan(choice, request_->what, root()));
  const Entry* entry = find_entry(request_->what, choice.algorithm);
  bind(*plan, entry->needs_windows ? kWindowChunkBytes : comm_.mesh().shapes().slot_bytes);
  work_.streaming =
      request_->send != request_->recv &&
      extents(*request_, comm_.rank(), comm_.size()).second * size_of(request_->type) >=
          kStreamingBytes;
  if (entry->needs_windows) work_.windows = agreement_->windows.data();
  if (request_->what == Collective::barrier) work_.loops_min = 1;
  runner_->start(work_);
  return {};
}

int CollectiveTask::root() const { return is_rooted(request_->what) ? request_->root : 0; }

void CollectiveTask::bind(BoundPlan& plan, std::size_t chunk_bytes) {
  const Request& request = *request_;
  work_ = bind_work(request, plan.program, comm_.rank(), comm_.size(), chunk_bytes, tables_);
  work_.call = call_;
  runner_ = plan.runner.get();
  if (request.op != Op::premul_sum) return;
  const void* from = request.scalar.pointer ? request.scalar.pointer : request.scalar.value.data();
  std::memcpy(scalar_.data(), from, size_of(request.type));
  work_.scale = scalar_.data();
}

Turn CollectiveTask::turn() {
  const Turn turn = runner_->turn();
  if (turn != Turn::done || phase_ == Phase::main) return turn;
  Status status = finish_agree();
  if (!status) {
    failure_ = status.take_error();
    work_.tolerant = false;
    return Turn::failed;
  }
  return Turn::moved;
}

Error CollectiveTask::take_failure() {
  if (failure_) return *std::move(failure_);
  return *runner_->failure();
}

std::vector<int> Task::awaited() {
  std::vector<int> out;
  for (const Edge* edge : blocked()) out.push_back(edge->link->peer());
  return out;
}

}  // namespace gyre
