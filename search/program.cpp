#include "search/program.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace attune::search {

namespace {

__extension__ using int128 = __int128;
using graph_kind = graph_node::kind;

constexpr std::size_t table_max = 4096;              ///< choices that a table is made for
constexpr std::int64_t safe = std::int64_t{1} << 62; ///< sums and products below are regrouped
constexpr std::uint32_t patience = 64;               ///< looks ahead without a decision before it is given up

/// The common cases of whole numbers and of comparisons in line, the rest by the language's rules.
cell compute(operation op, cell a, cell b, pool& p) {
  if (a.what == cell::kind::integer && b.what == cell::kind::integer) {
    const auto x = a.integer(), y = b.integer();
    std::int64_t r = 0;
    switch (op) {
    case operation::add:
      if (!__builtin_add_overflow(x, y, &r)) return cell::of(r);
      break;
    case operation::subtract:
      if (!__builtin_sub_overflow(x, y, &r)) return cell::of(r);
      break;
    case operation::multiply:
      if (!__builtin_mul_overflow(x, y, &r)) return cell::of(r);
      break;
    case operation::modulo:
      if (y > 0 && x >= 0) {
        const auto ux = static_cast<std::uint64_t>(x), uy = static_cast<std::uint64_t>(y);
        // A 32-bit division takes a third of the time.
        if (((ux | uy) >> 32) == 0)
          return cell::of(static_cast<std::int64_t>(static_cast<std::uint32_t>(ux) % static_cast<std::uint32_t>(uy)));
        return cell::of(static_cast<std::int64_t>(ux % uy));
      }
      break;
    case operation::less:
      return cell::of(x < y);
    case operation::less_equal:
      return cell::of(x <= y);
    case operation::greater:
      return cell::of(x > y);
    case operation::greater_equal:
      return cell::of(x >= y);
    case operation::equal:
      return cell::of(x == y);
    case operation::not_equal:
      return cell::of(x != y);
    default:
      break;
    }
  }
  return operate(op, a, b, p);
}

bool takes_two(operation op) { return op <= operation::subscript || op == operation::call_pow; }

cell activity(cell condition, cell parameter, const pool& p) {
  if (condition.failed()) return condition;
  return cell::of((condition.present() && truth(condition, p)) == parameter.present());
}

} // namespace

/// Makes the program: the group's subexpressions regrouped for its order, with levels and tables.
class program_builder {
public:
  program_builder(program& out, std::span<const std::uint32_t> parts)
      : out_(out), graph_(out.graph_), pool_(&graph_.literals()) {
    level_of_.assign(graph_.variables().size(), -2);
    for (std::size_t i = 0; i < out.order_.size(); ++i) level_of_[out.order_[i]] = static_cast<std::int32_t>(i);
    out_.layers_.resize(out.order_.size());
    for (auto& l : out_.layers_) l.parameter_node = program::none;
    memo_.assign(graph_.nodes().size() * 2, -1);
    for (const auto p : parts) {
      program::part_info info;
      info.number = p;
      info.root = build(graph_.parts()[p].root, true);
      info.level = nodes_[info.root].level;
      info.first = nodes_[info.root].first;
      out_.parts_.push_back(info);
    }
    emit();
  }

private:
  using number = std::uint32_t;
  enum class kind : std::uint8_t { constant, parameter, apply, opaque, activity, table };
  struct node {
    kind what = kind::constant;
    operation op = operation::add;
    number index = 0; ///< parameter, black box or table
    cell literal;
    std::vector<number> kids;
    bounds range;
    std::int32_t level = -1; ///< the layer at which it is known
    std::int32_t first = -1; ///< the first layer that it depends on
  };

  static bool boolean(const bounds& b) { return b.types == bounds::boolean; }

