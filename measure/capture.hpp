#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attune::measure {

/// What was kept of one output stream: all of it up to the cap, else its beginning and its end, half the cap each.
struct captured {
  std::string head;
  std::string tail;        ///< empty where nothing was dropped
  std::uint64_t total = 0; ///< bytes that were written

  bool capped() const noexcept { return total > head.size() + tail.size(); }
  /// The head, then the tail on a line of its own.
  std::string text() const;
};

/// Takes a stream piece by piece and never holds more than its cap (and a piece).
class capture {
public:
  explicit capture(std::size_t cap) : cap_(cap) {}
  void add(std::string_view piece);
  /// What was kept; the capture is empty afterwards.
  captured take();

private:
  std::size_t cap_;
  std::string head_, ring_; ///< the ring is of the size of half the cap once something is dropped
  std::size_t ring_at_ = 0; ///< the oldest byte of a full ring
  std::uint64_t total_ = 0;
};

} // namespace attune::measure
