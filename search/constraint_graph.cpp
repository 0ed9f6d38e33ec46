#include "search/constraint_graph.hpp"

#include <algorithm>
#include <exception>

namespace attune::search {

namespace {

using graph_kind = graph_node::kind;

std::string type_names(const bounds& b) {
  std::string out;
  for (const auto& [bit, word] :
       {std::pair(bounds::boolean, "bool"), std::pair(bounds::integer, "int"), std::pair(bounds::real, "float"),
        std::pair(bounds::text, "str"), std::pair(bounds::list, "list")})
    if (b.types & bit) out += (out.empty() ? "" : " or ") + std::string(word);
  return out;
}

} // namespace

cell variable::at(std::uint64_t choice, pool& p) const {
  if (choice < cells.size()) return cells[choice];
  if (choice >= values->size()) return {};
  return to_cell(values->at(static_cast<std::uint32_t>(choice)), p);
}

cell black_box::evaluate(std::span<const cell> operands, std::size_t all_parameters, pool& p) const {
  if (callable) {
    std::vector<value> values;
    for (const auto& c : operands) {
      if (!c.present()) return c;
      values.push_back(to_value(c, p));
    }
    try {
      return cell::of(callable->accept(values));
    } catch (const std::exception&) {
      return cell::of(fault::value);
    }
  }
  std::vector<cell> all(all_parameters);
  for (std::size_t i = 0; i < operands.size(); ++i) all[parameters[i]] = operands[i];
  return text->evaluate(node, all, p);
}

std::uint32_t constraint_graph::intern(graph_node n) {
  key k{static_cast<std::uint64_t>(n.what), static_cast<std::uint64_t>(n.op), n.index, n.literal.bits,
        static_cast<std::uint64_t>(n.literal.what)};
  k.insert(k.end(), n.kids.begin(), n.kids.end());
  const auto [at, fresh] = known_.emplace(std::move(k), static_cast<std::uint32_t>(nodes_.size()));
  if (fresh) nodes_.push_back(std::move(n));
  return at->second;
}

status constraint_graph::lower(const expression& e, std::uint32_t number, std::uint32_t& out) {
  if (lowered_[number] >= 0) {
    out = static_cast<std::uint32_t>(lowered_[number]);
    return {};
  }
  const auto& from = e.nodes()[number];
  graph_node n;
  switch (from.what) {
  case expression::node::kind::constant:
    n.literal = from.literal;
    n.range = bounds::of(from.literal);
    break;
  case expression::node::kind::parameter:
    n.what = graph_kind::parameter;
    n.index = from.index;
    n.range = variables_[from.index].range;
    break;
  case expression::node::kind::gather:
  case expression::node::kind::local: {
    black_box box;
    box.text = &e;
    box.node = number;
    box.parameters = e.parameters_of(number);
    n.what = graph_kind::opaque;
    n.index = static_cast<std::uint32_t>(boxes_.size());
    n.range = bounds::unknown();
    for (const auto p : box.parameters) {
      graph_node leaf;
      leaf.what = graph_kind::parameter;
      leaf.index = p;
      leaf.range = variables_[p].range;
      n.kids.push_back(intern(std::move(leaf)));
    }
    boxes_.push_back(std::move(box));
    break;
  }
  case expression::node::kind::apply: {
    n.what = graph_kind::apply;
    n.op = from.op;
    std::vector<bounds> ranges;
    for (const auto k : from.kids) {
      std::uint32_t kid = 0;
      if (auto done = lower(e, k, kid); !done) return done;
      n.kids.push_back(kid);
      ranges.push_back(nodes_[kid].range);
    }
    if (clash(n.op, ranges)) {
      std::string types;
      for (const auto& r : ranges) types += (types.empty() ? "" : " and ") + type_names(r);
      return error{
          errc::invalid_spec, e.at(number, "`" + std::string(spelling(n.op)) + "` has no meaning for " + types), {}};
    }
    n.range = operate(n.op, ranges);
    break;
  }
  }
  out = intern(std::move(n));
  lowered_[number] = out;
  return {};
}

void constraint_graph::add_part(std::uint32_t root, std::uint32_t source) {
  graph_part part;
  part.root = root;
  part.source = source;
  std::vector<std::uint32_t> stack{root};
  std::vector<bool> seen(nodes_.size());
  while (!stack.empty()) {
    const auto at = stack.back();
    stack.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    if (nodes_[at].what == graph_kind::parameter) part.scope.push_back(nodes_[at].index);
    stack.insert(stack.end(), nodes_[at].kids.begin(), nodes_[at].kids.end());
  }
  std::ranges::sort(part.scope);
  parts_.push_back(std::move(part));
}

status constraint_graph::split(const expression& e, std::uint32_t number, bool negated, std::uint32_t source) {
  const auto& from = e.nodes()[number];
  if (from.what == expression::node::kind::apply) {
    if (from.op == operation::logical_not) return split(e, from.kids[0], !negated, source);
    if (from.op == (negated ? operation::logical_or : operation::logical_and)) {
      for (const auto k : from.kids)
        if (auto done = split(e, k, negated, source); !done) return done;
      return {};
    }
  }
  std::uint32_t root = 0;
  if (auto done = lower(e, number, root); !done) return done;
  if (negated) {
    graph_node n;
    n.what = graph_kind::apply;
    n.op = operation::logical_not;
    n.kids = {root};
    n.range = operate(n.op, std::span(&nodes_[root].range, 1));
    root = intern(std::move(n));
  }
  add_part(root, source);
  return {};
}

status constraint_graph::require(const expression& e, std::uint32_t source) {
  lowered_.assign(e.nodes().size(), -1);
  return split(e, e.root(), false, source);
}

void constraint_graph::require(const callable_constraint& c, std::vector<std::uint32_t> over, std::uint32_t source) {
  black_box box;
  box.callable = &c;
  box.parameters = std::move(over);
  graph_node n;
  n.what = graph_kind::opaque;
  n.index = static_cast<std::uint32_t>(boxes_.size());
  n.range = bounds::of_types(bounds::boolean, true);
  n.range.absent = true;
  for (const auto p : box.parameters) {
    graph_node leaf;
    leaf.what = graph_kind::parameter;
    leaf.index = p;
    leaf.range = variables_[p].range;
    n.kids.push_back(intern(std::move(leaf)));
  }
  boxes_.push_back(std::move(box));
  add_part(intern(std::move(n)), source);
}

status constraint_graph::require_activity(const expression& when, std::uint32_t p, std::uint32_t source) {
  graph_node leaf;
  leaf.what = graph_kind::parameter;
  leaf.index = p;
  leaf.range = variables_[p].range;
  std::uint32_t condition = 0;
  lowered_.assign(when.nodes().size(), -1);
  if (auto done = lower(when, when.root(), condition); !done) return done;
  graph_node n;
  n.what = graph_kind::activity;
  n.kids = {condition, intern(std::move(leaf))};
  n.range = bounds::of_types(bounds::boolean, true);
  add_part(intern(std::move(n)), source);
  return {};
}

} // namespace attune::search
