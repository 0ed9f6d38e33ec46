#include "core/random.hpp"
#include "net/store_messages.hpp"
#include "tests/net/fleet/pairs.hpp"
#include "tests/net/says.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>

using namespace attune;
using namespace attune::tests;
using wire::v1::Envelope;

namespace {

/// A peer that says what the test wants.
struct raw_peer {
  raw_peer(pairs& w, const std::string& name) : world(w) {
    auto [here, away] = w.link_pair();
    wire = away;
    w.server->adopt(here);
    wire->start(
        [this](std::string_view body) {
          Envelope e;
          BOOST_REQUIRE(e.ParseFromArray(body.data(), static_cast<int>(body.size())));
          heard.push_back(e);
        },
        [this](const error&) { over = true; });
    Envelope hello;
    *hello.mutable_hello() = hello_of(fleet_abilities(), std::string(16, 'x'));
    say(hello);
    w.until([&] { return !heard.empty(); });
    wire->established();
    if (name.empty()) return;
    description d;
    d.name = name;
    Envelope agent;
    net::fleet::to(d, *agent.mutable_agent_hello());
    say(agent);
    w.until([&] { return heard.size() > 1 || over; });
  }
  ~raw_peer() { wire->close(); }
  void say(const Envelope& e) { wire->send(e.SerializeAsString()); }
  void answer(std::uint64_t lease, double v) {
    Envelope e;
    auto& a = *e.mutable_answers()->add_answers();
    a.set_lease(lease);
    a.mutable_measured()->set_value(v);
    say(e);
  }
  /// The lease of the order that comes next.
  std::uint64_t order() {
    const auto before = heard.size();
    world.until([&] { return heard.size() > before && heard.back().has_orders(); });
    return heard.back().orders().orders(0).lease();
  }
  pairs& world;
  link_ptr wire;
  std::vector<Envelope> heard;
  bool over = false;
};

} // namespace

BOOST_AUTO_TEST_SUITE(fleet_server_suite)

BOOST_AUTO_TEST_CASE(an_order_reaches_its_slot_and_its_answer_comes_back) {
  pairs w;
  auto& a = w.come("a", 2);
  std::optional<measure::run_result> got;
  auto t = std::make_shared<trial>(*w.some_trial(7));
  t->rival = 1.5;
  t->noise = 0.25;
  t->why = purpose::finalist;
  w.server->order(w.there["a"], 1, t, nullptr, [&](measure::run_result r) { got = std::move(r); });
  w.until([&] { return a.slots[1]->in_hand != nullptr; });
  const auto came = a.slots[1]->in_hand;
  BOOST_TEST((came->config == t->config));
  BOOST_TEST(came->number == 7u);
  BOOST_TEST(*came->rival == 1.5);
  BOOST_TEST(*came->noise == 0.25);
  BOOST_TEST((came->why == purpose::finalist));
  BOOST_TEST(w.server->leases().size() == 1u);
  a.slots[1]->measured(3.25);
  w.until([&] { return got.has_value(); });
  BOOST_TEST(std::get<measurement>(got->data).value == 3.25);
  BOOST_TEST(got->notes.at(0) == "a note");
  BOOST_TEST(w.server->leases().size() == 0u);
  BOOST_TEST(a.slots[0]->begun == 0);
}

BOOST_AUTO_TEST_CASE(many_orders_of_one_moment_travel_together) {
  pairs w;
  auto& a = w.come("a", 64);
  int ended = 0;
  for (std::uint32_t i = 0; i < 64; ++i)
    w.server->order(w.there["a"], i, w.some_trial(i), nullptr, [&](const measure::run_result&) { ++ended; });
  w.until(
      [&] { return std::all_of(a.slots.begin(), a.slots.end(), [](const auto& s) { return s->in_hand != nullptr; }); });
  for (auto& s : a.slots) s->measured(1);
  w.until([&] { return ended == 64; });
}

