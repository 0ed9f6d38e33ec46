#include "actors/event_queue.hpp"

#include <iterator>

namespace attune::actors {

namespace {

/// Steps of trials, of which there may be many.
bool of_a_trials_way(event_kind k) noexcept {
  switch (k) {
  case event_kind::proposed:
  case event_kind::cache_hit:
  case event_kind::joined_flight:
  case event_kind::queued:
  case event_kind::build_started:
  case event_kind::built:
  case event_kind::upload_started:
  case event_kind::uploaded:
  case event_kind::run_started:
  case event_kind::ran:
  case event_kind::recorded:
  case event_kind::told:
  case event_kind::estimated:
    return true;
  default:
    return false;
  }
}

} // namespace

void event_queue::add(event&& e) {
  if (waiting_.size() < event_queue_bound)
    waiting_.push_back(std::move(e));
  else
    ++lost_;
}

event_queue::notice event_queue::tell(bool rare, nanoseconds now) {
  using when = notice::when;
  if (told_ == when::now) return {};
  if (rare || pace_.count() == 0 || now - last_ >= pace_) {
    told_ = when::now;
    last_ = now;
    return {when::now, nanoseconds(0)};
  }
  if (told_ == when::later) return {};
  told_ = when::later;
  return {when::later, last_ + pace_ - now};
}

event_queue::notice event_queue::put(event&& e) {
  const bool rare = !of_a_trials_way(e.kind);
  const auto now = e.at;
  const std::lock_guard guard(lock_);
  add(std::move(e));
  return tell(rare, now);
}

event_queue::notice event_queue::put(std::vector<event>&& all) {
  if (all.empty()) return {};
  bool rare = false;
  for (const auto& e : all) rare = rare || !of_a_trials_way(e.kind);
  const auto now = all.back().at;
  const std::lock_guard guard(lock_);
  for (auto& e : all) add(std::move(e));
  return tell(rare, now);
}

std::uint64_t event_queue::take(std::vector<event>& into) {
  into.clear();
  const std::lock_guard guard(lock_);
  into.swap(waiting_);
  waiting_.reserve(into.size() / 2); // as much as now is likely to come again
  told_ = notice::when::never;
  return std::exchange(lost_, 0);
}

} // namespace attune::actors
