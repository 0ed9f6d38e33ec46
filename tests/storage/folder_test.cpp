#include "storage/folder.hpp"
#include "tests/storage/samples.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include <fstream>
#include <unistd.h>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::samples;

namespace {

void write(const std::string& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

} // namespace

BOOST_AUTO_TEST_SUITE(folder_of_a_store)

BOOST_AUTO_TEST_CASE(it_is_made_with_its_parents_for_its_owner_alone) {
  const scratch_folder scratch;
  const std::string path = scratch.path() + "/a/b/store/";
  const auto f = folder::open(path, false, true);
  BOOST_REQUIRE(f.ok());
  BOOST_TEST(f->path() == scratch.path() + "/a/b/store");
  BOOST_TEST(!f->exists());
  struct stat s {};
  BOOST_REQUIRE(::stat(f->path().c_str(), &s) == 0);
  BOOST_TEST((s.st_mode & 0777) == 0700u);
}

BOOST_AUTO_TEST_CASE(a_missing_one_is_said_and_not_made_for_a_reader) {
  const scratch_folder scratch;
  for (const auto& f : {folder::open(scratch.store(), true, true), folder::open(scratch.store(), false, false)}) {
    BOOST_REQUIRE(!f.ok());
    BOOST_TEST(bool(f.err().code == errc::store_unusable));
    BOOST_TEST(f.err().message.find(scratch.store()) != std::string::npos);
  }
  BOOST_TEST(!std::filesystem::exists(scratch.store()));
}

BOOST_AUTO_TEST_CASE(what_is_not_a_store_is_left_alone) {
  const scratch_folder scratch;
  write(scratch.path() + "/letter.txt", "dear");
  const auto other = folder::open(scratch.path(), false, true);
  BOOST_REQUIRE(!other.ok());
  BOOST_TEST(bool(other.err().code == errc::store_unusable));
  BOOST_TEST(std::distance(std::filesystem::directory_iterator(scratch.path()), {}) == 1);
  const auto file = folder::open(scratch.path() + "/letter.txt", false, true);
  BOOST_REQUIRE(!file.ok());
  BOOST_TEST(file.err().message.find("not a folder") != std::string::npos);
  const auto below = folder::open(scratch.path() + "/letter.txt/store", false, true);
  BOOST_TEST(!below.ok());
  BOOST_TEST(!folder::open("", false, true).ok());
}

BOOST_AUTO_TEST_CASE(a_second_owner_is_refused_by_the_first_ones_name_until_it_goes) {
  const scratch_folder scratch;
  {
    const auto first = folder::open(scratch.store(), false, true);
    BOOST_REQUIRE(first.ok());
    const auto second = folder::open(scratch.store(), false, true);
    BOOST_REQUIRE(!second.ok());
    BOOST_TEST(bool(second.err().code == errc::store_busy));
    BOOST_TEST(second.err().message.find(scratch.store()) != std::string::npos);
    BOOST_TEST(second.err().message.find("process " + std::to_string(::getpid()) + " (") != std::string::npos);
  }
  BOOST_TEST(folder::open(scratch.store(), false, true).ok());
}

BOOST_AUTO_TEST_CASE(one_that_is_being_made_is_in_use_and_one_that_was_cut_off_is_made_anew) {
  const scratch_folder scratch;
  {
    const auto first = folder::open(scratch.store(), false, true);
    BOOST_REQUIRE(first.ok());
    for (const auto* file : {"/MANIFEST-000001", "/IDENTITY", "/000001.dbtmp"}) write(scratch.store() + file, "begun");
    const auto second = folder::open(scratch.store(), false, true);
    BOOST_REQUIRE(!second.ok());
    BOOST_TEST(bool(second.err().code == errc::store_busy));
  }
  BOOST_TEST(folder::open(scratch.store(), false, true).ok());
  BOOST_TEST(store::open(scratch.store(), {}).ok());
  BOOST_TEST(store::open(scratch.store(), {}).ok());
  // Without an owner's file it is another program's.
  write(scratch.path() + "/MANIFEST-000001", "another's");
  BOOST_TEST(!folder::open(scratch.path(), false, true).ok());
}

BOOST_AUTO_TEST_CASE(what_was_acknowledged_is_remembered) {
  const scratch_folder scratch;
  for (const std::uint64_t n : {5ull, 300ull, 1ull << 60}) {
    {
      auto f = folder::open(scratch.store(), false, true);
      BOOST_REQUIRE(f.ok());
      f->acknowledge({n, n - 1});
    }
    const auto again = folder::open(scratch.store(), false, true);
    BOOST_REQUIRE(again.ok());
    BOOST_TEST(again->acknowledged().given == n);
    BOOST_TEST(again->acknowledged().there == n - 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()