  number intern(node n) {
    std::vector<std::uint64_t> k{static_cast<std::uint64_t>(n.what), static_cast<std::uint64_t>(n.op), n.index,
                                 n.literal.bits, static_cast<std::uint64_t>(n.literal.what)};
    k.insert(k.end(), n.kids.begin(), n.kids.end());
    const auto [at, fresh] = known_.emplace(std::move(k), static_cast<number>(nodes_.size()));
    if (!fresh) return at->second;
    n.level = n.first = -1;
    for (const auto kid : n.kids) {
      const auto& m = nodes_[kid];
      n.level = std::max(n.level, m.level);
      if (m.first >= 0 && (n.first < 0 || m.first < n.first)) n.first = m.first;
    }
    if (n.what == kind::parameter) n.level = n.first = level_of_[n.index];
    if (n.what != kind::constant && n.what != kind::parameter) fold(n);
    nodes_.push_back(std::move(n));
    return at->second;
  }

  /// Constants are computed, what depends on one parameter alone becomes a table of it.
  void fold(node& n) {
    if (n.level < 0) {
      n.literal = value(n, 0);
      n.what = kind::constant;
      n.range = bounds::of(n.literal);
      n.kids.clear();
      return;
    }
    if (n.level != n.first) return;
    const auto& v = graph_.variables()[out_.order_[static_cast<std::size_t>(n.level)]];
    if (v.cells.empty() || v.cells.size() > table_max) return;
    std::vector<cell> table(v.cells.size());
    bounds range;
    for (std::size_t i = 0; i < table.size(); ++i) {
      table[i] = value(n, i);
      // A text or list made here lives in this builder's pool only: let it be computed where it is needed.
      if (table[i].what >= cell::kind::text) return;
      range.join(bounds::of(table[i]));
    }
    n.what = kind::table;
    n.range = range;
    n.kids.clear();
    n.index = static_cast<number>(out_.tables_.size());
    out_.tables_.push_back(std::move(table));
  }

  /// The value of a node that depends on at most one parameter, for a choice of it.
  cell value(const node& n, std::size_t choice) {
    switch (n.what) {
    case kind::constant:
      return n.literal;
    case kind::parameter:
      return graph_.variables()[n.index].cells[choice];
    case kind::table:
      return out_.tables_[n.index][choice];
    default:
      break;
    }
    std::vector<cell> kids;
    for (const auto k : n.kids) kids.push_back(value(nodes_[k], choice));
    if (n.what == kind::activity) return activity(kids[0], kids[1], pool_);
    if (n.what == kind::opaque) return graph_.box(n.index).evaluate(kids, graph_.variables().size(), pool_);
    pool_.rest();
    return search::operate(n.op, kids, pool_);
  }

  number constant(cell c) {
    node n;
    n.literal = c;
    n.range = bounds::of(c);
    return intern(std::move(n));
  }

  number operate(operation op, std::vector<number> kids) {
    node n;
    n.what = kind::apply;
    n.op = op;
    std::vector<bounds> ranges;
    ranges.reserve(kids.size());
    for (const auto k : kids) ranges.push_back(nodes_[k].range);
    n.range = search::operate(op, ranges);
    n.kids = std::move(kids);
    return intern(std::move(n));
  }

  /// @param truth_only only whether the value is true matters (or that it is failed or absent)
  number build(number from, bool truth_only) {
    auto& memo = memo_[from * 2 + (truth_only ? 1 : 0)];
    if (memo >= 0) return static_cast<number>(memo);
    const auto made = make(from, truth_only);
    memo_[from * 2 + (truth_only ? 1 : 0)] = made;
    return made;
  }

