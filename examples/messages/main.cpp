// The actors by themselves, driven by messages under a deterministic scheduler: how a test asks what Attune does when a
// device is lost, without a device, a disk or a clock. Nothing here takes time or depends on the machine.
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/send.hpp>

#include <attune/actors.hpp>
#include <attune/attune.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace attune;
using namespace attune::actors;

namespace {

struct deterministic : caf::actor_system_config {
  deterministic() { set("scheduler.policy", caf::atom("testing")); }
};

/// A RUNNER that is none: it answers each order at once.
runner_actor::behavior_type stand_in(runner_actor::pointer, const std::string& name, bool lost, int* orders) {
  return {[=](atom::run, const run_order& order) -> run_report {
            ++*orders;
            const auto x = order.what->config.find("x")->as_integer();
            std::printf("%s is to run %s\n", name.c_str(), order.what->config.text().c_str());
            measure::run_result r;
            if (lost) {
              r.data = failed(failure_kind::device_lost, "unplugged");
            } else {
              measurement m;
              m.value = static_cast<double>(10 - x);
              m.samples = {m.value};
              r.data = m;
            }
            return {std::make_shared<const measure::run_result>(std::move(r))};
          },
          [](atom::cancel) {}, [](atom::internal, const run_report&) {}};
}

} // namespace

int main() {
  deterministic config;
  caf::actor_system system{config};
  auto& clockwork = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  const auto drain = [&] {
    while (clockwork.try_run_once()) {
    }
  };

  // The graph, with a store in memory: what would be written is counted.
  const monitor_port watch = spawn_monitor(system);
  const auto known = std::make_shared<std::unique_ptr<storage::lru_cache>>(
      std::make_unique<storage::lru_cache>(storage::cache_limits{}, false));
  const auto cache = system.spawn(actors::cache, known, watch);
  int written = 0;
  record_sink sink;
  sink.append = [&](std::span<storage::record_item> items, std::span<const storage::step_item>) -> status {
    written += static_cast<int>(items.size());
    return {};
  };
  const auto recorder = system.spawn(actors::recorder, sink, cache, watch, recorder_options{});
  const auto scheduler = system.spawn(actors::scheduler, recorder, watch, scheduler_options{});
  caf::anon_send(cache, atom::wire::value, scheduler, recorder, archive_actor{});

  // Two devices offer themselves; the first has been unplugged.
  int orders_lost = 0, orders_good = 0;
  const auto first = system.spawn(stand_in, std::string("board"), true, &orders_lost);
  const auto second = system.spawn(stand_in, std::string("desk"), false, &orders_good);
  caf::anon_send(scheduler, atom::join::value, place_info{"board"}, first);
  caf::anon_send(scheduler, atom::join::value, place_info{"desk"}, second);

  // A search over four configurations.
  space s("messages");
  s.integers("x", 0, 3);
  const auto parts = parts_of(s, [](config_view) { return 0.0; }, {.strategy = "grid"});
  if (!parts) return 1;
  auto strategy = search::make_strategy("grid", parts->over, {});
  if (!strategy) return 1;
  const auto setup = std::make_shared<tuner_setup>();
  setup->session.number = 1;
  setup->search = std::make_unique<search::tuning>(parts->of, parts->over, std::move(*strategy),
                                                   search::tuning_limits{}, setup->session.number);
  const auto tuner = system.spawn(actors::tuner, setup, cache, scheduler, recorder, watch);
  caf::anon_send(tuner, atom::begin::value);
  drain();
  // Time passes for those that wait before they try again.
  for (int n = 0; n < 100; ++n) {
    clockwork.advance_time(std::chrono::milliseconds(100));
    drain();
  }

  report_ptr report;
  const auto asks = system.spawn([&](caf::event_based_actor* self) {
    self->request(tuner, caf::infinite, atom::report::value).then([&](const report_ptr& r) { report = r; });
  });
  drain();
  for (const auto& who :
       {caf::actor_cast<caf::actor>(tuner), caf::actor_cast<caf::actor>(first), caf::actor_cast<caf::actor>(second),
        caf::actor_cast<caf::actor>(scheduler), caf::actor_cast<caf::actor>(cache),
        caf::actor_cast<caf::actor>(recorder), caf::actor_cast<caf::actor>(watch.to), asks})
    caf::anon_send_exit(who, caf::exit_reason::user_shutdown);
  drain();
  if (!report || !report->best) return 1;
  std::printf("best: %s, %d records written, %d orders to the lost board\n", report->best->config.text().c_str(),
              written, orders_lost);
  // Every configuration was measured once, on the device that works, and durable before the search knew it.
  return orders_good == 4 && written == 4 && orders_lost >= 1 && report->best->config.find("x")->as_integer() == 3 ? 0
                                                                                                                   : 1;
}
