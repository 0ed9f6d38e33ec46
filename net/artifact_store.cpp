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

error artifact_store::failed(const char* what, const std::string& file) const {
  return error{errc::io, std::string(what) + " '" + file + "': " + std::strerror(errno), {}};
}

result<std::shared_ptr<artifact_store>> artifact_store::open(const std::string& folder, std::uint64_t bytes_most) {
  const auto made = private_folder::open(folder, true);
  if (!made) return made.err();
  std::shared_ptr<artifact_store> out(new artifact_store(made->path(), bytes_most));
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
  return make_room(0);
}

void artifact_store::drop(const digest& d, bool whole) const { ::unlink(path(d, whole).c_str()); }

status artifact_store::make_room(std::uint64_t bytes) {
  if (bytes > most_)
    return error{errc::io,
                 "contents of " + std::to_string(bytes) + " bytes do not fit into the cache, which holds " +
                     std::to_string(most_),
                 {}};
  while (held_ + bytes > most_) {
    auto oldest = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at)
      if (at->second.pins == 0 && !at->second.under_way &&
          (oldest == entries_.end() || at->second.used < oldest->second.used))
        oldest = at;
    if (oldest == entries_.end())
      return error{errc::io, "the cache is full of what is in use (" + std::to_string(held_) + " bytes)", {}};
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

class artifact_store::writer final : public incoming {
public:
  writer(std::shared_ptr<artifact_store> store, const digest& d, std::uint64_t size)
      : store_(std::move(store)), what_(d), size_(size) {}
  ~writer() override {
    const std::lock_guard guard(store_->lock_);
    if (over_) return;
    const auto at = store_->entries_.find(what_);
    at->second.under_way = false;
    // Only what has come is held now.
    store_->held_ -= at->second.size - offset_;
    at->second.size = offset_;
    if (offset_ > 0) return;
    store_->drop(what_, false);
    store_->entries_.erase(at);
  }
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  status begin() {
    const auto name = store_->path(what_, false);
    file_.reset(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file_) return store_->failed("cannot write", name);
    const auto feed = [this](std::string_view data) {
      hash_.update(data);
      offset_ += data.size();
      return offset_ <= size_;
    };
    // What is as long as the whole was never checked, or was wrong.
    if (!read_all(file_.get(), feed) || (offset_ >= size_ && offset_ > 0)) {
      hash_ = {};
      offset_ = 0;
      if (::ftruncate(file_.get(), 0) != 0) return store_->failed("cannot write", name);
    }
    if (::lseek(file_.get(), static_cast<off_t>(offset_), SEEK_SET) < 0) return store_->failed("cannot write", name);
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
  status finish() {
    if (hash_.finish() != what_) {
      lose();
      return error{errc::network, "contents did not come as they were sent: their hash is another", {}};
    }
    if (::rename(store_->path(what_, false).c_str(), store_->path(what_).c_str()) != 0) {
      const auto why = store_->failed("cannot write", store_->path(what_));
      lose();
      return why;
    }
    over_ = true;
    const std::lock_guard guard(store_->lock_);
    auto& e = store_->entries_[what_];
    e.whole = e.checked = true;
    e.under_way = false;
    e.used = ++store_->clock_;
    return {};
  }
  /// Nothing of it is kept.
  void lose() {
    if (std::exchange(over_, true)) return;
    const std::lock_guard guard(store_->lock_);
    store_->drop(what_, false);
    if (const auto at = store_->entries_.find(what_); at != store_->entries_.end()) {
      store_->held_ -= at->second.size;
      store_->entries_.erase(at);
    }
  }

  std::shared_ptr<artifact_store> store_;
  digest what_;
  std::uint64_t size_, offset_ = 0;
  measure::descriptor file_;
  hasher hash_;
  bool over_ = false;
};

result<std::unique_ptr<incoming>> artifact_store::receive(const digest& d, std::uint64_t size) {
  {
    const std::lock_guard guard(lock_);
    const auto at = entries_.find(d);
    if (at != entries_.end() && (at->second.whole || at->second.under_way))
      return error{errc::io, "these contents are there, or on their way, already", {}};
    std::uint64_t there = 0;
    if (at != entries_.end()) {
      there = at->second.size;
      at->second.under_way = true; // it is not what goes
    }
    if (auto room = make_room(size > there ? size - there : 0); !room) {
      if (at != entries_.end()) at->second.under_way = false;
      return room.err();
    }
    auto& e = entries_[d];
    held_ += size - there;
    e.size = size;
    e.under_way = true;
    e.used = ++clock_;
  }
  auto out = std::make_unique<writer>(shared_from_this(), d, size);
  if (auto begun = out->begin(); !begun) return begun.err();
  return std::unique_ptr<incoming>(std::move(out));
}

} // namespace attune::net