  number make(number from, bool truth_only) {
    const auto& g = graph_.nodes()[from];
    switch (g.what) {
    case graph_kind::constant:
      return constant(g.literal);
    case graph_kind::parameter: {
      node n;
      n.what = kind::parameter;
      n.index = g.index;
      n.range = g.range;
      return intern(std::move(n));
    }
    case graph_kind::opaque:
    case graph_kind::activity: {
      node n;
      n.what = g.what == graph_kind::opaque ? kind::opaque : kind::activity;
      n.index = g.index;
      n.range = g.range;
      for (const auto k : g.kids) n.kids.push_back(build(k, false));
      return intern(std::move(n));
    }
    case graph_kind::apply:
      break;
    }
    switch (g.op) {
    case operation::add:
    case operation::subtract:
    case operation::negate: {
      std::vector<std::pair<bool, number>> terms;
      if (sum(from, false, terms)) return regroup_sum(terms);
      break;
    }
    case operation::multiply: {
      std::vector<number> factors;
      if (product(from, factors)) return regroup_product(factors);
      break;
    }
    case operation::logical_and:
    case operation::logical_or:
      return logic(g, truth_only);
    case operation::logical_not:
      return operate(g.op, {build(g.kids[0], true)});
    case operation::choose:
      return operate(g.op, {build(g.kids[0], true), build(g.kids[1], truth_only), build(g.kids[2], truth_only)});
    default:
      break;
    }
    std::vector<number> kids;
    for (const auto k : g.kids) kids.push_back(build(k, g.op == operation::call_bool));
    return operate(g.op, std::move(kids));
  }

  /// The operands of nested `and` or `or`. Where none can fail or be absent and only truth matters, their order does
  /// not matter either, and what is known first comes first.
  number logic(const graph_node& g, bool truth_only) {
    std::vector<number> kids;
    bool plain = truth_only;
    for (std::size_t i = 0; i < g.kids.size(); ++i) {
      // Every operand but the last is looked at for its truth; its value matters where it is the answer.
      const auto k = build(g.kids[i], truth_only);
      plain = plain && !nodes_[k].range.fails && !nodes_[k].range.absent;
      kids.push_back(k);
    }
    if (!plain) return kids.size() == 2 ? operate(g.op, kids) : chain(g.op, kids);
    for (auto& k : kids)
      if (!boolean(nodes_[k].range)) k = operate(operation::call_bool, {k});
    std::ranges::sort(kids, {}, [this](number k) { return std::pair(nodes_[k].level, k); });
    kids.erase(std::unique(kids.begin(), kids.end()), kids.end());
    return chain(g.op, kids);
  }

  /// ((a op b) op c) …
  number chain(operation op, const std::vector<number>& kids) {
    auto total = kids[0];
    for (std::size_t i = 1; i < kids.size(); ++i) total = operate(op, {total, kids[i]});
    return total;
  }

  /// Collects the terms of a sum of whole numbers; false if one of them may be anything else, or their sum beyond the
  /// safe range in whatever order.
  bool sum(number from, bool minus, std::vector<std::pair<bool, number>>& terms) {
    int128 most = 0;
    if (!collect_sum(from, minus, terms, most)) return false;
    return terms.size() > 1 && most < safe;
  }
  bool collect_sum(number from, bool minus, std::vector<std::pair<bool, number>>& terms, int128& most) {
    const auto& g = graph_.nodes()[from];
    if (!g.range.plain_whole()) return false;
    if (g.what == graph_kind::apply) {
      if (g.op == operation::add || g.op == operation::subtract)
        return collect_sum(g.kids[0], minus, terms, most) &&
               collect_sum(g.kids[1], minus != (g.op == operation::subtract), terms, most);
      if (g.op == operation::negate) return collect_sum(g.kids[0], !minus, terms, most);
    }
    most += std::max<int128>(g.range.hi, -static_cast<int128>(g.range.lo));
    terms.emplace_back(minus, build(from, false));
    return terms.size() < 4096;
  }
  number regroup_sum(std::vector<std::pair<bool, number>>& terms) {
    std::int64_t fixed = 0;
    std::erase_if(terms, [&](const auto& t) {
      const auto& n = nodes_[t.second];
      if (n.what != kind::constant) return false;
      fixed += t.first ? -n.literal.integer() : n.literal.integer();
      return true;
    });
    std::ranges::sort(terms, {},
                      [this](const auto& t) { return std::tuple(nodes_[t.second].level, t.second, t.first); });
    // A lone boolean becomes an integer by the addition, as in Python.
    if (terms.empty() || fixed != 0 || (terms.size() == 1 && boolean(nodes_[terms[0].second].range))) {
      auto total = constant(cell::of(fixed));
      for (const auto& [minus, k] : terms) total = operate(minus ? operation::subtract : operation::add, {total, k});
      return total;
    }
    auto total = terms[0].first ? operate(operation::negate, {terms[0].second}) : terms[0].second;
    for (std::size_t i = 1; i < terms.size(); ++i)
      total = operate(terms[i].first ? operation::subtract : operation::add, {total, terms[i].second});
    return total;
  }

