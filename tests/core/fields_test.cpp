#include "core/fields.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;

BOOST_AUTO_TEST_SUITE(fields)

BOOST_AUTO_TEST_CASE(what_is_appended_is_taken_again_whatever_stands_in_it) {
  std::string form;
  append_field(form, "a", "1;b=1:2;");
  append_field(form, "b", "");
  append_field(form, "b", std::string("\0:", 2));
  std::string_view left = form;
  BOOST_TEST(take_field(left, "a").value() == "1;b=1:2;");
  BOOST_TEST(take_field(left, "b").value().empty());
  BOOST_TEST(take_field(left, "b").value() == std::string("\0:", 2));
  BOOST_TEST(left.empty());
}

BOOST_AUTO_TEST_CASE(what_is_no_such_field_is_left_as_it_is) {
  for (const std::string_view text :
       {"", "a", "a=", "a=:;", "a=1:", "a=1:x", "a=1:xy", "a=-1:x;", "a=99999999999999999999:x;", "b=1:x;", "ab=1:x;",
        "a=x:1;", "a=18446744073709551615:x;"}) {
    std::string_view left = text;
    BOOST_TEST(!take_field(left, "a").has_value(), text);
    BOOST_TEST(left == text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
