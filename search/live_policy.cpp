#include "search/live_policy.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attune::search {

namespace {

constexpr double win_errors = 3.5, bound_errors = 2.0, lose_errors = 2.5;
constexpr double prior_samples = 16; // of the incumbent's variance
constexpr double outlier = 8;        // times the level
constexpr double level_window = 64, control_window = 64, block_window = 50;
constexpr std::uint64_t warm = 24; // of the incumbent's latencies before anything is compared
constexpr std::uint32_t block = 4, blocks_enough = 12;
constexpr double slack = 1.0, alarm = 16, most_step = 6; // of the CUSUM, in standard deviations
constexpr double least_block_deviation = 0.05;           // of a block's mean, a fraction
constexpr std::uint64_t calm_controls = 8;               // one in so many turns, where there is nothing else to try
constexpr double saved_requests = 2000;                  // whose allowance may be saved up
constexpr auto lost_after = std::chrono::seconds(60);
constexpr std::size_t most_again = 16;

} // namespace

/// Welford's update; with more than `most` samples the old ones are forgotten exponentially.
void live_policy::running::add(double x, double most) noexcept {
  if (n >= most) {
    m2 *= (most - 1) / n;
    n = most - 1;
  }
  n += 1;
  const double d = x - mean;
  mean += d / n;
  m2 += d * (x - mean);
}

live_policy::live_policy(const live_limits& limits)
    : limits_(limits),
      spacing_(static_cast<std::uint32_t>(std::ceil(1 / std::clamp(limits.explore, 1e-6, 1.0) - 1e-9))) {}

live_policy::arm live_policy::add(std::optional<double> ratio) {
  const auto which = static_cast<arm>(arms_.size());
  arms_.push_back({ratio, false});
  waiting_.push_back(which);
  return which;
}

bool live_policy::again(arm which) {
  if (which == incumbent_ || which == candidate_ ||
      std::find(waiting_.begin(), waiting_.end(), which) != waiting_.end())
    return false;
  waiting_.push_back(which);
  return true;
}

void live_policy::start_with(arm which, double ratio) {
  std::erase(waiting_, which);
  arms_[which].ratio = ratio;
  reign(which);
  known_ratio_ = ratio;
}

double live_policy::default_level() const noexcept {
  if (incumbent_ == 0) return level_.mean;
  const double before = level_.mean / known_ratio_ - level_.mean;
  return level_.mean + (prior_samples * before + control_.n * control_.mean) / (prior_samples + control_.n);
}

double live_policy::error_of(const running& d) const noexcept {
  if (d.n == 0) return 0;
  const double pooled = (d.m2 + prior_samples * level_.variance()) / (d.n + prior_samples);
  return std::sqrt(pooled / d.n);
}

std::optional<double> live_policy::lower_bound() const noexcept {
  if (!candidate_ || duel_.n == 0) return std::nullopt;
  return level_.mean + duel_.mean - bound_errors * error_of(duel_);
}

bool live_policy::idle() const noexcept { return !candidate_ && waiting_.empty() && seen_ >= warm; }

std::optional<live_policy::probe> live_policy::next(nanoseconds now) {
  if (out_.count > 0 && now - given_ < lost_after) return std::nullopt;
  out_ = {};
  if (seen_ < warm || account_ <= 0) return std::nullopt;
  if (!candidate_ && !waiting_.empty()) {
    candidate_ = waiting_.front();
    waiting_.pop_front();
    duel_ = {};
  }
  ++turns_;
  const bool to_be_checked = incumbent_ != 0 && control_.n < limits_.enough;
  const bool control_due =
      incumbent_ != 0 && (candidate_ ? turns_ % 4 == 0 || (to_be_checked && turns_ % 2 == 0)
                                     : to_be_checked || served_ - last_control_ >= calm_controls * spacing_);
  if (control_due) {
    last_control_ = served_;
    out_ = {0, 1};
  } else if (candidate_) {
    // One at first, a few once it is known not to be dreadful.
    out_ = {*candidate_, duel_.n == 0 ? 1u : duel_.n < 8 ? 2u : 4u};
  } else {
    return std::nullopt;
  }
  given_ = now;
  return out_;
}

void live_policy::record(arm which, double latency, nanoseconds) {
  if (!std::isfinite(latency) || latency <= 0 || which >= arms_.size()) return;
  ++served_;
  const bool known = level_.n >= 8;
  account_ =
      std::min(account_ + limits_.regret * latency, limits_.regret * saved_requests * (known ? level_.mean : latency));
  const double counted = known ? std::min(latency, outlier * level_.mean) : latency;
  if (out_.count > 0 && which == out_.which && which != incumbent_) --out_.count;
  if (which == incumbent_) {
    ++seen_;
    level_.add(counted, level_window);
    watch(counted);
    give_up_beyond_bound();
    return;
  }
  account_ -= std::max(0.0, latency - default_level());
  if (which == candidate_) {
    duel_.add(counted - level_.mean);
    judge_candidate();
  } else if (which == 0) {
    control_.add(counted - level_.mean, control_window);
    judge_control();
    give_up_beyond_bound();
  }
}

