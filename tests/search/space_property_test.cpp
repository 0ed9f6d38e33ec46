// Random specs against a naive evaluation of the whole product: the tree of each constraint is walked for every
// combination (search/expression.hpp, which tests of its own hold against Python), nothing is shared, nothing looked
// ahead.
#include "core/hash.hpp"
#include "search/compiled_space.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

using namespace attune;
using namespace attune::search;

namespace {

struct declared {
  std::vector<parameter> parameters;
  std::vector<constraint> constraints;
};

class generator {
public:
  explicit generator(std::uint64_t seed) : rng_(seed) {}

  declared make() {
    out_ = {};
    numbers_.clear();
    texts_.clear();
    orders_.clear();
    const auto n = 1 + rng_.below(6);
    std::uint64_t product = 1;
    for (std::uint64_t i = 0; i < n && product < 4'000; ++i) product *= add_parameter(i);
    const auto rules = rng_.below(5);
    for (std::uint64_t i = 0; i < rules; ++i) {
      constraint c;
      if (rng_.below(8) == 0) {
        c.callable = callable();
      } else {
        c.expression = condition(3);
      }
      out_.constraints.push_back(std::move(c));
    }
    return out_;
  }

private:
  std::string pick(std::initializer_list<const char*> words) { return words.begin()[rng_.below(words.size())]; }

  std::uint64_t add_parameter(std::uint64_t i) {
    parameter p;
    p.name = "p" + std::to_string(i);
    std::uint64_t size = 0;
    // Conditions come first: they read what is declared already, or what comes later.
    const bool conditional = rng_.below(4) == 0 && !numbers_.empty();
    if (conditional) p.when = condition(1);
    switch (rng_.below(9)) {
    case 0: {
      const auto first = static_cast<std::int64_t>(rng_.below(7)) - 3;
      size = 1 + rng_.below(6);
      p.domain = integer_range{first, first + static_cast<std::int64_t>(size) - 1, 1, false};
      break;
    }
    case 1:
      size = 3;
      p.domain = real_range{0.5, 1.5, 0.5};
      break;
    case 2:
      size = 4;
      p.domain = power_range{1, 8};
      break;
    case 3:
      size = 3;
      p.domain = value_list{{value("a"), value("ab"), value("-O3")}};
      texts_.push_back(p.name);
      break;
    case 4:
      size = 2;
      p.domain = value_list{{value(true), value(false)}};
      break;
    case 5:
      size = 6;
      p.domain = permutation_of{{"i", "j", "k"}};
      orders_.push_back(p.name);
      break;
    case 6:
      size = 4;
      p.domain = value_list{{value(7), value(-2), value(0), value(2.5)}};
      break;
    case 7:
      size = 5;
      p.domain = value_expression{"[2**i for i in range(3)] + [0, 3]"};
      break;
    default:
      size = 3;
      p.domain = value_list{{value(std::int64_t{1} << 62), value(3), value(-1)}};
    }
    const auto form = p.domain.index();
    const bool number =
        !std::holds_alternative<permutation_of>(p.domain) && (texts_.empty() || texts_.back() != p.name);
    if (number) numbers_.push_back(p.name);
    (void)form;
    out_.parameters.push_back(std::move(p));
    return size;
  }

  callable_constraint callable() {
    callable_constraint c;
    c.name = "callable";
    for (const auto& p : out_.parameters)
      if (rng_.below(2) == 0) c.over.push_back(p.name);
    if (c.over.empty()) c.over.push_back(out_.parameters[0].name);
    const auto salt = rng_.below(1000);
    c.accept = [salt](std::span<const value> v) {
      std::string s;
      for (const auto& x : v) encode(x, s);
      return hash64(s, salt) % 3 != 0;
    };
    return c;
  }

  std::string number(int depth) {
    if (depth <= 0 || rng_.below(5) == 0)
      return numbers_.empty() || rng_.below(3) == 0
                 ? pick({"0", "1", "2", "3", "-1", "2.5", "8", "4611686018427387904"})
                 : numbers_[rng_.below(numbers_.size())];
    switch (rng_.below(9)) {
    case 0:
      return "min(" + number(depth - 1) + ", " + number(depth - 1) + ")";
    case 1:
      return "(" + number(depth - 1) + " if " + condition(depth - 1) + " else " + number(depth - 1) + ")";
    case 2:
      return "abs(" + number(depth - 1) + ")";
    case 3:
      return "-" + number(depth - 1);
    case 4:
      return "(" + number(depth - 1) + " " + pick({"or", "and"}) + " " + number(depth - 1) + ")";
    default:
      return "(" + number(depth - 1) + " " + pick({"+", "-", "*", "*", "/", "//", "%", "+", "**"}) + " " +
             number(depth - 1) + ")";
    }
  }

  std::string condition(int depth) {
    if (!texts_.empty() && rng_.below(6) == 0) {
      const auto& t = texts_[rng_.below(texts_.size())];
      return pick({"(", "not ("}) + t +
             pick({" == 'a'", " != \"-O3\"", " in ['a', 'ab']", " < 'ab'", ".startswith('a')"}) + ")";
    }
    if (!orders_.empty() && rng_.below(6) == 0) {
      const auto& o = orders_[rng_.below(orders_.size())];
      return pick({"(", "not ("}) + o + pick({"[0] == 'i'", ".index('j') < 2", "[-1] in ['k']"}) + ")";
    }
    switch (rng_.below(depth > 0 ? 8 : 3)) {
    case 0:
    case 1:
    case 2:
      return number(depth) + pick({" < ", " <= ", " == ", " != ", " >= ", " > "}) + number(depth);
    case 3:
      return number(depth - 1) + " % " + number(depth - 1) + " == 0";
    case 4:
      return "(" + condition(depth - 1) + pick({" or ", " and ", " and "}) + condition(depth - 1) + ")";
    case 5:
      return "not (" + condition(depth - 1) + ")";
    case 6:
      return number(depth - 1) + " <= " + number(depth - 1) + " < " + number(depth - 1);
    default:
      return number(depth - 1) + pick({" in ", " not in "}) + "[1, 2, " + number(depth - 1) + "]";
    }
  }

  random_engine rng_;
  declared out_;
  std::vector<std::string> numbers_, texts_, orders_;
};

/// The valid points by trying every combination; none where the spec is refused.
class naive {
public:
  explicit naive(const declared& d) : d_(d) {
    for (const auto& p : d.parameters) {
      names_.push_back(p.name);
      domains_.push_back(*domain::make(p));
    }
    const scope names{names_, nullptr, nullptr};
    for (const auto& p : d.parameters)
      whens_.push_back(p.when.empty() ? std::nullopt : std::optional(*expression::read(p.when, names, literals_)));
    for (const auto& c : d.constraints)
      rules_.push_back(c.callable ? std::nullopt : std::optional(*expression::read(c.expression, names, literals_)));
  }

