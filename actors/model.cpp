#include "actors/model.hpp"

#include <caf/typed_response_promise.hpp>
#include <sys/resource.h>

#include <sched.h>

namespace attune::actors {

static_assert(!std::is_aggregate_v<model_state>);

namespace {

/// Of the calling thread. What the system refuses is done without.
void give_way() {
  const sched_param none{};
  (void)::sched_setscheduler(0, SCHED_BATCH, &none);
  (void)::setpriority(PRIO_PROCESS, 0, 19);
}

} // namespace

model_actor::behavior_type model(model_actor::stateful_pointer<model_state> self, bool step_back,
                                 const scheduler_actor& scheduler) {
  self->state.stepped_back = !step_back;
  return {[self, scheduler](atom::train, const training_ptr& job) -> caf::result<caf::ok_atom> {
    if (!self->state.stepped_back) give_way();
    self->state.stepped_back = true;
    if (!scheduler || !job) {
      if (job) job->run();
      return caf::ok_atom::value;
    }
    auto promise = self->make_response_promise<caf::ok_atom>();
    const auto ticket = ++self->state.trainings;
    self->request(scheduler, caf::infinite, atom::aside::value, ticket)
        .then(
            [self, scheduler, job, promise, ticket](caf::ok_atom) mutable {
              job->run();
              self->send(scheduler, atom::aside::value, atom::done::value, ticket);
              promise.deliver(caf::ok_atom::value);
            },
            [job, promise](const caf::error&) mutable {
              // The scheduler has gone: nothing is timed.
              job->run();
              promise.deliver(caf::ok_atom::value);
            });
    return promise;
  }};
}

} // namespace attune::actors
