#pragma once

#include "core/clock.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace attune::search {

/// What a service grants to the search for something better.
struct live_limits {
  double explore = 0.05; ///< of the requests: no more than this leave the incumbent
  double worse = 0.2;    ///< none goes to what is surely slower than the default by more than this fraction
  double regret = 0.02;  ///< of the time served: no more than this is lost on requests that left the incumbent
  double gain = 0.02;    ///< what is not faster by this fraction does not take the incumbent's place
  std::uint32_t enough = 16, most = 400; ///< samples of a candidate before it may win; with so many it is undecided
};

/// Which configuration each request of a running service gets: a bandit with a guard. Arm 0 is the default
/// configuration; one arm, the incumbent, serves all requests but the probes.
///
/// Candidates meet the incumbent one after the other. Each sample of a candidate is compared with the incumbent's level
/// at that time (an exponentially weighted mean), so that what the workload does to both cancels out. A candidate wins
/// when it is surely faster (3.5 standard errors), and is given up as soon as it surely is not (2.5), or its lower
/// confidence bound (2 standard errors) is beyond what the guard allows. Errors of small samples: the variance of the
/// incumbent counts as 16 samples of the candidate's own. Single latencies count as at most eight times the level.
///
/// While another arm than the default is incumbent, some probes go to the default: when that turns out to be faster,
/// the incumbent falls. A two-sided CUSUM (Page, Continuous Inspection Schemes, 1954) over means of four of the
/// incumbent's latencies watches for changes: where it gets slower the default serves at once, and either way what was
/// judged before is judged anew, the last incumbent first.
///
/// The bounds: the caller sends at most one request in spacing() to a probe, so the share of requests that leave the
/// incumbent is never over `explore`. Probes are given only while the time lost on them (what they took beyond the
/// default's level) is below `regret` of the time served: it is over that by one probe's loss at most.
///
/// Pure: time is passed in; the same calls give the same answers. Threads: one owner. Memory: some 100 bytes an arm.
class live_policy {
public:
  using arm = std::uint32_t;

  explicit live_policy(const live_limits& limits);

  /// A further arm. `ratio`: what is known of its latency, over the default's; such arms are tried first.
  arm add(std::optional<double> ratio = {});
  /// An arm that was judged is tried once more. False: it serves, or its turn is still to come.
  bool again(arm which);
  /// Serves with this arm from now on, because it is known to be `ratio` times as slow as the default (below 1); the
  /// default is measured beside it as soon as that is allowed. @pre arms were added, nothing was recorded
  void start_with(arm which, double ratio);

  arm incumbent() const noexcept { return incumbent_; }
  /// Of so many requests that follow each other (of one thread, say) at most one may be a probe.
  std::uint32_t spacing() const noexcept { return spacing_; }

  /// Requests that may go elsewhere.
  struct probe {
    arm which = 0;
    std::uint32_t count = 0;
  };
  /// The next probes; none while those given before are out, while nothing is to be learned, or while it would cost too
  /// much. A probe that is not answered within a minute is not waited for.
  std::optional<probe> next(nanoseconds now);
  /// Changes when the probes that were given and not used yet are void.
  std::uint64_t generation() const noexcept { return generation_; }

  /// A request was served by `which` in so many seconds. What is not positive and finite is left out.
  void record(arm which, double latency, nanoseconds now);
  /// A request failed because of `which`: that arm is not used again until the workload changes. Failures of the
  /// default say nothing.
  void fail(arm which);

  /// What became of an arm.
  enum class verdict_kind : std::uint8_t { won, not_better, too_slow, undecided, failed, fell };
  struct verdict {
    arm which = 0;
    verdict_kind what = verdict_kind::undecided;
    double ratio = 1; ///< its latency over the default's, as far as it is known
  };
  /// Since the last call, in order.
  std::vector<verdict> take_verdicts();
  /// How often the workload has changed.
  std::uint64_t changes() const noexcept { return changes_; }

  /// True where a new arm would be tried at once.
  bool idle() const noexcept;
  /// The incumbent's and the default's level in seconds; 0: not known yet.
  double level() const noexcept { return level_.mean; }
  double default_level() const noexcept;
  /// The lower confidence bound of the arm under trial; none where none is, or it has no sample.
  std::optional<double> lower_bound() const noexcept;
  /// So many of the incumbent's latencies have been seen since it began or the workload changed.
  std::uint64_t seen() const noexcept { return seen_; }

private:
  struct running {
    double n = 0, mean = 0, m2 = 0;
    void add(double x, double most = 1e300) noexcept;
    double variance() const noexcept { return n > 1 ? m2 / n : 0; }
  };
  struct history {
    std::optional<double> ratio;
    bool failed = false;
  };

  double error_of(const running& d) const noexcept;
  double candidate_ratio() const noexcept;
  void give_up_beyond_bound();
  void recall();
  void judge_candidate();
  void judge_control();
  void decide(arm which, verdict_kind what, double ratio);
  void reign(arm which);
  void change(bool slower);
  void watch(double latency);

  live_limits limits_;
  std::uint32_t spacing_;
  std::vector<history> arms_{history{}};
  std::deque<arm> waiting_;
  arm incumbent_ = 0;
  std::optional<arm> candidate_;
  running level_;          ///< of the incumbent
  running duel_;           ///< the candidate's latencies less the incumbent's level
  running control_;        ///< the default's, the same way
  double known_ratio_ = 1; ///< incumbent over default, when it became incumbent
  std::uint64_t seen_ = 0, served_ = 0, last_control_ = 0, turns_ = 0;
  double account_ = 0; ///< seconds that may be lost
  probe out_{};
  nanoseconds given_{0};
  running blocks_;
  double block_sum_ = 0, up_ = 0, down_ = 0;
  std::uint32_t block_n_ = 0;
  std::uint64_t changes_ = 0, generation_ = 0;
  std::vector<verdict> verdicts_;
};

} // namespace attune::search
