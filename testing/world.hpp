#pragma once

#include "actors/archive.hpp"
#include "actors/cache.hpp"
#include "actors/monitor.hpp"
#include "actors/scheduler.hpp"
#include "actors/tuner.hpp"
#include "testing/history.hpp"
#include "testing/places.hpp"
#include "testing/store.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune::testing {

struct world_options {
  /// 0: of the actors that have messages each has its turn, in the order in which they got them. Else whose turn it is
  /// is drawn; the same seed draws the same. What one actor sends another comes in its order either way.
  std::uint64_t seed = 0;
  actors::scheduler_options scheduling{};
  actors::recorder_options recording{};
  storage::cache_limits cache{};
  /// Where set the cache lies above a store, which the archive asks for it.
  actors::archive_source archive{};
  std::size_t history = 4096; ///< messages that are kept
};

/// What a tuner is made for. By itself: a task over one parameter `x` with the values 0 .. size - 1.
struct tuner_options {
  std::string name = "task"; ///< the workload's
  int size = 8;
  bool build = false;
  std::optional<std::uint64_t> trials{};
  std::optional<nanoseconds> time{};
  nanoseconds run_timeout = std::chrono::seconds(10);
  std::string strategy = "grid";
  bool by_caller = false; ///< the test measures: ask, tell
  bool fresh = false;     ///< --remeasure
  bool stored = false;    ///< what is not in memory is asked of the archive
  std::uint32_t wish = 0;
  std::uint64_t seed = 1;
  goal direction = goal::minimize;
  std::function<void(task_spec&)> shape{};       ///< where set: changes the spec, or replaces it
  search::space_ptr over{};                    ///< where set: the space, in place of the spec's own
  actors::model_actor model{};                 ///< who trains; null: the strategy by itself
  std::string session{};                       ///< its id in the store; empty: "session" and its number
  std::vector<fake_store::step> past{};       ///< played back before it begins
  std::vector<limit_spec> limits{};
  std::optional<nanoseconds> finals_until{};
  actors::allocator_actor dealer{}; ///< with whom it shares a budget, as which member
  std::size_t member = 0;
  task_ptr* made = nullptr;     ///< out: its task
  std::optional<double> near{}; ///< where set: estimates, within this tolerance
};

/// The graph of actors, as an engine wires it, on a deterministic scheduler with a virtual clock.
///
///   testing::world w;
///   const auto slot = w.add_runner("slot0", testing::measures([](const auto& c) { return c.find("x")->to_double(); }));
///   const auto tuner = w.begin({.trials = 8});
///   const auto report = w.report(tuner);       // lets everything happen that can
///   w.expect(testing::message<atom::run, run_order>().to("slot0"), 8);
///
/// Whatever does not hold throws `failed`, with the last messages in its text. Threads: one owner; no other is started.
class world {
public:
  explicit world(world_options options = {});
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  // --- turns and time ---

  /// Handles messages until there are none, or `most` were; how many. Throws where there is no end to it.
  std::size_t drain(std::size_t most = no_end);
  /// Handles messages until one that matches has been handled. Throws where everything comes to rest before.
  void run_until(const pattern& p);
  /// Lets time pass, in steps, so that a timer that sets itself again comes as often as it should.
  void pass(nanoseconds d, nanoseconds step = std::chrono::milliseconds(250));
  nanoseconds now();

  // --- places ---

  std::shared_ptr<fake_runner> add_runner(std::string name = "slot", run_script script = {});
  std::shared_ptr<fake_runner> add_runner(const actors::place_info& info, run_script script = {});
  std::shared_ptr<fake_builder> add_builder(std::string name = "builder", build_script script = {});
  /// Answers the oldest order in hand, and lets what follows happen. Throws where there is none.
  void answer(const std::shared_ptr<fake_runner>& at, const actors::run_report& with);
  void answer(const std::shared_ptr<fake_builder>& at, const actors::build_report& with);
  /// The same, but what follows is left to drain().
  void reply(const std::shared_ptr<fake_runner>& at, const actors::run_report& with);
  void reply(const std::shared_ptr<fake_builder>& at, const actors::build_report& with);
  /// The i-th that was added ends with what it has in hand.
  void kill_runner(std::size_t i);
  void kill_builder(std::size_t i);

  // --- searches ---

  /// A tuner; it does not begin. Throws where the spec is wrong.
  actors::tuner_actor add_tuner(const tuner_options& o);
  /// The same, begun.
  actors::tuner_actor begin(const tuner_options& o);
  /// How it ended, when everything has come to rest; null where it has not ended.
  actors::report_ptr report(const actors::tuner_actor& t);
  actors::tuner_status status_of(const actors::tuner_actor& t);

  /// The answer to a request; none where none comes while everything comes to rest, or an error does.
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

  /// Every actor ends at this instant, messages on their way are lost; the store stays. Then the graph is made anew,
  /// its cache as the store has it, without places and tuners.
  void power_cut();

  // --- what happened ---

  const testing::history& past() const noexcept { return past_; }
  std::size_t seen(const pattern& p) const { return past_.count(p); }
  /// Throws unless so many of the messages that are kept match.
  void expect(const pattern& p, std::size_t times) const;
  /// Throws unless messages that match come in this order (others may be between).
  void expect_in_order(const std::vector<pattern>& ps) const;
  /// Throws `failed` with `why` where `holds` is false.
  void check(bool holds, const std::string& why) const;
  /// Called with every message, before its receiver handles it. What it throws comes out of drain().
  void observe(std::function<void(const handled&)> each) { observers_.push_back(std::move(each)); }
  /// By which name an actor stands in the history: "cache", "tuner1", a place's own.
  void name(const caf::actor_addr& who, std::string as);
  /// That name; "actor" and its number where it has none.
  std::string name_of(const caf::actor_addr& who) const { return name_of(who.id()); }

private:
  struct settings : caf::actor_system_config {
    settings();
  };
  static constexpr std::size_t no_end = 200'000;

  bool turn();
  std::string name_of(caf::actor_id id) const;
  void wire();
  void end_all();
  [[noreturn]] void fail(const std::string& why) const;

  world_options options_;
  random_engine rng_;
  testing::history past_;
  std::vector<std::function<void(const handled&)>> observers_;
  std::map<caf::actor_id, std::string> names_;
  settings settings_;

public:
  fake_store store;
  caf::actor_system system{settings_};
  actors::monitor_port watch;
  actors::cache_actor cache;
  actors::recorder_actor recorder;
  actors::scheduler_actor scheduler;
  actors::archive_actor archive;
  std::vector<actors::tuner_actor> tuners;
  std::vector<std::pair<actors::runner_actor, std::shared_ptr<fake_runner>>> runners;
  std::vector<std::pair<actors::builder_actor, std::shared_ptr<fake_builder>>> builders;

private:
  caf::scheduler::test_coordinator& clockwork();
};

} // namespace attune::testing
