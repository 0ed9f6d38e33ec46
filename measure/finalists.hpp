#pragma once

#include "core/spec.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace attune::measure {

struct finalists_options {
  std::size_t most = 8;      ///< so many are measured again, besides the reference
  std::uint32_t rounds = 12; ///< so often at most
  double margin = 0.005;     ///< differences below it (a fraction) make a tie
  double drift = 0.02;       ///< so much (a fraction) the machine may have changed from one measurement to another
};

/// Names the winner among configurations that have been measured: those that could be the best by their intervals are
/// measured again, side by side, until one is separated or a tie is declared. Decides; does nothing.
///
/// Who is a finalist: each whose interval overlaps that of the best value, or misses it by no more than the drift, the
/// best values first. The interval is value
/// ± 2.5 · 1.2533 · s / sqrt(n), 1.2533 · s / sqrt(n) the standard error of the median. A few samples tell little of
/// their deviation, so that s is moderated by that of all: s² = (4 p² + (n-1) s_i²) / (n + 3), p the median of all
/// relative deviations (after Smyth, Linear models and empirical Bayes methods, 2004, section 3). Where nobody has two
/// samples, no noise is known: the best values are finalists.
///
/// The rounds: every finalist runs once in each, in an order that is rotated from round to round and turned round in
/// every second one, so that over an even number of whole turns each has had each position equally often, and a drift
/// of the machine falls on all alike. From the third round on each is compared to the leader (the best cleaned median
/// of the rounds) by the ratios of the two within each round (by differences where a value is not positive): it is out
/// when the 95 % interval of their median says that it is worse. The end: nobody is left beside the leader (separated);
/// or nobody left can be better than the leader by more than the margin, or the rounds are over (tied).
///
/// Only what was measured side by side names the winner. The reference (the default configuration) runs along in every
/// round whatever its value, so that speedup() compares like with like. Threads: one owner. Memory: one value a run.
class finalists {
public:
  /// `measured`: each one's samples, in the same unit; an empty one is no candidate (it failed). `reference`: its
  /// index. All finite.
  finalists(std::span<const std::vector<double>> measured, goal direction, std::optional<std::size_t> reference = {},
            finalists_options options = {});

  /// Who is to be run next, an index into `measured`; none: it is decided.
  std::optional<std::size_t> next() const;
  /// What the run of next() gave. @pre next(); finite
  void add(double value);
  /// The run of next() failed: it is out, the reference too. @pre next()
  void fail();

  /// There is no more time: it ends as it stands after the last whole round, tied where nobody is separated.
  void end();

  enum class verdict : std::uint8_t {
    open,      ///< next() says who is to be run
    separated, ///< the winner is better than every other, or was alone from the beginning
    tied,      ///< the winner leads, and tied() cannot be told from it
    none,      ///< nobody was measured, or all failed
  };
  verdict state() const noexcept { return state_; }
  /// The leader; none where nothing was measured. Final when state() is no longer open.
  std::optional<std::size_t> winner() const noexcept { return leader_; }
  /// Those that are left beside the winner.
  std::vector<std::size_t> tied() const;
  /// How often each was measured again.
  std::uint32_t rounds() const noexcept { return round_; }
  /// The reference's median over the winner's, both of the same rounds (its inverse where more is better: over 1 is
  /// faster); none without a reference or without a round, and where a value is not positive.
  std::optional<double> speedup() const;
  /// The values that were measured side by side, round by round; empty for whom was no finalist.
  std::span<const double> values(std::size_t who) const;

private:
  struct finalist {
    std::size_t who = 0;
    std::vector<double> values; ///< one a round
    bool candidate = true;      ///< false: only the reference
    bool out = false;
  };
  void line_up();
  void step();
  void judge();
  /// How much worse `a` is than `b` by the rounds: 95 % interval of the median ratio less one (or difference, as a
  /// fraction of b's median).
  std::pair<double, double> worse_by(const finalist& a, const finalist& b) const;

  goal direction_;
  finalists_options options_;
  std::optional<std::size_t> reference_;
  std::vector<finalist> field_;
  std::vector<std::size_t> order_; ///< of this round, indices into field_
  std::size_t position_ = 0;
  std::uint32_t round_ = 0;
  std::optional<std::size_t> leader_;
  verdict state_ = verdict::none;
};

} // namespace attune::measure