  std::set<point> valid() {
    std::set<point> out;
    point p(names_.size(), 0);
    while (true) {
      if (holds(p)) out.insert(p);
      std::size_t i = p.size();
      while (i-- > 0) {
        const bool conditional = whens_[i].has_value();
        if (p[i] == inactive) {
          p[i] = 0;
          continue;
        }
        if (++p[i] < domains_[i].size()) break;
        if (conditional) {
          p[i] = inactive;
          break;
        }
        p[i] = 0;
      }
      if (i == ~std::size_t{0}) return out;
    }
  }

  bool holds(const point& p) {
    std::vector<cell> cells;
    std::vector<value> values;
    for (std::size_t i = 0; i < p.size(); ++i) {
      values.push_back(p[i] == inactive ? value() : domains_[i].at(p[i]));
      cells.push_back(to_cell(values.back(), literals_));
    }
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (!whens_[i]) continue;
      const auto c = whens_[i]->evaluate(cells, literals_);
      if (c.failed() || (c.present() && truth(c, literals_)) != (p[i] != inactive)) return false;
    }
    for (std::size_t k = 0; k < rules_.size(); ++k) {
      if (!rules_[k]) {
        std::vector<value> over;
        for (const auto& name : d_.constraints[k].callable->over)
          over.push_back(values[static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin())]);
        if (std::ranges::any_of(over, &value::is_absent)) continue;
        if (!d_.constraints[k].callable->accept(over)) return false;
      } else if (!part_holds(*rules_[k], rules_[k]->root(), false, cells)) {
        return false;
      }
    }
    return true;
  }

private:
  /// The operands of an `and` at the top count as constraints of their own (and those of an `or` under `not`).
  bool part_holds(const expression& e, std::uint32_t node, bool negated, std::span<const cell> cells) {
    const auto& n = e.nodes()[node];
    if (n.what == expression::node::kind::apply && n.op == operation::logical_not)
      return part_holds(e, n.kids[0], !negated, cells);
    if (n.what == expression::node::kind::apply && n.op == (negated ? operation::logical_or : operation::logical_and))
      return std::ranges::all_of(n.kids, [&](auto k) { return part_holds(e, k, negated, cells); });
    const auto c = e.evaluate(node, cells, literals_);
    return c.absent() || (c.present() && truth(c, literals_) != negated);
  }

