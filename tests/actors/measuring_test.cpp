// What happens around the trials: the best are measured again side by side, a reference shows the machine, doubtful
// results are measured anew.
#include "actors/model.hpp"
#include "testing/boost_test.hpp"

#include <algorithm>
#include <map>
#include <set>

using namespace attune;
using namespace attune::actors;
using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

void intervals(task_spec& spec) { spec.run.repeats = {3, 9, 0.01}; }
void without_finals(task_spec& spec) {
  intervals(spec);
  spec.measure.finals = 0;
}
void with_default(task_spec& spec) {
  intervals(spec);
  spec.parameters[0].standard = value(std::int64_t{5});
}

run_report sampled(std::vector<double> samples, nanoseconds took = 1ms) {
  measurement m;
  m.value = samples[samples.size() / 2];
  m.samples = std::move(samples);
  return {std::make_shared<const measure::run_result>(measure::run_result{m, took, {}, {}})};
}

/// Three samples about v, or one where it is run once.
run_report about(const trial& what, double v) { return what.once() ? sampled({v}) : sampled({v * 0.99, v, v * 1.01}); }

/// The smaller x, the better, by so little that the best are measured again.
run_report close_together(const run_order& o) { return about(*o.what, 1 + 0.001 * x_of(*o.what)); }
run_report all_alike(const run_order& o) { return about(*o.what, 1.0); }

build_report kept_folder(const build_order&) {
  return {std::make_shared<const measure::build_result>(
      measure::build_result{std::make_shared<const measure::artifact>("/nonexistent/a", "a"), 2ms, {}, {}})};
}

/// Watches what is decided.
struct listener {
  explicit listener(boost_world& g) {
    auto said_here = said;
    auto who = g.system.spawn([said_here](watcher_actor::pointer) -> watcher_actor::behavior_type {
      return {[said_here](atom::note, const event_batch& batch) {
        for (const auto& e : batch.items)
          if (e.kind == event_kind::decided) said_here->push_back(e.text);
      }};
    });
    g.ask<caf::ok_atom>(g.watch.to, atom::subscribe::value, who);
    watcher = who;
  }
  ~listener() { caf::anon_send_exit(watcher, caf::exit_reason::kill); }
  bool heard(const std::string& part) const {
    return std::any_of(said->begin(), said->end(), [&](const auto& s) { return s.find(part) != std::string::npos; });
  }
  std::shared_ptr<std::vector<std::string>> said = std::make_shared<std::vector<std::string>>();
  watcher_actor watcher;
};

} // namespace

BOOST_AUTO_TEST_SUITE(the_finals)

BOOST_AUTO_TEST_CASE(luck_is_not_crowned) {
  boost_world g;
  auto slot = g.add_runner();
  // x=3 was lucky the first time.
  std::map<int, int> once;
  slot->answer = [&](const run_order& o) {
    const double x = x_of(*o.what);
    if (o.what->why == purpose::finalist) ++once[static_cast<int>(x)];
    const double truth = x == 3 ? 1.02 : x == 4 ? 1.0 : 2 + x;
    return about(*o.what, x == 3 && !o.what->once() ? 0.995 : truth);
  };
  tuner_options o;
  o.shape = with_default;
  const auto report = g.report(g.begin(o));
  BOOST_REQUIRE(report);
  BOOST_TEST(report->best->config.text() == "x=4");
  BOOST_TEST(report->best->result->measured()->value == 1.0);
  BOOST_TEST(once.size() == 3u); // the two, and the default
  BOOST_TEST(once[5] >= 3);
  BOOST_TEST(report->counts.measured == 8u); // what runs again is no trial
  BOOST_TEST(report->final_runs == static_cast<std::uint64_t>(once[3] + once[4] + once[5]));
  BOOST_REQUIRE(report->side_by_side.size() == 3u);
  for (const auto& s : report->side_by_side) {
    BOOST_TEST(s.how.winner == (s.which.config.text() == "x=4"));
    BOOST_TEST(s.how.reference == (s.which.config.text() == "x=5"));
    BOOST_TEST(s.how.separated);
    BOOST_TEST(s.which.result->measured()->samples.size() == s.how.rounds);
  }
  // Durable, and in the cache: who asks next has the new values.
  BOOST_TEST(g.store.records.size() == 11u);
  const auto amended =
      std::count_if(g.store.steps.begin(), g.store.steps.end(), [](const auto& s) { return s.amends.has_value(); });
  BOOST_TEST(amended == 3);
  tuner_options again = o;
  again.seed = 2;
  again.strategy = "random";
  again.trials = 8;
  const auto second = g.report(g.begin(again));
  BOOST_REQUIRE(second);
  BOOST_TEST(second->counts.cached == 8u);
  BOOST_TEST(second->best->config.text() == "x=4");
}

