#include "search/compiled_space.hpp"
#include "search/enumerated_space.hpp"
#include "search/space.hpp"
#include "tests/search/t1_spaces.hpp"
#include "tests/shared_data.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <thread>
#include <tuple>

using namespace attune;
using namespace attune::search;

namespace {

parameter listed_in_space(std::string name, std::vector<value> values, std::string when = {}) {
  parameter p;
  p.name = std::move(name);
  p.domain = value_list{std::move(values)};
  p.when = std::move(when);
  return p;
}

parameter ranged(std::string name, std::int64_t first, std::int64_t last, std::string when = {}) {
  parameter p;
  p.name = std::move(name);
  p.domain = integer_range{first, last, 1, false};
  p.when = std::move(when);
  return p;
}

constraint rule(std::string text) {
  constraint c;
  c.expression = std::move(text);
  return c;
}

using parameters = std::vector<parameter>;
using constraints = std::vector<constraint>;

space_ptr compiled(const parameters& p, const constraints& c = {}, const arguments& workload = {}) {
  auto s = space::compile(p, c, workload);
  BOOST_REQUIRE_MESSAGE(s.ok(), (s ? "" : s.err().text()));
  return *s;
}

std::string refused_space(const parameters& p, const constraints& c = {}) {
  const auto s = space::compile(p, c);
  return s ? "accepted" : s.err().text();
}

bool contains(const std::string& s, std::string_view part) { return s.find(part) != std::string::npos; }

bool remarked(const space& s, std::string_view part) {
  return std::ranges::any_of(s.remarks(), [&](const auto& r) { return contains(r, part); });
}

std::uint64_t counted(const space& s) { return static_cast<std::uint64_t>(s.count().value_or(0)); }

std::set<std::string> texts(const space& s) {
  std::set<std::string> out;
  s.for_each([&](auto p) { return out.insert(s.to_configuration(p).text()).second; });
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(spaces)

BOOST_AUTO_TEST_CASE(a_division_by_zero_makes_a_configuration_invalid) { // A01
  const auto s =
      compiled({ranged("LS", 0, 11), ranged("WPT", 0, 11)}, {rule("12 % LS == 0"), rule("(12 / LS) % WPT == 0")});
  BOOST_TEST(counted(*s) == 16u);
  BOOST_TEST(remarked(*s, "division by zero"));
}

BOOST_AUTO_TEST_CASE(equality_is_the_same_however_it_is_spelt) { // A02
  const parameters p{listed_in_space("a", {value(1), value(2), value(3)}),
                     listed_in_space("b", {value(2), value(4), value(5)})};
  const std::set<std::string> right{"a=1 b=2", "a=2 b=4"};
  for (const auto* text : {"a*2==b", "b==a*2", "a * 2 == b", "2*a==b", "b == 2 * a", "not a*2 != b", "b - a*2 == 0"})
    BOOST_TEST(texts(*compiled(p, {rule(text)})) == right, text);
  constraint c;
  c.callable = callable_constraint{
      {"b", "a"}, [](std::span<const value> v) { return v[0].as_integer() == 2 * v[1].as_integer(); }, "twice"};
  BOOST_TEST(texts(*compiled(p, {c})) == right);
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_refused_with_its_constraint) { // A03
  const auto message = refused_space({listed_in_space("vec", {value(1), value(2), value(4)})}, {rule("n % vec == 0")});
  BOOST_TEST(contains(message, "constraint 1"));
  BOOST_TEST(contains(message, "`n`"));
  BOOST_TEST(contains(message, "n % vec == 0\n"));
}

BOOST_AUTO_TEST_CASE(a_product_of_a_trillion_is_not_enumerated) { // A04
  parameters p;
  for (int i = 0; i < 12; ++i) p.push_back(ranged("p" + std::to_string(i), 0, 9));
  for (const auto* text : {"p0 % 2 == 0", "p0 + p1 + p2 + p3 + p4 + p5 + p6 + p7 + p8 + p9 + p10 + p11 <= 54",
                           "p11 + p3 - p0 + p1 + p2 + p4 + p10 + p5 + p6 + p7 + p8 - p9 != 0",
                           "(p0 + 1) * (p1 + 1) * (p2 + 1) * (p3 + 1) * (p4 + 1) * (p5 + 1) * (p6 + 1) <= 3000"}) {
    const auto s = compiled(p, {rule(text)});
    BOOST_REQUIRE(s->count().has_value());
    random_engine rng(1);
    for (int i = 0; i < 20; ++i) {
      const auto q = s->sample(rng);
      BOOST_TEST(s->contains(q));
      BOOST_TEST((s->at(*s->index_of(q)) == q));
    }
  }
  BOOST_TEST(counted(*compiled(p, {rule("p0 % 2 == 0")})) == 500'000'000'000u);
}

BOOST_AUTO_TEST_CASE(a_decimal_step_does_not_lose_the_last_value) { // A06
  parameter p;
  p.name = "alpha";
  p.domain = real_range{0.8, 1.0, 0.1};
  BOOST_TEST(texts(*compiled({p})) == (std::set<std::string>{"alpha=0.8", "alpha=0.9", "alpha=1"}));
}

BOOST_AUTO_TEST_CASE(flags_with_blanks_and_quotes_can_be_compared) { // SA09
  const auto s =
      compiled({listed_in_space("flags", {value(""), value("-O3"), value("-O2 -march=native -DNAME=\"a b\"")})},
               {rule("flags != \"-O3\"")});
  BOOST_TEST(counted(*s) == 2u);
}

BOOST_AUTO_TEST_CASE(shared_spaces_have_their_exact_counts) {
  const std::vector<std::pair<std::string, std::uint64_t>> files{{"paper-dedispersion", 11'130},
                                                                 {"paper-hotspot", 349'853},
                                                                 {"paper-gemm", 116'928},
                                                                 {"paper-microhh", 138'600},
                                                                 {"paper-atf_prl_2x2", 1'200},
                                                                 {"paper-atf_prl_4x4", 10'800},
                                                                 {"paper-atf_prl_8x8", 48'720},
                                                                 {"convolution_milo", 4'362},
                                                                 {"T1_input-kernel_tuner", 2'359'296},
                                                                 {"dedispersion_milo", 11'130},
                                                                 {"gemm_milo", 116'928},
                                                                 {"hotspot_milo", 82'984},
                                                                 {"pnpoly", 4'092},
                                                                 {"convolution", 6'768},
                                                                 // As the file stands; see below.
                                                                 {"paper-expdist", 504'000}};
  for (const auto& [name, right] : files) {
    const auto path = testing::shared_data("spaces/" + name + ".json");
    if (!path) continue;
    const auto d = read_t1(*path);
    const auto s = compiled(d.parameters, d.constraints);
    BOOST_TEST(counted(*s) == right, name);
    std::uint64_t listed = 0;
    s->for_each([&](auto) { return ++listed > 0; });
    BOOST_TEST(listed == right, name);
  }
  if (const auto path = testing::shared_data("spaces/paper-expdist.json")) {
    // The paper's 294,000 are with the limit of threads a block, which the file leaves out.
    auto d = read_t1(*path);
    d.constraints.push_back(rule("block_size_x * block_size_y <= 1024"));
    BOOST_TEST(counted(*compiled(d.parameters, d.constraints)) == 294'000u);
  }
}

BOOST_AUTO_TEST_CASE(groups_stand_apart) {
  parameters p;
  constraints c;
  for (int i = 0; i < 30; ++i) p.push_back(ranged("p" + std::to_string(i), 0, 9));
  for (int i = 0; i < 10; ++i) {
    const auto name = [&](int k) { return "p" + std::to_string(i + 10 * k); };
    c.push_back(rule(name(0) + " + " + name(1) + " + " + name(2) + " >= 3"));
  }
  const auto s = compiled(p, c);
  uint128 right = 1;
  for (int i = 0; i < 10; ++i) right *= 1000 - 10; // sums of three digits below 3: 1 + 3 + 6
  BOOST_REQUIRE(s->count().has_value());
  BOOST_TEST(to_string(*s->count()) == to_string(right));
  random_engine rng(3);
  for (int i = 0; i < 200; ++i) {
    const auto at = rng.below128(right);
    const auto q = s->at(at);
    BOOST_REQUIRE(s->contains(q));
    BOOST_REQUIRE(s->index_of(q) == at);
  }
  // The order is that of the points, across groups.
  point last;
  for (uint128 i = right / 3; i < right / 3 + 500; ++i) {
    const auto q = s->at(i);
    BOOST_REQUIRE(last < q);
    last = q;
  }
  BOOST_TEST(s->describe().groups.size() == 10u);
}

BOOST_AUTO_TEST_CASE(implications_between_many_booleans) {
  parameters p;
  constraints chain, all, far;
  for (int i = 0; i < 60; ++i) p.push_back(listed_in_space("b" + std::to_string(i), {value(false), value(true)}));
  for (int i = 0; i + 1 < 60; ++i) chain.push_back(rule("not b" + std::to_string(i) + " or b" + std::to_string(i + 1)));
  for (int i = 0; i < 60; ++i)
    for (int j = i + 1; j < 60; ++j) all.push_back(rule("not b" + std::to_string(i) + " or b" + std::to_string(j)));
  for (int i = 0; i < 30; ++i) far.push_back(rule("not b" + std::to_string(i) + " or b" + std::to_string(i + 30)));
  BOOST_TEST(counted(*compiled(p, chain)) == 61u);
  const auto implied = compiled(p, all);
  BOOST_TEST(counted(*implied) == 61u);
  // A description of as many constraints does not compile the space as many times.
  const auto about = implied->describe();
  BOOST_TEST(about.constraints.size() == 1770u);
  BOOST_TEST(about.constraints[5].cuts.value() == 0.25);
  BOOST_TEST(!about.constraints[5].cuts_last.has_value());
  BOOST_TEST(counted(*compiled(p, far)) == static_cast<std::uint64_t>(std::llround(std::pow(3.0, 30))));
  // One group whose declared order would need 2^30 partial assignments.
  far.push_back(rule("b0 == b1"));
  for (int i = 1; i + 1 < 30; ++i) far.push_back(rule("not b" + std::to_string(i) + " or b" + std::to_string(i + 1)));
  const auto s = compiled(p, far);
  BOOST_REQUIRE(s->count().has_value());
}

BOOST_AUTO_TEST_CASE(conditional_parameters_are_there_only_where_they_mean_something) {
  const auto s = compiled(
      {listed_in_space("fma", {value(true), value(false)}), listed_in_space("pad", {value(0), value(4)}, "fma")});
  BOOST_TEST(texts(*s) == (std::set<std::string>{"fma=true pad=0", "fma=true pad=4", "fma=false"}));
  BOOST_TEST(s->parameters()[1].conditional);
  BOOST_TEST(counted(*s) == 3u);
  BOOST_TEST(!s->contains(point{1, 0}));
  BOOST_TEST(s->contains(point{1, inactive}));
  BOOST_TEST((s->value_at(1, inactive).is_absent()));
  // A move of the condition takes what depends on it along.
  BOOST_TEST((s->neighbours(point{0, 1}, neighbourhood::hamming) == std::vector<point>{{1, inactive}, {0, 0}}));
  BOOST_TEST((s->neighbours(point{1, inactive}, neighbourhood::hamming) == std::vector<point>{{0, 0}}));
  // A constraint on what is absent does not apply.
  const auto t = compiled(
      {listed_in_space("fma", {value(true), value(false)}), listed_in_space("pad", {value(0), value(4)}, "fma")},
      {rule("pad > 2")});
  BOOST_TEST(counted(*t) == 2u);
  // A condition declared before what it reads, and one on top of another.
  const auto u = compiled({ranged("c", 0, 1, "b == 1"), ranged("b", 0, 1, "a == 1"), ranged("a", 0, 1)});
  BOOST_TEST(counted(*u) == 4u);
  BOOST_TEST(contains(refused_space({ranged("a", 0, 1, "b == 1"), ranged("b", 0, 1, "a == 1")}), "ring"));
  BOOST_TEST(contains(refused_space({ranged("a", 0, 1, "a == 1")}), "ring"));
  BOOST_TEST(contains(refused_space({ranged("a", 0, 1, "q == 1")}), "condition of parameter `a`"));
}

BOOST_AUTO_TEST_CASE(permutations_can_be_constrained) {
  parameter order;
  order.name = "order";
  order.domain = permutation_of{{"i", "j", "k"}};
  const auto s = compiled({order, ranged("depth", 0, 2)}, {rule("order[depth] == 'k'"), rule("order.index('i') == 0")});
  BOOST_TEST(texts(*s) == (std::set<std::string>{"order=i,j,k depth=2", "order=i,k,j depth=1"}));
  BOOST_TEST(s->features() == 4u);
}

BOOST_AUTO_TEST_CASE(the_smallest_conflict_is_named) {
  const parameters p{ranged("a", 1, 9), ranged("b", 1, 9), ranged("c", 1, 9)};
  const auto one = refused_space(p, {rule("a > 1"), rule("b > 10"), rule("c > 2")});
  BOOST_TEST(contains(one, "nothing satisfies constraint 2 (`b > 10`)"));
  const auto two = refused_space(p, {rule("a > 5"), rule("a + b < 20"), rule("a + c > 3"), rule("a < 4")});
  BOOST_TEST(contains(two, "these constraints conflict: 1 (`a > 5`), 4 (`a < 4`)"));
  const auto three = refused_space(p, {rule("c != 77"), rule("a < b"), rule("b < c"), rule("c < a")});
  BOOST_TEST(contains(three, "conflict: 2 (`a < b`), 3 (`b < c`), 4 (`c < a`)"));
  BOOST_TEST(contains(refused_space(p, {rule("a > 1"), rule("1 > 2")}), "nothing satisfies constraint 2"));
  BOOST_TEST(contains(refused_space(p, {rule("a / 0 > 1")}), "nothing satisfies constraint 1"));
}

BOOST_AUTO_TEST_CASE(what_a_person_should_know_is_remarked) {
  const auto s =
      compiled({ranged("a", 1, 4), ranged("b", 1, 4), ranged("c", 1, 9)},
               {rule("a * b > 0"), rule("a + b >= 7"), rule("b == 4"), rule("c * 4611686018427387904 > 0 or c > 20")});
  BOOST_TEST(remarked(*s, "constraint 1 (`a * b > 0`) forbids nothing"));
  BOOST_TEST(remarked(*s, "parameter `b` is `4` in every valid configuration"));
  BOOST_TEST(remarked(*s, "parameter `c` is `1` in every valid configuration"));
  BOOST_TEST(remarked(*s, "constraint 4 (`c * 4611686018427387904 > 0 or c > 20`): a number beyond 64 bits"));
  BOOST_TEST(!remarked(*s, "constraint 2"));
  BOOST_TEST(!remarked(*s, "parameter `a`"));
  const auto d = s->describe();
  BOOST_REQUIRE_EQUAL(d.constraints.size(), 4u);
  BOOST_TEST(d.constraints[0].cuts.value() == 0.0);
  BOOST_TEST(d.constraints[1].cuts.value() == 13.0 / 16.0); // (3,4) (4,3) (4,4) are left of 16
  BOOST_TEST(d.constraints[2].cuts.value() == 0.75);
  BOOST_TEST(std::abs(d.constraints[2].cuts_last.value() - 1.0 / 3.0) < 1e-12);
  BOOST_TEST(d.parameters[1].used == 1u);
  BOOST_TEST(d.parameters[0].used == 2u);
  BOOST_TEST((d.constraints[1].parameters == std::vector<std::string>{"a", "b"}));
  BOOST_TEST(d.groups.size() == 2u);
}

BOOST_AUTO_TEST_CASE(declarations_are_checked) {
  BOOST_TEST(contains(refused_space({}), "no parameters"));
  BOOST_TEST(contains(refused_space({ranged("a", 1, 2), ranged("a", 1, 3)}), "`a` is declared twice"));
  BOOST_TEST(contains(refused_space({ranged("a b", 1, 2)}), "no name"));
  BOOST_TEST(contains(refused_space({ranged("", 1, 2)}), "no name"));
  BOOST_TEST(contains(refused_space({listed_in_space("a", {value(1), value(1)})}), "twice"));
  BOOST_TEST(contains(refused_space({listed_in_space("o", {value("x"), value("y")})}, {rule("o > 3")}),
                      "has no meaning for str and int"));
  BOOST_TEST(contains(refused_space({ranged("a", 1, 2)}, {rule("")}), "constraint 1: the expression is empty"));
  constraint c;
  c.callable = callable_constraint{{"nothing"}, [](auto) { return true; }, "f"};
  BOOST_TEST(contains(refused_space({ranged("a", 1, 2)}, {c}), "unknown parameter `nothing`"));
  auto p = ranged("a", 1, 2);
  p.place = {"spec.yaml", 7, 3};
  BOOST_TEST(contains(refused_space({p, p}), "spec.yaml:7"));
}

BOOST_AUTO_TEST_CASE(callables_that_throw_make_invalid) {
  constraint c;
  c.callable = callable_constraint{{"a"},
                                   [](std::span<const value> v) {
                                     if (v[0].as_integer() == 2) throw std::runtime_error("no");
                                     return true;
                                   },
                                   "picky"};
  BOOST_TEST(counted(*compiled({ranged("a", 1, 3)}, {c})) == 2u);
}

BOOST_AUTO_TEST_CASE(configurations_of_other_tools_are_found) {
  const auto s =
      compiled({listed_in_space("tile", {value(8), value(16)}), listed_in_space("opt", {value("-O2"), value("-O3")})});
  const auto read = [&](const arguments& a) { return s->to_point(configuration(a)); };
  BOOST_TEST((*read({{"opt", value("-O3")}, {"tile", value(16.0)}}) == point{1, 1}));
  BOOST_TEST(contains(read({{"opt", value("-O3")}, {"tile", value(7)}}).err().message, "`7` is not a value"));
  BOOST_TEST(contains(read({{"opt", value("-O3")}}).err().message, "`tile` is missing"));
  BOOST_TEST(contains(read({{"tils", value(8)}}).err().message, "did you mean `tile`"));
}

BOOST_AUTO_TEST_CASE(models_get_numbers) {
  parameter exponent;
  exponent.name = "e";
  exponent.domain = power_range{1, 16};
  const auto s = compiled({exponent, listed_in_space("o", {value("x"), value("y"), value("z")}), ranged("n", 3, 5),
                           ranged("k", 7, 7), ranged("d", 5, 6, "n == 3")});
  BOOST_REQUIRE_EQUAL(s->features(), 6u); // a parameter with one value says nothing
  std::vector<float> f(6);
  s->encode(point{3, 1, 2, 0, inactive}, f);
  BOOST_TEST((std::vector<float>(f.begin(), f.begin() + 5) == std::vector<float>{3, 0, 1, 0, 5}));
  BOOST_TEST(std::isnan(f[5]));
  BOOST_TEST(s->distance(point{0, 0, 0, 0, 0}, point{4, 1, 2, 0, inactive}) == 0.8);
  BOOST_TEST(s->distance(point{0, 0, 0, 0, 0}, point{2, 0, 0, 0, 0}) == 0.1);
}

BOOST_AUTO_TEST_CASE(too_large_spaces_say_so_and_still_work) {
  // A dense system over large primes: no two partial assignments have the same continuation.
  parameters p;
  constraints c;
  for (int i = 0; i < 24; ++i) p.push_back(ranged("p" + std::to_string(i), 0, 99));
  random_engine fixed(5);
  for (int k = 0; k < 3; ++k) {
    std::string sum;
    for (int i = 0; i < 24; ++i)
      sum += (i ? " + p" : "p") + std::to_string(i) + " * " + std::to_string(1'000'003 + fixed.below(1'000'000));
    c.push_back(rule("(" + sum + ") % 7 != 3"));
  }
  const auto s = compiled(p, c);
  BOOST_TEST(!s->count().has_value());
  BOOST_TEST(remarked(*s, "too closely to be counted"));
  random_engine rng(1);
  std::set<point> seen;
  for (int i = 0; i < 20; ++i) {
    const auto q = s->sample(rng);
    BOOST_TEST(s->contains(q));
    seen.insert(q);
    const auto n = s->neighbour(q, neighbourhood::hamming, rng);
    BOOST_REQUIRE(n.has_value());
    BOOST_TEST(s->contains(*n));
    BOOST_TEST(s->contains(s->repair(point(24, 5), rng)));
  }
  BOOST_TEST(seen.size() > 15u);
  int visited = 0;
  s->for_each([&](auto q) {
    BOOST_TEST(s->contains(q));
    return ++visited < 10;
  });
  BOOST_TEST(visited == 10);
}

BOOST_AUTO_TEST_CASE(a_free_parameter_may_be_huge) {
  const auto s = compiled({ranged("a", 0, 4'000'000'000), ranged("b", 0, 1)}, {rule("b < 1")});
  BOOST_TEST(counted(*s) == 4'000'000'001u);
  BOOST_TEST((s->at(4'000'000'000u) == point{4'000'000'000u, 0}));
  BOOST_TEST(contains(refused_space({ranged("a", 0, std::int64_t{1} << 40)}), "larger step"));
  const auto constrained = compiled({ranged("a", 0, 4'000'000'000)}, {rule("a % 3 == 0")});
  random_engine rng(1);
  BOOST_TEST(constrained->contains(constrained->sample(rng)));
}

BOOST_AUTO_TEST_CASE(samples_are_uniform) {
  // Pearson's statistic against the normal approximation of its distribution, at five standard deviations.
  const auto check = [](const space& s, std::uint64_t seed) {
    const auto n = counted(s);
    const std::uint64_t draws = n * 40;
    std::vector<std::uint64_t> seen(n);
    random_engine rng(seed);
    for (std::uint64_t i = 0; i < draws; ++i) ++seen[static_cast<std::size_t>(*s.index_of(s.sample(rng)))];
    double chi = 0;
    for (const auto k : seen) chi += (static_cast<double>(k) - 40) * (static_cast<double>(k) - 40) / 40;
    const double freedom = static_cast<double>(n - 1);
    BOOST_TEST(std::abs(chi - freedom) < 5 * std::sqrt(2 * freedom), chi << " for " << freedom);
  };
  check(*compiled({ranged("a", 1, 12), ranged("b", 1, 12), ranged("c", 1, 12)},
                  {rule("a % b == 0"), rule("b % c == 0 or a > 9")}),
        11);
  check(*compiled({listed_in_space("f", {value(true), value(false)}), ranged("x", 1, 30, "f"), ranged("y", 1, 9)},
                  {rule("x * y < 100")}),
        12);
  if (const auto path = testing::shared_data("spaces/convolution_milo.json")) {
    const auto d = read_t1(*path);
    check(*compiled(d.parameters, d.constraints), 13);
  } else {
    check(*compiled({ranged("a", 1, 50), ranged("b", 1, 50)}, {rule("a * b <= 600")}), 13);
  }
}

BOOST_AUTO_TEST_CASE(neighbours_within_a_distance_are_drawn_uniformly) {
  const auto check = [](const space& s, const point& p, std::size_t k, std::uint64_t seed) {
    const auto all = s.neighbours_within(p, k, 1'000'000);
    BOOST_REQUIRE(all.size() > 10u);
    const std::uint64_t each = 60;
    std::map<point, std::uint64_t> seen;
    random_engine rng(seed);
    for (std::uint64_t i = 0; i < each * all.size(); ++i) ++seen[*s.neighbour_within(p, k, rng)];
    double chi = 0;
    for (const auto& q : all) {
      const auto off = static_cast<double>(seen[q]) - static_cast<double>(each);
      chi += off * off / static_cast<double>(each);
    }
    const double freedom = static_cast<double>(all.size() - 1);
    BOOST_TEST(std::abs(chi - freedom) < 5 * std::sqrt(2 * freedom), chi << " for " << freedom);
    BOOST_TEST(seen.size() == all.size());
  };
  const parameters numbers{ranged("a", 1, 6), ranged("b", 1, 6), ranged("c", 1, 6), ranged("d", 1, 4)};
  const constraints rules{rule("a % b == 0 or b % a == 0"), rule("b + c != 7")};
  // A group, and a parameter beside it.
  const auto s = compiled(numbers, rules);
  check(*s, s->at(17), 2, 1);
  check(*s, s->at(17), 4, 2);
  // What follows a condition is not counted: from where `pad` is absent each of its values is as near.
  const auto t =
      compiled({listed_in_space("fma", {value(true), value(false)}), ranged("pad", 0, 9, "fma"), ranged("x", 1, 5)},
               {rule("pad != x")});
  check(*t, point{1, inactive, 2}, 1, 3);
  BOOST_TEST(t->neighbours_within(point{1, inactive, 2}, 1, 1000).size() == 9u + 4u);
  // A space that is searched: what is near is found whole here.
  auto parts = compile_parts(numbers, rules, {}, {}, {0, 0, 0});
  BOOST_REQUIRE(parts.ok());
  const compiled_space searched(std::move(*parts));
  BOOST_REQUIRE(!searched.count());
  check(searched, s->at(17), 2, 4);
  // One without structure.
  std::vector<enumerated_space::axis> axes(2);
  std::vector<point> points;
  for (std::uint32_t i = 0; i < 6; ++i) {
    for (auto& a : axes) a.values.push_back(value(static_cast<std::int64_t>(i)));
    for (std::uint32_t k = 0; k < 6; ++k)
      if ((i + k) % 5 != 0) points.push_back({i, k});
  }
  axes[0].name = "i";
  axes[1].name = "k";
  const auto listed_space = enumerated_space::make(axes, points);
  BOOST_REQUIRE(listed_space.ok());
  check(**listed_space, point{0, 1}, 2, 5);
  BOOST_TEST((*listed_space)->neighbours_within(point{0, 1}, 1, 100).size() ==
             (*listed_space)->neighbours(point{0, 1}, neighbourhood::hamming).size());
}

BOOST_AUTO_TEST_CASE(callables_are_asked_as_soon_as_what_they_read_is_decided) {
  // Five hundred calls at most (once for each pair), where the whole product would be fifty million.
  std::uint64_t calls = 0;
  constraint c;
  c.callable = callable_constraint{{"b", "a"},
                                   [&calls](std::span<const value> v) {
                                     ++calls;
                                     return v[0].as_integer() > v[1].as_integer();
                                   },
                                   "larger"};
  parameters p{ranged("a", 1, 20), ranged("b", 1, 20)};
  for (int i = 0; i < 5; ++i) p.push_back(ranged("p" + std::to_string(i), 1, 10));
  const auto s = compiled(p, {c, rule("a + p0 + p1 + p2 + p3 + p4 > 9")});
  BOOST_TEST(s->count().has_value());
  BOOST_TEST(calls <= 2u * 400u, calls);
  BOOST_TEST(calls >= 400u);
}

BOOST_AUTO_TEST_CASE(no_value_crashes_a_constraint) {
  const parameters p{listed_in_space("n", {value(std::int64_t{0}), value(std::int64_t{-1}), value(std::int64_t{64}),
                                           value(std::numeric_limits<std::int64_t>::min()),
                                           value(std::numeric_limits<std::int64_t>::max()), value(-0.5), value(1e308)}),
                     listed_in_space("m", {value(std::int64_t{0}), value(std::int64_t{-1}), value(std::int64_t{3}),
                                           value(std::numeric_limits<std::int64_t>::min()), value(2.5)})};
  // Each with whether anything is left that is valid: none of them ends the program.
  for (const auto& [text, some] :
       std::vector<std::pair<std::string, bool>>{{"n / m > 0", true},
                                                 {"n // m != 7", true},
                                                 {"n % m >= 0", true},
                                                 {"n % (m - m) == 0", false},
                                                 {"1 << n > 0", true},
                                                 {"n >> m == 0", true},
                                                 {"1 << (-1 - abs(m) * 0) >= 0", false},
                                                 {"n ** m != 1", true},
                                                 {"m ** n >= 0", true},
                                                 {"(-8) ** 0.5 == 0", false},
                                                 {"10 ** 400 > n", false},
                                                 {"2.0 ** 5000 > n", false},
                                                 {"1e308 * 10 - 1e308 * 10 == n", false}, // NaN equals nothing
                                                 {"not (1e308 * 10 - 1e308 * 10 == n)", true},
                                                 {"-n < m", true},
                                                 {"abs(n) >= 0", true},
                                                 {"n // -1 == -n or n * 1.0 != n", true},
                                                 {"n * m * n * m * n * m <= 0", true},
                                                 {"round(n, 400) == n", true},
                                                 {"int(1e308 * 10) == n", false},
                                                 {"~n | m & n ^ n", true},
                                                 {"float(n) in [0.0, 1e308]", true}}) {
    const auto s = space::compile(p, constraints{rule(text)});
    const bool found = s.ok() && (*s)->count().value_or(1) > 0;
    BOOST_TEST(found == some, text << (s ? "" : ": " + s.err().text()));
    if (!s) BOOST_TEST(!s.err().message.empty());
  }
}

namespace {

/// narrow_order() by its definition: next the parameter that leaves the fewest of those placed in a part with one that
/// is not; of equal ones the one with the fewest parts begun and not done, then the first.
std::vector<std::uint32_t> narrow_by_definition(const constraint_graph& graph, std::uint32_t parameters) {
  std::vector<std::uint32_t> order;
  std::set<std::uint32_t> placed;
  while (order.size() < parameters) {
    std::optional<std::tuple<std::size_t, std::size_t, std::uint32_t>> best;
    for (std::uint32_t next = 0; next < parameters; ++next) {
      if (placed.contains(next)) continue;
      auto with = placed;
      with.insert(next);
      std::set<std::uint32_t> matter;
      std::size_t open = 0;
      for (const auto& part : graph.parts()) {
        std::set<std::uint32_t> in;
        for (const auto p : part.scope)
          if (with.contains(p)) in.insert(p);
        if (in.empty() || in.size() == part.scope.size()) continue;
        ++open;
        matter.insert(in.begin(), in.end());
      }
      const std::tuple width(matter.size(), open, next);
      if (!best || width < *best) best = width;
    }
    order.push_back(std::get<2>(*best));
    placed.insert(order.back());
  }
  return order;
}

} // namespace

BOOST_AUTO_TEST_CASE(parameters_are_ordered_so_that_few_matter_at_a_time) {
  random_engine rng(8);
  for (int round = 0; round < 60; ++round) {
    const auto n = static_cast<std::uint32_t>(2 + rng.below(9));
    parameters p;
    std::vector<std::uint32_t> members(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      p.push_back(ranged("p" + std::to_string(i), 0, 1));
      members[i] = i;
    }
    constraints c;
    for (auto k = rng.below(12); k > 0; --k) {
      std::string sum = "p" + std::to_string(rng.below(n));
      for (auto terms = rng.below(4); terms > 0; --terms) sum += " + p" + std::to_string(rng.below(n));
      c.push_back(rule(sum + " < 9"));
    }
    const auto made = compile_parts(p, c, {}, {});
    BOOST_REQUIRE(made.ok());
    const auto& graph = *(*made)->graph;
    std::vector<std::uint32_t> parts(graph.parts().size());
    for (std::uint32_t k = 0; k < parts.size(); ++k) parts[k] = k;
    BOOST_TEST((narrow_order(graph, parts, members) == narrow_by_definition(graph, n)));
  }
}

BOOST_AUTO_TEST_CASE(threads_share_a_space_without_locks) {
  const parameters p{ranged("a", 1, 20), ranged("b", 1, 20, "a > 3"), ranged("c", 1, 20)};
  constraint asked;
  asked.callable =
      callable_constraint{{"c"}, [](std::span<const value> v) { return v[0].as_integer() != 7; }, "not seven"};
  const constraints c{rule("a * b % 3 == 0 or c in [x for x in range(20) if x > b]"), asked};
  std::vector<std::shared_ptr<const space>> both{compiled(p, c)};
  auto parts = compile_parts(p, c, {}, {}, {0, 0, 0});
  BOOST_REQUIRE(parts.ok());
  both.push_back(std::make_shared<compiled_space>(std::move(*parts)));
  for (const auto& s : both) {
    const auto ask = [&s] {
      random_engine rng(5);
      std::vector<point> out;
      for (int i = 0; i < 60; ++i) {
        out.push_back(s->sample(rng));
        out.push_back(s->neighbour(out.back(), neighbourhood::adjacent, rng).value_or(point{}));
        out.push_back(s->neighbour_within(out.front(), 1, rng).value_or(point{}));
        out.push_back(s->repair(point{30, 30, 30}, rng));
        if (!s->contains(out.back())) out.clear();
      }
      s->for_each([&](auto q) { return out.emplace_back(q.begin(), q.end()), out.size() < 500; });
      return out;
    };
    const auto right = ask();
    std::vector<std::vector<point>> seen(4);
    {
      std::vector<std::jthread> threads;
      for (auto& mine : seen) threads.emplace_back([&] { mine = ask(); });
    }
    for (const auto& mine : seen) BOOST_TEST((mine == right));
    BOOST_TEST(right.size() == 500u);
  }
}

BOOST_AUTO_TEST_CASE(references_are_read) {
  const auto s = compiled({listed_in_space("tile", {value(8), value(16), value(32)})}, {rule("workload.m % tile == 0")},
                          {{"m", value(48)}});
  BOOST_TEST(counted(*s) == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
