#include "core/communicator.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "base/log.h"
#include "base/param.h"
#include "core/process.h"
#include "transport/crypt.h"
#include "transport/striped.h"

namespace gyre {

GYRE_PARAM(timeout, Duration, 300_s, "deadline of an operation; 0 means none");
GYRE_PARAM(init_timeout, Duration, 120_s, "deadline of making a communicator; 0 means none");
GYRE_PARAM(deterministic, bool, false,
           "results depend on the ranks' values in rank order alone; must match on all ranks");
GYRE_PARAM(slot_bytes, Bytes, 128 << 10, "bytes of one FIFO slot; must match on all ranks");
GYRE_PARAM(transport, std::string, "auto",
           "auto: shared memory inside a host, TCP between hosts; shm: shared memory or an error; "
           "tcp: TCP everywhere; any other name: that plug-in; must match on all ranks");
GYRE_PARAM(slots, std::int64_t, 4, "slots of one FIFO, 2..64; must match on all ranks");

namespace {

// What ranks tell each other at init; settings must be equal.
struct JoinCard {
  RankCard rank;
  std::uint32_t version;
  std::uint32_t slot_bytes, slots;
  std::uint32_t deterministic, tcp_encrypt, tcp_sockets;
  std::int64_t direct_ranks_max, pull_min;
  char algo[32];
  char transport[32];
  char plugin[32];
};

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

Status compare(const JoinCard& a, const JoinCard& b, int rank) {
  auto differ = [&](const char* what, auto mine, auto theirs) {
    return error(Code::invalid_usage, "{} differs: {} on rank 0, {} on rank {}", what, mine, theirs,
                 rank)
        .blame(rank);
  };
  if (a.version != b.version) return differ("gyre's version", a.version, b.version);
  if (a.slot_bytes != b.slot_bytes) return differ("GYRE_SLOT_BYTES", a.slot_bytes, b.slot_bytes);
  if (a.slots != b.slots) return differ("GYRE_SLOTS", a.slots, b.slots);
  if (a.deterministic != b.deterministic)
    return differ("GYRE_DETERMINISTIC", a.deterministic, b.deterministic);
  if (a.tcp_encrypt != b.tcp_encrypt)
    return differ("GYRE_TCP_ENCRYPT", a.tcp_encrypt, b.tcp_encrypt);
  if (a.tcp_sockets != b.tcp_sockets)
    return differ("GYRE_TCP_SOCKETS", a.tcp_sockets, b.tcp_sockets);
  if (a.direct_ranks_max != b.direct_ranks_max)
    return differ("GYRE_DIRECT_RANKS_MAX", a.direct_ranks_max, b.direct_ranks_max);
  if (a.pull_min != b.pull_min) return differ("GYRE_PULL_MIN", a.pull_min, b.pull_min);
  if (std::strncmp(a.algo, b.algo, sizeof a.algo) != 0) return differ("GYRE_ALGO", a.algo, b.algo);
  if (std::strncmp(a.transport, b.transport, sizeof a.transport) != 0)
    return differ("the transport (GYRE_TRANSPORT, netName)", a.transport, b.transport);
  if (std::strncmp(a.plugin, b.plugin, sizeof a.plugin) != 0)
    return differ("the plug-in (GYRE_TRANSPORT_PLUGIN)", a.plugin, b.plugin);
  return {};
}

void copy_text(char (&into)[32], const std::string& text) {
  std::memcpy(into, text.data(), std::min(text.size(), sizeof into - 1));
}

Layout layout_of(const std::vector<RankCard>& cards) {
  Layout layout{.size = static_cast<int>(cards.size()), .hosts = {}};
  std::map<std::pair<std::array<std::uint8_t, 16>, std::uint64_t>, std::size_t> index;
  for (int rank = 0; rank < layout.size; ++rank) {
    const PeerCard& card = cards[static_cast<std::size_t>(rank)].peer;
    const auto [at, fresh] = index.try_emplace({card.host, card.netns}, layout.hosts.size());
    if (fresh) layout.hosts.emplace_back();
    layout.hosts[at->second].push_back(rank);
  }
  return layout;
}

std::uint64_t derive_id(std::uint64_t parent, std::uint64_t child, std::uint64_t salt) {
  const std::uint64_t words[] = {parent, child, salt};
  return hash64({reinterpret_cast<const std::uint8_t*>(words), sizeof words}, "gyre comm");
}

}  // namespace

CommOptions default_options() {
  return {.timeout = param_timeout.get().nanos,
          .init_timeout = param_init_timeout.get().nanos,
          .deterministic = param_deterministic.get(),
          .slot_bytes = static_cast<std::uint32_t>(param_slot_bytes.get().count),
          .slots = static_cast<std::uint32_t>(param_slots.get()),
          .transport = param_transport.get(),
          .name = {}};
}

Communicator::Communicator(std::uint64_t id, int rank, Layout layout, const CommOptions& options)
    : id_(id),
      rank_(rank),
      layout_(std::move(layout)),
      options_(options),
      chooser_(layout_, options.deterministic),
      status_page_(id, rank, layout_.size, options.name),
      task_(*this) {}

Communicator::~Communicator() = default;

Result<std::unique_ptr<Communicator>> Communicator::join(const std::vector<JobId>& ids, int rank,
                                                         int size, const CommOptions& options,
                                                         const std::atomic<bool>& abort) {
  GYRE_TRY(check_params());
  if (options.slots < 2 || options.slots > 64 || options.slot_bytes < kSmallSlotBytes ||
      options.slot_bytes > 64_MiB)
    return error(Code::invalid_usage,
                 "FIFOs of {} slots of {} B are not possible: 2..64 of 4 KiB..64 MiB",
                 options.slots, options.slot_bytes);
  if (tcp_sockets() < 1 || tcp_sockets() > kTcpSocketsMax)
    return error(Code::invalid_usage, "GYRE_TCP_SOCKETS must be 1..{}", kTcpSocketsMax);
  const PluginTable* plugin = GYRE_TRY(find_plugin(options.transport));
  Bootstrap bootstrap = GYRE_TRY(Bootstrap::join({.ids = ids,
                                                  .rank = rank,
                                                  .size = size,
                                                  .deadline = deadline_in(options.init_timeout),
                                                  .abort = &abort}));
  JoinCard mine{};
  mine.rank = {bootstrap.doorway()->card(), process_nonce()};
  mine.version = kProtocolVersion;
  mine.slot_bytes = options.slot_bytes;
  mine.slots = options.slots;
  mine.deterministic = options.deterministic;
  mine.tcp_encrypt = tcp_encryption();
  mine.tcp_sockets = static_cast<std::uint32_t>(tcp_sockets());
  mine.direct_ranks_max = Chooser::direct_ranks_max();
  mine.pull_min = Chooser::pull_min();
  copy_text(mine.algo, Chooser::algorithm_wish());
  copy_text(mine.transport, options.transport);
  if (plugin) copy_text(mine.plugin, plugin->name);
  const std::vector<Blob> blobs =
      GYRE_TRY(bootstrap.all_gather("exchange of cards", bytes_of(mine)));
  std::vector<RankCard> cards;
  JoinCard first{};
  for (int r = 0; r < size; ++r) {
    const Blob& blob = blobs[static_cast<std::size_t>(r)];
    JoinCard card{};
    if (blob.size() != sizeof card)
      return error(Code::invalid_usage, "rank {} runs another version of gyre", r).blame(r);
    std::memcpy(&card, blob.data(), sizeof card);
    if (r == 0) first = card;
    GYRE_TRY(compare(first, card, r));
    cards.push_back(card.rank);
  }
  auto comm = assemble(bootstrap.job_hash(), rank, std::move(cards), bootstrap.doorway(), options);
  if (!comm) {
    bootstrap.fail("assembly", comm.error());
    return comm;
  }
  GYRE_TRY(bootstrap.barrier("last step"));
  return comm;
}

Result<std::unique_ptr<Communicator>> Communicator::assemble(std::uint64_t id, int rank,
                                                             std::vector<RankCard> cards,
                                                             std::shared_ptr<Doorway> doorway,
                                                             const CommOptions& options) {
  std::unique_ptr<Communicator> comm(new Communicator(id, rank, layout_of(cards), options));
  GYRE_TRY(comm->chooser_.check());
  comm->one_process_ = std::all_of(cards.begin(), cards.end(), [&](const RankCard& card) {
    return card.process == cards.front().process;
  });
  for (const auto& host : comm->layout_.hosts)
    if (std::find(host.begin(), host.end(), rank) != host.end())
      comm->local_runners_ = static_cast<int>(host.size());
  MeshOptions mesh{.comm = id,
                   .rank = rank,
                   .cards = std::move(cards),
                   .doorway = std::move(doorway),
                   .shapes = {options.slot_bytes, options.slots},
                   .transport = options.transport,
                   .plugin = GYRE_TRY(find_plugin(options.transport))};
  comm->mesh_ = std::make_unique<Mesh>(std::move(mesh));
  GYRE_LOG(info, "made communicator {:016x} rank {} of {} on {} host(s), {} rank(s) here", id, rank,
           comm->size(), comm->layout_.hosts.size(), comm->local_runners_);
  return comm;
}

Result<BoundPlan*> Communicator::plan(const Choice& choice, Collective collective, int root) {
  const std::uint64_t key =
      static_cast<std::uint64_t>(collective) | static_cast<std::uint64_t>(choice.algorithm) << 8 |
      static_cast<std::uint64_t>(choice.kind) << 16 | static_cast<std::uint64_t>(root) << 24;
  const auto found = plans_.find(key);
  if (found != plans_.end()) return found->second.get();
  auto plan = std::make_unique<BoundPlan>();
  plan->program = GYRE_TRY(build_program({collective, choice.algorithm, rank_, root, &layout_}));
  if (plan->program.slots_min > options_.slots)
    return error(Code::invalid_usage, "{} {} needs {} slots, GYRE_SLOTS is {}", to_text(collective),
                 to_text(choice.algorithm), plan->program.slots_min, options_.slots);
  std::vector<Edge*> edges =
      GYRE_TRY_WHILE(mesh_->bind(plan->program, choice.kind, operation_deadline(), stop_),
                     "connecting for {} {}", to_text(collective), to_text(choice.algorithm));
  const std::size_t chunk_bytes =
      choice.kind == EdgeKind::small ? kSmallSlotBytes : options_.slot_bytes;
  plan->runner = std::make_unique<Runner>(plan->program, std::move(edges), chunk_bytes);
  return plans_.emplace(key, std::move(plan)).first->second.get();
}

Result<BoundPlan*> Communicator::small_plan(const Request& request, int root) {
  BoundPlan*& known = small_plans_[static_cast<std::size_t>(request.what)];
  if (root == 0 && known) return known;
  const Choice choice = chooser_.small(request);
  const bool pairs = request.what == Collective::barrier && choice.algorithm == Algorithm::one_shot;
  BoundPlan* made = GYRE_TRY(plan(choice, pairs ? Collective::all_gather : request.what, root));
  if (root == 0) known = made;
  return made;
}

Status Communicator::run_one(const Request& request) {
  if (auto why = fault()) return *std::move(why);
  deadline_ = 0;
  task_.begin(request);
  Status ready = task_.prepare();
  if (!ready) return fail(ready.take_error());
  Status status = drive(task_);
  status_page_.finish(sequence_);
  return status;
}

Status Communicator::run(std::span<const Request> requests) {
  std::vector<Request> point_to_point;
  for (const Request& request : requests) {
    if (is_point_to_point(request.what))
      point_to_point.push_back(request);
    else
      GYRE_TRY(run_one(request));
  }
  if (point_to_point.empty()) return {};
  if (auto why = fault()) return *std::move(why);
  deadline_ = 0;
  PointToPointTask group(*this, std::move(point_to_point));
  Status ready = group.prepare();
  if (!ready) return fail(ready.take_error());
  return drive(group);
}

Error Communicator::fail(Error error) {
  {
    std::lock_guard lock(fault_mutex_);
    if (!fault_) fault_ = error;
    error = *fault_;  // what a stopped call stumbles over is no cause
    failed_.store(true, std::memory_order_release);
  }
  const std::string text = error.text.starts_with("rank ") || error.code == Code::remote
                               ? error.text
                               : fmt::format("rank {} gave up: {}", rank_, error.text);
  const Code code = error.code == Code::aborted ? Code::remote : error.code;
  for (const auto& [peer, link] : mesh_->links())
    link->leave({code, error.rank >= 0 ? error.rank : rank_, text});
  mesh_->recall();  // after the farewells: who is refused looks there for the reason
  return error;
}

void Communicator::stop(Error why) {
  {
    std::lock_guard lock(fault_mutex_);
    if (!fault_) fault_ = std::move(why);
    failed_.store(true, std::memory_order_release);
  }
  stop_.store(true, std::memory_order_release);
}

void Communicator::abandon(Error why) {
  stop(why);
  std::lock_guard lock(mutex_);
  (void)fail(std::move(why));
}

std::optional<Error> Communicator::fault() const {
  if (!failed_.load(std::memory_order_acquire)) return std::nullopt;
  std::lock_guard lock(fault_mutex_);
  return fault_;
}

void Communicator::look() {
  if (fault()) return;
  if (Desk* desk = mesh_->desk())
    if (auto word = desk->farewell()) {
      (void)fail({word->code, word->culprit, word->text});
      return;
    }
  for (const auto& [peer, link] : mesh_->links()) {
    if (!link->bell()) (void)link->turn();
    Result<PeerNews> news = link->check();
    if (!news) {
      (void)fail(news.take_error());
      return;
    }
    if (news->farewell) {
      (void)fail({news->farewell->code, news->farewell->culprit, news->farewell->text});
      return;
    }
  }
}

Result<std::unique_ptr<Communicator>> Communicator::split(int color, int key,
                                                          const CommOptions& options) {
  const std::int32_t mine[2] = {color, key};
  std::vector<std::int32_t> all(2 * static_cast<std::size_t>(size()));
  Request request{.what = Collective::all_gather,
                  .send = mine,
                  .recv = all.data(),
                  .count = 2,
                  .type = Type::i32};
  GYRE_TRY(run_one(request));
  const std::uint64_t child = ++children_;
  if (color < 0) return std::unique_ptr<Communicator>();
  std::vector<int> members;
  for (int r = 0; r < size(); ++r)
    if (all[2 * static_cast<std::size_t>(r)] == color) members.push_back(r);
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return all[2 * static_cast<std::size_t>(a) + 1] < all[2 * static_cast<std::size_t>(b) + 1];
  });
  std::vector<RankCard> cards;
  int rank = 0;
  for (const int member : members) {
    if (member == rank_) rank = static_cast<int>(cards.size());
    cards.push_back(mesh_->cards()[static_cast<std::size_t>(member)]);
  }
  return assemble(derive_id(id_, child, static_cast<std::uint64_t>(color)), rank, std::move(cards),
                  mesh_->doorway(), options);
}

