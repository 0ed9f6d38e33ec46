#include "cli/new_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace attune::cli {

status make_new_file(const std::string& path, const std::string& text, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) {
    if (errno == EEXIST)
      return error{errc::invalid_spec, "is there already, and is left as it is: give another name with -o", path};
    return error{errc::io, "cannot be made: " + std::string(std::strerror(errno)), path};
  }
  std::size_t done = 0;
  while (done < text.size()) {
    const auto n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  const bool closed = ::close(fd) == 0;
  if (done == text.size() && closed) return {};
  const std::string why = std::strerror(errno);
  ::unlink(path.c_str());
  return error{errc::io, "cannot be written: " + why, path};
}

} // namespace attune::cli
