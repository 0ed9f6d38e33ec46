#include "schedulers/noise_controller.hpp"

#include "core/median.hpp"
#include "core/value.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace attune::schedulers {

namespace {

constexpr std::size_t longest = 24, while_disturbed = 8;
constexpr std::size_t at_once = 3, for_level = 6, for_spread = 8;
constexpr std::uint32_t for_new_base = 96;
constexpr double normal_mad = 1.4826;   // one over the MAD of a standard normal
constexpr double median_error = 1.2533; // sqrt(pi / 2): the standard error of the median over that of the mean

double spread(const std::vector<double>& x) {
  const double m = median(x);
  std::vector<double> off;
  off.reserve(x.size());
  for (const double v : x) off.push_back(std::abs(v - m));
  return normal_mad * median(off) / m;
}

std::string percent(double fraction) { return shortest(std::round(fraction * 1000) / 10) + " %"; }

} // namespace

const char* to_string(noise_decision::kind k) noexcept {
  switch (k) {
  case noise_decision::kind::based:
    return "based";
  case noise_decision::kind::raised:
    return "raised";
  case noise_decision::kind::cut:
    return "cut";
  case noise_decision::kind::returned:
    return "returned";
  case noise_decision::kind::disturbed:
    return "disturbed";
  case noise_decision::kind::cleared:
    return "cleared";
  case noise_decision::kind::rebased:
    return "rebased";
  }
  return "based";
}

std::string noise_decision::text() const {
  std::string out = std::to_string(from) + " at once: the reference is " + percent(std::abs(bias)) +
                    (bias < 0 ? " below" : " above") + " its base, spread " + percent(spread) + ": ";
  switch (what) {
  case kind::based:
    return out + (spread > accepted
                      ? "this is the machine as it is, noisier than the " + percent(accepted) + " accepted"
                      : "this is the quiet machine");
  case kind::raised:
    return out + "up to " + std::to_string(to);
  case kind::cut:
    return out + "down to " + std::to_string(to);
  case kind::returned:
    return out + "the interference was our own, back to " + std::to_string(to);
  case kind::disturbed:
    return out + "the machine is disturbed, and not by us";
  case kind::cleared:
    return out + "the machine is quiet again, back to " + std::to_string(to);
  case kind::rebased:
    return out + "the machine stays so, this is its base from now on";
  }
  return out;
}

noise_controller::noise_controller(noise_options options) : options_(options), wait_(options.first_wait) {
  options_.most = std::max<std::uint32_t>(options_.most, 1);
  options_.for_base = std::max<std::uint32_t>(options_.for_base, 3);
}

bool noise_controller::excess(std::size_t last, double errors) const {
  const std::size_t n = std::min(last, window_.size());
  const double off = std::abs(median(std::span(window_).last(n)) / *base_ - 1);
  const double error = median_error * std::max(spread_, base_spread_) / std::sqrt(static_cast<double>(n));
  return off > options_.tolerance + errors * error;
}

noise_controller::judgement noise_controller::judge() {
  const std::size_t n = window_.size(), most = disturbed_ ? while_disturbed : longest;
  if (n < at_once) return judgement::open;
  if (excess(at_once, 3)) {
    bias_ = median(std::span(window_).last(at_once)) / *base_ - 1;
    return judgement::over;
  }
  if (n < for_level) return judgement::open;
  if (n >= for_spread && spread_ > std::max(options_.tolerance, 1.5 * base_spread_)) return judgement::over;
  // What held once is looked at again and again: it needs more to be over.
  const bool again = level_ <= held_ && !cut_from_ && !disturbed_;
  if (excess(n, again ? 3 : 1.5)) return judgement::over;
  if (!excess(n, -1.5)) return judgement::holds;
  if (n < most) return judgement::open;
  return excess(n, 0) && !again ? judgement::over : judgement::holds;
}

