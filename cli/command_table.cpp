#include "cli/commands.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <utility>

#ifndef ATTUNE_VERSION
#define ATTUNE_VERSION "0"
#endif

namespace attune::cli {

std::string program_version() { return ATTUNE_VERSION; }

std::string exit_codes_text() {
  return R"(Exit codes: 0 done and a best exists; 1 done and no valid result; 2 the spec or
the command line is wrong; 3 the store cannot be used; 4 some tasks or records
failed, the rest is good; 5 the network (no hub, refused, no device); 130
interrupted; 143 terminated.)";
}

command_spec program_spec() {
  command_spec c{"attune", "Finds the configuration that runs best on the hardware at hand, and remembers it."};
  c.more = "Begin with: attune doctor; attune init; attune space SPEC; attune tune SPEC; attune best SPEC.\n\n" +
           exit_codes_text();
  c.below = {init_command(),      tune_command(),   space_command(),   best_command(),       token_command(),
             history_command(),   replay_command(), db_command(),      bundle_command(),     hub_command(),
             agent_command(),     agents_command(), devices_command(), doctor_command(),     compare_command(),
             dashboard_command(), report_command(), trace_command(),   completion_command(), man_command()};
  return c;
}

std::vector<std::string> option_spec::each_name() const {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= names.size();) {
    const auto end = std::min(names.find(',', begin), names.size());
    out.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::vector<option_spec> common_options(const command_spec& of) {
  static bool nothing = false;
  static std::string none;
  std::vector<option_spec> out{{"-h,--help", {}, "Print the help", &nothing}};
  const bool program = of.name == "attune";
  if (program) out.push_back({"--version", {}, "Print the version", &nothing});
  if (of.below.empty() || program) {
    out.push_back({"--json", {}, "Print one JSON document on standard output, and nothing else there", &nothing});
    out.push_back({"--store", "DIR",
                   "The folder of the store (else $ATTUNE_STORE, $XDG_DATA_HOME/attune, ~/.local/share/attune)",
                   &none});
  }
  return out;
}

void hub_words::add(command_spec& to, const std::string& about, bool needed) {
  to.value("--hub", "HOST:PORT", hub, about).required = needed;
  to.value("--token-file", "FILE", token_file, "Who this is: a file with a token (attune token create)");
  to.value("--ca-file", "FILE", ca_file, "Know the hub by this CA, in place of or beside the token's fingerprint");
  to.flag("--plain", plain, "Without TLS, also off this machine");
}

std::uint64_t read_size(const std::string& option, const std::string& text) {
  constexpr std::string_view units = "KMGT";
  std::string digits = text;
  unsigned shift = 0;
  if (const auto at = digits.empty() ? units.npos : units.find(digits.back()); at != units.npos) {
    shift = 10 * (static_cast<unsigned>(at) + 1);
    digits.pop_back();
  }
  const auto n = parse_integer(digits);
  if (!n || *n < 1 || *n > (std::int64_t{1} << (62 - shift)))
    throw usage_fault{option + " must be a size, such as 512M or 4G, not '" + text.substr(0, 60) + "'"};
  return static_cast<std::uint64_t>(*n) << shift;
}

std::vector<std::pair<std::string, std::string>> read_labels(const std::string& device,
                                                             const std::vector<std::string>& labels) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!device.empty()) out.emplace_back("device", device);
  for (const auto& l : labels) {
    const auto equals = l.find('=');
    if (equals == std::string::npos || equals == 0) throw usage_fault{"--label must be K=V, not '" + l + "'"};
    auto name = l.substr(0, equals);
    for (const auto& [known, v] : out)
      if (known == name) throw usage_fault{"the label '" + name + "' is given twice"};
    out.emplace_back(std::move(name), l.substr(equals + 1));
  }
  return out;
}

hub_access hub_words::read() const {
  if (hub.empty())
    for (const auto& [option, given] : {std::pair{"--token-file", !token_file.empty()},
                                        std::pair{"--ca-file", !ca_file.empty()}, std::pair{"--plain", plain}})
      if (given) throw usage_fault{std::string(option) + " has no effect without --hub"};
  return {hub, token_file, ca_file, plain};
}

} // namespace attune::cli
