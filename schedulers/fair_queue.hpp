#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace attune::schedulers {

/// A first-in first-out queue for each client, served round robin: a client with a thousand waiting items delays
/// another's first item by one turn. Thread-safety: one owner. pop() is O(clients), everything else as deque has it.
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
  /// after the one that was served last; none if no front fits.
  template <class Predicate>
  std::optional<T> pop_if(Predicate fits) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const std::size_t at = (next_ + i) % lanes_.size();
      lane& l = lanes_[at];
      if (l.items.empty() || !fits(l.items.front())) continue;
      std::optional<T> out(std::move(l.items.front()));
      l.items.pop_front();
      --size_;
      next_ = (at + 1) % lanes_.size();
      return out;
    }
    return std::nullopt;
  }
  /// Removes every item that `doomed` accepts and hands it over.
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
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i].client != client || !lanes_[i].items.empty()) continue;
      lanes_.erase(lanes_.begin() + static_cast<std::ptrdiff_t>(i));
      if (next_ > i) --next_;
      if (next_ >= lanes_.size()) next_ = 0;
      return;
    }
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
  std::vector<lane> lanes_;
  std::size_t next_ = 0;
  std::size_t size_ = 0;
};

} // namespace attune::schedulers
