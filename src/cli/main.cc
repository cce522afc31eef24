// The `gyre` tool: plans, machines, settings, status, and local ranks.
#include "cli/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"gyre " GYRE_VERSION_TEXT ": collective communication", "gyre"};
  app.require_subcommand(1);
  gyre::cli::Action action;
  gyre::cli::add_env(app, action);
  gyre::cli::add_plan(app, action);
  gyre::cli::add_topo(app, action);
  gyre::cli::add_status(app, action);
  gyre::cli::add_run(app, action);
  CLI11_PARSE(app, argc, argv);
  return action();
}
