// gyre status: what the communicators of this host are doing, read from outside their processes.
// Status pages are memfds, found through /proc; a stopped process can be looked at like any other.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/unique.h"
#include "cli/commands.h"
#include "core/status_page.h"

namespace gyre::cli {

namespace {

std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> out;
  DIR* dir = opendir(folder.c_str());
  if (!dir) return out;
  while (const dirent* entry = readdir(dir))
    if (entry->d_name[0] != '.') out.emplace_back(entry->d_name);
  closedir(dir);
  return out;
}

bool read_page(const std::string& path, StatusWords& words) {
  char target[64] = {};
  if (readlink(path.c_str(), target, sizeof target - 1) <= 0) return false;
  if (std::string(target).find(std::string("memfd:") + kStatusName) == std::string::npos)
    return false;
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd && pread(fd.get(), &words, sizeof words, 0) == static_cast<ssize_t>(sizeof words) &&
         words.magic == kStatusMagic;
}

// By communicator; a forked child's copy of its parent's page shows once.
std::map<std::uint64_t, std::map<int, StatusWords>> read_pages(int only_pid,
                                                               const std::string& only_name) {
  std::map<std::uint64_t, std::map<int, StatusWords>> out;
  for (const std::string& pid : entries("/proc")) {
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    if (only_pid > 0 && std::atoi(pid.c_str()) != only_pid) continue;
    const std::string folder = "/proc/" + pid + "/fd";
    for (const std::string& fd : entries(folder)) {
      StatusWords words{};
      if (!read_page(folder + "/" + fd, words)) continue;
      if (only_name.empty() || only_name == words.name) out[words.comm].emplace(words.rank, words);
    }
  }
  return out;
}

char run_state(int pid) {
  std::FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "r");
  if (!file) return '?';
  char state = '?';
  if (std::fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = '?';
  std::fclose(file);
  return state;
}

void print_rank(const StatusWords& words, std::uint64_t furthest) {
  const bool busy = words.started > words.finished;
  std::string doing = "idle";
  if (busy) {
    doing = "in " + to_text(words.call);
    if (words.waits_for >= 0)
      doing += " waiting for rank " + std::to_string(words.waits_for) + " for " +
               std::to_string((now_ns() - words.started_ns) / 1'000'000'000) + " s";
  }
  const char state = run_state(words.pid);
  std::printf("  rank %-5d pid %-8d started %-8llu finished %-8llu %s%s%s\n", words.rank, words.pid,
              static_cast<unsigned long long>(words.started),
              static_cast<unsigned long long>(words.finished), doing.c_str(),
              state == 'T' || state == 't' ? " (process is stopped)" : "",
              words.started < furthest ? " <- behind" : "");
}

int print_status(int only_pid, const std::string& only_name) {
  const auto communicators = read_pages(only_pid, only_name);
  if (communicators.empty()) std::puts("no communicator of gyre on this host");
  for (const auto& [comm, ranks] : communicators) {
    std::vector<StatusWords> rows;
    std::uint64_t furthest = 0;
    for (const auto& [rank, words] : ranks) {
      rows.push_back(words);
      furthest = std::max(furthest, words.started);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const StatusWords& a, const StatusWords& b) {
      return a.started < b.started;
    });
    std::printf("communicator %016llx%s%s, %d ranks, %zu here, on %s\n",
                static_cast<unsigned long long>(comm), rows[0].name[0] ? " " : "", rows[0].name,
                rows[0].size, rows.size(), rows[0].hostname);
    for (const StatusWords& words : rows) print_rank(words, furthest);
  }
  return 0;
}

}  // namespace

void add_status(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("status", "what the communicators on this host are doing");
  static int pid = 0;
  static std::string name;
  command->add_option("--pid", pid, "of this process alone");
  command->add_option("--name", name, "of communicators of this name alone (config commName)");
  command->callback([&action] { action = [] { return print_status(pid, name); }; });
}

}  // namespace gyre::cli