BOOST_AUTO_TEST_CASE(a_stated_number_of_repeats_is_run_exactly_so_often) {
  boost_world g;
  auto slot = g.add_runner();
  slot->answer = all_alike;
  tuner_options o;
  o.shape = [](task_spec& spec) { spec.run.repeats = {3, 3, 0}; };
  const auto report = g.report(g.begin(o));
  BOOST_REQUIRE(report);
  BOOST_TEST(slot->orders == 8);
  BOOST_TEST(report->final_runs == 0u);
  BOOST_TEST(report->side_by_side.empty());
}

BOOST_AUTO_TEST_CASE(a_session_that_has_named_its_winner_names_it_again) {
  std::vector<fake_store::step> past;
  tuner_options o;
  o.shape = intervals;
  std::string winner;
  std::size_t settled = 0;
  {
    boost_world g;
    g.add_runner()->answer = close_together;
    const auto report = g.report(g.begin(o));
    winner = report->best->config.text();
    settled = report->side_by_side.size();
    BOOST_TEST(settled >= 2u);
    past = g.store.steps;
  }
  boost_world g;
  auto slot = g.add_runner();
  slot->answer = all_alike;
  o.past = past;
  const auto report = g.report(g.begin(o));
  BOOST_REQUIRE(report);
  BOOST_TEST(slot->orders == 0);
  BOOST_TEST(report->best->config.text() == winner);
  BOOST_TEST(report->side_by_side.size() == settled);
  BOOST_TEST(report->counts.cached == 8u);
  // One that was stopped before the winner was named goes on there.
  std::erase_if(past, [](const auto& s) { return s.amends.has_value(); });
  o.past = past;
  const auto late = g.report(g.begin(o));
  BOOST_REQUIRE(late);
  BOOST_TEST(late->final_runs > 0u);
  BOOST_TEST(late->counts.measured == 0u);
}

BOOST_AUTO_TEST_CASE(without_time_for_a_round_the_best_stands_and_stands_again) {
  tuner_options o;
  o.shape = intervals;
  o.finals_until = nanoseconds(0);
  std::string best;
  {
    boost_world g;
    g.add_runner()->answer = close_together;
    const auto report = g.report(g.begin(o));
    BOOST_REQUIRE(report);
    BOOST_TEST(report->final_runs == 1u);
    best = report->best->config.text();
    BOOST_TEST(best == "x=0");
    o.past = g.store.steps;
  }
  boost_world g;
  auto slot = g.add_runner();
  slot->answer = all_alike;
  o.finals_until.reset();
  const auto report = g.report(g.begin(o));
  BOOST_REQUIRE(report);
  BOOST_TEST(slot->orders == 0);
  BOOST_TEST(report->best->config.text() == best);
  BOOST_TEST(report->counts.measured == 0u);
}

BOOST_AUTO_TEST_CASE(they_follow_the_end_of_the_time_and_can_be_interrupted_then) {
  tuner_options o;
  o.shape = intervals;
  o.size = 100;
  o.time = 20s;
  for (const bool interrupted : {false, true}) {
    boost_world g;
    auto slot = g.add_runner();
    auto t = g.begin(o);
    bool began = false;
    for (int i = 0; i < 400 && !g.report(t); ++i) {
      if (slot->hand.empty()) {
        g.pass(1s, 1s);
        continue;
      }
      const auto what = slot->hand.front().order.what;
      began = began || what->why == purpose::finalist;
      if (interrupted && what->why == purpose::finalist) {
        caf::anon_send(t, atom::cancel::value);
        g.drain();
        BOOST_TEST(slot->cancels >= 1);
        g.answer(slot, run_failed(failure_kind::cancelled));
        break;
      }
      g.pass(1s, 1s);
      if (slot->cancels > 0 && what->why == purpose::search)
        g.answer(slot, run_failed(failure_kind::cancelled));
      else
        g.answer(slot, close_together(slot->hand.front().order));
      slot->cancels = 0;
    }
    BOOST_TEST(began);
    const auto report = g.report(t);
    BOOST_REQUIRE(report);
    BOOST_CHECK(report->reason == search::stop_reason::time);
    BOOST_TEST(report->side_by_side.empty() == interrupted);
  }
}

