#include "schedulers/retry.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::schedulers;
using verdict = retry_state::verdict;

BOOST_AUTO_TEST_SUITE(retry)

BOOST_AUTO_TEST_CASE(only_faults_of_the_infrastructure_are_tried_again) {
  for (const auto kind : all_failure_kinds) {
    retry_state s;
    const bool again = kind == failure_kind::device_lost || kind == failure_kind::internal;
    BOOST_TEST_CONTEXT(to_string(kind)) {
      BOOST_TEST((s.failed(kind, 1, {}) == (again ? verdict::again : verdict::final_failure)));
      BOOST_TEST(s.failed_at(1) == again);
      BOOST_TEST(!s.failed_at(2));
    }
  }
}

BOOST_AUTO_TEST_CASE(attempts_are_bounded) {
  retry_state s;
  const retry_policy p{.attempts = 3, .devices_lost = 2};
  BOOST_TEST((s.failed(failure_kind::internal, 1, p) == verdict::again));
  BOOST_TEST((s.failed(failure_kind::internal, 2, p) == verdict::again));
  BOOST_TEST((s.failed(failure_kind::internal, 3, p) == verdict::exhausted));
}

BOOST_AUTO_TEST_CASE(one_attempt_or_none_means_no_retry) {
  for (const std::uint32_t n : {0u, 1u}) {
    retry_state s;
    BOOST_TEST((s.failed(failure_kind::internal, 1, {.attempts = n}) == verdict::exhausted));
  }
}

BOOST_AUTO_TEST_CASE(two_lost_devices_are_quarantine) {
  retry_state s;
  const retry_policy p{.attempts = 9, .devices_lost = 2};
  BOOST_TEST((s.failed(failure_kind::device_lost, 1, p) == verdict::again));
  BOOST_TEST((s.failed(failure_kind::internal, 2, p) == verdict::again)); // no device lost by it
  BOOST_TEST((s.failed(failure_kind::device_lost, 3, p) == verdict::quarantined));
}

BOOST_AUTO_TEST_CASE(quarantine_is_said_even_where_the_attempts_are_over_as_well) {
  retry_state s;
  const retry_policy p{.attempts = 2, .devices_lost = 2};
  BOOST_TEST((s.failed(failure_kind::device_lost, 1, p) == verdict::again));
  BOOST_TEST((s.failed(failure_kind::device_lost, 2, p) == verdict::quarantined));
}

BOOST_AUTO_TEST_SUITE_END()
