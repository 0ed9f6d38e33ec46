#include "measure/capture.hpp"

#include <algorithm>
#include <utility>

namespace attune::measure {

std::string captured::text() const {
  if (!capped()) return head + tail;
  std::string out;
  out.reserve(head.size() + tail.size() + 1);
  out += head;
  out += '\n';
  out += tail;
  return out;
}

void capture::add(std::string_view piece) {
  total_ += piece.size();
  std::size_t half = cap_ / 2, room = cap_ - half;
  if (head_.size() < room) {
    auto part = piece.substr(0, room - head_.size());
    head_ += part;
    piece.remove_prefix(part.size());
  }
  if (piece.size() >= half) {
    ring_.assign(piece.substr(piece.size() - half));
    ring_at_ = 0;
    return;
  }
  auto part = piece.substr(0, half - ring_.size());
  ring_ += part;
  piece.remove_prefix(part.size());
  while (!piece.empty()) {
    auto span = piece.substr(0, half - ring_at_);
    std::copy(span.begin(), span.end(), ring_.begin() + static_cast<std::ptrdiff_t>(ring_at_));
    ring_at_ = (ring_at_ + span.size()) % half;
    piece.remove_prefix(span.size());
  }
}

captured capture::take() {
  captured out;
  out.total = std::exchange(total_, 0);
  std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(ring_at_), ring_.end());
  out.head = std::exchange(head_, {});
  out.tail = std::exchange(ring_, {});
  ring_at_ = 0;
  if (!out.capped()) {
    out.head += out.tail;
    out.tail.clear();
  }
  return out;
}

} // namespace attune::measure