BOOST_AUTO_TEST_CASE(what_was_built_is_kept_for_the_finals) {
  boost_world g;
  auto slot = g.add_runner();
  auto maker = g.add_builder();
  maker->answer = kept_folder;
  std::set<const measure::artifact*> seen;
  slot->answer = [&](const run_order& o) {
    BOOST_REQUIRE(o.built);
    if (!o.what->once()) seen.insert(o.built.get());
    if (o.what->once()) BOOST_TEST(seen.contains(o.built.get()));
    return close_together(o);
  };
  tuner_options o;
  o.build = true;
  o.shape = intervals;
  const auto report = g.report(g.begin(o));
  BOOST_REQUIRE(report);
  BOOST_TEST(report->final_runs >= 6u);
  BOOST_TEST(maker->orders == 8);
}

BOOST_AUTO_TEST_CASE(a_finalist_that_fails_is_out_and_keeps_its_record) {
  boost_world g;
  g.add_runner()->answer = [](const run_order& o) {
    if (o.what->once() && x_of(*o.what) == 0) return run_failed(failure_kind::run_error);
    return close_together(o);
  };
  tuner_options o;
  o.size = 3;
  o.shape = intervals;
  const auto report = g.report(g.begin(o));
  BOOST_REQUIRE(report);
  BOOST_TEST(report->side_by_side.size() == 2u);
  for (const auto& s : report->side_by_side)
    if (s.how.winner) BOOST_TEST(s.which.config.text() == "x=1");
}

BOOST_AUTO_TEST_CASE(they_are_interrupted_at_once_and_what_was_known_stands) {
  boost_world g;
  auto slot = g.add_runner();
  tuner_options o;
  o.shape = intervals;
  auto t = g.add_tuner(o);
  // By hand from the first finalist on.
  slot->answer = [&](const run_order& r) {
    if (r.what->number == 7) slot->answer = nullptr;
    return close_together(r);
  };
  caf::anon_send(t, atom::begin::value);
  g.drain();
  while (!slot->hand.empty() && slot->hand.front().order.what->why != purpose::finalist)
    g.answer(slot, about(*slot->hand.front().order.what, 1.0));
  BOOST_REQUIRE(!slot->hand.empty());
  BOOST_TEST(!g.report(t));
  caf::anon_send(t, atom::cancel::value);
  g.drain();
  BOOST_TEST(slot->cancels == 1);
  g.answer(slot, run_failed(failure_kind::cancelled));
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_TEST(report->best->config.text() == "x=0");
  BOOST_TEST(report->side_by_side.empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_reference)

namespace {

/// Time passes with each run; a hog makes them slower.
struct machine {
  boost_world& g;
  std::shared_ptr<fake_runner> slot;
  double slow = 1;
  int references = 0, repeats = 0;
  std::vector<int> trials{}; ///< x in the order in which they were measured
  bool broken_reference = false;

  /// Begins to be slow, until that is heard of; the runs until then.
  int is_disturbed(const listener& heard) {
    slow = 1.5;
    int runs = 0;
    for (; !heard.heard("disturbed") && runs < 200; ++runs) go(1, 100ms);
    BOOST_TEST(heard.heard("the machine is disturbed, and not by us"));
    return runs;
  }
  /// Answers what is in hand, each taking `took`.
  void go(int runs, nanoseconds took = 500ms) {
    for (int i = 0; i < runs; ++i) {
      if (slot->hand.empty()) {
        g.pass(took, took);
        continue;
      }
      const auto what = slot->hand.front().order.what;
      g.pass(took, took);
      if (what->why == purpose::reference) ++references;
      if (what->why == purpose::repeat) ++repeats;
      if (what->why == purpose::search) trials.push_back(static_cast<int>(x_of(*what)));
      if (broken_reference && what->why == purpose::reference) {
        g.answer(slot, run_failed(failure_kind::run_timeout));
        continue;
      }
      const double v = slow * (1 + 0.1 * x_of(*what));
      g.answer(slot, what->once() ? sampled({v}, took) : sampled({v * 0.999, v, v * 1.001}, took));
    }
  }
};

} // namespace

BOOST_AUTO_TEST_CASE(it_is_run_now_and_then_and_is_no_trial) {
  boost_world g;
  machine m{g, g.add_runner()};
  tuner_options o;
  o.size = 60;
  o.trials = 60;
  o.shape = without_finals;
  auto t = g.begin(o);
  m.go(400);
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.measured == 60u);
  BOOST_TEST(m.trials.size() == 60u);
  BOOST_TEST(g.store.records.size() == 60u);
  // 30 s of trials: a tenth of it and the first two seconds.
  BOOST_TEST(m.references >= 5);
  BOOST_TEST(m.references <= 12);
  BOOST_TEST(m.repeats == 0);
  BOOST_TEST(report->best->result->around.drift.has_value() == false); // the first: there was no reference yet
}

