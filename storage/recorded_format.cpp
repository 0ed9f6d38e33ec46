#include "storage/recorded_format.hpp"

namespace attune::storage::recorded_format {

bool same(const value& a, const value& b) {
  if (a.is_number() && b.is_number()) return a.to_double() == b.to_double();
  return a == b;
}

double time_scale(const std::string& unit) {
  if (unit == "ms") return 1e-3;
  if (unit == "us") return 1e-6;
  if (unit == "ns") return 1e-9;
  return 1;
}

std::string canonical_unit(const std::string& u) {
  static const std::map<std::string, std::string> names{
      {"s", "s"},     {"sec", "s"},          {"second", "s"},        {"seconds", "s"},       {"ms", "ms"},
      {"msec", "ms"}, {"millisecond", "ms"}, {"milliseconds", "ms"}, {"milisecond", "ms"},   {"miliseconds", "ms"},
      {"us", "us"},   {"usec", "us"},        {"microsecond", "us"},  {"microseconds", "us"}, {"ns", "ns"},
      {"nsec", "ns"}, {"nanosecond", "ns"},  {"nanoseconds", "ns"}};
  const auto found = names.find(u);
  return found == names.end() ? u : found->second;
}

bool is_rate(const std::string& metric) {
  return metric.find("/s") != std::string::npos || metric.find("FLOPS") != std::string::npos ||
         metric.find("flops") != std::string::npos || metric.find("throughput") != std::string::npos;
}

nanoseconds milliseconds(double ms) {
  return std::isfinite(ms) && ms > 0 && ms < 1e12 ? from_seconds(ms * 1e-3) : nanoseconds{0};
}

void fail(recorded_trial& t, failure_kind kind, std::string message) {
  failure f;
  f.kind = kind;
  f.message = std::move(message);
  t.result.data = std::move(f);
}

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

} // namespace attune::storage::recorded_format
