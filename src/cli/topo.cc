// gyre topo: a machine as a tree and a matrix, as XML, its soundness, and why a way is what it is.
#include <cstdio>
#include <set>

#include "cli/commands.h"
#include "topology/detect.h"
#include "topology/render.h"
#include "topology/synth.h"
#include "topology/xml.h"

namespace gyre::cli {

namespace {

struct Options {
  std::string machine, a, b;
};

int complain(const Error& why) {
  std::fprintf(stderr, "gyre topo: %s\n", why.text.c_str());
  return 1;
}

bool names_a_file(const std::string& text) {
  std::FILE* file = std::fopen(text.c_str(), "re");
  if (file == nullptr) return text.find('/') != text.npos || text.ends_with(".xml");
  std::fclose(file);
  return true;
}

Machine warned(DescribedMachine described) {
  for (const std::string& warning : described.warnings)
    std::fprintf(stderr, "gyre topo: %s\n", warning.c_str());
  return std::move(described.machine);
}

// A file where there is one of that name, else a one-line description; nothing means this machine.
Result<Machine> load(const std::string& text) {
  if (text.empty()) return warned(GYRE_TRY(detect({})));
  if (!names_a_file(text)) return GYRE_TRY_WHILE(parse_synth(text), "reading '{}'", text);
  return warned(GYRE_TRY(read_xml(text)));
}

int show(const Options& o) {
  const auto machine = load(o.machine);
  if (!machine) return complain(machine.error());
  const Paths paths(*machine);
  std::fputs(tree_text(*machine).c_str(), stdout);
  // One matrix for each kind of host, where it first appears.
  std::set<const HostKind*> shown;
  for (int i = 0; i < machine->host_count(); ++i) {
    if (!shown.insert(&machine->kind_of(i)).second) continue;
    std::printf("\nhost %d\n%s\n%s", i, matrix_text(paths.of(i)).c_str(),
                nics_text(paths.of(i)).c_str());
  }
  return 0;
}

int dump(const Options& o) {
  const auto machine = load(o.machine);
  if (!machine) return complain(machine.error());
  std::fputs(to_xml(*machine).c_str(), stdout);
  return 0;
}

int check(const Options& o) {
  const auto machine = load(o.machine);
  if (!machine) return complain(machine.error());
  std::printf("sound: hosts %d, kinds of host %d, gpus %d\n", machine->host_count(),
              machine->kind_count(), machine->gpu_count());
  return 0;
}

int why(const Options& o) {
  const auto machine = load(o.machine);
  if (!machine) return complain(machine.error());
  const auto a = find_place(*machine, o.a), b = find_place(*machine, o.b);
  if (!a) return complain(a.error());
  if (!b) return complain(b.error());
  std::fputs(why_text(Paths(*machine), *a, *b).c_str(), stdout);
  return 0;
}

}  // namespace

void add_topo(CLI::App& app, Action& action) {
  static Options o;
  auto* topo = app.add_subcommand("topo", "machines: links, ways, NICs");
  topo->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, int (*run)(const Options&)) {
    auto* command = topo->add_subcommand(name, what);
    command->callback([&action, run] { action = [run] { return run(o); }; });
    return command->add_option(
        "machine", o.machine, "XML file, or one line: \"2x(8gpu@nvs450 8nic@50)\"; none: this one");
  };
  add("show", "the tree, the matrix of ways, and each GPU's NICs", show);
  add("dump", "the machine as NCCL's topology XML", dump);
  add("check", "exit status 0 when the description is sound", check);
  add("why", "one way, and what is decided of it for which reasons", why)->required();
  auto* why_command = topo->get_subcommand("why");
  why_command->add_option("a", o.a, "gpu0, cpu0, mlx5_0, a bus id; host1/gpu0")->required();
  why_command->add_option("b", o.b, "likewise")->required();
}

}  // namespace gyre::cli
