// library: the public headers' implementation (include/attune): what a program embeds. It decides nothing that a room
// below could.
#pragma once

#include "actors/engine.hpp"
#include "attune/engine.hpp"
#include "core/task.hpp"
#include "search/space.hpp"

#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace attune {

namespace detail {
struct space_access {
  static const task_spec& spec(const space& s) noexcept { return *s.spec_; }
  static task_spec& spec(space& s) noexcept { return *s.spec_; }
};
} // namespace detail

/// What a search is made of: the public space and options put into the engine's words. Errors: invalid_spec.
struct prepared {
  task_ptr of;
  search::space_ptr over;
};
result<prepared> prepare(const space& over, const search_options& how, objective_function measure);

/// The objective as the engine calls it.
objective_function function_of(objective what, const std::string& unit);

/// The samples of an answer as the metric has them written, or the failure.
std::variant<std::vector<double>, failure> written(const answer& what, const metric_spec& metric);
/// The result that a program's own answer comes to.
std::variant<measurement, failure, bound> clean(const trial& what, const answer& got, std::vector<std::string>& notes);

/// One search under way. `ended` is there when the report came or the engine went; from then on `inner` is not touched.
struct session::impl {
  impl(prepared of, actors::session of_actors) : what(std::move(of)), inner(std::move(of_actors)) {}
  prepared what;
  actors::session inner;
  std::promise<report> promise;
  std::shared_future<report> ended{promise.get_future()};
};

struct asked::impl {
  trial_ptr what;
};

found found_of(const search::space& over, const task& of, const configuration& config, const measurement& m);

struct engine::impl {
  engine_options options;
  std::unique_ptr<actors::engine> core;
  std::mutex logging;

  void log(log_level level, std::string_view text) noexcept;
  result<std::shared_ptr<session::impl>> begin(prepared what, const search_options& how, bool by_caller);
  /// The best that the store knows, best first; empty without a store.
  result<std::vector<found>> best(const prepared& what, std::size_t count) const;
  /// What the store's cache knows of one configuration.
  std::optional<double> known(const prepared& what, const configuration& config) const;
};

} // namespace attune
