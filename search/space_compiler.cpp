// From declared parameters and constraints to groups with their structures.
#include "core/text.hpp"
#include "search/compiled_space.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace attune::search {

namespace {

constexpr std::size_t held_max = std::size_t{1} << 20; ///< values of a constrained parameter that are held
constexpr std::size_t orders_held_max = 40'320;        ///< permutations: of 8 items

bool is_name(std::string_view s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
  return std::ranges::all_of(
      s, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
}

/// How many narrow_order() may look at.
constexpr std::size_t narrow_effort = 20'000'000;

std::string quoted(const constraint& c, std::size_t number) {
  std::string out = std::to_string(number + 1);
  const auto& text = c.callable ? c.callable->name : c.expression;
  if (!text.empty()) out += " (`" + text.substr(0, 200) + (text.size() > 200 ? "…`)" : "`)");
  return out;
}

/// Joins what constraints tie together.
class union_find {
public:
  explicit union_find(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0u); }
  std::uint32_t find(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::uint32_t a, std::uint32_t b) { parent_[std::max(find(a), find(b))] = std::min(find(a), find(b)); }

private:
  std::vector<std::uint32_t> parent_;
};

class compiler {
public:
  compiler(std::span<const parameter> parameters, std::span<const constraint> constraints, const arguments& workload,
           const arguments& target, const build_limits& limits)
      : s_(std::make_unique<space_parts>()), workload_(workload), target_(target), limits_(limits) {
    s_->declared.assign(parameters.begin(), parameters.end());
    s_->constraints.assign(constraints.begin(), constraints.end());
  }

  result<std::unique_ptr<space_parts>> run() {
    for (auto step : {&compiler::read_parameters, &compiler::read_conditions, &compiler::read_constraints,
                      &compiler::tie, &compiler::build})
      if (auto done = (this->*step)(); !done) return done.err();
    remark();
    return std::move(s_);
  }

private:
  static error wrong(std::string message, const source_place& place) {
    return {errc::invalid_spec, std::move(message), place.text()};
  }

  status read_parameters() {
    if (s_->declared.empty())
      return error{errc::invalid_spec, "there are no parameters; declare at least one under `parameters:`", {}};
    std::map<std::string, const parameter*> seen;
    for (const auto& p : s_->declared) {
      if (!is_name(p.name))
        return wrong("`" + p.name + "` is no name for a parameter: letters, digits and `_`, not beginning with a digit",
                     p.place);
      const auto [at, fresh] = seen.emplace(p.name, &p);
      if (!fresh) {
        const auto where = at->second->place.text();
        return wrong("the parameter `" + p.name + "` is declared twice" + (where.empty() ? "" : ", first at " + where),
                     p.place);
      }
      names_.push_back(p.name);
      auto d = domain::make(p);
      if (!d) return d.err();
      s_->domains.push_back(std::move(*d));
      if (p.standard && !s_->domains.back().find(*p.standard))
        s_->remarks.push_back("parameter `" + p.name + "`: its default `" + p.standard->text() +
                              "` is not among its values; the first is taken instead");
    }
    return {};
  }

  result<const expression*> read(const std::string& text, const std::string& what, const source_place& place) {
    auto e = expression::read(text, {names_, &workload_, &target_}, s_->literals);
    if (!e) return wrong(what + ": " + e.err().message, place);
    s_->expressions.push_back(std::move(*e));
    return &s_->expressions.back();
  }

  status read_conditions() {
    const auto n = names_.size();
    s_->condition_reads.resize(n);
    conditions_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto& p = s_->declared[i];
      if (p.when.empty()) continue;
      auto e = read(p.when, "condition of parameter `" + p.name + "`", p.place);
      if (!e) return e.err();
      conditions_[i] = *e;
      s_->condition_reads[i] = (*e)->parameters_of((*e)->root());
    }
    // A condition that depends on itself, directly or around a ring.
    std::vector<int> state(n); // 0 new, 1 on the way, 2 done
    std::vector<std::uint32_t> way;
    for (std::uint32_t i = 0; i < n; ++i)
      if (!acyclic(i, state, way)) {
        std::string ring;
        const auto from = std::ranges::find(way, way.back());
        for (auto at = from; at != way.end(); ++at) ring.append(ring.empty() ? "`" : " → `").append(names_[*at]) += '`';
        return wrong("the conditions of parameters form a ring: " + ring, s_->declared[way.back()].place);
      }
    return {};
  }

