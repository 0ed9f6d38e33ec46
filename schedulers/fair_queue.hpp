#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace attune::schedulers {

/// A first-in first-out queue for each client, served round robin: a client with a thousand waiting items delays
/// another's first item by one turn. A client that is passed over, because its first item does not fit or it has none,
/// keeps its turn: it is the next one looked at. Thread-safety: one owner. push and pop_if are O(clients), remove_if is
/// O(size).
template <class T>
class fair_queue {
public:
  /// Adds at the end of the client's queue.
  void push(std::uint64_t client, T item) {
    lane_of(client).items.push_back(std::move(item));
    ++size_;
  }
  /// Adds at the front of the client's queue: what was taken and must be done again goes first.
  void push_front(std::uint64_t client, T item) {
    lane_of(client).items.push_front(std::move(item));
    ++size_;
  }
  /// Takes the first item that `fits`, looking at the front of each client's queue in turn, beginning with the client
  /// that has not been served for the longest time (a new one comes last); none if no front fits. `fits` is called at
  /// most once for each client, and no more after it has said yes.
  template <class Predicate>
  std::optional<T> pop_if(Predicate fits) {
    for (auto at = lanes_.begin(); at != lanes_.end(); ++at) {
      if (at->items.empty() || !fits(at->items.front())) continue;
      std::optional<T> out(std::move(at->items.front()));
      at->items.pop_front();
      --size_;
      std::rotate(at, at + 1, lanes_.end());
      return out;
    }
    return std::nullopt;
  }
  /// Removes every item that `doomed` accepts and hands it over. Turns stay as they are.
  void remove_if(const std::function<bool(const T&)>& doomed, const std::function<void(T)>& removed) {
    for (auto& l : lanes_) {
      std::deque<T> kept;
      for (auto& item : l.items) {
        if (doomed(item)) {
          --size_;
          removed(std::move(item));
        } else {
          kept.push_back(std::move(item));
        }
      }
      l.items.swap(kept);
    }
  }
  /// Forgets a client that has nothing queued; with items queued it stays.
  void forget(std::uint64_t client) {
    std::erase_if(lanes_, [client](const lane& l) { return l.client == client && l.items.empty(); });
  }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

private:
  struct lane {
    std::uint64_t client = 0;
    std::deque<T> items;
  };
  lane& lane_of(std::uint64_t client) {
    for (auto& l : lanes_)
      if (l.client == client) return l;
    lanes_.push_back(lane{client, {}});
    return lanes_.back();
  }
  std::vector<lane> lanes_; ///< whose turn it is, first
  std::size_t size_ = 0;
};

} // namespace attune::schedulers
