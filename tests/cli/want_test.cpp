#include "cli/secret.hpp"
#include "cli/want.hpp"

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>

using namespace attune::cli;

BOOST_AUTO_TEST_CASE(what_the_system_has_no_more_of_is_named_and_a_defect_is_called_one) {
  BOOST_TEST(told_of(std::bad_alloc()).starts_with("out of memory; what was measured is kept"));
  for (const auto code : {std::errc::resource_unavailable_try_again, std::errc::not_enough_memory}) {
    const auto text = told_of(std::system_error(std::make_error_code(code)));
    BOOST_TEST(text.starts_with("no thread or process can be started"), text);
    BOOST_TEST(text.find("ulimit -u") != std::string::npos, text);
  }
  BOOST_TEST(told_of(std::system_error(std::make_error_code(std::errc::too_many_files_open)))
                 .starts_with("nothing more can be opened"));
  // As Asio's own exceptions are.
  BOOST_TEST(
      told_of(std::system_error(EMFILE, std::system_category(), "epoll")).starts_with("nothing more can be opened"));
  BOOST_TEST(told_of(std::runtime_error("such and such")) == "unexpected: such and such");
  BOOST_TEST(told_of(std::system_error(std::make_error_code(std::errc::io_error))).starts_with("unexpected: "));
}

BOOST_AUTO_TEST_CASE(a_secret_is_taken_out_of_the_environment) {
  ::setenv("ATTUNE_TEST_SECRET", "hidden", 1);
  const char* where = std::getenv("ATTUNE_TEST_SECRET");
  BOOST_TEST(take_secret("ATTUNE_TEST_SECRET").value() == "hidden");
  BOOST_TEST(std::getenv("ATTUNE_TEST_SECRET") == nullptr);
  BOOST_TEST(*where == '\0');
  BOOST_TEST(!take_secret("ATTUNE_TEST_SECRET"));
}
