#include "measure/scratch.hpp"
#include "tests/measure/support.hpp"

#include <sys/stat.h>

using namespace attune;
using namespace attune::measure;
using namespace attune::measure::testing;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_CASE(a_stamp_names_a_process_and_knows_whether_it_is_gone) {
  process_stamp stamp;
  BOOST_TEST(stamp.read(own_stamp().text() + "-7."));
  BOOST_TEST(stamp.pid == getpid());
  BOOST_TEST(stamp.text() == own_stamp().text());
  BOOST_TEST(!stamp.gone());
  --stamp.start; // the same number, another process
  BOOST_TEST(stamp.gone());
  ++stamp.name_space; // of a world that cannot be seen from here
  BOOST_TEST(!stamp.gone());
  for (const char* text : {"", "1", "1-2", "1-2-", "a-2-3", "1-2-x"}) BOOST_TEST(!stamp.read(text), text);
}

BOOST_AUTO_TEST_CASE(folders_are_fresh_private_and_removed_with_their_root) {
  folder base;
  std::string root;
  {
    auto made = scratch::open(base.path());
    BOOST_REQUIRE(made.ok());
    root = (*made)->root();
    struct stat info {};
    BOOST_TEST(stat(root.c_str(), &info) == 0);
    BOOST_TEST((info.st_mode & 0777) == 0700U);
    auto a = (*made)->make_folder(), b = (*made)->make_folder();
    BOOST_REQUIRE((a.ok() && b.ok()));
    BOOST_TEST(*a != *b);
    BOOST_TEST(fs::is_empty(*a));
  }
  BOOST_TEST(!fs::exists(root));
}

BOOST_AUTO_TEST_CASE(two_may_live_in_one_process) {
  folder base;
  auto a = scratch::open(base.path());
  auto b = scratch::open(base.path());
  BOOST_REQUIRE((a.ok() && b.ok()));
  BOOST_TEST((*a)->root() != (*b)->root());
  BOOST_TEST(fs::exists((*a)->root()));
}

BOOST_AUTO_TEST_CASE(a_dead_processes_root_is_swept_and_nothing_else) {
  folder base;
  process_stamp dead = own_stamp();
  --dead.start;
  std::string mine = base.path() + "/attune-" + std::to_string(geteuid()) + "-";
  std::string gone = mine + dead.text() + "-0", other = base.path() + "/attune-else", odd = mine + "x";
  for (const auto& name : {gone, other, odd}) fs::create_directories(name);
  base.write(fs::path(gone).filename().string() + "/lock", "");
  // A link of that name is not followed.
  fs::create_directory_symlink(other, mine + dead.text() + "-1");
  std::ofstream(other + "/kept") << "x";
  BOOST_REQUIRE(scratch::open(base.path()).ok());
  BOOST_TEST(!fs::exists(gone));
  BOOST_TEST(fs::exists(other + "/kept"));
  BOOST_TEST(fs::exists(odd));
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_made_is_an_error) {
  auto made = scratch::open("/no/such/folder");
  BOOST_REQUIRE(!made.ok());
  BOOST_TEST((made.err().code == errc::invalid_spec));
  BOOST_TEST(made.err().message.find("TMPDIR") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_folder_is_given_to_who_was_admitted) {
  if (geteuid() != 0) {
    BOOST_TEST_MESSAGE("skipped: only root gives files away");
    return;
  }
  constexpr uid_t nobody = 65534;
  const folder at;
  auto s = scratch::open(at.path());
  BOOST_REQUIRE(s.ok());
  const auto before = *(*s)->make_folder();
  BOOST_TEST((*s)->hand_over(before).ok()); // nobody was admitted
  BOOST_REQUIRE((*s)->admit(nobody, nobody).ok());
  const auto given = *(*s)->make_folder();
  std::filesystem::create_directory(given + "/in");
  std::ofstream(given + "/in/file") << "a";
  BOOST_REQUIRE((*s)->hand_over(given).ok());
  const auto owner_of = [](const std::string& path) {
    struct stat info {};
    BOOST_REQUIRE(lstat(path.c_str(), &info) == 0);
    return info.st_uid;
  };
  for (const std::string name : {"", "/in", "/in/file"}) BOOST_TEST(owner_of(given + name) == nobody);
  BOOST_TEST(owner_of(before) == 0u);
  BOOST_TEST(!(*s)->hand_over(given + "/none").ok());
}

BOOST_AUTO_TEST_CASE(a_tree_is_removed_whatever_is_in_it) {
  folder base;
  std::string tree = base.path() + "/tree", outside = base.write("outside", "x");
  fs::create_directories(tree + "/a/b");
  std::ofstream(tree + "/a/b/file") << "x";
  fs::create_symlink(outside, tree + "/a/link");
  fs::create_directory_symlink(base.path(), tree + "/up");
  fs::permissions(tree + "/a/b", fs::perms::none);
  remove_tree(tree);
  BOOST_TEST(!fs::exists(tree));
  BOOST_TEST(fs::exists(outside));
}

BOOST_AUTO_TEST_CASE(a_root_that_something_else_has_deleted_is_made_anew) {
  folder base;
  auto made = scratch::open(base.path() + "/tmp");
  BOOST_TEST(!made.ok()); // it is not invented at the beginning
  fs::create_directory(base.path() + "/tmp");
  made = scratch::open(base.path() + "/tmp");
  BOOST_REQUIRE(made.ok());
  BOOST_REQUIRE((*made)->make_folder().ok());
  fs::remove_all(base.path() + "/tmp");
  const auto again = (*made)->make_folder();
  BOOST_REQUIRE_MESSAGE(again.ok(), (again.ok() ? std::string() : again.err().text()));
  BOOST_TEST(fs::is_empty(*again));
  struct stat info {};
  BOOST_TEST(stat((*made)->root().c_str(), &info) == 0);
  BOOST_TEST((info.st_mode & 0777) == 0700U);
  // Another process's sweep leaves it alone: it is held.
  BOOST_REQUIRE(scratch::open(base.path() + "/tmp").ok());
  BOOST_TEST(fs::exists(*again));
}