BOOST_AUTO_TEST_CASE(a_stop_ends_the_run_and_is_answered_as_cancelled) {
  pairs w;
  auto& a = w.come("a");
  std::optional<measure::run_result> got;
  w.server->order(w.there["a"], 0, w.some_trial(), nullptr, [&](measure::run_result r) { got = std::move(r); });
  w.until([&] { return a.slots[0]->in_hand != nullptr; });
  w.server->stop(w.there["a"], 0);
  w.until([&] { return got.has_value(); });
  BOOST_TEST((std::get<failure>(got->data).kind == failure_kind::cancelled));
  BOOST_TEST(a.slots[0]->cancelled == 1);
  w.server->stop(w.there["a"], 0); // nothing is there to be stopped
  w.turn();
  BOOST_TEST(a.slots[0]->cancelled == 1);
}

BOOST_AUTO_TEST_CASE(an_agent_that_is_cut_off_ends_what_it_runs_and_comes_again_with_its_slots_free) {
  pairs w;
  auto& a = w.come("a");
  bool answered = false;
  w.server->order(w.there["a"], 0, w.some_trial(), nullptr, [&](const measure::run_result&) { answered = true; });
  w.until([&] { return a.slots[0]->in_hand != nullptr; });
  const auto first = w.there["a"];
  a.wire->break_off("cut");
  w.until([&] { return a.lost == 1 && !w.there.contains("a"); });
  BOOST_TEST(!answered);
  BOOST_TEST(a.slots[0]->in_hand == nullptr);
  BOOST_TEST(w.server->leases().counted().lost == 1u);
  w.connect(a);
  w.until([&] { return w.there.contains("a"); });
  BOOST_TEST(w.there["a"] != first);
  w.server->order(w.there["a"], 0, w.some_trial(1), nullptr, [&](const measure::run_result&) { answered = true; });
  w.until([&] { return a.slots[0]->in_hand != nullptr; });
  a.slots[0]->measured(1);
  w.until([&] { return answered; });
  BOOST_TEST(!a.slots[0]->overlapped);
}

BOOST_AUTO_TEST_CASE(the_connection_is_not_offered_again_before_nothing_runs_any_more) {
  pairs w;
  auto& a = w.come("a");
  w.server->order(w.there["a"], 0, w.some_trial(), nullptr, [](const measure::run_result&) {});
  w.until([&] { return a.slots[0]->in_hand != nullptr; });
  // A run that takes its time to die.
  auto slow = std::exchange(a.slots[0]->in_hand, nullptr);
  a.wire->break_off("cut");
  w.until([&] { return !w.there.contains("a"); });
  w.turn();
  BOOST_TEST(a.lost == 0);
  a.slots[0]->in_hand = slow;
  a.slots[0]->measured(1);
  w.until([&] { return a.lost == 1; });
}

BOOST_AUTO_TEST_CASE(silence_loses_the_lease_and_a_late_answer_is_not_used) {
  fleet_server_options options;
  options.lease = std::chrono::milliseconds(20);
  options.heartbeat = std::chrono::milliseconds(5);
  pairs w(options);
  raw_peer a(w, "a");
  BOOST_REQUIRE(w.there.contains("a"));
  int answered = 0;
  w.server->order(w.there["a"], 0, w.some_trial(), nullptr, [&](const measure::run_result&) { ++answered; });
  const auto lease = a.order();
  w.pass(std::chrono::milliseconds(19), options.lease);
  BOOST_TEST(w.there.contains("a"));
  w.time.advance(std::chrono::milliseconds(1));
  w.until([&] { return !w.there.contains("a"); });
  a.answer(lease, 1);
  w.turn();
  BOOST_TEST(answered == 0);
  BOOST_TEST(w.server->leases().counted().lost == 1u);
  BOOST_TEST(w.absences == std::vector<std::uint64_t>{0}, boost::test_tools::per_element());
  BOOST_TEST(w.server->devices().list(w.time.monotonic())[0].lost_leases == 1u);
}

