// The commands of the `gyre` tool. Each adds itself to the command line and returns an exit status.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace gyre::cli {

// What the chosen command does when the line has been read; its value is the exit status.
using Action = std::function<int()>;

void add_env(CLI::App& app, Action& action);     // gyre env
void add_plan(CLI::App& app, Action& action);    // gyre plan list|show|prove
void add_topo(CLI::App& app, Action& action);    // gyre topo show|dump|check|why
void add_status(CLI::App& app, Action& action);  // gyre status
void add_run(CLI::App& app, Action& action);     // gyre run -n N [--netns K] cmd

}  // namespace gyre::cli