  const declared& d_;
  std::vector<std::string> names_;
  std::vector<domain> domains_;
  pool literals_;
  std::vector<std::optional<expression>> whens_, rules_;
};

std::string text_of(const declared& d) {
  std::string out;
  for (const auto& p : d.parameters)
    out += p.name + " form " + std::to_string(p.domain.index()) + (p.when.empty() ? "" : " when " + p.when) + "\n";
  for (const auto& c : d.constraints) out += "  " + (c.callable ? "callable" : c.expression) + "\n";
  return out;
}

std::set<point> all_of(const space& s) {
  std::set<point> out;
  s.for_each([&](std::span<const std::uint32_t> p) { return out.emplace(p.begin(), p.end()).second; });
  return out;
}

std::uint64_t seed_of_run() {
  const char* given = std::getenv("ATTUNE_TEST_SEED");
  return given ? std::strtoull(given, nullptr, 10) : 20261129;
}

std::shared_ptr<const space> compile(const declared& d, const build_limits& limits, std::string& message) {
  auto parts = compile_parts(d.parameters, d.constraints, {}, {}, limits);
  if (!parts) {
    message = parts.err().text();
    return nullptr;
  }
  return std::make_shared<compiled_space>(std::move(*parts));
}

/// Neighbours by definition, for spaces without conditions.
std::set<point> neighbours_of(const space& s, const std::set<point>& valid, const point& p, neighbourhood kind,
                              const std::vector<domain>& domains) {
  std::set<point> out;
  for (std::size_t i = 0; i < p.size(); ++i) {
    auto q = p;
    const auto info = s.parameters()[i];
    if (kind == neighbourhood::hamming || !info.ordinal) {
      for (q[i] = 0; q[i] < info.size; ++q[i])
        if (q[i] != p[i] && valid.contains(q)) out.insert(q);
      continue;
    }
    for (const int way : {-1, 1})
      for (auto r = std::int64_t{domains[i].rank(p[i])} + way; r >= 0 && r < info.size; r += way) {
        q[i] = domains[i].at_rank(static_cast<std::uint32_t>(r));
        if (!valid.contains(q)) continue;
        out.insert(q);
        break;
      }
  }
  return out;
}

/// The distance of space::neighbours_within(), by its definition.
std::size_t distance_of(const point& a, const point& b) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && a[i] != inactive && b[i] != inactive) ++n;
  return n;
}

void check_within(const space& s, const std::set<point>& valid, const point& p, random_engine& rng) {
  for (const auto k : {std::size_t{0}, std::size_t{1}, std::size_t{2}, p.size(), ~std::size_t{0}}) {
    std::set<point> right;
    for (const auto& q : valid)
      if (const auto d = distance_of(p, q); d > 0 && d <= k) right.insert(q);
    const auto listed = s.neighbours_within(p, k, ~std::size_t{0});
    BOOST_REQUIRE_EQUAL(listed.size(), right.size());
    BOOST_REQUIRE(std::set<point>(listed.begin(), listed.end()) == right);
    const auto few = s.neighbours_within(p, k, 3);
    BOOST_REQUIRE_EQUAL(few.size(), std::min<std::size_t>(right.size(), 3));
    BOOST_REQUIRE(std::equal(few.begin(), few.end(), listed.begin()));
    for (int i = 0; i < 3; ++i) {
      const auto one = s.neighbour_within(p, k, rng);
      BOOST_REQUIRE_EQUAL(one.has_value(), !right.empty());
      if (one) BOOST_REQUIRE(right.contains(*one));
    }
  }
}