BOOST_AUTO_TEST_CASE(what_a_hub_that_was_away_has_lost_is_its_own_doing) {
  using std::chrono::milliseconds;
  fleet_server_options options;
  options.lease = milliseconds(20);
  options.heartbeat = milliseconds(5);
  pairs w(options);
  raw_peer a(w, "a"), b(w, "b"), c(w, "c");
  for (const auto* name : {"a", "b", "c"})
    w.server->order(w.there[name], 0, w.some_trial(), nullptr, [](const measure::run_result&) {});
  w.until([&] { return w.server->leases().size() == 3; });
  // Stopped for longer than a lease, in which all have said something and two have given it up.
  w.time.advance(milliseconds(70));
  a.wire->break_off("cut");
  b.wire->break_off("cut");
  w.until([&] { return !w.there.contains("a") && !w.there.contains("b"); });
  BOOST_TEST(w.absences == (std::vector<std::uint64_t>{1, 1}), boost::test_tools::per_element());
  BOOST_TEST(w.there.contains("c")); // it has been silent since now
  BOOST_TEST(std::count_if(w.log.begin(), w.log.end(), [](const auto& l) {
               return l.find("the hub was away for 70.0 ms") != std::string::npos;
             }) == 1);
  for (const auto& d : w.server->devices().list(w.time.monotonic())) {
    BOOST_TEST(d.lost_leases == 0u);
    if (d.state == device_state::lost) BOOST_TEST(d.error == "the hub was away");
  }
  // Who has given it up and was not heard to: the same absence.
  w.pass(milliseconds(20), options.lease);
  w.until([&] { return !w.there.contains("c"); });
  BOOST_TEST(w.absences.back() == 1u);
  // Who came later, or is lost later, is not lost by it.
  raw_peer d(w, "d");
  d.wire->break_off("cut");
  w.until([&] { return !w.there.contains("d"); });
  BOOST_TEST(w.absences.back() == 0u);
  raw_peer e(w, "e");
  w.time.advance(milliseconds(11)); // half a lease is no more than a long moment
  w.until([&] { return w.log.back().find("the hub was away") != std::string::npos; });
  for (int i = 0; i < 4; ++i) {
    Envelope beat;
    beat.mutable_heartbeat();
    e.say(beat);
    w.pass(milliseconds(10), options.lease);
  }
  e.wire->break_off("cut");
  w.until([&] { return !w.there.contains("e"); });
  BOOST_TEST(w.absences.back() == 0u);
}

BOOST_AUTO_TEST_CASE(an_answer_that_comes_twice_is_used_once) {
  pairs w;
  raw_peer a(w, "a");
  int answered = 0;
  w.server->order(w.there["a"], 0, w.some_trial(), nullptr, [&](const measure::run_result&) { ++answered; });
  const auto lease = a.order();
  a.answer(lease, 1);
  a.answer(lease, 2);
  w.until([&] { return w.server->leases().counted().late == 1; });
  BOOST_TEST(answered == 1);
  BOOST_TEST(w.there.contains("a"));
}

BOOST_AUTO_TEST_CASE(an_answer_to_another_agents_lease_is_not_used) {
  pairs w;
  raw_peer a(w, "a"), b(w, "b");
  int answered = 0;
  w.server->order(w.there["a"], 0, w.some_trial(), nullptr, [&](const measure::run_result&) { ++answered; });
  const auto lease = a.order();
  b.answer(lease, 1);
  w.until([&] { return w.server->leases().counted().late == 1; });
  BOOST_TEST(answered == 0);
  a.answer(lease, 1);
  w.until([&] { return answered == 1; });
}

