#include "testing/boost_test.hpp"
#include "testing/ledger.hpp"
#include "testing/recorded.hpp"

#include <algorithm>

using namespace attune;
using namespace attune::actors;
using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

double x_plus_one(const configuration& c) { return 1 + c.find("x")->to_double(); }

auto is_failed(const std::string& text) {
  return [text](const failed& f) { return std::string(f.what()).find(text) != std::string::npos; };
}

/// The messages of a small search on two places, as text.
std::string messages_of(std::uint64_t seed) {
  world w({.seed = seed, .scheduling = [] {
             scheduler_options o;
             o.dispatcher.admission = {2, 1};
             return o;
           }()});
  w.add_runner("a", slow<run_order, run_report>(1s, measures(x_plus_one)));
  w.add_runner("b", slow<run_order, run_report>(1s, measures(x_plus_one)));
  w.begin({.build = false});
  w.pass(10s);
  return w.past().text(1000);
}

} // namespace

BOOST_AUTO_TEST_SUITE(the_world)

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_messages_and_another_one_gives_others) {
  BOOST_TEST(messages_of(7) == messages_of(7));
  BOOST_TEST(messages_of(0) == messages_of(0));
  bool differ = false;
  for (std::uint64_t seed = 1; seed < 10; ++seed) differ = differ || messages_of(seed) != messages_of(0);
  BOOST_TEST(differ);
}

BOOST_AUTO_TEST_CASE(what_does_not_hold_is_told_with_the_messages) {
  world w;
  w.add_runner("slot", measures(x_plus_one));
  const auto report = w.report(w.begin({.size = 3}));
  const auto runs = message<atom::run, run_order>();
  w.expect(runs.to("slot").from("scheduler"), 3);
  BOOST_CHECK_EXCEPTION(w.expect(runs.to("elsewhere"), 3), failed, is_failed("expected 3 times, seen 0"));
  BOOST_CHECK_EXCEPTION(w.expect(runs, 4), failed, is_failed("scheduler -> slot: 'run' #0{x=0}"));
  BOOST_TEST(w.seen(message_where<atom::run, run_order>([](const run_order& o) { return x_of(*o.what) > 0; })) == 2u);
  const auto done = message<atom::done, finished_batch>();
  w.expect_in_order({runs, done, runs, done});
  BOOST_CHECK_EXCEPTION(w.expect_in_order({done, done, done, runs}), failed, is_failed("not seen in this order"));
  BOOST_CHECK_EXCEPTION(w.run_until(runs), failed, is_failed("came to rest"));
  BOOST_TEST(describe(caf::make_message(atom::tell::value, report)) == "'tell' report of 3 trials");
}

BOOST_AUTO_TEST_CASE(a_message_can_be_waited_for) {
  world w;
  const auto slot = w.add_runner();
  const auto tuner = w.add_tuner({.size = 3});
  caf::anon_send(tuner, atom::begin::value);
  w.run_until(message<atom::measure, trial_batch>());
  BOOST_TEST(slot->orders == 0);
  w.drain();
  BOOST_TEST(slot->orders == 1);
}

BOOST_AUTO_TEST_CASE(a_place_takes_its_time_hangs_or_dies_as_its_script_says) {
  world w;
  const auto slot = w.add_runner("slot", slow<run_order, run_report>(3s, measures(x_plus_one)));
  const auto tuner = w.begin({.size = 3, .run_timeout = 10s});
  w.pass(2s);
  BOOST_TEST(w.status_of(tuner).counts.proposed == 0u);
  w.pass(1s);
  BOOST_TEST(w.status_of(tuner).counts.proposed == 1u);
  slot->answer = hangs<fake_runner>();
  w.pass(30s); // the run under way, then one that hangs until it is told to stop
  BOOST_TEST(slot->cancels == 1);
  BOOST_TEST(w.status_of(tuner).counts.failed[static_cast<std::size_t>(failure_kind::run_timeout)] == 1u);
  const auto report = w.report(tuner);
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.measured == 2u);

  const auto frail = w.add_runner("frail", dies<fake_runner>(1s));
  w.kill_runner(0);
  w.begin({.name = "another", .size = 2});
  w.pass(2s);
  BOOST_TEST(w.seen(message<caf::down_msg>().to("scheduler")) == 2u);
}

