// Tasks that share a budget, by their messages.
#include "actors/allocator.hpp"
#include "testing/boost_test.hpp"

#include <algorithm>

using namespace attune;
using namespace attune::actors;
using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

scheduler_options two_slots(std::uint32_t in_flight) {
  scheduler_options o;
  o.dispatcher.admission = {2, 1};
  o.in_flight = in_flight;
  return o;
}

/// Several tasks over x with one budget; their tuners are made before, and opened when the allocator says so.
struct shared_graph : boost_world {
  struct opening {
    std::size_t member;
    storage::record_id up_to;
  };

  /// Without places.
  explicit shared_graph(const scheduler_options& how) : boost_world({.scheduling = how}) {}
  explicit shared_graph(std::uint32_t in_flight = 2) : shared_graph(two_slots(in_flight)) {
    slot = add_runner("a");
    other = add_runner("b");
    slot->answer = other->answer = [this](const run_order& o) {
      ran.push_back(o.what->of->spec.name + " " + o.what->config.text());
      return answer_of(o);
    };
  }
  ~shared_graph() {
    caf::anon_send_exit(dealer, caf::exit_reason::kill);
    caf::anon_send_exit(opens, caf::exit_reason::kill);
    drain();
  }

  void share(std::vector<tuner_options> tasks, schedulers::budget_options how, std::optional<nanoseconds> time = {}) {
    opens = system.spawn(actors::opener, open_task([this](const allocator_actor&, std::size_t i, storage::record_id n) {
                           opened.push_back({i, n});
                           if (i == broken) return opened_task{nullptr, error{errc::io, "no", {}}};
                           return opened_task{caf::actor_cast<caf::strong_actor_ptr>(tuners[i]), {}};
                         }));
    dealer = system.spawn(actors::allocator, opens, watch);
    auto setup = std::make_shared<allocator_setup>();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      allocator_member m;
      tasks[i].dealer = dealer;
      tasks[i].member = i;
      tasks[i].made = &m.of;
      add_tuner(tasks[i]);
      m.configurations = static_cast<std::uint64_t>(tasks[i].size);
      schedulers::shared_task s;
      s.most = std::min(*m.configurations, tasks[i].trials.value_or(*m.configurations));
      s.weight = m.of->spec.weight;
      setup->shares.push_back(s);
      setup->members.push_back(std::move(m));
    }
    auto made = schedulers::make_task_budget(setup->shares, how);
    BOOST_REQUIRE(made.ok());
    setup->budget = std::move(*made);
    setup->time = time;
    caf::anon_send(dealer, atom::begin::value, allocator_setup_ptr(setup));
    drain();
  }
  joint_report_ptr joint() { return ask<joint_report_ptr>(dealer, atom::report::value).value_or(nullptr); }
  bool over() { return *ask<bool>(dealer, atom::status::value); }

  std::shared_ptr<fake_runner> slot, other;
  allocator_actor dealer;
  opener_actor opens;
  std::vector<opening> opened;
  std::size_t broken = 1000;
  std::vector<std::string> ran;
  std::function<run_report(const run_order&)> answer_of = [](const run_order& o) {
    return o.what->of->spec.name == "dead" ? run_failed(failure_kind::run_error) : measured(1 + x_of(*o.what));
  };
};

tuner_options task_named(const std::string& name, int size = 100) {
  tuner_options o;
  o.name = name;
  o.size = size;
  o.strategy = "random";
  return o;
}

schedulers::budget_options budget_of(const std::string& policy, std::optional<std::uint64_t> trials) {
  schedulers::budget_options o;
  o.policy = policy;
  o.trials = trials;
  return o;
}

} // namespace

BOOST_AUTO_TEST_SUITE(shared_budgets)

BOOST_AUTO_TEST_CASE(the_trials_of_all_together_are_the_budget) {
  for (const std::string policy : {"gradient", "round_robin", "sequential"}) {
    shared_graph g;
    g.share({task_named("a"), task_named("b"), task_named("c")}, budget_of(policy, 50));
    const auto report = g.joint();
    BOOST_REQUIRE(report);
    BOOST_TEST(report->trials == 50u);
    BOOST_TEST(g.ran.size() == 50u);
    std::uint64_t all = 0;
    for (const auto& t : report->tasks) {
      all += t.report->counts.proposed;
      BOOST_TEST(t.report->best.has_value());
      BOOST_CHECK(t.report->reason == search::stop_reason::trials);
    }
    BOOST_TEST(all == 50u);
    BOOST_REQUIRE(!report->curve.empty());
    BOOST_TEST(report->curve.back().total <= report->curve.front().total);
  }
}

