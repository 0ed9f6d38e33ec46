#pragma once

#include "search/space.hpp"
#include "storage/recorded.hpp"
#include "testing/places.hpp"

#include <memory>
#include <string>
#include <unordered_map>

namespace attune::testing {

/// A recorded space as a world's task and places: what somebody measured once is measured again, in virtual time.
///
///   const auto recorded = testing::recorded_runs::of(*storage::read_recorded(path));
///   w.add_runner("gpu0", (*recorded)->runs());
///   w.begin({.name = "convolution", .trials = 200, .strategy = "auto", .over = (*recorded)->over()});
///
/// Immutable.
class recorded_runs {
public:
  /// Errors: as search::enumerated_space.
  static result<std::shared_ptr<const recorded_runs>> of(const storage::recorded_space& recorded);

  /// Exactly the configurations that were recorded.
  const search::space_ptr& over() const noexcept { return over_; }
  /// A run takes what build and run took when it was recorded, and answers the recorded value or failure; what was not
  /// recorded is an invalid_config.
  run_script runs() const;
  /// The best value that was recorded; none where all failed.
  std::optional<double> optimum() const noexcept { return optimum_; }

private:
  struct entry {
    actors::run_report answer;
    nanoseconds takes{0};
  };
  search::space_ptr over_;
  std::shared_ptr<const std::unordered_map<std::string, entry>> entries_; ///< by canonical form
  std::optional<double> optimum_;
};

} // namespace attune::testing
