#include "storage/best_table.hpp"

#include <algorithm>
#include <cmath>

namespace attune::storage {

std::optional<double> eligible(double value) noexcept {
  if (!std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

bool best_table::before(const entry& a, const entry& b) const noexcept {
  if (a.value != b.value) return better(a.value, b.value);
  return a.record < b.record;
}

best_table::best_table(goal direction, std::vector<entry> entries, std::optional<double> floor, bool known)
    : direction_(direction), entries_(std::move(entries)), floor_(floor), known_(known) {
  std::sort(entries_.begin(), entries_.end(), [this](const entry& a, const entry& b) { return before(a, b); });
  if (entries_.size() > capacity) {
    if (!floor_ || better(entries_[capacity].value, *floor_)) floor_ = entries_[capacity].value;
    entries_.resize(capacity);
  }
}

bool best_table::concerns(const key128& key, std::optional<double> value) const noexcept {
  if (!known_) return false;
  if (value && (!floor_ || better(*value, *floor_))) return true;
  for (const auto& e : entries_)
    if (e.key == key) return true;
  return false;
}

void best_table::apply(const key128& key, std::uint64_t record, std::optional<double> value, nanoseconds at,
                       bool late) {
  if (!known_) return;
  const auto standing = std::find_if(entries_.begin(), entries_.end(), [&](const entry& e) { return e.key == key; });
  const bool here = standing != entries_.end();
  if (here) {
    if (at < standing->at) return;
    entries_.erase(standing);
  }
  if (!value) return;
  // Not better than something that is left out already: left out too. The floor stays, and stays true.
  if (floor_ && !better(*value, *floor_)) return;
  if (late && !here) {
    // What is newer of this configuration may have failed, or be among what is left out.
    known_ = false;
    entries_.clear();
    floor_.reset();
    return;
  }
  const entry e{key, record, *value, at};
  entries_.insert(std::upper_bound(entries_.begin(), entries_.end(), e,
                                   [this](const entry& a, const entry& b) { return before(a, b); }),
                  e);
  if (entries_.size() > capacity) {
    floor_ = entries_.back().value;
    entries_.pop_back();
  }
}

best_table best_table::of(goal direction, std::vector<entry>& history) {
  // The newest of each key stands; then the best of these, without sorting them all.
  std::sort(history.begin(), history.end(), [](const entry& a, const entry& b) {
    if (a.key != b.key) return a.key < b.key;
    return a.at != b.at ? a.at > b.at : a.record > b.record;
  });
  history.erase(
      std::unique(history.begin(), history.end(), [](const entry& a, const entry& b) { return a.key == b.key; }),
      history.end());
  std::erase_if(history, [](const entry& e) { return !eligible(e.value); });
  best_table out(direction);
  const auto order = [&out](const entry& a, const entry& b) { return out.before(a, b); };
  const auto kept = std::min(capacity, history.size());
  const auto end = history.begin() + static_cast<std::ptrdiff_t>(kept);
  std::partial_sort(history.begin(), end, history.end(), order);
  out.entries_.assign(history.begin(), end);
  if (kept < history.size()) out.floor_ = std::min_element(end, history.end(), order)->value;
  return out;
}

} // namespace attune::storage
