#include "search/tuning.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace attune::search {

const char* to_string(stop_reason r) noexcept {
  switch (r) {
  case stop_reason::none:
    return "none";
  case stop_reason::trials:
    return "trials";
  case stop_reason::time:
    return "time";
  case stop_reason::exhausted:
    return "exhausted";
  case stop_reason::converged:
    return "converged";
  case stop_reason::interrupted:
    return "interrupted";
  case stop_reason::no_valid:
    return "no_valid";
  case stop_reason::error:
    return "error";
  }
  return "none";
}

std::uint64_t tuning_counts::failures() const noexcept {
  return std::accumulate(failed.begin(), failed.end(), std::uint64_t{0});
}

namespace {

void add_busy(std::vector<std::pair<std::string, nanoseconds>>& devices, const std::string& name, nanoseconds d) {
  const auto at = std::lower_bound(devices.begin(), devices.end(), name,
                                   [](const auto& device, const std::string& wanted) { return device.first < wanted; });
  if (at != devices.end() && at->first == name)
    at->second += d;
  else
    devices.insert(at, {name, d});
}

} // namespace

void tuning_times::add(const tuning_times& other) {
  build += other.build;
  run += other.run;
  queue += other.queue;
  clean += other.clean;
  store += other.store;
  search += other.search;
  trials += other.trials;
  for (const auto& [name, d] : other.devices) add_busy(devices, name, d);
}

tuning::tuning(task_ptr of, space_ptr over, std::unique_ptr<strategy> how, tuning_limits limits, std::uint64_t session)
    : task_(std::move(of)), space_(std::move(over)), strategy_(std::move(how)), limits_(limits), session_(session) {
  const auto& all = task_->spec.parameters;
  if (limits.always_default ||
      std::any_of(all.begin(), all.end(), [](const parameter& p) { return p.standard.has_value(); }))
    default_ = space_->to_configuration(space_->standard());
}

void tuning::begin(nanoseconds now) {
  for (std::size_t i = 0; i < flights_.size(); ++i)
    if (flights_[i].open) again_.push_back(first_flight_ + i);
  strategy_->take_notes();
  if (limits_.time) ends_at_ = now + std::max(*limits_.time - limits_.kept_for_finals - limits_.spent, nanoseconds(0));
  if (limits_.trials && counts_.proposed >= *limits_.trials) stop(stop_reason::trials);
  tick(now);
}

bool tuning::ask(trial_number& number) {
  auto p = strategy_->ask();
  if (!p) return false;
  number = asked_++;
  if (flights_.empty()) first_flight_ = number;
  flights_.push_back({std::move(*p), true, strategy_->last_forecast()});
  ++flying_;
  return true;
}

std::optional<foreseen> tuning::foreseen_of(trial_number number) const {
  if (number < first_flight_ || number - first_flight_ >= flights_.size()) return std::nullopt;
  const auto& f = flights_[number - first_flight_];
  if (!f.open || !f.expected) return std::nullopt;
  const double sign = task_->metric().direction == goal::minimize ? 1 : -1;
  return foreseen{sign * f.expected->cost, f.expected->chosen};
}

tuning::flight* tuning::flight_of(trial_number number) {
  if (number < first_flight_ || number - first_flight_ >= flights_.size()) return nullptr;
  flight& f = flights_[number - first_flight_];
  return f.open ? &f : nullptr;
}

point tuning::land(trial_number number) {
  flight& f = *flight_of(number);
  f.open = false;
  --flying_;
  point where = std::move(f.at);
  for (; !flights_.empty() && !flights_.front().open; ++first_flight_) flights_.pop_front();
  return where;
}

trial_ptr tuning::issue(trial_number number, nanoseconds now) {
  const flight& f = *flight_of(number);
  auto out = std::make_shared<trial>();
  out->number = number;
  out->session = session_;
  out->of = task_;
  out->config = space_->to_configuration(f.at);
  out->canonical = out->config.canonical();
  out->key = measurement_key(task_->identity, out->canonical);
  out->proposed = now;
  if (!contenders_.empty()) {
    const auto& m = *contenders_.front().result->measured();
    const double half = std::abs(m.value) * m.spread;
    const double end = task_->metric().direction == goal::minimize ? m.value + half : m.value - half;
    if (std::isfinite(end)) out->rival = end;
    out->noise = noise();
  }
  return out;
}

std::shared_ptr<training> tuning::begin_training() {
  if (lent_) return nullptr;
  lent_ = strategy_->wanted();
  return lent_;
}

bool tuning::has_room() const {
  const std::size_t issued = flying_ - again_.size();
  if (stopping() || issued >= window_) return false;
  if (allowed_ && counts_.proposed + issued >= *allowed_) return false;
  return !limits_.trials || counts_.proposed + issued < *limits_.trials;
}

bool tuning::held() const { return lent_ && has_room() && again_.empty() && strategy_->needed() == lent_; }

