#include "schedulers/machine_watch.hpp"

#include "core/median.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace attune::schedulers {

namespace {

constexpr std::size_t for_trend = 12;
constexpr std::size_t unsure_most = 256;
constexpr std::uint32_t base_of_one_rung = 12; // where the base only tells that the machine is disturbed

noise_options options_of(const watch_options& o) {
  noise_options out = o.controller;
  out.most = static_cast<std::uint32_t>(o.ladder.size());
  out.tolerance = o.tolerance;
  if (out.most == 1) out.for_base = base_of_one_rung;
  return out;
}

} // namespace

machine_watch::machine_watch(watch_options options) : options_(std::move(options)), controller_(options_of(options_)) {}

bool machine_watch::due(nanoseconds now) const {
  if (last_.count() < 0) return true;
  if (!controller_.base() && spent_ < options_.first) return true;
  if (holding(now) || controller_.doubtful()) return now - last_ >= took_;
  // Where more at once may be tried, or an end of the disturbance is waited for, the judgement is wanted soon.
  const bool soon = controller_.climbing(now) || controller_.disturbed();
  if (now - last_ < (soon ? options_.period / 4 : options_.period)) return false;
  return static_cast<double>(spent_.count()) <=
         static_cast<double>(options_.first.count()) + options_.share * static_cast<double>((run_ + spent_).count());
}

std::optional<nanoseconds> machine_watch::next_look(nanoseconds now) const {
  if (holding(now)) return std::min(last_ + took_, *disturbed_since_ + options_.patience);
  if (controller_.doubtful()) return last_ + took_;
  return std::nullopt;
}

bool machine_watch::holding(nanoseconds now) const noexcept {
  return disturbed_since_ && now - *disturbed_since_ < options_.patience;
}

bool machine_watch::drifting(double& base) const {
  if (window_.size() < for_trend || !controller_.base() || controller_.disturbed()) return false;
  const auto n = window_.size();
  std::vector<double> slopes, rest, jumps;
  slopes.reserve(n * (n - 1) / 2);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = i + 1; k < n; ++k)
      if (window_[k].at > window_[i].at)
        slopes.push_back((window_[k].value - window_[i].value) / (window_[k].at - window_[i].at));
  if (slopes.empty()) return false;
  const double slope = median(slopes);
  for (const auto& s : window_) rest.push_back(s.value - slope * (s.at - window_.back().at));
  const double end = median(rest);
  for (auto& r : rest) r = std::abs(r - end);
  const double spread = 1.4826 * median(rest) / end;
  const double before = *controller_.base();
  if (spread > std::max(options_.tolerance / 4, 1.5 * controller_.base_spread())) return false;
  for (std::size_t i = 0; i + 6 <= n; i += 3) {
    const double a = median(std::array{window_[i].value, window_[i + 1].value, window_[i + 2].value});
    const double b = median(std::array{window_[i + 3].value, window_[i + 4].value, window_[i + 5].value});
    if (std::abs(b / a - 1) > options_.tolerance / 2) return false;
  }
  const double error = 1.2533 * std::max(spread, controller_.base_spread()) / std::sqrt(static_cast<double>(n));
  base = end;
  return std::abs(end / before - 1) > 2 * error;
}

std::optional<noise_decision> machine_watch::observe(double value, nanoseconds took, std::uint32_t runs_beside,
                                                     std::uint32_t builds_beside, bool all_served, nanoseconds now) {
  last_ = now;
  took_ = took;
  spent_ += took;
  if (!std::isfinite(value) || value <= 0) return std::nullopt;
  const auto& rung = allowed();
  // More than is allowed was going on (the rung was left), or less (though more wanted to): it says nothing of the
  // rung.
  const bool more = runs_beside + 1 > rung.slots || builds_beside > rung.beside;
  const bool less = runs_beside + 1 < rung.slots || builds_beside < rung.beside;
  if (more || (less && !all_served)) return std::nullopt;
  latest_ = value;
  window_.push_back({seconds(now), value});
  if (window_.size() > for_trend) window_.erase(window_.begin());
  // A drift at the quietest rung only: above it a change may be of our own making.
  double base = 0;
  if (controller_.allowed() == 1 && drifting(base)) controller_.follow(base);
  const auto decision = controller_.observe(value, controller_.allowed(), now);
  if (controller_.base() && !first_base_) first_base_ = controller_.base();
  using kind = noise_decision::kind;
  if (!decision) {
    // What ended by now stands beside a reference that is right.
    if (!controller_.disturbed() && !controller_.doubtful()) trust();
    return decision;
  }
  window_.clear();
  switch (decision->what) {
  case kind::disturbed:
    disturbed_since_ = now;
    doubted_.insert(doubted_.end(), unsure_.begin(), unsure_.end());
    unsure_.clear();
    break;
  case kind::cut:
    // By our own runs or by the machine: what was measured under it is in doubt either way.
    doubted_.insert(doubted_.end(), unsure_.begin(), unsure_.end());
    unsure_.clear();
    break;
  case kind::rebased:
    if (*controller_.base() < *first_base_) {
      // The machine was not quiet when its base was taken: all that was measured since is too slow.
      first_base_ = controller_.base();
      doubted_.insert(doubted_.end(), right_.begin(), right_.end());
      right_.clear();
    }
    disturbed_since_.reset();
    repeat_now_ = true;
    break;
  case kind::cleared:
    disturbed_since_.reset();
    repeat_now_ = true;
    break;
  case kind::returned:
    repeat_now_ = true;
    break;
  case kind::based:
  case kind::raised:
    trust();
    break;
  }
  return decision;
}

void machine_watch::trust() {
  right_.insert(right_.end(), unsure_.begin(), unsure_.end());
  unsure_.clear();
  while (right_.size() > unsure_most) right_.pop_front();
}

machine_state machine_watch::now() const {
  machine_state out;
  out.disturbed = controller_.disturbed();
  if (!first_base_) return out;
  if (latest_) out.drift = *latest_ / *first_base_ - 1;
  out.correction = *controller_.base() / *first_base_;
  return out;
}

void machine_watch::ended(std::uint64_t id) {
  auto& list = controller_.disturbed() ? doubted_ : unsure_;
  list.push_back(id);
  if (list.size() > unsure_most) list.pop_front();
}

std::vector<std::uint64_t> machine_watch::take_suspects() {
  if (!repeat_now_) return {};
  repeat_now_ = false;
  std::vector<std::uint64_t> out(doubted_.begin(), doubted_.end());
  doubted_.clear();
  return out;
}

} // namespace attune::schedulers
