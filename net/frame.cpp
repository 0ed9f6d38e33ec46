#include "net/frame.hpp"

#include <algorithm>
#include <cstdint>

namespace attune::net {

namespace {

std::size_t length_of(std::string_view header) {
  std::uint32_t n = 0;
  for (std::size_t i = 0; i < frame_header_bytes; ++i) n = (n << 8) | static_cast<unsigned char>(header[i]);
  return n;
}

} // namespace

void append_frame(std::string& out, std::string_view body) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((body.size() >> shift) & 0xff);
  out += body;
}

status frame_decoder::feed(std::string_view bytes, const std::function<bool(std::string_view body)>& each) {
  const error bad{errc::network, "what came is not a frame, or is too long", {}};
  if (broken_) return bad;
  while (!bytes.empty()) {
    // A frame that came as a whole is given from where it lies.
    if (held_.empty() && bytes.size() >= frame_header_bytes) {
      const auto length = length_of(bytes);
      if (length == 0 || length > limit_) {
        broken_ = true;
        return bad;
      }
      if (bytes.size() - frame_header_bytes >= length) {
        const auto body = bytes.substr(frame_header_bytes, length);
        bytes.remove_prefix(frame_header_bytes + length);
        if (!each(body)) return {};
        continue;
      }
    }
    if (held_.size() < frame_header_bytes) {
      const auto some = std::min(frame_header_bytes - held_.size(), bytes.size());
      held_ += bytes.substr(0, some);
      bytes.remove_prefix(some);
      if (held_.size() < frame_header_bytes) return {};
    }
    const auto length = length_of(held_);
    if (length == 0 || length > limit_) {
      broken_ = true;
      held_ = {};
      return bad;
    }
    const auto some = std::min(frame_header_bytes + length - held_.size(), bytes.size());
    held_ += bytes.substr(0, some);
    bytes.remove_prefix(some);
    if (held_.size() < frame_header_bytes + length) return {};
    std::string whole = std::exchange(held_, std::move(spare_));
    held_.clear();
    const bool more = each(std::string_view(whole).substr(frame_header_bytes));
    if (whole.capacity() <= spare_most) spare_ = std::move(whole);
    if (!more) return {};
  }
  return {};
}

} // namespace attune::net
