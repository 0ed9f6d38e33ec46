#include "testing/timeline.hpp"

#include <algorithm>

namespace attune::testing {

void timeline::after(nanoseconds d, std::function<void()> what) {
  due_.emplace(std::pair(now_ + std::max(d, nanoseconds(0)), ++asked_), std::move(what));
}

std::optional<nanoseconds> timeline::next() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first.first);
}

bool timeline::step(nanoseconds t) {
  const auto first = due_.begin();
  if (first == due_.end() || first->first.first > t) {
    now_ = std::max(now_, t);
    return false;
  }
  now_ = std::max(now_, first->first.first);
  const auto what = std::move(first->second);
  due_.erase(first);
  what();
  return true;
}

void timeline::clear() {
  // What goes with it may ask for something else.
  while (!due_.empty()) std::exchange(due_, {}).clear();
}

void timeline::advance_to(nanoseconds t) {
  while (step(t)) {
  }
}

} // namespace attune::testing
