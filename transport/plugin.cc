#include "transport/plugin.h"

#include <dlfcn.h>
#include <sched.h>
#include <sodium.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/param.h"

namespace gyre {

GYRE_PARAM(transport_plugin, std::string, "",
           "path of a transport plug-in; taken where it beats the transports of the tree, or "
           "everywhere with GYRE_TRANSPORT=its name; must match on all ranks");

namespace {

constexpr const char* kSymbol = "gyreTransportPlugin_v1";
constexpr std::uint32_t kOfferMagic = 0x67706c31;
// After the control socket has ended, what the peer sent last may still be on its way.
constexpr Nanos kGrace = 500'000'000;

struct Offer {
  std::uint32_t magic = kOfferMagic;
  std::uint32_t card_bytes = 0;  // 0: no listener could be made
  char name[32] = {};
  std::byte card[GYRE_TRANSPORT_CARD_BYTES] = {};
};
static_assert(sizeof(Offer) == 40 + GYRE_TRANSPORT_CARD_BYTES);

class PluginWire final : public Wire {
 public:
  PluginWire(const PluginTable* plugin, void* connection, Fd control)
      : plugin_(plugin), connection_(connection), control_(std::move(control)) {}
  ~PluginWire() override { plugin_->close(connection_); }

  Moved send(std::span<const iovec> parts) override;
  Moved receive(std::span<const iovec> parts) override;
  Status probe() override;
  int descriptor() const override {
    return plugin_->descriptor ? plugin_->descriptor(connection_) : -1;
  }

