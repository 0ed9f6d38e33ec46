#include "core/error.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

using namespace attune;

BOOST_AUTO_TEST_SUITE(errors)

BOOST_AUTO_TEST_CASE(every_kind_has_a_name_of_its_own) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(errc::internal); ++i) names.insert(to_string(static_cast<errc>(i)));
  BOOST_TEST(names.size() == static_cast<std::size_t>(errc::internal) + 1);
  BOOST_TEST(names.count("unknown") == 0u);
  BOOST_TEST(to_string(errc::store_newer) == std::string("store_newer"));
}

BOOST_AUTO_TEST_CASE(the_place_stands_before_the_message_where_there_is_one) {
  BOOST_TEST((error{errc::io, "cannot read it", "a.yaml:3"}.text()) == "a.yaml:3: cannot read it");
  BOOST_TEST((error{errc::io, "cannot read it", {}}.text()) == "cannot read it");
}

BOOST_AUTO_TEST_CASE(a_result_is_a_value_or_an_error) {
  const result<int> good(7), bad(error{errc::timeout, "late", {}});
  BOOST_TEST(good.ok());
  BOOST_TEST(*good == 7);
  BOOST_TEST(!bad.ok());
  BOOST_TEST((bad.err().code == errc::timeout));
}

BOOST_AUTO_TEST_CASE(a_result_gives_away_what_cannot_be_copied) {
  result<std::unique_ptr<int>> r(std::make_unique<int>(3));
  const std::unique_ptr<int> taken = *std::move(r);
  BOOST_TEST(*taken == 3);
}

BOOST_AUTO_TEST_CASE(what_a_result_gives_away_outlives_it) {
  const auto list = [] { return result<std::vector<std::string>>({std::string(40, 'a'), std::string(40, 'b')}); };
  static_assert(std::is_same_v<decltype(*list()), std::vector<std::string>>);
  std::string all;
  for (const std::string& one : *list()) all += one;
  BOOST_TEST(all == std::string(40, 'a') + std::string(40, 'b'));
}

BOOST_AUTO_TEST_CASE(a_status_is_success_unless_it_holds_an_error) {
  BOOST_TEST(status().ok());
  const status s(error{errc::cancelled, "asked to", {}});
  BOOST_TEST(!s.ok());
  BOOST_TEST(s.err().message == "asked to");
}

BOOST_AUTO_TEST_SUITE_END()
