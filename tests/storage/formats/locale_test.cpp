// Numbers have a point, whatever the process's locale says.
#include "tests/storage/formats/support.hpp"

#include <clocale>
#include <cstdio>
#include <locale>
#include <string>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::formats;
using namespace attune::storage::formats::testing;

namespace {

/// A locale as de_DE has it, which need not be installed.
struct comma final : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

void in_and_out() {
  const auto all =
      read_text("task,target.device,config.alpha,config.n,value,samples\nW,d,0.5,1234567,0.125,\"[0.125,0.125]\"\n");
  BOOST_REQUIRE(all.entries.size() == 1u);
  BOOST_TEST((*all.entries[0].config.find("alpha") == value(0.5)));
  BOOST_TEST(all.entries[0].result.measured()->value == 0.125);
  for (const char* format : {"attune", "autotvm-0.2", "autotvm-0.1", "kernel-tuner", "t4", "ktt", "csv"}) {
    const auto out = write_all(all.entries, format);
    BOOST_REQUIRE(out.good.ok());
    BOOST_TEST(out.text.find("0,5") == std::string::npos, format);
    BOOST_TEST(out.text.find("1.234.567") == std::string::npos, format);
    BOOST_TEST(out.text.find("1234567") != std::string::npos, format);
    const auto again = read_text(out.text);
    BOOST_REQUIRE_MESSAGE(again.entries.size() == 1u, format << ": " << out.text);
    BOOST_TEST((*again.entries[0].config.find("alpha") == value(0.5)), format);
    BOOST_TEST(again.entries[0].result.measured()->value == 0.125, format);
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(formats_locale)

BOOST_AUTO_TEST_CASE(a_c_plus_plus_locale_with_a_comma) {
  const std::locale before = std::locale::global(std::locale(std::locale(), new comma));
  in_and_out();
  std::locale::global(before);
}

BOOST_AUTO_TEST_CASE(a_c_locale_with_a_comma) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  bool any = false;
  for (const char* name : {"de_DE.UTF-8", "nb_NO.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"})
    if (std::setlocale(LC_ALL, name) != nullptr) {
      any = true;
      break;
    }
  if (!any) BOOST_TEST_MESSAGE("skipped: no locale with a decimal comma is installed");
  in_and_out();
  std::setlocale(LC_ALL, before.c_str());
}

BOOST_AUTO_TEST_SUITE_END()