// A25
BOOST_AUTO_TEST_CASE(a_dead_task_does_not_eat_the_budget_and_is_reported) {
  for (const std::string policy : {"gradient", "round_robin", "sequential"}) {
    shared_graph g;
    g.share({task_named("dead"), task_named("b"), task_named("c")}, budget_of(policy, 30));
    const auto report = g.joint();
    BOOST_REQUIRE(report);
    BOOST_CHECK(report->tasks[0].why == schedulers::leaving::dead);
    BOOST_TEST(report->tasks[0].report->counts.proposed == 2u);
    BOOST_CHECK(report->tasks[0].report->reason == search::stop_reason::no_valid);
    BOOST_TEST(!report->tasks[0].report->best.has_value());
    BOOST_TEST(report->trials == 30u);
    BOOST_TEST(report->tasks[1].report->best.has_value());
    BOOST_TEST(report->tasks[2].report->best.has_value());
  }
}

BOOST_AUTO_TEST_CASE(two_tasks_on_two_devices_take_the_time_of_the_longer) {
  for (const std::string policy : {"gradient", "round_robin"}) {
    scheduler_options how;
    how.apart = true;
    shared_graph g(how);
    const auto serves = [&](const std::string& device, nanoseconds each) {
      g.add_runner(place_info{device + "/slot", device, [device](const task& t) { return t.where.device() == device; }})
          ->answer = slow(each, measures([](const configuration& c) { return 1 + c.find("x")->to_double(); }));
    };
    serves("arm", 1s);
    serves("gpu", 2s);
    const auto on = [](const std::string& device, int size) {
      auto o = task_named(device, size);
      o.shape = [device](task_spec& s) { s.target = {{"device", value(device)}}; };
      return o;
    };
    const auto begun = g.now();
    g.share({on("arm", 6), on("gpu", 5)}, budget_of(policy, 11));
    while (!g.over() && g.now() - begun < 60s) g.pass(250ms);
    BOOST_TEST(seconds(g.now() - begun) == 10.0, policy << " took " << seconds(g.now() - begun) << " s");
    const auto report = g.joint();
    BOOST_REQUIRE(report);
    BOOST_TEST(report->tasks[0].report->counts.measured == 6u);
    BOOST_TEST(report->tasks[1].report->counts.measured == 5u);
  }
}

BOOST_AUTO_TEST_CASE(a_task_that_is_exhausted_leaves_the_rest_to_the_others) {
  shared_graph g;
  auto bounded = task_named("b");
  bounded.trials = 7;
  g.share({task_named("a", 5), bounded, task_named("c")}, budget_of("round_robin", 60));
  const auto report = g.joint();
  BOOST_REQUIRE(report);
  BOOST_TEST(report->tasks[0].report->counts.proposed == 5u);
  BOOST_CHECK(report->tasks[0].report->reason == search::stop_reason::exhausted);
  BOOST_TEST(report->tasks[1].report->counts.proposed == 7u);
  BOOST_CHECK(report->tasks[1].report->reason == search::stop_reason::trials);
  BOOST_TEST(report->tasks[2].report->counts.proposed == 48u);
}

BOOST_AUTO_TEST_CASE(a_budget_larger_than_all_spaces_ends) {
  shared_graph g;
  g.share({task_named("a", 5), task_named("b", 6)}, budget_of("gradient", 1000));
  const auto report = g.joint();
  BOOST_REQUIRE(report);
  BOOST_TEST(report->trials == 11u);
  for (const auto& t : report->tasks) BOOST_CHECK(t.report->reason == search::stop_reason::exhausted);
}