  bool acyclic(std::uint32_t i, std::vector<int>& state, std::vector<std::uint32_t>& way) {
    if (state[i] == 2) return true;
    way.push_back(i);
    if (state[i] == 1) return false;
    state[i] = 1;
    for (const auto r : s_->condition_reads[i])
      if (!acyclic(r, state, way)) return false;
    state[i] = 2;
    way.pop_back();
    return true;
  }

  status read_constraints() {
    for (std::size_t i = 0; i < s_->constraints.size(); ++i) {
      const auto& c = s_->constraints[i];
      const auto what = "constraint " + std::to_string(i + 1);
      if (!c.callable) {
        auto e = read(c.expression, what, c.place);
        if (!e) return e.err();
        rules_.push_back(*e);
        continue;
      }
      rules_.push_back(nullptr);
      if (!c.callable->accept) return wrong(what + ": the callable is empty", c.place);
      std::vector<std::uint32_t> over;
      for (const auto& name : c.callable->over) {
        const auto at = std::ranges::find(names_, name);
        if (at == names_.end()) {
          const auto near = nearest_word(name, names_);
          return wrong(what + ": unknown parameter `" + name + "`" + (near ? "; did you mean `" + *near + "`?" : ""),
                       c.place);
        }
        over.push_back(static_cast<std::uint32_t>(at - names_.begin()));
      }
      over_[i] = std::move(over);
    }
    return {};
  }

