#pragma once

#include "core/clock.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace attune::web {

/// The last texts of a stream, numbered from 1, shared by all who follow it: nothing is kept for one follower, so that
/// one that does not keep up loses its place, and nobody else anything. All functions from any thread.
class feed {
public:
  using text = std::shared_ptr<const std::string>;
  struct next {
    std::vector<text> texts;
    std::uint64_t upto = 0; ///< the number of the last of them
    bool lost = false;      ///< what came after its place is no longer kept
    bool closed = false;
  };

  /// Keeps at most so many texts and bytes, but always the last one.
  feed(std::size_t texts_most, std::size_t bytes_most) : texts_most_(texts_most), bytes_most_(bytes_most) {}

  /// Answers its number.
  std::uint64_t add(std::string what);
  /// What came after `seen`; waits for it for at most `patience` (nothing: what there is now).
  next after(std::uint64_t seen, nanoseconds patience);
  std::uint64_t last() const;
  /// Wakes all who wait; they are told that it has closed.
  void close();

private:
  mutable std::mutex lock_;
  std::condition_variable changed_;
  std::deque<text> kept_;
  std::size_t texts_most_, bytes_most_, bytes_ = 0;
  std::uint64_t last_ = 0;
  bool closed_ = false;
};

} // namespace attune::web
