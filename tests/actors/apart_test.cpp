// Slots on machines of their own: what goes where, and what becomes of it when a machine goes.
#include "testing/boost_test.hpp"

#include <cmath>
#include <map>

using namespace attune;
using namespace attune::actors;
using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

scheduler_options apart(std::uint32_t builders = 1) {
  scheduler_options o;
  o.apart = true;
  o.dispatcher.admission = {1, builders, builders};
  return o;
}

place_info slot_of(const std::string& device, const std::string& kind = "test", int number = 0) {
  return {device + "/slot" + std::to_string(number), device,
          [kind](const task& t) { return t.where.device() == kind; }};
}

tuner_options on(const std::string& kind, int size, bool build = false) {
  tuner_options o;
  o.name = kind;
  o.size = size;
  o.build = build;
  o.shape = [kind](task_spec& s) { s.target = {{"device", value(kind)}}; };
  return o;
}

} // namespace

BOOST_AUTO_TEST_SUITE(slots_apart)

BOOST_AUTO_TEST_CASE(tasks_go_to_the_machines_of_their_target) {
  boost_world g({.scheduling = apart()});
  auto arm = g.add_runner(slot_of("a", "arm")), gpu = g.add_runner(slot_of("b", "gpu"));
  const auto x = g.begin(on("arm", 3)), y = g.begin(on("gpu", 2));
  for (int i = 0; i < 3; ++i) {
    BOOST_REQUIRE(!arm->hand.empty());
    BOOST_TEST(arm->hand.front().order.what->of->where.device() == "arm");
    g.answer(arm, measured(1));
  }
  for (int i = 0; i < 2; ++i) {
    BOOST_REQUIRE(!gpu->hand.empty());
    BOOST_TEST(gpu->hand.front().order.what->of->where.device() == "gpu");
    g.answer(gpu, measured(2));
  }
  BOOST_TEST(g.report(x)->counts.measured == 3u);
  BOOST_TEST(g.report(y)->counts.measured == 2u);
}

BOOST_AUTO_TEST_CASE(two_tasks_on_two_devices_take_the_time_of_the_longer) {
  for (const bool build : {false, true}) {
    boost_world g({.scheduling = apart(2)});
    const auto takes = [](nanoseconds each) { return slow(each, measures([](const configuration&) { return 1.0; })); };
    g.add_runner(slot_of("a", "arm"))->answer = takes(1s);
    g.add_runner(slot_of("b", "gpu"))->answer = takes(2s);
    if (build)
      for (const auto* name : {"builder1", "builder2"}) g.add_builder(name, slow(500ms, builds()));
    const auto begun = g.now();
    const auto x = g.begin(on("arm", 6, build)), y = g.begin(on("gpu", 5, build));
    while (!g.report(y) && g.now() - begun < 60s) g.pass(250ms);
    BOOST_REQUIRE(g.report(x));
    BOOST_REQUIRE(g.report(y));
    // While one runs the next is built: a build is waited for at the beginning alone, by one of them behind the
    // other's.
    const double first = build ? 0.5 : 0;
    BOOST_TEST(seconds(g.report(x)->wall) == 6 + first);
    BOOST_TEST(seconds(g.report(y)->wall) == 10 + 2 * first);
    BOOST_TEST(seconds(g.now() - begun) == 10 + 2 * first);
  }
}

BOOST_AUTO_TEST_CASE(a_machine_that_comes_later_serves_what_waits_for_it) {
  boost_world g({.scheduling = apart()});
  auto arm = g.add_runner(slot_of("a", "arm"));
  const auto y = g.begin(on("gpu", 1));
  BOOST_TEST(arm->orders == 0);
  auto gpu = g.add_runner(slot_of("b", "gpu"));
  BOOST_REQUIRE_EQUAL(gpu->hand.size(), 1u);
  g.answer(gpu, measured(1));
  BOOST_TEST(g.report(y)->counts.measured == 1u);
}

BOOST_AUTO_TEST_CASE(each_machine_runs_at_once_and_builds_go_on_beside) {
  boost_world g({.scheduling = apart(1)});
  auto a = g.add_runner(slot_of("a")), b = g.add_runner(slot_of("b"));
  auto builder = g.add_builder();
  g.begin(on("test", 8, true));
  g.answer(builder, built());
  g.answer(builder, built());
  BOOST_TEST(a->hand.size() == 1u);
  BOOST_TEST(b->hand.size() == 1u);
  BOOST_TEST(builder->hand.size() == 1u); // beside both
}

