#include "web/feed.hpp"

namespace attune::web {

std::uint64_t feed::add(std::string what) {
  const std::lock_guard guard(lock_);
  bytes_ += what.size();
  kept_.push_back(std::make_shared<const std::string>(std::move(what)));
  while (kept_.size() > 1 && (kept_.size() > texts_most_ || bytes_ > bytes_most_)) {
    bytes_ -= kept_.front()->size();
    kept_.pop_front();
  }
  ++last_;
  changed_.notify_all();
  return last_;
}

feed::next feed::after(std::uint64_t seen, nanoseconds patience) {
  std::unique_lock guard(lock_);
  changed_.wait_for(guard, patience, [&] { return closed_ || last_ != seen; });
  next out;
  out.closed = closed_;
  out.upto = last_;
  const std::uint64_t first = last_ - kept_.size() + 1;
  // A place ahead of the last text belongs to an earlier life of the server.
  out.lost = seen > last_ || (seen + 1 < first);
  if (!out.lost) out.texts.assign(kept_.begin() + static_cast<std::ptrdiff_t>(seen + 1 - first), kept_.end());
  return out;
}

std::uint64_t feed::last() const {
  const std::lock_guard guard(lock_);
  return last_;
}

void feed::close() {
  const std::lock_guard guard(lock_);
  closed_ = true;
  changed_.notify_all();
}

} // namespace attune::web
