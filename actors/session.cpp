#include "actors/engine.hpp"
#include "actors/error.hpp"
#include "actors/handles.hpp"
#include "actors/session_state.hpp"
#include "actors/turns.hpp"
#include "search/limits.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

namespace attune::actors {

std::shared_ptr<const tuning_report> session::wait() {
  for (;;) {
    if (auto report = wait_for(std::chrono::hours(1))) return report;
    const std::lock_guard guard(impl_->lock);
    if (impl_->gone || impl_->turn) return nullptr;
  }
}

std::shared_ptr<const tuning_report> session::wait_for(nanoseconds limit) {
  {
    const std::lock_guard guard(impl_->lock);
    if (impl_->report) return impl_->report;
  }
  caf::scoped_actor self{*impl_->system};
  report_ptr got;
  auto asked =
      self->request(impl_->tuner, std::chrono::duration_cast<std::chrono::milliseconds>(limit), atom::report::value);
  if (may_receive(self, impl_->turn))
    asked.receive([&](const report_ptr& r) { got = r; },
                  [&](const caf::error& e) {
                    const std::lock_guard guard(impl_->lock);
                    impl_->gone = e != caf::sec::request_timeout;
                  });
  const std::lock_guard guard(impl_->lock);
  if (got) impl_->report = got;
  return got;
}

void session::when_done(std::function<void(std::shared_ptr<const tuning_report>)> hear) {
  auto waits = [to = impl_->tuner, keep = impl_, hear = std::move(hear)](caf::event_based_actor* self) {
    // It is the search's own limits that end it.
    self->request(to, caf::infinite, atom::report::value)
        .then(
            [keep, hear](const report_ptr& r) {
              {
                const std::lock_guard guard(keep->lock);
                keep->report = r;
              }
              hear(r);
            },
            [hear](const caf::error&) { hear(nullptr); });
  };
  const std::lock_guard guard(impl_->lock);
  impl_->hearers.push_back(impl_->system->spawn(std::move(waits)));
}

void session::close() {
  {
    const std::lock_guard guard(impl_->lock);
    impl_->closed = true;
  }
  caf::anon_send_exit(impl_->tuner, caf::exit_reason::user_shutdown);
}

session_handle session::handle() const { return {impl_->tuner}; }

namespace {

outcome_ptr cancelled_outcome() {
  return std::make_shared<const outcome>(
      outcome{failure{failure_kind::cancelled, "cancelled", {}, {}}, {}, {}, {}, {}, {}});
}

} // namespace

void session::cancel() {
  impl_->called_back = true;
  caf::anon_send(impl_->tuner, atom::cancel::value);
}
void session::pause() { caf::anon_send(impl_->tuner, atom::pause::value); }
void session::resume() { caf::anon_send(impl_->tuner, atom::resume::value); }

void session::share(const schedulers::share_terms& terms) {
  caf::anon_send(impl_->scheduler, atom::share::value, session_number{impl_->number}, terms);
}

tuner_status session::progress() {
  tuner_status out;
  caf::scoped_actor self{*impl_->system};
  auto asked = self->request(impl_->tuner, answer_patience, atom::status::value);
  if (may_receive(self, impl_->turn))
    asked.receive([&](const tuner_status& s) { out = s; }, [&](const caf::error&) { out.finished = true; });
  return out;
}

trial_ptr session::ask() {
  trial_ptr out;
  caf::scoped_actor self{*impl_->system};
  // The answer comes when a trial in flight is told, which is the caller's own doing: no limit would be the right one.
  self->request(impl_->tuner, caf::infinite, atom::ask::value)
      .receive([&](const trial_ptr& t) { out = t; }, [](const caf::error&) {});
  if (out && impl_->called_back) {
    self->request(impl_->tuner, caf::infinite, atom::tell::value, out->number, cancelled_outcome())
        .receive([](caf::ok_atom) {}, [](const caf::error&) {});
    return nullptr;
  }
  return out;
}

attune::status session::tell(const trial& which, outcome result) {
  if (const auto* m = result.measured(); m != nullptr && !which.of->spec.run.limits.empty()) {
    const auto limits = search::run_limits::compile(which.of->spec);
    if (!limits) return limits.err();
    if (auto why = limits->judge(*m)) result.data = std::move(*why);
  }
  attune::status out;
  caf::scoped_actor self{*impl_->system};
  self->request(impl_->tuner, caf::infinite, atom::tell::value, which.number,
                outcome_ptr(std::make_shared<const outcome>(std::move(result))))
      .receive([](caf::ok_atom) {},
               [&](const caf::error& e) {
                 out = error{e == ec::unknown_trial ? errc::not_found : errc::cancelled,
                             e == ec::unknown_trial ? "no such trial is in flight" : "the search has ended",
                             {}};
               });
  return out;
}

} // namespace attune::actors
