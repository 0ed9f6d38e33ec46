// net: the wire: frames, connections, what processes of one store say to each other. It decides nothing about tuning,
// and holds up nobody: all waiting is Asio's.
#pragma once

#include "core/error.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace attune::net {

/// A frame is a length (four bytes, big-endian) and so many bytes of body; none is empty.
inline constexpr std::size_t frame_header_bytes = 4;

/// Appends the frame of `body` to `out`. @pre 0 < body.size() < 2^32
void append_frame(std::string& out, std::string_view body);

/// Cuts a stream into frames. Whatever bytes come, in whatever pieces: a frame is given whole or not at all, a length
/// of 0 or above the limit is an error before any memory is taken for it, and never more memory is held than has come
/// of one frame. After an error nothing more is given. Pure. Thread-safety: one owner.
class frame_decoder {
public:
  explicit frame_decoder(std::size_t limit) : limit_(limit) {}

  /// Takes what came; calls `each` with the body of every frame that is whole, valid during the call. `each` answers
  /// false to stop: what is left of `bytes` is dropped then. Errors: network.
  status feed(std::string_view bytes, const std::function<bool(std::string_view body)>& each);

  /// The longest body from now on (a frame that has begun too).
  void set_limit(std::size_t limit) noexcept { limit_ = limit; }
  /// True between two frames.
  bool at_rest() const noexcept { return held_.empty(); }
  /// The bytes of a frame that is not whole yet.
  std::size_t held() const noexcept { return held_.size(); }

private:
  static constexpr std::size_t spare_most = 1u << 20;
  std::size_t limit_;
  std::string held_;
  std::string spare_; ///< the memory of the last frame that came in pieces, for the next
  bool broken_ = false;
};

} // namespace attune::net
