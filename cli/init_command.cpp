#include "cli/commands.hpp"
#include "cli/init_draft.hpp"
#include "cli/json.hpp"
#include "cli/load.hpp"
#include "cli/new_file.hpp"
#include "core/file.hpp"
#include "storage/spec_reader.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <unistd.h>

namespace attune::cli {

namespace {

namespace fs = std::filesystem;

/// A source larger than this is generated, or none.
constexpr std::uintmax_t source_bytes_most = std::uintmax_t{4} << 20;

result<std::string> whole_source(const std::string& path) {
  std::error_code ec;
  if (!fs::is_regular_file(path, ec)) return error{errc::invalid_spec, "there is no such file", path};
  if (fs::file_size(path, ec) > source_bytes_most)
    return error{errc::invalid_spec, "is larger than 4 MB: no source that a person wrote", path};
  auto text = file_contents(path, source_bytes_most);
  if (!text) return error{errc::io, "cannot be read: " + text.err().message, path};
  if (text->find('\0') != std::string::npos)
    return error{errc::invalid_spec, "is binary: no source and no T1 file", path};
  return text;
}

/// The name of what a command runs.
std::string task_of_command(const std::string& command) {
  const auto first = command.substr(0, command.find_first_of(" \t"));
  auto name = fs::path(first).stem().string();
  std::erase_if(name, [](char c) { return c == '{' || c == '}' || c == '"' || c == '\''; });
  return name.empty() ? "command" : name;
}

} // namespace

int run_init(const init_options& options, output& io) {
  const auto here = fs::current_path().string();
  std::string target = options.output;
  spec_draft draft;
  std::string task = options.task;
  if (options.what.empty()) {
    if (task.empty()) task = task_of_command(options.command);
    auto made = draft_of_command(task, options.command);
    if (!made) return io.fail(made.err());
    draft = std::move(*made);
    if (target.empty()) target = task + ".yaml";
  } else {
    const fs::path path(options.what);
    if (target.empty()) target = fs::path(path).replace_extension(".yaml").string();
    if (path.extension() == ".json") {
      auto loaded = load(options.what);
      if (!loaded) return io.fail(loaded.err());
      auto& first = loaded->front();
      if (!task.empty()) first.spec.name = task;
      task = first.spec.name;
      draft = draft_of_space(first.spec, *first.space);
      draft.notes.insert(draft.notes.begin(), first.spec.warnings.begin(), first.spec.warnings.end());
    } else {
      static const char* const endings[] = {".c", ".cc", ".cpp", ".cxx", ".C", ".cu"};
      if (std::none_of(std::begin(endings), std::end(endings), [&](const char* e) { return path.extension() == e; }))
        return io.fail({errc::invalid_spec,
                        "is neither a source (.c .cc .cpp .cxx .C .cu) nor a T1 file (.json); for a command: "
                        "attune init --command '...'",
                        options.what});
      auto text = whole_source(options.what);
      if (!text) return io.fail(text.err());
      if (task.empty()) task = path.stem().string();
      source_file source;
      std::error_code ec;
      const auto folder = target == "-" ? fs::path(here) : fs::absolute(target, ec).parent_path();
      source.path = fs::relative(fs::absolute(path, ec), folder, ec).string();
      if (ec || source.path.empty()) source.path = fs::absolute(path, ec).string();
      source.text = std::move(*text);
      source.beside = [folder_of = path.parent_path()](const std::string& name) -> std::optional<std::string> {
        auto found = whole_source((folder_of / name).string());
        return found ? std::optional(std::move(*found)) : std::nullopt;
      };
      draft = draft_of_source(task, source);
    }
  }
  // What is written is a spec.
  const auto folder = target == "-" ? here : fs::absolute(target).parent_path().string();
  const auto specs = storage::read_spec_text(draft.text, target == "-" ? "the draft" : target, folder);
  if (!specs) return io.fail({errc::internal, "the draft is no spec: " + specs.err().text(), {}});
  const auto& spec = specs->front();
  const auto space = search::space::compile(spec.parameters, spec.constraints, spec.workload, spec.target);
  if (!space) return io.fail({errc::internal, "the draft's space is none: " + space.err().text(), {}});
  if (target == "-") {
    io.out() << draft.text;
    for (const auto& n : draft.notes) io.message(n);
    return exit_code::done;
  }
  if (auto made = make_new_file(target, draft.text); !made) return io.fail(made.err());
  const auto count = (*space)->count();
  if (io.json()) {
    json names = json::array();
    for (const auto& p : (*space)->parameters()) names.push_back(p.name);
    io.document({{"spec", target},
                 {"task", task},
                 {"parameters", names},
                 {"valid", count ? count_json(*count) : json(nullptr)},
                 {"notes", draft.notes}});
  } else {
    io.out() << target << ": " << spec.parameters.size()
             << (spec.parameters.size() == 1 ? " parameter, " : " parameters, ")
             << (count ? search::to_string(*count) : "many") << " configurations\n";
    for (const auto& n : draft.notes) io.message(n);
    io.message("look it over, then: attune tune " + target + " --dry-run");
  }
  return exit_code::done;
}

command_spec init_command() {
  struct words {
    std::string what, command, task, output;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"init", "Draft a spec for a source file, a command or a T1 file"};
  c.place("FILE", w->what, "A C, C++ or CUDA source whose choices are macros, or a T1 file (.json)", false);
  c.value("--command", "COMMAND", w->command, "A command to tune, with {name} where a value goes");
  c.value("--task", "NAME", w->task, "What the task is called (after the file, or the program)");
  c.value("-o,--output", "FILE", w->output, "The spec to write (FILE.yaml beside it); - is standard output");
  c.more = R"help(Of a source: each #ifndef NAME, #define NAME VALUE becomes a parameter with values around
the one that stands there, and a -D of the build; what it prints of its time is read, or
the whole run is timed. Of a command without {name}: the numbers behind its options become
parameters. The draft has comments that say what else may stand there; a file that is there
already is left alone.

  attune init transpose.cpp
  attune init --command './bench --threads {threads} --block 64'
  attune init space.t1.json -o space.yaml)help";
  c.read = [w](const typed_line& line) -> reading {
    if (w->what.empty() == w->command.empty())
      throw usage_fault{w->what.empty() ? "what for? Give a source file, a T1 file, or --command '...'"
                                        : "a file and --command exclude each other"};
    if (!line.store.empty()) throw usage_fault{"--store has no effect: nothing is remembered"};
    if (line.json && w->output == "-") throw usage_fault{"--json and - exclude each other: both want standard output"};
    return init_options{w->what, w->command, w->task, w->output};
  };
  return c;
}

} // namespace attune::cli
