// The actors' graph under a deterministic scheduler with a virtual clock; builders, runners and the store are stand-ins
// that the test answers for.
#pragma once

#include "actors/archive.hpp"
#include "actors/cache.hpp"
#include "actors/error.hpp"
#include "actors/monitor.hpp"
#include "actors/recorder.hpp"
#include "actors/scheduler.hpp"
#include "actors/time.hpp"
#include "actors/tuner.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace attune::testing {

using namespace attune::actors;

/// What one place has in hand and what it was told, for the test to look at and to answer.
template <class Order, class Report>
struct bench {
  struct pending {
    Order order;
    caf::typed_response_promise<Report> promise;
  };
  std::deque<pending> hand;
  int orders = 0, cancels = 0;
  /// Where set: answers by itself.
  std::function<Report(const Order&)> answer;
  /// Sends the answer to the oldest order on its way: the place delivers it when it is handled (a promise is its
  /// actor's alone).
  std::function<void(Report)> reply;

  void deliver(const Report& report) {
    if (hand.empty()) return;
    auto promise = hand.front().promise;
    hand.pop_front();
    promise.deliver(report);
  }
};
using build_bench = bench<build_order, build_report>;
using run_bench = bench<run_order, run_report>;

inline run_report measured(double v) {
  measurement m;
  m.value = v;
  m.samples = {v};
  return {std::make_shared<const measure::run_result>(measure::run_result{m, std::chrono::milliseconds(1), {}, {}})};
}

inline run_report run_failed(failure_kind kind, std::string message = "no") {
  return {std::make_shared<const measure::run_result>(
      measure::run_result{failure{kind, std::move(message), {}, {}}, {}, {}, {}})};
}

inline run_report stopped_early(double at_least, double against) {
  return {std::make_shared<const measure::run_result>(
      measure::run_result{bound{at_least, against, {}}, std::chrono::milliseconds(1), {}, {}})};
}

inline build_report built() {
  return {std::make_shared<const measure::build_result>(
      measure::build_result{measure::artifact_ptr{}, std::chrono::milliseconds(2), {}, {}})};
}

inline build_report build_failed(failure_kind kind) {
  return {
      std::make_shared<const measure::build_result>(measure::build_result{failure{kind, "no", {}, {}}, {}, {}, {}})};
}

struct graph {
  struct config : caf::actor_system_config {
    config() { set("scheduler.policy", caf::atom("testing")); }
  };

  /// With `source` the cache lies above a store, which the archive asks for it.
  explicit graph(scheduler_options scheduling = {}, recorder_options recording = {}, storage::cache_limits limits = {},
                 archive_source source = {}) {
    watch.watched = std::make_shared<std::atomic<bool>>(false);
    watch.to = system.spawn(actors::monitor, watch.watched);
    auto known = std::make_shared<std::unique_ptr<storage::lru_cache>>(
        std::make_unique<storage::lru_cache>(limits, bool(source)));
    cache = system.spawn(actors::cache, known, watch);
    record_sink sink;
    sink.append = [this](std::span<storage::record_item> items, std::span<const storage::step_item> more) -> status {
      ++writes;
      if (store_error) return *store_error;
      for (auto& i : items) {
        i.record = records.size() + 1;
        records.push_back(i);
      }
      steps.insert(steps.end(), more.begin(), more.end());
      return {};
    };
    sink.recency = [this](const recency_batch& b) {
      dropped.insert(dropped.end(), b.evicted.begin(), b.evicted.end());
      used.insert(used.end(), b.used.begin(), b.used.end());
    };
    sink.invalidate = [this](const std::string& task) -> result<std::uint64_t> {
      invalidated.push_back(task);
      return std::uint64_t{77};
    };
    if (source) archive = system.spawn(actors::archive, std::move(source));
    recorder = system.spawn(actors::recorder, std::move(sink), cache, watch, recording);
    scheduler = system.spawn(actors::scheduler, recorder, watch, scheduling);
    caf::anon_send(cache, atom::wire::value, scheduler, recorder, archive);
    drain();
  }

