// Each interaction of the actors, by its messages, also the bad ones.
#include "testing/boost_test.hpp"

#include <caf/event_based_actor.hpp>

#include <algorithm>
#include <set>

using namespace attune;
using namespace attune::actors;
using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

scheduler_options with(std::uint32_t slots, std::uint32_t builders, std::uint32_t in_flight = 0) {
  scheduler_options o;
  o.dispatcher.admission = {slots, builders};
  o.in_flight = in_flight;
  return o;
}

/// A runner that answers at once with a function of x.
auto by_itself(std::function<double(double)> f) {
  return [f](const run_order& o) { return measured(f(x_of(*o.what))); };
}

} // namespace

BOOST_AUTO_TEST_SUITE(life_of_a_trial)

BOOST_AUTO_TEST_CASE(every_configuration_is_run_once_recorded_and_told) {
  boost_world g;
  auto slot = g.add_runner();
  slot->answer = by_itself([](double x) { return 10 - x; });
  const auto report = g.report(g.begin({}));
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.proposed == 8u);
  BOOST_TEST(report->counts.measured == 8u);
  BOOST_TEST(report->counts.cached == 0u);
  BOOST_CHECK(report->reason == search::stop_reason::exhausted);
  BOOST_TEST(report->best->result->measured()->value == 3.0);
  BOOST_TEST(report->best->config.text() == "x=7");
  BOOST_TEST(g.store.records.size() == 8u);
  BOOST_TEST(g.store.steps.size() == 8u);
  BOOST_TEST(slot->orders == 8);
}

BOOST_AUTO_TEST_CASE(a_build_comes_before_the_run_and_its_failure_needs_no_run) {
  boost_world g({.scheduling = with(1, 1)});
  auto slot = g.add_runner();
  auto maker = g.add_builder();
  slot->answer = by_itself([](double x) { return x + 1; });
  maker->answer = [](const build_order& o) {
    return x_of(*o.what) < 2 ? build_failed(failure_kind::build_error) : built();
  };
  tuner_options o;
  o.build = true;
  const auto report = g.report(g.begin(o));
  BOOST_REQUIRE(report);
  BOOST_TEST(maker->orders == 8);
  BOOST_TEST(slot->orders == 6);
  BOOST_TEST(report->counts.failed[static_cast<std::size_t>(failure_kind::build_error)] == 2u);
  BOOST_TEST(report->best->config.text() == "x=2");
  BOOST_TEST(g.store.records.size() == 8u);
}

BOOST_AUTO_TEST_CASE(a_run_that_breaks_a_limit_is_an_invalid_configuration_and_never_the_best) {
  boost_world g;
  auto slot = g.add_runner();
  slot->answer = by_itself([](double x) { return x; });
  tuner_options o;
  o.limits = {{"time >= 3", {}}, {"time != 5", {}}};
  const auto report = g.report(g.begin(o));
  BOOST_REQUIRE(report);
  BOOST_TEST(report->best->config.text() == "x=3");
  BOOST_TEST(report->counts.failed[static_cast<std::size_t>(failure_kind::invalid_config)] == 4u);
  BOOST_REQUIRE(report->first_failure);
  BOOST_TEST(report->first_failure->message == "the limit `time >= 3` is not kept: time = 0");
  BOOST_TEST(g.store.records.size() == 8u);
}

BOOST_AUTO_TEST_CASE(the_time_from_proposal_to_told_is_in_the_phases) {
  boost_world g({.scheduling = with(1, 1, 1)});
  auto slot = g.add_runner();
  tuner_options o;
  o.build = true;
  o.trials = 1;
  auto t = g.begin(o);
  g.pass(1s); // no builder yet
  auto maker = g.add_builder();
  g.pass(2s);
  g.answer(maker, built());
  g.pass(3s);
  g.store.trouble = error{errc::store_unusable, "disk full", {}};
  auto ran = *measured(1).result;
  ran.elapsed = std::chrono::milliseconds(2500); // then half a second of cleaning up
  g.answer(slot, run_report{std::make_shared<const measure::run_result>(ran)});
  g.pass(4s);
  g.store.trouble.reset();
  g.pass(2s);
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  const auto& p = report->best->result->phases;
  BOOST_TEST(seconds(p.queue) == 1.0);
  BOOST_TEST(seconds(p.build) == 2.0);
  BOOST_TEST(seconds(p.run) == 2.5);
  BOOST_TEST(seconds(p.clean) == 0.5);
  const auto& all = report->times;
  BOOST_TEST(seconds(all.store) >= 4.0);
  BOOST_TEST(seconds(all.store) <= 6.0);
  BOOST_TEST((all.queue + all.build + all.run + all.clean + all.store + all.search == all.trials));
  BOOST_TEST((all.trials == report->wall));
  BOOST_REQUIRE_EQUAL(all.devices.size(), 1u);
  BOOST_TEST(seconds(all.devices[0].second) == 2.5);
}

BOOST_AUTO_TEST_CASE(the_time_at_a_place_that_is_lost_is_in_the_phases_too) {
  boost_world g({.scheduling = with(1, 1, 1)});
  g.add_runner("s0");
  tuner_options o;
  o.trials = 1;
  auto t = g.begin(o);
  g.pass(2s);
  g.kill_runner(0);
  g.pass(3s);
  auto s1 = g.add_runner("s1");
  g.pass(1s);
  auto ran = *measured(1).result;
  ran.elapsed = 1s;
  g.answer(s1, run_report{std::make_shared<const measure::run_result>(ran)});
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  const auto& p = report->best->result->phases;
  BOOST_TEST(seconds(p.run) == 3.0);
  BOOST_TEST(seconds(p.queue) == 3.0);
  BOOST_TEST((p.sum() == report->times.trials));
}

