#include "search/domain.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>

using namespace attune;
using namespace attune::search;

namespace {

result<domain> made(parameter_domain d) {
  parameter p;
  p.name = "x";
  p.domain = std::move(d);
  return domain::make(p);
}

std::vector<std::string> texts(parameter_domain form) {
  const auto d = made(std::move(form));
  BOOST_REQUIRE_MESSAGE(d.ok(), (d ? "" : d.err().text()));
  std::vector<std::string> out;
  for (std::uint32_t i = 0; i < d->size(); ++i) {
    out.push_back(d->at(i).text());
    BOOST_REQUIRE(d->find(d->at(i)) == i);
  }
  return out;
}

using list = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_SUITE(domains)

BOOST_AUTO_TEST_CASE(real_steps_are_decimal) {
  BOOST_TEST(texts(real_range{0.8, 1.0, 0.1}) == (list{"0.8", "0.9", "1"}));
  BOOST_TEST(texts(real_range{0, 0.3, 0.1}) == (list{"0", "0.1", "0.2", "0.3"}));
  BOOST_TEST(texts(real_range{-0.5, 0.5, 0.25}) == (list{"-0.5", "-0.25", "0", "0.25", "0.5"}));
  BOOST_TEST(texts(real_range{1, 0, -0.5}) == (list{"1", "0.5", "0"}));
  BOOST_TEST(texts(real_range{1e-7, 3e-7, 1e-7}).size() == 3u);
  BOOST_TEST(texts(real_range{0.1, 0.35, 0.1}) == (list{"0.1", "0.2", "0.3"}));
  const auto thousand = made(real_range{0, 100, 0.1});
  BOOST_REQUIRE(thousand.ok());
  BOOST_TEST(thousand->size() == 1001u);
  BOOST_TEST(thousand->at(1000).text() == "100");
  BOOST_TEST(thousand->at(3).text() == "0.3");
  BOOST_TEST(texts(real_range{1e-30, 3e-30, 1e-30}).size() == 3u); // no common decimal of 18 places
}

BOOST_AUTO_TEST_CASE(ranges_have_both_ends) {
  BOOST_TEST(texts(integer_range{1, 4, 1, false}) == (list{"1", "2", "3", "4"}));
  BOOST_TEST(texts(integer_range{1, 8, 3, false}) == (list{"1", "4", "7"}));
  BOOST_TEST(texts(power_range{1, 16}) == (list{"1", "2", "4", "8", "16"}));
  BOOST_TEST(texts(power_range{3, 9}) == (list{"4", "8"}));
  BOOST_TEST(texts(real_grid{1, 100, 3, true}) == (list{"1", "10.000000000000002", "100"}));
  BOOST_TEST(texts(real_grid{0, 1, 3, false}) == (list{"0", "0.5", "1"}));
  BOOST_TEST(texts(value_expression{"[2**i for i in range(3)] + ['a']"}) == (list{"1", "2", "4", "a"}));
}

BOOST_AUTO_TEST_CASE(permutations_are_all_orders) {
  BOOST_TEST(texts(permutation_of{{"i", "j", "k"}}) == (list{"i,j,k", "i,k,j", "j,i,k", "j,k,i", "k,i,j", "k,j,i"}));
  const auto d = made(permutation_of{{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}});
  BOOST_REQUIRE(d.ok());
  BOOST_TEST(d->size() == 479'001'600u);
  BOOST_TEST(d->at(479'001'599).text() == "l,k,j,i,h,g,f,e,d,c,b,a");
  BOOST_TEST(d->find(value("l,k,j,i,h,g,f,e,d,c,b,a")).value() == 479'001'599u);
  BOOST_TEST(!d->find(value("a,a,c,d,e,f,g,h,i,j,k,l")).has_value());
}

BOOST_AUTO_TEST_CASE(refuses_what_cannot_be) {
  constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(!made(value_list{}).ok());
  BOOST_TEST(!made(value_list{{value(1), value(1)}}).ok());
  BOOST_TEST(!made(value_list{{value(1), value(1.0)}}).ok());
  BOOST_TEST(made(value_list{{value(1), value("1"), value(true)}}).ok());
  BOOST_TEST(!made(value_list{{value(1), value()}}).ok());
  BOOST_TEST(!made(value_list{{value(nan)}}).ok());
  BOOST_TEST(!made(integer_range{4, 1, 1, false}).ok());
  BOOST_TEST(!made(integer_range{1, 4, 0, false}).ok());
  BOOST_TEST(
      !made(integer_range{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), 1, false})
           .ok());
  BOOST_TEST(!made(integer_range{0, 8, 1, true}).ok());
  BOOST_TEST(!made(real_range{0, 1, 0}).ok());
  BOOST_TEST(!made(real_range{0, nan, 1}).ok());
  BOOST_TEST(!made(real_range{0, 1e300, 1e-300}).ok());
  BOOST_TEST(!made(real_grid{0, 1, 3, true}).ok());
  BOOST_TEST(!made(real_grid{0, 1, 0, false}).ok());
  BOOST_TEST(!made(power_range{0, 8}).ok());
  BOOST_TEST(!made(power_range{5, 7}).ok());
  BOOST_TEST(!made(permutation_of{}).ok());
  BOOST_TEST(!made(permutation_of{{"a", "a"}}).ok());
  BOOST_TEST(!made(value_expression{"[]"}).ok());
  BOOST_TEST(!made(value_expression{"[1, 2"}).ok());
}

