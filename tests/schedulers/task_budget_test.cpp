#include "core/random.hpp"
#include "schedulers/task_budget.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <queue>

using namespace attune;
using namespace attune::schedulers;

namespace {

const char* const policies[] = {"gradient", "round_robin", "sequential"};

std::unique_ptr<task_budget> make(std::vector<shared_task> tasks, budget_options o) {
  auto made = make_task_budget(std::move(tasks), std::move(o));
  BOOST_REQUIRE(made.ok());
  return std::move(*made);
}

budget_options with(const std::string& policy, std::optional<std::uint64_t> trials) {
  budget_options o;
  o.policy = policy;
  o.trials = trials;
  return o;
}

/// A task whose n-th trial has a value that is random above a floor which falls to `best`.
struct simulated {
  double best = 1, start = 10, speed = 0.1;
  bool dead = false;
  double takes = 1; ///< a trial, on its device
  std::uint64_t trials = 0;
  std::optional<double> run(random_engine& rng) {
    ++trials;
    if (dead) return std::nullopt;
    const double floor = best + (start - best) * std::exp(-speed * static_cast<double>(trials - 1));
    return floor * (1 + 0.3 * rng.uniform());
  }
};

/// Plays a budget to its end with so many trials in flight at each place, by a virtual clock. Returns when it ended.
double play(task_budget& budget, std::vector<simulated>& tasks, const std::vector<shared_task>& shares,
            std::uint32_t room, std::uint64_t seed) {
  random_engine rng(seed);
  struct flight {
    double ends;
    std::uint64_t order;
    std::size_t task;
    std::optional<double> cost;
    bool operator>(const flight& o) const { return ends != o.ends ? ends > o.ends : order > o.order; }
  };
  std::priority_queue<flight, std::vector<flight>, std::greater<>> flying;
  for (const auto& s : shares) budget.set_room(s.place, room);
  double now = 0;
  std::uint64_t order = 0;
  for (;;) {
    while (const auto i = budget.next())
      flying.push({now + tasks[*i].takes * (0.5 + rng.uniform()), order++, *i, tasks[*i].run(rng)});
    if (flying.empty()) break;
    const auto f = flying.top();
    flying.pop();
    now = f.ends;
    budget.told(f.task, f.cost);
    BOOST_REQUIRE(order < 100'000);
  }
  BOOST_TEST(budget.over());
  return now;
}

double time_alone(const std::string& policy, const shared_task& share, const simulated& task) {
  std::vector<shared_task> shares{share};
  std::vector<simulated> tasks{task};
  auto budget = make(shares, with(policy, share.most));
  return play(*budget, tasks, shares, 1, 9);
}

} // namespace

BOOST_AUTO_TEST_SUITE(task_budgets)

// A25
BOOST_DATA_TEST_CASE(a_dead_task_gets_less_than_a_tenth_and_the_others_get_the_rest, policies, policy) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const std::size_t dead : {0, 1, 2}) {
      std::vector<shared_task> shares(3);
      shares[dead].weight = 1000; // whatever it weighs
      std::vector<simulated> tasks(3);
      tasks[dead].dead = true;
      auto budget = make(shares, with(policy, 30));
      play(*budget, tasks, shares, static_cast<std::uint32_t>(1 + seed % 6), seed);
      BOOST_TEST(tasks[dead].trials < 3u);
      BOOST_TEST(tasks[dead].trials > 0u);
      BOOST_TEST(tasks[0].trials + tasks[1].trials + tasks[2].trials == 30u);
      BOOST_CHECK(budget->tasks()[dead].why == leaving::dead);
      for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(budget->tasks()[i].best.has_value() == (i != dead));
    }
  }
}

BOOST_DATA_TEST_CASE(all_dead_tasks_end, policies, policy) {
  std::vector<shared_task> shares(4);
  std::vector<simulated> tasks(4);
  for (auto& t : tasks) t.dead = true;
  auto budget = make(shares, with(policy, 100));
  play(*budget, tasks, shares, 3, 1);
  for (const auto& t : tasks) BOOST_TEST(t.trials == 8u);
}

