#include "measure/process_tree.hpp"

#include "measure/descriptor.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sched.h>
#include <set>

namespace attune::measure {

namespace {

/// Whether it is this process that lacks something, not the file.
bool in_want(int code) { return code == EMFILE || code == ENFILE || code == ENOMEM; }

template <std::size_t Size>
std::string_view read_small(const char* path, std::array<char, Size>& buffer) {
  descriptor file(open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  ssize_t n = read(file.get(), buffer.data(), buffer.size());
  return n > 0 ? std::string_view(buffer.data(), static_cast<std::size_t>(n)) : std::string_view{};
}

template <class Integer>
bool take(std::string_view& text, Integer& out) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (code != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool among(std::span<const pid_t> pids, pid_t pid) { return std::find(pids.begin(), pids.end(), pid) != pids.end(); }

} // namespace

std::optional<process_entry> read_process(pid_t pid, bool* blind) {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", static_cast<int>(pid));
  std::array<char, 1024> buffer;
  errno = 0;
  auto text = read_small(path.data(), buffer);
  if (text.empty() && blind != nullptr && in_want(errno)) *blind = true;
  // The second field is the program's name in parentheses and may hold anything, also parentheses.
  auto close = text.rfind(')');
  if (close == std::string_view::npos || close + 3 >= text.size()) return std::nullopt;
  process_entry entry;
  entry.pid = pid;
  entry.state = text[close + 2];
  text.remove_prefix(close + 3);
  if (!take(text, entry.parent) || !take(text, entry.group) || !take(text, entry.session)) return std::nullopt;
  long long skipped = 0;
  for (int field = 7; field < 22; ++field)
    if (!take(text, skipped)) return std::nullopt;
  if (!take(text, entry.start)) return std::nullopt;
  return entry;
}

std::vector<process_entry> list_processes(bool* blind) {
  std::vector<process_entry> out;
  std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  if (!folder) {
    if (blind != nullptr) *blind = true;
    return out;
  }
  while (const dirent* item = readdir(folder.get())) { // NOLINT(concurrency-mt-unsafe): each stream has one reader
    pid_t pid = 0;
    std::string_view name = item->d_name;
    auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (code != std::errc{} || end != name.data() + name.size()) continue;
    if (auto entry = read_process(pid, blind)) out.push_back(*entry);
  }
  return out;
}

namespace {

std::string environment_of(pid_t pid) {
  std::array<char, 40> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/environ", static_cast<int>(pid));
  descriptor file(open(path.data(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 8192> buffer;
  for (ssize_t n = 0; (n = read(file.get(), buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(n));
  return text;
}

} // namespace

std::string mark_of(pid_t pid) {
  std::string text = environment_of(pid);
  // In the middle of its exec a process has no environment for a moment.
  for (int attempt = 0; attempt < 2 && text.empty(); ++attempt) {
    sched_yield();
    text = environment_of(pid);
  }
  for (std::size_t at = 0; at < text.size();) {
    auto end = text.find('\0', at);
    if (end == std::string::npos) end = text.size();
    std::string_view entry(text.data() + at, end - at);
    if (entry.starts_with(mark_name) && entry.size() > mark_name.size() && entry[mark_name.size()] == '=')
      return std::string(entry.substr(mark_name.size() + 1));
    at = end + 1;
  }
  return {};
}

std::string name_of(pid_t pid) {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/comm", static_cast<int>(pid));
  std::array<char, 32> buffer;
  auto text = read_small(path.data(), buffer);
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return std::string(text);
}

bool signal_process(const process_entry& entry, int signal) {
  descriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, entry.pid, 0)));
  if (!pidfd) return false;
  auto now = read_process(entry.pid);
  if (!now || now->start != entry.start) return false;
  return syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0;
}

std::optional<pid_t> last_pid() {
  std::array<char, 128> buffer;
  auto text = read_small("/proc/loadavg", buffer);
  auto space = text.rfind(' ');
  if (space == std::string_view::npos) return std::nullopt;
  text.remove_prefix(space);
  pid_t pid = 0;
  return take(text, pid) ? std::optional(pid) : std::nullopt;
}

std::vector<process_entry> descendants(const std::vector<process_entry>& all, pid_t root, std::uint64_t since,
                                       std::span<const pid_t> also, std::span<const pid_t> strange) {
  std::vector<const process_entry*> rest;
  std::set<pid_t> found;
  std::vector<process_entry> out;
  auto add = [&](const process_entry& entry) {
    found.insert(entry.pid);
    out.push_back(entry);
  };
  for (const process_entry& entry : all) {
    if (entry.start < since || among(strange, entry.pid)) continue;
    if (entry.pid == root || entry.session == root || entry.group == root || among(also, entry.pid))
      add(entry);
    else
      rest.push_back(&entry);
  }
  for (bool grown = true; grown;) {
    grown = false;
    for (auto& entry : rest) {
      if (!entry || !found.contains(entry->parent)) continue;
      add(*entry);
      entry = nullptr;
      grown = true;
    }
  }
  return out;
}

std::vector<process_entry> orphans(const std::vector<process_entry>& all, std::span<const pid_t> reapers,
                                   std::uint64_t since, pid_t own_session, std::span<const pid_t> known) {
  std::vector<process_entry> out;
  for (const process_entry& entry : all)
    if (entry.start >= since && entry.session != own_session && among(reapers, entry.parent) &&
        !among(known, entry.pid))
      out.push_back(entry);
  return out;
}

std::vector<pid_t> ancestors(const std::vector<process_entry>& all, pid_t pid) {
  std::vector<pid_t> out;
  for (bool found = true; found && out.size() < all.size();) {
    found = false;
    for (const process_entry& entry : all)
      if (entry.pid == pid && entry.parent != 0) {
        out.push_back(pid = entry.parent);
        found = true;
        break;
      }
  }
  return out;
}

} // namespace attune::measure
