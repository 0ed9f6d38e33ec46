#pragma once

#include "core/error.hpp"

#include <memory>
#include <string>

namespace attune::net {

/// The socket of a store, `SOCKET` in its folder. It is reached through /proc/self/fd/N, the folder held open as N: so
/// its path is short, however deep the folder lies (the kernel takes 107 bytes), and it is the same folder whatever it
/// is called meanwhile. Who may use the store at all is a matter of its folder; the socket is the user's alone (0600,
/// from its first moment and under any umask), and both sides look who the other is (SO_PEERCRED).
///
/// The folder also says whether other processes work through its owner: each has a shared lock (flock) on it, which
/// goes with its process. Thread-safety: one owner.
class socket_place {
public:
  /// Errors: store_unusable.
  static result<std::shared_ptr<socket_place>> open(const std::string& folder);
  ~socket_place();
  socket_place(const socket_place&) = delete;
  socket_place& operator=(const socket_place&) = delete;

  /// A socket that listens there, in place of one that a killed owner left; non-blocking. Only for the store's owner.
  /// Errors: store_unusable (a file system without sockets).
  result<int> listen();
  /// Takes it away.
  void remove() noexcept;
  /// A connected socket; non-blocking. Errors: network, where nobody listens or another user does.
  result<int> connect() const;

  /// Says that this process works through the owner; or no longer.
  void join() noexcept;
  void part() noexcept;
  /// Whether another process says so. Takes back this one's word.
  bool others() noexcept;

private:
  socket_place(int folder, std::string path) : folder_(folder), path_(std::move(path)) {}
  int folder_ = -1;
  std::string path_;
};

/// Whether the process at the other end is the same user's, or root's.
bool same_user(int socket) noexcept;

} // namespace attune::net
