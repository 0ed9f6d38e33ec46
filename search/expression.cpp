#include "search/expression.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace attune::search {

namespace {

using expression_kind = expression::node::kind;

/// Walks a tree with the values of parameters and loop variables.
class evaluator {
public:
  evaluator(std::span<const expression::node> nodes, std::span<const cell> parameters, std::size_t locals, pool& p)
      : nodes_(nodes), parameters_(parameters), locals_(locals), pool_(p) {}

  cell operator()(std::uint32_t number) {
    const auto& n = nodes_[number];
    switch (n.what) {
    case expression_kind::constant:
      return n.literal;
    case expression_kind::parameter:
      return parameters_[n.index];
    case expression_kind::local:
      return locals_[n.index];
    case expression_kind::gather:
      return gather(n);
    case expression_kind::apply:
      break;
    }
    if (!pool_.step()) return cell::of(fault::limit);
    switch (n.op) {
    case operation::logical_and:
    case operation::logical_or: {
      cell c;
      for (const auto k : n.kids) {
        c = (*this)(k);
        if (!c.present() || truth(c, pool_) == (n.op == operation::logical_or)) return c;
      }
      return c;
    }
    case operation::choose: {
      const auto c = (*this)(n.kids[0]);
      if (!c.present()) return c;
      return (*this)(n.kids[truth(c, pool_) ? 1 : 2]);
    }
    default:
      break;
    }
    if (n.kids.size() == 2 && n.op != operation::make_list && n.op != operation::make_tuple &&
        n.op != operation::make_set) {
      const auto a = (*this)(n.kids[0]);
      if (!a.present()) return a;
      const auto b = (*this)(n.kids[1]);
      const std::array both{a, b};
      return operate(n.op, both, pool_);
    }
    std::vector<cell> operands;
    operands.reserve(n.kids.size());
    for (const auto k : n.kids) {
      operands.push_back((*this)(k));
      if (!operands.back().present()) return operands.back();
    }
    return operate(n.op, operands, pool_);
  }

private:
  cell gather(const expression::node& n) {
    std::vector<cell> out;
    if (const auto wrong = loop(n, 0, out)) return *wrong;
    return pool_.list(out);
  }

  /// The clauses from `c` on; what ended it early, if anything did.
  std::optional<cell> loop(const expression::node& n, std::size_t c, std::vector<cell>& out) {
    if (!pool_.step()) return cell::of(fault::limit);
    if (c == n.clauses.size()) {
      if (out.size() >= pool::items_max) return cell::of(fault::limit);
      out.push_back((*this)(n.kids[0]));
      if (!out.back().present()) return out.back();
      return std::nullopt;
    }
    const auto& clause = n.clauses[c];
    const auto source = (*this)(clause.kid);
    if (!source.present()) return source;
    if (clause.locals.empty()) return truth(source, pool_) ? loop(n, c + 1, out) : std::nullopt;
    const auto items = iterate(source, pool_);
    if (!items) return cell::of(source.number() ? fault::type : fault::limit);
    for (const auto& item : *items) {
      if (clause.locals.size() == 1) {
        locals_[clause.locals[0]] = item;
      } else {
        const auto parts = iterate(item, pool_);
        if (!parts) return cell::of(fault::type);
        if (parts->size() != clause.locals.size()) return cell::of(fault::value);
        for (std::size_t i = 0; i < parts->size(); ++i) locals_[clause.locals[i]] = (*parts)[i];
      }
      if (auto wrong = loop(n, c + 1, out)) return wrong;
    }
    return std::nullopt;
  }

  std::span<const expression::node> nodes_;
  std::span<const cell> parameters_;
  std::vector<cell> locals_;
  pool& pool_;
};

} // namespace

/// Gives the names of a syntax tree their meaning.
class resolver {
public:
  resolver(const syntax_tree& tree, const scope& names, pool& literals, expression& out, syntax_error& wrong)
      : tree_(tree), names_(names), pool_(literals), out_(out), wrong_(wrong) {}

  bool run() {
    std::uint32_t root = 0;
    if (!resolve(tree_.root, root)) return false;
    out_.root_ = root;
    out_.locals_ = static_cast<std::uint32_t>(locals_);
    return true;
  }

private:
  using node = expression::node;

  bool fail(std::string message, const syntax_node& n) {
    wrong_ = {std::move(message), n.begin, n.end};
    return false;
  }

  std::uint32_t add(node n, const syntax_node& from) {
    n.begin = from.begin;
    n.end = from.end;
    out_.nodes_.push_back(std::move(n));
    return static_cast<std::uint32_t>(out_.nodes_.size() - 1);
  }

