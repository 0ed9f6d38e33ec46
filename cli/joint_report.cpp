#include "cli/joint_report.hpp"

#include "actors/messages.hpp"
#include "cli/command_line.hpp"
#include "cli/json.hpp"
#include "cli/render.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace attune::cli {

namespace {

double value_of(const search::best_so_far& b) { return b.result->measured()->value; }

const char* reason_text(const actors::joint_task& t) {
  if (t.known) return "known";
  switch (t.why) {
  case schedulers::leaving::dead:
    return "failed";
  case schedulers::leaving::converged:
    return "converged";
  default:
    return search::to_string(t.report->reason);
  }
}

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", v);
  return text;
}

std::string times_text(std::optional<double> times) {
  return times ? shortest(std::round(*times * 100) / 100) + " x" : "n/a";
}

std::string cost_text(double v, const std::string& unit) {
  return unit.empty() ? shortest(std::round(v * 1e4) / 1e4) : human_value(v, unit);
}

} // namespace

std::string task_title(const task& of) {
  std::string out = of.load.name;
  for (const auto& [name, v] : of.load.args) out += " " + name + "=" + v.text();
  return out;
}

std::optional<double> weighted_total::speedup() const {
  if (!before || !after || !(*after > 0)) return std::nullopt;
  return *before / *after;
}

weighted_total total_of(const actors::joint_report& report) {
  weighted_total out;
  bool all = true;
  double before = 0, after = 0;
  for (const auto& t : report.tasks) {
    const auto& r = *t.report;
    if (!r.best) continue;
    ++out.tasks;
    const auto direction = r.of->metric().direction;
    const double best = actors::cost_of(value_of(*r.best), direction), weight = r.of->spec.weight;
    const auto first = r.standard ? std::optional(actors::cost_of(value_of(*r.standard), direction)) : std::nullopt;
    all = all && first;
    if (report.relative) {
      before += weight;
      after += weight * best / first.value_or(best);
    } else {
      before += weight * first.value_or(0);
      after += weight * best;
      out.unit = r.of->metric().stored_unit();
    }
  }
  if (out.tasks == 0) return out;
  if (all) out.before = before;
  if (all || !report.relative) out.after = after;
  return out;
}

json joint_json(const actors::joint_report& report, const budget_spec& budget) {
  std::vector<actors::report_ptr> reports;
  for (const auto& t : report.tasks) reports.push_back(t.report);
  json out = reports_json(reports, nullptr, true);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto& t = report.tasks[i];
    const auto& r = *t.report;
    auto& task = out["tasks"][i];
    const auto times = actors::speedup(r);
    task["workload"] = arguments_json(r.of->load.args);
    task["weight"] = number_json(r.of->spec.weight);
    task["before"] = r.standard ? number_json(value_of(*r.standard)) : json(nullptr);
    task["after"] = r.best ? number_json(value_of(*r.best)) : json(nullptr);
    task["speedup"] = times ? number_json(*times) : json(nullptr);
    task["failed"] = !r.best;
    if (t.known) task["known"] = count_json(*t.known);
  }
  const auto total = total_of(report);
  const auto optional_number = [](std::optional<double> v) { return v ? number_json(*v) : json(nullptr); };
  auto& whole = out["total"];
  whole["policy"] = budget.policy;
  whole["relative"] = report.relative;
  whole["unit"] = total.unit.empty() ? json(nullptr) : json(total.unit);
  whole["before"] = optional_number(total.before);
  whole["after"] = optional_number(total.after);
  whole["speedup"] = optional_number(total.speedup());
  whole["shared_trials"] = count_json(report.trials);
  whole["device_hours"] = number_json(seconds(report.busy) / 3600);
  json curve = json::array();
  for (const auto& p : report.curve)
    curve.push_back({{"time_s", seconds(p.at)}, {"trials", count_json(p.trials)}, {"total", number_json(p.total)}});
  whole["curve"] = std::move(curve);
  return out;
}

