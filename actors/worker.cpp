#include "actors/worker.hpp"

#include "actors/error.hpp"

#include <caf/response_promise.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <mutex>
#include <optional>

namespace attune::actors {

namespace {

/// The one order in hand: its promise, and the answer where it came before begin() returned.
template <class Report>
struct hand {
  caf::typed_response_promise<Report> promise;
  bool taken = false;

  void deliver(Report report) {
    if (!taken) return;
    taken = false;
    promise.deliver(std::move(report));
  }
};

/// Starts `begin(callback)`; the callback may come on any thread, also before begin() returns: then it is answered at
/// once, without a message to itself.
template <class Result, class Report, class Handle, class Begin>
void start(Handle self, hand<Report>& in_hand, Begin begin) {
  struct meeting {
    std::mutex lock;
    bool inside = true;
    std::shared_ptr<const Result> early;
  };
  auto met = std::make_shared<meeting>();
  begin([met, self](Result result) {
    auto shared = std::make_shared<const Result>(std::move(result));
    {
      const std::lock_guard guard(met->lock);
      if (met->inside) {
        met->early = std::move(shared);
        return;
      }
    }
    caf::anon_send(self, atom::internal::value, Report{std::move(shared)});
  });
  std::shared_ptr<const Result> early;
  {
    const std::lock_guard guard(met->lock);
    met->inside = false;
    early = std::move(met->early);
  }
  if (early) in_hand.deliver(Report{std::move(early)});
}

} // namespace

builder_actor::behavior_type builder(builder_actor::pointer self, std::shared_ptr<measure::builder> how) {
  auto in_hand = std::make_shared<hand<build_report>>();
  return {
      [self, how, in_hand](atom::build, const build_order& order) -> caf::result<build_report> {
        if (in_hand->taken) return caf::make_error(ec::busy);
        in_hand->promise = self->make_response_promise<build_report>();
        in_hand->taken = true;
        start<measure::build_result>(builder_actor{self}, *in_hand,
                                     [&](measure::builder::callback done) { how->build(order.what, std::move(done)); });
        return in_hand->promise;
      },
      [how](atom::cancel) { how->cancel(); },
      [in_hand](atom::internal, const build_report& report) { in_hand->deliver(report); },
  };
}

runner_actor::behavior_type runner(runner_actor::pointer self, std::shared_ptr<measure::runner> how) {
  auto in_hand = std::make_shared<hand<run_report>>();
  return {
      [self, how, in_hand](atom::run, const run_order& order) -> caf::result<run_report> {
        if (in_hand->taken) return caf::make_error(ec::busy);
        in_hand->promise = self->make_response_promise<run_report>();
        in_hand->taken = true;
        start<measure::run_result>(runner_actor{self}, *in_hand, [&](measure::runner::callback done) {
          how->run(order.what, order.built, std::move(done));
        });
        return in_hand->promise;
      },
      [how](atom::cancel) { how->cancel(); },
      [in_hand](atom::internal, const run_report& report) { in_hand->deliver(report); },
  };
}

} // namespace attune::actors
