#include "search/similarity.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace attune::search {
namespace {

using features = std::map<std::string, double>;

void add(features& to, const char* room, const arguments& args) {
  for (const auto& [name, v] : args) {
    const std::string key = room + name;
    if (v.is_number() && std::isfinite(v.to_double()))
      to[key] = std::log2(2 + std::fabs(v.to_double()));
    else
      to[key + "=" + v.text()] = 1;
  }
}

double product(const features& a, const features& b) {
  double sum = 0;
  for (const auto& [key, x] : a)
    if (const auto at = b.find(key); at != b.end()) sum += x * at->second;
  return sum;
}

} // namespace

double task_similarity(const arguments& workload_a, const arguments& target_a, const arguments& workload_b,
                       const arguments& target_b) {
  features a, b;
  add(a, "workload.", workload_a);
  add(a, "target.", target_a);
  add(b, "workload.", workload_b);
  add(b, "target.", target_b);
  if (a == b) return 1;
  const double lengths = std::sqrt(product(a, a) * product(b, b));
  return lengths > 0 ? std::clamp(product(a, b) / lengths, 0.0, 1.0) : 0;
}

} // namespace attune::search
