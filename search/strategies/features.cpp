#include "search/strategies/features.hpp"

#include <algorithm>
#include <bit>

namespace attune::search {
namespace {

/// Codes fit into 16 bits: longer domains are coded in equal steps.
constexpr std::uint32_t max_codes = 0xfff0;

std::uint32_t code_of(std::uint32_t index, std::uint32_t size) {
  if (index == inactive) return std::min(size, max_codes);
  return size <= max_codes ? index : static_cast<std::uint32_t>(std::uint64_t{index} * max_codes / size);
}

} // namespace

std::vector<std::uint8_t> alignment(const space& over, std::size_t parameter) {
  const auto& info = over.parameters()[parameter];
  std::vector<std::uint8_t> out;
  if (!info.ordinal || info.size < 3 || info.size > 4096) return out;
  bool rising = true;
  for (std::uint32_t v = 0; v < info.size; ++v) {
    const value x = over.value_at(parameter, v);
    if (x.type() != value::kind::integer) return {};
    const auto n = static_cast<std::uint64_t>(x.as_integer());
    out.push_back(static_cast<std::uint8_t>(n == 0 ? 0 : std::min(8, std::countr_zero(n))));
    rising = rising && (v == 0 || out[v] >= out[v - 1]);
  }
  if (rising) out.clear();
  return out;
}

bool may_be_codes(const space& over, std::size_t parameter) {
  const auto& info = over.parameters()[parameter];
  if (!info.ordinal || info.size < 3 || info.size > 8) return false;
  const value first = over.value_at(parameter, 0);
  if (first.type() != value::kind::integer) return false;
  for (std::uint32_t v = 1; v < info.size; ++v) {
    const value x = over.value_at(parameter, v);
    if (x.type() != value::kind::integer) return false;
    // Unsigned: the values may be those at the ends of the range.
    const auto step = static_cast<std::uint64_t>(x.as_integer()) - static_cast<std::uint64_t>(first.as_integer());
    if (step != v) return false;
  }
  return true;
}

rank_features::rank_features(const space& over, std::size_t pairs) {
  const auto infos = over.parameters();
  std::vector<std::size_t> numeric;
  for (std::size_t d = 0; d < infos.size(); ++d) {
    sizes_.push_back(infos[d].size);
    columns_.push_back({infos[d].ordinal, std::min(infos[d].size, max_codes) + (infos[d].conditional ? 1 : 0)});
    if (!infos[d].ordinal || infos[d].conditional || infos[d].size < 2 || infos[d].size > 128) continue;
    bool positive = true;
    for (std::uint32_t v = 0; v < infos[d].size; ++v) {
      const value x = over.value_at(d, v);
      positive = positive && x.is_number() && x.to_double() > 0;
    }
    if (positive) numeric.push_back(d);
  }
  for (std::size_t d = 0; d < infos.size(); ++d) {
    auto of = alignment(over, d);
    if (of.empty()) continue;
    columns_.push_back({true, 10});
    aligned_.push_back({d, std::move(of)});
  }
  for (std::size_t i = 0; i < numeric.size(); ++i) {
    for (std::size_t j = i + 1; j < numeric.size() && products_.size() < pairs; ++j) {
      product made;
      made.a = numeric[i];
      made.b = numeric[j];
      made.stride = infos[made.b].size;
      std::vector<double> values;
      for (std::uint32_t x = 0; x < infos[made.a].size; ++x)
        for (std::uint32_t y = 0; y < infos[made.b].size; ++y)
          values.push_back(over.value_at(made.a, x).to_double() * over.value_at(made.b, y).to_double());
      std::vector<double> distinct = values;
      std::sort(distinct.begin(), distinct.end());
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      for (const double v : values)
        made.rank.push_back(
            static_cast<std::uint16_t>(std::lower_bound(distinct.begin(), distinct.end(), v) - distinct.begin()));
      columns_.push_back({true, static_cast<std::uint32_t>(distinct.size())});
      products_.push_back(std::move(made));
    }
  }
}

void rank_features::encode(std::span<const std::uint32_t> p, std::span<std::uint16_t> out) const {
  for (std::size_t d = 0; d < sizes_.size(); ++d) out[d] = static_cast<std::uint16_t>(code_of(p[d], sizes_[d]));
  std::size_t at = sizes_.size();
  for (const auto& a : aligned_) out[at++] = p[a.parameter] == inactive ? 9 : a.of[p[a.parameter]];
  for (const auto& f : products_) {
    out[at++] = f.rank[p[f.a] * f.stride + p[f.b]];
  }
}

} // namespace attune::search
