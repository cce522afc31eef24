#include "transport/desk.h"

#include <linux/futex.h>
#include <sodium.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace gyre {

namespace {

constexpr std::uint64_t kMagic = 0x6b7365642d657967;  // "gye-desk"
constexpr std::uint32_t kEntries = 8192;
constexpr std::size_t kFarewellText = 400;

enum BoxState : std::uint32_t { kBoxEmpty, kBoxWriting, kBoxFull };

struct FarewellBox {
  std::uint32_t state;
  std::int32_t code;
  std::int32_t culprit;
  char text[kFarewellText];
};

struct DirectoryEntry {
  std::int32_t sender;
  std::uint16_t index;
  std::uint8_t kind;
  std::uint8_t unused;
  std::uint32_t slots;
  std::uint32_t slot_bytes;
  std::uint64_t offset;
};

}  // namespace

struct DeskHeader {
  std::uint64_t magic;
  DeskToken token;
  alignas(kLineBytes) Bell bell;
  alignas(kLineBytes) FarewellBox box;
  LoanWords loan;
  alignas(kLineBytes) std::uint32_t entry_count;  // entries below it are complete
  DirectoryEntry entries[kEntries];
};

namespace {

constexpr std::size_t kHeaderBytes =
    (sizeof(DeskHeader) + kPageBytes - 1) / kPageBytes * kPageBytes;

// The desks of this process, by token, for ranks that are threads of one process.
struct Desks {
  std::mutex mutex;
  std::map<DeskToken, std::weak_ptr<DeskMemory>> by_token;
};
Desks& desks() {
  static auto* all = new Desks;  // threads may outlive main()
  return *all;
}

}  // namespace

Result<std::byte*> DeskMemory::map(std::uint64_t offset, std::size_t bytes) {
  std::lock_guard lock(mutex_);
  if (const auto known = mappings_.find(offset); known != mappings_.end()) {
    GYRE_CHECK(known->second.bytes() == bytes);
    return known->second.data();
  }
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                       fd_.get(), static_cast<off_t>(offset));
  if (address == MAP_FAILED)
    return error(Code::system, "mmap of {} B of shared memory", bytes).because(errno);
  return mappings_.emplace(offset, Mapping(address, bytes)).first->second.data();
}