BOOST_AUTO_TEST_CASE(who_does_not_keep_to_the_protocol_is_hung_up_on_and_nobody_else) {
  pairs w;
  auto& good = w.come("good");
  const auto hung_up = [&](const std::function<void(raw_peer&)>& wrong, const std::string& name = "bad") {
    raw_peer p(w, name);
    wrong(p);
    w.until([&] { return p.over || p.wire->closed() || p.heard.back().has_failed(); });
    w.until([&] { return !w.there.contains("bad"); });
  };
  hung_up([](raw_peer& p) { p.answer(999, 1); });
  hung_up([](raw_peer& p) { p.wire->send("\xff\xff\xff"); });
  hung_up([](raw_peer& p) {
    Envelope e;
    e.mutable_submit(); // a client's message
    p.say(e);
  });
  hung_up([](raw_peer& p) {
    Envelope e;
    e.mutable_artifact_fetch()->set_sha256(std::string(32, 'x')); // was never offered
    e.mutable_artifact_fetch()->set_length(10);
    p.say(e);
  });
  hung_up([](raw_peer& p) {
    Envelope e;
    e.mutable_answers()->add_answers()->set_lease(1); // says nothing
    p.say(e);
  });
  hung_up(
      [](raw_peer& p) {
        Envelope e;
        e.mutable_heartbeat(); // an agent's message
        p.say(e);
      },
      "");
  hung_up(
      [](raw_peer& p) {
        Envelope e;
        auto& f = *e.mutable_submit()->add_files();
        f.set_path("../../etc/passwd");
        f.set_sha256(std::string(32, 'x'));
        p.say(e);
      },
      "");
  bool answered = false;
  w.server->order(w.there["good"], 0, w.some_trial(), nullptr, [&](const measure::run_result&) { answered = true; });
  w.until([&] { return good.slots[0]->in_hand != nullptr; });
  good.slots[0]->measured(1);
  w.until([&] { return answered; });
}

BOOST_AUTO_TEST_CASE(any_bytes_in_place_of_messages_end_one_connection_at_the_most) {
  pairs w;
  auto& good = w.come("good");
  random_engine random(7);
  for (int round = 0; round < 300; ++round) {
    raw_peer p(w, random.chance(0.5) ? "bad" : "");
    for (int i = 0; i < 5 && !p.wire->closed(); ++i) {
      std::string body(1 + random.below(60), '\0');
      for (auto& c : body) c = static_cast<char>(random.below(256));
      // Often something that can be read: a field of the envelope with a length.
      if (random.chance(0.7)) {
        body[0] = static_cast<char>(0xe2 + 8 * random.below(2));
        if (body.size() > 2) {
          body[1] = static_cast<char>(3 + random.below(2));
          body[2] = static_cast<char>(body.size() - 3);
        }
      }
      p.wire->send(body);
    }
    w.turn();
  }
  BOOST_TEST(w.there.contains("good"));
  BOOST_TEST(good.lost == 0);
}

BOOST_AUTO_TEST_CASE(of_two_under_one_name_the_second_hears_why_it_is_not_let_in) {
  pairs w;
  w.come("a");
  auto& second = w.make("a");
  w.connect(second);
  w.until([&] { return second.lost == 1; });
  BOOST_TEST(w.there.size() == 1u);
  BOOST_TEST(w.agents.front().lost == 0);
}

BOOST_AUTO_TEST_CASE(who_does_not_say_what_he_is_is_hung_up_on_in_time) {
  fleet_server_options options;
  options.lease = std::chrono::milliseconds(20);
  options.silence = std::chrono::seconds(10);
  pairs w(options);
  raw_peer mute(w, ""), client(w, "");
  Envelope ping;
  ping.mutable_ping();
  client.say(ping);
  w.until([&] { return client.heard.size() == 2; });
  w.pass(std::chrono::seconds(10), options.lease);
  BOOST_TEST(w.server->connections() == 2u);
  w.time.advance(std::chrono::milliseconds(1));
  w.until([&] { return w.server->connections() == 1; });
  w.until([&] { return mute.heard.back().has_failed(); });
  BOOST_TEST(client.heard.size() == 2u);
}

BOOST_AUTO_TEST_CASE(who_needs_no_token_is_looked_up_when_he_has_greeted_and_not_before) {
  fleet_server_options options;
  options.admit = [](const std::string&, const std::string&, const std::string&) { return std::optional<pass>(); };
  int looked = 0;
  options.trusted = [&](const std::string&) { return ++looked > 0; };
  pairs w(options);
  auto [here, away] = w.link_pair();
  w.server->adopt(here);
  away->start([](std::string_view) {}, [](const error&) {});
  away->send("no greeting");
  w.until([&] { return w.server->connections() == 0; });
  BOOST_TEST(looked == 0);
  raw_peer local(w, "board");
  w.until([&] { return w.there.contains("board"); });
  BOOST_TEST(looked == 1);
  BOOST_TEST(std::count(w.deeds.begin(), w.deeds.end(), "/local/ came as an agent device=board") == 1);
}

