#include "net/fleet/fetcher.hpp"
#include "net/fleet/files.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace attune;
using namespace attune::net::fleet;
namespace fs = std::filesystem;

namespace {

struct folder {
  folder() {
    std::string name = (fs::temp_directory_path() / "attune-files-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~folder() {
    std::error_code ec;
    fs::remove_all(path, ec);
  }
  std::string write(const std::string& name, const std::string& text, unsigned mode = 0644) const {
    const auto to = path + "/" + name;
    fs::create_directories(fs::path(to).parent_path());
    std::ofstream(to, std::ios::binary) << text;
    ::chmod(to.c_str(), mode);
    return to;
  }
  std::string path;
};

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

unsigned mode_of(const std::string& path) {
  struct stat info {};
  BOOST_REQUIRE_EQUAL(::lstat(path.c_str(), &info), 0);
  return info.st_mode & 0777;
}

/// Two ends without a wire: what is asked is answered out of a folder, when the test says so.
struct wire_less {
  explicit wire_less(std::shared_ptr<blob_store> into)
      : bring(into, [this](const wire::v1::Fetch& f) { asked.push_back(f); }) {}
  bool answer(const std::string& path) {
    if (asked.empty()) return false;
    wire::v1::Chunk c;
    BOOST_REQUIRE(read_chunk(path, asked.front(), c).ok());
    asked.pop_front();
    BOOST_REQUIRE(bring.take(c).ok());
    return true;
  }
  std::deque<wire::v1::Fetch> asked;
  fetcher bring;
};

} // namespace

BOOST_AUTO_TEST_SUITE(files_suite)

BOOST_AUTO_TEST_CASE(a_path_that_leaves_its_folder_is_none) {
  for (const auto* good : {"a", "a/b", "with space", "..a", "a..b/c"}) BOOST_TEST(stays_below(good), good);
  for (const auto* bad : {"", "/a", "..", "a/..", "a/../b", "./a", "a//b", "a/", "."})
    BOOST_TEST(!stays_below(bad), bad);
  BOOST_TEST(!stays_below(std::string_view("a\0b", 3)));
}

BOOST_AUTO_TEST_CASE(a_folder_arrives_as_it_was_with_modes_links_and_names_with_spaces) {
  folder from, cache, to;
  from.write("k", "#!/bin/sh\n", 0755);
  from.write("sub/with space", "text", 0640);
  from.write("empty", "");
  fs::create_directories(from.path + "/hollow");
  fs::create_symlink("k", from.path + "/alias");
  ::chmod((from.path + "/sub").c_str(), 0555);
  const auto listed = list_folder(from.path);
  ::chmod((from.path + "/sub").c_str(), 0755);
  BOOST_REQUIRE(listed.ok());
  BOOST_REQUIRE_EQUAL(listed->size(), 6u);
  auto store = blob_store::open(cache.path);
  BOOST_REQUIRE(store.ok());
  wire_less w(*store);
  int done = 0;
  w.bring.want(*listed, [&](const status& s) { done += s.ok() ? 1 : 100; });
  BOOST_TEST(done == 0);
  while (!w.asked.empty()) {
    digest d;
    std::copy(w.asked.front().sha256().begin(), w.asked.front().sha256().end(), d.bytes.begin());
    for (const auto& e : *listed)
      if (e.sha256 == d && !e.folder) {
        w.answer(from.path + "/" + e.path);
        break;
      }
  }
  BOOST_TEST(done == 1);
  BOOST_REQUIRE((*store)->lay_out(*listed, to.path + "/x").ok());
  BOOST_TEST(text_of(to.path + "/x/sub/with space") == "text");
  BOOST_TEST(mode_of(to.path + "/x/k") == 0755u);
  BOOST_TEST(mode_of(to.path + "/x/sub/with space") == 0640u);
  BOOST_TEST(mode_of(to.path + "/x/sub") == 0555u);
  BOOST_TEST(fs::read_symlink(to.path + "/x/alias") == "k");
  BOOST_TEST(fs::is_directory(to.path + "/x/hollow"));
  BOOST_TEST(fs::file_size(to.path + "/x/empty") == 0u);
  ::chmod((to.path + "/x/sub").c_str(), 0755);
}

BOOST_AUTO_TEST_CASE(nothing_is_laid_out_through_a_link_of_the_same_list) {
  folder cache, outside;
  ::chmod(outside.path.c_str(), 0750);
  auto store = blob_store::open(cache.path);
  BOOST_REQUIRE(store.ok());
  const auto entry = [](const std::string& path, const std::string& link, bool is_folder) {
    file_entry e;
    e.path = path;
    e.link = link;
    e.folder = is_folder;
    e.mode = 0777;
    return e;
  };
  const auto out = entry("out", outside.path, false);
  for (const auto& below : {entry("out/made", "", true), entry("out/made", "k", false), entry("out", "", true)}) {
    for (const auto& list : {std::vector{out, below}, std::vector{below, out}}) {
      folder to;
      BOOST_TEST(!(*store)->lay_out(list, to.path + "/x").ok());
      BOOST_TEST(!fs::exists(fs::symlink_status(outside.path + "/made")));
      BOOST_TEST(mode_of(outside.path) == 0750u);
      fs::remove(outside.path + "/made");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_file_is_asked_for_once_however_many_want_it_and_goes_on_after_a_break) {
  folder from, cache;
  const std::string text(3 * fetcher::chunk_bytes + 17, 'x');
  const auto path = from.write("big", text);
  const auto listed = list_files(from.path, {"big"});
  BOOST_REQUIRE(listed.ok());
  auto store = blob_store::open(cache.path);
  BOOST_REQUIRE(store.ok());
  int good = 0, bad = 0;
  const auto count = [&](const status& s) { s.ok() ? ++good : ++bad; };
  {
    wire_less w(*store);
    w.bring.want(*listed, count);
    w.bring.want(*listed, count);
    BOOST_TEST(w.asked.size() == 4u);
    w.answer(path);
    w.answer(path);
    w.bring.fail({errc::network, "cut", {}});
    BOOST_TEST(bad == 2);
  }
  wire_less w(*store);
  w.bring.want(*listed, count);
  BOOST_REQUIRE(!w.asked.empty());
  BOOST_TEST(w.asked.front().offset() == 2 * fetcher::chunk_bytes);
  while (w.answer(path)) {
  }
  BOOST_TEST(good == 1);
  BOOST_TEST((*store)->has(listed->front().sha256));
  w.bring.want(*listed, count);
  BOOST_TEST(good == 2);
  BOOST_TEST(w.asked.empty());
}

BOOST_AUTO_TEST_CASE(what_is_not_what_it_should_be_is_dropped_and_what_was_not_asked_for_is_refused) {
  folder from, cache;
  from.write("a", "right");
  const auto other = from.write("b", "wrong");
  const auto listed = list_files(from.path, {"a"});
  BOOST_REQUIRE(listed.ok());
  auto store = blob_store::open(cache.path);
  BOOST_REQUIRE(store.ok());
  wire_less w(*store);
  bool failed = false;
  w.bring.want(*listed, [&](const status& s) { failed = !s.ok(); });
  BOOST_REQUIRE_EQUAL(w.asked.size(), 1u);
  wire::v1::Chunk c;
  BOOST_REQUIRE(read_chunk(other, w.asked.front(), c).ok());
  BOOST_TEST(w.bring.take(c).ok());
  BOOST_TEST(failed);
  BOOST_TEST(!(*store)->has(listed->front().sha256));
  BOOST_TEST((*store)->offset(listed->front().sha256) == 0u);
  BOOST_TEST(!w.bring.take(c).ok());
}

BOOST_AUTO_TEST_CASE(the_cache_is_bounded_and_what_was_just_used_stays) {
  folder from, cache, to;
  auto store = blob_store::open(cache.path, 3000);
  BOOST_REQUIRE(store.ok());
  std::vector<file_entry> all;
  for (int i = 0; i < 4; ++i) {
    const auto name = "f" + std::to_string(i);
    const std::string text(1000, static_cast<char>('a' + i));
    from.write(name, text);
    all.push_back(list_files(from.path, {name})->front());
    BOOST_REQUIRE((*store)->write(all.back().sha256, 0, text, 1000).ok());
    if (i == 2) BOOST_REQUIRE((*store)->lay_out({all[0]}, to.path + "/x").ok());
  }
  BOOST_TEST((*store)->has(all[0].sha256));
  BOOST_TEST(!(*store)->has(all[1].sha256));
  BOOST_TEST((*store)->has(all[3].sha256));
  // What is there is found by the next process.
  auto again = blob_store::open(cache.path, 3000);
  BOOST_REQUIRE(again.ok());
  BOOST_TEST((*again)->has(all[3].sha256));
}

BOOST_AUTO_TEST_CASE(files_outside_the_folder_cannot_be_named) {
  folder from;
  from.write("sub/a", "x");
  const auto bad = list_files(from.path + "/sub", {"../sub/a"});
  BOOST_REQUIRE(!bad.ok());
  BOOST_TEST((bad.err().code == errc::invalid_spec));
  BOOST_TEST(list_files(from.path, {"./sub//a"}).ok());
  BOOST_TEST(!list_files(from.path, {"sub"}).ok());
}

BOOST_AUTO_TEST_SUITE_END()
