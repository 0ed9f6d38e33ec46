#include "tests/scenarios/attune_process.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

namespace attune::testing {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

std::string unique_name() {
  static std::atomic<unsigned> next{0};
  return std::to_string(getpid()) + "-" + std::to_string(next++);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& t : texts) out.push_back(t.data());
  out.push_back(nullptr);
  return out;
}

} // namespace

std::string attune_program() {
  const char* given = std::getenv("ATTUNE_PROGRAM");
  return given != nullptr ? given : ATTUNE_PROGRAM_BUILT;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  if (in.peek() != std::ifstream::traits_type::eof()) out << in.rdbuf();
  return out.str();
}

void write_file(const std::string& path, std::string_view contents, bool executable) {
  {
    std::ofstream out(path, std::ios::binary);
    out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    if (!out.flush()) throw std::runtime_error("cannot write " + path);
  }
  if (executable) fs::permissions(path, fs::perms::owner_all);
}

std::vector<std::string> read_lines(const std::string& path) {
  std::istringstream in(read_file(path));
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

json ended::document() const { return json::parse(out, nullptr, false).is_discarded() ? json() : json::parse(out); }

std::string ended::told() const {
  std::ostringstream text;
  text << "exit " << exit << " signal " << signal << (timed_out ? " (killed at its limit)" : "") << " after " << seconds
       << " s\n--- out\n"
       << out.substr(0, 4000) << "\n--- err\n"
       << err.substr(0, 4000);
  return text.str();
}

process::process(const std::vector<std::string>& argv, const std::string& in, const environment& extra)
    : start_(std::chrono::steady_clock::now()) {
  const auto name = unique_name();
  out_ = in + "/.out-" + name;
  err_ = in + "/.err-" + name;
  auto words = argv;
  std::vector<std::string> variables;
  for (char** v = environ; *v != nullptr; ++v) {
    const std::string_view known(*v);
    bool replaced = false;
    for (const auto& [key, text] : extra) replaced = replaced || known.starts_with(key + "=");
    if (!replaced) variables.emplace_back(known);
  }
  for (const auto& [key, text] : extra) variables.push_back(key + "=" + text);
  auto argv_pointers = pointers(words), env_pointers = pointers(variables);

  const int out = open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int err = open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (out < 0 || err < 0 || nothing < 0) fail("open");
  pid_ = fork();
  if (pid_ < 0) fail("fork");
  if (pid_ == 0) {
    if (dup2(nothing, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 || chdir(in.c_str()) != 0) _exit(126);
    execve(argv_pointers[0], argv_pointers.data(), env_pointers.data());
    _exit(127);
  }
  for (const int fd : {out, err, nothing}) close(fd);
  handle_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (handle_ < 0) fail("pidfd_open");
}

process::~process() {
  if (!over_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(handle_);
}

void process::signal(int number) const {
  if (!over_) kill(pid_, number);
}

bool process::gone_within(milliseconds d) const {
  pollfd watched{handle_, POLLIN, 0};
  return over_ || poll(&watched, 1, static_cast<int>(d.count())) == 1;
}

ended process::wait(milliseconds limit) {
  ended e;
  if (!gone_within(limit)) {
    e.timed_out = true;
    kill(pid_, SIGKILL);
  }
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) fail("waitpid");
  over_ = true;
  e.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (WIFEXITED(status)) e.exit = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) e.signal = WTERMSIG(status);
  e.out = out();
  e.err = err();
  return e;
}

scenario::scenario() {
  auto pattern = (fs::temp_directory_path() / "attune-scenario-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) fail("mkdtemp");
  folder_ = pattern;
  mark_ = fs::path(folder_).filename().string();
  fs::create_directory(temporary());
}

scenario::~scenario() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string scenario::write(const std::string& name, std::string_view contents, bool executable) const {
  write_file(path(name), contents, executable);
  return path(name);
}

process::environment scenario::environment_with(const process::environment& extra) const {
  auto all = extra;
  for (auto& usual : process::environment{{"ATTUNE_STORE", store()}, {"TMPDIR", temporary()}, {"SCENARIO_MARK", mark_}})
    if (std::none_of(extra.begin(), extra.end(), [&](const auto& given) { return given.first == usual.first; }))
      all.push_back(std::move(usual));
  return all;
}

process scenario::start(const std::vector<std::string>& arguments, const process::environment& extra) const {
  std::vector<std::string> argv{attune_program()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return {argv, folder_, environment_with(extra)};
}

std::unique_ptr<process> scenario::start_behind(const std::vector<std::string>& prefix,
                                                const std::vector<std::string>& arguments,
                                                const process::environment& extra) const {
  auto argv = prefix;
  argv.push_back(attune_program());
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return std::make_unique<process>(argv, folder_, environment_with(extra));
}

ended scenario::attune(const std::vector<std::string>& arguments, milliseconds limit,
                       const process::environment& extra) const {
  return start(arguments, extra).wait(limit);
}

ended scenario::tune(const std::string& spec, std::vector<std::string> more, milliseconds limit) const {
  std::vector<std::string> arguments{"tune", spec, "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return attune(arguments, limit);
}

json scenario::history(const std::string& spec) const {
  const auto told = attune({"history", spec, "--json"}).document();
  return told.is_object() && told.contains("records") ? told["records"] : json();
}

std::vector<std::string> scenario::survivors() const {
  std::vector<std::string> out;
  const auto wanted = "SCENARIO_MARK=" + mark_;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto variables = read_file("/proc/" + name + "/environ");
    if (variables.find(wanted) == std::string::npos) continue;
    auto line = read_file("/proc/" + name + "/cmdline");
    for (auto& c : line)
      if (c == '\0') c = ' ';
    out.push_back(name + ": " + line);
  }
  return out;
}

std::multiset<std::string> configurations(const json& records) {
  std::multiset<std::string> out;
  for (const auto& r : records) out.insert(r.at("config").dump());
  return out;
}

} // namespace attune::testing
