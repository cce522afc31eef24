// gyre env: every variable that the library reads.
#include <cstdio>

#include "base/param.h"
#include "cli/commands.h"

namespace gyre::cli {

namespace {

int print_env(bool markdown) {
  if (markdown) std::puts("| variable | default | meaning |\n|---|---|---|");
  for (ParamBase* param : all_params()) {
    const std::string variable = param->variable(), initial = param->default_text();
    if (markdown) {
      std::printf("| `%s` | %s | %s |\n", variable.c_str(), initial.empty() ? " " : initial.c_str(),
                  param->meaning());
      continue;
    }
    // A secret is a setting too, but its value stays out of terminals and logs.
    const bool hidden = variable == "GYRE_SECRET" || variable == "GYRE_UNIQUE_ID";
    const std::string value = hidden && param->from_environment() ? "(set)" : param->value_text();
    std::printf("%-24s %-16s %-11s default %-12s %s\n", variable.c_str(), value.c_str(),
                param->from_environment() ? "environment" : "default", initial.c_str(),
                param->meaning());
  }
  const Status status = check_params();
  if (status) return 0;
  std::fprintf(stderr, "gyre env: %s\n", status.error().text.c_str());
  return 1;
}

}  // namespace

void add_env(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("env", "variables: name, value, source, default, meaning");
  static bool markdown = false;
  command->add_flag("--markdown", markdown, "a table for the documentation");
  command->callback([&action] { action = [] { return print_env(markdown); }; });
}

}  // namespace gyre::cli
