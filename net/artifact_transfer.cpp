#include "net/artifact_transfer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace attune::net {

namespace {

error bad(std::string what) { return error{errc::network, std::move(what), {}}; }

std::size_t first_bytes(const digest& d) noexcept {
  std::size_t out = 0;
  std::memcpy(&out, d.bytes.data(), sizeof out);
  return out;
}

bool read(const std::string& text, digest& out) {
  if (text.size() != out.bytes.size()) return false;
  std::memcpy(out.bytes.data(), text.data(), text.size());
  return true;
}

} // namespace

std::size_t artifact_receiver::hash_of::operator()(const digest& d) const noexcept { return first_bytes(d); }
std::size_t artifact_sender::hash_of::operator()(const digest& d) const noexcept { return first_bytes(d); }

artifact_receiver::artifact_receiver(std::shared_ptr<artifact_sink> into,
                                     std::function<void(const wire::v1::ArtifactFetch&)> ask,
                                     const transfer_limits& limits)
    : into_(std::move(into)), ask_(std::move(ask)), limits_(limits) {
  limits_.part_bytes = std::clamp<std::uint32_t>(limits_.part_bytes, 1, transfer_limits::part_most);
}

artifact_receiver::~artifact_receiver() = default;

void artifact_receiver::want(const manifest& m, done then) {
  if (auto good = check(m); !good) return then(good);
  const auto w = std::make_shared<wish>();
  for (const auto& f : m.files) {
    if (const auto at = files_.find(f.contents); at != files_.end()) {
      if (at->second.size != f.size) return then(bad("two sizes are given for the same contents"));
    } else if (into_->has(f.contents)) {
      continue;
    } else {
      files_[f.contents].size = f.size;
      queue_.push_back(f.contents);
    }
    auto& by = files_[f.contents].wanted_by;
    if (std::find(by.begin(), by.end(), w) != by.end()) continue;
    by.push_back(w);
    ++w->missing;
  }
  if (w->missing == 0) return then({});
  w->then = std::move(then);
  pump();
}

void artifact_receiver::pump() {
  while (!queue_.empty() && flying_ < limits_.window_bytes) {
    const auto what = queue_.front();
    auto& f = files_.at(what);
    if (!f.into && !f.lost) {
      auto begun = into_->receive(what, f.size);
      if (!begun || f.size == 0) {
        queue_.pop_front();
        settle(what, begun ? status() : status(begun.err()));
        continue;
      }
      f.into = std::move(*begun);
      f.asked = f.into->offset();
    }
    if (f.lost || f.asked == f.size) {
      queue_.pop_front();
      continue;
    }
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(limits_.part_bytes, f.size - f.asked));
    wire::v1::ArtifactFetch out;
    out.set_sha256(what.view().data(), what.view().size());
    out.set_offset(f.asked);
    out.set_length(length);
    asks_.push_back({what, f.asked, length});
    f.asked += length;
    flying_ += length;
    ask_(out);
  }
  // Who is told may want more.
  for (auto& [w, how] : std::exchange(told_, {}))
    if (w->then) std::exchange(w->then, nullptr)(how);
}

void artifact_receiver::settle(const digest& what, const status& how) {
  const auto at = files_.find(what);
  for (const auto& w : std::exchange(at->second.wanted_by, {})) {
    if (!how && !w->failed) w->failed = how.err();
    if (--w->missing > 0) continue;
    told_.emplace_back(w, w->failed ? status(*w->failed) : status());
  }
  // What is still on its way must find where it belongs.
  at->second.into = nullptr;
  at->second.lost = true;
  if (std::none_of(asks_.begin(), asks_.end(), [&](const asked& a) { return a.what == what; })) {
    std::erase(queue_, what);
    files_.erase(at);
  }
}

status artifact_receiver::take(const wire::v1::ArtifactPart& part) {
  digest what;
  if (!read(part.sha256(), what)) return bad("a hash is not one");
  if (asks_.empty() || asks_.front().what != what || asks_.front().offset != part.offset())
    return bad("a part of a file came that was not asked for");
  const auto ask = asks_.front();
  if (part.gone() ? !part.data().empty() : part.data().size() != ask.length)
    return bad("a part of a file is not as long as it was to be");
  asks_.pop_front();
  flying_ -= ask.length;
  auto& f = files_.at(what);
  if (f.lost) {
    if (std::none_of(asks_.begin(), asks_.end(), [&](const asked& a) { return a.what == what; })) {
      std::erase(queue_, what);
      const auto waiting = std::move(f.wanted_by); // they came while the rest of it was on its way: once more
      const auto size = f.size;
      files_.erase(what);
      if (!waiting.empty()) {
        auto& again = files_[what];
        again.size = size;
        again.wanted_by = waiting;
        queue_.push_back(what);
      }
    }
  } else if (part.gone()) {
    settle(what, error{errc::not_found, "the other side does not have these contents any more", {}});
  } else {
    const auto taken = f.into->append(part.data());
    if (!taken || ask.offset + ask.length == f.size) settle(what, taken);
  }
  pump();
  return {};
}

void artifact_receiver::fail(const error& why) {
  asks_.clear();
  queue_.clear();
  flying_ = 0;
  std::vector<std::shared_ptr<wish>> waiting;
  for (auto& [what, f] : std::exchange(files_, {}))
    for (auto& w : f.wanted_by) waiting.push_back(std::move(w));
  for (const auto& w : waiting)
    if (w->then) std::exchange(w->then, nullptr)(why);
}

void artifact_sender::offer(const manifest& files) {
  for (const auto& f : files.files) {
    auto& o = offered_[f.contents];
    o.size = f.size;
    ++o.times;
  }
}

void artifact_sender::withdraw(const manifest& files) {
  for (const auto& f : files.files)
    if (const auto at = offered_.find(f.contents); at != offered_.end() && --at->second.times == 0) offered_.erase(at);
  open_.reset();
}

status artifact_sender::answer(const wire::v1::ArtifactFetch& ask, wire::v1::ArtifactPart& out) {
  digest what;
  if (!read(ask.sha256(), what)) return bad("a hash is not one");
  const auto at = offered_.find(what);
  if (at == offered_.end()) return bad("contents are asked for that were not offered");
  if (ask.length() == 0 || ask.length() > transfer_limits::part_most || ask.offset() > at->second.size ||
      ask.length() > at->second.size - ask.offset())
    return bad("a part is asked for that is not there, or is too long");
  out.set_sha256(ask.sha256());
  out.set_offset(ask.offset());
  if (!open_ || open_->first != what) {
    auto found = from_->get(what);
    open_.reset();
    if (found && *found) open_.emplace(what, std::move(**found));
  }
  auto& data = *out.mutable_data();
  data.resize(ask.length());
  if (open_ && open_->second.read(ask.offset(), data.data(), data.size())) {
    // The last part: it need not be held any longer.
    if (ask.offset() + ask.length() == at->second.size) open_.reset();
    return {};
  }
  data.clear();
  out.set_gone(true);
  open_.reset();
  return {};
}

} // namespace attune::net
