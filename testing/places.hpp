#pragma once

#include "actors/interfaces.hpp"
#include "core/random.hpp"

#include <caf/typed_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace attune::testing {

/// What a place answers.
actors::run_report measured(double value);
actors::run_report run_failed(failure_kind kind, std::string message = "no");
/// It was stopped early: its value is at least `at_least`, as the trial's rival was `against`.
actors::run_report stopped_early(double at_least, double against);
actors::build_report built();
actors::build_report build_failed(failure_kind kind, std::string message = "no");

/// What a fake place does with one order. By itself it answers at once; see the words below.
template <class Report>
struct act {
  std::optional<Report> report; ///< none: it never answers by itself
  nanoseconds after{0};         ///< virtual time until then
  bool dies = false;            ///< instead of answering its actor ends
  bool deaf = false;            ///< `cancel` changes nothing; else it answers `cancelled` at once

  act() = default;
  act(Report r) : report(std::move(r)) {} // NOLINT(google-explicit-constructor)
};
template <class Order, class Report>
using script_of = std::function<act<Report>(const Order&)>;
using run_script = script_of<actors::run_order, actors::run_report>;
using build_script = script_of<actors::build_order, actors::build_report>;

/// A fake builder or runner, as the test sees it. Without a script orders wait in `hand` until the test answers them
/// (world::answer) or ends the place. A script may be changed at any time, also by itself.
template <class Order, class Report>
struct fake_place {
  struct pending {
    Order order;
    caf::typed_response_promise<Report> promise;
    bool scripted = false, deaf = false;
    std::uint64_t number = 0;
    std::optional<Report> later{}; ///< what its script says
  };
  std::string name;
  std::deque<pending> hand; ///< what it has in hand
  int orders = 0, cancels = 0;
  script_of<Order, Report> answer; ///< empty: the test answers
};
using fake_runner = fake_place<actors::run_order, actors::run_report>;
using fake_builder = fake_place<actors::build_order, actors::build_report>;

/// The actors behind them: the public interfaces, and two messages by which the test and virtual time reach them.
using fake_runner_actor = actors::runner_actor::extend<caf::reacts_to<atom::internal, std::uint64_t>>;
using fake_builder_actor = actors::builder_actor::extend<caf::reacts_to<atom::internal, std::uint64_t>>;
fake_runner_actor::behavior_type run_by_script(fake_runner_actor::pointer self, const std::shared_ptr<fake_runner>& place);
fake_builder_actor::behavior_type build_by_script(fake_builder_actor::pointer self,
                                                  const std::shared_ptr<fake_builder>& place);

// The words of a script. Each gives a script, or changes one.

/// Measures at once: `f` of the configuration is the value.
run_script measures(std::function<double(const configuration&)> f);
/// Builds at once.
build_script builds();

/// It takes `d` of virtual time.
template <class Order, class Report>
script_of<Order, Report> slow(nanoseconds d, script_of<Order, Report> then) {
  return [=](const Order& o) {
    auto a = then(o);
    a.after += d;
    return a;
  };
}
/// It never answers by itself, but heeds a cancel (`deaf`: not even that).
template <class Place>
auto hangs(bool deaf = false) -> decltype(Place::answer) {
  using act_type = typename decltype(Place::answer)::result_type;
  return [deaf](const auto&) {
    act_type a;
    a.deaf = deaf;
    return a;
  };
}
/// The place goes with the order in hand, after `d`.
template <class Place>
auto dies(nanoseconds d = nanoseconds(0)) -> decltype(Place::answer) {
  using act_type = typename decltype(Place::answer)::result_type;
  return [d](const auto&) {
    act_type a;
    a.dies = true;
    a.after = d;
    return a;
  };
}
/// With probability `p` the one, else the other; drawn from `seed`.
template <class Order, class Report>
script_of<Order, Report> sometimes(double p, script_of<Order, Report> one, script_of<Order, Report> other,
                                   std::uint64_t seed) {
  auto rng = std::make_shared<random_engine>(seed);
  return [=](const Order& o) { return rng->chance(p) ? one(o) : other(o); };
}
/// The `n`-th order (from 1) the one, all others the other.
template <class Order, class Report>
script_of<Order, Report> at(int n, script_of<Order, Report> one, script_of<Order, Report> other) {
  auto seen = std::make_shared<int>(0);
  return [=](const Order& o) { return ++*seen == n ? one(o) : other(o); };
}
/// It says the wrong value: a measured one is multiplied by `factor`.
run_script lies(double factor, const run_script& then);

/// The value of the parameter `x`, of tests' own spaces.
double x_of(const trial& t);

} // namespace attune::testing