void check_queries(const space& s, const std::set<point>& valid, const declared& d, random_engine& rng) {
  std::vector<domain> domains;
  bool conditional = false;
  for (const auto& p : d.parameters) {
    domains.push_back(*domain::make(p));
    conditional = conditional || !p.when.empty();
  }
  for (int i = 0; i < 8; ++i) {
    const auto p = s.sample(rng);
    BOOST_REQUIRE(valid.contains(p));
    BOOST_REQUIRE(s.contains(p));
    for (const auto kind : {neighbourhood::adjacent, neighbourhood::hamming}) {
      const auto listed = s.neighbours(p, kind);
      const std::set<point> all(listed.begin(), listed.end());
      BOOST_REQUIRE_EQUAL(all.size(), listed.size());
      BOOST_REQUIRE(!all.contains(p));
      for (const auto& q : all) BOOST_REQUIRE(valid.contains(q));
      if (!conditional) BOOST_REQUIRE(all == neighbours_of(s, valid, p, kind, domains));
      const auto one = s.neighbour(p, kind, rng);
      BOOST_REQUIRE_EQUAL(one.has_value(), !all.empty());
      if (one) BOOST_REQUIRE(valid.contains(*one) && (conditional || all.contains(*one)));
    }
    // Any point at all, invalid labels among them.
    point any(p.size());
    for (std::size_t k = 0; k < any.size(); ++k) {
      any[k] = static_cast<std::uint32_t>(rng.below(domains[k].size() + 2));
      if (any[k] == domains[k].size()) any[k] = inactive;
    }
    BOOST_REQUIRE_EQUAL(s.contains(any), valid.contains(any));
    if (i < 2) {
      check_within(s, valid, p, rng);
      check_within(s, valid, any, rng);
    }
    BOOST_REQUIRE(valid.contains(s.repair(any, rng)));
    BOOST_REQUIRE(s.repair(p, rng) == p);
    const auto back = s.to_point(s.to_configuration(p));
    BOOST_REQUIRE(back.ok());
    BOOST_REQUIRE(*back == p);
    std::vector<float> features(s.features());
    s.encode(p, features);
    BOOST_REQUIRE(s.distance(p, p) == 0 && s.distance(p, s.sample(rng)) <= 1);
  }
  BOOST_REQUIRE(valid.contains(s.standard()));
}

void run(std::uint64_t cases, const build_limits& limits, bool counted) {
  const auto seed = seed_of_run();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::uint64_t nonempty = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    const auto d = generator(seed + i).make();
    BOOST_TEST_INFO_SCOPE("case seed " << seed + i << "\n" << text_of(d));
    std::string message;
    const auto s = compile(d, limits, message);
    if (message.find("no configuration is valid") == std::string::npos && !s) {
      // A spec that is refused: types that never fit, or a ring of conditions (there is none here).
      BOOST_REQUIRE_MESSAGE(message.find("has no meaning for") != std::string::npos, message);
      continue;
    }
    const auto valid = naive(d).valid();
    BOOST_REQUIRE_MESSAGE((s != nullptr) == !valid.empty(), message);
    if (!s) continue;
    ++nonempty;
    BOOST_REQUIRE(all_of(*s) == valid);
    random_engine rng(seed + i);
    check_queries(*s, valid, d, rng);
    if (!counted) continue;
    BOOST_REQUIRE(s->count().has_value());
    BOOST_REQUIRE(*s->count() == valid.size());
    uint128 k = 0;
    for (const auto& p : valid) { // std::set has them in lexicographic order
      BOOST_REQUIRE(s->at(k) == p);
      BOOST_REQUIRE(s->index_of(p) == k);
      ++k;
    }
  }
  BOOST_TEST_MESSAGE(nonempty << " of " << cases << " specs have valid configurations");
  BOOST_TEST(nonempty > cases / 4);
}

} // namespace

BOOST_AUTO_TEST_SUITE(space_properties)

BOOST_AUTO_TEST_CASE(random_specs_agree_with_the_whole_product) { run(2'000, {}, true); }

BOOST_AUTO_TEST_CASE(spaces_that_are_searched_agree_too) { run(400, {0, 60'000'000, 1'500'000'000}, false); }

BOOST_AUTO_TEST_SUITE_END()
