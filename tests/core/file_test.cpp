#include "core/file.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace attune;

BOOST_AUTO_TEST_SUITE(files)

BOOST_AUTO_TEST_CASE(what_a_file_holds_and_why_it_cannot_be_read) {
  const auto path = (std::filesystem::temp_directory_path() / ("attune_file." + std::to_string(getpid()))).string();
  std::ofstream(path) << "one\ntwo";
  BOOST_TEST(*file_contents(path, 100) == "one\ntwo");
  BOOST_TEST(*file_contents(path, 7) == "one\ntwo");
  BOOST_TEST(*file_contents(path, 3) == "one");
  BOOST_TEST(*file_contents(path, 0) == "");
  std::ofstream(path, std::ios::trunc).close();
  BOOST_TEST(*file_contents(path, 100) == "");
  std::ofstream(path) << std::string(200'000, 'x');
  BOOST_TEST(file_contents(path, 1'000'000)->size() == 200'000u);
  std::filesystem::remove(path);
  BOOST_TEST(file_contents(path, 100).err().message == "No such file or directory");
  // A stream of the library's throws here.
  const auto folder = file_contents("/tmp", 100);
  BOOST_REQUIRE(!folder.ok());
  BOOST_TEST((folder.err().code == errc::io));
  BOOST_TEST(folder.err().message == "Is a directory");
  BOOST_TEST(folder.err().where == "/tmp");
  // The kernel's tables have no size.
  BOOST_TEST(file_contents("/proc/self/status", 1 << 16)->find("Pid:") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