  bool product(number from, std::vector<number>& factors) {
    int128 most = 1;
    return collect_product(from, factors, most) && factors.size() > 1;
  }
  bool collect_product(number from, std::vector<number>& factors, int128& most) {
    const auto& g = graph_.nodes()[from];
    if (!g.range.plain_whole()) return false;
    if (g.what == graph_kind::apply && g.op == operation::multiply)
      return collect_product(g.kids[0], factors, most) && collect_product(g.kids[1], factors, most);
    most *= std::max<int128>({g.range.hi, -static_cast<int128>(g.range.lo), 1});
    if (most >= safe) return false;
    factors.push_back(build(from, false));
    return factors.size() < 4096;
  }
  number regroup_product(std::vector<number>& factors) {
    std::int64_t fixed = 1;
    std::erase_if(factors, [&](number k) {
      if (nodes_[k].what != kind::constant) return false;
      fixed *= nodes_[k].literal.integer();
      return true;
    });
    std::ranges::sort(factors, {}, [this](number k) { return std::pair(nodes_[k].level, k); });
    if (factors.empty() || fixed != 1 || (factors.size() == 1 && boolean(nodes_[factors[0]].range))) {
      auto total = constant(cell::of(fixed));
      for (const auto k : factors) total = operate(operation::multiply, {total, k});
      return total;
    }
    return chain(operation::multiply, factors);
  }

  // --- from nodes to layers

  program::instruction instruction_of(number at) {
    const auto& n = nodes_[at];
    program::instruction i;
    i.op = n.op;
    i.into = at;
    i.index = n.index;
    i.first_kid = static_cast<number>(out_.kids_.size());
    i.kids = static_cast<number>(n.kids.size());
    out_.kids_.insert(out_.kids_.end(), n.kids.begin(), n.kids.end());
    using instruction = program::instruction;
    switch (n.what) {
    case kind::table:
      i.what = instruction::kind::table;
      break;
    case kind::opaque:
      i.what = instruction::kind::opaque;
      break;
    case kind::activity:
      i.what = instruction::kind::activity;
      break;
    default:
      i.what = n.kids.size() == 2 && takes_two(n.op) ? instruction::kind::binary : instruction::kind::apply;
      break;
    }
    return i;
  }

  /// The nodes that `root` needs, kids first.
  std::vector<number> below(number root) const {
    std::vector<bool> seen(nodes_.size());
    std::vector<number> found, stack{root};
    while (!stack.empty()) {
      const auto at = stack.back();
      stack.pop_back();
      if (seen[at]) continue;
      seen[at] = true;
      found.push_back(at);
      stack.insert(stack.end(), nodes_[at].kids.begin(), nodes_[at].kids.end());
    }
    std::ranges::sort(found);
    return found;
  }

