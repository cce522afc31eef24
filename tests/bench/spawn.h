// A program of the build as a child process: its output line by line, its end. For tests alone.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace perf {

class Spawned {
 public:
  // `name` is a program of the build's bin folder; `environment` adds "NAME=value".
  Spawned(const std::string& name, const std::vector<std::string>& arguments,
          const std::vector<std::string>& environment = {});
  ~Spawned();
  Spawned(const Spawned&) = delete;
  Spawned& operator=(const Spawned&) = delete;

  pid_t pid() const { return pid_; }
  // The next line of stdout; none at its end or after 60 s of silence.
  std::optional<std::string> line();
  // Reads on until a line contains `text`; false when none does.
  bool wait_for(const std::string& text);
  // The exit status after the rest of stdout; -1 when it had to be killed (60 s) or died of a
  // signal.
  int finish();

  const std::vector<std::string>& lines() const { return lines_; }  // all so far
  std::string errors() const;                                       // stderr so far

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  std::string error_path_;
  std::string pending_;
  std::vector<std::string> lines_;
};

}  // namespace perf
