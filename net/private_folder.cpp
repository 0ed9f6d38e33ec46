#include "net/private_folder.hpp"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

namespace attune::net {

namespace {

constexpr const char* lock_file = "LOCK";

status make_folders(const std::string& path) {
  for (std::size_t at = 1; at <= path.size(); ++at) {
    if (at != path.size() && path[at] != '/') continue;
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) == 0) {
      if (::chmod(part.c_str(), 0700) == 0) continue; // the umask may have taken bits of it
    } else if (errno == EEXIST) {
      continue;
    }
    return error{errc::io, "cannot make the folder '" + part + "': " + std::strerror(errno), {}};
  }
  return {};
}

} // namespace

error private_folder::failed(const std::string& what, const std::string& name) const {
  return error{errc::io, "cannot " + what + " '" + path_ + "/" + name + "': " + std::strerror(errno), {}};
}

result<private_folder> private_folder::open(std::string path, bool create) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (create)
    if (auto made = make_folders(path); !made) return made.err();
  measure::descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd)
    return error{errno == ENOENT ? errc::not_found : errc::io,
                 "cannot use the folder '" + path + "': " + std::strerror(errno),
                 {}};
  struct stat s {};
  if (::fstat(fd.get(), &s) != 0) return error{errc::io, "cannot use the folder '" + path + "'", {}};
  if (s.st_uid != ::geteuid())
    return error{errc::io, "the folder '" + path + "' belongs to another user: secrets are not kept there", {}};
  if ((s.st_mode & 0777) != 0700 && ::fchmod(fd.get(), 0700) != 0)
    return error{errc::io, "cannot close the folder '" + path + "' to others: " + std::strerror(errno), {}};
  return private_folder(std::move(path), std::move(fd));
}

result<std::optional<std::string>> private_folder::read(const std::string& name, std::size_t most) const {
  const measure::descriptor fd(::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) {
    if (errno == ENOENT) return std::optional<std::string>();
    return failed("read", name);
  }
  struct stat s {};
  if (::fstat(fd.get(), &s) != 0) return failed("read", name);
  const auto bad = [&](const std::string& what) {
    return error{errc::io, "the file '" + path_ + "/" + name + "' " + what, {}};
  };
  if (!S_ISREG(s.st_mode)) return bad("is not a file");
  if (s.st_uid != ::geteuid()) return bad("belongs to another user");
  if ((s.st_mode & 0077) != 0) return bad("is open to other users: what is in it may be known; chmod 600 it");
  std::string out;
  for (;;) {
    const auto had = out.size();
    if (had > most) return bad("is too long");
    out.resize(had + 65536);
    const auto n = ::read(fd.get(), out.data() + had, 65536);
    if (n < 0 && errno == EINTR) {
      out.resize(had);
      continue;
    }
    if (n < 0) return failed("read", name);
    out.resize(had + static_cast<std::size_t>(n));
    if (n == 0) return std::optional(std::move(out));
  }
}

status private_folder::replace(const std::string& name, std::string_view bytes) const {
  // Whoever replaces it at the same time has another name for his.
  std::string fresh;
  measure::descriptor fd;
  for (int i = 0; !fd && i < 100; ++i) {
    fresh = "." + name + "." + std::to_string(::getpid()) + "." + std::to_string(i);
    fd.reset(::openat(folder_.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd && errno != EEXIST) break;
  }
  if (!fd) return failed("write", name);
  bool good = ::fchmod(fd.get(), 0600) == 0;
  while (good && !bytes.empty()) {
    const auto n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    good = n > 0;
    if (good) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  good = good && ::fsync(fd.get()) == 0 && ::renameat(folder_.get(), fresh.c_str(), folder_.get(), name.c_str()) == 0;
  if (!good) {
    const auto why = failed("write", name);
    ::unlinkat(folder_.get(), fresh.c_str(), 0);
    return why;
  }
  if (::fsync(folder_.get()) != 0) return failed("write", name);
  return {};
}

result<measure::descriptor> private_folder::open_to_append(const std::string& name) const {
  measure::descriptor fd(
      ::openat(folder_.get(), name.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat s {};
  if (!fd || ::fstat(fd.get(), &s) != 0) return failed("write", name);
  if (!S_ISREG(s.st_mode) || s.st_uid != ::geteuid())
    return error{errc::io, "the file '" + path_ + "/" + name + "' is not a file of this user", {}};
  if ((s.st_mode & 0777) != 0600 && ::fchmod(fd.get(), 0600) != 0) return failed("write", name);
  return fd;
}

status private_folder::rename(const std::string& from, const std::string& to) const {
  if (::renameat(folder_.get(), from.c_str(), folder_.get(), to.c_str()) != 0) return failed("rename", from);
  return {};
}

result<measure::descriptor> private_folder::lock() const {
  measure::descriptor fd(::openat(folder_.get(), lock_file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd || ::fchmod(fd.get(), 0600) != 0) return failed("lock", lock_file);
  // It is held for milliseconds, unless its holder is stopped.
  for (int i = 0; ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK && errno != EINTR) return failed("lock", lock_file);
    if (i >= 500) return error{errc::io, "the folder '" + path_ + "' is held by another process that does not end", {}};
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return fd;
}

} // namespace attune::net
