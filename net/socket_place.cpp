#include "net/socket_place.hpp"

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace attune::net {

namespace {

constexpr const char* name = "SOCKET";

sockaddr_un address_of(int folder) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  const auto path = "/proc/self/fd/" + std::to_string(folder) + "/" + name;
  std::memcpy(out.sun_path, path.c_str(), path.size() + 1); // a few dozen bytes
  return out;
}

const sockaddr* generic(const sockaddr_un& a) { return reinterpret_cast<const sockaddr*>(&a); }

/// Closes it unless it is taken.
struct descriptor {
  int fd;
  ~descriptor() {
    if (fd >= 0) ::close(fd);
  }
  int take() { return std::exchange(fd, -1); }
};

} // namespace

result<std::shared_ptr<socket_place>> socket_place::open(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return error{errc::store_unusable, "cannot use the store '" + folder + "': " + std::strerror(errno), {}};
  return std::shared_ptr<socket_place>(new socket_place(fd, folder));
}

socket_place::~socket_place() { ::close(folder_); }

result<int> socket_place::listen() {
  const auto failed = [&](const char* what) {
    return error{errc::store_unusable,
                 "the store '" + path_ + "' cannot be shared with other processes: " + what + ": " +
                     std::strerror(errno),
                 {}};
  };
  descriptor s{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (s.fd < 0) return failed("socket");
  remove();
  // The file that bind() makes has the mode of the socket, less the umask.
  if (::fchmod(s.fd, 0600) != 0) return failed("fchmod");
  const auto where = address_of(folder_);
  if (::bind(s.fd, generic(where), sizeof where) != 0) return failed("bind");
  if (::fchmodat(folder_, name, 0600, 0) != 0 || ::listen(s.fd, 64) != 0) {
    const auto why = failed("listen");
    remove();
    return why;
  }
  return s.take();
}

void socket_place::remove() noexcept { ::unlinkat(folder_, name, 0); }

result<int> socket_place::connect() const {
  descriptor s{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  const auto where = address_of(folder_);
  // A Unix socket connects at once or not at all.
  if (s.fd < 0 || ::connect(s.fd, generic(where), sizeof where) != 0)
    return error{errc::network, std::string("nobody listens: ") + std::strerror(errno), {}};
  if (!same_user(s.fd)) return error{errc::network, "another user listens at '" + path_ + "/" + name + "'", {}};
  return s.take();
}

void socket_place::join() noexcept { ::flock(folder_, LOCK_SH); }
void socket_place::part() noexcept { ::flock(folder_, LOCK_UN); }

bool socket_place::others() noexcept {
  const bool alone = ::flock(folder_, LOCK_EX | LOCK_NB) == 0;
  part();
  return !alone;
}

bool same_user(int socket) noexcept {
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return false;
  return who.uid == ::geteuid() || who.uid == 0;
}

} // namespace attune::net