void ring_bell(Bell& bell) {
  if (std::atomic_ref(bell.asleep).load(std::memory_order_relaxed) == 0) return;
  std::atomic_ref(bell.rings).fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &bell.rings, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void sleep_on(Bell& bell, std::uint32_t rings_seen, Nanos span) {
  const timespec limit{span / 1'000'000'000, span % 1'000'000'000};
  syscall(SYS_futex, &bell.rings, FUTEX_WAIT, rings_seen, &limit, nullptr, 0);
}

const DeskToken& DeskView::token() const { return head().token; }
Bell& Desk::bell() const { return head().bell; }
Bell& DeskView::bell() const { return head().bell; }

Desk::~Desk() {
  std::lock_guard lock(desks().mutex);
  desks().by_token.erase(token_);
}

Result<std::unique_ptr<Desk>> Desk::create(std::uint64_t fifo_limit_bytes) {
  Fd fd(memfd_create("gyre-desk", MFD_CLOEXEC));
  if (!fd) return error(Code::system, "memfd_create for shared memory").because(errno);
  if (ftruncate(fd.get(), kHeaderBytes) != 0)
    return error(Code::system, "ftruncate of shared memory to {} B", kHeaderBytes).because(errno);
  auto memory = std::make_shared<DeskMemory>(std::move(fd));
  std::byte* const head = GYRE_TRY(memory->map(0, kHeaderBytes));
  std::unique_ptr<Desk> desk(new Desk(std::move(memory), reinterpret_cast<DeskHeader*>(head)));
  desk->bytes_ = kHeaderBytes;
  desk->limit_bytes_ = fifo_limit_bytes;
  randombytes_buf(desk->token_.data(), desk->token_.size());
  desk->head().token = desk->token_;
  desk->head().magic = kMagic;
  std::lock_guard lock(desks().mutex);
  desks().by_token.emplace(desk->token_, desk->memory_);
  return desk;
}

Result<FifoMemory> Desk::open_fifo(int sender, const EdgeKey& key, const FifoShape& shape) {
  const std::size_t bytes = fifo_bytes(shape);
  const std::uint32_t count = head().entry_count;
  if (count == kEntries) return error(Code::internal, "more than {} FIFOs on one rank", kEntries);
  if (bytes_ + bytes > limit_bytes_)
    return error(Code::system, "FIFO memory of this rank would pass {} (GYRE_FIFO_LIMIT)",
                 bytes_text(limit_bytes_));
  if (ftruncate(descriptor(), static_cast<off_t>(bytes_ + bytes)) != 0)
    return error(Code::system, "ftruncate of shared memory to {} B", bytes_ + bytes).because(errno);
  const FifoMemory memory(GYRE_TRY(memory_->map(bytes_, bytes)), shape);
  head().entries[count] = {sender, key.index,   static_cast<std::uint8_t>(key.kind),
                           0,      shape.slots, shape.slot_bytes,
                           bytes_};
  bytes_ += bytes;
  // pairs with DeskView::find_fifo(): the entry before its count
  std::atomic_ref(head().entry_count).store(count + 1, std::memory_order_release);
  return memory;
}

std::optional<Farewell> Desk::farewell() const {
  FarewellBox& box = head().box;
  if (std::atomic_ref(box.state).load(std::memory_order_acquire) != kBoxFull) return std::nullopt;
  const std::size_t length = strnlen(box.text, kFarewellText);
  return Farewell{static_cast<Code>(box.code), box.culprit, std::string(box.text, length)};
}

void Desk::begin_touch() {
  // pairs with recall(): each side writes its word before it reads the other's
  if (touch_depth_++ == 0) std::atomic_ref(head().loan.touches).fetch_add(1);
}

void Desk::end_touch() {
  // pairs with touches(): what was read or written before the word
  if (--touch_depth_ == 0) std::atomic_ref(head().loan.touches).fetch_add(1);
}

void Desk::recall() { std::atomic_ref(head().loan.recalled).store(1); }
bool DeskView::recalled() const { return std::atomic_ref(head().loan.recalled).load() != 0; }
std::uint32_t DeskView::touches() const { return std::atomic_ref(head().loan.touches).load(); }

Result<DeskView> DeskView::map(Fd fd) {
  const off_t size = lseek(fd.get(), 0, SEEK_END);
  if (size < static_cast<off_t>(kHeaderBytes))
    return error(Code::internal, "a peer's shared memory has {} B, expected {}", size,
                 kHeaderBytes);
  DeskView view = GYRE_TRY(over(std::make_shared<DeskMemory>(std::move(fd))));
  if (view.head().magic != kMagic)
    return error(Code::internal, "a peer's shared memory is no desk");
  return view;
}

Result<DeskView> DeskView::over(std::shared_ptr<DeskMemory> memory) {
  DeskView view;
  view.head_ = reinterpret_cast<DeskHeader*>(GYRE_TRY(memory->map(0, kHeaderBytes)));
  view.memory_ = std::move(memory);
  return view;
}

std::optional<DeskView> DeskView::share(const DeskToken& token) {
  std::shared_ptr<DeskMemory> memory;
  {
    std::lock_guard lock(desks().mutex);
    const auto found = desks().by_token.find(token);
    if (found != desks().by_token.end()) memory = found->second.lock();
  }
  if (!memory) return std::nullopt;
  auto view = over(std::move(memory));
  if (!view) return std::nullopt;
  return *std::move(view);
}

Result<std::optional<FifoMemory>> DeskView::find_fifo(int sender, const EdgeKey& key,
                                                      const FifoShape& shape) {
  const std::uint32_t count =
      std::min(std::atomic_ref(head().entry_count).load(std::memory_order_acquire), kEntries);
  for (std::uint32_t i = 0; i < count; ++i) {
    const DirectoryEntry entry = head().entries[i];
    if (entry.sender != sender || entry.index != key.index ||
        entry.kind != static_cast<std::uint8_t>(key.kind))
      continue;
    if (entry.slots != shape.slots || entry.slot_bytes != shape.slot_bytes)
      return error(
          Code::invalid_usage,
          "slots differ: {} of {} B here, {} of {} B there (GYRE_SLOT_BYTES and GYRE_SLOTS "
          "must match on all ranks)",
          shape.slots, shape.slot_bytes, entry.slots, entry.slot_bytes);
    return std::optional(
        FifoMemory(GYRE_TRY(memory_->map(entry.offset, fifo_bytes(shape))), shape));
  }
  return std::optional<FifoMemory>();
}

void DeskView::leave(const Farewell& farewell) {
  FarewellBox& box = head().box;
  std::uint32_t expected = kBoxEmpty;
  if (!std::atomic_ref(box.state).compare_exchange_strong(expected, kBoxWriting)) return;
  box.code = static_cast<std::int32_t>(farewell.code);
  box.culprit = farewell.culprit;
  const std::size_t length = std::min(farewell.text.size(), kFarewellText - 1);
  std::memcpy(box.text, farewell.text.data(), length);
  box.text[length] = 0;
  // pairs with Desk::farewell()
  std::atomic_ref(box.state).store(kBoxFull, std::memory_order_release);
}

}  // namespace gyre