  ~graph() {
    for (const auto& t : tuners) caf::anon_send_exit(t, caf::exit_reason::kill);
    for (const auto& [who, bench] : runners) caf::anon_send_exit(who, caf::exit_reason::kill);
    for (const auto& [who, bench] : builders) caf::anon_send_exit(who, caf::exit_reason::kill);
    caf::anon_send_exit(scheduler, caf::exit_reason::kill);
    caf::anon_send_exit(cache, caf::exit_reason::kill);
    caf::anon_send_exit(recorder, caf::exit_reason::kill);
    if (archive) caf::anon_send_exit(archive, caf::exit_reason::kill);
    caf::anon_send_exit(watch.to, caf::exit_reason::kill);
    drain();
    for (auto& [who, bench] : runners) *bench = {};
    for (auto& [who, bench] : builders) *bench = {};
  }

  caf::scheduler::test_coordinator& clockwork() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  }

  /// Handles messages until there are none, or `most` were handled; returns how many. Fails where there is no end to
  /// it.
  std::size_t drain(std::size_t most = 200000) {
    std::size_t n = 0;
    while (n < most && clockwork().try_run_once()) ++n;
    BOOST_REQUIRE_MESSAGE(n < 200000, "the actors never come to rest");
    return n;
  }
  /// Lets time pass in steps, so that a timer that sets itself again comes as often as it should.
  void pass(nanoseconds d, nanoseconds step = std::chrono::milliseconds(250)) {
    for (nanoseconds done{0}; done < d; done += step) {
      clockwork().advance_time(std::min(step, d - done));
      drain();
    }
  }

  std::shared_ptr<run_bench> add_runner(std::string name = "slot") {
    auto b = std::make_shared<run_bench>();
    auto who = system.spawn([b](runner_actor::pointer self) -> runner_actor::behavior_type {
      return {[self, b](atom::run, const run_order& order) -> caf::result<run_report> {
                ++b->orders;
                auto promise = self->make_response_promise<run_report>();
                // A copy: an answer may put another in its place.
                if (const auto answer = b->answer)
                  promise.deliver(answer(order));
                else
                  b->hand.push_back({order, promise});
                return promise;
              },
              [b](atom::cancel) { ++b->cancels; }, [b](atom::internal, const run_report& r) { b->deliver(r); }};
    });
    caf::anon_send(scheduler, atom::join::value, place_info{std::move(name)}, who);
    b->reply = [who](run_report r) { caf::anon_send(who, atom::internal::value, std::move(r)); };
    runners.emplace_back(who, b);
    drain();
    return b;
  }

  std::shared_ptr<build_bench> add_builder(std::string name = "builder") {
    auto b = std::make_shared<build_bench>();
    auto who = system.spawn([b](builder_actor::pointer self) -> builder_actor::behavior_type {
      return {[self, b](atom::build, const build_order& order) -> caf::result<build_report> {
                ++b->orders;
                auto promise = self->make_response_promise<build_report>();
                // A copy: an answer may put another in its place.
                if (const auto answer = b->answer)
                  promise.deliver(answer(order));
                else
                  b->hand.push_back({order, promise});
                return promise;
              },
              [b](atom::cancel) { ++b->cancels; }, [b](atom::internal, const build_report& r) { b->deliver(r); }};
    });
    caf::anon_send(scheduler, atom::join::value, place_info{std::move(name)}, who);
    b->reply = [who](build_report r) { caf::anon_send(who, atom::internal::value, std::move(r)); };
    builders.emplace_back(who, b);
    drain();
    return b;
  }

  /// Answers the oldest order in hand.
  template <class Bench, class Report>
  void answer(const std::shared_ptr<Bench>& b, Report report) {
    BOOST_REQUIRE_MESSAGE(!b->hand.empty(), "nothing is in hand that could be answered");
    b->reply(std::move(report));
    drain();
  }
  void kill_runner(std::size_t i) {
    caf::anon_send_exit(runners[i].first, caf::exit_reason::kill);
    drain();
  }
  void kill_builder(std::size_t i) {
    caf::anon_send_exit(builders[i].first, caf::exit_reason::kill);
    drain();
  }

  struct task_options {
    std::string name = "task";
    int size = 8;
    bool build = false;
    std::optional<std::uint64_t> trials;
    std::optional<nanoseconds> time;
    nanoseconds run_timeout = std::chrono::seconds(10);
    std::string strategy = "grid";
    bool by_caller = false;
    bool fresh = false;
    bool stored = false;
    std::uint32_t wish = 0;
    std::uint64_t seed = 1;
    goal direction = goal::minimize;
    std::function<void(task_spec&)> shape; ///< where set: changes the spec
    model_actor model{};                   ///< who trains; null: the strategy by itself
    std::vector<storage::step_item> past;  ///< played back before it begins
    std::vector<limit_spec> limits{};
    std::optional<nanoseconds> finals_until{};
    allocator_actor dealer{}; ///< with whom it shares a budget, as which member
    std::size_t member = 0;
    task_ptr* made = nullptr; ///< out: its task
  };

  /// A task over one parameter x of `size` values, and a tuner for it (not begun).
  tuner_actor add_tuner(const task_options& o) {
    task_spec spec;
    spec.name = o.name;
    parameter p;
    p.name = "x";
    p.domain = integer_range{0, o.size - 1, 1, false};
    spec.parameters.push_back(p);
    if (o.build) {
      spec.build.emplace();
      spec.build->run.shell = "build {x} -o {artifact}";
      spec.build->timeout = std::chrono::seconds(20);
    }
    spec.run.run.shell = "run {x}";
    spec.run.timeout = o.run_timeout;
    spec.run.metrics[0].direction = o.direction;
    spec.run.limits = o.limits;
    if (o.shape) o.shape(spec);
    auto of = make_task(spec, target{{{"device", "test"}}});
    BOOST_REQUIRE(of.ok());
    auto over = search::space::compile(spec.parameters, spec.constraints);
    BOOST_REQUIRE(over.ok());
    search::strategy_options how;
    how.seed = o.seed;
    how.budget = o.trials;
    auto strategy = search::make_strategy(o.strategy, *over, how);
    BOOST_REQUIRE(strategy.ok());
    const session_number number = tuners.size() + 1;
    auto setup = std::make_shared<tuner_setup>();
    setup->session = {number, o.by_caller ? measuring::by_caller : measuring::by_runners, o.fresh, o.stored};
    setup->session_id = "session" + std::to_string(number);
    setup->search = std::make_unique<search::tuning>(*of, *over, std::move(*strategy),
                                                     search::tuning_limits{o.trials, o.time, 16}, number);
    for (const auto& s : o.past) {
      const search::told_step step{s.what->number, s.asked_before};
      if (s.amends)
        setup->search->replay_amendment(step, s.what->config, s.what->key, s.result, *s.amends);
      else
        setup->search->replay(step, s.what->config, s.what->key, s.result);
    }
    setup->wish = o.wish;
    setup->model = o.model;
    setup->finals_until = o.finals_until;
    setup->dealer = o.dealer;
    setup->member = o.member;
    setup->party = o.dealer ? 1000 : 0;
    if (o.made != nullptr) *o.made = *of;
    tuners.push_back(system.spawn(actors::tuner, setup, cache, scheduler, recorder, watch));
    drain();
    return tuners.back();
  }
  tuner_actor begin(const task_options& o) {
    auto t = add_tuner(o);
    caf::anon_send(t, atom::begin::value);
    drain();
    return t;
  }

  /// The answer to a request; none where none comes while everything comes to rest.
  template <class Answer, class Handle, class... Ts>
  std::optional<Answer> ask(const Handle& who, Ts... what) {
    auto got = std::make_shared<std::optional<Answer>>();
    auto asker = system.spawn([=](caf::event_based_actor* self) {
      self->request(who, caf::infinite, what...).then([got](const Answer& a) { *got = a; }, [](const caf::error&) {});
    });
    drain();
    caf::anon_send_exit(asker, caf::exit_reason::kill);
    drain();
    return *got;
  }
  report_ptr report(const tuner_actor& t) { return ask<report_ptr>(t, atom::report::value).value_or(nullptr); }
  tuner_status status_of(const tuner_actor& t) { return *ask<tuner_status>(t, atom::status::value); }

  config settings;
  caf::actor_system system{settings};
  monitor_port watch;
  cache_actor cache;
  recorder_actor recorder;
  scheduler_actor scheduler;
  std::vector<tuner_actor> tuners;
  std::vector<std::pair<runner_actor, std::shared_ptr<run_bench>>> runners;
  std::vector<std::pair<builder_actor, std::shared_ptr<build_bench>>> builders;
  std::vector<storage::record_item> records;
  std::vector<storage::step_item> steps;
  archive_actor archive;
  std::vector<key128> dropped;          ///< what the cache had the store forget
  std::vector<storage::cache_use> used; ///< told as used, in order
  std::vector<std::string> invalidated; ///< tasks that the store's cache was to forget
  std::optional<error> store_error;
  int writes = 0;
};

inline double x_of(const trial& t) { return t.config.find("x")->to_double(); }

} // namespace attune::testing