  /// The graph, and which parameters belong together.
  status tie() {
    const auto n = names_.size();
    std::vector<bool> read_at_all(n);
    const auto mark = [&](const std::vector<std::uint32_t>& reads) {
      for (const auto r : reads) read_at_all[r] = true;
    };
    for (std::size_t i = 0; i < n; ++i) {
      mark(s_->condition_reads[i]);
      if (conditions_[i]) read_at_all[i] = true;
    }
    for (std::size_t i = 0; i < rules_.size(); ++i)
      mark(rules_[i] ? rules_[i]->parameters_of(rules_[i]->root()) : over_[i]);

    std::vector<variable> variables(n);
    for (std::size_t i = 0; i < n; ++i) {
      auto& v = variables[i];
      const auto& d = s_->domains[i];
      v.values = &d;
      v.conditional = conditions_[i] != nullptr;
      if (!read_at_all[i]) continue;
      if (d.size() <= (d.permutes() ? orders_held_max : held_max)) {
        for (std::uint32_t k = 0; k < d.size(); ++k) {
          v.cells.push_back(to_cell(d.at(k), s_->literals));
          if (v.cells.back().failed())
            return wrong("parameter `" + names_[i] + "`: its values take more than 64 MiB", s_->declared[i].place);
          v.range.join(bounds::of(v.cells.back()));
        }
        if (v.conditional) v.cells.emplace_back();
      } else if (d.ordinal()) {
        // Ranges: the ends bound the rest.
        for (const auto k : {std::uint32_t{0}, d.size() - 1}) v.range.join(bounds::of(to_cell(d.at(k), s_->literals)));
      } else {
        v.range = bounds::unknown();
        v.range.absent = v.range.fails = false;
        if (d.permutes()) v.range = bounds::of_types(bounds::list, false);
      }
      v.range.absent = v.conditional;
    }
    s_->graph = std::make_unique<constraint_graph>(std::move(variables), s_->literals);
    for (std::uint32_t i = 0; i < rules_.size(); ++i) {
      if (!rules_[i]) {
        s_->graph->require(*s_->constraints[i].callable, over_[i], i);
      } else if (auto done = s_->graph->require(*rules_[i], i); !done) {
        return wrong("constraint " + std::to_string(i + 1) + ": " + done.err().message, s_->constraints[i].place);
      }
    }
    for (std::uint32_t i = 0; i < n; ++i)
      if (conditions_[i])
        if (auto done = s_->graph->require_activity(*conditions_[i], i, static_cast<std::uint32_t>(rules_.size()) + i);
            !done)
          return wrong("condition of parameter `" + names_[i] + "`: " + done.err().message, s_->declared[i].place);

    union_find together(n);
    std::vector<bool> tied(n);
    for (const auto& part : s_->graph->parts())
      for (const auto p : part.scope) {
        tied[p] = true;
        together.join(part.scope[0], p);
      }
    std::map<std::uint32_t, std::size_t> number;
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto [at, fresh] = number.emplace(together.find(i), members_.size());
      if (fresh) {
        members_.emplace_back();
        s_->group_parts.emplace_back();
      }
      members_[at->second].push_back(i);
    }
    for (std::uint32_t k = 0; k < s_->graph->parts().size(); ++k) {
      const auto& part = s_->graph->parts()[k];
      if (part.scope.empty()) {
        constant_parts_.push_back(k);
      } else {
        s_->group_parts[number[together.find(part.scope[0])]].push_back(k);
      }
    }
    for (std::size_t g = 0; g < members_.size(); ++g)
      if (members_[g].size() == 1 && !tied[members_[g][0]]) free_.insert(g);
    return {};
  }

  error nothing_valid(std::span<const std::uint32_t> parts) const {
    const auto conflict = smallest_conflict(*s_, parts);
    std::string message = "no configuration is valid: ";
    source_place place;
    if (conflict.empty()) {
      message += "the conditions of the parameters cannot be met";
    } else if (conflict.size() == 1) {
      message += "nothing satisfies constraint " + quoted(s_->constraints[conflict[0]], conflict[0]);
    } else {
      message += "these constraints conflict: ";
      for (std::size_t i = 0; i < conflict.size(); ++i)
        message += (i ? ", " : "") + quoted(s_->constraints[conflict[i]], conflict[i]);
    }
    if (!conflict.empty()) place = s_->constraints[conflict[0]].place;
    return wrong(message, place);
  }

  status build() {
    if (!constant_parts_.empty()) {
      const program constants(*s_->graph, constant_parts_, {});
      if (constants.broken()) return nothing_valid(constant_parts_);
    }
    for (std::size_t g = 0; g < members_.size(); ++g) {
      if (free_.contains(g)) {
        const auto p = members_[g][0];
        s_->groups.push_back(std::make_unique<free_group>(p, s_->domains[p].size()));
        continue;
      }
      if (auto done = build_group(g); !done) return done;
    }
    return {};
  }

  status build_group(std::size_t g) {
    const auto& parts = s_->group_parts[g];
    const bool held =
        std::ranges::none_of(members_[g], [this](auto p) { return s_->graph->variables()[p].cells.empty(); });
    const auto narrow = narrow_order(*s_->graph, parts, members_[g]);
    // The declared order first, with a quarter of the effort where there is another one to try.
    auto compiled = std::make_unique<program>(*s_->graph, parts, members_[g]);
    if (held) {
      auto first = limits_;
      if (narrow != members_[g]) {
        first.states /= 4;
        first.steps /= 4;
      }
      auto d = try_build(*compiled, first);
      if (!d && narrow != members_[g]) {
        compiled = std::make_unique<program>(*s_->graph, parts, narrow);
        d = try_build(*compiled, limits_);
        if (d && !d->empty())
          s_->remarks.push_back("the " + listed(members_[g]) +
                                " are enumerated in another order than they are declared in: " + ordered(narrow));
      }
      if (d) {
        if (d->empty()) return nothing_valid(parts);
        note_single(*d);
        s_->groups.push_back(std::make_unique<counted_group>(std::move(d)));
        return {};
      }
    } else if (narrow != members_[g]) {
      compiled = std::make_unique<program>(*s_->graph, parts, narrow);
    }
    auto searched = std::make_unique<searched_group>(std::move(compiled));
    bool proven = false;
    if (!searched->find_witness(names_.size(), proven)) {
      if (proven) return nothing_valid(parts);
      return error{errc::invalid_spec,
                   "no valid configuration was found for the " + listed(members_[g]) +
                       ", which are tied together too closely to be counted; their constraints leave none or very few: "
                       "loosen them",
                   {}};
    }
    s_->remarks.push_back("the " + listed(members_[g]) +
                          " are tied together too closely to be counted: their valid configurations are searched for, "
                          "and not drawn exactly uniformly");
    s_->groups.push_back(std::move(searched));
    return {};
  }

  std::unique_ptr<diagram> try_build(const program& p, const build_limits& limits) {
    build_report report;
    auto d = diagram::build(p, limits, report);
    note_faults(p, report);
    return d;
  }

  std::string ordered(std::span<const std::uint32_t> members) const {
    std::string all;
    for (std::size_t i = 0; i < members.size() && i < 8; ++i) all += (i ? ", `" : "`") + names_[members[i]] + "`";
    return members.size() > 8 ? all + ", …" : all;
  }
  std::string listed(std::span<const std::uint32_t> members) const {
    return std::to_string(members.size()) + (members.size() == 1 ? " parameter " : " parameters ") + ordered(members);
  }

  std::string name_of(std::uint32_t source) const {
    if (source < s_->constraints.size()) return "constraint " + quoted(s_->constraints[source], source);
    return "the condition of parameter `" + names_[source - s_->constraints.size()] + "`";
  }

  void note_faults(const program& p, const build_report& report) {
    for (std::size_t i = 0; i < p.part_count(); ++i) {
      const auto source = s_->graph->parts()[p.part(i)].source;
      if (report.overflowed[i]) overflowed_.insert(source);
      if (report.faulted[i]) faulted_.insert(source);
    }
  }

  /// Parameters of which only one value is left.
  void note_single(const diagram& d) {
    const auto used = d.used();
    for (std::size_t l = 0; l < used.size(); ++l) {
      const auto p = d.order()[l];
      if (used[l].size() != 1 || s_->graph->variables()[p].choices() == 1) continue;
      const auto only = used[l][0];
      s_->remarks.push_back("parameter `" + names_[p] + "` " +
                            (only == inactive ? "is absent from every valid configuration"
                                              : "is `" + s_->domains[p].at(only).text() +
                                                    "` in every valid configuration: none of its "
                                                    "other " +
                                                    std::to_string(s_->domains[p].size() - 1) + " values is valid"));
    }
  }

  /// Whether one of the first few combinations of its parameters breaks the constraint.
  bool soon_broken(std::uint32_t source) const {
    const auto* rule = rules_[source];
    if (!rule) return false;
    const auto reads = rule->parameters_of(rule->root());
    const auto variables = s_->graph->variables();
    if (std::ranges::any_of(reads, [&](auto p) { return variables[p].cells.empty(); })) return false;
    std::vector<cell> values(variables.size());
    std::vector<std::size_t> at(reads.size());
    for (const auto p : reads) values[p] = variables[p].cells[0];
    pool scratch(&s_->literals);
    for (int tries = 0; tries < 32; ++tries) {
      if (const auto c = rule->evaluate(values, scratch); c.present() && !truth(c, scratch)) return true;
      std::size_t i = 0;
      for (; i < reads.size(); ++i) {
        const auto& cells = variables[reads[i]].cells;
        at[i] = at[i] + 1 < cells.size() ? at[i] + 1 : 0;
        values[reads[i]] = cells[at[i]];
        if (at[i] != 0) break;
      }
      if (i == reads.size()) return false;
    }
    return false;
  }

  void remark() {
    for (const auto c : overflowed_)
      s_->remarks.push_back(name_of(c) + ": a number beyond 64 bits comes up, which makes a configuration invalid");
    for (const auto c : faulted_)
      s_->remarks.push_back(name_of(c) +
                            ": cannot be computed for some values (a division by zero, or operands that do not fit), "
                            "which makes a configuration invalid");
    std::map<std::uint32_t, std::vector<std::uint32_t>> by_source;
    for (std::uint32_t k = 0; k < s_->graph->parts().size(); ++k) by_source[s_->graph->parts()[k].source].push_back(k);
    const build_limits small{20'000, 200'000, 50'000'000};
    for (const auto& [source, parts] : by_source) {
      if (source >= s_->constraints.size() || soon_broken(source)) continue;
      const auto cut = cut_by(*s_->graph, parts, small);
      if (cut && *cut == 0) s_->remarks.push_back(name_of(source) + " forbids nothing");
    }
  }

  std::unique_ptr<space_parts> s_;
  const arguments& workload_;
  const arguments& target_;
  const build_limits& limits_;
  std::vector<std::string> names_;
  std::vector<const expression*> conditions_, rules_; ///< null: no condition; a callable
  std::map<std::size_t, std::vector<std::uint32_t>> over_;
  std::vector<std::vector<std::uint32_t>> members_;
  std::set<std::size_t> free_;
  std::vector<std::uint32_t> constant_parts_;
  std::set<std::uint32_t> overflowed_, faulted_;
};

} // namespace