BOOST_AUTO_TEST_CASE(who_did_what_is_told_for_the_audit_log) {
  fleet_server_options options;
  options.admit = [](const std::string& id, const std::string&, const std::string&) -> std::optional<pass> {
    if (id == "agent") return pass{true, false, false, false, "0a", "agent", "board"};
    if (id == "admin") return pass{false, true, true, true, "0b", "admin", "boss"};
    return {};
  };
  pairs w(options);
  const auto with = [&](raw_peer& p, const std::string& id) {
    Envelope e;
    e.mutable_authenticate()->set_id(id);
    p.say(e);
  };
  raw_peer board(w, ""), boss(w, ""), nobody(w, "");
  with(board, "agent");
  with(boss, "admin");
  with(nobody, "else");
  description d;
  d.name = "b1";
  Envelope come, ban;
  net::fleet::to(d, *come.mutable_agent_hello());
  board.say(come);
  w.until([&] { return w.there.contains("b1"); });
  ban.mutable_manage()->set_what(wire::v1::Manage::DRAIN);
  ban.mutable_manage()->set_name("b1");
  boss.say(ban);
  w.until([&] { return w.asked.size() == 1; });
  w.server->audit(w.asked[0].who, "submitted", {{"job", "j"}});
  board.wire->close();
  w.until([&] { return !w.there.contains("b1"); });
  w.until([&] { return w.deeds.size() == 6; });
  const auto said = [&](const std::string& line) { return std::count(w.deeds.begin(), w.deeds.end(), line) == 1; };
  BOOST_TEST(said("// was hung up on why=the token is not accepted"));
  BOOST_TEST(said("0a/agent/board came as an agent device=b1"));
  BOOST_TEST(said("0b/admin/boss came as a client"));
  BOOST_TEST(said("0b/admin/boss DRAIN of=b1"));
  BOOST_TEST(said("0b/admin/boss submitted job=j"));
  BOOST_TEST(said("0a/agent/board went device=b1 why=the other side has hung up leases lost=0"));
}

BOOST_AUTO_TEST_CASE(what_comes_again_and_again_is_a_line_of_the_log_and_then_a_number) {
  pairs w;
  BOOST_TEST(w.server->ban("a", true).ok());
  const auto banned = [&] {
    return std::count_if(w.log.begin(), w.log.end(), [](const auto& l) { return says(l, "'a' is banned"); });
  };
  const auto come = [&] {
    raw_peer p(w, "a");
    w.until([&] { return w.server->connections() == 0; });
  };
  for (int i = 0; i < 20; ++i) come();
  BOOST_TEST(banned() == 1);
  w.time.advance(std::chrono::minutes(10));
  come();
  BOOST_REQUIRE(banned() == 2);
  BOOST_TEST(std::count_if(w.log.begin(), w.log.end(),
                           [](const auto& l) { return says(l, "(again 19 times in the last 10 min 0 s)"); }) == 1);
  // All of them are in the audit log, which has a bound of its own.
  BOOST_TEST(std::count_if(w.deeds.begin(), w.deeds.end(), [](const auto& l) { return says(l, "hung up on"); }) == 21);
  // An agent that comes and goes all the time.
  for (int i = 0; i < 20; ++i) {
    { const raw_peer b(w, "b"); }
    w.until([&] { return !w.there.contains("b"); });
  }
  const auto count = [&](const char* what) {
    return std::count_if(w.log.begin(), w.log.end(), [&](const auto& l) { return says(l, what); });
  };
  BOOST_TEST(count("agent b (") == 3);
  BOOST_TEST(count("agent b is gone") == 3);
  w.server->close();
  BOOST_TEST(count("again 17 times") == 2);
  BOOST_TEST(count("again 1 time ") == 1); // the banned one
}

