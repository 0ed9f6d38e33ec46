#include "attune/actors.hpp"
#include "library/access.hpp"

namespace attune {

actors::graph_handles handles_of(const engine& of) { return of.get().core->handles(); }

actors::session_handle handle_of(const session& of) {
  if (of.wait_for(nanoseconds(0))) return {};
  return of.get().inner.handle();
}

caf::actor_system& system_of(const engine& of) { return of.get().core->system(); }

result<search_parts> parts_of(const space& over, objective what, const search_options& how) {
  auto made = prepare(over, how, function_of(std::move(what), how.unit));
  if (!made) return made.err();
  return search_parts{made->of, made->over};
}

} // namespace attune
