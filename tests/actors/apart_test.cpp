// Slots on machines of their own: what goes where, and what becomes of it when a machine goes.
#include "testing/boost_test.hpp"

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

BOOST_AUTO_TEST_SUITE_END()
