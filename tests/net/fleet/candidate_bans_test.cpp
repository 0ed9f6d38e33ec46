#include "net/fleet/candidate_bans.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <unistd.h>

using namespace attune;
using namespace attune::net;
using namespace attune::net::fleet;

namespace {

struct book {
  book() {
    std::string name = (std::filesystem::temp_directory_path() / "attune-bans-XXXXXX").string();
    folder = ::mkdtemp(name.data());
  }
  ~book() {
    std::error_code ec;
    std::filesystem::remove_all(folder, ec);
  }
  candidate_bans open() {
    auto made = candidate_bans::open(*private_folder::open(folder, true));
    BOOST_REQUIRE(made.ok());
    return std::move(*made);
  }
  static trial one(const std::string& task, std::int64_t x, std::int64_t y, std::uint8_t key = 1) {
    auto of = std::make_shared<attune::task>();
    of->spec.name = task;
    trial out;
    out.of = of;
    out.config = configuration(arguments{{"y", value(y)}, {"x", value(x)}});
    out.key.bytes.fill(key);
    return out;
  }
  std::string folder;
};

} // namespace

BOOST_AUTO_TEST_SUITE(banned_candidates)

BOOST_AUTO_TEST_CASE(a_ban_is_of_a_configuration_and_of_a_task_where_it_names_one) {
  book b;
  auto bans = b.open();
  BOOST_TEST(bans.find(b.one("gemm", 1, 2)) == nullptr);
  BOOST_TEST(bans.ban("gemm", "y=2 x=1", "me", {}).ok());
  BOOST_TEST(bans.find(b.one("gemm", 1, 2)) != nullptr);
  BOOST_TEST(bans.find(b.one("gemm", 1, 3)) == nullptr);
  BOOST_TEST(bans.find(b.one("conv", 1, 2)) == nullptr);
  BOOST_TEST(bans.ban("", "x=1 y=3", "me", {}).ok()); // in another order
  BOOST_TEST(bans.find(b.one("gemm", 1, 3)) != nullptr);
  BOOST_TEST(bans.find(b.one("conv", 1, 3)) != nullptr);
  BOOST_TEST(!bans.ban("", "", "me", {}).ok());
}

BOOST_AUTO_TEST_CASE(what_is_quarantined_is_the_very_same_and_nothing_built_from_other_sources) {
  book b;
  auto bans = b.open();
  BOOST_TEST(bans.quarantine(b.one("gemm", 1, 2, 5), "lost a and b", {}).ok());
  BOOST_TEST(bans.quarantine(b.one("gemm", 1, 2, 5), "again", {}).ok());
  BOOST_TEST(bans.list().size() == 1u);
  BOOST_TEST(bans.find(b.one("gemm", 1, 2, 5)) != nullptr);
  BOOST_TEST(bans.find(b.one("gemm", 1, 2, 6)) == nullptr);
}

BOOST_AUTO_TEST_CASE(all_of_it_outlives_the_process_until_it_is_lifted) {
  book b;
  {
    auto bans = b.open();
    BOOST_TEST(bans.ban("gemm", "y=2 x=1", "me", {}).ok());
    BOOST_TEST(bans.quarantine(b.one("conv", 7, 7, 9), "lost a and b", {}).ok());
  }
  {
    auto bans = b.open();
    BOOST_TEST(bans.list().size() == 2u);
    BOOST_TEST(bans.find(b.one("gemm", 1, 2)) != nullptr);
    BOOST_TEST(bans.find(b.one("conv", 7, 7, 9)) != nullptr);
    BOOST_TEST(!bans.lift("conv", "y=2 x=1").ok());
    BOOST_TEST(bans.lift("", "y=2 x=1").ok());
    BOOST_TEST(bans.lift("conv", "y=7 x=7").ok());
  }
  BOOST_TEST(b.open().list().empty());
}

BOOST_AUTO_TEST_SUITE_END()
