#pragma once

#include "core/measurement.hpp"
#include "core/spec.hpp"
#include "search/expression.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune::search {

/// What a run must keep to be a result (run_spec::limits): expressions over the metrics' names, `workload.x` and
/// `target.x`. Immutable; judge() from any thread.
class run_limits {
public:
  /// Errors (invalid_spec, with the limit's place): an expression that does not parse, names something else, or reads
  /// no metric. Only metrics whose name is an identifier can be named.
  static result<run_limits> compile(const task_spec& spec);

  bool empty() const noexcept { return limits_.empty(); }

  /// Why the measurement is no result; none where it keeps every limit. invalid_config: the first limit that is not
  /// true for the cleaned values (one that has no value, as after a division by zero, is not true), which the message
  /// states. bad_metric: the first limit with a metric that the run did not give.
  std::optional<failure> judge(const measurement& m) const;

private:
  run_limits() = default;
  std::unique_ptr<pool> literals_; ///< the expressions'
  std::vector<expression> limits_;
  std::vector<std::string> metrics_;
  std::size_t objective_ = 0;
};

} // namespace attune::search
