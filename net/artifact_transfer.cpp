#include "net/artifact_transfer.hpp"

#include "net/network_error.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace attune::net {

namespace {

std::size_t first_bytes(const digest& d) noexcept {
  std::size_t out = 0;
  std::memcpy(&out, d.bytes.data(), sizeof out);
  return out;
}

bool read_digest(std::string_view text, digest& out) {
  if (text.size() != out.bytes.size()) return false;
  std::memcpy(out.bytes.data(), text.data(), text.size());
  return true;
}

void append_varint(std::string& out, std::uint64_t n) {
  for (; n >= 0x80; n >>= 7) out += static_cast<char>((n & 0x7f) | 0x80);
  out += static_cast<char>(n);
}

/// A field of a message, as Protobuf's encoding has it: a number, or bytes where they lie.
struct wire_field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
};

std::optional<std::uint64_t> take_varint(std::string_view& from) {
  std::uint64_t out = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto b = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    out |= std::uint64_t{b & 0x7fu} << shift;
    if (b < 0x80) return out;
  }
  return std::nullopt;
}

/// The next one, of the two kinds that the messages here have.
std::optional<wire_field> take_field(std::string_view& from) {
  const auto tag = take_varint(from);
  if (!tag || *tag > 0xffffffffu) return std::nullopt;
  wire_field out;
  out.number = static_cast<std::uint32_t>(*tag >> 3);
  const auto n = take_varint(from);
  if (!n) return std::nullopt;
  if ((*tag & 7) == 0) {
    out.value = *n;
    return out;
  }
  if ((*tag & 7) != 2 || *n > from.size()) return std::nullopt;
  out.bytes = from.substr(0, *n);
  from.remove_prefix(*n);
  return out;
}

} // namespace