 private:
  const PluginTable* plugin_;
  void* connection_;
  Fd control_;
  std::vector<gyreTransportPart_t> parts_;
  Nanos ended_ = 0;  // when the control socket was first seen to have
};

Moved PluginWire::send(std::span<const iovec> parts) {
  parts_.clear();
  for (const iovec& part : parts)
    if (part.iov_len > 0) parts_.push_back({part.iov_base, part.iov_len});
  std::size_t bytes = 0;
  switch (plugin_->post(connection_, parts_.data(), parts_.size(), &bytes)) {
    case gyreTransportDone:
      return {.bytes = bytes};
    case gyreTransportAgain:
      return {};
    default:
      return {.over = true, .reason = errno};
  }
}

Moved PluginWire::receive(std::span<const iovec> parts) {
  std::size_t total = 0;
  for (const iovec& part : parts) {
    for (std::size_t filled = 0; filled < part.iov_len;) {
      std::size_t bytes = 0;
      auto* into = static_cast<std::byte*>(part.iov_base) + filled;
      const auto answer = plugin_->poll(connection_, into, part.iov_len - filled, &bytes);
      // The end shows at the next call, when nothing came before it.
      if (answer != gyreTransportDone && total > 0) return {.bytes = total};
      if (answer == gyreTransportAgain) return {};
      if (answer != gyreTransportDone)
        return {.over = true, .reason = answer == gyreTransportClosed ? 0 : errno};
      filled += bytes;
      total += bytes;
    }
  }
  return {.bytes = total};
}

Status PluginWire::probe() {
  char byte;
  const ssize_t got = recv(control_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return {};
  if (ended_ == 0) ended_ = now_ns();
  if (now_ns() - ended_ < kGrace) return {};
  return error(Code::remote, "it closed its connection");
}

Status check_table(const PluginTable* table, const std::string& path) {
  auto refuse = [&](const char* why) {
    return error(Code::invalid_usage, "transport plug-in {}: {}", path, why);
  };
  if (table->size < sizeof(PluginTable)) return refuse("its table is smaller than version 1's");
  if (!table->name || !*table->name || std::strlen(table->name) >= sizeof(Offer::name))
    return refuse("its name is missing or longer than 31 characters");
  if (!table->reach || !table->listen || !table->dial || !table->answer || !table->close_listener ||
      !table->post || !table->poll || !table->close)
    return refuse("a function is missing");
  return {};
}

}  // namespace

Result<const PluginTable*> load_plugin(const std::string& path) {
  static std::mutex mutex;
  static auto* loaded = new std::map<std::string, const PluginTable*>;
  std::lock_guard lock(mutex);
  if (const auto known = loaded->find(path); known != loaded->end()) return known->second;
  void* object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object) return error(Code::invalid_usage, "cannot load a transport plug-in: {}", dlerror());
  const auto* table = static_cast<const PluginTable*>(dlsym(object, kSymbol));
  if (!table)
    return error(Code::invalid_usage, "transport plug-in {}: it has no symbol {}", path, kSymbol);
  GYRE_TRY(check_table(table, path));
  GYRE_LOG(info, "loaded transport plug-in {} from {}", table->name, path);
  loaded->emplace(path, table);
  return table;
}

Result<const PluginTable*> find_plugin(const std::string& transport) {
  if (transport == "shm" || transport == "tcp") return nullptr;
  const std::string& path = param_transport_plugin.get();
  if (transport == "auto") {
    if (path.empty()) return nullptr;
    return load_plugin(path);
  }
  auto table = load_plugin(path.empty() ? "libgyre-transport-" + transport + ".so" : path);
  if (!table)
    return error(
        Code::invalid_usage,
        "transport '{}' is none of auto, shm, tcp (GYRE_TRANSPORT, netName), nor a plug-in: {}",
        transport, table.error().text);
  if (transport != (*table)->name)
    return error(Code::invalid_usage, "transport '{}' was asked for, but {} is '{}'", transport,
                 path, (*table)->name);
  return table;
}

PluginMeeting::PluginMeeting(PluginMeeting&& other) noexcept
    : call_(other.call_),
      stage_(other.stage_),
      declined_(other.declined_),
      listener_(std::exchange(other.listener_, nullptr)),
      connection_(std::exchange(other.connection_, nullptr)),
      moved_(other.moved_),
      heard_(other.heard_),
      card_(other.card_),
      card_bytes_(other.card_bytes_) {}

PluginMeeting::~PluginMeeting() {
  drop_connection();
  if (listener_) call_.plugin->close_listener(listener_);
}

void PluginMeeting::drop_connection() {
  if (connection_) call_.plugin->close(std::exchange(connection_, nullptr));
  moved_ = 0;
}

std::unique_ptr<Wire> PluginMeeting::take_wire(Fd control) {
  return std::make_unique<PluginWire>(call_.plugin, std::exchange(connection_, nullptr),
                                      std::move(control));
}

Error PluginMeeting::failed(const char* what) const {
  return error(Code::remote, "{} rank {} over plug-in {}", what, call_.peer, call_.plugin->name)
      .because(errno)
      .blame(call_.peer);
}

Key PluginMeeting::proof(bool of_answerer) const {
  return derive_key(call_.session_key, of_answerer ? "plug-in answerer" : "plug-in dialer");
}

Result<bool> PluginMeeting::step() {
  while (stage_ != Stage::done)
    if (!GYRE_TRY(step_once())) return false;
  return true;
}

// True when the stage has changed.
Result<bool> PluginMeeting::step_once() {
  switch (stage_) {
    case Stage::begin:
      if (call_.answerer) GYRE_TRY(send_offer());
      stage_ = call_.answerer ? Stage::await_verdict : Stage::await_offer;
      return true;
    case Stage::await_offer:
      return take_offer();
    case Stage::await_verdict:
      return take_verdict();
    case Stage::connect:
      return connect();
    case Stage::prove:
      return prove();
    case Stage::check:
      return check();
    case Stage::done:
      break;
  }
  return true;
}

Status PluginMeeting::send_offer() {
  Offer offer;
  std::strncpy(offer.name, call_.plugin->name, sizeof offer.name - 1);
  std::size_t bytes = 0;
  if (call_.plugin->listen(&listener_, offer.card, &bytes) == gyreTransportDone)
    offer.card_bytes = static_cast<std::uint32_t>(bytes);
  // The socket is fresh: so little always fits.
  if (send(call_.control, &offer, sizeof offer, MSG_NOSIGNAL) != sizeof offer)
    return failed("offering a card to");
  return {};
}

Result<bool> PluginMeeting::receive_control(void* into, std::size_t bytes) {
  const ssize_t there = recv(call_.control, into, bytes, MSG_PEEK | MSG_DONTWAIT);
  if (there < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (there <= 0) {
    if (there == 0) errno = ECONNRESET;
    return failed("meeting");
  }
  if (static_cast<std::size_t>(there) < bytes) return false;
  return recv(call_.control, into, bytes, MSG_DONTWAIT) == static_cast<ssize_t>(bytes);
}

Result<bool> PluginMeeting::take_offer() {
  Offer offer;
  if (!GYRE_TRY(receive_control(&offer, sizeof offer))) return false;
  offer.name[sizeof offer.name - 1] = 0;
  if (offer.magic != kOfferMagic || offer.card_bytes > sizeof offer.card)
    return error(Code::remote, "rank {} sent a broken card", call_.peer).blame(call_.peer);
  card_bytes_ = offer.card_bytes;
  std::memcpy(card_.data(), offer.card, card_bytes_);
  const bool alike = std::strcmp(offer.name, call_.plugin->name) == 0;
  declined_ = !alike || card_bytes_ == 0 ||
              call_.plugin->reach(card_.data(), card_bytes_) <= call_.score_to_beat;
  const std::uint32_t verdict = declined_ ? 0 : 1;
  if (send(call_.control, &verdict, sizeof verdict, MSG_NOSIGNAL) != sizeof verdict)
    return failed("answering the card of");
  stage_ = declined_ ? Stage::done : Stage::connect;
  return true;
}

Result<bool> PluginMeeting::take_verdict() {
  std::uint32_t verdict = 0;
  if (!GYRE_TRY(receive_control(&verdict, sizeof verdict))) return false;
  declined_ = verdict != 1;
  stage_ = declined_ ? Stage::done : Stage::connect;
  return true;
}

Result<bool> PluginMeeting::connect() {
  const auto answer = call_.answerer ? call_.plugin->answer(listener_, &connection_)
                                     : call_.plugin->dial(card_.data(), card_bytes_, &connection_);
  if (answer == gyreTransportAgain) return false;
  if (answer != gyreTransportDone) return failed("connecting to");
  // The dialer proves itself first: a stranger learns nothing from an answerer.
  stage_ = call_.answerer ? Stage::check : Stage::prove;
  return true;
}

Result<bool> PluginMeeting::prove() {
  const Key mine = proof(call_.answerer);
  while (moved_ < mine.size()) {
    const gyreTransportPart_t part{mine.data() + moved_, mine.size() - moved_};
    std::size_t bytes = 0;
    const auto answer = call_.plugin->post(connection_, &part, 1, &bytes);
    if (answer == gyreTransportAgain) return false;
    if (answer != gyreTransportDone) return failed("greeting");
    moved_ += bytes;
  }
  moved_ = 0;
  stage_ = call_.answerer ? Stage::done : Stage::check;
  return true;
}

Result<bool> PluginMeeting::check() {
  while (moved_ < heard_.size()) {
    std::size_t bytes = 0;
    const auto answer =
        call_.plugin->poll(connection_, heard_.data() + moved_, heard_.size() - moved_, &bytes);
    if (answer == gyreTransportAgain) return false;
    if (answer != gyreTransportDone && !call_.answerer) return failed("being greeted by");
    if (answer != gyreTransportDone) break;
    moved_ += bytes;
  }
  const bool proven = moved_ == heard_.size() &&
                      sodium_memcmp(heard_.data(), proof(!call_.answerer).data(), moved_) == 0;
  moved_ = 0;
  if (proven) {
    stage_ = call_.answerer ? Stage::prove : Stage::done;
    return true;
  }
  if (!call_.answerer)
    return error(Code::remote, "rank {} could not prove itself over plug-in {}", call_.peer,
                 call_.plugin->name)
        .blame(call_.peer);
  drop_connection();  // a stranger; the peer may be the next
  stage_ = Stage::connect;
  return true;
}

Status meet_over_plugin(std::span<PluginMeeting> meetings, Nanos deadline,
                        const std::atomic<bool>& abort) {
  for (int round = 0;; ++round) {
    int late = -1;
    for (PluginMeeting& meeting : meetings)
      if (!GYRE_TRY(meeting.step())) late = meeting.peer();
    if (late < 0) return {};
    if (abort.load(std::memory_order_relaxed))
      return error(Code::aborted, "aborted while connecting");
    if (now_ns() > deadline)
      return error(Code::timeout, "rank {} did not connect in time", late).blame(late);
    if (round < 256) {
      sched_yield();
    } else {
      const timespec pause{0, 200'000};
      nanosleep(&pause, nullptr);
    }
  }
}

}  // namespace gyre
