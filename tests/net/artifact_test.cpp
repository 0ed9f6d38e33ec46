#include "net/artifact_store.hpp"
#include "net/artifact_transfer.hpp"
#include "net/manifest.hpp"
#include "tests/net/says.hpp"

#include <boost/test/unit_test.hpp>
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
  std::string out((*p)->size(), '\0');
  BOOST_REQUIRE((*p)->read(0, out.data(), out.size()).ok());
  return out;
}

artifact_file file(const std::string& path, const std::string& text, bool executable = false) {
  return {path, sha256(text), text.size(), executable};
}

/// Both ends, and the messages between them.
struct wire_between {
  std::shared_ptr<artifact_store> here;
  artifact_sender sender;
  std::deque<wire::v1::ArtifactFetch> asks;
  artifact_receiver receiver;
  std::uint64_t bytes = 0, most_in_flight = 0;
  std::size_t parts = 0;

  wire_between(const std::shared_ptr<artifact_store>& from, const std::shared_ptr<artifact_sink>& into,
               const transfer_limits& limits = {})
      : here(from),
        sender(from),
        receiver(
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
  BOOST_TEST(says(check({{file("a", "1"), file("a/b", "2")}}).err().message, "a file and a folder"));
  BOOST_TEST(says(check({{file("a", "1"), file("a!b", "3"), file("a-b", "3"), file("a/b", "2")}}).err().message,
                  "a file and a folder")); // others stand between them
  BOOST_TEST(says(check({{file("../a", "1")}}).err().message, "does not stay below"));
  manifest many;
  for (std::size_t i = 0; i <= manifest::files_most; ++i) many.files.push_back(file(std::to_string(i), ""));
  BOOST_TEST(!check(many).ok());
  auto huge = file("a", "1");
  huge.size = ~std::uint64_t{0};
  BOOST_TEST(!check({{huge}}).ok());
  // Over the wire too.
  wire::v1::ArtifactManifest m;
  to({{file("a b", "1", true)}}, m);
  const auto back = from(m);
  BOOST_REQUIRE(back.ok());
  BOOST_TEST((*back == manifest{{file("a b", "1", true)}}));
  m.mutable_files(0)->set_path("/etc/passwd");
  BOOST_TEST(!from(m).ok());
  m.mutable_files(0)->set_path("a");
  m.mutable_files(0)->set_sha256("short");
  BOOST_TEST(!from(m).ok());
}

BOOST_AUTO_TEST_CASE(an_artifact_is_known_by_all_that_is_in_it) {
  const manifest one{{file("a", "1"), file("b", "2")}};
  BOOST_TEST((one.id() == manifest{{file("b", "2"), file("a", "1")}}.id()));
  BOOST_TEST((one.id() != manifest{{file("a", "2"), file("b", "1")}}.id()));
  BOOST_TEST((one.id() != manifest{{file("a", "1"), file("b", "2", true)}}.id()));
  BOOST_TEST((one.id() != manifest{{file("a", "1")}}.id()));
  BOOST_TEST((manifest{{file("ab", "1")}}.id() != manifest{{file("a", "1")}}.id()));
}

BOOST_AUTO_TEST_CASE(names_with_spaces_and_execute_bits_arrive) {
  const artifact_place here;
  const auto out = here.folder("out");
  here.write("built/k", "#!/bin/sh\necho 1\n", 0755);
  here.write("built/my kernel 1.bin", content(70'000, 'k'), 0640);
  here.write("built/lib/deep er/x.so", "so", 0700);
  here.write("built/empty", "");
  const auto from_store = opened(here.path + "/hub"), into = opened(here.path + "/agent");
  const auto m = take_in(*from_store, here.path + "/built", {"k", "my kernel 1.bin", "lib/deep er/x.so", "empty"});
  BOOST_REQUIRE(m.ok());
  wire_between w(from_store, into, small());
  w.sender.offer(*m);
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
  const auto mode = [&](const std::string& name) {
    struct stat s {};
    BOOST_REQUIRE(::stat((out + "/" + name).c_str(), &s) == 0);
    return static_cast<int>(s.st_mode & 0777);
  };
  BOOST_TEST(mode("k") == 0755);
  BOOST_TEST(mode("my kernel 1.bin") == 0644);
  BOOST_TEST(mode("lib/deep er/x.so") == 0755);
  BOOST_TEST(mode("lib/deep er") == 0755);
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

BOOST_AUTO_TEST_CASE(links_are_neither_sent_nor_followed) {
  const artifact_place here;
  const auto store = opened(here.path + "/store");
  here.write("secret", "secret");
  here.write("built/real/k", "k");
  fs::create_symlink("../secret", here.path + "/built/link");
  fs::create_symlink("real", here.path + "/built/folder");
  for (const auto* name : {"link", "folder/k"}) {
    const auto m = take_in(*store, here.path + "/built", {name});
    BOOST_REQUIRE(!m.ok());
    BOOST_TEST((m.err().code == errc::invalid_spec));
    BOOST_TEST(says(m.err().message, "symbolic link"));
  }
  BOOST_TEST((take_in(*store, here.path + "/built", {"../secret"}).err().code == errc::invalid_spec));
  BOOST_TEST((take_in(*store, here.path + "/built", {"/etc/passwd"}).err().code == errc::invalid_spec));
  BOOST_TEST((take_in(*store, here.path + "/built", {"real"}).err().code == errc::invalid_spec));
  BOOST_TEST((take_in(*store, here.path + "/built", {"none"}).err().code == errc::io));
  ::mkfifo((here.path + "/built/pipe").c_str(), 0600);
  BOOST_TEST((take_in(*store, here.path + "/built", {"pipe"}).err().code == errc::invalid_spec)); // and does not hang
  // A link that stands in the way where it is laid out.
  const auto m = take_in(*store, here.path + "/built", {"real/k"});
  BOOST_REQUIRE(m.ok());
  const auto out = here.folder("out"), outside = here.folder("outside");
  fs::create_symlink(outside, out + "/real");
  BOOST_TEST(!lay_out(*m, *store, out).ok());
  BOOST_TEST(fs::is_empty(outside));
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
    BOOST_TEST((store->receive(d, text.size()).err().code == errc::io)); // under way
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
  const auto hub = opened(here.path + "/hub"), agent = opened(here.path + "/agent");
  BOOST_REQUIRE(put(*hub, text).ok());
  const manifest m{{file("k", text)}};
  std::vector<std::string> told;
  {
    wire_between w(hub, agent, small());
    w.sender.offer(m);
    w.receiver.want(m, [&](const status& s) { told.push_back(s ? "good" : s.err().message); });
    for (int i = 0; i < 20; ++i) w.step();
    w.receiver.fail({errc::network, "cut", {}});
  }
  BOOST_TEST(told == std::vector<std::string>{"cut"}, boost::test_tools::per_element());
  wire_between w(hub, agent, small());
  w.sender.offer(m);
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
  here.write("store/new.7", "left behind", 0600);
  here.write("store/foreign", "x", 0600);
  const auto store = opened(here.path + "/store");
  BOOST_TEST(got(*store, sha256(text)) == text);
  BOOST_TEST(!store->has(sha256(cut)));
  BOOST_TEST(!store->has(sha256(spoilt)));
  BOOST_TEST(store->bytes() == 1000u);
  BOOST_TEST(!fs::exists(here.path + "/store/" + sha256(spoilt).hex()));
  BOOST_TEST(!fs::exists(here.path + "/store/new.7"));
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

BOOST_AUTO_TEST_CASE(a_folder_has_one_owner) {
  const artifact_place here;
  const auto store = opened(here.path + "/store");
  const auto second = artifact_store::open(here.path + "/store", 1000);
  BOOST_REQUIRE(!second.ok());
  BOOST_TEST(says(second.err().message, "in use by another process"));
}

BOOST_AUTO_TEST_CASE(several_that_want_the_same_get_it_sent_once) {
  const artifact_place here;
  const auto hub = opened(here.path + "/hub"), agent = opened(here.path + "/agent");
  const auto one = content(1000, 'a'), two = content(250, 'b');
  for (const auto& t : {one, two}) BOOST_REQUIRE(put(*hub, t).ok());
  const manifest first{{file("a", one), file("again", one)}}, second{{file("b", two), file("x/a", one)}};
  wire_between w(hub, agent, small());
  w.sender.offer(first);
  w.sender.offer(second);
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
  const auto hub = opened(here.path + "/hub"), agent = opened(here.path + "/agent");
  const auto one = content(1000, 'a'), gone = content(900, 'b');
  BOOST_REQUIRE(put(*hub, one).ok());
  wire_between w(hub, agent, small());
  const manifest with{{file("b", gone), file("a", one)}}, without{{file("a", one)}};
  w.sender.offer(with);
  std::vector<std::string> told;
  w.receiver.want(with, [&](const status& s) { told.push_back(s ? "good" : to_string(s.err().code)); });
  w.receiver.want(without, [&](const status& s) { told.push_back(s ? "good" : to_string(s.err().code)); });
  w.run();
  BOOST_REQUIRE(told.size() == 2u);
  BOOST_TEST(std::count(told.begin(), told.end(), "not_found") == 1);
  BOOST_TEST(std::count(told.begin(), told.end(), "good") == 1);
  // It is there again, and is wanted again.
  BOOST_REQUIRE(put(*hub, gone).ok());
  w.receiver.want(with, [&](const status& s) { told.push_back(s ? "good" : to_string(s.err().code)); });
  w.run();
  BOOST_TEST(told.back() == "good");
}

BOOST_AUTO_TEST_CASE(who_asks_for_what_is_not_offered_or_too_much_is_refused) {
  const artifact_place here;
  const auto hub = opened(here.path + "/hub");
  const auto one = content(1000, 'a'), secret = content(1000, 's');
  for (const auto& t : {one, secret}) BOOST_REQUIRE(put(*hub, t).ok());
  artifact_sender sender(hub);
  const manifest m{{file("a", one)}};
  sender.offer(m);
  const auto ask = [&](const digest& d, std::uint64_t offset, std::uint32_t length) {
    wire::v1::ArtifactFetch f;
    f.set_sha256(d.view().data(), d.view().size());
    f.set_offset(offset);
    f.set_length(length);
    wire::v1::ArtifactPart p;
    return sender.answer(f, p).ok();
  };
  BOOST_TEST(ask(sha256(one), 0, 1000));
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
  sender.offer(m);
  sender.withdraw(m);
  BOOST_TEST(ask(sha256(one), 0, 10));
  sender.withdraw(m);
  BOOST_TEST(!ask(sha256(one), 0, 10));
}

BOOST_AUTO_TEST_CASE(a_part_is_the_same_message_however_it_is_written_and_read) {
  const artifact_place here;
  const auto hub = opened(here.path + "/hub");
  const auto one = content(70'000, 'a');
  BOOST_REQUIRE(put(*hub, one).ok());
  artifact_sender sender(hub);
  sender.offer({{file("a", one), file("gone", "never there")}});
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
  BOOST_TEST(told == (std::vector<std::string>{"network", "good"}), boost::test_tools::per_element());
  BOOST_TEST(r.idle());
  BOOST_TEST(r.in_flight() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
