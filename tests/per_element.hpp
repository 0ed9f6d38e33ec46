// Two ranges compared element by element: BOOST_TEST(a == b, per_element).
#pragma once

#include <boost/test/unit_test.hpp>

namespace attune {

inline const auto per_element = boost::test_tools::per_element();

} // namespace attune
