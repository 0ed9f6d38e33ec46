#include "testing/places.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <algorithm>

namespace attune::testing {

using namespace actors;

namespace {

run_report cancelled_report(const run_order&) { return run_failed(failure_kind::cancelled); }
build_report cancelled_report(const build_order&) { return build_failed(failure_kind::cancelled); }

template <class Self, class Order, class Report>
caf::result<Report> take(Self* self, const std::shared_ptr<fake_place<Order, Report>>& place, const Order& order,
                         std::uint64_t& next) {
  ++place->orders;
  auto promise = self->template make_response_promise<Report>();
  // A copy: a script may put another in its place.
  const auto script = place->answer;
  if (!script) {
    place->hand.push_back({order, promise, false, false, ++next});
    return promise;
  }
  act<Report> a = script(order);
  if (a.report && a.after.count() == 0) {
    promise.deliver(*a.report);
    return promise;
  }
  const auto number = ++next;
  place->hand.push_back({order, promise, true, a.deaf, number});
  if (!a.report && !a.dies) return promise;
  if (a.dies && a.after.count() == 0) {
    self->quit(caf::exit_reason::kill);
    return promise;
  }
  self->delayed_send(self, a.after, atom::internal::value, a.dies ? std::uint64_t{0} : number);
  if (a.report) place->hand.back().later = *a.report;
  return promise;
}

template <class Order, class Report>
void deliver_first(const std::shared_ptr<fake_place<Order, Report>>& place, const Report& report) {
  if (place->hand.empty()) return;
  auto promise = place->hand.front().promise;
  place->hand.pop_front();
  promise.deliver(report);
}

template <class Order, class Report>
void heed_cancel(const std::shared_ptr<fake_place<Order, Report>>& place) {
  ++place->cancels;
  const auto at =
      std::find_if(place->hand.begin(), place->hand.end(), [](const auto& p) { return p.scripted && !p.deaf; });
  if (at == place->hand.end()) return;
  auto promise = at->promise;
  const auto report = cancelled_report(at->order);
  place->hand.erase(at);
  promise.deliver(report);
}

template <class Self, class Order, class Report>
void time_came(Self* self, const std::shared_ptr<fake_place<Order, Report>>& place, std::uint64_t number) {
  if (number == 0) return self->quit(caf::exit_reason::kill);
  const auto at =
      std::find_if(place->hand.begin(), place->hand.end(), [&](const auto& p) { return p.number == number; });
  if (at == place->hand.end()) return; // it was cancelled
  auto promise = at->promise;
  const auto report = *at->later;
  place->hand.erase(at);
  promise.deliver(report);
}

} // namespace

run_report measured(double value) {
  measurement m;
  m.value = value;
  m.samples = {value};
  return {std::make_shared<const measure::run_result>(measure::run_result{m, std::chrono::milliseconds(1), {}, {}})};
}

run_report run_failed(failure_kind kind, std::string message) {
  return {std::make_shared<const measure::run_result>(
      measure::run_result{failure{kind, std::move(message), {}, {}}, {}, {}, {}})};
}

run_report stopped_early(double at_least, double against) {
  return {std::make_shared<const measure::run_result>(
      measure::run_result{bound{at_least, against, {}}, std::chrono::milliseconds(1), {}, {}})};
}

build_report built() {
  return {std::make_shared<const measure::build_result>(
      measure::build_result{measure::artifact_ptr{}, std::chrono::milliseconds(2), {}, {}})};
}

build_report build_failed(failure_kind kind, std::string message) {
  return {std::make_shared<const measure::build_result>(
      measure::build_result{failure{kind, std::move(message), {}, {}}, {}, {}, {}})};
}

fake_runner_actor::behavior_type run_by_script(fake_runner_actor::pointer self,
                                               const std::shared_ptr<fake_runner>& place) {
  auto next = std::make_shared<std::uint64_t>(0);
  return {[=](atom::run, const run_order& order) { return take(self, place, order, *next); },
          [=](atom::cancel) { heed_cancel(place); },
          [=](atom::internal, const run_report& r) { deliver_first(place, r); },
          [=](atom::internal, std::uint64_t number) { time_came(self, place, number); }};
}

fake_builder_actor::behavior_type build_by_script(fake_builder_actor::pointer self,
                                                  const std::shared_ptr<fake_builder>& place) {
  auto next = std::make_shared<std::uint64_t>(0);
  return {[=](atom::build, const build_order& order) { return take(self, place, order, *next); },
          [=](atom::cancel) { heed_cancel(place); },
          [=](atom::internal, const build_report& r) { deliver_first(place, r); },
          [=](atom::internal, std::uint64_t number) { time_came(self, place, number); }};
}

run_script measures(std::function<double(const configuration&)> f) {
  return [f = std::move(f)](const run_order& o) { return measured(f(o.what->config)); };
}

build_script builds() {
  return [](const build_order&) { return built(); };
}

run_script lies(double factor, const run_script& then) {
  return [=](const run_order& o) {
    auto a = then(o);
    if (a.report)
      if (const auto* m = std::get_if<measurement>(&a.report->result->data)) a.report = measured(m->value * factor);
    return a;
  };
}

double x_of(const trial& t) { return t.config.find("x")->to_double(); }

} // namespace attune::testing
