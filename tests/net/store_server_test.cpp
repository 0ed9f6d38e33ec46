// A server and its clients in one thread, over socket pairs: nothing happens but when the loop is turned.
#include "core/random.hpp"
#include "net/store_client.hpp"
#include "net/store_server.hpp"
#include "storage/cache.hpp"
#include "tests/storage/samples.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/socket.h>

#include <deque>
#include <unistd.h>

using namespace attune;
using namespace attune::net;
using namespace attune::storage::samples;
using namespace std::chrono_literals;
using wire::v1::Envelope;

namespace {

outcome_ptr measured_with(double v) {
  outcome o;
  measurement m;
  m.value = v;
  m.samples = {v};
  o.data = m;
  return std::make_shared<const outcome>(std::move(o));
}

storage::record_item item(const task_ptr& of, std::int64_t n, double v) {
  storage::record_item r;
  r.what = ask(of, n);
  r.result = measured_with(v);
  return r;
}

struct world;

struct member {
  world& in;
  key128 id;
  std::shared_ptr<store_client> client;
  std::deque<storage::claim_answer> heard;
  bool ready = false, refused = false;
  std::optional<std::string> lost;
  std::uint64_t next = 1;

  member(world& w, std::uint8_t n);
  ~member() { client->close(); } // which may be held by what is still to be read, and tells of nothing after that
  member(const member&) = delete;
  member& operator=(const member&) = delete;
  Envelope call(Envelope question);
  std::vector<std::uint64_t> append(const std::vector<storage::record_item>& records,
                                    const std::vector<storage::step_item>& steps = {}, bool counts = true);
  void claim(const trial_ptr& t, bool anew = false, bool held = false);
  void release(const trial_ptr& t);
  bool begin(const std::string& session);
};

struct world {
  scratch_folder scratch;
  asio::io_context loop;
  std::shared_ptr<storage::store> store = *storage::store::open(scratch.store(), {});
  std::deque<storage::claim_answer> own;
  std::optional<store_server> server;
  task_ptr of = make();

