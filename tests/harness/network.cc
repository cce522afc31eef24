#include "harness/network.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>

#include "base/check.h"
#include "base/unique.h"

namespace harness {

namespace {

bool shell(const std::string& line) {
  const int status = std::system((line + " >/dev/null 2>&1").c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::optional<Network> Network::make(int hosts, std::string& why_not) {
  if (::geteuid() != 0) {
    why_not = "network namespaces need root";
    return std::nullopt;
  }
  Network out(fmt::format("gw{}h", ::getpid() % 100'000), hosts);
  bool made =
      shell(fmt::format("ip netns add {0}b && ip -n {0}b link add bridge0 type bridge && "
                        "ip -n {0}b link set bridge0 up",
                        out.prefix_));
  for (int h = 0; h < hosts && made; ++h)
    made = shell(
        fmt::format("ip netns add {0} && ip -n {0} link set lo up && "
                    "ip link add e0 netns {0} type veth peer name p{1} netns {2}b && "
                    "ip -n {2}b link set p{1} master bridge0 up && ip -n {0} link set e0 up && "
                    "ip -n {0} addr add 10.77.0.{3}/24 dev e0",
                    out.name(h), h, out.prefix_, h + 1));
  if (made) return out;
  why_not = "this kernel or container makes no veth pairs";
  return std::nullopt;
}

Network::~Network() {
  if (hosts_ == 0) return;
  for (int h = 0; h < hosts_; ++h) shell("ip netns del " + name(h));
  shell("ip netns del " + prefix_ + "b");
}

void Network::enter(int host) const {
  const gyre::Fd there(::open(("/var/run/netns/" + name(host)).c_str(), O_RDONLY | O_CLOEXEC));
  GYRE_CHECK(static_cast<bool>(there));
  GYRE_CHECK(::setns(there.get(), CLONE_NEWNET) == 0);
}

bool Network::cut(int host) const {
  return shell(fmt::format("ip -n {}b link set p{} down", prefix_, host));
}

}  // namespace harness