  void emit() {
    const auto layers = static_cast<std::int32_t>(out_.layers_.size());
    std::vector<bool> used(nodes_.size());
    std::vector<std::vector<std::vector<number>>> cuts(out_.parts_.size()); // by part and layer
    out_.all_open_.assign((out_.parts_.size() + 63) / 64, 0);
    for (std::size_t p = 0; p < out_.parts_.size(); ++p) {
      const auto& part = out_.parts_[p];
      if (part.level < 0) {
        // Decided by constants alone: nothing to look at, or everything is broken.
        const auto& c = nodes_[part.root].literal;
        if (!c.absent() && (c.failed() || !truth(c, pool_))) out_.broken_ = true;
        continue;
      }
      out_.all_open_[p / 64] |= std::uint64_t{1} << (p % 64);
      const auto mine = below(part.root);
      for (const auto n : mine) used[n] = true;
      out_.layers_[static_cast<std::size_t>(part.level)].decided.push_back(static_cast<number>(p));
      cuts[p].resize(static_cast<std::size_t>(layers));
      for (auto l = std::max(part.first, 0); l < part.level; ++l) cut(mine, l, cuts[p][static_cast<std::size_t>(l)]);
      look(p, mine, cuts[p]);
    }
    for (number n = 0; n < nodes_.size(); ++n) {
      out_.constants_.push_back(nodes_[n].what == kind::constant ? nodes_[n].literal : cell{});
      out_.ranges_.push_back(nodes_[n].range);
      if (!used[n] || nodes_[n].level < 0) continue;
      auto& layer = out_.layers_[static_cast<std::size_t>(nodes_[n].level)];
      if (nodes_[n].what == kind::parameter) {
        layer.parameter_node = n;
      } else {
        layer.instructions.push_back(instruction_of(n));
      }
    }
    for (std::int32_t l = 0; l < layers; ++l) {
      auto& layer = out_.layers_[static_cast<std::size_t>(l)];
      for (const auto& c : cuts)
        if (!c.empty())
          layer.needed.insert(layer.needed.end(), c[static_cast<std::size_t>(l)].begin(),
                              c[static_cast<std::size_t>(l)].end());
      std::ranges::sort(layer.needed);
      layer.needed.erase(std::unique(layer.needed.begin(), layer.needed.end()), layer.needed.end());
      for (std::size_t p = 0; p < cuts.size(); ++p) {
        if (cuts[p].empty() || cuts[p][static_cast<std::size_t>(l)].empty()) continue;
        program::need need;
        need.part = static_cast<number>(p);
        for (const auto n : cuts[p][static_cast<std::size_t>(l)])
          need.slots.push_back(static_cast<number>(std::ranges::lower_bound(layer.needed, n) - layer.needed.begin()));
        layer.needs.push_back(std::move(need));
      }
    }
  }

  /// What is known after layer `l` and used later.
  void cut(const std::vector<number>& mine, std::int32_t l, std::vector<number>& out) const {
    for (const auto n : mine)
      if (nodes_[n].level > l)
        for (const auto k : nodes_[n].kids)
          if (nodes_[k].level >= 0 && nodes_[k].level <= l) out.push_back(k);
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
  }

  void look(std::size_t p, const std::vector<number>& mine, const std::vector<std::vector<number>>& cuts) {
    const auto& part = out_.parts_[p];
    const auto& scope = graph_.parts()[part.number].scope;
    for (auto l = std::max(part.first, 0); l < part.level; ++l) {
      const auto at = static_cast<std::size_t>(l);
      if (!std::ranges::binary_search(scope, out_.order_[at])) continue;
      program::ahead look;
      look.part = static_cast<number>(p);
      look.root = part.root;
      look.number = out_.looks_++;
      look.known = cuts[at];
      for (const auto n : mine)
        if (nodes_[n].level > l && nodes_[n].first >= 0 && nodes_[n].first <= l && !nodes_[n].kids.empty())
          look.instructions.push_back(instruction_of(n));
      for (const auto& i : look.instructions)
        for (const auto k : nodes_[i.into].kids)
          if (nodes_[k].first > l) look.unknown.push_back(k);
      std::ranges::sort(look.unknown);
      look.unknown.erase(std::unique(look.unknown.begin(), look.unknown.end()), look.unknown.end());
      out_.layers_[at].looks.push_back(std::move(look));
    }
  }

  program& out_;
  const constraint_graph& graph_;
  pool pool_;
  std::vector<node> nodes_;
  std::map<std::vector<std::uint64_t>, number> known_;
  std::vector<std::int64_t> memo_;
  std::vector<std::int32_t> level_of_;
};

program::program(const constraint_graph& graph, std::span<const std::uint32_t> parts, std::vector<std::uint32_t> order)
    : graph_(graph), order_(std::move(order)) {
  program_builder(*this, parts);
}

program::frame::frame(const program& p)
    : values(p.constants_),
      ranges(p.ranges_),
      scratch(&p.graph_.literals()),
      tried(p.looks_),
      decided(p.looks_),
      overflowed(p.parts_.size()),
      faulted(p.parts_.size()) {}