trial_ptr tuning::propose(nanoseconds now) {
  tick(now);
  if (!has_room() || held()) return nullptr;
  if (!again_.empty()) {
    const auto number = again_.front();
    again_.pop_front();
    return issue(number, now);
  }
  trial_number number = 0;
  if (ask(number)) {
    return issue(number, now);
  }
  if (flying_ == 0) stop(stop_reason::exhausted);
  return nullptr;
}

observation tuning::observe(const outcome& o) const {
  const bool maximize = task_->metric().direction == goal::maximize;
  if (const auto* m = o.measured()) return {observation::status::measured, maximize ? -m->value : m->value};
  if (const auto* b = o.bounded()) return {observation::status::censored, maximize ? -b->value : b->value};
  return {observation::status::failed, 0};
}

observation tuning::observe(const estimate& guess) const {
  const bool maximize = task_->metric().direction == goal::maximize;
  return {observation::status::censored, maximize ? -guess.value : guess.value};
}

void tuning::known_near(const configuration& config, const key128& key, const outcome& result) {
  if (!near_ || !conclusive(result)) return;
  const auto p = space_->to_point(config);
  if (!p) return;
  if (const auto* m = result.measured())
    near_->measured(*p, key, m->value);
  else
    near_->unmeasured(*p);
}

std::optional<estimate> tuning::estimate_of(trial_number number) {
  const flight* f = flight_of(number);
  if (!near_ || f == nullptr || contenders_.empty()) return std::nullopt;
  return near_->estimate_of(f->at, contenders_.front().result->measured()->value);
}

std::optional<told_step> tuning::tell_estimate(const trial& which, const estimate& guess, nanoseconds now) {
  if (flight_of(which.number) == nullptr || which.session != session_) return std::nullopt;
  const told_step step{which.number, asked_};
  strategy_->tell(land(which.number), observe(guess));
  side_by_side_.clear();
  ++counts_.proposed;
  ++counts_.estimated;
  if (limits_.trials && counts_.proposed >= *limits_.trials) stop(stop_reason::trials);
  tick(now);
  return step;
}

void tuning::replay_estimate(const told_step& step, const configuration& config, const estimate& guess) {
  tell_at(step, config, observe(guess));
  side_by_side_.clear();
  ++counts_.proposed;
  ++counts_.estimated;
}

void tuning::take(const configuration& config, const key128& key, trial_number number, const outcome_ptr& result,
                  bool memory) {
  side_by_side_.clear();
  known_near(config, key, *result);
  ++counts_.proposed;
  if (memory) ++counts_.cached;
  if (const auto* f = result->failed()) {
    ++counts_.failed[static_cast<std::size_t>(f->kind)];
    if (!first_failure_) first_failure_ = *f;
    if (!memory) faults_ = is_infrastructure(f->kind) ? faults_ + 1 : 0;
    return;
  }
  faults_ = 0;
  if (!memory) ++counts_.measured;
  if (result->bounded() != nullptr) {
    if (!memory) ++counts_.bounded;
    return;
  }
  learn_noise(*result->measured());
  if (default_ && !standard_ && config == *default_) standard_ = {config, result, key, number};
  contend({config, result, key, number});
}

/// The standard deviation by the median of the distances between samples that follow each other, which neither a cold
/// start nor an outlier moves much: 0.6745 · sqrt(2) standard deviations where they are normal.
void tuning::learn_noise(const measurement& m) {
  if (!(task_->spec.run.repeats.until > 0) || m.samples.size() < 3 || !(std::abs(m.value) > 0)) return;
  std::vector<double> steps;
  steps.reserve(m.samples.size() - 1);
  for (std::size_t i = 1; i < m.samples.size(); ++i) steps.push_back(std::abs(m.samples[i] - m.samples[i - 1]));
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  const double deviation = *middle / (0.6745 * std::numbers::sqrt2 * std::abs(m.value));
  if (!std::isfinite(deviation)) return;
  deviations_.push_back(deviation);
  if (deviations_.size() > 32) deviations_.pop_front();
}

/// By the upper quartile of the last ones, from eight on: some configurations are noisier than others.
std::optional<double> tuning::noise() const {
  if (deviations_.size() < 8) return std::nullopt;
  std::vector<double> sorted(deviations_.begin(), deviations_.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() * 3 / 4];
}

/// Into its place among the best, where it is one of them.
void tuning::contend(best_so_far one) {
  const double value = one.result->measured()->value;
  // What cannot be ordered can never be the best, whoever let it in.
  if (!std::isfinite(value)) return;
  const auto worse = [&](const best_so_far& other) { return task_->better(value, other.result->measured()->value); };
  if (contenders_.size() >= contender_bound) {
    if (!worse(contenders_.back())) return;
    contenders_.pop_back();
  }
  contenders_.insert(std::find_if(contenders_.begin(), contenders_.end(), worse), std::move(one));
}

