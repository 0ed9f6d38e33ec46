#pragma once

#include "measure/executor.hpp"
#include "testing/places.hpp"
#include "testing/timeline.hpp"

#include <functional>
#include <memory>
#include <string>

namespace attune::testing {

/// A way to run that a script answers for, on virtual time: what an agent takes as agent_options::make_runner, with the
/// words of testing/places.hpp (slow, hangs, dies, lies, sometimes, at). One run at a time, as every runner.
///
///   how.make_runner = [&](std::uint32_t) {
///     return std::make_shared<scripted_runner>(time, slow<run_order, run_report>(2s, measures(cost)));
///   };
///
/// Threads: one owner, the timeline's.
class scripted_runner final : public measure::runner, public std::enable_shared_from_this<scripted_runner> {
public:
  /// `died`: the script said that the machine dies with the run in hand; whoever has made it ends the agent. What is in
  /// hand is never answered then.
  scripted_runner(timeline& time, run_script script, std::function<void()> died = {})
      : time_(time), script_(std::move(script)), died_(std::move(died)) {}

  void run(trial_ptr what, measure::artifact_ptr built, callback done) override;
  void cancel() override;
  /// What it has in hand; null: nothing.
  const trial_ptr& in_hand() const noexcept { return what_; }
  /// The process group is killed from outside: nothing is in hand any more, nothing is answered.
  void kill();
  /// What it has in hand does not hear a cancel.
  bool deaf() const noexcept { return what_ != nullptr && deaf_; }
  int orders() const noexcept { return orders_; }
  /// True where it ever got an order while it had one in hand.
  bool overlapped() const noexcept { return overlapped_; }

private:
  void end(measure::run_result r);

  timeline& time_;
  run_script script_;
  std::function<void()> died_;
  trial_ptr what_;
  callback done_;
  bool deaf_ = false, overlapped_ = false;
  int orders_ = 0;
  std::uint64_t epoch_ = 0;
};

} // namespace attune::testing
