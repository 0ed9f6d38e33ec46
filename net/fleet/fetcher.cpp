#include "net/fleet/fetcher.hpp"

#include "net/fleet/fleet_messages.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace attune::net::fleet {

void fetcher::want(const std::vector<file_entry>& files, std::function<void(status)> done) {
  auto w = std::make_shared<wish>();
  for (const auto& e : files) {
    if (e.folder || !e.link.empty() || into_->has(e.sha256)) continue;
    if (e.size == 0) {
      // Nothing has to come for it.
      if (auto made = into_->write(e.sha256, 0, {}, 0); !made) return done(made);
      continue;
    }
    auto [at, added] = files_.try_emplace(e.sha256, file{e.sha256, e.size, {}});
    if (added) queue_.push_back(e.sha256);
    auto& waiting = at->second.for_;
    if (std::find(waiting.begin(), waiting.end(), w) != waiting.end()) continue;
    waiting.push_back(w);
    ++w->missing;
  }
  if (w->missing == 0) return done({});
  w->done = std::move(done);
  if (flying_ == 0) begin();
}

void fetcher::begin() {
  if (queue_.empty()) return;
  asked_ = came_ = into_->offset(queue_.front());
  // A part that is as long as the whole, or longer, was never checked: from the beginning.
  if (came_ >= files_.at(queue_.front()).size) asked_ = came_ = 0;
  ask_more();
}

void fetcher::ask_more() {
  const auto& f = files_.at(queue_.front());
  while (flying_ < ahead && asked_ < f.size) {
    wire::v1::Fetch out;
    out.set_sha256(f.what.view().data(), f.what.view().size());
    out.set_offset(asked_);
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk_bytes, f.size - asked_));
    out.set_length(length);
    asked_ += length;
    ++flying_;
    ask_(out);
  }
}

status fetcher::take(const wire::v1::Chunk& chunk) {
  digest what;
  if (auto good = from(chunk.sha256(), what); !good) return good;
  if (queue_.empty() || queue_.front() != what || flying_ == 0 || chunk.offset() != came_)
    return bad_message("a part of a file came that was not asked for");
  auto& f = files_.at(what);
  const auto expected = std::min<std::uint64_t>(chunk_bytes, f.size - came_);
  if (chunk.data().size() != expected) return bad_message("a part of a file is not as long as it should be");
  --flying_;
  auto written = into_->write(what, came_, chunk.data(), f.size);
  came_ += expected;
  if (written && came_ < f.size) {
    ask_more();
    return {};
  }
  auto waiting = std::move(f.for_);
  files_.erase(what);
  queue_.pop_front();
  if (!written && flying_ > 0) return written; // what is still on its way would be mistaken for another file's
  for (const auto& w : waiting) {
    if (!w->done) continue;
    if (!written)
      std::exchange(w->done, nullptr)(written);
    else if (--w->missing == 0)
      std::exchange(w->done, nullptr)({});
  }
  if (flying_ == 0) begin();
  return {};
}

void fetcher::fail(const error& why) {
  flying_ = 0;
  queue_.clear();
  const auto lost = std::exchange(files_, {});
  for (const auto& [what, f] : lost)
    for (const auto& w : f.for_)
      if (w->done) std::exchange(w->done, nullptr)(why);
}

status read_chunk(const std::string& path, const wire::v1::Fetch& asked, wire::v1::Chunk& out) {
  if (asked.length() == 0 || asked.length() > fetcher::chunk_bytes)
    return bad_message("too long a part of a file is asked for");
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return error{errc::io, "cannot read '" + path + "': " + std::strerror(errno), {}};
  auto& data = *out.mutable_data();
  data.resize(asked.length());
  std::size_t have = 0;
  while (have < data.size()) {
    const auto n = ::pread(file, data.data() + have, data.size() - have, static_cast<off_t>(asked.offset() + have));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    have += static_cast<std::size_t>(n);
  }
  ::close(file);
  data.resize(have);
  out.set_sha256(asked.sha256());
  out.set_offset(asked.offset());
  return {};
}

} // namespace attune::net::fleet
