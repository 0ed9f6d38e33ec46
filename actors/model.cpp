#include "actors/model.hpp"

#include <sched.h>
#include <sys/resource.h>

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

model_actor::behavior_type model(model_actor::stateful_pointer<model_state> self, bool step_back) {
  self->state.stepped_back = !step_back;
  return {[self](atom::train, const training_ptr& job) {
    if (!self->state.stepped_back) give_way();
    self->state.stepped_back = true;
    if (job) job->run();
    return caf::ok_atom::value;
  }};
}

} // namespace attune::actors