told_step tuning::amend(trial_number number, const configuration& config, const key128& key, const outcome_ptr& result,
                        const amendment& why) {
  known_near(config, key, *result);
  std::erase_if(contenders_, [&key](const best_so_far& c) { return c.key == key; });
  if (standard_ && standard_->key == key) {
    standard_.reset();
    if (result->ok()) standard_ = {config, result, key, number};
  }
  if (result->ok()) contend({config, result, key, number});
  if (why.why == amendment::cause::side_by_side) {
    std::erase_if(side_by_side_, [&key](const settled& s) { return s.which.key == key; });
    side_by_side_.push_back({{config, result, key, number}, why});
  }
  if (const auto p = space_->to_point(config); p && space_->contains(*p)) strategy_->tell(*p, observe(*result));
  return {number, asked_};
}

void tuning::replay_amendment(const told_step& step, const configuration& config, const key128& key,
                              const outcome_ptr& result, const amendment& why) {
  trial_number number = 0;
  while (asked_ < step.asked_before)
    if (!ask(number)) break;
  amend(step.number, config, key, result, why);
}

trial_ptr tuning::again(const best_so_far& which, purpose why, nanoseconds now) const {
  auto out = std::make_shared<trial>();
  out->number = which.number;
  out->session = session_;
  out->of = task_;
  out->config = which.config;
  out->canonical = out->config.canonical();
  out->key = which.key;
  out->proposed = now;
  out->why = why;
  return out;
}

void tuning::tell_at(const told_step& step, const configuration& config, const observation& how) {
  trial_number number = 0;
  while (asked_ < step.asked_before || asked_ <= step.number)
    if (!ask(number)) break;
  const auto* at = flight_of(step.number);
  if (at != nullptr && space_->to_configuration(at->at) == config) {
    strategy_->tell(land(step.number), how);
  } else {
    if (at != nullptr) strategy_->tell(land(step.number), {observation::status::dropped, 0});
    if (const auto p = space_->to_point(config); p && space_->contains(*p)) strategy_->tell(*p, how);
  }
}

void tuning::replay(const told_step& step, const configuration& config, const key128& key, const outcome_ptr& result) {
  if (const auto* f = result->failed(); f != nullptr && f->kind == failure_kind::internal) {
    // The machine could not run it: it was never measured, and is as one that was in flight when the process ended.
    trial_number number = 0;
    while (asked_ < step.asked_before || asked_ <= step.number)
      if (!ask(number)) break;
    return;
  }
  tell_at(step, config, observe(*result));
  take(config, key, step.number, result, true);
  faults_ = 0;
}

void tuning::account(const trial& which, const outcome& result, nanoseconds told, std::optional<nanoseconds> arrived) {
  const auto& p = result.phases;
  times_.build += p.build;
  times_.run += p.run;
  times_.queue += p.queue;
  times_.clean += p.clean;
  if (p.run > nanoseconds(0)) add_busy(times_.devices, result.runner, p.run);
  if (!arrived) return;
  times_.store += std::max(nanoseconds(0), *arrived - (which.proposed + p.sum()));
  times_.search += told - *arrived;
  times_.trials += told - which.proposed;
}

std::optional<told_step> tuning::tell(const trial& which, const outcome_ptr& result, bool from_cache, nanoseconds now,
                                      std::optional<nanoseconds> arrived) {
  if (flight_of(which.number) == nullptr || which.session != session_) return std::nullopt;
  const point where = land(which.number);
  if (was_cancelled(*result)) {
    strategy_->tell(where, {observation::status::dropped, 0});
    return std::nullopt;
  }
  const told_step step{which.number, asked_};
  strategy_->tell(where, observe(*result));
  take(which.config, which.key, which.number, result, from_cache);
  if (!from_cache) account(which, *result, now, arrived);
  if (limits_.trials && counts_.proposed >= *limits_.trials) stop(stop_reason::trials);
  if (faults_ >= limits_.faults_in_a_row) stop(stop_reason::error);
  tick(now);
  return step;
}

void tuning::stop(stop_reason why) {
  if (why_ != stop_reason::none) return;
  why_ = why;
  // What was asked in the past and not issued again is in nobody's hands.
  for (const auto number : again_) land(number);
  again_.clear();
}

void tuning::tick(nanoseconds now) {
  if (ends_at_ && now >= *ends_at_) stop(stop_reason::time);
}

std::optional<nanoseconds> tuning::deadline() const { return stopping() ? std::nullopt : ends_at_; }

stop_reason tuning::reason() const noexcept {
  const bool ordinary = why_ == stop_reason::trials || why_ == stop_reason::exhausted || why_ == stop_reason::time ||
                        why_ == stop_reason::converged;
  return ordinary && contenders_.empty() ? stop_reason::no_valid : why_;
}

} // namespace attune::search
