#include "schedulers/weighted_total.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune::schedulers;
using attune::nanoseconds;

BOOST_AUTO_TEST_CASE(the_total_falls_from_each_tasks_first_cost_by_what_each_gains) {
  const double weights[] = {2, 1, 5};
  const total_step steps[] = {{nanoseconds(1), 1, 0, 10},
                              {nanoseconds(2), 2, 1, 4},
                              {nanoseconds(3), 3, 0, 7},
                              {nanoseconds(4), 9, 0, 8},
                              {nanoseconds(5), 10, 1, 1}};
  const std::vector<total_point> expected{{nanoseconds(1), 1, 24}, {nanoseconds(3), 3, 18}, {nanoseconds(5), 10, 15}};
  BOOST_CHECK(total_over_time(weights, steps) == expected); // the third task has no step: it is not in it
  BOOST_CHECK(total_over_time(weights, {}).empty());
}