std::optional<artifact_part> read_part(std::string_view body) {
  using wire::v1::ArtifactPart;
  const auto whole = take_field(body);
  // Nothing stands beside it.
  if (!whole || whole->number != wire::v1::Envelope::kArtifactPartFieldNumber || !body.empty()) return std::nullopt;
  artifact_part out;
  for (auto rest = whole->bytes; !rest.empty();) {
    const auto f = take_field(rest);
    if (!f) return std::nullopt;
    if (f->number == ArtifactPart::kSha256FieldNumber) out.sha256 = f->bytes;
    if (f->number == ArtifactPart::kOffsetFieldNumber) out.offset = f->value;
    if (f->number == ArtifactPart::kGoneFieldNumber) out.gone = f->value != 0;
    if (f->number == ArtifactPart::kDataFieldNumber) out.data = f->bytes;
  }
  return out;
}

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
  const auto w = std::make_shared<wish>();
  for (const auto& f : m.files) {
    if (!f.has_contents()) continue;
    if (const auto at = files_.find(f.contents); at != files_.end()) {
      if (at->second.size != f.size) return then(network_error("two sizes are given for the same contents"));
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
      if (into_->has(what)) { // it has come by another way meanwhile
        queue_.pop_front();
        settle(what, {});
        continue;
      }
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
  return take(artifact_part{part.sha256(), part.data(), part.offset(), part.gone()});
}

status artifact_receiver::take(const artifact_part& part) {
  digest what;
  if (!read_digest(part.sha256, what)) return network_error("a hash is not one");
  if (asks_.empty() || asks_.front().what != what || asks_.front().offset != part.offset)
    return network_error("a part of a file came that was not asked for");
  const auto ask = asks_.front();
  if (part.gone ? !part.data.empty() : part.data.size() != ask.length)
    return network_error("a part of a file is not as long as it was to be");
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
  } else if (part.gone) {
    settle(what, error{errc::not_found, "the other side does not have these contents any more", {}});
  } else {
    const auto taken = f.into->append(part.data);
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

void artifact_sender::offer(const manifest& files, const std::string& folder) {
  for (const auto& f : files.files)
    if (f.has_contents()) offer(f, folder + "/" + f.path);
}

void artifact_sender::offer(const artifact_file& file, std::string path) {
  auto& o = offered_[file.contents];
  o.size = file.size;
  o.paths.push_back(std::move(path));
}

void artifact_sender::withdraw(const manifest& files, const std::string& folder) {
  for (const auto& f : files.files) {
    if (!f.has_contents()) continue;
    const auto at = offered_.find(f.contents);
    if (at == offered_.end()) continue;
    auto& paths = at->second.paths;
    if (const auto p = std::find(paths.begin(), paths.end(), folder + "/" + f.path); p != paths.end()) paths.erase(p);
    if (!paths.empty()) continue;
    offered_.erase(at);
    withdrawn_.push_back(f.contents);
    if (withdrawn_.size() > withdrawn_most) withdrawn_.pop_front();
  }
  open_.reset();
}

result<int> artifact_sender::find(const wire::v1::ArtifactFetch& ask) {
  digest what;
  if (!read_digest(ask.sha256(), what)) return network_error("a hash is not one");
  if (ask.length() == 0 || ask.length() > transfer_limits::part_most)
    return network_error("a part is asked for that is too long");
  const auto at = offered_.find(what);
  if (at == offered_.end()) {
    if (std::find(withdrawn_.begin(), withdrawn_.end(), what) != withdrawn_.end()) return -1;
    return network_error("contents are asked for that were not offered");
  }
  if (ask.offset() > at->second.size || ask.length() > at->second.size - ask.offset())
    return network_error("a part is asked for that is not there");
  if (!open_ || open_->what != what) {
    open_.reset();
    for (const auto& path : at->second.paths) {
      measure::descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
      struct stat s {};
      if (!file || ::fstat(file.get(), &s) != 0 || !S_ISREG(s.st_mode) ||
          static_cast<std::uint64_t>(s.st_size) != at->second.size)
        continue;
      open_ = reading{what, std::move(file), at->second.size};
      break;
    }
  }
  return open_ ? open_->file.get() : -1;
}

bool artifact_sender::read(int file, std::uint64_t offset, char* to, std::size_t n) {
  while (n > 0) {
    const auto got = ::pread(file, to, n, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    n -= static_cast<std::size_t>(got);
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

void artifact_sender::given(const wire::v1::ArtifactFetch& ask) {
  // Behind the last part it need not be held any longer.
  if (open_ && ask.offset() + ask.length() == open_->size) open_.reset();
}

status artifact_sender::answer(const wire::v1::ArtifactFetch& ask, wire::v1::ArtifactPart& out) {
  const auto from = find(ask);
  if (!from) return from.err();
  out.set_sha256(ask.sha256());
  out.set_offset(ask.offset());
  auto& data = *out.mutable_data();
  data.resize(ask.length());
  if (*from < 0 || !read(*from, ask.offset(), data.data(), data.size())) {
    data.clear();
    out.set_gone(true);
    open_.reset();
  }
  given(ask);
  return {};
}

status artifact_sender::answer(const wire::v1::ArtifactFetch& ask, std::string& out) {
  const auto from = find(ask);
  if (!from) return from.err();
  // The data are the last field of the last field: what is before them, and the lengths, can be written first.
  wire::v1::ArtifactPart head;
  head.set_sha256(ask.sha256());
  head.set_offset(ask.offset());
  std::string fields = head.SerializeAsString();
  fields += static_cast<char>(wire::v1::ArtifactPart::kDataFieldNumber << 3 | 2);
  append_varint(fields, ask.length());
  std::string before;
  append_varint(before, wire::v1::Envelope::kArtifactPartFieldNumber << 3 | 2);
  append_varint(before, fields.size() + ask.length());
  before += fields;
  // As long as the last one, mostly: then nothing is filled with zeros first.
  out.resize(before.size() + ask.length());
  std::copy(before.begin(), before.end(), out.begin());
  if (*from < 0 || !read(*from, ask.offset(), out.data() + before.size(), ask.length())) {
    wire::v1::Envelope gone;
    head.set_gone(true);
    *gone.mutable_artifact_part() = head;
    out = gone.SerializeAsString();
    open_.reset();
  }
  given(ask);
  return {};
}

} // namespace attune::net
