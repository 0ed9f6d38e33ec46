#include "net/tokens.hpp"
#include "tests/net/says.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <unistd.h>

using namespace attune;
using namespace attune::net;
using namespace std::chrono_literals;
using why = verdict::why;

namespace {

template <std::size_t N>
std::string_view bytes_of(const std::array<std::uint8_t, N>& a) {
  return {reinterpret_cast<const char*>(a.data()), N};
}

struct tokens_place {
  std::string path;
  tokens_place() {
    std::string name = (std::filesystem::temp_directory_path() / "attune-tokens-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~tokens_place() { std::filesystem::remove_all(path); }
  token_book book() const {
    auto folder = private_folder::open(hub_folder(path), true);
    BOOST_REQUIRE(folder.ok());
    auto out = token_book::open(std::move(*folder));
    BOOST_REQUIRE(out.ok());
    return std::move(*out);
  }
  std::string contents() const {
    std::ifstream in(hub_folder(path) + "/tokens", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

why presented(token_book& book, const token& t, nanoseconds now = 5s) {
  return book.admit(bytes_of(t.id), bytes_of(t.secret), now).reason;
}

token make(token_book& book, token_role role = token_role::agent, const std::string& name = "board1") {
  auto t = book.create(role, name, sha256("certificate"), 1s);
  BOOST_REQUIRE(t.ok());
  return *t;
}

} // namespace

BOOST_AUTO_TEST_SUITE(tokens)

BOOST_AUTO_TEST_CASE(the_text_of_a_token_comes_back) {
  for (const bool pinned : {true, false}) {
    const auto made = make_token(pinned ? std::optional(sha256("x")) : std::nullopt);
    BOOST_REQUIRE(made.ok());
    const auto text = made->text();
    BOOST_TEST(text.size() == 107u);
    BOOST_TEST(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
               std::string::npos);
    for (const auto& pasted : {text, "  " + text + " \n", text + "\r\n"}) {
      const auto read = parse_token(pasted);
      BOOST_REQUIRE(read.ok());
      BOOST_TEST((read->id == made->id));
      BOOST_TEST((read->secret == made->secret));
      BOOST_TEST((read->hub == made->hub));
    }
  }
  const auto one = make_token({}), other = make_token({});
  BOOST_TEST((one->secret != other->secret));
}

BOOST_AUTO_TEST_CASE(what_was_cut_off_or_changed_is_seen_and_not_repeated) {
  const auto text = make_token(sha256("x"))->text();
  const auto refused = [&](const std::string& pasted) {
    const auto t = parse_token(pasted);
    BOOST_REQUIRE_MESSAGE(!t.ok(), pasted);
    BOOST_TEST((t.err().code == errc::invalid_spec));
    if (pasted.size() > 20) BOOST_TEST(!says(t.err().message, pasted.substr(10, 10)));
    return t.err().message;
  };
  for (std::size_t n = 7; n < text.size(); ++n) BOOST_TEST(says(refused(text.substr(0, n)), "is cut off"));
  for (std::size_t i = 7; i < text.size(); ++i)
    for (const char c : {'A', 'b', '_', '0'}) {
      auto changed = text;
      if (changed[i] == c) continue;
      changed[i] = c;
      BOOST_TEST(says(refused(changed), "damaged"));
    }
  for (std::size_t i = 7; i + 1 < text.size(); ++i) {
    auto swapped = text;
    if (swapped[i] == swapped[i + 1]) continue;
    std::swap(swapped[i], swapped[i + 1]);
    BOOST_TEST(says(refused(swapped), "damaged"));
  }
  BOOST_TEST(says(refused(text + "x"), "more than a token"));
  BOOST_TEST(says(refused(""), "not a token"));
  BOOST_TEST(says(refused("password"), "not a token"));
  auto foreign = text;
  foreign[50] = '+';
  BOOST_TEST(says(refused(foreign), "damaged"));
}

BOOST_AUTO_TEST_CASE(a_token_file_is_for_its_owner_alone) {
  const tokens_place here;
  const auto t = make_token({});
  const auto path = here.path + "/token";
  std::ofstream(path) << t->text() << "\n# board1\n";
  ::chmod(path.c_str(), 0600);
  BOOST_REQUIRE(read_token_file(path).ok());
  BOOST_TEST((read_token_file(path)->secret == t->secret));
  ::chmod(path.c_str(), 0640);
  BOOST_TEST(says(read_token_file(path).err().message, "chmod 600"));
  ::chmod(path.c_str(), 0600);
  std::ofstream(path) << t->text().substr(0, 60);
  BOOST_TEST(says(read_token_file(path).err().message, "cut off"));
  BOOST_TEST(says(read_token_file(here.path + "/none").err().message, "No such file"));
}

BOOST_AUTO_TEST_CASE(a_hub_lets_in_whom_it_knows_and_nobody_else) {
  const tokens_place here;
  auto book = here.book();
  const auto t = make(book);
  const auto v = book.admit(bytes_of(t.id), bytes_of(t.secret), 5s);
  BOOST_TEST(bool(v));
  BOOST_TEST((v.role == token_role::agent));
  BOOST_TEST(v.name == "board1");
  BOOST_TEST(v.id == t.id_text());
  // The log tells them apart.
  auto wrong = t;
  wrong.secret[31] ^= 1;
  BOOST_TEST((presented(book, wrong) == why::wrong_secret));
  auto unknown = t;
  unknown.id[0] ^= 1;
  BOOST_TEST((presented(book, unknown) == why::unknown));
  BOOST_TEST((book.admit("", "", 5s).reason == why::malformed));
  BOOST_TEST((book.admit(bytes_of(t.id), bytes_of(t.secret).substr(1), 5s).reason == why::malformed));
  BOOST_REQUIRE(book.revoke(t.id_text(), 9s).ok());
  BOOST_TEST((presented(book, t) == why::revoked));
  BOOST_TEST((presented(book, wrong) == why::wrong_secret)); // who does not know it does not learn that it was one
  // The peer cannot.
  BOOST_TEST(refused_token().message == "the token is not accepted");
  std::set<std::string> words;
  for (const auto w : {why::good, why::malformed, why::unknown, why::wrong_secret, why::revoked})
    words.insert(to_string(w));
  BOOST_TEST(words.size() == 5u);
}

BOOST_AUTO_TEST_CASE(what_is_kept_is_no_token) {
  const tokens_place here;
  auto book = here.book();
  const auto t = make(book);
  const auto kept = here.contents();
  BOOST_TEST(!kept.empty());
  BOOST_TEST(!says(kept, bytes_of(t.secret)));
  BOOST_TEST(!says(kept, sha256(bytes_of(t.secret)).view())); // nor what the same secret would be elsewhere
  BOOST_TEST(!says(kept, t.text().substr(7)));
  struct stat s {};
  BOOST_REQUIRE(::stat((hub_folder(here.path) + "/tokens").c_str(), &s) == 0);
  BOOST_TEST((s.st_mode & 0777) == 0600u);
  // A file that others could read may be known to them.
  ::chmod((hub_folder(here.path) + "/tokens").c_str(), 0644);
  auto folder = private_folder::open(hub_folder(here.path), false);
  BOOST_REQUIRE(folder.ok());
  BOOST_TEST(!token_book::open(std::move(*folder)).ok());
}

BOOST_AUTO_TEST_CASE(several_processes_see_what_each_changes) {
  const tokens_place here;
  auto hub = here.book(), person = here.book();
  const auto t = make(person);
  BOOST_TEST((presented(hub, t) == why::good));
  BOOST_TEST(hub.stands(t.id_text()));
  BOOST_REQUIRE(person.revoke(t.id_text(), 7s).ok());
  BOOST_TEST(!hub.stands(t.id_text()));
  BOOST_TEST((presented(hub, t) == why::revoked));
  BOOST_TEST(!hub.stands("000000000000"));
  // Revoked once: the time stays.
  const auto again = hub.revoke(t.id_text(), 99s);
  BOOST_REQUIRE(again.ok());
  BOOST_TEST((again->revoked == 7s));
  BOOST_TEST((hub.revoke("nobody", 1s).err().code == errc::not_found));
  // The uses of the one do not undo what the other wrote.
  const auto u = make(hub, token_role::client, "me");
  BOOST_TEST((presented(hub, u, 50s) == why::good));
  const auto w = make(person, token_role::admin, "root");
  BOOST_REQUIRE(hub.write_uses().ok());
  const auto all = person.list();
  BOOST_REQUIRE(all.ok());
  BOOST_REQUIRE(all->size() == 3u);
  BOOST_TEST(((*all)[0].revoked == 7s));
  BOOST_TEST(((*all)[1].used == 50s));
  BOOST_TEST(((*all)[1].created == 1s));
  BOOST_TEST((*all)[2].id_text() == w.id_text());
  BOOST_TEST(((*all)[2].used == 0s));
}

BOOST_AUTO_TEST_CASE(many_processes_make_tokens_at_once_and_none_is_lost) {
  const tokens_place here;
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    const auto pid = ::fork();
    if (pid == 0) {
      bool good = true;
      auto folder = private_folder::open(hub_folder(here.path), true);
      auto book = folder ? token_book::open(std::move(*folder)) : result<token_book>(folder.err());
      for (int i = 0; i < 5 && good; ++i)
        good = book.ok() && book->create(token_role::agent, "n" + std::to_string(c), {}, 1s).ok();
      ::_exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const auto pid : children) {
    int how = 1;
    BOOST_TEST(::waitpid(pid, &how, 0) == pid);
    BOOST_TEST(how == 0);
  }
  BOOST_TEST(here.book().list()->size() == 20u);
  // Nothing half-written is left.
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& f : std::filesystem::directory_iterator(hub_folder(here.path))) ++files;
  BOOST_TEST(files == 2u); // the tokens and the lock
}

BOOST_AUTO_TEST_CASE(a_damaged_file_lets_nobody_in) {
  const tokens_place here;
  auto hub = here.book();
  const auto t = make(hub);
  BOOST_TEST((presented(hub, t) == why::good));
  std::ofstream(hub_folder(here.path) + "/tokens", std::ios::binary) << "\xff\xff garbage";
  BOOST_TEST((presented(hub, t) == why::unknown));
  BOOST_TEST(!hub.stands(t.id_text()));
  BOOST_TEST(!hub.list().ok());
  BOOST_TEST(!hub.create(token_role::agent, "x", {}, 1s).ok()); // and is not written over
}

BOOST_AUTO_TEST_CASE(names_and_roles_are_checked) {
  const tokens_place here;
  auto book = here.book();
  for (const auto& bad :
       {std::string(), std::string(65, 'x'), std::string("a\nb"), std::string("a\x1b[1m"), std::string("\xc3\xa9")})
    BOOST_TEST((book.create(token_role::agent, bad, {}, 1s).err().code == errc::invalid_spec));
  BOOST_TEST((parse_role("agent") == token_role::agent));
  BOOST_TEST(!parse_role("root").has_value());
  BOOST_TEST(!parse_role("").has_value());
  // An agent's token is no use to who wants to tune, nor a client's to who wants to be an agent.
  BOOST_TEST(may(token_role::agent, deed::work));
  for (const auto d : {deed::tune, deed::watch, deed::manage}) BOOST_TEST(!may(token_role::agent, d));
  BOOST_TEST(!may(token_role::client, deed::work));
  BOOST_TEST(may(token_role::client, deed::tune));
  BOOST_TEST(may(token_role::client, deed::watch));
  BOOST_TEST(!may(token_role::client, deed::manage));
  BOOST_TEST(!may(token_role::admin, deed::work));
  for (const auto d : {deed::tune, deed::watch, deed::manage}) BOOST_TEST(may(token_role::admin, d));
}

BOOST_AUTO_TEST_SUITE_END()
