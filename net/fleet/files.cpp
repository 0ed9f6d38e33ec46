#include "net/fleet/files.hpp"

#include <openssl/evp.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <unistd.h>

namespace attune::net::fleet {

namespace fs = std::filesystem;

namespace {

error failed(const std::string& what, const std::string& path) {
  return error{errc::io, what + " '" + path + "': " + std::strerror(errno), {}};
}

struct closed {
  int fd;
  ~closed() {
    if (fd >= 0) ::close(fd);
  }
};

/// The SHA-256 and the size of a file, in pieces.
status read_through(const std::string& path, digest& sha, std::uint64_t& size) {
  const closed file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return failed("cannot read", path);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr);
  std::vector<char> buffer(1 << 18);
  size = 0;
  for (;;) {
    const auto n = ::read(file.fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("cannot read", path);
    if (n == 0) break;
    EVP_DigestUpdate(hash.get(), buffer.data(), static_cast<std::size_t>(n));
    size += static_cast<std::uint64_t>(n);
  }
  EVP_DigestFinal_ex(hash.get(), sha.bytes.data(), nullptr);
  return {};
}

status copy_file(const std::string& from, const std::string& to, std::uint32_t mode) {
  const closed in{::open(from.c_str(), O_RDONLY | O_CLOEXEC)};
  if (in.fd < 0) return failed("cannot read", from);
  const closed out{::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (out.fd < 0) return failed("cannot write", to);
  std::vector<char> buffer(1 << 18);
  for (;;) {
    const auto n = ::read(in.fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("cannot read", from);
    if (n == 0) break;
    for (ssize_t done = 0; done < n;) {
      const auto w = ::write(out.fd, buffer.data() + done, static_cast<std::size_t>(n - done));
      if (w < 0 && errno == EINTR) continue;
      if (w < 0) return failed("cannot write", to);
      done += w;
    }
  }
  if (::fchmod(out.fd, mode & 0777) != 0) return failed("cannot set the mode of", to);
  return {};
}

/// A link may lead anywhere, but nothing of the same list may lie at it or below it: that would be made where it leads.
status keeps_out_of_links(const std::vector<file_entry>& entries) {
  std::set<std::string_view> links;
  for (const auto& e : entries)
    if (!e.link.empty()) links.insert(e.path);
  for (const auto& e : entries) {
    const std::string_view path = e.path;
    bool through = e.link.empty() && links.contains(path);
    for (auto at = path.find('/'); at != path.npos && !through; at = path.find('/', at + 1))
      through = links.contains(path.substr(0, at));
    if (through) return error{errc::io, "'" + e.path + "' lies behind a link of the same list", {}};
  }
  return {};
}

} // namespace

bool stays_below(std::string_view path) {
  if (path.empty() || path.size() > 4096 || path.find('\0') != path.npos) return false;
  for (std::size_t at = 0; at <= path.size();) {
    const auto end = std::min(path.find('/', at), path.size());
    const auto part = path.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return false;
    at = end + 1;
  }
  return true;
}

result<std::vector<file_entry>> list_files(const std::string& folder, const std::vector<std::string>& names) {
  std::vector<file_entry> out;
  for (const auto& name : names) {
    file_entry e;
    e.path = fs::path(name).lexically_normal().string();
    if (!stays_below(e.path))
      return error{
          errc::invalid_spec, "'" + name + "' cannot be sent: name it relative to the spec's folder and below it", {}};
    struct stat info {};
    const auto path = folder + "/" + e.path;
    if (::stat(path.c_str(), &info) != 0) return failed("cannot read", path);
    if (!S_ISREG(info.st_mode)) return error{errc::invalid_spec, "'" + name + "' is no file", {}};
    e.mode = info.st_mode & 0777;
    if (const auto read = read_through(path, e.sha256, e.size); !read) return read.err();
    out.push_back(std::move(e));
  }
  return out;
}

result<std::vector<file_entry>> list_folder(const std::string& folder, std::size_t most) {
  std::vector<file_entry> out;
  std::error_code ec;
  fs::recursive_directory_iterator at(folder, ec);
  for (; !ec && at != fs::recursive_directory_iterator(); at.increment(ec)) {
    const auto path = at->path().string();
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return failed("cannot read", path);
    file_entry e;
    e.path = at->path().lexically_relative(folder).string();
    e.mode = info.st_mode & 0777;
    if (S_ISDIR(info.st_mode)) {
      e.folder = true;
    } else if (S_ISLNK(info.st_mode)) {
      e.link = fs::read_symlink(at->path(), ec).string();
    } else if (S_ISREG(info.st_mode)) {
      if (const auto read = read_through(path, e.sha256, e.size); !read) return read.err();
    } else {
      continue; // a socket, a pipe: nothing that could be sent
    }
    if (out.size() >= most) return error{errc::io, "more than " + std::to_string(most) + " files in " + folder, {}};
    out.push_back(std::move(e));
  }
  if (ec) return error{errc::io, "cannot read '" + folder + "': " + ec.message(), {}};
  std::sort(out.begin(), out.end(), [](const file_entry& a, const file_entry& b) { return a.path < b.path; });
  return out;
}

result<std::shared_ptr<blob_store>> blob_store::open(std::string folder, std::uint64_t bytes) {
  std::error_code ec;
  // What is in it is believed later: nobody else may write there.
  if (fs::create_directories(folder, ec)) fs::permissions(folder, fs::perms::owner_all, ec);
  const std::shared_ptr<blob_store> out(new blob_store(std::move(folder), bytes));
  for (fs::directory_iterator at(out->folder_, ec); !ec && at != fs::directory_iterator(); at.increment(ec)) {
    const auto name = at->path().filename().string();
    if (name.size() != 64) continue; // a part: it is taken up again when it is asked for
    const auto size = at->file_size(ec);
    out->whole_[name] = {size, 0};
    out->held_ += size;
  }
  if (ec) return error{errc::io, "cannot use the folder '" + out->folder_ + "': " + ec.message(), {}};
  return out;
}

bool blob_store::has(const digest& d) const {
  const std::lock_guard guard(lock_);
  return whole_.contains(d.hex());
}

std::string blob_store::path(const digest& d) const { return folder_ + "/" + d.hex(); }

std::uint64_t blob_store::offset(const digest& d) const {
  struct stat info {};
  return ::stat((path(d) + ".part").c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

status blob_store::write(const digest& d, std::uint64_t offset, std::string_view data, std::uint64_t size) {
  const auto part = path(d) + ".part";
  {
    const closed file{::open(part.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
    if (file.fd < 0) return failed("cannot write", part);
    for (std::size_t done = 0; done < data.size();) {
      const auto n = ::pwrite(file.fd, data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failed("cannot write", part);
      done += static_cast<std::size_t>(n);
    }
  }
  if (offset + data.size() < size) return {};
  digest came;
  std::uint64_t length = 0;
  if (auto read = read_through(part, came, length); !read) return read;
  if (came != d || length != size) {
    ::unlink(part.c_str());
    return error{errc::network, "a file did not come as it was sent", {}};
  }
  const std::lock_guard guard(lock_);
  if (::rename(part.c_str(), path(d).c_str()) != 0) return failed("cannot write", path(d));
  whole_[d.hex()] = {size, ++clock_};
  held_ += size;
  make_room();
  return {};
}

void blob_store::make_room() {
  while (held_ > most_ && whole_.size() > 1) {
    const auto oldest = std::min_element(whole_.begin(), whole_.end(),
                                         [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
    if (oldest->second.used == clock_) return;
    ::unlink((folder_ + "/" + oldest->first).c_str());
    held_ -= oldest->second.size;
    whole_.erase(oldest);
  }
}

status blob_store::lay_out(const std::vector<file_entry>& entries, const std::string& folder) {
  if (auto apart = keeps_out_of_links(entries); !apart) return apart;
  std::uint64_t stamp = 0;
  {
    const std::lock_guard guard(lock_);
    stamp = ++clock_;
    for (const auto& e : entries) {
      if (e.folder || !e.link.empty()) continue;
      const auto at = whole_.find(e.sha256.hex());
      if (at == whole_.end()) return error{errc::io, "the contents of '" + e.path + "' are not there", {}};
      at->second.used = stamp;
    }
  }
  // Folders that may not be written to get their mode when they are full.
  std::vector<std::pair<std::string, std::uint32_t>> modes;
  for (const auto& e : entries) {
    const auto to = folder + "/" + e.path;
    std::error_code ec;
    if (e.folder) {
      fs::create_directories(to, ec);
      modes.emplace_back(to, e.mode);
      if (ec) return error{errc::io, "cannot make '" + to + "': " + ec.message(), {}};
      continue;
    }
    fs::create_directories(fs::path(to).parent_path(), ec);
    if (!e.link.empty()) {
      if (::symlink(e.link.c_str(), to.c_str()) != 0) return failed("cannot make", to);
      continue;
    }
    if (auto copied = copy_file(path(e.sha256), to, e.mode); !copied) return copied;
  }
  for (auto at = modes.rbegin(); at != modes.rend(); ++at) ::chmod(at->first.c_str(), at->second & 0777);
  return {};
}

} // namespace attune::net::fleet