  bool resolve(std::uint32_t number, std::uint32_t& out) {
    const auto& from = tree_.nodes[number];
    node n;
    switch (from.what) {
    case syntax_node::kind::constant:
      n.literal = from.literal;
      out = add(std::move(n), from);
      return true;
    case syntax_node::kind::name:
      return name(from, out);
    case syntax_node::kind::apply:
      n.what = expression_kind::apply;
      n.op = from.op;
      n.kids.resize(from.kids.size());
      for (std::size_t i = 0; i < n.kids.size(); ++i)
        if (!resolve(from.kids[i], n.kids[i])) return false;
      return fold(std::move(n), from, out);
    case syntax_node::kind::comparison:
      return comparison(from, out);
    case syntax_node::kind::comprehension:
      break;
    }
    return comprehension(from, out);
  }

  bool constant(std::uint32_t k) const { return out_.nodes_[k].what == expression_kind::constant; }

  /// Computes what is constant. A failure stays where it is: behind an `or` it may never be reached.
  bool fold(node n, const syntax_node& from, std::uint32_t& out) {
    const bool all = std::ranges::all_of(n.kids, [this](auto k) { return constant(k); });
    out = add(std::move(n), from);
    if (!all) return true;
    pool_.rest();
    const auto c = evaluator(out_.nodes_, {}, locals_, pool_)(out);
    if (c.present()) {
      auto& folded = out_.nodes_[out];
      folded.what = expression_kind::constant;
      folded.literal = c;
      folded.kids.clear();
    } else if (c.failed() && c.why() == fault::limit) {
      return fail("this makes " + std::string(to_string(fault::limit)), from);
    }
    return true;
  }

  bool comparison(const syntax_node& from, std::uint32_t& out) {
    // a < b < c is `a < b and b < c` with b computed once; operators have no effects, so a shared kid is that.
    std::vector<std::uint32_t> kids(from.kids.size());
    for (std::size_t i = 0; i < kids.size(); ++i)
      if (!resolve(from.kids[i], kids[i])) return false;
    node all;
    all.what = expression_kind::apply;
    all.op = operation::logical_and;
    for (std::size_t i = 0; i < from.ops.size(); ++i) {
      node n;
      n.what = expression_kind::apply;
      n.op = from.ops[i];
      n.kids = {kids[i], kids[i + 1]};
      auto part = from;
      part.begin = tree_.nodes[from.kids[i]].begin;
      part.end = tree_.nodes[from.kids[i + 1]].end;
      std::uint32_t k = 0;
      if (!fold(std::move(n), part, k)) return false;
      all.kids.push_back(k);
    }
    return fold(std::move(all), from, out);
  }

  bool comprehension(const syntax_node& from, std::uint32_t& out) {
    node n;
    n.what = expression_kind::gather;
    const auto outer = bound_.size();
    bool open = false; // reads a parameter or a variable of an outer comprehension
    for (const auto& c : from.clauses) {
      node::clause mine;
      if (!resolve(from.kids[c.kid], mine.kid)) return false;
      for (const auto& word : c.names) {
        bound_.emplace_back(word, static_cast<std::uint32_t>(locals_));
        mine.locals.push_back(static_cast<std::uint32_t>(locals_++));
      }
      n.clauses.push_back(std::move(mine));
    }
    n.kids.resize(1);
    if (!resolve(from.kids[0], n.kids[0])) return false;
    const auto first_own = outer < bound_.size() ? bound_[outer].second : static_cast<std::uint32_t>(locals_);
    bound_.resize(outer);
    for (const auto& c : n.clauses) {
      n.kids.push_back(c.kid);
    }
    out = add(std::move(n), from);
    std::vector<std::uint32_t> stack{out};
    while (!stack.empty() && !open) {
      const auto& k = out_.nodes_[stack.back()];
      stack.pop_back();
      open = k.what == expression_kind::parameter || (k.what == expression_kind::local && k.index < first_own);
      stack.insert(stack.end(), k.kids.begin(), k.kids.end());
    }
    if (open) return true;
    pool_.rest();
    const auto c = evaluator(out_.nodes_, {}, locals_, pool_)(out);
    if (c.present()) {
      auto& folded = out_.nodes_[out];
      folded.what = expression_kind::constant;
      folded.literal = c;
      folded.kids.clear();
      folded.clauses.clear();
    } else if (c.failed() && c.why() == fault::limit) {
      return fail("this makes " + std::string(to_string(fault::limit)), from);
    }
    return true;
  }