BOOST_AUTO_TEST_CASE(what_was_built_reaches_the_agent_by_its_contents_and_is_gone_with_its_lease) {
  pairs w;
  raw_peer a(w, "a");
  const auto built = w.folder + "/built";
  std::filesystem::create_directories(built);
  std::ofstream(built + "/k") << "kernel";
  const auto made = std::make_shared<const measure::artifact>(built, built + "/k");
  int answered = 0;
  w.server->order(w.there["a"], 0, w.some_trial(), made, [&](const measure::run_result&) { ++answered; });
  w.until([&] { return a.heard.back().has_orders(); });
  const auto& order = a.heard.back().orders().orders(0);
  BOOST_TEST(order.artifact() == "k");
  BOOST_REQUIRE(order.folder_size() == 1);
  Envelope ask;
  ask.mutable_artifact_fetch()->set_sha256(order.folder(0).sha256());
  ask.mutable_artifact_fetch()->set_length(6);
  const auto lease = order.lease();
  a.say(ask);
  w.until([&] { return a.heard.back().has_artifact_part(); });
  BOOST_TEST(a.heard.back().artifact_part().data() == "kernel");
  a.answer(lease, 1);
  w.until([&] { return answered == 1; });
  // An ask that was on its way is told so, and given nothing.
  a.say(ask);
  w.until([&] { return a.heard.back().artifact_part().gone(); });
  BOOST_TEST(a.heard.back().artifact_part().data().empty());
  BOOST_TEST(w.there.contains("a"));
}

BOOST_AUTO_TEST_CASE(drained_is_told_and_banned_is_out) {
  pairs w;
  auto& a = w.come("a");
  BOOST_TEST(!w.server->drain("nobody", true).ok());
  BOOST_TEST(w.server->drain("a", true).ok());
  BOOST_TEST(!w.ready["a"]);
  BOOST_TEST(w.server->drain("a", false).ok());
  BOOST_TEST(w.ready["a"]);
  BOOST_TEST(w.server->ban("a", true).ok());
  w.until([&] { return a.lost == 1 && !w.there.contains("a"); });
  w.connect(a);
  w.until([&] { return a.lost == 2; });
  BOOST_TEST(!w.there.contains("a"));
}

BOOST_AUTO_TEST_CASE(an_agent_that_leaves_ends_what_it_runs_first) {
  pairs w;
  auto& a = w.come("a");
  std::optional<measure::run_result> got;
  w.server->order(w.there["a"], 0, w.some_trial(), nullptr, [&](measure::run_result r) { got = std::move(r); });
  w.until([&] { return a.slots[0]->in_hand != nullptr; });
  bool left = false;
  a.self->leave([&] { left = true; });
  w.until([&] { return left && !w.there.contains("a"); });
  BOOST_TEST(a.slots[0]->in_hand == nullptr);
  BOOST_REQUIRE(got.has_value());
  // Nobody has called it back: it is to be tried elsewhere.
  BOOST_TEST((std::get<failure>(got->data).kind == failure_kind::internal));
}

BOOST_AUTO_TEST_CASE(a_second_order_waits_at_the_slot_and_begins_when_the_first_has_ended) {
  pairs w;
  auto& a = w.come("a");
  const auto first = w.some_trial(1), second = w.some_trial(2);
  std::vector<std::uint64_t> ended;
  const auto order = [&](const trial_ptr& t) {
    w.server->order(w.there["a"], 0, t, nullptr,
                    [&ended, t](const measure::run_result&) { ended.push_back(t->number); });
  };
  order(first);
  order(second);
  w.until([&] { return a.slots[0]->in_hand != nullptr; });
  w.turn();
  BOOST_TEST(a.slots[0]->begun == 1);
  BOOST_TEST(a.slots[0]->in_hand->number == 1u);
  BOOST_TEST(w.server->leases().size() == 2u);
  a.slots[0]->measured(1);
  w.until([&] { return a.slots[0]->in_hand != nullptr; });
  BOOST_TEST(a.slots[0]->in_hand->number == 2u);
  a.slots[0]->measured(2);
  w.until([&] { return ended.size() == 2; });
  BOOST_TEST((ended == std::vector<std::uint64_t>{1, 2}));
  BOOST_TEST(!a.slots[0]->overlapped);
}