BOOST_AUTO_TEST_CASE(nothing_is_told_before_it_is_durable) {
  boost_world g({.scheduling = with(1, 1, 1)});
  auto slot = g.add_runner();
  g.store.trouble = error{errc::store_unusable, "disk full", {}};
  auto t = g.begin({});
  g.answer(slot, measured(1));
  BOOST_TEST(g.store.writes >= 1);
  BOOST_TEST(g.status_of(t).counts.proposed == 0u);
  BOOST_TEST(slot->hand.empty()); // its credit has not come back either
  g.pass(5s);
  BOOST_TEST(g.status_of(t).counts.proposed == 0u);
  g.store.trouble.reset();
  g.pass(2s);
  BOOST_TEST(g.status_of(t).counts.proposed == 1u);
  BOOST_TEST(slot->hand.size() == 1u);
  BOOST_TEST(g.store.records.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_store_that_stays_broken_ends_the_session_with_its_error) {
  recorder_options recording;
  recording.give_up_after = 30s;
  boost_world g({.scheduling = with(1, 1), .recording = recording});
  g.add_runner()->answer = by_itself([](double) { return 1; });
  g.store.trouble = error{errc::store_unusable, "disk full", {}};
  auto t = g.begin({});
  g.pass(29s);
  BOOST_TEST(!g.report(t));
  g.pass(5s);
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_CHECK(report->reason == search::stop_reason::error);
  BOOST_REQUIRE(report->trouble);
  BOOST_TEST(report->trouble->message == "disk full");
  BOOST_TEST(!report->best);
}

BOOST_AUTO_TEST_CASE(a_store_that_another_process_holds_is_waited_for_and_nothing_is_lost) {
  recorder_options recording;
  recording.give_up_after = 30s;
  recording.wait_for_holder = 20min;
  boost_world g({.scheduling = with(1, 1), .recording = recording});
  auto slot = g.add_runner();
  slot->answer = by_itself([](double x) { return 10 - x; });
  g.store.trouble = error{errc::store_busy, "process 7 (attune tune) has it", {}};
  auto t = g.begin({});
  g.pass(10min, 1s);
  BOOST_TEST(!g.report(t));
  const auto ran = slot->orders;
  BOOST_TEST(ran > 0);
  g.store.trouble.reset();
  g.pass(5s);
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_CHECK(report->reason == search::stop_reason::exhausted);
  BOOST_TEST(g.store.records.size() == 8u);
  BOOST_TEST(slot->orders == 8);

  // Not for ever.
  boost_world never({.scheduling = with(1, 1), .recording = recording});
  never.add_runner()->answer = by_itself([](double) { return 1; });
  never.store.trouble = error{errc::store_busy, "process 7 (attune tune) has it", {}};
  auto u = never.begin({});
  never.pass(21min, 1s);
  const auto given_up = never.report(u);
  BOOST_REQUIRE(given_up);
  BOOST_CHECK(given_up->reason == search::stop_reason::error);
}

BOOST_AUTO_TEST_CASE(a_session_that_is_called_back_does_not_wait_for_a_broken_store) {
  for (const bool before : {true, false}) {
    boost_world g({.scheduling = with(1, 1, 2)});
    auto slot = g.add_runner();
    g.store.trouble = error{errc::store_unusable, "disk full", {}};
    auto t = g.begin({});
    if (before) g.answer(slot, measured(1));
    caf::anon_send(t, atom::cancel::value);
    g.drain();
    while (!slot->hand.empty()) g.answer(slot, before ? run_failed(failure_kind::cancelled) : measured(1));
    g.pass(1500ms); // one more attempt
    const auto report = g.report(t);
    BOOST_REQUIRE(report);
    BOOST_CHECK(report->reason == search::stop_reason::interrupted);
    BOOST_TEST(report->counts.measured == 0u);
    BOOST_TEST(!report->best);
    BOOST_TEST(g.store.records.empty());
  }
}

BOOST_AUTO_TEST_CASE(results_that_arrive_while_the_disk_is_busy_share_the_next_write) {
  boost_world g({.scheduling = with(4, 1, 4)});
  std::vector<std::shared_ptr<fake_runner>> slots;
  for (int i = 0; i < 4; ++i) slots.push_back(g.add_runner("slot" + std::to_string(i)));
  g.begin({});
  for (auto& s : slots) {
    BOOST_REQUIRE(s->hand.size() == 1u);
    g.reply(s, measured(1)); // not drained: all four answers wait together
  }
  const int before = g.store.writes;
  g.drain();
  BOOST_TEST(g.store.records.size() == 4u);
  BOOST_TEST(g.store.writes - before <= 2);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_cache)

BOOST_AUTO_TEST_CASE(a_second_session_is_answered_from_memory) {
  boost_world g;
  auto slot = g.add_runner();
  slot->answer = by_itself([](double x) { return x; });
  g.report(g.begin({}));
  tuner_options wider;
  wider.size = 10;
  const auto report = g.report(g.begin(wider));
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.cached == 8u);
  BOOST_TEST(report->counts.measured == 2u);
  BOOST_TEST(slot->orders == 10);
  // Each step, a hit's too, names the record of its result.
  BOOST_TEST(g.store.steps.size() == 18u);
  for (const auto& step : g.store.steps) {
    BOOST_REQUIRE(step.record != 0u);
    BOOST_TEST(g.store.records[step.record - 1].what->key.hex() == step.what->key.hex());
  }
}

namespace {

double flat_cost(double x) { return x == 0 ? 1 : 5; }

/// One slot, one trial at a time, and what another session has measured: x = 0, 2, 4, 6 of 0 … 7.
struct half_known : boost_world {
  half_known() : boost_world({.scheduling = with(1, 1, 1)}), slot(add_runner()) {
    slot->answer = by_itself(flat_cost);
    tuner_options even;
    even.shape = [](task_spec& spec) { spec.parameters[0].domain = integer_range{0, 6, 2, false}; };
    BOOST_REQUIRE(report(begin(even)));
    BOOST_REQUIRE(store.records.size() == 4u);
    store.steps.clear();
  }
  std::shared_ptr<fake_runner> slot;
};

} // namespace