  bool name(const syntax_node& from, std::uint32_t& out) {
    node n;
    const auto& word = from.text;
    const auto bound = std::find_if(bound_.rbegin(), bound_.rend(), [&](const auto& b) { return b.first == word; });
    const auto parameter = std::ranges::find(names_.parameters, word);
    if (bound != bound_.rend()) {
      n.what = expression_kind::local;
      n.index = bound->second;
    } else if (parameter != names_.parameters.end()) {
      n.what = expression_kind::parameter;
      n.index = static_cast<std::uint32_t>(parameter - names_.parameters.begin());
    } else if (const auto* v = reference(word)) {
      n.literal = to_cell(*v, pool_);
      if (n.literal.failed()) return fail("the value of `" + word + "` is too long", from);
    } else if (word == "true" || word == "false") { // YAML's spelling
      n.literal = cell::of(word == "true");
    } else {
      return unknown(word, from);
    }
    out = add(std::move(n), from);
    return true;
  }

  const value* reference(std::string_view word) const {
    const auto dot = word.find('.');
    if (dot == std::string_view::npos) return nullptr;
    const auto* from = word.substr(0, dot) == "workload" ? names_.workload : names_.target;
    return from ? find(*from, word.substr(dot + 1)) : nullptr;
  }

  bool unknown(const std::string& word, const syntax_node& from) {
    std::vector<std::string> known(names_.parameters.begin(), names_.parameters.end());
    for (const auto& [where, all] : {std::pair("workload.", names_.workload), std::pair("target.", names_.target)})
      if (all)
        for (const auto& [k, v] : *all) known.push_back(where + k);
    std::string hint;
    for (const auto& k : known)
      if (k == "workload." + word || k == "target." + word) hint = "; did you mean `" + k + "`?";
    if (hint.empty())
      if (const auto near = nearest_word(word, known)) hint = "; did you mean `" + *near + "`?";
    if (hint.empty() && !known.empty()) {
      hint = "; known are ";
      for (std::size_t i = 0; i < known.size() && i < 20; ++i) hint += (i ? ", " : "") + known[i];
      if (known.size() > 20) hint += ", …";
    }
    return fail("unknown name `" + word + "`" + hint, from);
  }

  const syntax_tree& tree_;
  const scope& names_;
  pool& pool_;
  expression& out_;
  syntax_error& wrong_;
  std::vector<std::pair<std::string, std::uint32_t>> bound_; ///< loop variables in scope
  std::size_t locals_ = 0;
};

result<expression> expression::read(std::string_view text, const scope& names, pool& literals) {
  syntax_tree tree;
  syntax_error wrong;
  if (!parse(text, literals, tree, wrong)) return error{errc::invalid_spec, with_caret(text, wrong), {}};
  expression out;
  out.text_ = text;
  if (!resolver(tree, names, literals, out, wrong).run()) return error{errc::invalid_spec, with_caret(text, wrong), {}};
  return out;
}

std::vector<std::uint32_t> expression::parameters_of(std::uint32_t number) const {
  std::vector<std::uint32_t> found, stack{number};
  std::vector<bool> seen(nodes_.size());
  while (!stack.empty()) {
    const auto at = stack.back();
    stack.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    const auto& n = nodes_[at];
    if (n.what == expression_kind::parameter) found.push_back(n.index);
    stack.insert(stack.end(), n.kids.begin(), n.kids.end());
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

cell expression::evaluate(std::uint32_t number, std::span<const cell> parameters, pool& p) const {
  p.rest();
  return evaluator(nodes_, parameters, locals_, p)(number);
}

std::string expression::at(std::uint32_t number, std::string message) const {
  return with_caret(text_, {std::move(message), nodes_[number].begin, nodes_[number].end});
}

result<std::vector<value>> read_list(std::string_view text) {
  pool literals;
  auto e = expression::read(text, {}, literals);
  if (!e) return e.err();
  const auto wrong = [&](const std::string& message) {
    return error{errc::invalid_spec, e->at(e->root(), message), {}};
  };
  const auto c = e->evaluate({}, literals);
  if (c.failed()) return wrong("the list cannot be computed: " + std::string(to_string(c.why())));
  if (c.what != cell::kind::list) return wrong("a list is wanted here, not " + search::text(c, literals));
  std::vector<value> out;
  for (const auto& i : literals.items_of(c)) {
    if (i.what == cell::kind::list) return wrong("a value cannot be the list " + search::text(i, literals));
    if (i.what == cell::kind::real && !std::isfinite(i.real())) return wrong("a value cannot be infinite or NaN");
    out.push_back(to_value(i, literals));
  }
  return out;
}

} // namespace attune::search