BOOST_AUTO_TEST_CASE(a_task_is_opened_at_its_first_trial_and_may_see_what_the_others_found_by_then) {
  shared_graph g(1);
  g.share({task_named("a"), task_named("b"), task_named("c")}, budget_of("gradient", 60));
  BOOST_REQUIRE(g.joint());
  BOOST_REQUIRE_EQUAL(g.opened.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(g.opened[i].member == i);
  BOOST_TEST(g.opened[0].up_to == 0u);
  BOOST_TEST(g.opened[1].up_to >= 9u);
  BOOST_TEST(g.opened[2].up_to >= 19u);
}

BOOST_AUTO_TEST_CASE(the_same_results_give_the_same_trials) {
  const auto run = [](std::uint32_t in_flight) {
    shared_graph g(in_flight);
    g.share({task_named("a"), task_named("dead"), task_named("b"), task_named("c")}, budget_of("gradient", 80));
    BOOST_REQUIRE(g.joint());
    return g.ran;
  };
  for (const std::uint32_t in_flight : {1u, 3u}) {
    const auto first = run(in_flight), second = run(in_flight);
    BOOST_TEST(first.size() == 80u);
    BOOST_TEST(first == second, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(no_more_is_in_flight_than_the_window_over_all_tasks) {
  shared_graph g(3);
  g.slot->answer = g.other->answer = nullptr;
  g.share({task_named("a"), task_named("b"), task_named("c"), task_named("d"), task_named("e")},
          budget_of("round_robin", 40));
  for (int i = 0; i < 20; ++i) {
    const auto status = *g.ask<scheduler_status>(g.scheduler, atom::status::value);
    BOOST_TEST(status.in_hand == 3u);
    auto& b = g.slot->hand.empty() ? g.other : g.slot;
    g.answer(b, measured(5));
  }
}

BOOST_AUTO_TEST_CASE(cancel_ends_all_also_those_that_were_never_opened) {
  shared_graph g;
  g.slot->answer = g.other->answer = nullptr;
  g.share({task_named("a"), task_named("b"), task_named("c"), task_named("d")}, budget_of("sequential", 40));
  BOOST_TEST(!g.over());
  caf::anon_send(g.dealer, atom::cancel::value);
  g.drain();
  for (const auto& b : {g.slot, g.other})
    while (!b->hand.empty()) g.answer(b, run_failed(failure_kind::cancelled));
  BOOST_TEST(g.over());
  const auto report = g.joint();
  BOOST_REQUIRE(report);
  BOOST_TEST(g.opened.size() < 4u);
  for (const auto& t : report->tasks) {
    BOOST_REQUIRE(t.report);
    BOOST_CHECK(t.report->reason == search::stop_reason::interrupted);
  }
}

BOOST_AUTO_TEST_CASE(the_time_is_that_of_the_whole) {
  shared_graph g;
  g.slot->answer = g.other->answer = nullptr;
  g.share({task_named("a"), task_named("b")}, budget_of("round_robin", {}), 10s);
  for (int i = 0; i < 6; ++i) {
    g.pass(1s);
    g.answer(g.slot->hand.empty() ? g.other : g.slot, measured(3));
  }
  BOOST_TEST(!g.over());
  g.pass(5s);
  for (const auto& b : {g.slot, g.other})
    while (!b->hand.empty()) g.answer(b, run_failed(failure_kind::cancelled));
  const auto report = g.joint();
  BOOST_REQUIRE(report);
  BOOST_TEST(report->trials == 6u);
  for (const auto& t : report->tasks) BOOST_CHECK(t.report->reason == search::stop_reason::time);
}

BOOST_AUTO_TEST_CASE(a_task_that_cannot_be_opened_says_so_and_the_rest_goes_on) {
  shared_graph g;
  g.broken = 1;
  g.share({task_named("a"), task_named("b"), task_named("c")}, budget_of("gradient", 40));
  const auto report = g.joint();
  BOOST_REQUIRE(report);
  BOOST_CHECK(report->tasks[1].report->reason == search::stop_reason::error);
  BOOST_REQUIRE(report->tasks[1].report->trouble);
  BOOST_TEST(report->tasks[1].report->trouble->message == "no");
  BOOST_TEST(report->tasks[0].report->counts.proposed + report->tasks[2].report->counts.proposed == 40u);
}

BOOST_AUTO_TEST_CASE(a_tuner_that_ends_before_its_time_does_not_hold_up_the_rest) {
  shared_graph g;
  g.slot->answer = g.other->answer = nullptr;
  g.share({task_named("a"), task_named("b")}, budget_of("round_robin", 20));
  g.answer(g.slot->hand.empty() ? g.other : g.slot, measured(3));
  caf::anon_send_exit(g.tuners[0], caf::exit_reason::kill);
  g.drain();
  for (int i = 0; i < 100 && !g.over(); ++i) {
    auto& b = g.slot->hand.empty() ? g.other : g.slot;
    if (!b->hand.empty()) g.answer(b, measured(4));
  }
  const auto report = g.joint();
  BOOST_REQUIRE(report);
  BOOST_CHECK(report->tasks[0].report->reason == search::stop_reason::error);
  BOOST_TEST(report->tasks[1].report->best.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