// Needs no word from the excluded, nor from the others: all survivors know the same list, and links
// are made afresh on first use.
Result<std::unique_ptr<Communicator>> Communicator::shrink(std::span<const int> exclude,
                                                           const CommOptions& options) {
  std::vector<bool> gone(static_cast<std::size_t>(size()), false);
  std::uint64_t salt = 0x9e3779b97f4a7c15;
  for (const int r : exclude) {
    if (r < 0 || r >= size())
      return error(Code::invalid_argument, "rank {} to exclude is not below {}", r, size());
    gone[static_cast<std::size_t>(r)] = true;
  }
  if (gone[static_cast<std::size_t>(rank_)])
    return error(Code::invalid_argument, "rank {} cannot exclude itself", rank_);
  std::vector<RankCard> cards;
  int rank = 0;
  for (int r = 0; r < size(); ++r) {
    if (gone[static_cast<std::size_t>(r)]) {
      salt = derive_id(salt, static_cast<std::uint64_t>(r), 1);
      continue;
    }
    if (r == rank_) rank = static_cast<int>(cards.size());
    cards.push_back(mesh_->cards()[static_cast<std::size_t>(r)]);
  }
  return assemble(derive_id(id_, ++children_, salt), rank, std::move(cards), mesh_->doorway(),
                  options);
}

}  // namespace gyre