noise_decision noise_controller::move(noise_decision::kind what, std::uint32_t to, nanoseconds now) {
  noise_decision out{what, level_, to, bias_, options_.tolerance, spread_, now};
  level_ = to;
  over_in_a_row_ = 0;
  window_.clear();
  return out;
}

std::optional<noise_decision> noise_controller::observe(double value, std::uint32_t active, nanoseconds now) {
  if (!std::isfinite(value) || value <= 0 || active != level_) return std::nullopt;
  window_.push_back(value);
  const std::size_t most = !base_ ? options_.for_base : disturbed_ ? while_disturbed : longest;
  if (window_.size() > most) window_.erase(window_.begin());
  spread_ = spread(window_);
  if (!base_) {
    if (window_.size() < options_.for_base) return std::nullopt;
    base_ = median(window_);
    base_spread_ = spread_;
    return move(noise_decision::kind::based, 1, now);
  }
  bias_ = median(window_) / *base_ - 1;
  over_in_a_row_ = value / *base_ - 1 > options_.tolerance + 2 * base_spread_ ? over_in_a_row_ + 1 : 0;
  if (disturbed_) ++alone_;
  switch (judge()) {
  case judgement::open:
    return std::nullopt;
  case judgement::holds:
    return holds(now);
  case judgement::over:
    return over(now);
  }
  return std::nullopt;
}

std::optional<noise_decision> noise_controller::holds(nanoseconds now) {
  using kind = noise_decision::kind;
  if (disturbed_) {
    disturbed_ = false;
    return move(kind::cleared, held_, now);
  }
  if (cut_from_) {
    const std::uint32_t lowest = *std::exchange(cut_from_, std::nullopt);
    held_ = std::max(held_, level_);
    if (lowest <= held_ && !std::exchange(doubted_, true)) {
      // It had held before: perhaps it was the machine, and is over.
      return move(kind::returned, held_, now);
    }
    // Less of our own has helped.
    doubted_ = false;
    failed_ = lowest;
    if (failed_ <= held_) held_ = level_;
    retry_at_ = now + wait_;
    wait_ = std::min(2 * wait_, options_.longest_wait);
    return move(kind::returned, held_, now);
  }
  if (level_ >= held_) doubted_ = false;
  held_ = std::max(held_, level_);
  if (failed_ != 0 && level_ >= failed_) {
    // What failed holds now.
    failed_ = 0;
    wait_ = options_.first_wait;
  }
  if (level_ >= options_.most) return std::nullopt;
  if (failed_ != 0 && level_ + 1 >= failed_ && now < retry_at_) return std::nullopt;
  return move(kind::raised, level_ + 1, now);
}

std::optional<noise_decision> noise_controller::over(nanoseconds now) {
  using kind = noise_decision::kind;
  if (bias_ < -options_.tolerance) {
    // Nobody's interference makes it faster: the base was none.
    if (window_.size() < while_disturbed) return std::nullopt;
    return rebase(level_, now);
  }
  if (level_ > 1) {
    cut_from_ = level_;
    return move(kind::cut, level_ / 2, now);
  }
  cut_from_.reset();
  if (!disturbed_) {
    disturbed_ = true;
    alone_ = 0;
    return move(kind::disturbed, 1, now);
  }
  if (alone_ < for_new_base || window_.size() < while_disturbed) return std::nullopt;
  held_ = 1;
  return rebase(1, now);
}

void noise_controller::follow(double base) {
  const double by = base / *base_;
  base_ = base;
  bias_ = (1 + bias_) / by - 1;
}

bool noise_controller::climbing(nanoseconds now) const noexcept {
  if (!base_ || disturbed_ || level_ >= options_.most) return false;
  return failed_ == 0 || level_ + 1 < failed_ || now >= retry_at_;
}

noise_decision noise_controller::rebase(std::uint32_t to, nanoseconds now) {
  base_ = median(window_);
  disturbed_ = false;
  cut_from_.reset();
  failed_ = 0;
  wait_ = options_.first_wait;
  return move(noise_decision::kind::rebased, to, now);
}

} // namespace attune::schedulers