BOOST_AUTO_TEST_CASE(a_disturbed_machine_is_noticed_and_its_trials_are_measured_anew) {
  boost_world g;
  listener heard(g);
  machine m{g, g.add_runner()};
  tuner_options o;
  o.size = 400;
  o.trials = 400;
  o.shape = without_finals;
  auto t = g.begin(o);
  m.go(200, 100ms);
  BOOST_TEST(heard.heard("this is the quiet machine"));
  BOOST_REQUIRE(!m.slot->hand.empty());
  const auto before = m.trials.size();
  BOOST_REQUIRE(before < 300u);
  int runs = m.is_disturbed(heard);
  BOOST_TEST(runs <= 60); // 6 s
  const auto doubtful = m.trials.size() - before;
  BOOST_TEST(doubtful >= 1u);
  // It alone runs for a while; then they go on, and are marked.
  const auto stopped = m.trials.size();
  m.go(20, 100ms);
  BOOST_TEST(m.trials.size() <= stopped + 1);
  m.slow = 1;
  runs = 0;
  while (!heard.heard("quiet again") && runs < 200) m.go(1, 100ms), ++runs;
  BOOST_TEST(heard.heard("the machine is quiet again"));
  m.go(2000, 100ms);
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.measured == 400u);
  BOOST_TEST(m.repeats >= static_cast<int>(doubtful));
  BOOST_TEST(report->repeated == static_cast<std::uint64_t>(m.repeats));
  // Whatever was slow is known as it is.
  std::map<std::string, double> last;
  for (const auto& r : g.store.records) last[r.what->config.text()] = r.result->measured()->value;
  for (const auto& [config, value] : last) {
    const int x = std::stoi(config.substr(2));
    BOOST_TEST(std::abs(value / (1 + 0.1 * x) - 1) < 0.02, config << " is " << value);
  }
}

BOOST_AUTO_TEST_CASE(a_reference_that_cannot_be_run_any_more_holds_nobody_back) {
  boost_world g;
  listener heard(g);
  machine m{g, g.add_runner()};
  tuner_options o;
  o.size = 400;
  o.trials = 400;
  o.shape = without_finals;
  auto t = g.begin(o);
  m.go(200, 100ms);
  m.is_disturbed(heard);
  // While it alone may run, it fails.
  m.broken_reference = true;
  const auto before = m.trials.size();
  m.go(300, 100ms);
  BOOST_TEST(m.trials.size() > before + 100);
}

BOOST_AUTO_TEST_CASE(a_slow_drift_is_taken_out_of_the_values) {
  boost_world g;
  listener heard(g);
  machine m{g, g.add_runner()};
  tuner_options o;
  o.size = 3000;
  o.trials = 3000;
  o.shape = without_finals;
  auto t = g.begin(o);
  for (int i = 0; i < 5000 && !g.report(t); ++i) {
    m.go(1, 100ms);
    m.slow = 1 + 0.08 * i / 3000;
  }
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_TEST(!heard.heard("disturbed"));
  double worst = 0, raw = 0;
  for (const auto& r : g.store.records) {
    const double truth = 1 + 0.1 * x_of(*r.what);
    worst = std::max(worst, std::abs(r.result->measured()->value / truth - 1));
    raw = std::max(raw, r.result->measured()->samples[1] / truth - 1);
  }
  BOOST_TEST(raw > 0.06);
  BOOST_TEST(worst < 0.02, "off by " << worst);
  BOOST_TEST(g.store.records.back().result->around.correction > 1.06);
}

