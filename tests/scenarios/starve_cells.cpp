#include "tests/scenarios/starve_cells.hpp"

#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <unistd.h>

namespace attune::testing {

namespace fs = std::filesystem;

namespace {

/// Nobody's, on any system that hands its numbers out in order.
constexpr unsigned lonely_user = 54321;

} // namespace

starved_words as_lonely_user() {
  const auto id = std::to_string(lonely_user);
  return {"/usr/bin/setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups", "--"};
}

void give_to_lonely_user(const scenario& at) {
  if (::geteuid() != 0) throw not_here{"another user needs root"};
  if (::chown(at.folder().c_str(), lonely_user, lonely_user) != 0) throw not_here{"chown is not permitted"};
  for (const auto& entry : fs::recursive_directory_iterator(at.folder()))
    if (::lchown(entry.path().c_str(), lonely_user, lonely_user) != 0) throw not_here{"chown is not permitted"};
}

starved_words limited(const std::string& what, std::uint64_t amount) {
  // The hard limit as well: the program may not raise it again.
  return {"/usr/bin/prlimit", "--" + what + "=" + std::to_string(amount) + ":" + std::to_string(amount), "--"};
}

void squeeze(const process& of, __rlimit_resource what, rlim_t amount) {
  rlimit now{};
  if (::prlimit(of.pid(), what, nullptr, &now) == 0) {
    now.rlim_cur = std::min(amount, now.rlim_max);
    if (::prlimit(of.pid(), what, &now, nullptr) == 0) return;
  }
  // Without the right to do it to others' processes it is done as their user.
  const char* name = what == RLIMIT_NOFILE ? "nofile" : what == RLIMIT_NPROC ? "nproc" : "as";
  auto words = as_lonely_user();
  words.insert(words.end(),
               {"/usr/bin/prlimit", "--pid=" + std::to_string(of.pid()),
                std::string("--") + name + "=" + (amount == RLIM_INFINITY ? "1024" : std::to_string(amount)) + ":"});
  if (process(words, "/tmp").wait().exit != 0) throw not_here{"prlimit is not permitted"};
}

rlim_t open_files(const process& of) {
  const fs::directory_iterator all("/proc/" + std::to_string(of.pid()) + "/fd");
  return static_cast<rlim_t>(std::distance(begin(all), end(all)));
}

rlim_t address_space(const process& of) {
  std::istringstream in(read_file("/proc/" + std::to_string(of.pid()) + "/statm"));
  rlim_t pages = 0;
  in >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

double processor_time(const process& of) {
  const auto text = read_file("/proc/" + std::to_string(of.pid()) + "/stat");
  std::istringstream in(text.substr(std::min(text.size(), text.rfind(')') + 2)));
  std::string skipped;
  for (int field = 3; field < 14; ++field) in >> skipped;
  double user = 0, system = 0;
  in >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void delete_in_use(const std::string& folder) {
  std::error_code ec;
  for (int i = 0; i < 1000 && fs::exists(folder); ++i) fs::remove_all(folder, ec);
}

small_disk::small_disk(std::string path, const std::string& options) : path_(std::move(path)), options_(options) {
  fs::create_directory(path_);
  if (::mount("tmpfs", path_.c_str(), "tmpfs", 0, options_.c_str()) != 0) throw not_here{"a small tmpfs needs root"};
}

small_disk::~small_disk() { ::umount2(path_.c_str(), MNT_DETACH); }

void small_disk::fill() const {
  std::ofstream out(path_ + "/filler", std::ios::binary);
  const std::string block(4096, 'f');
  while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
}

void small_disk::free() const { fs::remove(path_ + "/filler"); }

void small_disk::make_read_only(bool on) const {
  unsigned long how = MS_REMOUNT;
  if (on) how |= MS_RDONLY;
  if (::mount("tmpfs", path_.c_str(), "tmpfs", how, nullptr) != 0)
    throw not_here{"a read-only tmpfs is not permitted (something writes to it)"};
}

std::string said(const ended& e) {
  std::istringstream in(e.err);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("attune: ")) continue;
    out = line.substr(8);
    if (e.exit == 0) break;
  }
  return out;
}

std::string ending(const ended& e) {
  if (e.timed_out) return "does not end";
  return e.signal != 0 ? "SIG" + std::string(::sigabbrev_np(e.signal)) : "exit " + std::to_string(e.exit);
}

void must_end_in_order(const ended& e) {
  must(!e.timed_out, "it does not end: " + e.told());
  must(e.signal == 0, "ended by a signal: " + e.told());
  must(e.exit == 0 || !said(e).empty(), "not a word of why: " + e.told());
  for (const auto* text : {"terminate called", "unhandled exception", "unexpected:", "what():", "bad_alloc"})
    must(e.err.find(text) == std::string::npos, "that is no message: " + e.told());
}

void starved_ledger::note() {
  values_.clear();
  runs_ = runs_of(at_);
  if (!at_.store_exists()) return;
  const auto e = at_.attune({"history", "s.yaml", "--json"});
  const auto d = e.document();
  if (!d.is_object() || !d.contains("records")) {
    // The store was not even begun.
    must(e.exit == 3 && e.err.find("there is no store") != std::string::npos, "attune history: " + e.told());
    return;
  }
  for (const auto& r : d["records"]) {
    if (r["value"].is_null()) continue;
    const int x = r["config"]["x"].get<int>();
    must(r["value"] == x, "a wrong value: " + r.dump());
    must(runs_.contains(x), "a record without a run: " + r.dump());
    must(values_.emplace(x, r.dump()).second, "two records of one configuration: " + r.dump());
  }
}

void starved_ledger::must_have_kept() {
  const auto values = values_;
  const auto runs = runs_;
  note();
  for (const auto& [x, text] : values) {
    const auto at = values_.find(x);
    must(at != values_.end(), "lost: " + text);
    must(at->second == text, "changed: " + text + " became " + at->second);
    must(runs_.at(x) == runs.at(x), "measured again though it was recorded: x=" + std::to_string(x));
  }
}

void must_leave_nothing(const scenario& at) {
  const auto left = at.survivors();
  must(left.empty(), "a process is left: " + (left.empty() ? "" : left.front()));
  if (!fs::exists(at.temporary())) return;
  for (const auto& entry : fs::directory_iterator(at.temporary()))
    throw broken{"a file is left: " + entry.path().string()};
}

} // namespace attune::testing
