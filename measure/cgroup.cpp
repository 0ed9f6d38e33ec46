#include "measure/cgroup.hpp"

#include "measure/scratch.hpp"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace attune::measure {

namespace {

int open_in(int folder, const char* name, int flags) { return openat(folder, name, flags | O_CLOEXEC); }

/// The last processes of a cgroup that was killed may take a moment to leave it.
void remove_folder(const std::string& path) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    if (rmdir(path.c_str()) == 0 || errno != EBUSY) return;
    timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

} // namespace

std::optional<std::string> own_cgroup() {
  std::string line, path, mount;
  std::ifstream mine("/proc/self/cgroup");
  while (std::getline(mine, line))
    if (line.starts_with("0::")) path = line.substr(3);
  std::ifstream mounts("/proc/self/mountinfo");
  while (mount.empty() && std::getline(mounts, line)) {
    // 36 35 98:0 ROOT MOUNT_POINT OPTIONS … - TYPE SOURCE OPTIONS
    auto dash = line.find(" - cgroup2 ");
    if (dash == std::string::npos) continue;
    std::istringstream fields(line);
    std::string field, root;
    for (int i = 0; i < 3; ++i) fields >> field;
    fields >> root >> mount;
    // A mount of a part of the tree: this process is below it only where its path begins with that part.
    if (root != "/") {
      if (!path.starts_with(root)) return std::nullopt;
      path.erase(0, root.size());
    }
  }
  if (path.empty() && mount.empty()) return std::nullopt;
  if (mount.empty() || path.find("..") != std::string::npos) return std::nullopt;
  while (!path.empty() && path.back() == '/') path.pop_back();
  return mount + path;
}

cgroup::cgroup(std::string path) : path_(std::move(path)) {
  if (mkdir(path_.c_str(), 0755) != 0 && errno != EEXIST) return;
  folder_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_) return;
  events_.reset(open_in(folder_.get(), "cgroup.events", O_RDONLY));
  kill_.reset(open_in(folder_.get(), "cgroup.kill", O_WRONLY));
}

cgroup::~cgroup() {
  if (kill_ && populated()) kill();
  remove_folder(path_);
}

bool cgroup::populated() const {
  std::array<char, 128> buffer;
  ssize_t n = pread(events_.get(), buffer.data(), buffer.size(), 0);
  return n > 0 &&
         std::string_view(buffer.data(), static_cast<std::size_t>(n)).find("populated 1") != std::string_view::npos;
}

std::vector<pid_t> cgroup::members() const {
  std::vector<pid_t> out;
  descriptor file(open_in(folder_.get(), "cgroup.procs", O_RDONLY));
  if (!file) return out;
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t n = 0; (n = read(file.get(), buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(n));
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    pid_t pid = 0;
    auto [next, code] = std::from_chars(at, end, pid);
    if (code != std::errc{}) break;
    out.push_back(pid);
    at = next + 1;
  }
  return out;
}

void cgroup::kill() {
  was_killed_ = true;
  // A failure here is seen by who waits for the cgroup to be empty.
  [[maybe_unused]] ssize_t n = write(kill_.get(), "1", 1);
}

std::unique_ptr<cgroup_pool> cgroup_pool::open(const std::string& name) {
  auto own = own_cgroup();
  if (!own) return nullptr;
  std::string path = *own + "/" + name;
  if (mkdir(path.c_str(), 0755) != 0) return nullptr;
  std::unique_ptr<cgroup_pool> pool(new cgroup_pool(path));
  if (access((path + "/cgroup.kill").c_str(), W_OK) != 0 || access((*own + "/cgroup.procs").c_str(), W_OK) != 0)
    return nullptr;
  return pool;
}

cgroup_pool::~cgroup_pool() {
  free_.clear();
  remove_folder(path_);
}

std::unique_ptr<cgroup> cgroup_pool::take() {
  if (!free_.empty()) {
    auto out = std::move(free_.back());
    free_.pop_back();
    return out;
  }
  auto made = std::make_unique<cgroup>(path_ + "/" + std::to_string(made_++));
  return made->ok() ? std::move(made) : nullptr;
}

void sweep_cgroups() {
  auto own = own_cgroup();
  if (!own) return;
  std::error_code code;
  std::vector<std::filesystem::path> dead;
  for (std::filesystem::directory_iterator at(*own, code), end; !code && at != end; at.increment(code)) {
    std::string name = at->path().filename().string();
    process_stamp stamp;
    if (name.starts_with("attune-") && stamp.read(std::string_view(name).substr(7)) && stamp.gone())
      dead.push_back(at->path());
  }
  for (const auto& folder : dead) {
    if (descriptor all{::open((folder / "cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC)}) [[maybe_unused]]
      ssize_t n = write(all.get(), "1", 1);
    for (std::filesystem::directory_iterator at(folder, code), end; !code && at != end; at.increment(code))
      if (at->is_directory(code)) remove_folder(at->path().string());
    remove_folder(folder.string());
  }
}

void cgroup_pool::give(std::unique_ptr<cgroup> empty) {
  if (!empty->was_killed()) free_.push_back(std::move(empty));
}

} // namespace attune::measure