BOOST_AUTO_TEST_CASE(what_lies_between_equal_results_is_estimated_and_never_recorded) {
  half_known g;
  tuner_options all;
  all.near = 0.02;
  const auto report = g.report(g.begin(all));
  BOOST_REQUIRE(report);
  // 1 lies between 1 and 5, and 7 at the edge; 3 and 5 between equal ones.
  BOOST_TEST(report->counts.proposed == 8u);
  BOOST_TEST(report->counts.cached == 4u);
  BOOST_TEST(report->counts.measured == 2u);
  BOOST_TEST(report->counts.estimated == 2u);
  BOOST_TEST(report->best->config.text() == "x=0");
  // Nothing of an estimate is recorded, and the steps tell it from what was measured.
  BOOST_TEST(g.store.records.size() == 6u);
  BOOST_REQUIRE(g.store.steps.size() == 8u);
  for (const auto& s : g.store.steps) {
    const double x = x_of(*s.what);
    BOOST_TEST(s.guess.has_value() == (x == 3 || x == 5));
    BOOST_TEST((s.result == nullptr) == s.guess.has_value());
    if (s.guess) BOOST_TEST(s.guess->value == 5.0);
  }
  // The next session knows nothing of them either.
  tuner_options exact;
  const auto measured = g.report(g.begin(exact));
  BOOST_TEST(measured->counts.measured == 2u);
  BOOST_TEST(measured->counts.cached == 6u);
}

BOOST_AUTO_TEST_CASE(a_session_with_estimates_goes_on_from_its_steps) {
  half_known g;
  tuner_options all;
  all.near = 0.02;
  BOOST_REQUIRE(g.report(g.begin(all)));
  const auto orders = g.slot->orders;
  all.past = g.store.steps;
  const auto again = g.report(g.begin(all));
  BOOST_REQUIRE(again);
  BOOST_TEST(g.slot->orders == orders);
  BOOST_TEST(again->counts.proposed == 8u);
  BOOST_TEST(again->counts.estimated == 2u);
  BOOST_TEST(again->counts.cached == 6u);
  BOOST_TEST(again->best->config.text() == "x=0");
}

BOOST_AUTO_TEST_CASE(who_waits_for_what_another_estimates_measures_it) {
  half_known g;
  tuner_options all;
  auto near = all;
  near.near = 0.02;
  const auto a = g.add_tuner(near), b = g.add_tuner(all);
  caf::anon_send(a, atom::begin::value);
  caf::anon_send(b, atom::begin::value);
  g.drain();
  const auto estimated = g.report(a), measured = g.report(b);
  BOOST_REQUIRE(estimated);
  BOOST_REQUIRE(measured);
  BOOST_TEST(estimated->counts.proposed == 8u);
  // Nothing that is no measurement reaches the session that wants measurements.
  BOOST_TEST(measured->counts.estimated == 0u);
  BOOST_TEST(measured->counts.measured + measured->counts.cached == 8u);
  BOOST_TEST(g.store.records.size() == 8u);
}

BOOST_AUTO_TEST_CASE(what_others_forget_is_forgotten_in_memory) {
  boost_world g;
  auto slot = g.add_runner();
  slot->answer = by_itself([](double x) { return x; });
  BOOST_REQUIRE(g.report(g.begin({})));
  BOOST_TEST(slot->orders == 8);
  caf::anon_send(g.cache, atom::invalidate::value, task_list{{g.store.records[0].what->of->identity.task_key}});
  g.drain();
  BOOST_REQUIRE(g.report(g.begin({})));
  BOOST_TEST(slot->orders == 16);
}