BOOST_AUTO_TEST_CASE(it_goes_with_its_session) {
  boost_world g;
  machine m{g, g.add_runner()};
  tuner_options o;
  o.size = 4;
  o.shape = intervals;
  auto t = g.begin(o);
  m.go(100);
  BOOST_REQUIRE(g.report(t));
  BOOST_TEST(m.slot->hand.empty());
  const int orders = m.slot->orders;
  g.pass(60s);
  BOOST_TEST(m.slot->orders == orders);
}

BOOST_AUTO_TEST_CASE(builds_beside_timed_runs_come_where_they_do_no_harm) {
  scheduler_options scheduling;
  scheduling.watch.ladder = schedulers::admission_ladder(1, false, 2, true);
  scheduling.dispatcher.admission = scheduling.watch.ladder.front();
  boost_world g({.scheduling = scheduling});
  listener heard(g);
  machine m{g, g.add_runner()};
  auto maker = g.add_builder("b0"), second = g.add_builder("b1");
  maker->answer = second->answer = kept_folder;
  tuner_options o;
  o.size = 400;
  o.trials = 400;
  o.build = true;
  o.shape = [](task_spec& spec) {
    spec.measure.builders = how_many::by_noise();
    spec.measure.finals = 0;
  };
  auto t = g.begin(o);
  m.go(600, 50ms);
  BOOST_TEST(heard.heard("this is the quiet machine"));
  BOOST_TEST(heard.heard("up to"));
  m.go(5000, 50ms);
  BOOST_REQUIRE(g.report(t));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(work_beside_the_trials)

BOOST_AUTO_TEST_CASE(a_training_waits_for_the_timed_run_and_goes_before_the_next) {
  boost_world g;
  auto slot = g.add_runner();
  g.begin({});
  BOOST_REQUIRE(slot->hand.size() == 1u);
  const auto asked = std::make_shared<int>(0);
  auto asker = g.system.spawn([asked, scheduler = g.scheduler](caf::event_based_actor* self) {
    self->request(scheduler, caf::infinite, atom::aside::value, std::uint64_t{1}).then([asked](caf::ok_atom) {
      ++*asked;
    });
    return caf::behavior{[self, scheduler](caf::ok_atom) {
      self->send(scheduler, atom::aside::value, atom::done::value, std::uint64_t{1});
    }};
  });
  g.drain();
  BOOST_TEST(*asked == 0);
  g.answer(slot, measured(1));
  BOOST_TEST(*asked == 1);
  BOOST_TEST(slot->hand.empty());
  caf::anon_send(asker, caf::ok_atom::value);
  g.drain();
  BOOST_TEST(slot->hand.size() == 1u);
  caf::anon_send_exit(asker, caf::exit_reason::kill);
}

BOOST_AUTO_TEST_CASE(one_that_dies_at_it_holds_nothing_up) {
  boost_world g;
  auto slot = g.add_runner();
  // It is let in, and ends without a word.
  BOOST_TEST((g.ask<caf::ok_atom>(g.scheduler, atom::aside::value, std::uint64_t{1}).has_value()));
  g.begin({});
  BOOST_TEST(slot->hand.size() == 1u);
  // It waits, and ends.
  BOOST_TEST((!g.ask<caf::ok_atom>(g.scheduler, atom::aside::value, std::uint64_t{2}).has_value()));
  g.answer(slot, measured(1));
  BOOST_TEST(slot->hand.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_search_with_a_model_that_asks_proposes_the_same) {
  std::vector<std::string> seen[2];
  for (const bool asks : {false, true}) {
    boost_world g;
    auto slot = g.add_runner();
    slot->answer = [&](const run_order& o) {
      seen[asks ? 1 : 0].push_back(o.what->config.text());
      return measured(1 + std::abs(x_of(*o.what) - 123));
    };
    tuner_options o;
    o.size = 400;
    o.trials = 60;
    o.strategy = "model";
    o.seed = 5;
    if (asks) o.model = g.system.spawn(actors::model, false, g.scheduler);
    BOOST_REQUIRE(g.report(g.begin(o)));
    if (o.model) caf::anon_send_exit(o.model, caf::exit_reason::kill);
  }
  BOOST_TEST(seen[1] == seen[0], boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
