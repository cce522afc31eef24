// gyre plan: the catalog, one rank's program as a table, all ranks' as a picture, and the proof.
#include <cstdio>
#include <fstream>

#include "cli/commands.h"
#include "collectives/print.h"
#include "collectives/prove.h"

namespace gyre::cli {

namespace {

struct Options {
  std::string collective = "all_reduce", algorithm = "ring", svg;
  int size = 4, rank = 0, root = 0, per_host = 0, slots = 0;
};

Layout layout_of(const Options& o) {
  if (o.per_host <= 0 || o.per_host >= o.size) return single_host_layout(o.size);
  Layout layout{.size = o.size, .hosts = {}};
  for (int rank = 0; rank < o.size; ++rank) {
    if (rank % o.per_host == 0) layout.hosts.emplace_back();
    layout.hosts.back().push_back(rank);
  }
  return layout;
}

Result<Shape> shape_of(const Options& o, const Layout& layout) {
  const Algorithm algorithm = GYRE_TRY(parse_algorithm(o.algorithm));
  for (int i = 0; i < kCollectiveCount; ++i)
    if (o.collective == to_text(static_cast<Collective>(i)))
      return Shape{static_cast<Collective>(i), algorithm, o.rank, o.root, &layout};
  return error(Code::invalid_argument, "collective '{}' is not known; see `gyre plan list`",
               o.collective);
}

int complain(const Error& why) {
  std::fprintf(stderr, "gyre plan: %s\n", why.text.c_str());
  return 1;
}

int list() {
  std::printf("%-18s %-13s %-8s %-11s %s\n", "collective", "algorithm", "windows", "rank order",
              "slots");
  for (const Entry& entry : catalog())
    std::printf("%-18s %-13s %-8s %-11s %d\n", to_text(entry.collective), to_text(entry.algorithm),
                entry.needs_windows ? "yes" : "no", entry.rank_order ? "yes" : "no",
                static_cast<int>(entry.slots_min));
  return 0;
}

int show(const Options& o) {
  const Layout layout = layout_of(o);
  auto shape = shape_of(o, layout);
  if (!shape) return complain(shape.error());
  auto program = build_program(*shape);
  if (!program) return complain(program.error());
  std::fputs(to_table(*shape, *program).c_str(), stdout);
  if (o.svg.empty()) return 0;
  auto programs = build_all(*shape);
  if (!programs) return complain(programs.error());
  auto svg = to_svg(*shape, *programs);
  if (!svg) return complain(svg.error());
  std::ofstream file(o.svg);
  file << *svg;
  if (!file.flush()) return complain(error(Code::system, "cannot write {}", o.svg));
  std::printf("picture in %s\n", o.svg.c_str());
  return 0;
}

int prove_one(const Options& o) {
  const Layout layout = layout_of(o);
  auto shape = shape_of(o, layout);
  if (!shape) return complain(shape.error());
  auto programs = build_all(*shape);
  if (!programs) return complain(programs.error());
  const int least = least_slots(*programs);
  const int slots = o.slots > 0 ? o.slots : least;
  const Verdict verdict = prove_all_cases(*programs, contract_of(*shape), slots);
  std::printf("%s %s on %d ranks, root %d, %d slots (least %d): %s\n", o.collective.c_str(),
              o.algorithm.c_str(), o.size, o.root, slots, least, to_text(verdict).c_str());
  return verdict.proved() ? 0 : 1;
}

void add_shape(CLI::App* command, Options& o) {
  command->add_option("collective", o.collective, "as `gyre plan list` names it");
  command->add_option("algorithm", o.algorithm, "likewise");
  command->add_option("-n,--ranks", o.size, "number of ranks")->check(CLI::Range(1, 100000));
  command->add_option("--root", o.root, "root, or the other end of send and recv");
  command->add_option("--per-host", o.per_host, "ranks on each host; 0: all on one");
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  static Options o;
  auto* plan = app.add_subcommand("plan", "algorithms as data");
  plan->require_subcommand(1);
  plan->add_subcommand("list", "every algorithm of every collective")->callback([&action] {
    action = list;
  });
  auto* show_command = plan->add_subcommand("show", "one rank's program; with --svg all ranks'");
  add_shape(show_command, o);
  show_command->add_option("-r,--rank", o.rank, "whose program");
  show_command->add_option("--svg", o.svg, "also draw all ranks into this file");
  show_command->callback([&action] { action = [] { return show(o); }; });
  auto* prove_command = plan->add_subcommand("prove", "runs the prover; exit status 0 when proved");
  add_shape(prove_command, o);
  prove_command->add_option("--slots", o.slots, "slots of every edge; default the fewest that do");
  prove_command->callback([&action] { action = [] { return prove_one(o); }; });
}

}  // namespace gyre::cli