BOOST_AUTO_TEST_CASE(two_sessions_that_want_the_same_fly_once) {
  boost_world g({.scheduling = with(1, 1, 2)});
  auto slot = g.add_runner();
  auto a = g.begin({}), b = g.begin({});
  for (int i = 0; i < 8; ++i) g.answer(slot, measured(i + 1));
  const auto ra = g.report(a), rb = g.report(b);
  BOOST_REQUIRE(ra);
  BOOST_REQUIRE(rb);
  BOOST_TEST(slot->orders == 8);
  BOOST_TEST(ra->counts.measured + rb->counts.measured == 8u);
  BOOST_TEST(ra->counts.cached + rb->counts.cached == 8u);
  BOOST_TEST(g.store.records.size() == 8u);
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_flight_that_is_called_back_flies_instead) {
  boost_world g({.scheduling = with(1, 1, 2)});
  auto slot = g.add_runner();
  tuner_options one;
  one.trials = 1;
  auto a = g.begin(one), b = g.begin(one);
  BOOST_TEST(slot->orders == 1);
  caf::anon_send(a, atom::cancel::value);
  g.drain();
  BOOST_TEST(slot->cancels == 1);
  g.answer(slot, run_failed(failure_kind::cancelled));
  BOOST_TEST(slot->orders == 2);
  g.answer(slot, measured(7));
  const auto report = g.report(b);
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.measured == 1u);
  BOOST_CHECK(g.report(a)->reason == search::stop_reason::interrupted);
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_flight_that_is_stopped_early_flies_if_it_would_not_be) {
  boost_world g({.scheduling = with(1, 1, 2)});
  auto slot = g.add_runner();
  tuner_options one;
  one.trials = 1;
  auto a = g.begin(one), b = g.begin(one);
  BOOST_TEST(slot->orders == 1);
  BOOST_TEST(!slot->hand.front().order.what->rival.has_value());
  g.answer(slot, stopped_early(3, 1));
  BOOST_TEST(slot->orders == 2); // b has no best yet: at least 3 is no answer for it
  g.answer(slot, measured(7));
  BOOST_TEST(g.report(a)->counts.bounded == 1u);
  BOOST_TEST(!g.report(a)->best.has_value());
  BOOST_CHECK(g.report(a)->reason == search::stop_reason::no_valid);
  BOOST_TEST(g.report(b)->counts.measured == 1u);
  BOOST_TEST(g.store.records.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_trial_takes_the_best_so_far_along_and_what_is_stopped_early_is_told_so) {
  boost_world g({.scheduling = with(1, 1, 1)});
  auto slot = g.add_runner();
  std::vector<std::optional<double>> rivals;
  slot->answer = [&](const run_order& o) {
    rivals.push_back(o.what->rival);
    return rivals.size() == 2 ? stopped_early(9, 5) : measured(5.0 - static_cast<double>(rivals.size()) + 1);
  };
  tuner_options three;
  three.trials = 3;
  const auto report = g.report(g.begin(three));
  BOOST_REQUIRE(report);
  BOOST_REQUIRE(rivals.size() == 3u);
  BOOST_TEST(!rivals[0].has_value());
  BOOST_TEST(*rivals[1] == 5.0);
  BOOST_TEST(*rivals[2] == 5.0);
  BOOST_TEST(report->counts.measured == 3u);
  BOOST_TEST(report->counts.bounded == 1u);
  BOOST_TEST(report->best->result->measured()->value == 3.0);
  BOOST_TEST(g.store.records[1].result->bounded()->value == 9.0);
}

BOOST_AUTO_TEST_CASE(a_candidates_failure_is_remembered_and_the_machines_is_not) {
  boost_world g;
  auto slot = g.add_runner();
  slot->answer = [](const run_order& o) {
    return run_failed(x_of(*o.what) < 4 ? failure_kind::run_error : failure_kind::internal);
  };
  g.report(g.begin({}));
  BOOST_TEST(slot->orders == 8);
  slot->answer = by_itself([](double x) { return x; });
  const auto report = g.report(g.begin({}));
  BOOST_REQUIRE(report);
  BOOST_TEST(slot->orders == 12);
  BOOST_TEST(report->counts.measured == 4u);
  BOOST_TEST(report->counts.cached == 4u);
  BOOST_TEST(report->best->config.text() == "x=4");
}

BOOST_AUTO_TEST_CASE(what_is_measured_again_after_its_eviction_is_not_dropped_from_the_store) {
  storage::cache_limits limits;
  limits.entries = 4;
  boost_world g({.cache = limits});
  auto slot = g.add_runner();
  slot->answer = by_itself([](double x) { return x; });
  g.report(g.begin({})); // 0 to 7: 0 to 3 have gone
  tuner_options first;
  first.size = 2;
  g.report(g.begin(first)); // 0 and 1 are back, 4 and 5 have gone
  caf::anon_send(g.cache, atom::flush::value);
  g.drain();
  std::set<std::string> gone;
  for (const auto& k : g.store.dropped) gone.insert(k.hex());
  std::set<std::string> wanted;
  for (const auto& r : g.store.records)
    if (const double x = x_of(*r.what); x >= 2 && x < 6) wanted.insert(r.what->key.hex());
  BOOST_TEST(gone == wanted, boost::test_tools::per_element());
}

namespace {

/// A store's cache as a stand-in: what was recorded, and how often it was asked.
struct stand_in {
  boost_world* of = nullptr;
  std::map<std::string, outcome_ptr> extra; ///< by canonical form: what it had from before
  int asked = 0;
  std::vector<storage::recalled> operator()(std::span<const trial_ptr> all) {
    std::vector<storage::recalled> out(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      ++asked;
      const auto give = [&](const outcome_ptr& o, storage::record_id id) {
        out[i].entry = storage::cached{all[i]->key, all[i]->of->identity.task_key, all[i]->canonical, id, o};
      };
      if (const auto at = extra.find(all[i]->canonical); at != extra.end()) give(at->second, 1000);
      for (const auto& r : of->store.records)
        if (r.what->key == all[i]->key && conclusive(*r.result)) give(r.result, r.id);
      if (!out[i].entry) out[i].cause = storage::miss_cause::other_target;
    }
    return out;
  }
};

outcome_ptr known_as(double v) {
  auto o = std::make_shared<outcome>();
  measurement m;
  m.value = v;
  o->data = m;
  return o;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_went_from_memory_is_found_in_the_store) {
  storage::cache_limits limits;
  limits.entries = 2;
  auto below = std::make_shared<stand_in>();
  boost_world g({.cache = limits, .archive = [below](std::span<const trial_ptr> all) { return (*below)(all); }});
  below->of = &g;
  auto slot = g.add_runner();
  slot->answer = by_itself([](double x) { return x; });
  g.report(g.begin({}));
  BOOST_TEST(below->asked < 8); // not before something of the task had gone there
  const auto report = g.report(g.begin({}));
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.cached == 8u);
  BOOST_TEST(slot->orders == 8);
  BOOST_TEST(below->asked > 0);
  BOOST_TEST(g.store.dropped.empty());
  caf::anon_send(g.cache, atom::flush::value);
  g.drain();
  // Each was used when it was filled in and when it was hit; the last uses are in the order of the trials.
  BOOST_REQUIRE(g.store.used.size() >= 8u);
  for (std::size_t i = 0; i < 8; ++i) BOOST_TEST(g.store.used[g.store.used.size() - 8 + i].record == i + 1);
}

BOOST_AUTO_TEST_CASE(what_the_store_knows_from_before_is_not_measured_and_is_told_in_order) {
  auto below = std::make_shared<stand_in>();
  boost_world g(
      {.scheduling = with(1, 1, 4), .archive = [below](std::span<const trial_ptr> all) { return (*below)(all); }});
  below->of = &g;
  for (const auto* x : {"1", "3", "6"}) {
    const configuration c(arguments{{"x", value(std::int64_t{std::stoi(x)})}});
    below->extra[c.canonical()] = known_as(std::stod(x) + 100);
  }
  auto slot = g.add_runner();
  slot->answer = by_itself([](double x) { return x; });
  tuner_options o;
  o.stored = true;
  const auto report = g.report(g.begin(o));
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.cached == 3u);
  BOOST_TEST(report->counts.measured == 5u);
  BOOST_TEST(slot->orders == 5);
  for (const auto& s : g.store.steps) BOOST_TEST((s.record == 1000u) == s.from_cache);
  const auto c = *g.ask<cache_statistics>(g.cache, atom::statistic::value);
  BOOST_TEST(c.hits == 3u);
  BOOST_TEST(c.misses == 5u);
}

