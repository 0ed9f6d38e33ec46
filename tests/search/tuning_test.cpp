#include "search/tuning.hpp"
#include "tests/search/spaces.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

using namespace attune;
using namespace attune::search;
using namespace std::chrono_literals;

namespace {

/// One parameter x in 0 … size-1, in memory.
struct setting {
  explicit setting(int size, goal direction = goal::minimize) {
    task_spec spec;
    spec.name = "tuning";
    spec.run.run.shell = "run {x}";
    spec.run.metrics[0].direction = direction;
    of = *make_task(spec, target{{{"device", "test"}}});
    over = grid_space({static_cast<std::uint32_t>(size)});
  }
  tuning make(std::string_view strategy, tuning_limits limits = {}, std::uint64_t seed = 1) const {
    strategy_options how;
    how.seed = seed;
    how.budget = limits.trials;
    return tuning(of, over, std::move(*make_strategy(strategy, over, how)), limits, 1);
  }
  task_ptr of;
  space_ptr over;
};

outcome_ptr good(double v) {
  outcome o;
  o.data = measurement{v, 0, {v}, 0, {}};
  return std::make_shared<const outcome>(o);
}

outcome_ptr bad(failure_kind kind) {
  outcome o;
  o.data = failure{kind, to_string(kind), {}, {}};
  return std::make_shared<const outcome>(o);
}

double cost_of(const trial& t) { return std::fabs(t.config[0].to_double() - 17.3) + 1; }

/// Runs to the end with `window` in flight, answering the oldest first; returns what was proposed.
std::vector<std::string> run(tuning& t, std::uint32_t window, std::vector<told_step>* steps = nullptr,
                             std::vector<trial_ptr>* trials = nullptr, std::size_t at_most = 1u << 20) {
  std::vector<std::string> proposed;
  std::deque<trial_ptr> flying;
  t.set_window(window);
  for (std::size_t n = 0;;) {
    while (auto next = t.propose(0ns)) {
      proposed.push_back(next->config.text());
      flying.push_back(next);
    }
    if (flying.empty() || n++ == at_most) return proposed;
    const auto step = t.tell(*flying.front(), good(cost_of(*flying.front())), false, 0ns);
    if (steps != nullptr) steps->push_back(*step);
    if (trials != nullptr) trials->push_back(flying.front());
    flying.pop_front();
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(tuning_of_one_task)

BOOST_AUTO_TEST_CASE(the_budget_is_spent_to_the_last_trial_and_not_beyond) {
  const setting s(100);
  auto t = s.make("random", {.trials = 37, .time = {}, .faults_in_a_row = 16});
  t.begin(0ns);
  BOOST_TEST(run(t, 5).size() == 37u);
  BOOST_CHECK(t.reason() == stop_reason::trials);
  BOOST_TEST(t.counts().measured == 37u);
}

BOOST_AUTO_TEST_CASE(what_is_dealt_its_trials_waits_for_more_and_goes_on_as_if_it_had_had_them_all) {
  const setting s(40);
  auto whole = s.make("annealing", {.trials = 30, .time = {}, .faults_in_a_row = 16});
  whole.begin(0ns);
  const auto expected = run(whole, 1);
  auto t = s.make("annealing", {.trials = 30, .time = {}, .faults_in_a_row = 16});
  t.begin(0ns);
  std::vector<std::string> proposed;
  for (const std::uint64_t allowed : {0, 3, 3, 17, 30}) {
    t.allow(allowed);
    const auto more = run(t, 1);
    proposed.insert(proposed.end(), more.begin(), more.end());
    BOOST_TEST(proposed.size() == allowed);
    BOOST_TEST(t.stopping() == (allowed == 30));
  }
  BOOST_TEST(proposed == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_budget_beyond_the_space_ends_normally_with_every_configuration) {
  const setting s(30);
  auto t = s.make("annealing", {.trials = 10000, .time = {}, .faults_in_a_row = 16});
  t.begin(0ns);
  BOOST_TEST(run(t, 4).size() == 30u);
  BOOST_CHECK(t.reason() == stop_reason::exhausted);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_ordered_is_never_the_best_in_any_order) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const auto direction : {goal::minimize, goal::maximize})
    for (const bool reversed : {false, true}) {
      const setting s(5, direction);
      auto t = s.make("grid");
      t.begin(0ns);
      t.set_window(1);
      std::vector<double> values{nan, 1.0, direction == goal::minimize ? -inf : inf, 0.003, 0.5};
      if (reversed) std::reverse(values.begin(), values.end());
      for (const double v : values) t.tell(*t.propose(0ns), good(v), false, 0ns);
      BOOST_TEST(t.best()->result->measured()->value == (direction == goal::minimize ? 0.003 : 1.0));
    }
}

BOOST_AUTO_TEST_CASE(what_was_stopped_early_is_never_the_best_and_counts_as_a_trial) {
  for (const auto direction : {goal::minimize, goal::maximize}) {
    const setting s(4, direction);
    auto t = s.make("grid", {.trials = 3, .time = {}, .faults_in_a_row = 16});
    t.begin(0ns);
    t.set_window(1);
    outcome stopped;
    stopped.data = bound{direction == goal::minimize ? 0.1 : 100.0, 1, {}};
    const auto cut = std::make_shared<const outcome>(stopped);
    t.tell(*t.propose(0ns), cut, false, 0ns);
    BOOST_TEST(!t.best().has_value());
    t.tell(*t.propose(0ns), good(5), false, 0ns);
    t.tell(*t.propose(0ns), cut, true, 0ns);
    BOOST_TEST(t.best()->result->measured()->value == 5.0);
    BOOST_TEST(t.counts().proposed == 3u);
    BOOST_TEST(t.counts().measured == 2u);
    BOOST_TEST(t.counts().bounded == 1u);
    BOOST_TEST(t.counts().cached == 1u);
    BOOST_TEST(t.counts().failures() == 0u);
    BOOST_CHECK(t.reason() == stop_reason::trials);
  }
}

BOOST_AUTO_TEST_CASE(a_trial_knows_the_worse_end_of_the_best_so_far) {
  for (const auto direction : {goal::minimize, goal::maximize}) {
    const setting s(4, direction);
    auto t = s.make("grid");
    t.begin(0ns);
    t.set_window(1);
    const auto first = t.propose(0ns);
    BOOST_TEST(!first->rival.has_value());
    outcome o;
    o.data = measurement{8, 0.25, {8}, 0, {}};
    t.tell(*first, std::make_shared<const outcome>(o), false, 0ns);
    BOOST_TEST(*t.propose(0ns)->rival == (direction == goal::minimize ? 10.0 : 6.0));
  }
}

BOOST_AUTO_TEST_CASE(a_second_answer_for_a_trial_counts_for_nothing) {
  const setting s(5);
  auto t = s.make("grid");
  t.begin(0ns);
  t.set_window(1);
  const auto first = t.propose(0ns);
  BOOST_TEST(t.tell(*first, good(1), false, 0ns).has_value());
  BOOST_TEST(!t.tell(*first, good(0.5), false, 0ns).has_value());
  BOOST_TEST(t.counts().proposed == 1u);
  BOOST_TEST(t.best()->result->measured()->value == 1.0);
}

BOOST_AUTO_TEST_CASE(a_cancelled_trial_counts_as_never_proposed) {
  const setting s(1);
  auto t = s.make("grid");
  t.begin(0ns);
  t.set_window(1);
  BOOST_TEST(!t.tell(*t.propose(0ns), bad(failure_kind::cancelled), false, 0ns).has_value());
  BOOST_TEST(t.counts().proposed == 0u);
  BOOST_TEST(t.propose(0ns) != nullptr); // offered again
}

BOOST_AUTO_TEST_CASE(faults_of_the_machine_in_a_row_end_it_and_a_measurement_between_them_does_not) {
  const setting s(100);
  auto t = s.make("grid", {.trials = {}, .time = {}, .faults_in_a_row = 3});
  t.begin(0ns);
  t.set_window(1);
  for (int i = 0; i < 2; ++i) t.tell(*t.propose(0ns), bad(failure_kind::internal), false, 0ns);
  t.tell(*t.propose(0ns), bad(failure_kind::run_error), false, 0ns);
  for (int i = 0; i < 2; ++i) t.tell(*t.propose(0ns), bad(failure_kind::internal), false, 0ns);
  BOOST_TEST(!t.stopping());
  t.tell(*t.propose(0ns), bad(failure_kind::internal), false, 0ns);
  BOOST_CHECK(t.reason() == stop_reason::error);
}

BOOST_AUTO_TEST_CASE(time_is_counted_from_begin) {
  const setting s(100);
  auto t = s.make("grid", {.trials = {}, .time = 5s, .faults_in_a_row = 16});
  t.begin(100s);
  t.set_window(1);
  BOOST_TEST(t.propose(104s) != nullptr);
  t.set_window(2);
  BOOST_TEST(t.propose(105s) == nullptr);
  BOOST_TEST(t.out_of_time());
}

BOOST_AUTO_TEST_CASE(a_session_has_its_time_once_over_all_its_lives) {
  const setting s(100);
  for (const auto spent : {3s, 5s, 9s}) {
    auto t = s.make("grid", {.trials = {}, .time = 5s, .faults_in_a_row = 16, .spent = spent});
    t.begin(100s);
    t.set_window(1);
    BOOST_TEST((t.propose(101s) != nullptr) == (spent < 5s));
    BOOST_TEST(t.finished() == (spent >= 5s));
    t.tick(102s);
    BOOST_TEST(t.out_of_time());
  }
}

BOOST_AUTO_TEST_CASE(what_the_model_expects_is_a_value_of_the_metric) {
  for (const auto direction : {goal::minimize, goal::maximize}) {
    const setting s(400, direction);
    auto t = s.make("gp", {.trials = 40, .time = {}});
    t.set_window(1);
    std::size_t foreseen = 0;
    for (;;) {
      const auto next = t.propose(0ns);
      if (!next) break;
      if (const auto f = t.foreseen_of(next->number)) {
        ++foreseen;
        // Values are positive whichever way is better.
        BOOST_TEST(f->value > 0);
      }
      BOOST_TEST(!t.foreseen_of(next->number + 1).has_value());
      t.tell(*next, good(direction == goal::minimize ? cost_of(*next) : 1000 / cost_of(*next)), false, 0ns);
      BOOST_TEST(!t.foreseen_of(next->number).has_value());
    }
    BOOST_TEST(foreseen >= 20u);
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(resuming)

/// Stopped after any number of results, the session goes on exactly as if it had never stopped.
BOOST_AUTO_TEST_CASE(a_session_played_back_goes_on_as_if_it_had_never_stopped) {
  const setting s(60);
  for (const std::string_view strategy : {"grid", "random", "annealing", "genetic"})
    for (const std::uint32_t window : {1u, 4u}) {
      const tuning_limits limits{.trials = 40, .time = {}, .faults_in_a_row = 16};
      auto whole = s.make(strategy, limits, 3);
      whole.begin(0ns);
      const auto all = run(whole, window);
      for (const std::size_t cut : {0u, 1u, 7u, 23u, 39u}) {
        std::vector<told_step> steps;
        std::vector<trial_ptr> trials;
        auto first = s.make(strategy, limits, 3);
        first.begin(0ns);
        run(first, window, &steps, &trials, cut);
        auto second = s.make(strategy, limits, 3);
        for (std::size_t i = 0; i < steps.size(); ++i)
          second.replay(steps[i], trials[i]->config, trials[i]->key, good(cost_of(*trials[i])));
        BOOST_TEST(second.counts().cached == cut);
        second.begin(0ns);
        const auto rest = run(second, window);
        BOOST_TEST_CONTEXT(strategy << " window " << window << " cut " << cut) {
          BOOST_TEST(rest == std::vector<std::string>(all.begin() + static_cast<std::ptrdiff_t>(cut), all.end()),
                     boost::test_tools::per_element());
          BOOST_TEST(second.best()->config.text() == whole.best()->config.text());
          BOOST_TEST(second.counts().proposed == 40u);
        }
      }
    }
}

BOOST_AUTO_TEST_CASE(a_past_that_the_strategy_would_not_propose_is_taken_as_experience) {
  const setting s(20);
  const tuning_limits limits{.trials = 20, .time = {}, .faults_in_a_row = 16};
  std::vector<told_step> steps;
  std::vector<trial_ptr> trials;
  auto first = s.make("random", limits, 1);
  first.begin(0ns);
  run(first, 1, &steps, &trials, 8);
  auto second = s.make("random", limits, 2); // another sequence altogether
  for (std::size_t i = 0; i < steps.size(); ++i)
    second.replay(steps[i], trials[i]->config, trials[i]->key, good(cost_of(*trials[i])));
  second.begin(0ns);
  auto rest = run(second, 1);
  BOOST_TEST(rest.size() == 12u);
  for (const auto& t : trials) rest.push_back(t->config.text());
  std::sort(rest.begin(), rest.end());
  BOOST_TEST((std::unique(rest.begin(), rest.end()) == rest.end())); // nothing twice, nothing missing
}

BOOST_AUTO_TEST_CASE(what_the_machine_could_not_run_is_proposed_again_and_no_failure_of_a_candidate_is) {
  const setting s(100);
  const tuning_limits limits{.trials = 10, .time = {}, .faults_in_a_row = 16};
  auto first = s.make("random", limits);
  first.begin(0ns);
  first.set_window(2);
  std::vector<std::pair<told_step, trial_ptr>> past;
  std::vector<outcome_ptr> results;
  std::deque<trial_ptr> flying;
  for (int n = 0; n < 10; ++n) {
    while (auto next = first.propose(0ns)) flying.push_back(next);
    const auto t = flying.front();
    flying.pop_front();
    results.push_back(n == 3 || n == 9 ? bad(failure_kind::internal)
                      : n == 5         ? bad(failure_kind::run_error)
                      : n == 6         ? bad(failure_kind::device_lost)
                                       : good(cost_of(*t)));
    past.emplace_back(*first.tell(*t, results.back(), false, 0ns), t);
  }
  BOOST_TEST(first.counts().proposed == 10u);
  auto second = s.make("random", limits);
  for (std::size_t i = 0; i < past.size(); ++i)
    second.replay(past[i].first, past[i].second->config, past[i].second->key, results[i]);
  second.begin(0ns);
  BOOST_TEST(second.counts().proposed == 8u);
  second.set_window(5);
  std::vector<std::string> again;
  while (auto next = second.propose(0ns)) {
    again.push_back(next->config.text());
    BOOST_REQUIRE(second.tell(*next, good(cost_of(*next)), false, 0ns));
  }
  BOOST_TEST(again == (std::vector<std::string>{past[3].second->config.text(), past[9].second->config.text()}),
             boost::test_tools::per_element());
  BOOST_TEST(second.counts().proposed == 10u);
  BOOST_CHECK(second.reason() == stop_reason::trials);
}

BOOST_AUTO_TEST_CASE(a_finished_session_ends_at_once_and_a_larger_budget_goes_on) {
  const setting s(50);
  std::vector<told_step> steps;
  std::vector<trial_ptr> trials;
  auto first = s.make("random", {.trials = 10, .time = {}, .faults_in_a_row = 16});
  first.begin(0ns);
  run(first, 2, &steps, &trials);
  for (const std::uint64_t budget : {10u, 15u}) {
    auto again = s.make("random", {.trials = budget, .time = {}, .faults_in_a_row = 16});
    for (std::size_t i = 0; i < steps.size(); ++i)
      again.replay(steps[i], trials[i]->config, trials[i]->key, good(cost_of(*trials[i])));
    again.begin(0ns);
    BOOST_TEST(run(again, 2).size() == budget - 10);
    BOOST_CHECK(again.reason() == stop_reason::trials);
    BOOST_TEST(again.counts().cached == 10u);
    BOOST_TEST(again.counts().measured == budget - 10);
  }
}

BOOST_AUTO_TEST_CASE(the_time_of_a_trial_is_told_by_its_phases_without_a_gap) {
  const setting s(8);
  auto t = s.make("grid");
  t.set_window(1);
  t.begin(0ns);
  outcome o;
  o.data = measurement{1, 0, {1}, 0, {}};
  o.phases.queue = 1s;
  o.phases.build = 2s;
  o.phases.run = 3s;
  o.phases.clean = 4s;
  o.runner = "local/slot0";
  const auto first = t.propose(10s);
  t.tell(*first, std::make_shared<const outcome>(o), false, 27s, 25s);
  const auto& times = t.times();
  BOOST_TEST((times.queue == 1s && times.build == 2s && times.run == 3s && times.clean == 4s));
  BOOST_TEST((times.store == 5s));  // handed over at 20 s, there at 25 s
  BOOST_TEST((times.search == 2s)); // told at 27 s
  BOOST_TEST((times.trials == 17s));
  BOOST_TEST((times.queue + times.build + times.run + times.clean + times.store + times.search == times.trials));
  // From memory: nothing was spent. By the caller: nothing is known behind the phases.
  t.tell(*t.propose(30s), std::make_shared<const outcome>(o), true, 40s, 35s);
  BOOST_TEST((times.trials == 17s && times.run == 3s));
  o.runner = "local/slot1";
  t.tell(*t.propose(50s), std::make_shared<const outcome>(o), false, 90s);
  BOOST_TEST((times.trials == 17s && times.store == 5s && times.run == 6s));
  BOOST_REQUIRE_EQUAL(times.devices.size(), 2u);
  BOOST_TEST((times.devices[0] == std::pair(std::string("local/slot0"), nanoseconds(3s))));
  auto sum = times;
  sum.add(times);
  BOOST_TEST((sum.trials == 34s && sum.devices.size() == 2u && sum.devices[1].second == 6s));
}

BOOST_AUTO_TEST_SUITE_END()
