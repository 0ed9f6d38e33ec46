#include "storage/folder.hpp"

#include "core/clock.hpp"
#include "proto/attune.pb.h"
#include "storage/keys.hpp"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace attune::storage {

namespace {

constexpr const char* schema_file = "/SCHEMA";
constexpr const char* owner_file = "/OWNER";
constexpr const char* acknowledged_file = "/ACKNOWLEDGED";
constexpr const char* database_file = "/CURRENT";

error unusable(std::string what) { return error{errc::store_unusable, std::move(what), {}}; }

std::string reason() { return std::strerror(errno); }

bool there(const std::string& path) {
  struct stat s {};
  return ::stat(path.c_str(), &s) == 0;
}

/// A small file as a whole; none where it cannot be read.
std::optional<std::string> read_small(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string out(4096, '\0');
  const auto got = ::read(fd, out.data(), out.size());
  ::close(fd);
  if (got < 0) return std::nullopt;
  out.resize(static_cast<std::size_t>(got));
  return out;
}

bool write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    const auto n = ::write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

status make_folders(const std::string& path) {
  for (std::size_t at = 1; at <= path.size(); ++at) {
    if (at != path.size() && path[at] != '/') continue;
    const std::string part = path.substr(0, at);
    if (there(part)) continue;
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return unusable("cannot make the folder '" + part + "' of the store: " + reason());
  }
  return {};
}

/// True where nothing is in it but, perhaps, what an interrupted beginning left; none where that cannot be seen.
std::optional<bool> is_blank(const std::string& path) {
  DIR* d = ::opendir(path.c_str());
  if (d == nullptr) return std::nullopt;
  bool blank = true;
  const bool ours = there(path + owner_file);
  while (const auto* e = ::readdir(d)) {
    const std::string_view name = e->d_name;
    // What RocksDB writes before CURRENT makes it a database.
    const bool begun =
        name == "IDENTITY" || name.starts_with("MANIFEST-") || name.starts_with("OPTIONS-") || name.ends_with(".dbtmp");
    if (name != "." && name != ".." && name != owner_file + 1 && name != acknowledged_file + 1 && name != "LOCK" &&
        name != "SOCKET" && name != "SLOTS" && name != "HUB" && name != "lost+found" && !(ours && begun))
      blank = false;
  }
  ::closedir(d);
  return blank;
}

/// True where a process owns the folder just now.
bool is_held(const std::string& path) {
  const int fd = ::open((path + owner_file).c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  const bool held = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return held;
}

std::string command_line() {
  auto text = read_small("/proc/self/cmdline").value_or("");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  if (text.size() > 1000) text.resize(1000);
  return text;
}

} // namespace

folder::folder(folder&& o) noexcept
    : path_(std::move(o.path_)),
      exists_(o.exists_),
      schema_(o.schema_),
      acknowledged_(o.acknowledged_),
      owner_(std::exchange(o.owner_, -1)),
      ledger_file_(std::exchange(o.ledger_file_, -1)) {}

folder::~folder() {
  if (ledger_file_ >= 0) ::close(ledger_file_);
  if (owner_ >= 0) ::close(owner_);
}

result<folder> folder::open(const std::string& path, bool read_only, bool create, nanoseconds patience) {
  folder out;
  out.path_ = path;
  while (out.path_.size() > 1 && out.path_.back() == '/') out.path_.pop_back();
  if (out.path_.empty()) return unusable("the store has no path");
  const std::string& p = out.path_;

  struct stat s {};
  if (::stat(p.c_str(), &s) != 0) {
    if (errno != ENOENT) return unusable("cannot use the store '" + p + "': " + reason());
    if (read_only || !create) return unusable("there is no store '" + p + "'");
    if (auto made = make_folders(p); !made) return made.err();
  } else if (!S_ISDIR(s.st_mode)) {
    return unusable("the store '" + p + "' is not a folder");
  }
  if (::access(p.c_str(), R_OK | X_OK) != 0) return unusable("cannot read the store '" + p + "': " + reason());
  if (!read_only && ::access(p.c_str(), W_OK) != 0)
    return unusable("cannot write to the store '" + p + "': " + reason());

  bool database = there(p + database_file);
  if (!database && !read_only && there(p + owner_file)) {
    // Another process may be making it just now.
    if (auto locked = out.lock(patience); !locked) return locked.err();
    database = there(p + database_file);
  }
  if (there(p + schema_file)) {
    const auto text = read_small(p + schema_file);
    v1::Meta meta;
    if (!text) return unusable("cannot read '" + p + schema_file + "': " + reason());
    if (!meta.ParseFromString(*text) || meta.magic() != keys::magic || meta.schema() == 0)
      return error{errc::store_corrupt, "the store '" + p + "' is damaged: its file SCHEMA is not readable", {}};
    if (meta.schema() > keys::schema)
      return error{errc::store_newer,
                   "the store '" + p + "' was written by a newer version (schema " + std::to_string(meta.schema()) +
                       ", this one knows " + std::to_string(keys::schema) + "): update attune, or use another store",
                   {}};
    if (!database)
      return error{errc::store_corrupt, "the store '" + p + "' is damaged: its file CURRENT is missing", {}};
    out.schema_ = meta.schema();
  } else if (!database) {
    const auto blank = is_blank(p);
    if (!blank) return unusable("cannot read the store '" + p + "': " + reason());
    if (!*blank) {
      if (!read_only && is_held(p))
        return error{errc::store_busy, "the store '" + p + "' is being made by another process", {}};
      return unusable("the folder '" + p + "' is not a store, and is not empty");
    }
    if (read_only || !create) return unusable("there is no store in '" + p + "'");
  }
  out.exists_ = database;

  if (!read_only && out.owner_ < 0)
    if (auto locked = out.lock(patience); !locked) return locked.err();
  // With the lock, for the numbers may have moved on while it was waited for.
  if (!out.read_ledger())
    return error{errc::store_corrupt, "the store '" + p + "' is damaged: its file ACKNOWLEDGED is not readable", {}};
  if (read_only) return out;
  out.ledger_file_ = ::open((p + acknowledged_file).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (out.ledger_file_ < 0) return unusable("cannot write to the store '" + p + "': " + reason());
  out.exists_ = there(p + database_file);
  // A folder that was there already, made by whatever umask: one that is opened to others later was meant to be.
  // Another user's, in which this one may write, stays as that user wants it.
  if (!out.exists_ && ::chmod(p.c_str(), 0700) != 0 && errno != EPERM)
    return unusable("cannot close the store '" + p + "' to other users: " + reason());
  return out;
}

bool folder::read_ledger() {
  const auto text = read_small(path_ + acknowledged_file);
  if (!text || text->empty()) return true;
  v1::Acknowledged message;
  if (!message.ParseFromString(*text) || message.there() > message.given()) return false;
  acknowledged_ = {message.given(), message.there()};
  return true;
}

status folder::lock(nanoseconds patience) {
  const std::string file = path_ + owner_file;
  owner_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (owner_ < 0) return unusable("cannot write to the store '" + path_ + "': " + reason());
  // One that is just ending is waited for.
  constexpr auto pause = std::chrono::milliseconds(20);
  const auto attempts = patience / pause;
  for (std::int64_t i = 0; ::flock(owner_, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK && errno != EINTR) return unusable("cannot lock the store '" + path_ + "': " + reason());
    if (i < attempts) {
      std::this_thread::sleep_for(pause);
      continue;
    }
    v1::Owner holder;
    std::string who = "another process";
    if (const auto text = read_small(file); text && holder.ParseFromString(*text) && holder.pid() > 0)
      who = "process " + std::to_string(holder.pid()) + " (" + holder.command() + ")";
    return error{errc::store_busy, "the store '" + path_ + "' is in use by " + who, {}};
  }
  v1::Owner self;
  self.set_pid(::getpid());
  self.set_command(command_line());
  self.set_since_ns(system_time().wall().count());
  const auto text = self.SerializeAsString();
  // On a full disk the name of the holder is a nicety that one can do without.
  if (::ftruncate(owner_, 0) == 0 && ::lseek(owner_, 0, SEEK_SET) == 0) write_all(owner_, text);
  return {};
}

namespace {

/// Whole or not at all, and durable but for the folder's own entry.
status write_durably(const std::string& file, std::string_view text) {
  const std::string fresh = file + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written = fd >= 0 && write_all(fd, text) && ::fsync(fd) == 0;
  const std::string why = reason();
  if (fd >= 0) ::close(fd);
  if (written && ::rename(fresh.c_str(), file.c_str()) == 0) return {};
  const std::string last = written ? reason() : why;
  ::unlink(fresh.c_str());
  return unusable("cannot write '" + file + "': " + last);
}

void sync_folder(const std::string& path) {
  const int dir = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return;
  ::fsync(dir);
  ::close(dir);
}

} // namespace

status folder::seal(std::int64_t created_ns) {
  v1::Meta meta;
  meta.set_magic(std::string(keys::magic));
  meta.set_schema(keys::schema);
  meta.set_created_ns(created_ns);
  meta.set_program("attune");
  if (auto done = write_durably(path_ + schema_file, meta.SerializeAsString()); !done) return done;
  sync_folder(path_);
  schema_ = keys::schema;
  exists_ = true;
  return {};
}

status folder::seal_copy(const std::string& to, std::uint64_t newest) const {
  const auto schema = read_small(path_ + schema_file);
  v1::Acknowledged message;
  message.set_given(newest);
  message.set_there(newest);
  if (auto done = write_durably(to + acknowledged_file, message.SerializeAsString()); !done) return done;
  if (schema)
    if (auto done = write_durably(to + schema_file, *schema); !done) return done;
  sync_folder(to);
  return {};
}

void folder::acknowledge(const ledger& now) noexcept {
  acknowledged_ = now;
  v1::Acknowledged message;
  message.set_given(now.given);
  message.set_there(now.there);
  char text[32];
  const auto size = message.ByteSizeLong();
  if (size > sizeof text || !message.SerializeToArray(text, static_cast<int>(sizeof text))) return;
  // A ledger that could not be written is only an older one: it claims less, never more.
  [[maybe_unused]] const auto n = ::pwrite(ledger_file_, text, size, 0);
}

std::uint64_t folder::bytes() const {
  std::uint64_t sum = 0;
  DIR* d = ::opendir(path_.c_str());
  if (d == nullptr) return 0;
  while (const auto* e = ::readdir(d)) {
    struct stat s {};
    if (::fstatat(::dirfd(d), e->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(s.st_mode))
      sum += static_cast<std::uint64_t>(s.st_size);
  }
  ::closedir(d);
  return sum;
}

} // namespace attune::storage