BOOST_AUTO_TEST_CASE(two_sessions_that_ask_the_store_for_the_same_fly_once) {
  auto below = std::make_shared<stand_in>();
  boost_world g(
      {.scheduling = with(1, 1, 2), .archive = [below](std::span<const trial_ptr> all) { return (*below)(all); }});
  below->of = &g;
  auto slot = g.add_runner();
  tuner_options o;
  o.stored = true;
  auto a = g.begin(o), b = g.begin(o);
  for (int i = 0; i < 8; ++i) g.answer(slot, measured(i + 1));
  BOOST_REQUIRE(g.report(a));
  BOOST_REQUIRE(g.report(b));
  BOOST_TEST(slot->orders == 8);
  BOOST_TEST(g.report(a)->counts.cached + g.report(b)->counts.cached == 8u);
}

BOOST_AUTO_TEST_CASE(an_archive_that_is_gone_costs_a_measurement_and_no_more) {
  boost_world g({.archive = [](std::span<const trial_ptr>) { return std::vector<storage::recalled>{}; }});
  caf::anon_send_exit(g.archive, caf::exit_reason::kill);
  g.drain();
  auto slot = g.add_runner();
  slot->answer = by_itself([](double x) { return x; });
  tuner_options o;
  o.stored = true;
  const auto report = g.report(g.begin(o));
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.measured == 8u);
}

BOOST_AUTO_TEST_CASE(a_measuring_caller_s_search_that_is_called_back_while_it_asks_the_cache_ends) {
  boost_world g;
  tuner_options o;
  o.by_caller = true;
  const auto t = g.add_tuner(o);
  caf::anon_send(t, atom::begin::value);
  g.run_until(message<atom::begin>().to("tuner1"));
  caf::anon_send(t, atom::cancel::value); // the cache has not answered yet
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_CHECK(report->reason == search::stop_reason::interrupted);
  BOOST_TEST(report->counts.proposed == 0u);
}

BOOST_AUTO_TEST_CASE(a_session_that_is_cancelled_while_the_store_is_asked_measures_nothing) {
  // The cancellation comes at every possible moment.
  for (std::size_t steps = 0; steps < 60; ++steps) {
    boost_world g({.scheduling = with(1, 1, 2), .archive = [](std::span<const trial_ptr> all) {
                     return std::vector<storage::recalled>(all.size());
                   }});
    auto slot = g.add_runner();
    tuner_options o;
    o.stored = true;
    auto t = g.add_tuner(o);
    caf::anon_send(t, atom::begin::value);
    g.drain(steps);
    caf::anon_send(t, atom::cancel::value);
    g.drain();
    for (int i = 0; i < 2 && !slot->hand.empty(); ++i) {
      BOOST_TEST(slot->cancels == 1); // it was told to stop
      g.answer(slot, run_failed(failure_kind::cancelled));
    }
    const auto report = g.report(t);
    BOOST_REQUIRE_MESSAGE(report, "no end after " << steps << " messages");
    BOOST_CHECK(report->reason == search::stop_reason::interrupted);
    BOOST_TEST(g.store.records.empty());
  }
}

BOOST_AUTO_TEST_CASE(what_is_invalidated_is_gone_from_memory_and_from_the_store) {
  auto below = std::make_shared<stand_in>();
  boost_world g({.archive = [below](std::span<const trial_ptr>) { return std::vector<storage::recalled>{}; }});
  g.store.entries_forgotten = 77;
  auto slot = g.add_runner();
  slot->answer = by_itself([](double x) { return x; });
  const auto first = g.report(g.begin({}));
  const auto task = first->of->identity.task_key.hex();
  BOOST_TEST(*g.ask<std::uint64_t>(g.cache, atom::invalidate::value, task) == 77u);
  BOOST_REQUIRE_EQUAL(g.store.invalidated.size(), 1u);
  BOOST_TEST(g.store.invalidated[0] == task);
  // All uses were told before: none brings an entry back.
  BOOST_TEST(g.store.used.size() == 8u);
  g.report(g.begin({}));
  BOOST_TEST(slot->orders == 16);
}

