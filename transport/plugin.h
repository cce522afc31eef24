// Transports from outside the tree (gyre/transport.h): loading, and meeting a peer over one. Knows
// the C table, cards and the proof of who is calling. Does not know when ranks meet, nor frames
// (pump.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique.h"
#include "gyre/transport.h"
#include "transport/auth.h"
#include "transport/wire.h"

namespace gyre {

using PluginTable = gyreTransportPlugin_v1_t;

// The plug-in that `transport` (GYRE_TRANSPORT) and GYRE_TRANSPORT_PLUGIN ask for, or nullptr when
// a transport of the tree was asked for. Loaded once per process and never unloaded. Any thread.
// Fails: invalid-usage, with the loader's words.
Result<const PluginTable*> find_plugin(const std::string& transport);
// Fails: invalid-usage.
Result<const PluginTable*> load_plugin(const std::string& path);

// How two ranks come to a connection: over a control socket, authenticated before, the answerer
// sends a card and the dialer its verdict; the first bytes of the new connection prove the session
// key.
struct PluginCall {
  const PluginTable* plugin = nullptr;
  int peer = -1;
  int control = -1;       // borrowed: a non-blocking stream socket
  Key session_key{};      // of the control connection
  bool answerer = false;  // one end says true
  int score_to_beat = 0;  // dialer alone: by more than that
};

class PluginMeeting {
 public:
  explicit PluginMeeting(const PluginCall& call) : call_(call) {}
  PluginMeeting(PluginMeeting&& other) noexcept;
  PluginMeeting& operator=(PluginMeeting&&) = delete;
  ~PluginMeeting();

  int peer() const { return call_.peer; }
  // Goes as far as it can without waiting; true when done. Fails: remote, system.
  Result<bool> step();
  // Needs: done. The plug-in was turned down: the control socket is free for another transport.
  bool declined() const { return declined_; }
  // Needs: done and not declined. The wire keeps the control socket: its end tells that the peer is
  // gone, whatever the plug-in notices.
  std::unique_ptr<Wire> take_wire(Fd control);

 private:
  enum class Stage { begin, await_offer, await_verdict, connect, prove, check, done };
  Result<bool> step_once();
  Status send_offer();
  Result<bool> take_offer();
  Result<bool> take_verdict();
  Result<bool> connect();
  Result<bool> prove();
  Result<bool> check();
  Result<bool> receive_control(void* into, std::size_t bytes);
  Key proof(bool of_answerer) const;
  void drop_connection();
  Error failed(const char* what) const;

  PluginCall call_;
  Stage stage_ = Stage::begin;
  bool declined_ = false;
  void* listener_ = nullptr;
  void* connection_ = nullptr;
  std::size_t moved_ = 0;  // bytes of the proof under way
  Key heard_{};
  std::array<std::byte, GYRE_TRANSPORT_CARD_BYTES> card_{};
  std::size_t card_bytes_ = 0;
};

// Turns all of them until each is done, side by side, since peers take theirs in other orders.
// Fails: timeout, aborted, or as step() does.
Status meet_over_plugin(std::span<PluginMeeting> meetings, Nanos deadline,
                        const std::atomic<bool>& abort);

}  // namespace gyre
