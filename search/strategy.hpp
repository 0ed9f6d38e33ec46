#pragma once

#include "search/space.hpp"
#include "search/training.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::search {

/// What a strategy is told about one configuration.
struct observation {
  enum class status : std::uint8_t {
    measured, ///< `cost` is the cleaned value
    censored, ///< stopped early: the true cost is at least `cost`
    failed,   ///< the candidate's own fault: never the best; there is no cost
    dropped,  ///< never measured (cancelled, device lost): nothing was learned; it may be proposed again
  };
  status what = status::failed;
  /// To be minimised, finite: the value, or its negative where the goal is to maximize.
  double cost = 0;
};

/// One result of a similar task (the same parameters, another workload or target), put into this space.
struct prior_record {
  point at;
  observation result;       ///< in the similar task's own costs: only their order and ratios within one source are used
  std::uint32_t source = 0; ///< which similar task it is from
  double similarity = 1;    ///< of that task to this one, in (0, 1]
};

/// What a strategy's model took for the cost of a configuration before it was measured.
struct forecast {
  double cost = 0;    ///< finite, as observation::cost
  bool chosen = true; ///< it was proposed because of this; false: to explore
};

/// What every strategy is made with.
struct strategy_options {
  std::uint64_t seed = 1;
  /// How many trials there will be, where that is known; none: open-ended. For schedules only.
  std::optional<std::uint64_t> budget;
  /// Points to propose first (a default configuration, the best of similar tasks); invalid ones are dropped.
  std::vector<point> first;
  /// What similar tasks have shown. Strategies with a model begin from it and believe it as far as their own results
  /// agree with it; the others do not look at it.
  std::vector<prior_record> prior;
};

/// What to try next: ask and tell, asynchronous by construction. A strategy knows what is pending (asked, not told),
/// never proposes an invalid configuration or one that it proposed before (unless that was `dropped`), and uses the
/// whole budget: ask() gives a configuration as long as there is one left that was never proposed.
///
/// Deterministic: the same options and the same sequence of asks and tells give the same proposals on every machine.
/// Threads: one owner. Cost: stated by each strategy.
///
/// A strategy with a model to train hands the work out: wanted() gives what may be run beside it, and the proposals
/// use it from a fixed number of tells later, whether it took long or not. Where nobody has run it by then, ask() does.
class strategy {
public:
  virtual ~strategy() = default;
  /// The name as the user writes it.
  virtual std::string_view name() const = 0;
  /// The next configuration; none when every valid configuration has been proposed (and none of them dropped).
  virtual std::optional<point> ask() = 0;
  /// How a proposed configuration ended; each is told once. A point that was never asked for is taken as experience
  /// (what the caller measured by itself) and is not proposed later.
  virtual void tell(std::span<const std::uint32_t> p, const observation& o) = 0;

  /// Work that the last tell() has brought up; each is handed out once, null: none.
  virtual std::shared_ptr<training> wanted() { return nullptr; }
  /// What the next ask() runs, or waits for, unless it is done: whoever lets it be run elsewhere asks when it is.
  virtual std::shared_ptr<training> needed() const { return nullptr; }
  /// What was decided since the last time, a line each, for a person: at most the last 32.
  virtual std::vector<std::string> take_notes() { return {}; }
  /// Of what the last ask() gave; none where no model has looked at it.
  virtual std::optional<forecast> last_forecast() const { return std::nullopt; }
};

/// Makes a strategy by name. Errors: invalid_spec with the nearest known name.
result<std::unique_ptr<strategy>> make_strategy(std::string_view name, space_ptr over, strategy_options options);

/// The names that make_strategy knows, with one line each, in the order of the help text.
struct strategy_info {
  std::string name, about;
};
std::span<const strategy_info> strategies();

} // namespace attune::search