BOOST_AUTO_TEST_CASE(a_trial_that_loses_its_machine_goes_to_another_once_and_a_late_answer_is_nothing) {
  boost_world g({.scheduling = apart()});
  auto a = g.add_runner(slot_of("a", "test", 0)), a2 = g.add_runner(slot_of("a", "test", 1));
  auto b = g.add_runner(slot_of("b"));
  const auto t = g.begin(on("test", 3));
  BOOST_REQUIRE_EQUAL(a->hand.size(), 1u);
  const auto lost = a->hand.front().order.what;
  BOOST_REQUIRE(b->hand.size() == 1u && a2->hand.size() == 1u);
  const auto gone = g.runners[0].first;
  g.kill_runner(0);
  caf::anon_send(gone, atom::internal::value, measured(99));
  g.drain();
  // The free slot is of the machine that was lost: it waits for the other.
  g.answer(a2, measured(1));
  BOOST_TEST(a2->hand.empty());
  g.answer(b, measured(1));
  BOOST_REQUIRE_EQUAL(b->hand.size(), 1u);
  BOOST_TEST((b->hand.front().order.what == lost));
  g.answer(b, measured(5));
  const auto r = g.report(t);
  BOOST_REQUIRE(r);
  BOOST_TEST(r->counts.proposed == 3u);
  BOOST_TEST(r->counts.measured == 3u);
  BOOST_TEST(g.store.records.size() == 3u);
  for (const auto& i : g.store.records) BOOST_TEST(i.result->measured()->value != 99);
}

BOOST_AUTO_TEST_CASE(what_an_absence_of_the_hub_has_lost_counts_against_nobody) {
  boost_world g({.scheduling = apart()});
  auto at_a = slot_of("a"), at_b = slot_of("b");
  at_a.absence = at_b.absence = [] { return std::uint64_t{1}; };
  auto a = g.add_runner(at_a), b = g.add_runner(at_b);
  const auto t = g.begin(on("test", 1));
  const bool first = !a->hand.empty();
  g.kill_runner(first ? 0 : 1);
  BOOST_REQUIRE_EQUAL((first ? b : a)->hand.size(), 1u); // it hears of them one after the other
  g.kill_runner(first ? 1 : 0);
  auto again = g.add_runner(at_a);
  BOOST_REQUIRE_EQUAL(again->hand.size(), 1u);
  g.answer(again, measured(1));
  const auto r = g.report(t);
  BOOST_REQUIRE(r);
  BOOST_TEST(r->counts.measured == 1u);
}

BOOST_AUTO_TEST_CASE(no_run_is_late_by_an_absence_of_the_hub) {
  boost_world g({.scheduling = apart()});
  auto a = g.add_runner(slot_of("a"));
  const auto t = g.begin(on("test", 2));
  g.pass(1h, 1h); // in one step: nobody was there to see the time
  g.answer(a, measured(1));
  BOOST_TEST(g.status_of(t).counts.measured == 1u);
  g.pass(1h); // there all the time
  g.answer(a, measured(1));
  const auto r = g.report(t);
  BOOST_REQUIRE(r);
  BOOST_TEST(r->counts.measured == 1u);
}

BOOST_AUTO_TEST_CASE(nothing_is_kept_of_what_ended_sessions_asked_of_slots) {
  boost_world g({.scheduling = apart()});
  int asked = 0;
  auto place = slot_of("a");
  place.serves = [&asked](const task&) { return ++asked > 0; };
  auto a = g.add_runner(place);
  for (int i = 1; i <= 5; ++i) {
    const auto t = g.begin(on("kind" + std::to_string(i), 1));
    g.answer(a, measured(1));
    BOOST_REQUIRE(g.report(t));
    BOOST_TEST(asked == i);
  }
  place.name = "a/slot1";
  g.add_runner(place);
  BOOST_TEST(asked == 5);
  g.begin(on("kind6", 4));
  BOOST_TEST(asked == 7); // of both slots
  place.name = "a/slot2";
  g.add_runner(place);
  BOOST_TEST(asked == 8); // what is under way is asked of who comes
}