BOOST_AUTO_TEST_CASE(a_liar_and_a_mixture_are_scripts_too) {
  world w;
  w.add_runner("slot", lies(10, measures(x_plus_one)));
  BOOST_TEST(w.report(w.begin({.size = 2}))->best->result->measured()->value == 10.0);
  world both;
  both.add_runner(
      "slot", sometimes<run_order, run_report>(
                  0.5, measures(x_plus_one), [](const run_order&) { return run_failed(failure_kind::run_error); }, 3));
  const auto report = both.report(both.begin({.size = 40}));
  const auto failed_ones = report->counts.failed[static_cast<std::size_t>(failure_kind::run_error)];
  BOOST_TEST(failed_ones > 5u);
  BOOST_TEST(failed_ones < 35u);
}

BOOST_AUTO_TEST_CASE(a_power_cut_loses_messages_and_keeps_the_store) {
  world w;
  auto slot = w.add_runner();
  w.begin({.size = 4, .session = "s"});
  w.answer(slot, measured(1));
  w.answer(slot, measured(2));
  BOOST_TEST(w.store.records.size() == 2u);
  w.reply(slot, measured(3)); // on its way
  w.power_cut();
  BOOST_TEST(w.store.records.size() == 2u);
  BOOST_TEST(w.tuners.empty());
  slot = w.add_runner("slot", measures(x_plus_one));
  const auto report = w.report(w.begin({.size = 4, .session = "s", .past = w.store.steps_of("s")}));
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.proposed == 4u);
  BOOST_TEST(slot->orders == 2);
  BOOST_TEST(w.store.records.size() == 4u);
}

BOOST_AUTO_TEST_CASE(writes_fail_as_the_store_s_script_says) {
  world w;
  w.add_runner("slot", measures(x_plus_one));
  w.store.fails = [](int n) {
    return n == 2 ? std::optional<error>(error{errc::store_unusable, "torn", {}}) : std::nullopt;
  };
  const auto tuner = w.begin({.size = 4});
  w.pass(5s);
  BOOST_TEST(w.report(tuner)->counts.measured == 4u);
  BOOST_TEST(w.store.records.size() == 4u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_ledger)

BOOST_AUTO_TEST_CASE(it_says_which_rule_is_broken) {
  // What is lost behind its back was told before it was durable, as far as it can see.
  world w;
  ledger books(w);
  w.add_runner("slot", measures(x_plus_one));
  w.observe([&](const handled& h) {
    if (h.to == "cache" && h.what.match_elements<atom::fill, finished_batch>()) w.store.records.clear();
  });
  BOOST_CHECK_EXCEPTION(w.begin({}), failed, is_failed("broken: durable before told"));
}

BOOST_AUTO_TEST_CASE(a_place_that_gets_two_orders_is_seen) {
  world w;
  ledger books(w);
  w.add_runner();
  w.begin({});
  const auto order = run_order{std::make_shared<trial>(), nullptr};
  caf::anon_send(w.runners[0].first, atom::run::value, order);
  BOOST_CHECK_EXCEPTION(w.drain(), failed, is_failed("broken: one at a time"));
}

BOOST_AUTO_TEST_CASE(what_is_in_the_store_twice_is_seen) {
  world w;
  ledger books(w);
  w.add_runner("slot", measures(x_plus_one));
  w.report(w.begin({}));
  books.look_at_store();
  w.store.records.push_back(w.store.records.front());
  BOOST_CHECK_EXCEPTION(books.look_at_store(), failed, is_failed("in the store twice"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(recorded_spaces)

BOOST_AUTO_TEST_CASE(a_recorded_space_is_a_task_and_a_place) {
  storage::recorded_space r;
  r.parameters = {{"tile", {value(8), value(16), value(32)}}};
  for (std::uint32_t i = 0; i < 3; ++i) {
    storage::recorded_trial t;
    t.at = {i};
    if (i == 2) {
      t.result.data = failure{failure_kind::build_error, "too large", {}, {}};
    } else {
      measurement m;
      m.value = i == 0 ? 2.0 : 1.0;
      t.result.data = m;
      t.result.phases.run = 10s;
    }
    r.trials.push_back(t);
  }
  const auto recorded = recorded_runs::of(r);
  BOOST_REQUIRE(recorded.ok());
  BOOST_TEST((*recorded)->optimum().value() == 1.0);
  world w;
  w.add_runner("gpu", (*recorded)->runs());
  const auto tuner = w.begin({.run_timeout = 60s, .over = (*recorded)->over()});
  w.pass(15s);
  BOOST_TEST(w.status_of(tuner).counts.proposed == 1u);
  w.pass(10s);
  const auto report = w.report(tuner);
  BOOST_REQUIRE(report);
  BOOST_TEST(report->best->config.text() == "tile=16");
  BOOST_TEST(report->counts.failed[static_cast<std::size_t>(failure_kind::build_error)] == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
