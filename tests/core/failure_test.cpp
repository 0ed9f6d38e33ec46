#include "core/failure.hpp"

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>

using namespace attune;

BOOST_AUTO_TEST_SUITE(failures)

BOOST_AUTO_TEST_CASE(the_names_are_the_contracts_and_lead_back_to_their_kinds) {
  const std::array<std::string, 10> names{"invalid_config", "build_error", "build_timeout", "run_error", "run_timeout",
                                          "wrong_output",   "bad_metric",  "device_lost",   "cancelled", "internal"};
  BOOST_REQUIRE(all_failure_kinds.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    BOOST_TEST(to_string(all_failure_kinds[i]) == names[i]);
    BOOST_TEST((failure_kind_of(names[i]) == all_failure_kinds[i]));
    BOOST_TEST(static_cast<std::size_t>(all_failure_kinds[i]) == i); // the numbers are on the disk too
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_no_kind) {
  for (const char* name : {"", "Run_error", "run_error ", "run", "ok"}) BOOST_TEST(!failure_kind_of(name), name);
}

BOOST_AUTO_TEST_CASE(only_what_the_candidate_did_not_do_is_infrastructure) {
  std::set<std::string> infrastructure;
  for (const auto kind : all_failure_kinds)
    if (is_infrastructure(kind)) infrastructure.insert(to_string(kind));
  BOOST_TEST((infrastructure == std::set<std::string>{"cancelled", "device_lost", "internal"}));
}

BOOST_AUTO_TEST_SUITE_END()
