#include "net/manifest.hpp"

#include "measure/descriptor.hpp"
#include "net/artifact_store.hpp"
#include "net/network_error.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace attune::net {

namespace {

error failed(const char* what, const std::string& folder, std::string_view path) {
  return error{
      errc::io, std::string(what) + " '" + folder + "/" + std::string(path) + "': " + std::strerror(errno), {}};
}

std::vector<const artifact_file*> sorted(const manifest& m) {
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

digest manifest::id() const {
  std::string all = "attune artifact\n";
  const auto number = [&](std::uint64_t n) {
    for (int shift = 56; shift >= 0; shift -= 8) all += static_cast<char>((n >> shift) & 0xff);
  };
  for (const auto* f : sorted(*this)) {
    number(f->path.size());
    all += f->path;
    all += f->contents.view();
    number(f->size);
    all += f->executable ? 'x' : '-';
  }
  return sha256(all);
}

std::uint64_t manifest::bytes() const noexcept {
  std::uint64_t out = 0;
  for (const auto& f : files) out += f.size;
  return out;
}

status check(const manifest& m) {
  if (m.files.size() > manifest::files_most)
    return network_error("an artifact has more than " + std::to_string(manifest::files_most) + " files");
  std::uint64_t all = 0;
  for (const auto& f : m.files) {
    if (!stays_below(f.path))
      return network_error("the path " + quoted(f.path, 100) + " does not stay below its folder");
    if (f.size > (std::uint64_t{1} << 60) || (all += f.size) > (std::uint64_t{1} << 60))
      return network_error("an artifact is too large");
  }
  const auto by_path = sorted(m);
  for (std::size_t i = 0; i + 1 < by_path.size(); ++i)
    if (by_path[i]->path == by_path[i + 1]->path)
      return network_error("the path " + quoted(by_path[i]->path, 100) + " is there twice");
  // Everything below `a` stands behind `a/`, wherever that is in the order.
  for (const auto* f : by_path) {
    const auto below = std::lower_bound(by_path.begin(), by_path.end(), f->path + "/",
                                        [](const artifact_file* x, const std::string& p) { return x->path < p; });
    if (below != by_path.end() && (*below)->path.starts_with(f->path + "/"))
      return network_error("the path " + quoted(f->path, 100) + " is a file and a folder");
  }
  return {};
}

void to(const manifest& from, wire::v1::ArtifactManifest& out) {
  for (const auto& f : from.files) {
    auto& o = *out.add_files();
    o.set_path(f.path);
    o.set_sha256(f.contents.view().data(), f.contents.view().size());
    o.set_size(f.size);
    o.set_executable(f.executable);
  }
}

result<manifest> from(const wire::v1::ArtifactManifest& in) {
  manifest out;
  if (in.files_size() > static_cast<int>(manifest::files_most)) return network_error("an artifact has too many files");
  for (const auto& f : in.files()) {
    auto& o = out.files.emplace_back();
    o.path = f.path();
    if (f.sha256().size() != o.contents.bytes.size()) return network_error("a hash is not one");
    std::memcpy(o.contents.bytes.data(), f.sha256().data(), o.contents.bytes.size());
    o.size = f.size();
    o.executable = f.executable();
  }
  if (auto good = check(out); !good) return good.err();
  return out;
}

result<manifest> take_in(artifact_store& store, const std::string& folder, const std::vector<std::string>& names) {
  const measure::descriptor top(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top) return failed("cannot use", folder, "");
  manifest out;
  for (const auto& name : names) {
    const auto wrong = [&](const char* what) { return error{errc::invalid_spec, quoted(name, 100) + " " + what, {}}; };
    if (!stays_below(name)) return wrong("cannot be sent: name it relative to its folder, and below it");
    std::string_view rest = name;
    const auto in = parent_of(top.get(), rest, false);
    const measure::descriptor file(
        in ? ::openat(in.get(), std::string(rest).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1);
    if (!file && (errno == ELOOP || errno == ENOTDIR))
      return wrong("cannot be sent: a symbolic link is on the way, or it is below a file");
    struct stat s {};
    if (!file || ::fstat(file.get(), &s) != 0) return failed("cannot read", folder, name);
    if (!S_ISREG(s.st_mode)) return wrong("cannot be sent: it is no file");
    auto& f = out.files.emplace_back();
    f.path = name;
    f.executable = (s.st_mode & 0111) != 0;
    const auto added = store.add(file.get());
    if (!added) return error{added.err().code, added.err().message, folder + "/" + name};
    f.contents = added->contents;
    f.size = added->size;
  }
  if (auto good = check(out); !good) return error{errc::invalid_spec, good.err().message, {}};
  return out;
}

status lay_out(const manifest& m, artifact_store& store, const std::string& folder) {
  if (auto good = check(m); !good) return good;
  std::vector<artifact_store::pin> used;
  for (const auto& f : m.files) {
    auto found = store.get(f.contents);
    if (!found) return found.err();
    if (!*found || (*found)->size() != f.size)
      return error{errc::not_found, "the contents of " + quoted(f.path, 100) + " are not there", {}};
    used.push_back(std::move(**found));
  }
  const measure::descriptor top(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top) return failed("cannot use", folder, "");
  for (std::size_t i = 0; i < used.size(); ++i) {
    const auto& f = m.files[i];
    std::string_view rest = f.path;
    const auto in = parent_of(top.get(), rest, true);
    const measure::descriptor out(
        in ? ::openat(in.get(), std::string(rest).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
           : -1);
    if (!out) return failed("cannot make", folder, f.path);
    if (auto copied = used[i].copy_to(out.get()); !copied) return copied;
    if (::fchmod(out.get(), f.executable ? 0755 : 0644) != 0) return failed("cannot make", folder, f.path);
  }
  return {};
}

} // namespace attune::net