BOOST_AUTO_TEST_CASE(a_trial_that_loses_two_machines_is_quarantined) {
  boost_world g({.scheduling = apart()});
  auto a = g.add_runner(slot_of("a")), b = g.add_runner(slot_of("b"));
  auto o = on("test", 1);
  const auto t = g.begin(o);
  const bool first = !a->hand.empty();
  g.kill_runner(first ? 0 : 1);
  BOOST_REQUIRE_EQUAL((first ? b : a)->hand.size(), 1u);
  auto c = g.add_runner(slot_of("c"));
  g.kill_runner(first ? 1 : 0);
  BOOST_TEST(c->orders == 0);
  const auto r = g.report(t);
  BOOST_REQUIRE(r);
  BOOST_TEST(r->counts.failed[static_cast<std::size_t>(failure_kind::device_lost)] == 1u);
  BOOST_REQUIRE_EQUAL(g.store.records.size(), 1u);
  const auto& notes = g.store.records[0].result->notes;
  BOOST_TEST(std::any_of(notes.begin(), notes.end(),
                         [](const auto& n) { return n.find("quarantined") != std::string::npos; }));
}

BOOST_AUTO_TEST_CASE(a_machine_that_rests_gets_nothing_new) {
  boost_world g({.scheduling = apart()});
  auto a = g.add_runner(slot_of("a")), b = g.add_runner(slot_of("b"));
  const auto t = g.begin(on("test", 4));
  caf::anon_send(g.scheduler, atom::pause::value, g.runners[0].first);
  g.drain();
  g.answer(a, measured(1));
  BOOST_TEST(a->hand.empty());
  g.answer(b, measured(1));
  BOOST_TEST(b->hand.size() == 1u);
  caf::anon_send(g.scheduler, atom::resume::value, g.runners[0].first);
  g.drain();
  BOOST_TEST(a->hand.size() == 1u);
  g.answer(a, measured(1));
  g.answer(b, measured(1));
  BOOST_TEST(g.report(t)->counts.measured == 4u);
}

BOOST_AUTO_TEST_CASE(a_slot_builds_what_must_be_built_where_it_runs) {
  boost_world g({.scheduling = apart()});
  auto a = g.add_runner(slot_of("a"));
  auto builder = g.add_builder();
  auto o = on("test", 1, true);
  o.shape = [](task_spec& s) {
    s.target = {{"device", value("test")}};
    s.build->on = building_place::runner;
  };
  const auto t = g.begin(o);
  BOOST_TEST(builder->orders == 0);
  BOOST_REQUIRE_EQUAL(a->hand.size(), 1u);
  // Within the limits of both.
  g.pass(std::chrono::seconds(25));
  BOOST_TEST(a->cancels == 0);
  g.answer(a, measured(1));
  BOOST_TEST(g.report(t)->counts.measured == 1u);
}

BOOST_AUTO_TEST_CASE(no_machine_is_watched_by_a_reference) {
  boost_world g({.scheduling = apart()});
  auto a = g.add_runner(slot_of("a"));
  auto o = on("test", 3);
  o.shape = [](task_spec& s) {
    s.target = {{"device", value("test")}};
    s.measure.tolerance = 0.02;
  };
  const auto t = g.begin(o);
  for (int i = 0; i < 3; ++i) {
    BOOST_REQUIRE(!a->hand.empty());
    BOOST_TEST((a->hand.front().order.what->why == purpose::search));
    g.answer(a, measured(1));
  }
  BOOST_TEST(g.report(t)->counts.measured == 3u);
}

BOOST_AUTO_TEST_CASE(everything_of_a_session_can_be_called_back_while_it_runs_elsewhere) {
  boost_world g({.scheduling = apart()});
  auto a = g.add_runner(slot_of("a"));
  const auto t = g.begin(on("test", 5));
  BOOST_REQUIRE_EQUAL(a->hand.size(), 1u);
  caf::anon_send(t, atom::cancel::value);
  g.drain();
  BOOST_TEST(a->cancels == 1);
  // The machine goes before it has answered.
  g.kill_runner(0);
  const auto r = g.report(t);
  BOOST_REQUIRE(r);
  BOOST_TEST((r->reason == search::stop_reason::interrupted));
  BOOST_TEST(g.store.records.empty());
}