BOOST_AUTO_TEST_CASE(numbers_are_found_by_value) {
  const auto d = *made(value_list{{value(64), value(2.5), value("64"), value(false)}});
  BOOST_TEST(d.find(value(64.0)).value() == 0u);
  BOOST_TEST(d.find(value("64")).value() == 2u);
  BOOST_TEST(d.find(value(false)).value() == 3u);
  BOOST_TEST(!d.find(value(0)).has_value());
  const auto r = *made(integer_range{10, 20, 5, false});
  BOOST_TEST(r.find(value(15.0)).value() == 1u);
  BOOST_TEST(!r.find(value(16)).has_value());
  BOOST_TEST(!r.find(value("15")).has_value());
}

BOOST_AUTO_TEST_CASE(numbers_far_away_are_looked_for_in_no_time) {
  const auto steps = *made(real_range{0.8, 1.0, 0.1});
  const auto grid = *made(real_grid{0.5, 8.0, 5, true});
  const auto whole = *made(integer_range{10, 20, 5, false});
  const auto powers = *made(power_range{1, 64});
  for (const double far :
       {1e300, -1e300, 1e17, -1e17, 9007199254740993.0, 0.7, 1.1, 1.6, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    for (const auto* d : {&steps, &grid, &whole, &powers}) BOOST_TEST(!d->find(value(far)).has_value(), far);
  BOOST_TEST(steps.find(value(0.8)).value() == 0u);
  BOOST_TEST(steps.find(value(1.0)).value() == 2u);
}

BOOST_AUTO_TEST_CASE(knows_order_and_growth) {
  const auto shuffled = *made(value_list{{value(2), value(1), value(0)}});
  BOOST_TEST(shuffled.ordinal());
  BOOST_TEST(shuffled.rank(0) == 2u);
  BOOST_TEST(shuffled.at_rank(0) == 2u);
  BOOST_TEST(!made(value_list{{value("a"), value(1)}})->ordinal());
  BOOST_TEST(!made(value_list{{value(true), value(false)}})->ordinal());
  BOOST_TEST(made(value_list{{value(8), value(16), value(32), value(64)}})->geometric());
  BOOST_TEST(made(power_range{1, 64})->geometric());
  BOOST_TEST(!made(value_list{{value(1), value(2), value(3), value(4)}})->geometric());
  BOOST_TEST(!made(value_list{{value(0), value(1), value(2)}})->geometric());
}

BOOST_AUTO_TEST_SUITE_END()
