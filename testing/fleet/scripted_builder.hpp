#pragma once

#include "measure/executor.hpp"
#include "testing/places.hpp"
#include "testing/timeline.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace attune::testing {

/// A way to build that a script answers for, on virtual time, as scripted_runner is one to run. Threads: one owner.
class scripted_builder final : public measure::builder, public std::enable_shared_from_this<scripted_builder> {
public:
  /// `ended`: the build is over, by whatever end. `died`: the machine dies with it; it is never answered then.
  scripted_builder(timeline& time, build_script script, std::function<void()> ended, std::function<void()> died)
      : time_(time), script_(std::move(script)), ended_(std::move(ended)), died_(std::move(died)) {}

  void build(trial_ptr what, callback done) override {
    what_ = what;
    done_ = std::move(done);
    const auto a = script_(actors::build_order{std::move(what)});
    deaf_ = a.deaf;
    time_.after(a.after, [weak = weak_from_this(), epoch = ++epoch_, a] {
      const auto self = weak.lock();
      if (!self || self->epoch_ != epoch || !self->what_) return;
      if (!a.dies) return self->end(*a.report->result);
      const auto died = self->died_;
      self->kill();
      died();
    });
  }
  void cancel() override {
    if (what_ && !deaf_) end({failure{failure_kind::cancelled, "cancelled", {}, {}}, {}, {}, {}});
  }
  const trial_ptr& in_hand() const noexcept { return what_; }
  bool deaf() const noexcept { return what_ != nullptr && deaf_; }
  /// Killed from outside: nothing is in hand any more, nothing is answered.
  void kill() {
    what_ = nullptr;
    done_ = nullptr;
    ++epoch_;
  }

private:
  void end(measure::build_result r) {
    what_ = nullptr;
    ++epoch_;
    ended_();
    if (const auto done = std::exchange(done_, nullptr)) done(std::move(r));
  }

  timeline& time_;
  build_script script_;
  std::function<void()> ended_, died_;
  trial_ptr what_;
  callback done_;
  bool deaf_ = false;
  std::uint64_t epoch_ = 0;
};

} // namespace attune::testing
