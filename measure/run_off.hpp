#pragma once

#include "measure/finalists.hpp"

#include <vector>

namespace attune::measure {

/// The end of a search: names the winner among all that were measured, by finalists, over and over until nobody that
/// was not measured side by side looks better than the winner. (A winner by luck is slower the second time, and then
/// those that were just behind the first finalists look better than it does.) Decides; does nothing.
///
/// Each later turn is between the winner and the next best of those that look better. After `turns` of them it ends.
/// Threads: one owner.
class run_off {
public:
  struct entrant {
    std::vector<double> samples; ///< as finalists takes them; empty: no candidate
    double value = 0;            ///< its cleaned median
  };
  /// `reference`: the default configuration's index; it runs along in every turn.
  run_off(std::vector<entrant> all, goal direction, std::optional<std::size_t> reference = {},
          finalists_options options = {}, std::uint32_t turns = 16);

  /// As finalists'.
  std::optional<std::size_t> next() const { return now_.next(); }
  void add(double value);
  void fail();
  /// There is no more time: it ends as it stands after the last whole round.
  void end();

  /// How one stands that has run side by side with others.
  struct standing {
    std::size_t who = 0;
    std::vector<double> values; ///< of its last turn, one a round; empty: it failed
    /// Its value beside the winner's: the cleaned median of its values; or, for one that is worse than the winner in
    /// the same rounds but ran when the machine was faster, the winner's value times the median ratio of the two.
    double value = 0;
    bool beside_winner = false; ///< `value` is by that ratio
    bool winner = false, tied = false, failed = false;
  };
  /// Empty where nobody had to run. @pre next() is none
  std::vector<standing> standings() const;
  finalists::verdict state() const noexcept { return now_.state(); }
  std::optional<std::size_t> winner() const noexcept { return now_.winner(); }
  /// As finalists', of the last turn.
  std::optional<double> speedup() const { return now_.speedup(); }
  /// Runs so far.
  std::uint64_t runs() const noexcept { return runs_; }

private:
  void step();
  bool better(double a, double b) const noexcept { return direction_ == goal::minimize ? a < b : a > b; }

  std::vector<entrant> all_;
  goal direction_;
  std::optional<std::size_t> reference_;
  finalists_options options_;
  std::uint32_t turns_;
  std::vector<std::vector<double>> ran_; ///< of each, the values of its last turn
  std::vector<bool> failed_, was_in_;
  std::uint64_t runs_ = 0;
  finalists now_;
};

} // namespace attune::measure