cell program::run(frame& f, const instruction& i, std::uint64_t choice) const {
  const auto* kids = kids_.data() + i.first_kid;
  switch (i.what) {
  case instruction::kind::binary:
    return compute(i.op, f.values[kids[0]], f.values[kids[1]], f.scratch);
  case instruction::kind::table:
    return tables_[i.index][choice];
  case instruction::kind::activity:
    return activity(f.values[kids[0]], f.values[kids[1]], f.scratch);
  default:
    break;
  }
  std::array<cell, 8> few;
  std::vector<cell> many;
  std::span<cell> operands;
  if (i.kids <= few.size()) {
    operands = std::span(few).first(i.kids);
  } else {
    many.resize(i.kids);
    operands = many;
  }
  for (std::size_t k = 0; k < i.kids; ++k) operands[k] = f.values[kids[k]];
  f.scratch.rest();
  if (i.what == instruction::kind::opaque)
    return graph_.box(i.index).evaluate(operands, graph_.variables().size(), f.scratch);
  return operate(i.op, operands, f.scratch);
}

bool program::assign(frame& f, std::size_t number, std::uint64_t choice, open_parts& open) const {
  const auto& l = layers_[number];
  if (l.parameter_node != none) f.values[l.parameter_node] = variable_at(number).at(choice, f.scratch);
  for (const auto& i : l.instructions) f.values[i.into] = run(f, i, choice);
  for (const auto p : l.decided) {
    auto& word = open[p / 64];
    const auto bit = std::uint64_t{1} << (p % 64);
    if ((word & bit) == 0) continue;
    const auto c = f.values[parts_[p].root];
    if (c.failed()) {
      (c.why() == fault::overflow ? f.overflowed : f.faulted)[p] = 1;
      return false;
    }
    if (c.present() && !truth(c, f.scratch)) return false;
    word &= ~bit;
  }
  return true;
}

bounds program::run_range(frame& f, const instruction& i) const {
  const auto* kids = kids_.data() + i.first_kid;
  if (i.what == instruction::kind::opaque) return bounds::unknown();
  if (i.what == instruction::kind::activity) {
    auto out = bounds::of_types(bounds::boolean, f.ranges[kids[0]].fails);
    out.lo = 0;
    out.hi = 1;
    return out;
  }
  std::array<bounds, 3> few;
  if (i.kids <= few.size()) {
    for (std::size_t k = 0; k < i.kids; ++k) few[k] = f.ranges[kids[k]];
    return operate(i.op, std::span<const bounds>(few.data(), i.kids));
  }
  std::vector<bounds> many;
  for (std::size_t k = 0; k < i.kids; ++k) many.push_back(f.ranges[kids[k]]);
  return operate(i.op, many);
}

bool program::look_ahead(frame& f, std::size_t number, open_parts& open, bool always) const {
  for (const auto& look : layers_[number].looks) {
    auto& word = open[look.part / 64];
    const auto bit = std::uint64_t{1} << (look.part % 64);
    if ((word & bit) == 0) continue;
    if (!always && f.tried[look.number] >= patience && f.decided[look.number] == 0) continue;
    ++f.tried[look.number];
    for (const auto n : look.known) f.ranges[n] = bounds::of(f.values[n]);
    for (const auto n : look.unknown) f.ranges[n] = ranges_[n];
    for (const auto& i : look.instructions) f.ranges[i.into] = run_range(f, i);
    const auto v = judge(f.ranges[look.root]);
    // What must fail is left to be computed, so that the fault is seen and reported.
    if (v == verdict::open || (v == verdict::broken && f.ranges[look.root].fails)) continue;
    ++f.decided[look.number];
    if (v == verdict::broken) return false;
    word &= ~bit;
  }
  return true;
}

void program::needed_by(std::size_t number, const open_parts& open, std::vector<std::uint8_t>& out) const {
  const auto& l = layers_[number];
  out.assign(l.needed.size(), 0);
  for (const auto& n : l.needs)
    if (open[n.part / 64] >> (n.part % 64) & 1)
      for (const auto s : n.slots) out[s] = 1;
}

} // namespace attune::search