BOOST_AUTO_TEST_CASE(a_fresh_session_asks_nobody) {
  boost_world g;
  auto slot = g.add_runner();
  slot->answer = by_itself([](double x) { return x; });
  g.report(g.begin({}));
  tuner_options fresh;
  fresh.fresh = true;
  const auto report = g.report(g.begin(fresh));
  BOOST_TEST(slot->orders == 16);
  BOOST_TEST(report->counts.measured == 8u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_scheduler)

BOOST_AUTO_TEST_CASE(no_more_is_in_flight_than_there_are_credits) {
  boost_world g({.scheduling = with(1, 1, 3)});
  auto slot = g.add_runner();
  auto t = g.begin({});
  for (int i = 0; i < 8; ++i) {
    BOOST_TEST(g.status_of(t).in_flight <= 3u);
    BOOST_TEST(slot->hand.size() == 1u); // and one at a time is timed
    g.answer(slot, measured(1));
  }
  BOOST_TEST(g.report(t)->counts.measured == 8u);
}

BOOST_AUTO_TEST_CASE(no_build_goes_on_beside_a_timed_run) {
  boost_world g({.scheduling = with(1, 2)});
  auto slot = g.add_runner();
  auto b0 = g.add_builder("b0"), b1 = g.add_builder("b1");
  tuner_options o;
  o.build = true;
  auto t = g.begin(o);
  int steps = 0;
  while (!g.report(t) && ++steps < 100) {
    BOOST_TEST((slot->hand.empty() || (b0->hand.empty() && b1->hand.empty())));
    if (!slot->hand.empty())
      g.answer(slot, measured(1));
    else if (!b0->hand.empty())
      g.answer(b0, built());
    else
      g.answer(b1, built());
  }
  BOOST_TEST(b1->orders > 0);
  BOOST_TEST(g.report(t)->counts.measured == 8u);
}

BOOST_AUTO_TEST_CASE(a_builder_that_dies_costs_one_more_try_elsewhere) {
  boost_world g({.scheduling = with(1, 2, 1)});
  auto slot = g.add_runner();
  auto b0 = g.add_builder("b0"), b1 = g.add_builder("b1");
  tuner_options o;
  o.build = true;
  o.trials = 1;
  auto t = g.begin(o);
  BOOST_TEST(b0->orders == 1);
  g.kill_builder(0);
  BOOST_TEST(b1->orders == 1);
  g.answer(b1, built());
  g.answer(slot, measured(5));
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.measured == 1u);
  BOOST_TEST(report->best->result->notes.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_runner_lost_with_a_trial_in_hand_and_a_candidate_that_loses_two) {
  boost_world g({.scheduling = with(1, 1, 1)});
  auto s0 = g.add_runner("s0"), s1 = g.add_runner("s1"), s2 = g.add_runner("s2");
  tuner_options o;
  o.trials = 2;
  auto t = g.begin(o);
  BOOST_TEST(s0->orders == 1);
  g.kill_runner(0);
  BOOST_TEST(s1->orders == 1);
  g.kill_runner(1);
  BOOST_TEST(s2->orders == 1); // the next candidate: the first is not tried a third time
  g.answer(s2, measured(5));
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.failed[static_cast<std::size_t>(failure_kind::device_lost)] == 1u);
  BOOST_TEST(report->counts.measured == 1u);
}