double live_policy::candidate_ratio() const noexcept {
  const double standard = default_level();
  return standard > 0 ? (level_.mean + duel_.mean) / standard : 1;
}

void live_policy::give_up_beyond_bound() {
  const auto lower = lower_bound();
  if (lower && *lower > (1 + limits_.worse) * default_level())
    decide(*candidate_, verdict_kind::too_slow, candidate_ratio());
}

void live_policy::judge_candidate() {
  give_up_beyond_bound();
  if (!candidate_) return;
  const double error = error_of(duel_), level = level_.mean, ratio = candidate_ratio();
  const bool enough = duel_.n >= limits_.enough;
  if (enough && duel_.mean + win_errors * error < -limits_.gain * level)
    return decide(*candidate_, verdict_kind::won, ratio);
  if (enough && duel_.mean - lose_errors * error > -limits_.gain * level)
    return decide(*candidate_, verdict_kind::not_better, ratio);
  if (duel_.n >= limits_.most) decide(*candidate_, verdict_kind::undecided, ratio);
}

void live_policy::judge_control() {
  if (control_.n < 12) return;
  if (control_.mean + bound_errors * error_of(control_) >= 0) return;
  const double standard = level_.mean + control_.mean;
  verdicts_.push_back({incumbent_, verdict_kind::fell, standard > 0 ? level_.mean / standard : 1});
  arms_[incumbent_].ratio = verdicts_.back().ratio;
  reign(0);
}

void live_policy::decide(arm which, verdict_kind what, double ratio) {
  verdicts_.push_back({which, what, ratio});
  arms_[which].ratio = ratio;
  candidate_.reset();
  recall();
  if (what == verdict_kind::won) {
    reign(which);
    known_ratio_ = ratio;
  }
}

/// What was given and not used is void.
void live_policy::recall() {
  out_ = {};
  ++generation_;
}

/// Another arm serves from now on; what is known is of the last one.
void live_policy::reign(arm which) {
  if (candidate_) waiting_.push_front(*candidate_);
  candidate_.reset();
  incumbent_ = which;
  recall();
  level_ = blocks_ = control_ = duel_ = {};
  seen_ = 0;
  last_control_ = served_;
  block_sum_ = up_ = down_ = 0;
  block_n_ = 0;
}

void live_policy::fail(arm which) {
  if (which == 0 || which >= arms_.size() || arms_[which].failed) return;
  arms_[which].failed = true;
  std::erase(waiting_, which);
  verdicts_.push_back({which, verdict_kind::failed, arms_[which].ratio.value_or(1)});
  if (candidate_ == which) {
    candidate_.reset();
    recall();
  } else if (incumbent_ == which) {
    reign(0);
  }
}

void live_policy::watch(double latency) {
  block_sum_ += latency;
  if (++block_n_ < block) return;
  const double mean = std::exchange(block_sum_, 0) / block;
  block_n_ = 0;
  if (blocks_.n >= blocks_enough) {
    const double deviation = std::max(std::sqrt(blocks_.variance()), least_block_deviation * blocks_.mean);
    const double step = std::clamp((mean - blocks_.mean) / deviation, -most_step, most_step);
    up_ = std::max(0.0, up_ + step - slack);
    down_ = std::max(0.0, down_ - step - slack);
    if (up_ > alarm || down_ > alarm) return change(up_ > alarm);
  }
  blocks_.add(mean, block_window);
}

void live_policy::change(bool slower) {
  ++changes_;
  const arm last = incumbent_;
  for (auto& a : arms_) a.failed = false;
  // Judged anew: the last incumbent first, then what came nearest to it.
  std::vector<arm> again;
  for (arm a = 1; a < arms_.size(); ++a)
    if (a != last && arms_[a].ratio && a != candidate_ &&
        std::find(waiting_.begin(), waiting_.end(), a) == waiting_.end())
      again.push_back(a);
  std::stable_sort(again.begin(), again.end(), [&](arm a, arm b) { return *arms_[a].ratio < *arms_[b].ratio; });
  if (again.size() > most_again) again.resize(most_again);
  reign(slower ? 0 : last);
  if (!slower && last != 0) known_ratio_ = arms_[last].ratio.value_or(1);
  waiting_.insert(waiting_.begin(), again.begin(), again.end());
  if (slower && last != 0) waiting_.push_front(last);
}

std::vector<live_policy::verdict> live_policy::take_verdicts() { return std::exchange(verdicts_, {}); }

} // namespace attune::search
