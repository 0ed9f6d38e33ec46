#include "net/artifact_store.hpp"

#include "net/private_folder.hpp"

#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

namespace attune::net {

namespace {

constexpr const char* part_suffix = ".part";
constexpr const char* aside_suffix = ".aside";
constexpr std::size_t piece = 1u << 18;

std::optional<digest> digest_of(std::string_view hex) {
  digest out;
  if (hex.size() != 2 * out.bytes.size()) return std::nullopt;
  for (std::size_t half = 0; half < 2; ++half) {
    const auto k = key128::from_hex(hex.substr(half * 32, 32));
    if (!k) return std::nullopt;
    std::copy(k->bytes.begin(), k->bytes.end(), out.bytes.begin() + static_cast<std::ptrdiff_t>(half * 16));
  }
  return out.hex() == hex ? std::optional(out) : std::nullopt;
}

/// Hands everything from `offset` on to `each`; false where it cannot be read.
template <class F>
bool read_all(int file, F each) {
  std::vector<char> buffer(piece);
  for (std::uint64_t at = 0;;) {
    const auto n = ::pread(file, buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) return true;
    if (!each(std::string_view(buffer.data(), static_cast<std::size_t>(n)))) return false;
    at += static_cast<std::uint64_t>(n);
  }
}

bool write_all(int file, std::string_view data) {
  while (!data.empty()) {
    const auto n = ::write(file, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

} // namespace

std::size_t artifact_store::hash_of::operator()(const digest& d) const noexcept {
  std::size_t out = 0;
  std::memcpy(&out, d.bytes.data(), sizeof out);
  return out;
}

std::string artifact_store::path(const digest& d, bool whole) const {
  return folder_ + "/" + d.hex() + (whole ? "" : part_suffix);
}

std::string artifact_store::aside(const digest& d, std::uint64_t writer) const {
  return folder_ + "/" + d.hex() + "." + std::to_string(writer) + aside_suffix;
}

error artifact_store::failed(const char* what, const std::string& file) const {
  return error{errc::io, std::string(what) + " '" + file + "': " + std::strerror(errno), {}};
}

result<std::shared_ptr<artifact_store>> artifact_store::open(const std::string& folder, std::uint64_t bytes_most,
                                                             std::size_t entries_most) {
  const auto made = private_folder::open(folder, true);
  if (!made) return made.err();
  std::shared_ptr<artifact_store> out(new artifact_store(made->path(), bytes_most, entries_most));
  const auto owner = made->path() + "/OWNER";
  out->owner_.reset(::open(owner.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!out->owner_) return out->failed("cannot use", owner);
  if (::flock(out->owner_.get(), LOCK_EX | LOCK_NB) != 0)
    return error{errc::io, "the folder '" + made->path() + "' is in use by another process: give each its own", {}};
  if (auto looked = out->look(); !looked) return looked.err();
  return out;
}

status artifact_store::look() {
  struct found {
    digest what;
    std::uint64_t size = 0;
    bool whole = false;
    std::int64_t at = 0;
  };
  std::vector<found> all;
  DIR* d = ::opendir(folder_.c_str());
  if (d == nullptr) return failed("cannot read", folder_);
  while (const auto* e = ::readdir(d)) {
    std::string_view name = e->d_name;
    if (name.ends_with(aside_suffix)) ::unlinkat(::dirfd(d), e->d_name, 0); // of a writer that is no more
    struct stat s {};
    const bool whole = !name.ends_with(part_suffix);
    if (!whole) name.remove_suffix(std::strlen(part_suffix));
    const auto what = digest_of(name);
    if (!what || ::fstatat(::dirfd(d), e->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode)) continue;
    all.push_back({*what, static_cast<std::uint64_t>(s.st_size), whole,
                   std::int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec});
  }
  ::closedir(d);
  std::sort(all.begin(), all.end(), [](const found& a, const found& b) { return a.at < b.at; });
  const std::lock_guard guard(lock_);
  for (const auto& f : all) {
    auto& e = entries_[f.what];
    if (e.whole) { // a part beside the whole
      drop(f.what, false);
      continue;
    }
    if (f.whole && e.used != 0) drop(f.what, false);
    held_ += f.size - e.size;
    e.size = f.size;
    e.whole = f.whole;
    e.used = ++clock_;
  }
  return make_room(0, 0);
}

void artifact_store::drop(const digest& d, bool whole) const { ::unlink(path(d, whole).c_str()); }

status artifact_store::make_room(std::uint64_t bytes, std::size_t entries) {
  if (bytes > most_)
    return error{errc::io,
                 "contents of " + std::to_string(bytes) + " bytes do not fit into the cache, which holds " +
                     std::to_string(most_),
                 {}};
  while (held_ + bytes > most_ || entries_.size() + entries > entries_most_) {
    auto oldest = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at)
      if (at->second.pins == 0 && at->second.writer == 0 &&
          (oldest == entries_.end() || at->second.used < oldest->second.used))
        oldest = at;
    if (oldest == entries_.end())
      return error{errc::io,
                   "the cache is full of what is in use (" + std::to_string(held_) + " bytes in " +
                       std::to_string(entries_.size()) + " files)",
                   {}};
    drop(oldest->first, oldest->second.whole);
    held_ -= oldest->second.size;
    entries_.erase(oldest);
  }
  return {};
}

bool artifact_store::has(const digest& d) {
  const auto found = get(d);
  return found && *found;
}

std::uint64_t artifact_store::bytes() const {
  const std::lock_guard guard(lock_);
  return held_;
}

std::uint64_t artifact_store::unchecked(const digest& d) const {
  const std::lock_guard guard(lock_);
  const auto at = entries_.find(d);
  return at != entries_.end() && at->second.whole && !at->second.checked ? at->second.size : 0;
}

result<std::optional<artifact_store::pin>> artifact_store::get(const digest& d) {
  std::uint64_t size = 0;
  bool checked = false;
  {
    const std::lock_guard guard(lock_);
    const auto at = entries_.find(d);
    if (at == entries_.end() || !at->second.whole) return std::optional<pin>();
    ++at->second.pins;
    at->second.used = ++clock_;
    size = at->second.size;
    checked = at->second.checked;
  }
  // From here on it lets go by itself.
  pin out(shared_from_this(), d, size, measure::descriptor());
  out.file_.reset(::open(path(d).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  bool good = static_cast<bool>(out.file_);
  if (!good && errno != ENOENT && errno != ELOOP) return failed("cannot read", path(d));
  if (good && !checked) {
    hasher h;
    std::uint64_t length = 0;
    good = read_all(out.file_.get(), [&](std::string_view data) {
      h.update(data);
      length += data.size();
      return true;
    });
    good = good && length == size && h.finish() == d;
  }
  const std::lock_guard guard(lock_);
  const auto at = entries_.find(d);
  if (good) {
    at->second.checked = true;
    // The order of use, for the next process.
    if (!checked || at->second.used % 16 == 0) ::futimens(out.file_.get(), nullptr);
    return std::optional(std::move(out));
  }
  // Others that hold it hold what is gone.
  out.store_ = nullptr;
  if (--at->second.pins == 0) {
    drop(d, true);
    held_ -= at->second.size;
    entries_.erase(at);
  }
  return std::optional<pin>();
}

artifact_store::pin::~pin() {
  if (!store_) return;
  const std::lock_guard guard(store_->lock_);
  if (const auto at = store_->entries_.find(what_); at != store_->entries_.end() && at->second.pins > 0)
    --at->second.pins;
}

artifact_store::pin& artifact_store::pin::operator=(pin&& other) noexcept {
  if (this == &other) return *this;
  pin old(std::move(*this));
  store_ = std::move(other.store_);
  what_ = other.what_;
  size_ = other.size_;
  file_ = std::move(other.file_);
  return *this;
}

status artifact_store::pin::copy_to(int file) const {
  off_t at = 0;
  while (static_cast<std::uint64_t>(at) < size_) {
    const auto n = ::copy_file_range(file_.get(), &at, file, nullptr, size_ - static_cast<std::uint64_t>(at), 0);
    if (n > 0 || (n < 0 && errno == EINTR)) continue;
    break; // another file system
  }
  while (static_cast<std::uint64_t>(at) < size_) {
    const auto n = ::sendfile(file, file_.get(), &at, size_ - static_cast<std::uint64_t>(at));
    if (n > 0 || (n < 0 && errno == EINTR)) continue;
    return error{errc::io, std::string("the contents cannot be copied: ") + std::strerror(n < 0 ? errno : EIO), {}};
  }
  return {};
}

/// What comes of contents goes on in their part, of one writer at a time: who comes second while they are under way
/// has a file of its own, from the beginning (the first need not be fast, or honest). The first at its end counts.
class artifact_store::writer final : public incoming {
public:
  writer(std::shared_ptr<artifact_store> store, const digest& d, std::uint64_t size, std::uint64_t number)
      : store_(std::move(store)), what_(d), size_(size), number_(number) {}
  ~writer() override {
    const std::lock_guard guard(store_->lock_);
    if (over_) return;
    const auto at = mine();
    if (at == store_->entries_.end()) {
      forget();
      return;
    }
    at->second.writer = 0;
    // Only what has come is held now.
    store_->held_ -= at->second.size - offset_;
    at->second.size = offset_;
    if (offset_ > 0) return;
    store_->drop(what_, false);
    store_->entries_.erase(at);
  }
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  /// @pre the lock is held: the part must not be moved aside before it is open
  status open() {
    const auto name = mine() != store_->entries_.end() ? store_->path(what_, false) : store_->aside(what_, number_);
    file_.reset(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    return file_ ? status() : store_->failed("cannot write", name);
  }

  status begin() {
    const auto feed = [this](std::string_view data) {
      hash_.update(data);
      offset_ += data.size();
      return offset_ <= size_;
    };
    // What is as long as the whole was never checked, or was wrong.
    if (!read_all(file_.get(), feed) || (offset_ >= size_ && offset_ > 0)) {
      hash_ = {};
      offset_ = 0;
      if (::ftruncate(file_.get(), 0) != 0) return store_->failed("cannot write", store_->path(what_, false));
    }
    if (::lseek(file_.get(), static_cast<off_t>(offset_), SEEK_SET) < 0)
      return store_->failed("cannot write", store_->path(what_, false));
    return size_ == 0 ? finish() : status();
  }

  std::uint64_t offset() const noexcept override { return offset_; }

  status append(std::string_view data) override {
    if (over_ || data.size() > size_ - offset_) {
      lose();
      return error{errc::network, "more came than the contents have", {}};
    }
    if (!write_all(file_.get(), data)) {
      const auto why = store_->failed("cannot write", store_->path(what_, false));
      lose();
      return why;
    }
    hash_.update(data);
    offset_ += data.size();
    return offset_ == size_ ? finish() : status();
  }

private:
  /// The entry whose part this writes; none where it has a file of its own. @pre the lock is held
  std::unordered_map<digest, entry, hash_of>::iterator mine() {
    const auto at = store_->entries_.find(what_);
    return at != store_->entries_.end() && at->second.writer == number_ ? at : store_->entries_.end();
  }
  /// The file of its own goes. @pre the lock is held
  void forget() {
    ::unlink(store_->aside(what_, number_).c_str());
    store_->held_ -= size_;
  }
  status finish() {
    if (hash_.finish() != what_) {
      lose();
      return error{errc::network, "contents did not come as they were sent: their hash is another", {}};
    }
    std::unique_lock guard(store_->lock_);
    const bool is_mine = mine() != store_->entries_.end();
    auto at = store_->entries_.find(what_);
    if (!is_mine && at != store_->entries_.end() && at->second.whole) {
      over_ = true;
      forget();
      return {};
    }
    const auto name = is_mine ? store_->path(what_, false) : store_->aside(what_, number_);
    if (::rename(name.c_str(), store_->path(what_).c_str()) != 0) {
      const auto why = store_->failed("cannot write", store_->path(what_));
      guard.unlock();
      lose();
      return why;
    }
    over_ = true;
    if (!is_mine && at != store_->entries_.end()) {
      if (const auto other = std::exchange(at->second.writer, 0); other != 0) {
        // It goes on beside, with what it holds.
        if (::rename(store_->path(what_, false).c_str(), store_->aside(what_, other).c_str()) != 0)
          store_->drop(what_, false);
      } else {
        store_->drop(what_, false);
        store_->held_ -= at->second.size;
      }
    }
    auto& e = store_->entries_[what_];
    e.size = size_;
    e.whole = e.checked = true;
    e.writer = 0;
    e.used = ++store_->clock_;
    return {};
  }
  /// Nothing of it is kept.
  void lose() {
    if (std::exchange(over_, true)) return;
    const std::lock_guard guard(store_->lock_);
    const auto at = mine();
    if (at == store_->entries_.end()) return forget();
    store_->drop(what_, false);
    store_->held_ -= at->second.size;
    store_->entries_.erase(at);
  }

  std::shared_ptr<artifact_store> store_;
  digest what_;
  std::uint64_t size_, offset_ = 0, number_;
  measure::descriptor file_;
  hasher hash_;
  bool over_ = false;
};

result<std::unique_ptr<incoming>> artifact_store::receive(const digest& d, std::uint64_t size) {
  std::unique_ptr<writer> out;
  status begun;
  {
    const std::lock_guard guard(lock_);
    const auto number = ++writers_;
    const auto at = entries_.find(d);
    const bool goes_on = at == entries_.end() || (!at->second.whole && at->second.writer == 0);
    std::uint64_t there = 0;
    if (goes_on && at != entries_.end()) {
      there = at->second.size;
      at->second.writer = number; // it is not what goes
    }
    if (auto room = make_room(size > there ? size - there : 0, at == entries_.end() ? 1 : 0); !room) {
      if (goes_on && at != entries_.end()) at->second.writer = 0;
      return room.err();
    }
    held_ += size - there;
    if (goes_on) {
      auto& e = entries_[d];
      e.size = size;
      e.writer = number;
      e.used = ++clock_;
    }
    out = std::make_unique<writer>(shared_from_this(), d, size, number);
    begun = out->open();
  }
  if (begun) begun = out->begin();
  if (!begun) return begun.err();
  return std::unique_ptr<incoming>(std::move(out));
}

} // namespace attune::net
