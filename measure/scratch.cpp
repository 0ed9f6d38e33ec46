#include "measure/scratch.hpp"

#include "core/text.hpp"
#include "measure/executor.hpp"
#include "measure/process_tree.hpp"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace attune::measure {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "attune-";

std::string root_prefix() { return std::string(prefix) + std::to_string(geteuid()) + "-"; }

/// Removes the roots that nobody holds any more.
void sweep(const fs::path& temporary) {
  std::error_code ignored;
  std::string mine = root_prefix();
  for (fs::directory_iterator at(temporary, fs::directory_options::skip_permission_denied, ignored), end;
       !ignored && at != end; at.increment(ignored)) {
    std::string name = at->path().filename().string();
    if (!name.starts_with(mine)) continue;
    process_stamp stamp;
    if (!stamp.read(std::string_view(name).substr(mine.size()))) continue;
    struct stat info {};
    std::string path = at->path().string();
    if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid()) continue;
    if (stamp.name_space == own_stamp().name_space && !stamp.gone()) continue;
    // The lock decides, also for what another pid namespace has left: its holder is alive wherever it runs. A root
    // without a lock file is one that is just being made, or whose maker died at that very moment.
    descriptor lock(::open((path + "/lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (lock ? flock(lock.get(), LOCK_EX | LOCK_NB) != 0 : std::time(nullptr) - info.st_mtime < 60) continue;
    remove_tree(path);
  }
}

/// Makes the root and holds it.
result<descriptor> make_root(const std::string& root) {
  if (mkdir(root.c_str(), 0700) != 0)
    return error{errc::invalid_spec,
                 "cannot make the private folder '" + root + "': " + std::strerror(errno) +
                     " (set TMPDIR to a folder that can be written)",
                 {}};
  descriptor lock(::open((root + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    std::string why = std::strerror(errno);
    unlink((root + "/lock").c_str());
    rmdir(root.c_str());
    return error{errc::io, "cannot lock the private folder '" + root + "': " + why, {}};
  }
  return lock;
}

} // namespace

std::string process_stamp::text() const {
  return std::to_string(name_space) + "-" + std::to_string(pid) + "-" + std::to_string(start);
}

bool process_stamp::read(std::string_view text) {
  const char* at = text.data();
  const char* end = at + text.size();
  auto take = [&](auto& number) {
    auto [next, code] = std::from_chars(at, end, number);
    at = next;
    return code == std::errc{};
  };
  auto dash = [&] { return at != end && *at++ == '-'; };
  return take(name_space) && dash() && take(pid) && dash() && take(start);
}

bool process_stamp::gone() const {
  if (name_space != own_stamp().name_space) return false;
  bool blind = false;
  auto entry = read_process(pid, &blind);
  // Who cannot be looked at is there.
  if (!entry) return !blind;
  return entry->start != start || entry->dead();
}

const process_stamp& own_stamp() {
  // Compared with getpid(): a host that forks makes a new process with the old answer in its memory.
  thread_local process_stamp stamp;
  if (stamp.pid == getpid() && stamp.start != 0) return stamp;
  struct stat info {};
  if (stat("/proc/self/ns/pid", &info) == 0) stamp.name_space = info.st_ino;
  stamp.pid = getpid();
  if (auto entry = read_process(stamp.pid)) stamp.start = entry->start;
  return stamp;
}

result<std::unique_ptr<scratch>> scratch::open(const std::string& temporary) {
  std::string base = temporary;
  if (base.empty()) {
    const char* named = std::getenv("TMPDIR"); // NOLINT(concurrency-mt-unsafe): the environment is never written
    base = named && *named ? named : "/tmp";
  }
  std::error_code code;
  base = fs::absolute(base, code).string();
  sweep(base);
  // More than one supervisor may live in a process, one after the other or together.
  static std::atomic<unsigned> serial{0};
  std::string root = base + "/" + root_prefix() + own_stamp().text() + "-" + std::to_string(serial++);
  auto lock = make_root(root);
  if (!lock) return lock.err();
  return std::unique_ptr<scratch>(new scratch(std::move(root), std::move(*lock)));
}

scratch::~scratch() {
  // This much goes without a descriptor to spare.
  unlink((root_ + "/lock").c_str());
  if (rmdir(root_.c_str()) != 0) remove_tree(root_);
}

result<std::string> scratch::make_folder() {
  std::string path = root_ + "/t" + std::to_string(made_++);
  if (mkdir(path.c_str(), 0700) == 0) return path;
  int code = errno;
  if (code == ENOENT) {
    const std::lock_guard guard(remaking_);
    std::error_code ignored;
    fs::create_directories(fs::path(root_).parent_path(), ignored);
    if (!fs::exists(root_, ignored)) {
      auto lock = make_root(root_);
      if (!lock) return lock.err();
      lock_ = std::move(*lock);
      if (user_) chmod(root_.c_str(), 0711);
    }
    if (mkdir(path.c_str(), 0700) == 0) return path;
    code = errno;
  }
  return error{errc::io, "cannot make the folder '" + path + "': " + std::strerror(code), {}};
}

status scratch::admit(uid_t user, gid_t group) {
  if (chmod(root_.c_str(), 0711) != 0)
    return error{errc::io, "cannot open the folder '" + root_ + "': " + std::strerror(errno), {}};
  user_ = {user, group};
  return {};
}

status scratch::hand_over(const std::string& folder) {
  if (!user_) return {};
  const auto give = [&](const std::string& path) { return lchown(path.c_str(), user_->first, user_->second) == 0; };
  std::error_code code;
  bool good = true;
  fs::recursive_directory_iterator at(folder, code);
  for (const fs::recursive_directory_iterator end; !code && good && at != end; at.increment(code))
    good = give(at->path().string());
  if (code || !good || !give(folder))
    return error{errc::io, "cannot give the folder '" + folder + "' to the user of what runs", {}};
  return {};
}

void remove_tree(const std::string& folder) noexcept {
  try {
    std::error_code code;
    fs::remove_all(folder, code);
    if (!code) return;
    // Folders that a build has made read-only keep their contents until they are writable.
    std::error_code ignored;
    fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add | fs::perm_options::nofollow, ignored);
    fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, ignored), end;
    for (; !ignored && at != end; at.increment(ignored)) {
      std::error_code skipped;
      if (at->symlink_status(skipped).type() == fs::file_type::directory)
        fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, skipped);
    }
    fs::remove_all(folder, code);
  } catch (...) {
    // No memory for a path: the folder stays until the next start sweeps it.
    return;
  }
}

artifact::~artifact() { remove_tree(directory); }

} // namespace attune::measure