std::string render_joint(const actors::joint_report& report) {
  std::vector<std::vector<std::string>> rows{
      {"task", "weight", "before", "after", "speed-up", "trials", "time", "stopped because"}};
  for (const auto& t : report.tasks) {
    const auto& r = *t.report;
    const auto unit = r.of->metric().stored_unit();
    rows.push_back({task_title(*r.of), shortest(r.of->spec.weight),
                    r.standard ? human_value(value_of(*r.standard), unit) : "n/a",
                    r.best ? human_value(value_of(*r.best), unit) : "n/a", times_text(actors::speedup(r)),
                    t.known ? std::to_string(*t.known) + " known" : std::to_string(r.counts.proposed),
                    human_duration(r.wall), reason_text(t)});
  }
  const auto total = total_of(report);
  std::string out = table(rows) + "\n";
  std::string line = total.before ? cost_text(*total.before, total.unit) : "n/a";
  line += " before, " + (total.after ? cost_text(*total.after, total.unit) : std::string("n/a")) +
          " after: " + times_text(total.speedup());
  if (report.relative) line += " (each task's cost as a part of its default's)";
  if (total.tasks < report.tasks.size())
    line += "; without the " + std::to_string(report.tasks.size() - total.tasks) + " that have no result";
  return out + table({{"weighted total", line},
                      {"cost", std::to_string(report.trials) + " trials, " + number(seconds(report.busy) / 3600) +
                                   " device-hours, " + human_duration(report.wall) + " this time"}});
}

std::string draw_total(const actors::joint_report& report) {
  constexpr double left = 76, right = 740, top = 40, bottom = 400;
  double longest = seconds(report.wall), least = 0, most = 1;
  if (!report.curve.empty()) {
    longest = std::max(longest, seconds(report.curve.back().at));
    most = report.curve.front().total;
    least = report.curve.back().total;
    const double margin = std::max((most - least) * 0.05, most * 1e-6);
    most += margin;
    least = std::max(0.0, least - margin);
  }
  longest = std::max(longest, 1e-9);
  const auto x = [&](double t) { return left + (right - left) * t / longest; };
  const auto y = [&](double v) { return bottom - (bottom - top) * (v - least) / (most - least); };
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"460\" font-family=\"sans-serif\" "
                    "font-size=\"12\">\n<rect width=\"760\" height=\"460\" fill=\"white\"/>\n<text x=\"76\" y=\"24\" "
                    "font-size=\"14\">weighted total of " +
                    std::to_string(report.tasks.size()) + " tasks" + (report.relative ? ", relative" : "") +
                    "</text>\n";
  for (int k = 0; k <= 4; ++k) {
    const double v = least + (most - least) * k / 4, t = longest * k / 4;
    out += "<line x1=\"76\" x2=\"740\" y1=\"" + number(y(v)) + "\" y2=\"" + number(y(v)) + "\" stroke=\"#ddd\"/>\n";
    out += "<text text-anchor=\"end\" x=\"70\" y=\"" + number(y(v) + 4) + "\">" + number(v) + "</text>\n";
    out += "<text text-anchor=\"middle\" x=\"" + number(x(t)) + "\" y=\"418\">" + number(t) + "</text>\n";
  }
  out += "<text text-anchor=\"middle\" x=\"408\" y=\"442\">seconds since it began</text>\n";
  out += "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"#1b6ca8\" points=\"";
  std::optional<double> before;
  for (const auto& p : report.curve) {
    if (before) out += number(x(seconds(p.at))) + "," + number(y(*before)) + " ";
    out += number(x(seconds(p.at))) + "," + number(y(p.total)) + " ";
    before = p.total;
  }
  if (before) out += number(x(longest)) + "," + number(y(*before));
  return out + "\"/>\n</svg>\n";
}

} // namespace attune::cli