BOOST_AUTO_TEST_CASE(an_order_that_a_dead_runner_never_looked_at_is_a_lost_device) {
  bool overtaken = false; // the order was on its way when the runner died
  for (std::size_t steps = 0; !overtaken; ++steps) {
    boost_world g({.scheduling = with(1, 1, 1)});
    auto s0 = g.add_runner("s0"), s1 = g.add_runner("s1");
    tuner_options o;
    o.trials = 1;
    auto t = g.add_tuner(o);
    caf::anon_send(t, atom::begin::value);
    g.drain(steps);
    BOOST_REQUIRE(s0->orders == 0);
    caf::anon_send_exit(g.runners[0].first, caf::exit_reason::kill);
    g.drain();
    BOOST_TEST(s0->orders == 0);
    BOOST_TEST(s1->orders == 1);
    g.answer(s1, measured(2));
    const auto report = g.report(t);
    BOOST_REQUIRE(report);
    BOOST_TEST(report->counts.measured == 1u);
    BOOST_TEST((*g.ask<scheduler_status>(g.scheduler, atom::status::value)).slots == 1u);
    for (const auto& note : report->best->result->notes) {
      overtaken = true;
      BOOST_TEST(note.find("device_lost") != std::string::npos, note);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_answer_from_a_place_that_left_changes_nothing_of_the_trial_that_is_elsewhere) {
  boost_world g({.scheduling = with(1, 1, 1)});
  auto s0 = g.add_runner("s0"), s1 = g.add_runner("s1");
  tuner_options o;
  o.trials = 1;
  auto t = g.begin(o);
  BOOST_TEST(s0->orders == 1);
  caf::anon_send(g.scheduler, atom::leave::value, std::uint32_t{1}); // the first that joined
  g.drain();
  BOOST_TEST(s1->orders == 1);
  auto late = measured(0.001);
  auto noisy = *late.result;
  noisy.elapsed = std::chrono::hours(1);
  noisy.notes = {"from the place that left"};
  g.answer(s0, run_report{std::make_shared<const measure::run_result>(noisy)});
  BOOST_TEST(!g.report(t));
  g.answer(s1, measured(5));
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_TEST(report->best->result->measured()->value == 5.0);
  BOOST_TEST(report->best->result->phases.run.count() < nanoseconds(1min).count());
  for (const auto& note : report->best->result->notes) BOOST_TEST(note.find("that left") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_run_beyond_its_limit_is_stopped_and_its_answer_counts_as_the_timeout) {
  boost_world g({.scheduling = with(1, 1, 1)});
  auto slot = g.add_runner();
  auto t = g.begin({});
  g.pass(14s); // the limit of 10 s, and the margin in which the process supervisor strikes first
  BOOST_TEST(slot->cancels == 0);
  g.pass(2s);
  BOOST_TEST(slot->cancels == 1);
  g.answer(slot, measured(0.001)); // a moment too late
  BOOST_TEST(slot->orders == 2);
  const auto s = g.status_of(t);
  BOOST_TEST(s.counts.failed[static_cast<std::size_t>(failure_kind::run_timeout)] == 1u);
  BOOST_TEST(!s.best);
}

BOOST_AUTO_TEST_CASE(an_answer_after_the_trial_was_given_up_only_frees_the_place) {
  boost_world g({.scheduling = with(1, 1, 1)});
  auto slot = g.add_runner();
  tuner_options o;
  o.trials = 1;
  auto t = g.begin(o);
  g.pass(30s);
  BOOST_TEST(slot->cancels == 1);
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.failed[static_cast<std::size_t>(failure_kind::run_timeout)] == 1u);
  BOOST_TEST(g.store.records.size() == 1u);
  tuner_options other;
  other.name = "other";
  other.trials = 1;
  auto next = g.begin(other);
  BOOST_TEST(slot->orders == 1); // still out of service
  g.answer(slot, measured(0.001));
  BOOST_TEST(g.store.records.size() == 1u);
  BOOST_TEST(slot->orders == 2);
  g.answer(slot, measured(3));
  BOOST_TEST(g.report(next)->best->result->measured()->value == 3.0);
}

BOOST_AUTO_TEST_CASE(a_fleet_with_no_device_ends_by_itself_and_says_why) {
  boost_world g;
  auto t = g.begin({});
  BOOST_TEST(!g.report(t));
  for (int i = 0; i < 30 && !g.report(t); ++i) g.pass(31s, 1s);
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_REQUIRE(report->first_failure);
  BOOST_TEST(report->first_failure->message.find("no device") != std::string::npos);
  BOOST_TEST(!report->best);
}

BOOST_AUTO_TEST_CASE(credits_are_shared_and_come_back_when_a_session_ends) {
  boost_world g({.scheduling = with(1, 1, 6)});
  auto slot = g.add_runner();
  auto a = g.begin({});
  BOOST_TEST(g.status_of(a).window == 6u);
  tuner_options other;
  other.name = "other";
  other.trials = 2;
  auto b = g.begin(other);
  BOOST_TEST(g.status_of(a).window == 3u);
  BOOST_TEST(g.status_of(b).window == 3u);
  while (!g.report(b)) g.answer(slot, measured(1));
  BOOST_TEST(g.status_of(a).window == 6u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ends)

BOOST_AUTO_TEST_CASE(cancel_at_every_step_leaves_nothing_behind) {
  // The message after which the cancel comes goes through the whole life of the session.
  for (std::size_t after = 0; after < 160; ++after) {
    boost_world g({.scheduling = with(1, 1, 3)});
    auto slot = g.add_runner();
    auto maker = g.add_builder();
    slot->answer = by_itself([](double x) { return x + 1; });
    maker->answer = [](const build_order&) { return built(); };
    tuner_options o;
    o.build = true;
    auto t = g.add_tuner(o);
    caf::anon_send(t, atom::begin::value);
    g.drain(after);
    caf::anon_send(t, atom::cancel::value);
    g.drain();
    const auto report = g.report(t);
    BOOST_REQUIRE_MESSAGE(report, "no report when cancelled after " << after << " messages");
    BOOST_TEST(report->counts.proposed == g.store.records.size());
    BOOST_TEST(report->counts.proposed == g.store.steps.size());
    const auto s = *g.ask<scheduler_status>(g.scheduler, atom::status::value);
    BOOST_TEST(s.in_hand == 0u);
    BOOST_TEST(s.clients == 0u);
    BOOST_TEST((*g.ask<cache_statistics>(g.cache, atom::statistic::value)).flights == 0u);
  }
}

BOOST_AUTO_TEST_CASE(cancel_during_a_run_waits_until_the_slot_is_free) {
  boost_world g({.scheduling = with(1, 1, 2)});
  auto slot = g.add_runner();
  auto t = g.begin({});
  g.answer(slot, measured(4));
  caf::anon_send(t, atom::cancel::value);
  g.drain();
  BOOST_TEST(slot->cancels == 1);
  BOOST_TEST(!g.report(t));
  g.answer(slot, run_failed(failure_kind::cancelled));
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_CHECK(report->reason == search::stop_reason::interrupted);
  BOOST_TEST(report->counts.proposed == 1u);
  BOOST_TEST(report->best->result->measured()->value == 4.0);
  BOOST_TEST(g.store.records.size() == 1u);
}

BOOST_AUTO_TEST_CASE(time_ends_a_search_by_the_virtual_clock) {
  boost_world g({.scheduling = with(1, 1, 1)});
  auto slot = g.add_runner();
  tuner_options o;
  o.time = 5s;
  auto t = g.begin(o);
  g.answer(slot, measured(1));
  g.pass(4s);
  BOOST_TEST(!g.report(t));
  g.pass(2s);
  BOOST_TEST(slot->cancels == 1);
  g.answer(slot, run_failed(failure_kind::cancelled));
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_CHECK(report->reason == search::stop_reason::time);
  BOOST_TEST(report->counts.measured == 1u);
}

BOOST_AUTO_TEST_CASE(all_that_fails_ends_as_no_valid_and_has_no_best) {
  boost_world g;
  g.add_runner()->answer = [](const run_order&) { return run_failed(failure_kind::run_error, "boom"); };
  const auto report = g.report(g.begin({}));
  BOOST_REQUIRE(report);
  BOOST_CHECK(report->reason == search::stop_reason::no_valid);
  BOOST_TEST(!report->best);
  BOOST_TEST(report->first_failure->message == "boom");
  BOOST_TEST(report->counts.failures() == 8u);
}

BOOST_AUTO_TEST_CASE(a_machine_on_which_everything_fails_does_not_eat_a_large_space) {
  boost_world g;
  g.add_runner()->answer = [](const run_order&) { return run_failed(failure_kind::internal, "no memory"); };
  tuner_options o;
  o.size = 1000;
  const auto report = g.report(g.begin(o));
  BOOST_REQUIRE(report);
  BOOST_CHECK(report->reason == search::stop_reason::error);
  BOOST_TEST(report->counts.proposed < 40u);
}

BOOST_AUTO_TEST_CASE(the_greatest_is_best_where_the_goal_is_to_maximize) {
  boost_world g;
  g.add_runner()->answer = by_itself([](double x) { return x; });
  tuner_options o;
  o.direction = goal::maximize;
  BOOST_TEST(g.report(g.begin(o))->best->config.text() == "x=7");
}

BOOST_AUTO_TEST_CASE(pause_holds_proposals_and_resume_lets_them_go) {
  boost_world g({.scheduling = with(1, 1, 1)});
  auto slot = g.add_runner();
  auto t = g.begin({});
  BOOST_TEST(g.ask<caf::ok_atom>(t, atom::pause::value).has_value());
  g.answer(slot, measured(1));
  BOOST_TEST(slot->hand.empty());
  BOOST_TEST(g.ask<caf::ok_atom>(t, atom::resume::value).has_value());
  BOOST_TEST(slot->hand.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(callers_that_measure)

BOOST_AUTO_TEST_CASE(ask_and_tell_go_through_cache_and_store) {
  boost_world g({.scheduling = with(1, 1, 2)});
  tuner_options o;
  o.by_caller = true;
  o.size = 3;
  auto t = g.begin(o);
  for (int i = 0; i < 3; ++i) {
    const auto trial = g.ask<trial_ptr>(t, atom::ask::value);
    BOOST_REQUIRE(trial.has_value());
    outcome result;
    result.data = measurement{x_of(**trial) + 1, 0, {x_of(**trial) + 1}, 0, {}};
    BOOST_TEST(g.ask<caf::ok_atom>(t, atom::tell::value, (*trial)->number,
                                   outcome_ptr(std::make_shared<const outcome>(result)))
                   .has_value());
    BOOST_TEST(g.store.records.size() == static_cast<std::size_t>(i) + 1);
  }
  BOOST_TEST(!g.ask<trial_ptr>(t, atom::ask::value).has_value());
  BOOST_TEST(g.report(t)->best->config.text() == "x=0");
  // What a caller measured is known to everybody.
  tuner_options again = o;
  again.by_caller = false;
  BOOST_TEST(g.report(g.begin(again))->counts.cached == 3u);
}

BOOST_AUTO_TEST_CASE(a_result_for_a_trial_that_is_not_lent_is_refused) {
  boost_world g;
  tuner_options o;
  o.by_caller = true;
  auto t = g.begin(o);
  outcome result;
  result.data = measurement{1, 0, {1}, 0, {}};
  BOOST_TEST(
      !g.ask<caf::ok_atom>(t, atom::tell::value, trial_number{99}, outcome_ptr(std::make_shared<const outcome>(result)))
           .has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(order)

BOOST_AUTO_TEST_CASE(the_same_seed_and_results_in_the_same_order_give_the_same_trials) {
  std::vector<std::string> first;
  for (int round = 0; round < 2; ++round) {
    boost_world g({.scheduling = with(2, 1, 4)});
    auto s0 = g.add_runner("s0"), s1 = g.add_runner("s1");
    std::vector<std::string> seen;
    const auto f = [&seen](const run_order& o) {
      seen.push_back(o.what->config.text());
      return measured(std::abs(x_of(*o.what) - 31));
    };
    s0->answer = s1->answer = f;
    tuner_options o;
    o.size = 200;
    o.trials = 60;
    o.strategy = "annealing";
    o.seed = 7;
    BOOST_REQUIRE(g.report(g.begin(o)));
    if (round == 0)
      first = seen;
    else
      BOOST_TEST(first == seen, boost::test_tools::per_element());
  }
  BOOST_TEST(first.size() == 60u);
  BOOST_TEST(std::set<std::string>(first.begin(), first.end()).size() == 60u);
}

BOOST_AUTO_TEST_CASE(whoever_watches_sees_each_step_of_a_trial_once_and_in_order) {
  boost_world g({.scheduling = with(1, 1, 1)});
  g.add_runner()->answer = by_itself([](double) { return 1; });
  std::vector<event_kind> seen;
  auto w = g.system.spawn([&seen](watcher_actor::pointer) -> watcher_actor::behavior_type {
    return {[&seen](atom::note, const event_batch& b) {
      for (const auto& e : b.items) seen.push_back(e.kind);
    }};
  });
  BOOST_REQUIRE(g.ask<caf::ok_atom>(g.watch.to, atom::subscribe::value, w).has_value());
  tuner_options o;
  o.trials = 1;
  g.begin(o);
  const std::vector<event_kind> wanted{event_kind::session_started,
                                       event_kind::proposed,
                                       event_kind::queued,
                                       event_kind::run_started,
                                       event_kind::ran,
                                       event_kind::recorded,
                                       event_kind::told,
                                       event_kind::session_ended};
  BOOST_TEST((seen == wanted));
  const auto s = g.ask<monitor_snapshot>(g.watch.to, atom::snapshot::value);
  BOOST_TEST(s->recent.size() == wanted.size());
  caf::anon_send_exit(w, caf::exit_reason::kill);
  g.drain();
}

BOOST_AUTO_TEST_CASE(watchers_share_one_batch_and_a_snapshot_has_the_last_events) {
  boost_world g({.scheduling = with(1, 1, 1)});
  std::vector<const event*> seen;
  std::vector<watcher_actor> watchers;
  for (int i = 0; i < 3; ++i) {
    auto w = g.system.spawn([&seen](watcher_actor::pointer) -> watcher_actor::behavior_type {
      return {[&seen](atom::note, const event_batch& b) { seen.push_back(&b.items[0]); }};
    });
    BOOST_REQUIRE(g.ask<caf::ok_atom>(g.watch.to, atom::subscribe::value, w).has_value());
    watchers.push_back(w);
  }
  std::size_t told = 0;
  for (const std::size_t size : {1u, 700u, 1u, 9000u, 3u, 700u, 400u}) {
    std::vector<event> all(size);
    for (auto& e : all) e.at = nanoseconds(static_cast<std::int64_t>(told++));
    caf::anon_send(g.watch.to, atom::note::value, event_batch{std::move(all)});
    g.drain();
    BOOST_REQUIRE_EQUAL(seen.size(), 3u);
    BOOST_TEST((seen[0] == seen[1] && seen[1] == seen[2]));
    seen.clear();
    const auto s = g.ask<monitor_snapshot>(g.watch.to, atom::snapshot::value);
    BOOST_REQUIRE_EQUAL(s->recent.size(), std::min<std::size_t>(told, recent_events));
    for (std::size_t i = 0; i < s->recent.size(); ++i)
      BOOST_REQUIRE(s->recent[s->recent.size() - 1 - i].at == nanoseconds(static_cast<std::int64_t>(told - 1 - i)));
  }
  for (const auto& w : watchers) caf::anon_send_exit(w, caf::exit_reason::kill);
  g.drain();
}

BOOST_AUTO_TEST_SUITE_END()