BOOST_AUTO_TEST_CASE(a_slot_with_short_runs_has_its_next_trial_ahead_and_its_phases_are_its_own) {
  boost_world g({.scheduling = apart()});
  auto info = slot_of("a");
  std::vector<trial_ptr> stopped;
  info.stop = [&stopped](const trial_ptr& t) { stopped.push_back(t); };
  auto a = g.add_runner(info);
  const auto t = g.begin(on("test", 4));
  BOOST_TEST(a->hand.size() == 1u); // nothing is known of how long runs take
  g.pass(std::chrono::milliseconds(10), std::chrono::milliseconds(10));
  g.answer(a, measured(1));
  BOOST_REQUIRE_EQUAL(a->hand.size(), 2u);
  g.pass(std::chrono::milliseconds(20), std::chrono::milliseconds(10));
  g.answer(a, measured(2));
  BOOST_REQUIRE_EQUAL(a->hand.size(), 2u);
  g.pass(std::chrono::milliseconds(30), std::chrono::milliseconds(10));
  g.answer(a, measured(3));
  g.answer(a, measured(4));
  const auto r = g.report(t);
  BOOST_REQUIRE(r);
  BOOST_TEST(r->counts.measured == 4u);
  BOOST_TEST(stopped.empty());
  // The third waited 20 ms at its slot: that is its queue's time, not its run's.
  BOOST_REQUIRE_EQUAL(g.store.records.size(), 4u);
  const auto& third = g.store.records[2].result->phases;
  BOOST_TEST((third.queue >= std::chrono::milliseconds(20)));
  BOOST_TEST((third.run + third.clean == std::chrono::milliseconds(30)));
}

