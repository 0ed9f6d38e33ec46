#include "core/text.hpp"
#include "storage/spec_fields.hpp"

#include <algorithm>
#include <array>

namespace attune::storage {

namespace {

constexpr std::int64_t most_counted = 1'000'000'000;

working_directory read_cwd(const spec_section& section) {
  const auto* node = section.find("cwd");
  if (node == nullptr) return working_directory::specdir;
  const auto text = read_string(*node, section.name("cwd"));
  if (text == "specdir") return working_directory::specdir;
  if (text == "workdir") return working_directory::workdir;
  refuse(*node, section.name("cwd") + " must be specdir or workdir, not '" + text + "'");
}

constexpr std::string_view metric_sources[] = {"pattern", "json", "file", "wall", "cpu", "memory", "counter", "energy"};

bool is_source(std::string_view key) {
  return std::find(std::begin(metric_sources), std::end(metric_sources), key) != std::end(metric_sources);
}

/// One of `known`, else refused with the nearest of them, or with all.
std::string read_one_of(const spec_node& node, const std::string& name, std::span<const std::string_view> known) {
  auto text = read_string(node, name);
  if (std::find(known.begin(), known.end(), text) != known.end()) return text;
  const std::vector<std::string> words(known.begin(), known.end());
  std::string message = name + " cannot be '" + text.substr(0, 60) + "'";
  if (const auto near = nearest_word(text, words)) refuse(node, message + "; did you mean '" + *near + "'?");
  message += "; known are";
  for (const auto& word : words) message += (word == words.front() ? " " : ", ") + word;
  refuse(node, message);
}

/// What a metric of the processes says of itself: its word, its unit where none is written, and its name.
void read_amount(const spec_section& section, std::string_view key, const spec_node& word, metric_spec& m) {
  const auto name = section.name(key);
  const auto* unit = section.find("unit");
  std::string own = "s";
  if (key == "memory") {
    static constexpr std::array<std::string_view, 1> what{"peak"};
    m.source = metric_spec::from::memory;
    m.expression = read_one_of(word, name, what);
    std::vector<std::string_view> units;
    for (const auto& [text, bytes] : memory_units()) units.push_back(text);
    if (unit == nullptr)
      refuse(word, section.name("unit") + " is missing beside memory: B, kB, MB, GB, KiB, MiB or GiB");
    own = read_one_of(*unit, section.name("unit"), units);
  } else if (key == "counter") {
    m.source = metric_spec::from::counter;
    m.expression = read_one_of(word, name, counter_names());
    if (m.expression != "task-clock") own = "count";
  } else if (key == "energy") {
    m.source = metric_spec::from::energy;
    m.expression = read_one_of(word, name, energy_domains());
    own = "J";
  } else {
    if (!read_boolean(word, name)) refuse(word, name + " must be true, or left out");
    m.source = key == "wall" ? metric_spec::from::wall : metric_spec::from::cpu;
  }
  if (unit != nullptr && m.unit != own) {
    // What counts or measures by itself has one unit: another would be a wrong reading.
    const std::string who = key == "wall" ? "Attune's own clock measures" : name + " is given";
    refuse(*unit, section.name("unit") + " must be " + own + " (or left out) where " + who);
  }
  m.unit = own;
  if (section.find("name") == nullptr && key != "wall") {
    m.name = m.expression.empty() || key == "memory" ? std::string(key) : m.expression;
    if (key == "energy") m.name = "energy";
    std::replace(m.name.begin(), m.name.end(), '-', '_');
  }
}

metric_spec read_metric(const spec_node& node, const std::string& path) {
  const spec_section section(
      node, path, {"name", "unit", "goal", "pattern", "json", "file", "wall", "cpu", "memory", "counter", "energy"});
  metric_spec m;
  if (const auto* name = section.find("name")) {
    m.name = read_string(*name, section.name("name"));
    if (trim(m.name).empty()) refuse(*name, section.name("name") + " is empty");
  }
  if (const auto* unit = section.find("unit")) {
    m.unit = read_string(*unit, section.name("unit"));
    if (m.unit.find_first_of(" \t\r\n") != std::string::npos || m.unit.empty())
      refuse(*unit, section.name("unit") + " must be one word");
  }
  if (const auto* goal_node = section.find("goal")) {
    const auto text = read_string(*goal_node, section.name("goal"));
    if (text == "minimize") {
      m.direction = goal::minimize;
    } else if (text == "maximize") {
      m.direction = goal::maximize;
    } else {
      refuse(*goal_node, section.name("goal") + " must be minimize or maximize, not '" + text.substr(0, 60) + "'");
    }
  }
  const spec_node::entry* source = nullptr;
  for (const auto& e : node.entries) {
    if (!is_source(e.key)) continue;
    if (source != nullptr)
      throw spec_fault{path + " has both '" + source->key + "' and '" + e.key + "'; give one of them", e.line,
                       e.column};
    source = &e;
  }
  if (source == nullptr) return m;
  if (source->key != "pattern" && source->key != "json" && source->key != "file") {
    read_amount(section, source->key, *source->value, m);
    return m;
  }
  m.expression = read_string(*source->value, section.name(source->key));
  if (source->key == "json") {
    m.source = metric_spec::from::json;
    if (!m.expression.empty() && m.expression.front() != '/')
      refuse(*source->value, section.name("json") + " must be a JSON pointer, which begins with /");
    return m;
  }
  if (m.expression.empty()) refuse(*source->value, section.name(source->key) + " is empty");
  m.source = source->key == "pattern" ? metric_spec::from::pattern : metric_spec::from::file;
  return m;
}

repeat_spec read_repeats(const spec_node& node) {
  repeat_spec r;
  if (node.what == spec_node::kind::scalar) {
    r.min = r.max = static_cast<std::uint32_t>(read_integer(node, "run.repeats", 1, 1'000'000));
    return r;
  }
  const spec_section section(node, "run.repeats", {"min", "max", "until"});
  const auto* min = section.find("min");
  const auto* until = section.find("until");
  r.max = static_cast<std::uint32_t>(read_integer(section.need("max"), section.name("max"), 1, 1'000'000));
  r.min = min != nullptr ? static_cast<std::uint32_t>(read_integer(*min, section.name("min"), 1, 1'000'000))
                         : std::min<std::uint32_t>(3, r.max);
  if (r.min > r.max)
    refuse(*min, section.name("min") + " is larger than max: " + std::to_string(r.min) + " > " + std::to_string(r.max));
  if (until != nullptr) {
    r.until = read_percentage(*until, section.name("until"));
  } else if (min != nullptr && r.min != r.max) {
    refuse(*min, section.name("min") + " has no effect without 'until', which says when to stop early");
  } else {
    r.min = r.max;
  }
  return r;
}

std::vector<limit_spec> read_limits(const spec_node& node) {
  if (node.what != spec_node::kind::sequence)
    refuse(node, "run.limits must be a list of expressions over the metrics, not " + describe(node));
  std::vector<limit_spec> out;
  for (const auto& item : node.items) {
    limit_spec limit{read_text(*item, "a limit"), {{}, item->line, item->column}};
    if (trim(limit.expression).empty()) refuse(*item, "a limit is empty");
    out.push_back(std::move(limit));
  }
  return out;
}

check_spec read_check(const spec_node& node) {
  const spec_section section(node, "run.check", {"command", "timeout"});
  check_spec c;
  c.run = read_command(section.need("command"), section.name("command"));
  if (const auto* timeout = section.find("timeout")) c.timeout = read_duration(*timeout, section.name("timeout"));
  return c;
}

how_many read_auto_or_count(const spec_section& section, std::string_view key) {
  const auto* node = section.find(key);
  if (node == nullptr) return {};
  if (node->what == spec_node::kind::scalar && node->text == "auto") return how_many::by_noise();
  if (node->what == spec_node::kind::scalar && describe(*node).starts_with("the string"))
    refuse(*node, section.name(key) + " must be auto or a whole number, not " + describe(*node));
  return static_cast<std::uint32_t>(read_integer(*node, section.name(key), 1, 4096));
}

/// Names of files, none twice.
std::vector<std::string> read_names(const spec_node& node, const std::string& path) {
  auto names = read_strings(node, path);
  for (auto at = names.begin(); at != names.end(); ++at)
    if (std::find(names.begin(), at, *at) != at)
      refuse(*node.items[static_cast<std::size_t>(at - names.begin())], path + " names '" + *at + "' twice");
  return names;
}

} // namespace

build_spec read_build(const spec_node& node) {
  const spec_section section(node, "build", {"command", "sources", "timeout", "cwd", "on"});
  build_spec b;
  b.run = read_command(section.need("command"), "build.command");
  if (const auto* sources = section.find("sources")) b.sources = read_names(*sources, "build.sources");
  if (const auto* on = section.find("on")) {
    static constexpr std::array<std::string_view, 2> places{"hub", "runner"};
    if (read_one_of(*on, section.name("on"), places) == "runner") b.on = building_place::runner;
  }
  if (const auto* timeout = section.find("timeout")) b.timeout = read_duration(*timeout, "build.timeout");
  b.cwd = read_cwd(section);
  return b;
}

run_spec read_run(const spec_node& node, const spec_node* objective) {
  const spec_section section(
      node, "run",
      {"command", "timeout", "metric", "objective", "warmup", "repeats", "check", "cwd", "files", "limits"});
  run_spec r;
  r.run = read_command(section.need("command"), "run.command");
  if (const auto* timeout = section.find("timeout")) r.timeout = read_duration(*timeout, "run.timeout");
  r.cwd = read_cwd(section);
  if (const auto* metric = section.find("metric")) {
    r.metrics.clear();
    if (metric->what == spec_node::kind::sequence) {
      if (metric->items.empty()) refuse(*metric, "run.metric is an empty list");
      for (const auto& item : metric->items) r.metrics.push_back(read_metric(*item, "run.metric"));
      for (std::size_t i = 0; i < r.metrics.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
          if (r.metrics[k].name == r.metrics[i].name)
            refuse(*metric->items[i], "two metrics have the name '" + r.metrics[i].name + "'");
    } else {
      r.metrics.push_back(read_metric(*metric, "run.metric"));
    }
  }
  if (const auto* inner = section.find("objective")) {
    if (objective != nullptr) refuse(*inner, "run.objective and objective are both given; give one of them");
    objective = inner;
  }
  if (objective != nullptr) {
    const auto name = read_string(*objective, "objective");
    const auto at = std::find_if(r.metrics.begin(), r.metrics.end(), [&](const auto& m) { return m.name == name; });
    if (at == r.metrics.end()) {
      std::string known;
      for (const auto& m : r.metrics) known += (known.empty() ? "" : ", ") + m.name;
      refuse(*objective, "objective '" + name + "' is none of the metrics (" + known + ")");
    }
    r.objective = static_cast<std::size_t>(at - r.metrics.begin());
  }
  if (const auto* warmup = section.find("warmup"))
    r.warmup = static_cast<std::uint32_t>(read_integer(*warmup, "run.warmup", 0, 1'000'000));
  if (const auto* repeats = section.find("repeats")) r.repeats = read_repeats(*repeats);
  if (const auto* check = section.find("check")) r.check = read_check(*check);
  if (const auto* files = section.find("files")) r.files = read_names(*files, "run.files");
  if (const auto* limits = section.find("limits")) r.limits = read_limits(*limits);
  return r;
}

search_spec read_search(const spec_node& node) {
  const spec_section section(node, "search", {"strategy", "trials", "time", "fraction", "seed", "reuse"});
  search_spec s;
  if (const auto* strategy = section.find("strategy")) {
    s.strategy = read_string(*strategy, "search.strategy");
    if (s.strategy.empty()) refuse(*strategy, "search.strategy is empty");
  }
  if (const auto* trials = section.find("trials"))
    s.trials = static_cast<std::uint64_t>(read_integer(*trials, "search.trials", 1, most_counted * 1000));
  if (const auto* fraction = section.find("fraction")) {
    if (s.trials) refuse(*fraction, "search.fraction and search.trials exclude each other");
    s.fraction = read_fraction(*fraction, "search.fraction");
  }
  if (const auto* time = section.find("time")) s.time = read_duration(*time, "search.time");
  if (const auto* seed = section.find("seed")) s.seed = read_unsigned(*seed, "search.seed");
  if (const auto* reuse = section.find("reuse")) {
    static constexpr std::array<std::string_view, 2> ways{"exact", "near"};
    s.near = read_one_of(*reuse, "search.reuse", ways) == "near";
  }
  return s;
}

budget_spec read_budget(const spec_node& node) {
  static constexpr std::array<std::string_view, 3> policies{"gradient", "round_robin", "sequential"};
  const spec_section section(node, "budget", {"trials", "time", "policy", "patience", "sufficient"});
  budget_spec b;
  if (const auto* trials = section.find("trials"))
    b.trials = static_cast<std::uint64_t>(read_integer(*trials, "budget.trials", 1, most_counted * 1000));
  if (const auto* time = section.find("time")) b.time = read_duration(*time, "budget.time");
  if (const auto* policy = section.find("policy")) b.policy = read_one_of(*policy, "budget.policy", policies);
  if (const auto* patience = section.find("patience"))
    b.patience = static_cast<std::uint64_t>(read_integer(*patience, "budget.patience", 1, most_counted));
  if (const auto* sufficient = section.find("sufficient"))
    b.sufficient = static_cast<std::uint64_t>(read_integer(*sufficient, "budget.sufficient", 1, most_counted));
  if (!b.trials && !b.time)
    refuse(node, "budget has neither trials nor time; it says how much the tasks may use together");
  return b;
}

measure_spec read_measure(const spec_node& node) {
  const spec_section section(node, "measure", {"slots", "builders", "tolerance", "finalists", "cores"});
  measure_spec m;
  m.slots = read_auto_or_count(section, "slots");
  m.builders = read_auto_or_count(section, "builders");
  if (const auto* tolerance = section.find("tolerance")) m.tolerance = read_percentage(*tolerance, "measure.tolerance");
  if (const auto* finals = section.find("finalists"))
    m.finals = static_cast<std::uint32_t>(read_integer(*finals, "measure.finalists", 0, 64));
  if (const auto* cores = section.find("cores")) {
    m.cores = static_cast<std::uint32_t>(read_integer(*cores, "measure.cores", 1, 4096));
    if (m.slots == how_many() || m.slots == how_many(1))
      refuse(*cores,
             "measure.cores is for slots that are kept apart: one slot has the whole machine; give measure.slots");
  }
  return m;
}

} // namespace attune::storage
