#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/machine.hpp"
#include "cli/render.hpp"

#include <ostream>

namespace attune::cli {

int run_doctor(output& io) {
  const auto facts = probe_machine();
  const auto findings = judge(facts);
  if (!io.json()) {
    io.out() << render_doctor(facts, findings);
    return exit_code::done;
  }
  json checks = json::array();
  for (const auto& f : findings)
    checks.push_back({{"name", f.name},
                      {"status", to_string(f.status)},
                      {"value", f.value.empty() ? json(nullptr) : json(f.value)},
                      {"meaning", f.meaning},
                      {"remedy", f.remedy.empty() ? json(nullptr) : json(f.remedy)}});
  io.document({{"machine", arguments_json(facts.fingerprint)}, {"checks", std::move(checks)}});
  return exit_code::done;
}

} // namespace attune::cli
