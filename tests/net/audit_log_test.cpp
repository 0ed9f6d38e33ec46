#include "net/audit_log.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <vector>

using namespace attune;
using namespace attune::net;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

struct audit_place {
  std::string path;
  audit_place() {
    std::string name = (fs::temp_directory_path() / "attune-audit-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~audit_place() { fs::remove_all(path); }
  audit_log log(const audit_limits& limits = {}) const {
    auto folder = private_folder::open(path, false);
    BOOST_REQUIRE(folder.ok());
    return audit_log(std::move(*folder), limits);
  }
  std::vector<std::string> lines(const std::string& file = "audit.log") const {
    std::vector<std::string> out;
    std::ifstream in(path + "/" + file);
    for (std::string l; std::getline(in, l);) out.push_back(l);
    return out;
  }
};

const audit_who board{"0a1b2c3d4e5f", "agent", "board1", "[::1]:5000"};

} // namespace

BOOST_AUTO_TEST_SUITE(audit)

BOOST_AUTO_TEST_CASE(one_line_says_who_did_what) {
  const audit_place here;
  auto log = here.log();
  BOOST_REQUIRE(log.write(1'764'432'000s, board, "came", {{"device", "cortex"}}).ok());
  BOOST_REQUIRE(here.log().write(0s, {}, "was refused").ok()); // another process
  BOOST_TEST(
      here.lines() ==
          (std::vector<std::string>{
              R"({"at": "2025-11-29T16:00:00Z", "token": "0a1b2c3d4e5f", "role": "agent", "name": "board1", "peer": "[::1]:5000", "did": "came", "device": "cortex"})",
              R"({"at": "1970-01-01T00:00:00Z", "token": "", "role": "", "name": "", "peer": "", "did": "was refused"})"}),
      boost::test_tools::per_element());
  struct stat s {};
  BOOST_REQUIRE(::stat((here.path + "/audit.log").c_str(), &s) == 0);
  BOOST_TEST((s.st_mode & 0777) == 0600u);
}

BOOST_AUTO_TEST_CASE(whatever_a_peer_says_is_one_line_of_json) {
  const audit_place here;
  auto log = here.log();
  audit_who who = board;
  who.name = "a\"b\\c\nd\x1b[31m\x7f\xff\xc3\xa9\xe2\x82";
  BOOST_REQUIRE(log.write(0s, who, std::string(1000, 'x'), {{"more\n", std::string("\0", 1)}}).ok());
  const auto lines = here.lines();
  BOOST_REQUIRE(lines.size() == 1u);
  BOOST_TEST(lines[0].find(R"("name": "a\"b\\c\u000ad\u001b[31m\u007f\ufffd)"
                           "\xc3\xa9"
                           R"(\ufffd\ufffd")") != std::string::npos);
  BOOST_TEST(lines[0].find("\"" + std::string(300, 'x') + "...\"") != std::string::npos);
  BOOST_TEST(lines[0].find(R"("more\u000a": "\u0000")") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(it_stays_within_its_size_and_the_newest_stay) {
  const audit_place here;
  audit_limits limits;
  limits.file_bytes = 1000;
  limits.old_files = 2;
  auto log = here.log(limits), other = here.log(limits);
  for (int i = 0; i < 100; ++i)
    BOOST_REQUIRE((i % 3 == 0 ? other : log).write(0s, board, "deed " + std::to_string(i)).ok());
  std::size_t files = 0;
  for (const auto& f : fs::directory_iterator(here.path)) {
    if (f.path().filename() == "LOCK") continue;
    ++files;
    BOOST_TEST(f.file_size() <= 1000u);
  }
  BOOST_TEST(files == 3u);
  // In order, without a gap, to the last.
  std::vector<std::string> all;
  for (const auto* name : {"audit.log.2", "audit.log.1", "audit.log"})
    for (const auto& l : here.lines(name)) all.push_back(l);
  BOOST_REQUIRE(all.size() > 10u);
  for (std::size_t i = 0; i < all.size(); ++i)
    BOOST_TEST(all[i].find("\"deed " + std::to_string(100 - all.size() + i) + "\"") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
