#include "net/manifest.hpp"

#include "measure/descriptor.hpp"
#include "net/artifact_store.hpp"
#include "net/hasher.hpp"
#include "net/network_error.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <unistd.h>

namespace attune::net {

namespace fs = std::filesystem;

namespace {

error failed_at(const char* what, const std::string& folder, std::string_view path) {
  return error{
      errc::io, std::string(what) + " '" + folder + "/" + std::string(path) + "': " + std::strerror(errno), {}};
}

std::vector<const artifact_file*> files_by_name(const manifest& m) {
  std::vector<const artifact_file*> out;
  out.reserve(m.files.size());
  for (const auto& f : m.files) out.push_back(&f);
  std::sort(out.begin(), out.end(), [](const auto* a, const auto* b) { return a->path < b->path; });
  return out;
}

/// The folder in which the last part of `path` is, opened part by part so that no link is followed; `make` makes what
/// is missing.
measure::descriptor parent_of(int folder, std::string_view& path, bool make) {
  measure::descriptor at(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (auto slash = path.find('/'); at && slash != std::string_view::npos; slash = path.find('/')) {
    const std::string part(path.substr(0, slash));
    path.remove_prefix(slash + 1);
    if (make && ::mkdirat(at.get(), part.c_str(), 0755) == 0) {
      // The umask is another's business.
      if (::fchmodat(at.get(), part.c_str(), 0755, 0) != 0) return {};
    } else if (make && errno != EEXIST) {
      return {};
    }
    at.reset(::openat(at.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  return at;
}

/// The hash and the size of an open file; false where it cannot be read.
bool hash_open_file(int file, artifact_file& out) {
  hasher h;
  std::vector<char> buffer(1u << 18);
  out.size = 0;
  for (;;) {
    const auto n = ::read(file, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) break;
    h.update({buffer.data(), static_cast<std::size_t>(n)});
    out.size += static_cast<std::uint64_t>(n);
  }
  out.contents = h.finish();
  return true;
}

} // namespace

bool stays_below(std::string_view path) noexcept {
  if (path.empty() || path.size() > manifest::path_most || path.find('\0') != std::string_view::npos) return false;
  for (;;) {
    const auto end = std::min(path.find('/'), path.size());
    const auto part = path.substr(0, end);
    if (part.empty() || part == "." || part == ".." || part.size() > manifest::name_most) return false;
    if (end == path.size()) return true;
    path.remove_prefix(end + 1);
  }
}

std::uint64_t manifest::bytes() const noexcept {
  std::uint64_t out = 0;
  for (const auto& f : files) out += f.size;
  return out;
}

status check(const manifest& m) {
  if (m.files.size() > manifest::files_most)
    return network_error("more than " + std::to_string(manifest::files_most) + " files are named");
  std::uint64_t all = 0;
  for (const auto& f : m.files) {
    if (!stays_below(f.path))
      return network_error("the path " + quoted(f.path, 100) + " does not stay below its folder");
    if (f.link.size() > manifest::path_most || f.link.find('\0') != std::string::npos || (f.folder && !f.link.empty()))
      return network_error("the link " + quoted(f.path, 100) + " is none");
    if (f.size > (std::uint64_t{1} << 60) || (all += f.size) > (std::uint64_t{1} << 60))
      return network_error("the files are too large");
  }
  const auto by_path = files_by_name(m);
  for (std::size_t i = 0; i + 1 < by_path.size(); ++i)
    if (by_path[i]->path == by_path[i + 1]->path)
      return network_error("the path " + quoted(by_path[i]->path, 100) + " is there twice");
  // Everything below `a` stands behind `a/`, wherever that is in the order.
  for (const auto* f : by_path) {
    if (f->folder) continue;
    const auto below = std::lower_bound(by_path.begin(), by_path.end(), f->path + "/",
                                        [](const artifact_file* x, const std::string& p) { return x->path < p; });
    if (below != by_path.end() && (*below)->path.starts_with(f->path + "/"))
      return network_error("the path " + quoted((*below)->path, 100) + " lies behind what is no folder");
  }
  return {};
}

void to(const manifest& from, file_entries& out) {
  for (const auto& f : from.files) {
    auto& o = *out.Add();
    o.set_path(f.path);
    o.set_mode(f.mode);
    o.set_link(f.link);
    o.set_folder(f.folder);
    if (!f.has_contents()) continue;
    o.set_sha256(f.contents.view().data(), f.contents.view().size());
    o.set_size(f.size);
  }
}

result<manifest> from(const file_entries& in) {
  manifest out;
  if (in.size() > static_cast<int>(manifest::files_most)) return network_error("too many files are named");
  out.files.reserve(static_cast<std::size_t>(in.size()));
  for (const auto& f : in) {
    auto& o = out.files.emplace_back();
    o.path = f.path();
    o.mode = f.mode() & 0777;
    o.link = f.link();
    o.folder = f.folder();
    if (!o.has_contents()) continue;
    if (f.sha256().size() != o.contents.bytes.size()) return network_error("a hash is not one");
    std::memcpy(o.contents.bytes.data(), f.sha256().data(), o.contents.bytes.size());
    o.size = f.size();
  }
  if (auto good = check(out); !good) return good.err();
  return out;
}

bool takes_long_to_check(const manifest& m, const artifact_store& store) {
  constexpr std::uint64_t quick = 4u << 20; // some milliseconds
  std::uint64_t bytes = 0;
  for (const auto& f : m.files)
    if (f.has_contents()) bytes += store.unchecked(f.contents);
  return bytes > quick;
}

result<manifest> list_files(const std::string& folder, const std::vector<std::string>& names) {
  manifest out;
  for (const auto& name : names) {
    const auto wrong = [&](const char* what) { return error{errc::invalid_spec, quoted(name, 100) + " " + what, {}}; };
    artifact_file f;
    f.path = fs::path(name).lexically_normal().string();
    if (!stays_below(f.path)) return wrong("cannot be sent: name it relative to the spec's folder and below it");
    // A pipe would wait for who writes to it.
    const measure::descriptor file(::open((folder + "/" + f.path).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat s {};
    if (!file || ::fstat(file.get(), &s) != 0) return failed_at("cannot read", folder, f.path);
    if (!S_ISREG(s.st_mode)) return wrong("is no file");
    if (!hash_open_file(file.get(), f)) return failed_at("cannot read", folder, f.path);
    f.mode = s.st_mode & 0777;
    out.files.push_back(std::move(f));
  }
  if (auto good = check(out); !good) return error{errc::invalid_spec, good.err().message, {}};
  return out;
}

result<manifest> list_folder(const std::string& folder) {
  manifest out;
  std::error_code ec;
  fs::recursive_directory_iterator at(folder, ec);
  for (; !ec && at != fs::recursive_directory_iterator(); at.increment(ec)) {
    const auto path = at->path().string();
    artifact_file f;
    f.path = at->path().lexically_relative(folder).string();
    struct stat s {};
    if (::lstat(path.c_str(), &s) != 0) return failed_at("cannot read", folder, f.path);
    f.mode = s.st_mode & 0777;
    if (S_ISDIR(s.st_mode)) {
      f.folder = true;
    } else if (S_ISLNK(s.st_mode)) {
      f.link = fs::read_symlink(at->path(), ec).string();
    } else if (S_ISREG(s.st_mode)) {
      const measure::descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      if (!file || !hash_open_file(file.get(), f)) return failed_at("cannot read", folder, f.path);
    } else {
      continue; // a socket, a pipe: nothing that could be sent
    }
    if (out.files.size() >= manifest::files_most)
      return error{errc::io, "more than " + std::to_string(manifest::files_most) + " files in " + folder, {}};
    out.files.push_back(std::move(f));
  }
  if (ec) return error{errc::io, "cannot read '" + folder + "': " + ec.message(), {}};
  std::sort(out.files.begin(), out.files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return out;
}

status lay_out(const manifest& m, artifact_store& store, const std::string& folder, bool durable) {
  if (auto good = check(m); !good) return good;
  const measure::descriptor top(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top) return failed_at("cannot use", folder, "");
  // All that is made, with the mode of those that the manifest names; what is in a folder comes before it.
  std::map<std::string, std::optional<std::uint32_t>, std::greater<>> folders;
  for (const auto& f : m.files) {
    for (auto slash = f.path.find('/'); slash != std::string::npos; slash = f.path.find('/', slash + 1))
      folders.try_emplace(f.path.substr(0, slash));
    if (f.folder) folders[f.path] = f.mode;
    // Parents of a folder's own path, too, may have to be made for what comes first.
    const auto path = f.folder ? f.path + "/" : f.path;
    std::string_view rest = path;
    const auto in = parent_of(top.get(), rest, true);
    if (!in) return failed_at("cannot make", folder, f.path);
    if (f.folder) continue;
    const std::string name(rest);
    if (!f.link.empty()) {
      if (::symlinkat(f.link.c_str(), in.get(), name.c_str()) != 0) return failed_at("cannot make", folder, f.path);
      continue;
    }
    const auto from = store.get(f.contents);
    if (!from) return from.err();
    if (!*from || (*from)->size() != f.size)
      return error{errc::not_found, "the contents of " + quoted(f.path, 100) + " are not there", {}};
    const measure::descriptor out(
        ::openat(in.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!out) return failed_at("cannot make", folder, f.path);
    if (auto copied = (*from)->copy_to(out.get()); !copied) return copied;
    if (::fchmod(out.get(), f.mode & 0777) != 0 || (durable && ::fsync(out.get()) != 0))
      return failed_at("cannot make", folder, f.path);
  }
  // Folders that may not be written to get their mode when they are full: the deepest first.
  for (const auto& [path, mode] : folders) {
    if (!mode && !durable) continue;
    std::string_view rest = path;
    const auto in = parent_of(top.get(), rest, false);
    const measure::descriptor made(
        in ? ::openat(in.get(), std::string(rest).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1);
    if (!made || (mode && ::fchmod(made.get(), *mode & 0777) != 0) || (durable && ::fsync(made.get()) != 0))
      return failed_at("cannot make", folder, path);
  }
  if (durable && ::fsync(top.get()) != 0) return failed_at("cannot make", folder, "");
  return {};
}

} // namespace attune::net
