#include "storage/recorded.hpp"

#include "storage/formats/format.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

namespace attune::storage {
namespace {

using namespace formats;

/// The index that stands for a parameter which a configuration does not have.
constexpr std::uint32_t absent = 0xffffffffu;

error bad(const source& from, std::string why) { return {errc::invalid_spec, std::move(why), from.name()}; }

/// As people mean it: 64 and 64.0 are the same_value value of a parameter.
/// The values of one parameter, found fast: by text first.
class domain {
public:
  explicit domain(std::vector<value>& values) : values_(&values) {}

  /// Adds it where it is new.
  std::uint32_t index(const value& v) {
    const auto [at, fresh] = by_text_.try_emplace(v.text(), 0);
    if (!fresh && at->second < values_->size() && same_value((*values_)[at->second], v)) return at->second;
    for (std::uint32_t i = 0; i < values_->size(); ++i)
      if (same_value((*values_)[i], v)) return at->second = i;
    values_->push_back(v);
    return at->second = static_cast<std::uint32_t>(values_->size() - 1);
  }

private:
  std::vector<value>* values_;
  std::map<std::string, std::uint32_t> by_text_;
};

/// Puts the values of numeric parameters in ascending order, where the file states no domains; the points follow.
void sort_numbers(recorded_space& out) {
  for (std::size_t d = 0; d < out.parameters.size(); ++d) {
    auto& values = out.parameters[d].values;
    if (!std::all_of(values.begin(), values.end(), [](const value& v) { return v.is_number(); })) continue;
    std::vector<std::uint32_t> order(values.size()), rank(values.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return values[a].to_double() < values[b].to_double(); });
    std::vector<value> sorted;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      rank[order[i]] = i;
      sorted.push_back(values[order[i]]);
    }
    values = std::move(sorted);
    for (auto& t : out.trials)
      if (t.at[d] != absent) t.at[d] = rank[t.at[d]];
  }
}

/// One task's records on their way to a space.
struct part {
  task_entry_ptr task;
  std::vector<entry> entries;
  std::unordered_set<std::string> distinct; ///< configurations
};

/// A space of the entries' parameters, the declared ones first, then in the order in which they first appear. Who lacks
/// one has it absent.
result<recorded_space> assemble(recorded_space out, std::vector<entry> entries, const reader& from,
                                const source& file) {
  const auto* declared = from.declared();
  const bool has_domains = declared != nullptr && !declared->empty();
  if (has_domains)
    for (const auto& [name, values] : *declared) {
      auto& p = out.parameters.emplace_back();
      p.name = name;
      for (const auto& v : values)
        if (std::none_of(p.values.begin(), p.values.end(), [&](const value& w) { return same_value(v, w); }))
          p.values.push_back(v);
    }
  std::map<std::string, std::size_t> places;
  for (std::size_t d = 0; d < out.parameters.size(); ++d) places.emplace(out.parameters[d].name, d);
  for (const auto& e : entries)
    for (std::size_t i = 0; i < e.config.size(); ++i)
      if (places.try_emplace(e.config.name(i), out.parameters.size()).second)
        out.parameters.push_back({e.config.name(i), {}});
  if (entries.empty() || out.parameters.empty()) return bad(file, "there is no configuration in it");

  std::size_t declared_values = 0, values = 0, doubled = 0;
  for (const auto& p : out.parameters) declared_values += p.values.size();
  std::vector<domain> domains;
  for (auto& p : out.parameters) domains.emplace_back(p.values);
  std::map<std::vector<std::uint32_t>, std::size_t> seen;
  for (auto& e : entries) {
    recorded_trial t;
    t.at.assign(out.parameters.size(), absent);
    for (std::size_t i = 0; i < e.config.size(); ++i) {
      const auto d = places.at(e.config.name(i));
      if (!e.config[i].is_absent()) t.at[d] = domains[d].index(e.config[i]);
    }
    t.written = e.written;
    t.result = std::move(e.result);
    if (auto* m = std::get_if<measurement>(&t.result.data); m != nullptr && m->samples.empty())
      m->samples.push_back(m->value);
    const auto [at, fresh] = seen.try_emplace(t.at, out.trials.size());
    if (fresh) {
      out.trials.push_back(std::move(t));
    } else {
      out.trials[at->second] = std::move(t);
      ++doubled;
    }
  }
  for (const auto& p : out.parameters) values += p.values.size();
  if (has_domains && values > declared_values)
    out.warnings.push_back(std::to_string(values - declared_values) + " values are not in the declared lists");
  if (doubled > 0)
    out.warnings.push_back(std::to_string(doubled) + " configurations stand there more than once; the last counts");
  if (!has_domains) sort_numbers(out);
  return out;
}