BOOST_AUTO_TEST_CASE(what_waits_at_a_slot_is_stopped_by_name_and_goes_elsewhere_when_the_slot_goes) {
  boost_world g({.scheduling = apart()});
  auto info = slot_of("a");
  std::vector<trial_ptr> stopped;
  info.stop = [&stopped](const trial_ptr& t) { stopped.push_back(t); };
  auto a = g.add_runner(info);
  const auto t = g.begin(on("test", 4));
  g.pass(std::chrono::milliseconds(10), std::chrono::milliseconds(10));
  g.answer(a, measured(1));
  BOOST_REQUIRE_EQUAL(a->hand.size(), 2u);
  const auto running = a->hand[0].order.what, waiting = a->hand[1].order.what;
  auto b = g.add_runner(slot_of("b"));
  BOOST_REQUIRE_EQUAL(b->hand.size(), 1u);
  g.kill_runner(0);
  g.answer(b, measured(4));
  // What waited is not at fault, and goes first; what ran has lost a device, and goes too.
  BOOST_REQUIRE_EQUAL(b->hand.size(), 1u);
  BOOST_TEST((b->hand.front().order.what == waiting || b->hand.front().order.what == running));
  g.answer(b, measured(2));
  g.answer(b, measured(3));
  const auto r = g.report(t);
  BOOST_REQUIRE(r);
  BOOST_TEST(r->counts.measured == 4u);
  std::size_t tried_again = 0;
  for (const auto& i : g.store.records)
    for (const auto& n : i.result->notes) tried_again += n.find("tried again") != std::string::npos;
  BOOST_TEST(tried_again == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_refused_is_not_run_stopped_where_it_runs_and_no_result_of_its_own) {
  boost_world g({.scheduling = apart()});
  auto a = g.add_runner(slot_of("a"));
  const auto t = g.begin(on("test", 3));
  BOOST_REQUIRE_EQUAL(a->hand.size(), 1u);
  const auto running = a->hand.front().order.what;
  refusal which;
  which.of = [key = running->key](const trial& one) -> std::optional<failure> {
    if (one.key != key) return std::nullopt;
    return failure{failure_kind::device_lost, "not run: banned", {}, {}};
  };
  caf::anon_send(g.scheduler, atom::refuse::value, which);
  g.drain();
  BOOST_TEST(a->cancels == 1);
  g.answer(a, measured(2));
  g.answer(a, measured(3));
  g.answer(a, measured(4));
  const auto r = g.report(t);
  BOOST_REQUIRE(r);
  BOOST_TEST(r->counts.failed[static_cast<std::size_t>(failure_kind::device_lost)] == 1u);
  BOOST_TEST(r->counts.measured == 2u); // what it came to where it ran is not its result
  BOOST_TEST(a->orders == 3);
  // Another search meets it, too.
  const auto again = g.begin(on("test", 3));
  const auto r2 = g.report(again);
  BOOST_REQUIRE(r2);
  BOOST_TEST(r2->counts.failed[static_cast<std::size_t>(failure_kind::device_lost)] == 1u);
  BOOST_TEST(a->orders == 3);
}

BOOST_AUTO_TEST_CASE(sessions_of_owners_have_their_shares_and_it_is_told) {
  auto how = apart();
  how.dispatcher.by_time = true;
  boost_world g({.scheduling = how});
  auto a = g.add_runner(slot_of("a"));
  for (std::uint64_t s = 1; s <= 2; ++s)
    caf::anon_send(g.scheduler, atom::share::value, session_number{s},
                   schedulers::share_terms{.owner = s, .weight = s == 1 ? 3.0 : 1.0});
  auto one = on("test", 60), two = on("test", 60);
  one.name = "one";
  two.name = "two";
  g.begin(one);
  g.begin(two);
  std::map<std::uint64_t, int> served;
  for (int i = 0; i < 40; ++i) {
    BOOST_REQUIRE(!a->hand.empty());
    ++served[a->hand.front().order.what->session];
    g.pass(std::chrono::milliseconds(100), std::chrono::milliseconds(100));
    g.answer(a, measured(1));
  }
  BOOST_TEST(std::abs(served[1] - 30) <= 2);
  const auto shares = g.ask<share_list>(g.scheduler, atom::share::value);
  BOOST_REQUIRE(shares);
  BOOST_REQUIRE_EQUAL(shares->items.size(), 2u);
  BOOST_TEST(shares->items[0].weight == 3.0);
  BOOST_TEST(std::abs(shares->items[0].used_s - 3) < 0.25);
}

BOOST_AUTO_TEST_CASE(each_machine_has_a_reference_of_its_own_and_drift_is_taken_out_where_it_is) {
  boost_world g({.scheduling = apart()});
  std::map<std::string, double> slower{{"a", 1}, {"b", 1}};
  std::map<std::string, int> references;
  const auto runs_on = [&](const std::string& device) {
    return [&, device](const run_order& o) {
      if (o.what->why == purpose::reference) ++references[device];
      // Little by little one of the two becomes slower.
      if (device == "a") slower["a"] *= 1.0005;
      act<run_report> r(measured((100 + x_of(*o.what)) * slower[device]));
      r.after = std::chrono::milliseconds(200);
      return r;
    };
  };
  g.add_runner(slot_of("a"), runs_on("a"));
  g.add_runner(slot_of("b"), runs_on("b"));
  auto o = on("test", 600);
  const auto shape = o.shape;
  o.shape = [shape](task_spec& s) {
    shape(s);
    s.measure.tolerance = 0.05;
  };
  const auto t = g.begin(o);
  for (int i = 0; i < 2000 && !g.report(t); ++i) g.pass(std::chrono::seconds(1));
  BOOST_REQUIRE(g.report(t));
  BOOST_TEST(references["a"] > 10);
  BOOST_TEST(references["b"] > 10);
  double worst_a = 0, drift_a = 0, drift_b = 0;
  for (const auto& r : g.store.records) {
    const auto* m = r.result->measured();
    if (m == nullptr || !r.result->around.drift) continue;
    const bool on_a = r.result->runner.starts_with("a/");
    auto& most = on_a ? drift_a : drift_b;
    most = std::max(most, *r.result->around.drift);
    if (on_a) worst_a = std::max(worst_a, m->value / (100 + r.what->config.find("x")->to_double()) - 1);
    // Nothing else is going on where it is timed.
    BOOST_TEST(r.result->around.runs_beside == 0u);
  }
  BOOST_TEST(drift_a > 0.1);
  BOOST_TEST(std::abs(drift_b) < 1e-9);
  BOOST_TEST(worst_a < drift_a / 2); // most of it is taken out
}

BOOST_AUTO_TEST_SUITE_END()
