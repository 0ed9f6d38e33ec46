#pragma once

#include "core/clock.hpp"
#include "core/spec.hpp"
#include "search/enumerated_space.hpp"
#include "search/strategy.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace attune::search {

/// How one configuration of a recorded space ended.
struct recorded_result {
  std::optional<double> value; ///< none: failed
  double build_s = 0, run_s = 0;
};

/// A recorded space to play against.
struct replay_table {
  std::shared_ptr<const enumerated_space> over;
  std::vector<recorded_result> results; ///< by the index of the configuration in `over`
  goal direction = goal::minimize;

  std::size_t valid() const; ///< configurations with a value
  /// The best value. @pre valid() > 0
  double optimum() const;
};

struct replay_options {
  std::uint64_t trials = 200;
  std::uint64_t seed = 1;
  /// So many trials are in flight, each for as long as its recorded build and run took (virtual time).
  std::uint32_t workers = 1;
  /// Told to the strategy before it begins, and points to begin with (transfer).
  std::vector<point> first;
  std::vector<prior_record> prior;
  /// Measures the strategy's own time; null: not measured.
  const time_source* clock = nullptr;
};

/// One strategy's run.
struct replay_run {
  /// A trial: the configuration's index in the table, and when it ended.
  struct step {
    std::size_t at = 0;
    double ended_s = 0; ///< virtual
  };
  std::vector<step> steps;                   ///< in the order in which they ended
  std::vector<double> best;                  ///< after each of them; NaN while nothing valid was found
  std::uint64_t duplicates = 0, invalid = 0; ///< proposals that break the strategies' contract
  double overhead_s = 0;                     ///< in ask and tell
  double virtual_s = 0;                      ///< when the last trial ended
};

/// Plays one strategy. Errors: what make_strategy says.
result<replay_run> replay(const replay_table& table, std::string_view strategy, const replay_options& options);

/// E[best after t draws without replacement] for t = 1 … trials, exactly, failures counted as draws. While a sample has
/// nothing valid, it stands as the worst value of the table. Source: the order statistics of a finite population,
/// P(best rank > i) = C(n - i, t) / C(n, t).
std::vector<double> expected_random(const replay_table& table, std::uint64_t trials);

/// The contract's score: the mean over trials 20 to n of (E[random] - found) / (E[random] - optimum); trials at which
/// random has the optimum for certain are left out. `random` is expected_random() for as many trials at least. A run
/// that ended early (the space was used up) keeps its best.
double score(const replay_table& table, std::span<const double> best, std::span<const double> random,
             std::uint64_t trials);

} // namespace attune::search