/// Of a split's factors (NAME.0, NAME.1, …) the first follows from the others: it is no parameter of the space.
void drop_first_factors(std::vector<entry>& entries) {
  for (auto& e : entries) {
    std::vector<std::string> names;
    std::vector<value> values;
    for (std::size_t i = 0; i < e.config.size(); ++i) {
      const auto& name = e.config.name(i);
      const bool first = name.ends_with(".0") && i + 1 < e.config.size() &&
                         e.config.name(i + 1) == name.substr(0, name.size() - 1) + "1";
      if (first) continue;
      names.push_back(name);
      values.push_back(e.config[i]);
    }
    e.config = {std::make_shared<const std::vector<std::string>>(std::move(names)), std::move(values)};
  }
}

result<recorded_space> read(source& from) {
  const auto format = recognise(from);
  if (!format) return format.err();
  const auto reading = (*format)->read(from, {.stated = true, .task = {}});
  std::vector<part> parts;
  std::map<digest, std::size_t> places;
  entry e;
  damage what;
  std::uint64_t records = 0, damaged = 0, first_line = 0;
  std::string first_why;
  for (auto step = reading->next(e, what); step != reader::step::end; step = reading->next(e, what)) {
    if (step == reader::step::damaged) {
      if (damaged++ == 0) {
        first_why = what.why;
        first_line = what.line;
      }
      continue;
    }
    ++records;
    // Whose fault it was decides: what the machine did says nothing about the configuration.
    if (const auto* f = e.result.failed(); f != nullptr && is_infrastructure(f->kind)) continue;
    if (e.result.bounded() != nullptr) continue;
    // The same_value workload on the same_value target, however it was measured.
    std::string both(e.task->workload.view());
    both += e.task->target.view();
    const auto [at, fresh] = places.try_emplace(sha256(both), parts.size());
    if (fresh) parts.push_back({e.task, {}, {}});
    auto& p = parts[at->second];
    p.distinct.insert(e.config.canonical());
    p.entries.push_back(std::move(e));
  }
  if (const auto ended = reading->error(); !ended) return ended.err();
  if (parts.empty())
    return bad(from, damaged == 0 ? "there is no configuration in it"
                                  : "line " + std::to_string(first_line) + ": " + first_why);
  const bool log = std::string_view((*format)->name).starts_with("autotvm");
  recorded_space out;
  out.warnings = reading->warnings();
  if (damaged > 0)
    out.warnings.push_back(std::to_string(damaged) +
                           (log ? " lines that are no record left out" : " entries that are no record left out"));
  std::size_t most = 0;
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i].distinct.size() > parts[most].distinct.size()) most = i;
  auto& played = parts[most];
  if (parts.size() > 1)
    out.warnings.push_back(std::to_string(parts.size()) + " tasks in " + std::to_string(records) +
                           " records; this is the one of the most configurations, " + played.task->name + " (" +
                           std::to_string(played.distinct.size()) + ")");
  out.format = log ? "autotvm" : reading->format();
  out.name = played.task->name;
  if (const auto* device = find(played.task->target_facts, "device")) out.device = device->text();
  out.metric = played.task->metric;
  out.unit = reading->unit();
  out.direction = played.task->direction;
  if (log) drop_first_factors(played.entries);
  return assemble(std::move(out), std::move(played.entries), *reading, from);
}

} // namespace

result<recorded_space> parse_recorded(std::string_view text, const std::string& name) {
  const auto from = source::of(text, name);
  return read(*from);
}

result<recorded_space> read_recorded(const std::string& path) {
  const auto from = source::open(path);
  if (!from) return from.err();
  return read(**from);
}

} // namespace attune::storage