std::vector<std::uint32_t> narrow_order(const constraint_graph& graph, std::span<const std::uint32_t> parts,
                                        std::span<const std::uint32_t> members) {
  const auto n = members.size();
  std::vector<std::vector<std::uint32_t>> scopes; // as positions in `members`
  std::vector<std::vector<std::uint32_t>> scopes_of(n);
  std::size_t pairs = 0;
  for (const auto k : parts) {
    auto& scope = scopes.emplace_back();
    for (const auto p : graph.parts()[k].scope) {
      scope.push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(members, p) - members.begin()));
      scopes_of[scope.back()].push_back(static_cast<std::uint32_t>(scopes.size() - 1));
    }
    pairs += scope.size() * scope.size();
  }
  if (n * (n + pairs) > narrow_effort) return {members.begin(), members.end()};
  std::vector<std::uint32_t> order;
  std::vector<std::uint8_t> placed(n);
  std::vector<std::size_t> in(scopes.size());             // how many of a scope are placed
  std::vector<std::size_t> open_scopes(n), closed_for(n); // of a placed one; those that a candidate would close
  std::size_t matter = 0, open = 0;                       // placed ones with an open scope; scopes begun and not done
  // With `next` placed too: how many placed ones share a part with one that is not, and how many parts are open.
  const auto width = [&](std::uint32_t next) {
    auto mattering = static_cast<std::ptrdiff_t>(matter);
    auto opened = open;
    bool mine = false;
    const auto closing = [&](std::uint32_t s) { return in[s] + 1 == scopes[s].size(); };
    for (const auto s : scopes_of[next]) {
      if (!closing(s)) {
        mine = true;
        opened += in[s] == 0 ? 1 : 0;
      } else if (in[s] > 0) {
        --opened;
        for (const auto p : scopes[s])
          if (placed[p] && ++closed_for[p] == open_scopes[p]) --mattering;
      }
    }
    for (const auto s : scopes_of[next])
      if (closing(s))
        for (const auto p : scopes[s]) closed_for[p] = 0;
    return std::pair(mattering + (mine ? 1 : 0), opened);
  };
  const auto place = [&](std::uint32_t next) {
    for (const auto s : scopes_of[next]) {
      const auto size = scopes[s].size();
      if (in[s] > 0 && in[s] + 1 == size) {
        --open;
        for (const auto p : scopes[s])
          if (placed[p] && --open_scopes[p] == 0) --matter;
      } else if (in[s] + 1 < size) {
        open += in[s] == 0 ? 1 : 0;
        ++open_scopes[next];
      }
      ++in[s];
    }
    matter += open_scopes[next] > 0 ? 1 : 0;
    placed[next] = 1;
    order.push_back(members[next]);
  };
  while (order.size() < n) {
    std::uint32_t best = 0;
    auto best_width = std::pair(std::ptrdiff_t{-1}, std::size_t{0});
    for (std::uint32_t i = 0; i < n; ++i) {
      if (placed[i]) continue;
      const auto w = width(i);
      if (best_width.first >= 0 && w >= best_width) continue;
      best = i;
      best_width = w;
    }
    place(best);
  }
  return order;
}

result<std::unique_ptr<space_parts>> compile_parts(std::span<const parameter> parameters,
                                                   std::span<const constraint> constraints, const arguments& workload,
                                                   const arguments& target, const build_limits& limits) {
  return compiler(parameters, constraints, workload, target, limits).run();
}

} // namespace attune::search
