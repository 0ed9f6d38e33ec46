#pragma once

#include "testing/world.hpp"

#include <boost/test/framework.hpp>
#include <boost/test/results_collector.hpp>
#include <boost/test/unit_test.hpp>

namespace attune::testing {

/// A world for a case of Boost.Test: where a check has failed by its end, it shows the last messages.
class boost_world : public world {
public:
  using world::world;
  ~boost_world() {
    const auto& so_far = boost::unit_test::results_collector.results(
        boost::unit_test::framework::current_test_case_id());
    if (!so_far.passed())
      BOOST_TEST_MESSAGE("the last messages (step, time, sender -> receiver):\n" << past().text());
  }
};

} // namespace attune::testing
