#include "transport/link_pair.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/units.h"
#include "transport/chaos.h"
#include "transport/crypt.h"
#include "transport/plugin.h"
#include "transport/shm.h"
#include "transport/striped.h"
#include "transport/tcp.h"

namespace gyre {

namespace {

constexpr std::uint64_t kLimit = 64_MiB;

struct Sockets {
  Fd ends[2];
};

Sockets socket_pair() {
  int fds[2];
  GYRE_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
  return {{Fd(fds[0]), Fd(fds[1])}};
}

std::uint64_t salt_of(int end) { return static_cast<std::uint64_t>(end) + 1; }

// A real TCP connection over loopback.
Sockets loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* where = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  GYRE_CHECK(::bind(listener.get(), where, length) == 0);
  GYRE_CHECK(::listen(listener.get(), 1) == 0);
  GYRE_CHECK(::getsockname(listener.get(), where, &length) == 0);
  Fd near(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  GYRE_CHECK(::connect(near.get(), where, length) == 0);
  Fd far(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  const int on = 1;
  GYRE_CHECK(far.get() >= 0 && ::ioctl(near.get(), FIONBIO, &on) == 0);
  return {{std::move(near), std::move(far)}};
}

struct Stream {
  Chaos chaos{};
  bool encrypted = false;
};

// Over as many wires as there are pairs of sockets.
LinkPair stream_links(std::vector<Sockets> sockets, const Stream& stream = {}) {
  LinkPair out;
  for (int end = 0; end < 2; ++end) {
    std::vector<std::unique_ptr<Wire>> lanes;
    for (Sockets& pair : sockets) {
      out.lines[end].emplace_back(::dup(pair.ends[end].get()));
      auto lane = make_tcp_wire(std::move(pair.ends[end]));
      if (stream.chaos.active())
        lane = make_chaos_wire(std::move(lane), stream.chaos, salt_of(end) + 2 * lanes.size());
      lanes.push_back(std::move(lane));
    }
    auto wire = make_striped_wire(std::move(lanes));
    if (stream.encrypted) wire = make_crypt_wire(std::move(wire), Key{}, end == 0);
    out.ends[end] = make_pump_link(1 - end, "tcp", std::move(wire), kLimit);
  }
  return out;
}

std::vector<Sockets> loopbacks(int count) {
  std::vector<Sockets> out;
  for (int i = 0; i < count; ++i) out.push_back(loopback());
  return out;
}

LinkPair unix_stream_links() {
  std::vector<Sockets> one;
  one.push_back(socket_pair());
  return stream_links(std::move(one));
}

LinkPair mapped_links(bool same_process) {
  LinkPair out;
  Sockets sockets = socket_pair();
  for (int end = 0; end < 2; ++end) {
    auto desk = Desk::create(kLimit);
    GYRE_CHECK(desk);
    out.desks[end] = *std::move(desk);
    out.lines[end].emplace_back(::dup(sockets.ends[end].get()));
    GYRE_CHECK(greet_shm(sockets.ends[end].get(), *out.desks[end]));
  }
  for (int end = 0; end < 2; ++end) {
    auto made = meet_shm(sockets.ends[end], {end, 1 - end, out.desks[end].get(), same_process});
    GYRE_CHECK(made && *made);
    out.ends[end] = *std::move(made);
  }
  return out;
}

LinkPair plugin_links() {
  Sockets sockets = socket_pair();
  auto plugin = load_plugin(GYRE_EXAMPLE_PLUGIN);
  GYRE_CHECK(plugin);
  std::vector<PluginMeeting> meetings;
  for (int end = 0; end < 2; ++end)
    meetings.emplace_back(PluginCall{.plugin = *plugin,
                                     .peer = 1 - end,
                                     .control = sockets.ends[end].get(),
                                     .answerer = end == 0});
  GYRE_CHECK(meet_over_plugin(meetings, deadline_in(10_s), false));
  LinkPair out;
  for (int end = 0; end < 2; ++end) {
    auto wire = meetings[static_cast<std::size_t>(end)].take_wire(std::move(sockets.ends[end]));
    out.lines[end].emplace_back(::dup(wire->descriptor()));
    out.ends[end] = make_pump_link(1 - end, "example", std::move(wire), kLimit);
  }
  return out;
}

LinkPair disturbed(LinkPair pair, const Chaos& chaos) {
  for (int end = 0; end < 2; ++end)
    pair.ends[end] = make_chaos_link(std::move(pair.ends[end]), chaos, salt_of(end));
  return pair;
}

Chaos faults(std::uint64_t seed) {
  return {.seed = seed, .delay = 50'000, .short_bytes = seed % 2 ? 97u : 40'000u};
}

}  // namespace

void LinkPair::kill(int end) {
  for (const Fd& line : lines[end]) ::shutdown(line.get(), SHUT_RDWR);
}

void LinkPair::leave(int end) {
  ends[end].reset();
  lines[end].clear();
}

Result<PeerNews> LinkPair::news(int end) const {
  if (desks[end])
    if (auto word = desks[end]->farewell()) return PeerNews{false, std::move(word)};
  return ends[end]->check();
}

std::vector<LinkMaker> link_makers() {
  return {
      {"loop", [](std::uint64_t) { return mapped_links(true); }},
      {"shm", [](std::uint64_t) { return mapped_links(false); }},
      {"tcp", [](std::uint64_t) { return stream_links(loopbacks(1)); }},
      {"striped", [](std::uint64_t) { return stream_links(loopbacks(3)); }},
      {"unix_stream", [](std::uint64_t) { return unix_stream_links(); }},
      {"plugin", [](std::uint64_t) { return plugin_links(); }},
      {"encrypted", [](std::uint64_t) { return stream_links(loopbacks(1), {.encrypted = true}); }},
      {"disturbed_striped_encrypted",
       [](std::uint64_t seed) {
         return stream_links(loopbacks(2), {.chaos = faults(seed), .encrypted = true});
       }},
      {"disturbed_shm",
       [](std::uint64_t seed) { return disturbed(mapped_links(false), faults(seed)); }},
      {"disturbed_tcp", [](std::uint64_t seed) {
         return disturbed(stream_links(loopbacks(1), {.chaos = faults(seed)}), faults(seed));
       }}};
}

std::vector<LinkMaker> cutting_makers(std::uint64_t cut) {
  const auto chaos = [cut](std::uint64_t seed) { return Chaos{.seed = seed, .cut = cut}; };
  return {{"shm", [=](std::uint64_t seed) { return disturbed(mapped_links(false), chaos(seed)); }},
          {"tcp",
           [=](std::uint64_t seed) { return stream_links(loopbacks(1), {.chaos = chaos(seed)}); }},
          {"striped",
           [=](std::uint64_t seed) { return stream_links(loopbacks(3), {.chaos = chaos(seed)}); }}};
}

}  // namespace gyre
