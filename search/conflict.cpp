#include "search/compiled_space.hpp"

#include <algorithm>

namespace attune::search {

namespace {

/// The parameters of some parts, in the order of declaration.
std::vector<std::uint32_t> scope_of(const constraint_graph& graph, std::span<const std::uint32_t> parts) {
  std::vector<std::uint32_t> all;
  for (const auto k : parts) all.insert(all.end(), graph.parts()[k].scope.begin(), graph.parts()[k].scope.end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// Whether nothing satisfies the parts; what costs too much to decide counts as satisfiable.
bool conflicts(const constraint_graph& graph, std::span<const std::uint32_t> parts) {
  const auto order = scope_of(graph, parts);
  const program p(graph, parts, order);
  if (p.broken()) return true;
  if (std::ranges::any_of(order, [&](auto v) { return graph.variables()[v].cells.empty(); })) return false;
  build_report report;
  const auto d = diagram::build(p, {200'000, 5'000'000, 200'000'000}, report);
  return d && d->empty();
}

} // namespace

std::vector<std::uint32_t> smallest_conflict(const space_parts& s, std::span<const std::uint32_t> parts) {
  const auto& graph = *s.graph;
  std::vector<std::uint32_t> sources, always;
  for (const auto k : parts) {
    const auto source = graph.parts()[k].source;
    if (source >= s.constraints.size()) {
      always.push_back(k);
    } else if (std::ranges::find(sources, source) == sources.end()) {
      sources.push_back(source);
    }
  }
  const auto broken = [&](const std::vector<std::uint32_t>& chosen) {
    auto mine = always;
    for (const auto k : parts)
      if (std::ranges::find(chosen, graph.parts()[k].source) != chosen.end()) mine.push_back(k);
    return conflicts(graph, mine);
  };
  if (broken({})) return {};
  const auto n = sources.size();
  for (const auto a : sources)
    if (broken({a})) return {a};
  if (n <= 40)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j)
        if (broken({sources[i], sources[j]})) return {sources[i], sources[j]};
  if (n <= 14)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j)
        for (std::size_t k = j + 1; k < n; ++k)
          if (broken({sources[i], sources[j], sources[k]})) return {sources[i], sources[j], sources[k]};
  // Leave out whatever is not needed: what remains is minimal, if not always the smallest.
  auto left = sources;
  for (const auto a : sources) {
    auto fewer = left;
    std::erase(fewer, a);
    if (broken(fewer)) left = std::move(fewer);
  }
  return left;
}

std::optional<double> cut_by(const constraint_graph& graph, std::span<const std::uint32_t> parts,
                             const build_limits& limits) {
  const auto order = scope_of(graph, parts);
  if (std::ranges::any_of(order, [&](auto v) { return graph.variables()[v].cells.empty(); })) return std::nullopt;
  const program p(graph, parts, order);
  build_report report;
  const auto d = diagram::build(p, limits, report);
  if (!d) return std::nullopt;
  if (d->empty()) return 1.0;
  uint128 all = 1;
  for (const auto v : order)
    if (__builtin_mul_overflow(all, static_cast<uint128>(graph.variables()[v].choices()), &all)) return std::nullopt;
  return static_cast<double>(all - d->count()) / static_cast<double>(all);
}

} // namespace attune::search