BOOST_DATA_TEST_CASE(the_budget_is_used_to_the_trial_and_nobody_passes_his_own_limit, policies, policy) {
  random_engine rng(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<shared_task> shares(1 + rng.below(8));
    std::vector<simulated> tasks(shares.size());
    std::uint64_t possible = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      shares[i].weight = 0.1 + rng.uniform();
      shares[i].place = static_cast<std::uint32_t>(rng.below(3));
      shares[i].kind = static_cast<std::uint32_t>(rng.below(2));
      shares[i].most = 1 + rng.below(60);
      tasks[i].speed = rng.uniform();
      possible += *shares[i].most;
    }
    const std::uint64_t trials = 1 + rng.below(200);
    auto budget = make(shares, with(policy, trials));
    play(*budget, tasks, shares, static_cast<std::uint32_t>(1 + rng.below(5)), rng());
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      BOOST_TEST(tasks[i].trials <= *shares[i].most);
      all += tasks[i].trials;
    }
    BOOST_TEST(all == std::min(trials, possible));
    BOOST_TEST(budget->dealt() == all);
  }
}

BOOST_DATA_TEST_CASE(what_was_had_before_counts_and_the_split_goes_on_as_it_would_have, policies, policy) {
  for (const std::uint64_t cut : {1, 13, 40, 77, 100}) {
    const std::vector<shared_task> shares{{1, 0, 0, {}}, {3, 0, 0, {}}, {0.5, 0, 1, {}}};
    std::vector<simulated> tasks(3);
    tasks[1].speed = 0.02;
    auto whole = make(shares, with(policy, 100));
    std::vector<std::size_t> order;
    std::vector<std::vector<std::optional<double>>> told(3);
    random_engine rng(5);
    std::unique_ptr<task_budget> second;
    for (std::uint64_t n = 0; n < 100; ++n) {
      if (n == cut) {
        second = make(shares, with(policy, 100));
        for (std::size_t i = 0; i < 3; ++i)
          for (const auto& v : told[i]) second->restore(i, v);
      }
      auto& now = second ? *second : *whole;
      const auto i = now.next();
      BOOST_REQUIRE(i);
      order.push_back(*i);
      told[*i].push_back(tasks[*i].run(rng));
      now.told(*i, told[*i].back());
    }
    auto straight = make(shares, with(policy, 100));
    std::vector<std::size_t> at(3), straight_order;
    while (const auto i = straight->next()) {
      straight_order.push_back(*i);
      straight->told(*i, told[*i].at(at[*i]++));
    }
    BOOST_TEST(order == straight_order, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(round_robin_gives_each_as_much_whatever_is_in_flight) {
  std::vector<shared_task> shares(7);
  std::vector<simulated> tasks(7);
  tasks[3].takes = 20;
  auto budget = make(shares, with("round_robin", 100));
  play(*budget, tasks, shares, 5, 3);
  for (const auto& t : tasks) BOOST_TEST((t.trials == 14u || t.trials == 15u));
}

BOOST_AUTO_TEST_CASE(round_robin_keeps_the_part_of_who_waits_for_a_slow_device) {
  std::vector<shared_task> shares(2);
  shares[1].place = 1;
  std::vector<simulated> tasks(2);
  tasks[1].takes = 50;
  auto budget = make(shares, with("round_robin", 11));
  play(*budget, tasks, shares, 2, 3);
  BOOST_TEST(tasks[0].trials == 6u);
  BOOST_TEST(tasks[1].trials == 5u);
}

BOOST_AUTO_TEST_CASE(sequential_gives_each_his_share_in_turn_and_what_one_leaves_to_the_rest) {
  std::vector<shared_task> shares(3);
  shares[0].most = 10;
  auto budget = make(shares, with("sequential", 100));
  std::vector<std::size_t> order;
  while (const auto i = budget->next()) {
    order.push_back(*i);
    budget->told(*i, 1.0);
  }
  BOOST_TEST(order.size() == 100u);
  BOOST_TEST(std::is_sorted(order.begin(), order.end()));
  BOOST_TEST(std::count(order.begin(), order.end(), 1u) == 45);
  BOOST_TEST(std::count(order.begin(), order.end(), 2u) == 45);
  BOOST_CHECK(!make_task_budget(std::vector<shared_task>(2), with("sequential", {})).ok());
}

BOOST_AUTO_TEST_CASE(gradient_goes_where_the_total_gains_most) {
  // One has found its best at once, one falls slowly for long, one falls as well but weighs next to nothing.
  std::vector<shared_task> shares(3);
  shares[2].weight = 0.001;
  for (std::uint32_t i = 0; i < 3; ++i) shares[i].kind = i;
  std::uint64_t still = 0, falling = 0, light = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<simulated> tasks(3);
    tasks[0].start = 1;
    tasks[1].speed = tasks[2].speed = 0.01;
    auto budget = make(shares, with("gradient", 300));
    play(*budget, tasks, shares, 2, seed);
    still += tasks[0].trials;
    falling += tasks[1].trials;
    light += tasks[2].trials;
  }
  BOOST_TEST(falling > 2 * still);
  BOOST_TEST(still > light);
  BOOST_TEST(light >= 20u * 10u); // its warm-up
}

BOOST_AUTO_TEST_CASE(each_task_has_something_early_where_time_may_end_it) {
  auto o = with("gradient", 400);
  o.hurried = true;
  auto budget = make(std::vector<shared_task>(20), o);
  for (int n = 0; n < 40; ++n) budget->told(*budget->next(), 1.0);
  for (const auto& t : budget->tasks()) BOOST_TEST(t.told == 2u);
}

BOOST_AUTO_TEST_CASE(gradient_hopes_more_for_a_task_that_is_far_from_a_similar_ones_best) {
  // The first has come down to a tenth of what it began with. Of two that stand still since, one has not.
  std::vector<shared_task> shares{{1e-6, 0, 0, {}}, {1, 0, 0, {}}, {1, 0, 0, {}}};
  auto budget = make(shares, with("gradient", 300));
  for (int i = 0; i < 60; ++i) {
    budget->restore(0, i == 0 ? 10.0 : 1.0);
    budget->restore(1, i == 0 ? 50.0 : 5.0);
    budget->restore(2, 5.0);
  }
  for (int i = 0; i < 5; ++i) {
    const auto next = budget->next();
    BOOST_REQUIRE(next);
    BOOST_TEST(*next == 2u);
    budget->told(*next, 5.0);
  }
}

BOOST_AUTO_TEST_CASE(a_task_that_does_not_gain_has_converged_where_that_is_asked_for) {
  std::vector<shared_task> shares(2);
  auto o = with("round_robin", 100);
  o.patience = 5;
  auto budget = make(shares, o);
  double falling = 100;
  while (const auto i = budget->next()) budget->told(*i, *i == 0 ? 1.0 : falling--);
  BOOST_TEST(budget->tasks()[0].told == 6u);
  BOOST_CHECK(budget->tasks()[0].why == leaving::converged);
  BOOST_TEST(budget->tasks()[1].told == 94u);
}

BOOST_AUTO_TEST_CASE(who_leaves_gives_back_what_is_pending) {
  std::vector<shared_task> shares(2);
  auto budget = make(shares, with("round_robin", 10));
  budget->set_room(0, 4);
  while (budget->next()) {
  }
  BOOST_TEST(budget->dealt() == 2u); // nobody gets a second before his first has a value
  budget->told(0, 1.0);
  budget->told(1, 1.0);
  while (budget->next()) {
  }
  BOOST_TEST(budget->dealt() == 6u);
  budget->leave(0);
  BOOST_TEST(budget->dealt() == 4u);
  budget->told(0, 0.5); // late: counts nowhere
  BOOST_TEST(budget->dealt() == 4u);
  while (const auto i = budget->next()) BOOST_TEST(*i == 1u);
  BOOST_TEST(budget->tasks()[1].pending() == 4u);
}

BOOST_DATA_TEST_CASE(tasks_on_two_devices_take_the_time_of_the_longer, policies, policy) {
  const std::vector<shared_task> two{{1, 0, 0, 50}, {1, 1, 0, 50}};
  std::vector<simulated> tasks(2);
  tasks[0].takes = 2;
  const double slow = time_alone(policy, two[0], tasks[0]), fast = time_alone(policy, two[1], tasks[1]);
  auto both = tasks;
  auto budget = make(two, with(policy, 100));
  const double together = play(*budget, both, two, 1, 9);
  BOOST_TEST(both[0].trials == 50u);
  BOOST_TEST(together < slow * 1.15);
  BOOST_TEST(together < 0.8 * (slow + fast));
}

BOOST_AUTO_TEST_CASE(an_unknown_policy_is_refused_with_the_nearest) {
  const auto made = make_task_budget({}, with("gradiant", 1));
  BOOST_REQUIRE(!made.ok());
  BOOST_TEST(made.err().message.find("did you mean 'gradient'") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