  explicit world(store_server_options options = {}) {
    server.emplace(loop, store, options,
                   [this](std::vector<storage::claim_answer> a) { own.insert(own.end(), a.begin(), a.end()); });
  }
  ~world() {
    server->close();
    turn();
  }
  void turn() {
    loop.restart(); // it stops where nobody is connected
    for (int i = 0; i < 20; ++i) loop.poll();
  }
  /// A bare connection, for what no client would send.
  int raw() {
    int pair[2];
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    server->adopt(pair[0]);
    turn();
    return pair[1];
  }
  std::uint64_t records() { return store->statistics()->records; }
};

member::member(world& w, std::uint8_t n) : in(w), id{{n}} {
  store_client::events tell;
  tell.ready = [this](const agreement&) { ready = true; };
  tell.claimed = [this](std::vector<storage::claim_answer> a) { heard.insert(heard.end(), a.begin(), a.end()); };
  tell.lost = [this](const error& why, bool r) {
    lost = why.message;
    refused = r;
  };
  client = store_client::over(w.loop, w.raw(), {}, std::move(tell));
  client->start(id);
  w.turn();
}

Envelope member::call(Envelope question) {
  std::optional<result<Envelope>> got;
  client->request(std::move(question), [&](result<Envelope> a) { got = std::move(a); });
  in.turn();
  BOOST_REQUIRE(got.has_value());
  BOOST_REQUIRE_MESSAGE(got->ok(), (got->ok() ? "" : got->err().text()));
  return **got;
}

std::vector<std::uint64_t> member::append(const std::vector<storage::record_item>& records,
                                          const std::vector<storage::step_item>& steps, bool counts) {
  Envelope out;
  auto& a = *out.mutable_append();
  a.set_first_record(next);
  a.set_first_step(next);
  for (const auto& r : records) add(r, client->tasks(), a);
  for (const auto& s : steps) add(s, client->tasks(), a);
  if (counts) next += std::max(records.size(), steps.size());
  const auto answer = call(std::move(out));
  return {answer.appended().records().begin(), answer.appended().records().end()};
}

void member::claim(const trial_ptr& t, bool anew, bool held) {
  Envelope out;
  auto& i = *out.mutable_claim()->add_items();
  to(ask_of(*t, anew, 1h), i);
  i.set_held(held);
  client->notify(out);
  in.turn();
}

void member::release(const trial_ptr& t) {
  Envelope out;
  out.mutable_release()->add_keys(t->key.bytes.data(), t->key.bytes.size());
  client->notify(out);
  in.turn();
}

bool member::begin(const std::string& session) {
  Envelope out;
  out.mutable_begin_session()->set_id(session);
  out.mutable_begin_session()->mutable_session()->set_strategy("random");
  return call(std::move(out)).session_begun().writes();
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_of_a_store)

BOOST_AUTO_TEST_CASE(what_is_appended_is_as_if_it_had_been_appended_here) {
  world w;
  member a(w, 1);
  BOOST_TEST(a.ready);
  auto failed = item(w.of, 2, 0);
  outcome o;
  o.data = failure{failure_kind::run_error, "it broke", 3, {}};
  o.notes = {"noticed"};
  failed.result = std::make_shared<const outcome>(o);
  failed.cacheable = true;
  failed.session = "0123456789abcdef0123456789abcdef";
  const auto ids = a.append({item(w.of, 1, 0.5), failed});
  BOOST_TEST(ids == (std::vector<std::uint64_t>{1, 2}), boost::test_tools::per_element());
  // The same in a store of its own.
  const scratch_folder elsewhere;
  auto here = *storage::store::open(elsewhere.store(), {});
  std::vector<storage::record_item> direct{item(w.of, 1, 0.5), failed};
  BOOST_REQUIRE(here->append(direct, {}).ok());
  for (std::uint64_t id = 1; id <= 2; ++id) {
    const auto x = **w.store->find(id), y = **here->find(id);
    BOOST_TEST(bool(x.task == y.task && x.key == y.key && x.config == y.config && x.result == y.result));
    BOOST_TEST(x.session == y.session);
  }
  const auto t = w.of->identity.task_key;
  BOOST_TEST((*w.store->find_task(t))->unit == (*here->find_task(t))->unit);
  BOOST_TEST((*w.store->find_task(t))->method_form == (*here->find_task(t))->method_form);
  BOOST_TEST(w.store->verify()->ok());
}

BOOST_AUTO_TEST_CASE(an_append_that_is_sent_again_is_answered_the_same_and_written_once) {
  world w;
  member a(w, 1);
  const std::vector<storage::record_item> some{item(w.of, 1, 1), item(w.of, 2, 2)};
  const auto first = a.append(some, {}, false);
  const auto again = a.append(some);
  BOOST_TEST(first == again, boost::test_tools::per_element());
  BOOST_TEST(w.records() == 2u);
  // By another connection of the same process.
  a.client->close();
  member b(w, 1);
  const auto third = b.append(some);
  BOOST_TEST(first == third, boost::test_tools::per_element());
  BOOST_TEST(w.records() == 2u);
  // Who took leave begins anew.
  b.client->leave();
  w.turn();
  BOOST_TEST(w.server->connections() == 0u);
  member c(w, 1);
  c.append(some);
  BOOST_TEST(w.records() == 4u);
}

BOOST_AUTO_TEST_CASE(one_measures_and_the_others_get_its_result) {
  world w;
  member a(w, 1), b(w, 2);
  const auto x = ask(w.of, 1);
  a.claim(x);
  BOOST_REQUIRE(a.heard.size() == 1u);
  BOOST_TEST(!a.heard[0].known);
  b.claim(x);
  BOOST_TEST(!w.server->claim(ask_of(*x, false, 1h))); // the owner's own process waits as well
  w.turn();
  BOOST_TEST(b.heard.empty());
  BOOST_TEST(w.own.empty());
  const auto ids = a.append({item(w.of, 1, 0.25)});
  a.release(x);
  BOOST_REQUIRE(b.heard.size() == 1u);
  BOOST_REQUIRE(w.own.size() == 1u);
  for (const auto& answer : {b.heard[0], w.own[0]}) {
    BOOST_REQUIRE(answer.known);
    BOOST_TEST(answer.known->measured()->value == 0.25);
    BOOST_TEST(answer.record == ids[0]);
  }
  // Known by now; anew it is measured once more.
  b.claim(x);
  BOOST_TEST(bool(b.heard.back().known));
  b.claim(x, true);
  BOOST_TEST(!b.heard.back().known);
  a.claim(x, true);
  BOOST_TEST(a.heard.size() == 1u);
  b.release(x); // and was not: what was known before is no answer to who wants it anew
  BOOST_REQUIRE(a.heard.size() == 2u);
  BOOST_TEST(!a.heard[1].known);
}

BOOST_AUTO_TEST_CASE(a_flight_passes_on_when_its_process_goes_or_gives_up) {
  world w;
  member a(w, 1), b(w, 2), c(w, 3);
  const auto x = ask(w.of, 1);
  a.claim(x);
  b.claim(x);
  c.claim(x);
  a.client->close();
  w.turn();
  BOOST_REQUIRE(b.heard.size() == 1u);
  BOOST_TEST(!b.heard[0].known);
  BOOST_TEST(c.heard.empty());
  b.release(x);
  BOOST_TEST(c.heard.size() == 1u);
  // One that waits and goes is not waited for.
  b.claim(x);
  b.client->close();
  w.turn();
  c.release(x);
  BOOST_TEST(w.server->claim(ask_of(*x, true, 1h)) == false);
  w.turn();
  BOOST_TEST(w.own.size() == 1u);
}

BOOST_AUTO_TEST_CASE(alone_the_owner_is_granted_at_once) {
  world w;
  const auto x = ask(w.of, 1);
  BOOST_TEST(w.server->claim(ask_of(*x, false, 1h)));
  w.server->release(x->key);
  BOOST_TEST(w.server->claim(ask_of(*x, false, 1h)));
  // And what it flies before anybody came is not flown by who comes.
  member a(w, 1);
  a.claim(x);
  BOOST_TEST(a.heard.empty());
  w.server->release(x->key);
  w.turn();
  BOOST_TEST(a.heard.size() == 1u);
}

BOOST_AUTO_TEST_CASE(two_configurations_with_one_key_are_not_taken_for_each_other) {
  world w;
  member a(w, 1);
  a.append({item(w.of, 1, 1)});
  auto other = std::make_shared<trial>(*ask(w.of, 2));
  other->key = ask(w.of, 1)->key;
  a.claim(other);
  BOOST_REQUIRE(a.heard.size() == 1u);
  BOOST_TEST(!a.heard[0].known);
}

BOOST_AUTO_TEST_CASE(the_steps_of_a_session_are_one_processs) {
  world w;
  member a(w, 1), b(w, 2);
  BOOST_TEST(a.begin("s"));
  BOOST_TEST(!b.begin("s"));
  BOOST_TEST(b.begin("t"));
  BOOST_TEST(!w.server->begin_session("s"));
  const auto step = [&](member& of, std::int64_t n) {
    storage::step_item s{"s", ask(w.of, n), measured_with(1), 1, true, 0};
    of.append({}, {s});
  };
  step(a, 1);
  step(b, 2);
  step(a, 3);
  std::vector<trial_number> told;
  BOOST_REQUIRE(w.store->session_steps("s", [&](const auto& s) { told.push_back(s.number); }).ok());
  BOOST_TEST(told == (std::vector<trial_number>{1, 3}), boost::test_tools::per_element());
  a.client->close();
  w.turn();
  BOOST_TEST(w.server->begin_session("s"));
}

BOOST_AUTO_TEST_CASE(after_a_handover_what_is_held_is_said_before_anything_is_granted) {
  store_server_options options;
  options.grace = 1h;
  world w(options);
  const auto x = ask(w.of, 1), y = ask(w.of, 2);
  member quick(w, 1), slow(w, 2);
  quick.claim(x);
  BOOST_TEST(quick.heard.empty());
  slow.claim(x, false, true);
  quick.claim(y);
  BOOST_TEST(quick.heard.empty());
  BOOST_TEST(!w.server->claim(ask_of(*y, false, 1h)));
  w.turn();
  BOOST_TEST(w.own.empty());
}

BOOST_AUTO_TEST_CASE(rubbish_ends_its_own_connection_and_nothing_else) {
  world w;
  member good(w, 1);
  random_engine rng(5);
  const auto hello = [] {
    Envelope e;
    *e.mutable_hello() = hello_of(store_abilities(), std::string(16, 'r'));
    std::string out;
    append_frame(out, e.SerializeAsString());
    return out;
  };
  std::vector<std::string> bad{std::string("\xff\xff\xff\xff", 4), std::string(5, '\0'), "GET / HTTP/1.1\r\n\r\n"};
  const auto after_hello = [&](const Envelope& e) {
    std::string text = hello();
    append_frame(text, e.SerializeAsString());
    bad.push_back(text);
  };
  Envelope e;
  after_hello(e); // no body: an empty frame is none, an empty message neither
  e.mutable_append();
  after_hello(e);
  e.mutable_append()->set_first_record(1);
  e.mutable_append()->set_first_step(1);
  e.mutable_append()->add_records()->set_task(7);
  after_hello(e);
  e.mutable_append()->clear_records();
  e.mutable_append()->add_tasks()->set_number(1);
  after_hello(e);
  e.mutable_release()->add_keys("short");
  after_hello(e);
  e.mutable_claim()->add_items()->set_key("short");
  after_hello(e);
  e.mutable_welcome();
  after_hello(e);
  e.mutable_uses()->add_use()->set_key("123");
  after_hello(e);
  e.mutable_begin_session();
  after_hello(e);
  for (int i = 0; i < 200; ++i) {
    std::string s = rng.chance(0.5) ? hello() : "";
    const auto n = 30 + rng.below(300);
    std::string body;
    for (std::uint64_t k = 0; k < n; ++k) body += static_cast<char>(rng.below(256));
    rng.chance(0.5) ? append_frame(s, body) : static_cast<void>(s += body);
    bad.push_back(s);
  }
  int still = 0;
  for (const auto& text : bad) {
    const int s = w.raw();
    BOOST_REQUIRE(::write(s, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    w.turn();
    // Random bytes may be the beginning of a long frame: that waits for its deadline.
    still += static_cast<int>(w.server->connections()) - 1;
    ::close(s);
    w.turn();
    BOOST_REQUIRE(w.server->connections() == 1u);
  }
  BOOST_TEST(still < 30);
  good.append({item(w.of, 1, 1)});
  BOOST_TEST(w.records() == 1u);
  BOOST_TEST(!good.lost.has_value());
}

BOOST_AUTO_TEST_CASE(a_key_that_is_not_the_configurations_is_refused) {
  world w;
  member a(w, 1);
  auto forged = item(w.of, 1, 1);
  auto t = std::make_shared<trial>(*forged.what);
  t->key = ask(w.of, 2)->key;
  forged.what = t;
  Envelope out;
  out.mutable_append()->set_first_record(1);
  out.mutable_append()->set_first_step(1);
  add(forged, a.client->tasks(), *out.mutable_append());
  bool failed = false;
  a.client->request(std::move(out), [&](const result<Envelope>& r) { failed = !r.ok(); });
  w.turn();
  BOOST_TEST(failed);
  BOOST_TEST(a.lost.has_value());
  BOOST_TEST(w.records() == 0u);
}

BOOST_AUTO_TEST_CASE(another_version_is_told_why) {
  world w;
  const int s = w.raw();
  auto future = store_abilities();
  future.oldest = future.newest = 99;
  Envelope e;
  *e.mutable_hello() = hello_of(future, std::string(16, 'v'));
  std::string text;
  append_frame(text, e.SerializeAsString());
  BOOST_REQUIRE(::write(s, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  w.turn();
  char in[4096];
  const auto n = ::read(s, in, sizeof in);
  BOOST_REQUIRE(n > 4);
  Envelope answer;
  BOOST_REQUIRE(answer.ParseFromArray(in + 4, static_cast<int>(n) - 4));
  BOOST_TEST(answer.failed().message().find("99 there") != std::string::npos);
  BOOST_TEST(::read(s, in, sizeof in) == 0);
  ::close(s);
}

BOOST_AUTO_TEST_SUITE_END()
