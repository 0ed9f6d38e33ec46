#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/machine.hpp"
#include "cli/render.hpp"
#include "core/text.hpp"

#include <ostream>

namespace attune::cli {

namespace {

json findings_json(std::span<const finding> findings) {
  json out = json::array();
  for (const auto& f : findings)
    out.push_back({{"name", f.name},
                   {"status", to_string(f.status)},
                   {"value", f.value.empty() ? json(nullptr) : json(f.value)},
                   {"meaning", f.meaning},
                   {"remedy", f.remedy.empty() ? json(nullptr) : json(f.remedy)}});
  return out;
}

json noise_json(const measure::machine_noise& noise, nanoseconds time, std::optional<double> stolen) {
  const auto maybe = [](const std::optional<double>& d) { return d ? number_json(*d) : json(nullptr); };
  json loops = json::object();
  for (const auto& w : noise.works)
    loops[to_string(w.what)] = {{"passes", w.quiet.passes},
                                {"pass_s", number_json(w.quiet.median)},
                                {"half_width", number_json(w.quiet.half_width)},
                                {"spread", number_json(w.quiet.spread)},
                                {"drift", number_json(w.quiet.drift)},
                                {"taken", number_json(w.quiet.taken)},
                                {"busy_sibling", maybe(w.sibling)},
                                {"busy_neighbour", maybe(w.other)}};
  return {{"time_s", seconds(time)},
          {"processor", noise.cpu},
          {"loops", std::move(loops)},
          {"stolen", maybe(stolen)},
          {"clock", {{"step_s", number_json(noise.clock_step)}, {"read_s", number_json(noise.clock_cost)}}}};
}

} // namespace

int run_doctor(const doctor_options& options, output& io) {
  const auto facts = probe_machine();
  const auto findings = judge(facts);
  std::optional<measure::machine_noise> noise;
  std::optional<double> stolen;
  std::vector<finding> measured;
  if (!options.quick) {
    const auto before = read_processor_time();
    noise = measure::measure_noise(places_to_measure(), options.time);
    const auto after = read_processor_time();
    if (before && after && after->all > before->all)
      stolen = (after->stolen - before->stolen) / (after->all - before->all);
    measured = judge(*noise, stolen);
  }
  if (!io.json()) {
    io.out() << render_doctor(facts, findings, measured);
    return exit_code::done;
  }
  auto checks = findings_json(findings);
  for (auto& f : findings_json(measured)) checks.push_back(std::move(f));
  io.document({{"machine", arguments_json(facts.fingerprint)},
               {"checks", std::move(checks)},
               {"measured", noise ? noise_json(*noise, options.time, stolen) : json(nullptr)}});
  return exit_code::done;
}

command_spec doctor_command() {
  struct words {
    bool quick = false;
    std::string time;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"doctor", "Say what this machine is, what disturbs measurements on it, and what that costs"};
  c.flag("--quick", w->quick, "Look only; else reference loops are timed to see what disturbances cost");
  c.value("--time", "D", w->time, "How long they are timed (5s)");
  c.read = [w](const typed_line&) -> reading {
    doctor_options o;
    o.quick = w->quick;
    if (w->time.empty()) return o;
    if (o.quick) throw usage_fault{"--time does nothing beside --quick, which measures nothing"};
    const auto d = parse_duration(w->time);
    if (!d) throw usage_fault{"--time: " + d.err().message};
    if (*d < std::chrono::milliseconds(100) || *d > std::chrono::hours(1))
      throw usage_fault{"--time must be from 100ms to 1h"};
    o.time = *d;
    return o;
  };
  return c;
}

} // namespace attune::cli