BOOST_AUTO_TEST_CASE(what_waits_at_a_slot_is_given_back_and_what_runs_goes_on) {
  pairs w;
  auto& a = w.come("a");
  const auto first = w.some_trial(1), second = w.some_trial(2);
  std::optional<measure::run_result> got_first, got_second;
  w.server->order(w.there["a"], 0, first, nullptr, [&](measure::run_result r) { got_first = std::move(r); });
  w.server->order(w.there["a"], 0, second, nullptr, [&](measure::run_result r) { got_second = std::move(r); });
  w.until([&] { return a.slots[0]->in_hand != nullptr; });
  w.server->stop(w.there["a"], 0, second);
  w.until([&] { return got_second.has_value(); });
  BOOST_TEST((std::get<failure>(got_second->data).kind == failure_kind::cancelled));
  BOOST_TEST(a.slots[0]->cancelled == 0);
  // What has ended already is not stopped by name, and nothing else in its place.
  a.slots[0]->measured(1);
  w.until([&] { return got_first.has_value(); });
  const auto third = w.some_trial(3);
  w.server->order(w.there["a"], 0, third, nullptr, [](const measure::run_result&) {});
  w.until([&] { return a.slots[0]->in_hand != nullptr; });
  w.server->stop(w.there["a"], 0, first);
  w.turn();
  BOOST_TEST(a.slots[0]->cancelled == 0);
}

BOOST_AUTO_TEST_CASE(a_lost_agent_has_lost_what_waited_too_and_begins_nothing_of_it) {
  pairs w;
  auto& a = w.come("a");
  int answered = 0;
  for (std::uint64_t i = 1; i <= 2; ++i)
    w.server->order(w.there["a"], 0, w.some_trial(i), nullptr, [&](const measure::run_result&) { ++answered; });
  w.until([&] { return a.slots[0]->in_hand != nullptr; });
  w.turn();
  a.wire->break_off("cut");
  w.until([&] { return a.lost == 1 && !w.there.contains("a"); });
  BOOST_TEST(answered == 0);
  BOOST_TEST(a.slots[0]->begun == 1);
  BOOST_TEST(w.server->leases().counted().lost == 2u);
}

BOOST_AUTO_TEST_CASE(a_task_that_is_forgotten_is_told_again_when_it_comes_again) {
  pairs w;
  auto& a = w.come("a");
  const auto t = w.some_trial(1);
  const auto run = [&] {
    bool over = false;
    w.server->order(w.there["a"], 0, t, nullptr, [&](const measure::run_result&) { over = true; });
    w.until([&] { return a.slots[0]->in_hand != nullptr; });
    a.slots[0]->measured(1);
    w.until([&] { return over; });
  };
  run();
  w.server->forget(t->of, w.server->package(t->of));
  w.turn();
  run();
  BOOST_TEST(a.lost == 0);
}

BOOST_AUTO_TEST_CASE(output_of_a_lease_is_passed_on_and_of_no_lease_is_not) {
  pairs w;
  raw_peer a(w, "a");
  w.server->order(w.there["a"], 0, w.some_trial(5), nullptr, [](const measure::run_result&) {});
  const auto lease = a.order();
  const auto tell = [&](std::uint64_t which) {
    Envelope e;
    e.mutable_output()->set_lease(which);
    e.mutable_output()->set_text("hello");
    a.say(e);
  };
  tell(lease);
  tell(lease + 7);
  w.until([&] { return !w.said.empty(); });
  w.turn();
  BOOST_REQUIRE_EQUAL(w.said.size(), 1u);
  BOOST_TEST(w.said[0] == "a/slot0 5 hello");
  Envelope e;
  e.mutable_output()->set_lease(lease);
  e.mutable_output()->set_text(std::string(100'000, 'x'));
  a.say(e);
  w.until([&] { return !w.there.contains("a"); });
}

BOOST_AUTO_TEST_SUITE_END()
