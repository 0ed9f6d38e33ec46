#include "actors/archive.hpp"

namespace attune::actors {

static_assert(!std::is_aggregate_v<archive_state>);

archive_actor::behavior_type archive(archive_actor::stateful_pointer<archive_state> self, archive_source source) {
  self->state.source = std::move(source);
  return {[self](atom::recall, const trial_batch& asked) { return recalled_batch{self->state.source(asked.items)}; }};
}

} // namespace attune::actors
