#include "cli/commands.hpp"
#include "cli/comparison.hpp"
#include "cli/json.hpp"
#include "cli/recorded_table.hpp"
#include "cli/replay_runs.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <ostream>

namespace attune::cli {

namespace {

struct played {
  std::string name;
  double score = 0, overhead_us = 0;
  std::map<std::uint64_t, double> ratio; ///< mean over seeds of best ÷ optimum, by trials
  std::vector<double> curve;             ///< the same after each trial, from the first at which all seeds have a value
};

played summarise(const search::replay_table& table, std::string name, const std::vector<search::replay_run>& runs,
                 std::span<const double> random, std::uint64_t trials) {
  played out;
  out.name = std::move(name);
  const double optimum = table.optimum(), seeds = static_cast<double>(runs.size());
  std::vector<double> each;
  for (const auto& r : runs) {
    each.push_back(search::score(table, r.best, random, trials));
    if (!r.best.empty()) out.overhead_us += r.overhead_s * 1e6 / static_cast<double>(r.best.size()) / seeds;
  }
  out.score = mean_of_runs(each);
  for (std::uint64_t t = 1; t <= trials; ++t) {
    each.clear();
    // A run that used the space up keeps its best.
    for (const auto& r : runs) each.push_back(over_optimum(table, best_after(r, t), optimum));
    const double mean = mean_of_runs(each);
    out.curve.push_back(mean);
    const bool named = t == 25 || t == 50 || t == 100 || t == 200 || t == 500 || t == 1000 || t == trials;
    if (named && std::isfinite(mean)) out.ratio[t] = mean;
  }
  return out;
}

std::string figure_text(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", v);
  return text;
}

std::string escaped(std::string_view title) {
  std::string out;
  for (const char c : title) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

/// Mean best ÷ optimum against trials, the vertical axis logarithmic; random as it is expected is dashed. What lies
/// above random's tenth trial is cut off: the first trials are not what is compared.
std::string drawing(const std::string& title, const std::vector<played>& all, std::span<const double> expected) {
  constexpr double width = 760, height = 460, left = 64, right = 140, top = 44, bottom = 56;
  static const char* colours[] = {"#1b6ca8", "#d1495b", "#2e933c", "#edae49", "#7b4b94", "#00798c",
                                  "#8d5524", "#e07be0", "#6b8e23", "#111111", "#ff7f0e"};
  std::size_t trials = std::max<std::size_t>(expected.size(), 2);
  double most = 1.01;
  const std::size_t from = std::min<std::size_t>(9, expected.size() - 1);
  if (std::isfinite(expected[from])) most = std::max(most, expected[from]);
  for (const auto& p : all)
    for (std::size_t t = from; t < p.curve.size(); ++t)
      if (std::isfinite(p.curve[t])) most = std::max(most, std::min(p.curve[t], 3 * expected[from]));
  const auto x = [&](double t) { return left + (width - left - right) * t / static_cast<double>(trials); };
  const auto y = [&](double v) {
    return height - bottom - (height - top - bottom) * std::log(std::clamp(v, 1.0, most)) / std::log(most);
  };
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"460\" font-family=\"sans-serif\" "
                    "font-size=\"12\">\n<rect width=\"760\" height=\"460\" fill=\"white\"/>\n<text x=\"64\" y=\"24\" "
                    "font-size=\"14\">" +
                    escaped(title) + ": best found / optimum</text>\n";
  for (int k = 0; k <= 4; ++k) {
    const double v = std::exp(std::log(most) * k / 4), t = static_cast<double>(trials) * k / 4;
    out += "<line x1=\"64\" x2=\"620\" y1=\"" + figure_text(y(v)) + "\" y2=\"" + figure_text(y(v)) +
           "\" stroke=\"#ddd\"/>\n";
    out += "<text text-anchor=\"end\" x=\"58\" y=\"" + figure_text(y(v) + 4) + "\">" + figure_text(v) + "</text>\n";
    out += "<text text-anchor=\"middle\" x=\"" + figure_text(x(t)) + "\" y=\"422\">" + figure_text(std::round(t)) +
           "</text>\n";
  }
  out += "<text text-anchor=\"middle\" x=\"342\" y=\"444\">trials</text>\n";
  const auto curve = [&](std::span<const double> values, const std::string& style) {
    out += "<polyline fill=\"none\" " + style + " points=\"";
    for (std::size_t t = 0; t < values.size(); ++t) {
      const double v = values[t];
      if (std::isfinite(v) && v <= most)
        out += figure_text(x(static_cast<double>(t + 1))) + "," + figure_text(y(v)) + " ";
    }
    out += "\"/>\n";
  };
  curve(expected, "stroke-width=\"1\" stroke=\"#888\" stroke-dasharray=\"4 3\"");
  out += "<text x=\"628\" y=\"60\" fill=\"#888\">random, expected</text>\n";
  for (std::size_t k = 0; k < all.size(); ++k) {
    const std::string colour = colours[k % std::size(colours)];
    curve(all[k].curve, "stroke-width=\"1.5\" stroke=\"" + colour + "\"");
    out += "<text x=\"628\" y=\"" + figure_text(78.0 + 18.0 * static_cast<double>(k)) + "\" fill=\"" + colour + "\">" +
           escaped(all[k].name) + "</text>\n";
  }
  return out + "</svg>\n";
}

} // namespace

int run_replay(const replay_command_options& options, output& io) {
  // What cannot work is said before the first line and before minutes are spent.
  for (const auto& strategy : options.strategies)
    if (const auto known = known_strategy(strategy); !known) return io.fail(known.err());
  const auto recorded = storage::read_recorded(options.recorded);
  if (!recorded) return io.fail({errc::invalid_spec, recorded.err().message, recorded.err().where});
  for (const auto& w : recorded->warnings) io.message(w);
  const auto table = table_of(*recorded);
  if (!table) return io.fail({errc::invalid_spec, table.err().message, options.recorded});
  if (table->valid() == 0) {
    io.message(options.recorded + ": no configuration has a value");
    return exit_code::no_result;
  }
  std::ofstream file;
  if (!options.svg.empty()) {
    file.open(options.svg);
    if (!file) return io.fail({errc::invalid_spec, "cannot be written", options.svg});
  }
  const double optimum = table->optimum();
  const auto random = search::expected_random(*table, options.trials);
  const auto slash = options.recorded.rfind('/');
  const std::string name = slash == std::string::npos ? options.recorded : options.recorded.substr(slash + 1);
  json expected = json::object(), strategies = json::array();
  for (const std::uint64_t t : {25, 50, 100, 200, 500, 1000})
    if (t <= options.trials) expected[std::to_string(t)] = over_optimum(*table, random[t - 1], optimum);
  if (!io.json()) {
    io.out() << name << ": " << table->results.size() << " configurations, " << table->valid() << " valid, optimum "
             << shortest(optimum) << ' ' << recorded->unit << '\n';
    for (const auto& [t, v] : expected.items()) io.out() << "  random @" << t << ' ' << v << '\n';
  }
  std::vector<played> all;
  for (const auto& strategy : options.strategies) {
    const auto runs = play_seeds(*table, strategy, options.seed, options.seeds, options.trials, options.workers);
    if (!runs) return io.fail(runs.err());
    all.push_back(summarise(*table, strategy, *runs, random, options.trials));
    const auto& p = all.back();
    json ratio = json::object();
    for (const auto& [t, v] : p.ratio) ratio[std::to_string(t)] = v;
    strategies.push_back({{"name", p.name},
                          {"seeds", options.seeds},
                          {"best_over_optimum", ratio},
                          {"score", p.score},
                          {"overhead_us_per_trial", p.overhead_us}});
    if (io.json()) continue;
    char line[96];
    std::snprintf(line, sizeof line, "  %-13s score %+.3f", p.name.c_str(), p.score);
    io.out() << line;
    for (const auto& [t, v] : p.ratio) {
      std::snprintf(line, sizeof line, "  @%llu %.3f", static_cast<unsigned long long>(t), v);
      io.out() << line;
    }
    std::snprintf(line, sizeof line, "  %.1f us a trial\n", p.overhead_us);
    io.out() << line << std::flush;
  }
  if (!options.svg.empty()) {
    std::vector<double> ratio;
    ratio.reserve(random.size());
    for (const double v : random) ratio.push_back(over_optimum(*table, v, optimum));
    file << drawing(name, all, ratio);
    file.close();
    if (!file) return io.fail({errc::io, "cannot be written", options.svg});
  }
  if (io.json())
    io.document({{"space", name},
                 {"configs", table->results.size()},
                 {"valid", table->valid()},
                 {"optimum", optimum},
                 {"random", expected},
                 {"strategies", strategies}});
  return exit_code::done;
}

command_spec replay_command() {
  struct words {
    std::string recorded, strategy, trials, seeds, seed, workers, svg;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"replay", "Play strategies against a recorded space"};
  c.place("RECORDED", w->recorded, "A Kernel Tuner cache, T4, KTT output, an AutoTVM log or a history, also gzip");
  c.value("--strategy", "S[,S...]", w->strategy, "Strategies, separated by commas (auto)");
  c.value("--trials", "N", w->trials, "Trials of each run (200)");
  c.value("--seeds", "N", w->seeds, "Runs of each strategy (20)");
  c.value("--seed", "N", w->seed, "The first run's seed (1)");
  c.value("--workers", "W", w->workers, "Trials in flight, in virtual time (1)");
  c.value("--svg", "FILE", w->svg, "Draw the curves into this file");
  c.more = R"(The score is the mean over trials 20 to N of (E[random] - found) / (E[random] -
optimum): 0 is random search, 1 the optimum at once.

  attune replay convolution-A100.json.gz --strategy auto,genetic --seeds 100)";
  c.read = [w](const typed_line&) -> reading {
    replay_command_options o;
    o.recorded = w->recorded;
    if (!w->strategy.empty()) {
      o.strategies.clear();
      for (const auto part : split(w->strategy, ',')) o.strategies.emplace_back(trim(part));
    }
    if (!w->trials.empty()) o.trials = read_count<std::uint64_t>("--trials", w->trials, 1, 1000000);
    if (!w->seeds.empty()) o.seeds = read_count<std::uint64_t>("--seeds", w->seeds, 1, 100000);
    if (!w->seed.empty()) o.seed = read_count<std::uint64_t>("--seed", w->seed, 0);
    if (!w->workers.empty()) o.workers = read_count<std::uint32_t>("--workers", w->workers, 1, 4096);
    o.svg = w->svg;
    return o;
  };
  return c;
}

} // namespace attune::cli
