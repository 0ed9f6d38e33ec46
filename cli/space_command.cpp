#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/load.hpp"
#include "cli/render.hpp"
#include "storage/spec_reader.hpp"

#include <ostream>

namespace attune::cli {

namespace {

using what = space_options::what;

search::uint128 parse_index(const std::string& digits) {
  constexpr auto most = ~search::uint128{0};
  search::uint128 n = 0;
  for (const char c : digits) {
    const auto digit = static_cast<unsigned>(c - '0');
    // Past the largest number nothing is in any space: saturate.
    if (n > (most - digit) / 10) return most;
    n = n * 10 + digit;
  }
  return n;
}

/// Writes configurations one by one, as a JSON array or a line each; never holds them.
class writer {
public:
  explicit writer(output& io) : io_(io) {}
  void add(const configuration& c) {
    if (io_.json())
      io_.out() << (first_ ? "" : ",") << dump(config_json(c));
    else
      io_.out() << c.text() << '\n';
    first_ = false;
  }

private:
  output& io_;
  bool first_ = true;
};

int show_index(const loaded_task& t, const std::string& digits, output& io) {
  const auto count = t.space->count();
  if (!count)
    return io.fail(
        {errc::invalid_spec, "the space is too big to be counted, so its configurations have no numbers", t.spec.file});
  const auto i = parse_index(digits);
  if (i >= *count)
    return io.fail({errc::invalid_spec,
                    "--index " + digits + " is too large: there are " + search::to_string(*count) +
                        " configurations, numbered from 0",
                    t.spec.file});
  const auto c = t.space->to_configuration(t.space->at(i));
  if (io.json())
    io.document({{"index", count_json(i)}, {"config", config_json(c)}});
  else
    io.out() << c.text() << '\n';
  return exit_code::done;
}

int show_contains(const loaded_task& t, const std::string& text, output& io) {
  const auto given = storage::read_configuration(text, "--contains");
  if (!given) return io.fail(given.err());
  const auto point = t.space->to_point(configuration(*given));
  std::string why;
  bool in = false;
  std::optional<search::uint128> index;
  if (!point) {
    why = point.err().message;
  } else {
    in = t.space->contains(*point);
    if (!in) why = "a constraint forbids it";
    if (in && t.space->count()) index = t.space->index_of(*point);
  }
  if (io.json()) {
    io.document({{"contains", in},
                 {"index", index ? count_json(*index) : json(nullptr)},
                 {"reason", in ? json(nullptr) : json(why)}});
  } else {
    io.out() << (in ? "yes" : "no: " + why);
    if (index) io.out() << ", number " << search::to_string(*index);
    io.out() << '\n';
  }
  return in ? exit_code::done : exit_code::no_result;
}

void show_list(const loaded_task& t, output& io) {
  if (io.json()) io.out() << "{\"configurations\":[";
  writer out(io);
  t.space->for_each([&](std::span<const std::uint32_t> p) {
    out.add(t.space->to_configuration(p));
    return static_cast<bool>(io.out()); // a reader that has gone wants no more
  });
  if (io.json()) io.out() << "]}";
}

void show_sample(const loaded_task& t, const space_options& options, output& io) {
  if (io.json()) io.out() << "{\"seed\":" << dump(count_json(options.seed)) << ",\"configurations\":[";
  writer out(io);
  random_engine rng(options.seed);
  for (std::uint64_t i = 0; i < options.sample && io.out(); ++i)
    out.add(t.space->to_configuration(t.space->sample(rng)));
  if (io.json()) io.out() << "]}";
}

json count_of(const loaded_task& t) {
  return space_count_json(t.space->parameters().size(), t.space->cartesian(), t.space->count(), t.build_ms);
}

json summary_of(const loaded_task& t) {
  json out{{"task", t.spec.name}};
  out.update(count_of(t));
  const auto about = t.space->describe();
  json parameters = json::array();
  for (std::size_t i = 0; i < about.parameters.size(); ++i) {
    const auto& p = about.parameters[i];
    json values = json::array();
    for (std::uint32_t k = 0; k < p.size && k < 1000; ++k) values.push_back(value_json(t.space->value_at(i, k)));
    parameters.push_back({{"name", p.name},
                          {"size", p.size},
                          {"used", p.used},
                          {"ordinal", p.ordinal},
                          {"conditional", p.conditional},
                          {"group", p.group},
                          {"values", std::move(values)}});
  }
  const auto number_or_null = [](const std::optional<double>& v) { return v ? number_json(*v) : json(nullptr); };
  json constraints = json::array();
  for (const auto& c : about.constraints)
    constraints.push_back({{"expression", c.text},
                           {"place", c.place},
                           {"parameters", c.parameters},
                           {"group", c.group ? json(*c.group) : json(nullptr)},
                           {"cuts", number_or_null(c.cuts)},
                           {"cuts_last", number_or_null(c.cuts_last)},
                           {"estimated", c.estimated}});
  json groups = json::array();
  for (const auto& g : about.groups)
    groups.push_back({{"parameters", g.parameters},
                      {"valid", g.count ? count_json(*g.count) : json(nullptr)},
                      {"nodes", g.nodes},
                      {"edges", g.edges}});
  out["domains"] = std::move(parameters);
  out["constraints"] = std::move(constraints);
  out["groups"] = std::move(groups);
  out["remarks"] = std::vector<std::string>(t.space->remarks().begin(), t.space->remarks().end());
  out["warnings"] = t.spec.warnings;
  return out;
}

} // namespace

int run_space(const space_options& options, output& io) {
  const auto tasks = load(options.spec, options.task);
  if (!tasks) return io.fail(tasks.err());
  for (const auto& t : *tasks)
    for (const auto& w : t.spec.warnings) io.message(w);
  const bool one = tasks->size() == 1;
  if (!one && (options.show == what::index || options.show == what::contains || options.show == what::list ||
               options.show == what::sample))
    return io.fail({errc::invalid_spec, "holds several tasks; choose one with --task NAME", options.spec});
  const auto& first = tasks->front();
  switch (options.show) {
  case what::index:
    return show_index(first, options.index, io);
  case what::contains:
    return show_contains(first, options.contains, io);
  case what::list:
    show_list(first, io);
    break;
  case what::sample:
    show_sample(first, options, io);
    break;
  case what::count:
  case what::summary: {
    const bool count = options.show == what::count;
    if (io.json()) {
      json all = json::array();
      for (const auto& t : *tasks) {
        json entry = count ? count_of(t) : summary_of(t);
        if (count && !one) entry["task"] = t.spec.name;
        all.push_back(std::move(entry));
      }
      io.document(one ? all[0] : json{{"tasks", std::move(all)}});
      return exit_code::done;
    }
    for (const auto& t : *tasks) {
      if (!count) {
        io.out() << render_space(t.spec, *t.space);
        continue;
      }
      if (!one) io.out() << t.spec.name << ' ';
      io.out() << (t.space->count() ? search::to_string(*t.space->count()) : "unknown") << '\n';
    }
    return exit_code::done;
  }
  }
  if (io.json()) io.out() << '\n';
  return exit_code::done;
}

command_spec space_command() {
  struct words {
    std::string spec, task, sample, seed, index, contains;
    bool count = false, list = false;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"space", "Show a spec's search space"};
  c.place("SPEC", w->spec, "The spec file (YAML, or T1 where it ends in .json)");
  c.value("--task", "NAME", w->task, "One task of a spec that holds several");
  c.flag("--count", w->count, "How many valid configurations there are, exactly");
  c.flag("--list", w->list, "Every valid configuration, in order");
  c.value("--sample", "N", w->sample, "Draw N configurations uniformly, each draw by itself");
  c.value("--seed", "N", w->seed, "The seed of --sample (1)");
  c.value("--index", "I", w->index, "The I-th configuration of --list, from 0");
  c.value("--contains", "JSON", w->contains, "Whether a configuration is valid; exit code 1 where it is not");
  c.more = R"(  attune space gemm.yaml --count --json
  attune space gemm.yaml --sample 5 --seed 7
  attune space gemm.yaml --contains '{"tile_m": 32, "unroll": 4}')";
  c.read = [w](const typed_line& line) -> reading {
    space_options o;
    o.spec = w->spec;
    o.task = w->task;
    const std::pair<const char*, space_options::what> forms[] = {{"--count", space_options::what::count},
                                                                 {"--list", space_options::what::list},
                                                                 {"--sample", space_options::what::sample},
                                                                 {"--index", space_options::what::index},
                                                                 {"--contains", space_options::what::contains}};
    const char* given = nullptr;
    for (const auto& [option, form] : forms) {
      if (!line.given(option)) continue;
      if (given != nullptr) throw usage_fault{std::string(given) + " and " + option + " exclude each other"};
      given = option;
      o.show = form;
    }
    if (o.show == space_options::what::sample) o.sample = read_count<std::uint64_t>("--sample", w->sample, 1);
    if (!w->seed.empty()) {
      if (o.show != space_options::what::sample) throw usage_fault{"--seed has no effect without --sample"};
      o.seed = read_count<std::uint64_t>("--seed", w->seed, 0);
    }
    if (o.show == space_options::what::index &&
        (w->index.empty() || w->index.find_first_not_of("0123456789") != std::string::npos || w->index.size() > 39))
      throw usage_fault{"--index must be a whole number from 0 on, not '" + w->index.substr(0, 60) + "'"};
    o.index = w->index;
    o.contains = w->contains;
    return o;
  };
  return c;
}

} // namespace attune::cli
