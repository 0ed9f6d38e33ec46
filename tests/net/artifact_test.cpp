#include "net/artifact_store.hpp"
#include "net/artifact_transfer.hpp"
#include "net/manifest.hpp"
#include "tests/net/says.hpp"
#include "tests/per_element.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/mman.h>
#include <sys/stat.h>

#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

using namespace attune;
using namespace attune::net;
namespace fs = std::filesystem;

namespace {

struct artifact_place {
  std::string path;
  artifact_place() {
    std::string name = (fs::temp_directory_path() / "attune-artifact-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~artifact_place() { fs::remove_all(path); }
  artifact_place(const artifact_place&) = delete;
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    const auto file = path + "/" + name;
    fs::create_directories(fs::path(file).parent_path());
    std::ofstream(file, std::ios::binary) << text;
    ::chmod(file.c_str(), mode);
    return file;
  }
  std::string folder(const std::string& name) const {
    fs::create_directories(path + "/" + name);
    return path + "/" + name;
  }
};

std::string read(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  BOOST_REQUIRE_MESSAGE(in.good(), file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// `n` bytes that differ from those of another `seed`.
std::string content(std::size_t n, char seed) {
  std::string out(n, seed);
  for (std::size_t i = 0; i < n; i += 7) out[i] = static_cast<char>(seed + i * 31);
  return out;
}

std::shared_ptr<artifact_store> opened(const std::string& folder, std::uint64_t most = 1u << 30) {
  auto s = artifact_store::open(folder, most);
  BOOST_REQUIRE_MESSAGE(s.ok(), (s.ok() ? "" : s.err().message));
  return *s;
}

status put(artifact_store& store, const std::string& text) {
  auto in = store.receive(sha256(text), text.size());
  if (!in) return in.err();
  return text.empty() ? status() : (*in)->append(text);
}

std::string got(artifact_store& store, const digest& d) {
  auto p = store.get(d);
  BOOST_REQUIRE(p.ok());
  BOOST_REQUIRE(p->has_value());
  const int copy = ::memfd_create("copy", MFD_CLOEXEC);
  BOOST_REQUIRE((*p)->copy_to(copy).ok());
  std::string out((*p)->size() + 1, '\0');
  const auto n = ::pread(copy, out.data(), out.size(), 0);
  ::close(copy);
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

artifact_file file(const std::string& path, const std::string& text, std::uint32_t mode = 0644) {
  return {path, sha256(text), text.size(), mode, {}, false};
}

artifact_file linked(const std::string& path, const std::string& to) {
  artifact_file f;
  f.path = path;
  f.link = to;
  return f;
}

artifact_file folder_entry(const std::string& path, std::uint32_t mode = 0755) {
  artifact_file f;
  f.path = path;
  f.mode = mode;
  f.folder = true;
  return f;
}

int mode_of(const std::string& path) {
  struct stat s {};
  BOOST_REQUIRE_MESSAGE(::lstat(path.c_str(), &s) == 0, path);
  return static_cast<int>(s.st_mode & 0777);
}

/// Both ends, and the messages between them.
struct wire_between {
  artifact_sender sender;
  std::deque<wire::v1::ArtifactFetch> asks;
  artifact_receiver receiver;
  std::uint64_t bytes = 0, most_in_flight = 0;
  std::size_t parts = 0;

  explicit wire_between(const std::shared_ptr<artifact_sink>& into, const transfer_limits& limits = {})
      : receiver(
            into, [this](const wire::v1::ArtifactFetch& f) { asks.push_back(f); }, limits) {}
  /// Answers one ask. False: there is none.
  bool step() {
    if (asks.empty()) return false;
    most_in_flight = std::max(most_in_flight, receiver.in_flight());
    wire::v1::ArtifactPart part;
    const auto ask = asks.front();
    asks.pop_front();
    BOOST_REQUIRE(sender.answer(ask, part).ok());
    bytes += part.data().size();
    ++parts;
    BOOST_REQUIRE(receiver.take(part).ok());
    return true;
  }
  void run() {
    while (step()) {
    }
  }
};

transfer_limits small() {
  transfer_limits l;
  l.part_bytes = 100;
  l.window_bytes = 400;
  return l;
}

} // namespace

BOOST_AUTO_TEST_SUITE(artifacts)

BOOST_AUTO_TEST_CASE(paths_that_do_not_stay_below_are_refused) {
  for (const auto* good :
       {"k", "a/b", "with space", "a b/c d.bin", "..hidden", "...", "a/..b", "\xc3\xa9", "a\\b", "-x"})
    BOOST_TEST(stays_below(good), good);
  for (const auto* bad : {"", "/", "/etc/passwd", "..", ".", "a/..", "../a", "a/../b", "a//b", "a/", "./a", "a/./b"})
    BOOST_TEST(!stays_below(bad), bad);
  BOOST_TEST(!stays_below(std::string_view("a\0b", 3)));
  BOOST_TEST(!stays_below(std::string(256, 'x')));
  BOOST_TEST(stays_below(std::string(255, 'x')));
  std::string deep;
  for (int i = 0; i < 2100; ++i) deep += "a/";
  BOOST_TEST(!stays_below(deep + "b"));
}

BOOST_AUTO_TEST_CASE(a_manifest_that_contradicts_itself_is_refused) {
  BOOST_TEST(check({{file("a", "1"), file("b", "1")}}).ok());
  BOOST_TEST(says(check({{file("a", "1"), file("a", "2")}}).err().message, "twice"));
  BOOST_TEST(says(check({{file("a", "1"), file("a/b", "2")}}).err().message, "behind what is no folder"));
  BOOST_TEST(says(check({{file("a", "1"), file("a!b", "3"), file("a-b", "3"), file("a/b", "2")}}).err().message,
                  "behind what is no folder")); // others stand between them
  // A link may lead anywhere: nothing may be made through it.
  BOOST_TEST(!check({{linked("a", "/etc"), file("a/b", "2")}}).ok());
  BOOST_TEST(!check({{linked("a", "/etc"), folder_entry("a/b")}}).ok());
  BOOST_TEST(!check({{linked("a", "/etc"), folder_entry("a")}}).ok());
  BOOST_TEST(!check({{linked("a", std::string("x\0y", 3))}}).ok());
  BOOST_TEST(check({{folder_entry("a"), file("a/b", "2"), linked("c", "/anywhere/at/all")}}).ok());
  BOOST_TEST(says(check({{file("../a", "1")}}).err().message, "does not stay below"));
  manifest many;
  for (std::size_t i = 0; i <= manifest::files_most; ++i) many.files.push_back(file(std::to_string(i), ""));
  BOOST_TEST(!check(many).ok());
  auto huge = file("a", "1");
  huge.size = ~std::uint64_t{0};
  BOOST_TEST(!check({{huge}}).ok());
  // Over the wire too.
  wire::v1::Submit m;
  const manifest all{{file("a b", "1", 0755), linked("l", "a b"), folder_entry("d", 0500)}};
  to(all, *m.mutable_files());
  const auto back = from(m.files());
  BOOST_REQUIRE(back.ok());
  BOOST_TEST((*back == all));
  m.mutable_files(0)->set_mode(07777);
  BOOST_TEST((from(m.files())->files[0].mode == 0777u)); // nothing runs as another user by it
  m.mutable_files(0)->set_path("/etc/passwd");
  BOOST_TEST(!from(m.files()).ok());
  m.mutable_files(0)->set_path("a");
  m.mutable_files(0)->set_sha256("short");
  BOOST_TEST(!from(m.files()).ok());
}

BOOST_AUTO_TEST_CASE(names_with_spaces_and_execute_bits_arrive) {
  const artifact_place here;
  const auto out = here.folder("out");
  here.write("built/k", "#!/bin/sh\necho 1\n", 0755);
  here.write("built/my kernel 1.bin", content(70'000, 'k'), 0640);
  here.write("built/lib/deep er/x.so", "so", 0700);
  here.write("built/empty", "");
  fs::create_directories(here.path + "/built/hollow");
  fs::create_symlink("k", here.path + "/built/alias");
  ::mkfifo((here.path + "/built/pipe").c_str(), 0600);
  ::chmod((here.path + "/built/lib").c_str(), 0555);
  const auto m = list_folder(here.path + "/built");
  ::chmod((here.path + "/built/lib").c_str(), 0755);
  BOOST_REQUIRE(m.ok());
  BOOST_TEST(m->files.size() == 8u); // the pipe is nothing that could be sent
  const auto into = opened(here.path + "/agent");
  wire_between w(into, small());
  w.sender.offer(*m, here.path + "/built");
  std::optional<status> done;
  w.receiver.want(*m, [&](const status& s) { done = s; });
  w.run();
  BOOST_REQUIRE(done.has_value());
  BOOST_TEST(done->ok());
  BOOST_TEST(w.most_in_flight <= 500u);
  const auto before = ::umask(0077);
  const auto laid = lay_out(*m, *into, out);
  ::umask(before);
  BOOST_REQUIRE_MESSAGE(laid.ok(), (laid.ok() ? "" : laid.err().message));
  BOOST_TEST(mode_of(out + "/k") == 0755);
  BOOST_TEST(mode_of(out + "/my kernel 1.bin") == 0640);
  BOOST_TEST(mode_of(out + "/lib/deep er/x.so") == 0700);
  BOOST_TEST(mode_of(out + "/lib") == 0555);
  BOOST_TEST(mode_of(out + "/lib/deep er") == 0755);
  BOOST_TEST(fs::read_symlink(out + "/alias") == "k");
  BOOST_TEST(fs::is_directory(out + "/hollow"));
  BOOST_TEST(read(out + "/my kernel 1.bin") == content(70'000, 'k'));
  BOOST_TEST(read(out + "/lib/deep er/x.so") == "so");
  BOOST_TEST(read(out + "/empty").empty());
  // Once more: nothing is sent.
  const auto sent = w.parts;
  done.reset();
  w.receiver.want(*m, [&](const status& s) { done = s; });
  BOOST_REQUIRE(done.has_value());
  BOOST_TEST(done->ok());
  BOOST_TEST(w.parts == sent);
  // What is there is not written over.
  BOOST_TEST(!lay_out(*m, *into, out).ok());
}

BOOST_AUTO_TEST_CASE(what_is_named_is_below_its_folder_and_a_file) {
  const artifact_place here;
  here.write("secret", "secret");
  here.write("built/real/k", "k", 0755);
  fs::create_symlink("../secret", here.path + "/built/link");
  for (const auto* bad : {"../secret", "/etc/passwd", "real", "real/.."})
    BOOST_TEST((list_files(here.path + "/built", {bad}).err().code == errc::invalid_spec), bad);
  BOOST_TEST((list_files(here.path + "/built", {"none"}).err().code == errc::io));
  ::mkfifo((here.path + "/built/pipe").c_str(), 0600);
  BOOST_TEST((list_files(here.path + "/built", {"pipe"}).err().code == errc::invalid_spec)); // and does not hang
  const auto m = list_files(here.path + "/built", {"./real//k", "link"});
  BOOST_REQUIRE(m.ok());
  BOOST_TEST((*m == manifest{{file("real/k", "k", 0755), file("link", "secret")}})); // whoever names a link means it
}

BOOST_AUTO_TEST_CASE(nothing_is_laid_out_through_a_link) {
  const artifact_place here;
  const auto store = opened(here.path + "/store");
  BOOST_REQUIRE(put(*store, "k").ok());
  // One that stands in the way.
  const auto out = here.folder("out"), outside = here.folder("outside");
  fs::create_symlink(outside, out + "/real");
  BOOST_TEST(!lay_out({{file("real/k", "k")}}, *store, out).ok());
  BOOST_TEST(!lay_out({{folder_entry("real", 0777)}}, *store, out).ok());
  BOOST_TEST(fs::is_empty(outside));
  // One of the same list.
  ::chmod(outside.c_str(), 0750);
  const auto link = linked("out", outside);
  for (const auto& below : {folder_entry("out/made"), file("out/made", "k"), folder_entry("out", 0777)})
    for (const auto& list : {manifest{{link, below}}, manifest{{below, link}}}) {
      const auto to = here.folder("to");
      BOOST_TEST(!lay_out(list, *store, to).ok());
      BOOST_TEST(fs::is_empty(outside));
      BOOST_TEST(mode_of(outside) == 0750);
      fs::remove_all(to);
    }
}

BOOST_AUTO_TEST_CASE(contents_are_there_when_all_has_come_and_is_right) {
  const artifact_place here;
  const auto store = opened(here.path + "/store");
  const auto text = content(1000, 'a');
  const auto d = sha256(text);
  BOOST_TEST(!store->has(d));
  {
    auto in = store->receive(d, text.size());
    BOOST_REQUIRE(in.ok());
    BOOST_TEST((*in)->append(text.substr(0, 999)).ok());
    BOOST_TEST(!store->has(d));
    BOOST_TEST(store->get(d)->has_value() == false);
    BOOST_TEST((*in)->append(text.substr(999)).ok());
    BOOST_TEST(store->has(d));
  }
  BOOST_TEST(got(*store, d) == text);
  // Wrong: nothing stays, and it may be tried again.
  const auto other = content(1000, 'b');
  {
    auto in = store->receive(sha256(other), 1000);
    BOOST_REQUIRE(in.ok());
    const auto bad = (*in)->append(text);
    BOOST_REQUIRE(!bad.ok());
    BOOST_TEST((bad.err().code == errc::network));
    BOOST_TEST(!(*in)->append("x").ok());
  }
  BOOST_TEST(!store->has(sha256(other)));
  BOOST_TEST(store->bytes() == 1000u);
  BOOST_TEST(put(*store, other).ok());
  // More than it was to be.
  const auto third = content(10, 'c');
  auto in = store->receive(sha256(third), 10);
  BOOST_TEST(!(*in)->append(third + "x").ok());
  BOOST_TEST(put(*store, "").ok());
  BOOST_TEST(store->has(sha256("")));
}

BOOST_AUTO_TEST_CASE(of_several_that_bring_the_same_the_first_at_the_end_counts) {
  const auto text = content(1000, 'a');
  const auto d = sha256(text);
  for (const bool second_wins : {false, true}) {
    const artifact_place here;
    const auto store = opened(here.path + "/store", 4000);
    auto first = *store->receive(d, text.size()), second = *store->receive(d, text.size());
    BOOST_TEST(store->bytes() == 2000u);
    BOOST_REQUIRE(first->append(text.substr(0, 600)).ok());
    BOOST_REQUIRE(second->append(text.substr(0, 300)).ok());
    auto& wins = second_wins ? second : first;
    auto& loses = second_wins ? first : second;
    BOOST_REQUIRE(wins->append(text.substr(wins->offset())).ok());
    BOOST_TEST(got(*store, d) == text);
    BOOST_REQUIRE(loses->append(text.substr(loses->offset())).ok());
    BOOST_TEST(got(*store, d) == text);
    first.reset();
    second.reset();
    BOOST_TEST(store->bytes() == 1000u);
    // Also where it is there already, and where it has gone meanwhile.
    auto third = *store->receive(d, text.size());
    BOOST_REQUIRE(put(*store, content(2500, 'b')).ok());
    BOOST_TEST(!store->has(d));
    BOOST_REQUIRE(third->append(text).ok());
    BOOST_TEST(got(*store, d) == text);
    third.reset();
    BOOST_TEST(store->bytes() == 3500u);
  }
}

BOOST_AUTO_TEST_CASE(who_brings_the_same_wrongly_or_not_to_its_end_takes_nothing_from_the_other) {
  const auto text = content(1000, 'a');
  const auto d = sha256(text);
  for (const bool wrong : {false, true})
    for (const bool second_ends : {false, true}) {
      const artifact_place here;
      const auto store = opened(here.path + "/store");
      auto first = *store->receive(d, wrong && second_ends ? 900 : 1000);
      auto second = *store->receive(d, wrong && !second_ends ? 900 : 1000);
      auto& good = second_ends ? second : first;
      auto& bad = second_ends ? first : second;
      BOOST_REQUIRE(good->append(text.substr(0, 10)).ok());
      BOOST_TEST(bad->append(content(900, 'c')).ok() == !wrong);
      bad.reset();
      BOOST_REQUIRE(good->append(text.substr(10)).ok());
      good.reset();
      BOOST_TEST(got(*store, d) == text);
      BOOST_TEST(store->bytes() == 1000u);
      BOOST_TEST(std::distance(fs::directory_iterator(here.path + "/store"), {}) == 2); // and its owner's mark
    }
}

BOOST_AUTO_TEST_CASE(two_connections_bring_the_same_at_once) {
  const artifact_place here;
  const auto text = content(5000, 'r');
  here.write("a/k", text);
  const manifest m{{file("k", text)}};
  const auto store = opened(here.path + "/store");
  std::vector<std::string> told;
  wire_between one(store, small()), two(store, small());
  for (auto* w : {&one, &two}) {
    w->sender.offer(m, here.path + "/a");
    w->receiver.want(m, [&](const status& s) { told.push_back(s ? "good" : s.err().message); });
  }
  two.step();
  one.run();
  two.run();
  BOOST_TEST(told == (std::vector<std::string>{"good", "good"}), per_element);
  BOOST_TEST(got(*store, sha256(text)) == text);
}

BOOST_AUTO_TEST_CASE(what_was_broken_off_goes_on_where_it_was) {
  const artifact_place here;
  const auto text = content(5000, 'r');
  const auto d = sha256(text);
  {
    const auto store = opened(here.path + "/store");
    auto in = store->receive(d, text.size());
    BOOST_REQUIRE((*in)->append(text.substr(0, 3000)).ok());
  }
  {
    const auto store = opened(here.path + "/store"); // another process, later
    BOOST_TEST(!store->has(d));
    BOOST_TEST(store->bytes() == 3000u);
    auto in = store->receive(d, text.size());
    BOOST_REQUIRE(in.ok());
    BOOST_TEST((*in)->offset() == 3000u);
    BOOST_REQUIRE((*in)->append(text.substr(3000)).ok());
    BOOST_TEST(got(*store, d) == text);
    BOOST_TEST(store->bytes() == 5000u);
  }
  // And over the wire: only the rest is sent.
  const auto agent = opened(here.path + "/agent");
  here.write("hub/k", text);
  const manifest m{{file("k", text)}};
  std::vector<std::string> told;
  {
    wire_between w(agent, small());
    w.sender.offer(m, here.path + "/hub");
    w.receiver.want(m, [&](const status& s) { told.push_back(s ? "good" : s.err().message); });
    for (int i = 0; i < 20; ++i) w.step();
    w.receiver.fail({errc::network, "cut", {}});
  }
  BOOST_TEST(told == std::vector<std::string>{"cut"}, per_element);
  wire_between w(agent, small());
  w.sender.offer(m, here.path + "/hub");
  w.receiver.want(m, [&](const status& s) { told.push_back(s ? "good" : s.err().message); });
  w.run();
  BOOST_TEST(told.back() == "good");
  BOOST_TEST(w.bytes == 3000u);
  BOOST_TEST(got(*agent, d) == text);
}

BOOST_AUTO_TEST_CASE(a_part_that_was_spoilt_on_disk_is_noticed_and_sent_anew) {
  const artifact_place here;
  const auto text = content(1000, 'r');
  const auto store = opened(here.path + "/store");
  {
    auto in = store->receive(sha256(text), text.size());
    BOOST_REQUIRE((*in)->append(text.substr(0, 600)).ok());
  }
  here.write("store/" + sha256(text).hex() + ".part", content(600, 'z'), 0600);
  {
    auto in = store->receive(sha256(text), text.size());
    BOOST_REQUIRE(in.ok());
    BOOST_TEST((*in)->offset() == 600u);
    BOOST_TEST(!(*in)->append(text.substr(600)).ok());
  }
  BOOST_TEST(put(*store, text).ok());
}

BOOST_AUTO_TEST_CASE(torn_files_are_never_served) {
  const artifact_place here;
  const auto text = content(1000, 'a'), cut = content(2000, 'b'), spoilt = content(3000, 'c');
  {
    const auto store = opened(here.path + "/store");
    for (const auto& t : {text, cut, spoilt}) BOOST_REQUIRE(put(*store, t).ok());
  }
  fs::resize_file(here.path + "/store/" + sha256(cut).hex(), 1999);
  auto wrong = spoilt;
  wrong[1500] ^= 1;
  here.write("store/" + sha256(spoilt).hex(), wrong, 0600);
  here.write("store/foreign", "x", 0600);
  const auto store = opened(here.path + "/store");
  BOOST_TEST(got(*store, sha256(text)) == text);
  BOOST_TEST(!store->has(sha256(cut)));
  BOOST_TEST(!store->has(sha256(spoilt)));
  BOOST_TEST(store->bytes() == 1000u);
  BOOST_TEST(!fs::exists(here.path + "/store/" + sha256(spoilt).hex()));
  BOOST_TEST(fs::exists(here.path + "/store/foreign"));
  BOOST_TEST(put(*store, spoilt).ok());
}

BOOST_AUTO_TEST_CASE(the_longest_unused_goes_and_what_is_held_stays) {
  const artifact_place here;
  const auto a = content(400, 'a'), b = content(400, 'b'), c = content(400, 'c'), d = content(400, 'd');
  {
    const auto store = opened(here.path + "/store", 1000);
    BOOST_REQUIRE(put(*store, a).ok());
    BOOST_REQUIRE(put(*store, b).ok());
    BOOST_TEST(store->has(sha256(a))); // used
    BOOST_REQUIRE(put(*store, c).ok());
    BOOST_TEST(store->has(sha256(a)));
    BOOST_TEST(!store->has(sha256(b)));
    BOOST_TEST(store->bytes() == 800u);
    {
      const auto held = store->get(sha256(a));
      BOOST_TEST(store->has(sha256(c)));
      BOOST_REQUIRE(put(*store, d).ok());
      BOOST_TEST(store->has(sha256(a)));
      BOOST_TEST(!store->has(sha256(c)));
      const auto too = store->get(sha256(d));
      const auto full = put(*store, c);
      BOOST_REQUIRE(!full.ok());
      BOOST_TEST(says(full.err().message, "in use"));
    }
    BOOST_TEST(put(*store, c).ok());
    const auto large = put(*store, content(1001, 'x'));
    BOOST_REQUIRE(!large.ok());
    BOOST_TEST(says(large.err().message, "do not fit"));
  }
  // The next process goes on with it, and with another bound.
  const auto store = opened(here.path + "/store", 500);
  BOOST_TEST(store->bytes() == 400u);
  BOOST_TEST(store->has(sha256(c)));
}

BOOST_AUTO_TEST_CASE(many_small_contents_are_bounded_by_their_number) {
  const artifact_place here;
  for (const bool again : {false, true}) {
    const auto store = *artifact_store::open(here.path + "/store", 1u << 20, 3);
    for (char c = again ? 'e' : 'a'; c <= 'f'; ++c) BOOST_REQUIRE(put(*store, std::string(1, c)).ok());
    for (const char c : {'d', 'e', 'f'}) BOOST_TEST(store->has(sha256(std::string(1, c))));
    BOOST_TEST(!store->has(sha256("c")));
    BOOST_TEST(store->bytes() == 3u);
  }
  BOOST_TEST((*artifact_store::open(here.path + "/store", 1u << 20, 2))->bytes() == 2u);
}

BOOST_AUTO_TEST_CASE(a_folder_has_one_owner) {
  const artifact_place here;
  const auto store = opened(here.path + "/store");
  const auto second = artifact_store::open(here.path + "/store", 1000);
  BOOST_REQUIRE(!second.ok());
  BOOST_TEST(says(second.err().message, "in use by another process"));
}

BOOST_AUTO_TEST_CASE(several_that_want_the_same_get_it_sent_once) {
  const artifact_place here;
  const auto agent = opened(here.path + "/agent");
  const auto one = content(1000, 'a'), two = content(250, 'b');
  for (const auto* name : {"a", "again", "x/a"}) here.write(std::string("hub/") + name, one);
  here.write("hub/b", two);
  const manifest first{{file("a", one), file("again", one)}}, second{{file("b", two), file("x/a", one)}};
  wire_between w(agent, small());
  w.sender.offer(first, here.path + "/hub");
  w.sender.offer(second, here.path + "/hub");
  int done = 0;
  const auto count = [&](const status& s) { done += s.ok() ? 1 : 100; };
  w.receiver.want(first, count);
  w.step();
  w.receiver.want(second, count);
  w.receiver.want(second, count);
  w.run();
  BOOST_TEST(done == 3);
  BOOST_TEST(w.bytes == 1250u);
  BOOST_TEST(w.receiver.idle());
}

BOOST_AUTO_TEST_CASE(what_is_gone_fails_alone) {
  const artifact_place here;
  const auto agent = opened(here.path + "/agent");
  const auto one = content(1000, 'a'), gone = content(900, 'b');
  here.write("hub/a", one);
  wire_between w(agent, small());
  const manifest with{{file("b", gone), file("a", one)}}, without{{file("a", one)}};
  w.sender.offer(with, here.path + "/hub");
  std::vector<std::string> told;
  w.receiver.want(with, [&](const status& s) { told.push_back(s ? "good" : to_string(s.err().code)); });
  w.receiver.want(without, [&](const status& s) { told.push_back(s ? "good" : to_string(s.err().code)); });
  w.run();
  BOOST_REQUIRE(told.size() == 2u);
  BOOST_TEST(std::count(told.begin(), told.end(), "not_found") == 1);
  BOOST_TEST(std::count(told.begin(), told.end(), "good") == 1);
  // It is there again, and is wanted again.
  here.write("hub/b", gone);
  w.receiver.want(with, [&](const status& s) { told.push_back(s ? "good" : to_string(s.err().code)); });
  w.run();
  BOOST_TEST(told.back() == "good");
}

BOOST_AUTO_TEST_CASE(who_asks_for_what_is_not_offered_or_too_much_is_refused) {
  const artifact_place here;
  const auto one = content(1000, 'a'), secret = content(1000, 's');
  here.write("hub/a", one);
  here.write("hub/s", secret);
  artifact_sender sender;
  const manifest m{{file("a", one)}};
  sender.offer(m, here.path + "/hub");
  bool gone = false;
  const auto ask = [&](const digest& d, std::uint64_t offset, std::uint32_t length) {
    wire::v1::ArtifactFetch f;
    f.set_sha256(d.view().data(), d.view().size());
    f.set_offset(offset);
    f.set_length(length);
    wire::v1::ArtifactPart p;
    gone = false;
    const bool good = sender.answer(f, p).ok();
    gone = p.gone();
    return good;
  };
  BOOST_TEST(ask(sha256(one), 0, 1000));
  BOOST_TEST(!gone);
  BOOST_TEST(ask(sha256(one), 999, 1));
  BOOST_TEST(!ask(sha256(secret), 0, 10)); // though it is there
  BOOST_TEST(!ask(sha256(one), 0, 0));
  BOOST_TEST(!ask(sha256(one), 0, 1001));
  BOOST_TEST(!ask(sha256(one), 1001, 1));
  BOOST_TEST(!ask(sha256(one), ~std::uint64_t{0}, 2));
  BOOST_TEST(!ask(sha256(one), 0, (1u << 20) + 1));
  wire::v1::ArtifactFetch bad;
  bad.set_sha256("x");
  wire::v1::ArtifactPart p;
  BOOST_TEST(!sender.answer(bad, p).ok());
  sender.offer(m, here.path + "/hub");
  sender.withdraw(m, here.path + "/hub");
  BOOST_TEST(ask(sha256(one), 0, 10));
  BOOST_TEST(!gone);
  // The ask may have been on its way: that is no offence, and nothing is given.
  sender.withdraw(m, here.path + "/hub");
  BOOST_TEST(ask(sha256(one), 0, 10));
  BOOST_TEST(gone);
  // What is not as it was listed is not given either, as far as its size tells.
  sender.offer(m, here.path + "/hub");
  here.write("hub/a", one + "x");
  BOOST_TEST(ask(sha256(one), 0, 10));
  BOOST_TEST(gone);
  // Only the last of what was withdrawn is remembered.
  for (std::size_t i = 0; i <= artifact_sender::withdrawn_most; ++i) {
    const manifest other{{file("x", std::to_string(i))}};
    sender.offer(other, "/nowhere");
    sender.withdraw(other, "/nowhere");
  }
  BOOST_TEST(!ask(sha256("0"), 0, 1));
  BOOST_TEST(ask(sha256("1"), 0, 1));
}

BOOST_AUTO_TEST_CASE(a_part_is_the_same_message_however_it_is_written_and_read) {
  const artifact_place here;
  const auto one = content(70'000, 'a');
  here.write("hub/a", one);
  artifact_sender sender;
  sender.offer({{file("a", one), file("gone", "never there")}}, here.path + "/hub");
  for (const auto& [offset, length] :
       {std::pair<std::uint64_t, std::uint32_t>{0, 1}, {0, 127}, {1, 128}, {300, 16'384}, {69'999, 1}, {0, 70'000}}) {
    wire::v1::ArtifactFetch ask;
    ask.set_sha256(std::string(sha256(one).view()));
    ask.set_offset(offset);
    ask.set_length(length);
    wire::v1::Envelope plain, parsed;
    std::string bytes;
    BOOST_REQUIRE(sender.answer(ask, *plain.mutable_artifact_part()).ok());
    BOOST_REQUIRE(sender.answer(ask, bytes).ok());
    BOOST_REQUIRE(parsed.ParseFromString(bytes));
    BOOST_TEST(parsed.SerializeAsString() == plain.SerializeAsString());
    const auto part = read_part(bytes);
    BOOST_REQUIRE(part.has_value());
    BOOST_TEST((part->data == std::string_view(one).substr(offset, length)));
    BOOST_TEST(part->offset == offset);
    BOOST_TEST(part->sha256 == sha256(one).view());
    for (const auto n : {std::size_t{0}, std::size_t{1}, bytes.size() / 2, bytes.size() - 1})
      BOOST_TEST(!read_part(std::string_view(bytes).substr(0, n)).has_value());
    BOOST_TEST(!read_part(bytes + "x").has_value());
  }
  wire::v1::ArtifactFetch ask;
  ask.set_sha256(std::string(sha256("never there").view()));
  ask.set_length(5);
  std::string bytes;
  BOOST_REQUIRE(sender.answer(ask, bytes).ok());
  BOOST_REQUIRE(read_part(bytes).has_value());
  BOOST_TEST(read_part(bytes)->gone);
  wire::v1::Envelope other;
  other.mutable_ping();
  BOOST_TEST(!read_part(other.SerializeAsString()).has_value());
}

BOOST_AUTO_TEST_CASE(parts_that_were_not_asked_for_end_the_connection) {
  const artifact_place here;
  const auto agent = opened(here.path + "/agent");
  const auto one = content(300, 'a');
  const manifest m{{file("a", one)}};
  const auto take = [&](const digest& d, std::uint64_t offset, const std::string& data, bool gone = false) {
    std::deque<wire::v1::ArtifactFetch> asks;
    artifact_receiver r(
        agent, [&](const wire::v1::ArtifactFetch& f) { asks.push_back(f); }, small());
    r.want(m, [](const status&) {});
    BOOST_REQUIRE(asks.size() == 3u);
    wire::v1::ArtifactPart p;
    p.set_sha256(d.view().data(), d.view().size());
    p.set_offset(offset);
    p.set_data(data);
    p.set_gone(gone);
    return r.take(p).ok();
  };
  BOOST_TEST(!take(sha256("other"), 0, one.substr(0, 100)));
  BOOST_TEST(!take(sha256(one), 100, one.substr(100, 100))); // not the oldest
  BOOST_TEST(!take(sha256(one), 0, one.substr(0, 99)));
  BOOST_TEST(!take(sha256(one), 0, one.substr(0, 101)));
  BOOST_TEST(!take(sha256(one), 0, one.substr(0, 100), true));
  BOOST_TEST(take(sha256(one), 0, one.substr(0, 100)));
  artifact_receiver idle(
      agent, [](const wire::v1::ArtifactFetch&) {}, small());
  wire::v1::ArtifactPart p;
  p.set_sha256(sha256(one).view().data(), 32);
  BOOST_TEST(!idle.take(p).ok());
}

BOOST_AUTO_TEST_CASE(wrong_contents_fail_when_they_have_come_and_the_next_go_on) {
  const artifact_place here;
  const auto agent = opened(here.path + "/agent");
  const auto one = content(300, 'a'), two = content(300, 'b');
  std::deque<wire::v1::ArtifactFetch> asks;
  artifact_receiver r(
      agent, [&](const wire::v1::ArtifactFetch& f) { asks.push_back(f); }, small());
  std::vector<std::string> told;
  const auto tell = [&](const status& s) { told.push_back(s ? "good" : to_string(s.err().code)); };
  r.want({{file("a", one)}}, tell);
  r.want({{file("b", two)}}, tell);
  while (!asks.empty()) {
    const auto ask = asks.front();
    asks.pop_front();
    wire::v1::ArtifactPart p;
    p.set_sha256(ask.sha256());
    p.set_offset(ask.offset());
    p.set_data(two.substr(ask.offset(), ask.length())); // of either
    BOOST_REQUIRE(r.take(p).ok());
  }
  BOOST_TEST(told == (std::vector<std::string>{"network", "good"}), per_element);
  BOOST_TEST(r.idle());
  BOOST_TEST(r.in_flight() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
