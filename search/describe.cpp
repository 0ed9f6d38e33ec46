#include "search/compiled_space.hpp"

#include <algorithm>

namespace attune::search {

namespace {

/// `cuts` where the exact figure costs too much: of random combinations of the parts' own parameters.
double sampled_cut(const constraint_graph& graph, std::span<const std::uint32_t> parts) {
  std::vector<std::uint32_t> order;
  for (const auto k : parts) order.insert(order.end(), graph.parts()[k].scope.begin(), graph.parts()[k].scope.end());
  std::ranges::sort(order);
  order.erase(std::unique(order.begin(), order.end()), order.end());
  const program p(graph, parts, order);
  program::frame frame(p);
  random_engine rng(1);
  constexpr int draws = 20'000;
  int broken = 0;
  for (int i = 0; i < draws; ++i) {
    auto open = p.all_open();
    for (std::size_t l = 0; l < p.layers(); ++l)
      if (!p.assign(frame, l, rng.below(p.variable_at(l).choices()), open)) {
        ++broken;
        break;
      }
  }
  return static_cast<double>(broken) / draws;
}

/// So many parts may be compiled once more for each constraint of a group.
constexpr std::size_t without_effort_max = 40'000;

/// The valid assignments of a group without the parts of one constraint; none where that costs too much.
std::optional<double> count_without(const constraint_graph& graph, const group& g, std::span<const std::uint32_t> parts,
                                    std::uint32_t source) {
  std::vector<std::uint32_t> others;
  for (const auto k : parts)
    if (graph.parts()[k].source != source) others.push_back(k);
  const program p(graph, others, {g.order().begin(), g.order().end()});
  build_report report;
  const auto d = diagram::build(p, {400'000, 10'000'000, 400'000'000}, report);
  if (!d) return std::nullopt;
  return static_cast<double>(d->count());
}

} // namespace

space_description compiled_space::describe() const {
  space_description out;
  const auto& graph = *parts_->graph;
  for (std::size_t g = 0; g < parts_->groups.size(); ++g) {
    const auto& group = *parts_->groups[g];
    space_description::group mine;
    for (const auto p : group.order()) mine.parameters.push_back(infos_[p].name);
    mine.count = group.count();
    if (const auto* d = group.counted()) {
      mine.nodes = d->nodes();
      mine.edges = d->edges();
    }
    out.groups.push_back(std::move(mine));
  }
  for (std::size_t i = 0; i < infos_.size(); ++i)
    out.parameters.push_back(
        {infos_[i].name, infos_[i].size, infos_[i].size, infos_[i].ordinal, infos_[i].conditional, group_of_[i]});
  for (const auto& g : parts_->groups) {
    const auto* d = g->counted();
    if (!d) continue;
    const auto used = d->used();
    for (std::size_t l = 0; l < used.size(); ++l)
      out.parameters[d->order()[l]].used =
          static_cast<std::uint32_t>(used[l].size() - (used[l].back() == inactive ? 1 : 0));
  }
  for (std::uint32_t c = 0; c < parts_->constraints.size(); ++c) {
    const auto& from = parts_->constraints[c];
    space_description::constraint mine;
    mine.text = from.callable ? from.callable->name : from.expression;
    mine.place = from.place.text();
    std::vector<std::uint32_t> parts, scope;
    for (std::uint32_t k = 0; k < graph.parts().size(); ++k) {
      if (graph.parts()[k].source != c) continue;
      parts.push_back(k);
      scope.insert(scope.end(), graph.parts()[k].scope.begin(), graph.parts()[k].scope.end());
    }
    std::ranges::sort(scope);
    scope.erase(std::unique(scope.begin(), scope.end()), scope.end());
    for (const auto p : scope) mine.parameters.push_back(infos_[p].name);
    if (!scope.empty()) {
      const auto g = group_of_[scope[0]];
      // The parts of one constraint need not be of one group; then it has none.
      if (std::ranges::all_of(scope, [&](auto p) { return group_of_[p] == g; })) mine.group = g;
      mine.cuts = cut_by(graph, parts, {200'000, 5'000'000, 200'000'000});
      if (!mine.cuts) {
        mine.cuts = sampled_cut(graph, parts);
        mine.estimated = true;
      }
      const auto& together = parts_->group_parts[g];
      if (mine.group && parts_->groups[g]->count() && together.size() * together.size() <= without_effort_max) {
        const auto without = count_without(graph, *parts_->groups[g], parts_->group_parts[g], c);
        if (without) mine.cuts_last = 1 - static_cast<double>(*parts_->groups[g]->count()) / *without;
      }
    }
    out.constraints.push_back(std::move(mine));
  }
  return out;
}

} // namespace attune::search
