#include "net/audit_log.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace attune::net {

namespace {

constexpr const char* log_file = "audit.log";
constexpr std::size_t text_most = 300;

/// How many bytes of a UTF-8 character begin `text`; 0: none does (RFC 3629).
std::size_t character(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto tail = [&](std::size_t i) { return (at(i) & 0xc0) == 0x80; };
  const auto first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf && tail(1)) return 2;
  if ((first & 0xf0) == 0xe0 && tail(1) && tail(2) && !(first == 0xe0 && at(1) < 0xa0) &&
      !(first == 0xed && at(1) >= 0xa0))
    return 3;
  if (first >= 0xf0 && first <= 0xf4 && tail(1) && tail(2) && tail(3) && !(first == 0xf0 && at(1) < 0x90) &&
      !(first == 0xf4 && at(1) >= 0x90))
    return 4;
  return 0;
}

void quote(std::string& out, std::string_view text) {
  const bool cut = text.size() > text_most;
  text = text.substr(0, text_most);
  out += '"';
  while (!text.empty()) {
    const auto n = character(text);
    const char c = text.front();
    if (n == 0) {
      out += "\\ufffd";
    } else if (n > 1) {
      out += text.substr(0, n);
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
      constexpr const char* hex = "0123456789abcdef";
      out += "\\u00";
      out += hex[(c >> 4) & 15];
      out += hex[c & 15];
    } else {
      out += c;
    }
    text.remove_prefix(n == 0 ? 1 : n);
  }
  out += cut ? "...\"" : "\"";
}

void field(std::string& out, std::string_view name, std::string_view text) {
  out += out.size() > 1 ? ", " : "";
  quote(out, name);
  out += ": ";
  quote(out, text);
}

std::string numbered(std::size_t n) { return n == 0 ? log_file : log_file + ("." + std::to_string(n)); }

} // namespace

audit_log::audit_log(private_folder folder, const audit_limits& limits) : folder_(std::move(folder)), limits_(limits) {}

status audit_log::open() {
  auto opened = folder_.open_to_append(log_file);
  if (!opened) return opened.err();
  file_ = std::move(*opened);
  return {};
}

status audit_log::rotate() {
  const auto lock = folder_.lock();
  if (!lock) return lock.err();
  // Another process may have done it meanwhile.
  if (auto done = open(); !done) return done;
  struct stat s {};
  if (::fstat(file_.get(), &s) == 0 && static_cast<std::size_t>(s.st_size) < limits_.file_bytes / 2) return {};
  for (std::size_t n = limits_.old_files; n > 0; --n)
    [[maybe_unused]] const auto moved = folder_.rename(numbered(n - 1), numbered(n)); // not all may be there yet
  if (limits_.old_files == 0 && ::ftruncate(file_.get(), 0) != 0)
    return error{errc::io, std::string("the audit log cannot be shortened: ") + std::strerror(errno), {}};
  return open();
}

status audit_log::write(nanoseconds at, const audit_who& who, std::string_view did, const audit_details& more) {
  std::string line = "{";
  field(line, "at", rfc3339(at));
  field(line, "token", who.token);
  field(line, "role", who.role);
  field(line, "name", who.name);
  field(line, "peer", who.peer);
  field(line, "did", did);
  for (const auto& [name, text] : more) field(line, name, text);
  line += "}\n";

  const auto path = folder_.path() + "/" + log_file;
  struct stat mine {
  }, there{};
  // Another process may have begun a new one.
  const bool current = file_ && ::fstat(file_.get(), &mine) == 0 && ::stat(path.c_str(), &there) == 0 &&
                       mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
  if (!current) {
    if (auto done = open(); !done) return done;
    if (::fstat(file_.get(), &mine) != 0) return error{errc::io, "the audit log cannot be read", {}};
  }
  if (mine.st_size > 0 && static_cast<std::size_t>(mine.st_size) + line.size() > limits_.file_bytes)
    if (auto done = rotate(); !done) return done;
  // In one piece, so that lines of several processes do not mix.
  ssize_t n = -1;
  do n = ::write(file_.get(), line.data(), line.size());
  while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(line.size())) return {};
  const int why = n < 0 ? errno : ENOSPC;
  if (n > 0 && ::fstat(file_.get(), &mine) == 0 && mine.st_size >= n) {
    [[maybe_unused]] const int cut = ::ftruncate(file_.get(), mine.st_size - n);
  }
  return error{errc::io, "the audit log cannot be written: " + std::string(std::strerror(why)), {}};
}

} // namespace attune::net
