#include "actors/worker.hpp"

#include "actors/error.hpp"

#include <caf/response_promise.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <map>
#include <mutex>

namespace attune::actors {

namespace {

/// The orders in hand: the promise of each, by its number.
template <class Report>
struct hand {
  std::map<std::uint64_t, caf::typed_response_promise<Report>> promises;
  std::uint64_t next = 1;

  /// Number 0: the first.
  void deliver(std::uint64_t number, Report report) {
    const auto at = number == 0 ? promises.begin() : promises.find(number);
    if (at == promises.end()) return;
    auto promise = std::move(at->second);
    promises.erase(at);
    promise.deliver(std::move(report));
  }
};

/// Starts `begin(callback)`; the callback may come on any thread, also before begin() returns: then it is answered at
/// once, without a message to itself.
template <class Result, class Report, class Handle, class Begin, class Make>
void start(Handle self, hand<Report>& in_hand, std::uint64_t number, Begin begin, Make make) {
  struct meeting {
    std::mutex lock;
    bool inside = true;
    std::shared_ptr<const Result> early;
  };
  auto met = std::make_shared<meeting>();
  begin([met, self, make](Result result) {
    auto shared = std::make_shared<const Result>(std::move(result));
    {
      const std::lock_guard guard(met->lock);
      if (met->inside) {
        met->early = std::move(shared);
        return;
      }
    }
    caf::anon_send(self, atom::internal::value, make(std::move(shared)));
  });
  std::shared_ptr<const Result> early;
  {
    const std::lock_guard guard(met->lock);
    met->inside = false;
    early = std::move(met->early);
  }
  if (early) in_hand.deliver(number, make(std::move(early)));
}

} // namespace

builder_actor::behavior_type builder(builder_actor::pointer self, std::shared_ptr<measure::builder> how) {
  auto in_hand = std::make_shared<hand<build_report>>();
  return {
      [self, how, in_hand](atom::build, const build_order& order) -> caf::result<build_report> {
        if (!in_hand->promises.empty()) return caf::make_error(ec::busy);
        auto promise = self->make_response_promise<build_report>();
        const auto number = in_hand->next++;
        in_hand->promises.emplace(number, promise);
        start<measure::build_result>(
            builder_actor{self}, *in_hand, number,
            [&](measure::builder::callback done) { how->build(order.what, std::move(done)); },
            [](std::shared_ptr<const measure::build_result> r) { return build_report{std::move(r)}; });
        return promise;
      },
      [how](atom::cancel) { how->cancel(); },
      [in_hand](atom::internal, const build_report& report) { in_hand->deliver(0, report); },
  };
}

runner_actor::behavior_type runner(runner_actor::pointer self, std::shared_ptr<measure::runner> how) {
  auto in_hand = std::make_shared<hand<run_report>>();
  return {
      [self, how, in_hand](atom::run, const run_order& order) -> caf::result<run_report> {
        if (in_hand->promises.size() >= how->holds()) return caf::make_error(ec::busy);
        auto promise = self->make_response_promise<run_report>();
        const auto number = in_hand->next++;
        in_hand->promises.emplace(number, promise);
        start<measure::run_result>(
            runner_actor{self}, *in_hand, number,
            [&](measure::runner::callback done) { how->run(order.what, order.built, std::move(done)); },
            [number](std::shared_ptr<const measure::run_result> r) {
              return run_report{std::move(r), number};
            });
        return promise;
      },
      [how](atom::cancel) { how->cancel(); },
      [in_hand](atom::internal, const run_report& report) { in_hand->deliver(report.order, report); },
  };
}

} // namespace attune::actors
