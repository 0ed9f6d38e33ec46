#include "testing/scripted_runner.hpp"

#include <utility>

namespace attune::testing {

void scripted_runner::run(trial_ptr what, measure::artifact_ptr built, callback done) {
  ++orders_;
  overlapped_ = overlapped_ || what_ != nullptr;
  what_ = what;
  done_ = std::move(done);
  const auto epoch = ++epoch_;
  const auto a = script_(actors::run_order{std::move(what), std::move(built)});
  deaf_ = a.deaf;
  if (!a.report && !a.dies) return;
  time_.after(a.after, [weak = weak_from_this(), epoch, a] {
    const auto self = weak.lock();
    if (!self || self->epoch_ != epoch || !self->what_) return;
    if (!a.dies) return self->end(*a.report->result);
    const auto died = self->died_;
    self->kill();
    if (died) died();
  });
}

void scripted_runner::cancel() {
  if (!what_ || deaf_) return;
  end({failure{failure_kind::cancelled, "cancelled", {}, {}}, {}, {}, {}});
}

void scripted_runner::kill() {
  what_ = nullptr;
  done_ = nullptr;
  ++epoch_;
}

void scripted_runner::end(measure::run_result r) {
  what_ = nullptr;
  ++epoch_;
  if (const auto done = std::exchange(done_, nullptr)) done(std::move(r));
}

} // namespace attune::testing
