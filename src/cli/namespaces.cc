#include "cli/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "base/unique.h"

namespace gyre::cli {

namespace {

// Runs `ip WORDS...`; its complaints go to our stderr unless `quiet`.
Status ip(const std::string& words, bool quiet = false) {
  std::istringstream stream(words);
  std::vector<std::string> parts{"ip"};
  for (std::string word; stream >> word;) parts.push_back(word);
  const pid_t child = fork();
  if (child < 0) return error(Code::system, "fork for ip(8)").because(errno);
  if (child == 0) {
    if (quiet) {
      const int null = open("/dev/null", O_WRONLY);
      dup2(null, STDERR_FILENO);
    }
    std::vector<char*> argv;
    for (std::string& part : parts) argv.push_back(part.data());
    argv.push_back(nullptr);
    execvp("ip", argv.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status == 0) return {};
  return error(Code::system, "`ip {}` failed{}", words,
               WIFEXITED(status) && WEXITSTATUS(status) == 127 ? ": ip(8) is missing (iproute2)"
                                                               : "; --netns needs root");
}

}  // namespace

Result<Namespaces> Namespaces::make(int count) {
  if (count < 1 || count > 200)
    return error(Code::invalid_argument, "{} namespaces are not possible", count);
  Namespaces made;
  const int id = getpid() % 60000;
  made.subnet_ = fmt::format("10.{}.{}.", 80 + id / 250 % 100, id % 250);
  made.bridge_ = fmt::format("gyb{}", id);
  GYRE_TRY(ip("link add " + made.bridge_ + " type bridge"));
  GYRE_TRY(ip("addr add " + made.bridge_address() + "/24 dev " + made.bridge_));
  GYRE_TRY(ip("link set " + made.bridge_ + " up"));
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("gyre{}n{}", id, i);
    const std::string out = fmt::format("gy{}o{}", id, i), in = fmt::format("gy{}i{}", id, i);
    GYRE_TRY(ip("netns add " + name));
    made.names_.push_back(name);
    GYRE_TRY(ip("link add " + out + " type veth peer name " + in));
    GYRE_TRY(ip("link set " + in + " netns " + name));
    GYRE_TRY(ip("link set " + out + " master " + made.bridge_ + " up"));
    GYRE_TRY(ip("-n " + name + " addr add " + made.address(i) + "/24 dev " + in));
    GYRE_TRY(ip("-n " + name + " link set " + in + " up"));
    GYRE_TRY(ip("-n " + name + " link set lo up"));
  }
  return made;
}

Namespaces::Namespaces(Namespaces&& other) noexcept
    : bridge_(std::move(other.bridge_)),
      subnet_(std::move(other.subnet_)),
      names_(std::move(other.names_)) {
  other.bridge_.clear();
  other.names_.clear();
}

Namespaces::~Namespaces() {
  for (const std::string& name : names_) (void)ip("netns del " + name, true);
  if (!bridge_.empty()) (void)ip("link del " + bridge_, true);
}

Status Namespaces::enter(int index) const {
  const std::string path = "/run/netns/" + names_[static_cast<std::size_t>(index)];
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd || setns(fd.get(), CLONE_NEWNET) != 0)
    return error(Code::system, "entering {}", path).because(errno);
  return {};
}

}  // namespace gyre::cli
