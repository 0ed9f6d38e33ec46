// What the scenario tests share: the real program run as a user runs it, in a folder of its own that goes away.
#pragma once

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace attune::testing {

using json = nlohmann::json;
using std::chrono::milliseconds;

/// The program under test: $ATTUNE_PROGRAM, else the one of this build.
std::string attune_program();

/// A whole file; empty where there is none.
std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view contents, bool executable = false);
/// The lines of a file, without their ends; none where there is no file.
std::vector<std::string> read_lines(const std::string& path);

/// How a process ended and what it said.
struct ended {
  int exit = -1;          ///< the exit code; -1 where a signal ended it
  int signal = 0;         ///< the signal that ended it; 0 where it exited
  bool timed_out = false; ///< it was killed by the test at its limit
  std::string out, err;
  double seconds = 0; ///< from start to end, monotonic

  /// Standard output as the one JSON document that it must be; null where it is none.
  json document() const;
  /// All of it, for the message of a failed check.
  std::string told() const;
};

/// One child of the test. Its output goes to files, so that it can be read while it runs and no pipe can hold it up.
/// The destructor kills it if it still runs. Threads: one owner.
class process {
public:
  using environment = std::vector<std::pair<std::string, std::string>>;

  /// Starts argv[0] (an absolute path) in the folder `in`, with the test's environment and `extra` on top.
  process(const std::vector<std::string>& argv, const std::string& in, const environment& extra = {});
  ~process();
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  pid_t pid() const noexcept { return pid_; }
  void signal(int number) const;
  /// Waits for its end; kills it at the limit.
  ended wait(milliseconds limit = std::chrono::seconds(60));
  /// Waits until `what` holds, looking every few milliseconds; false at the limit or when the process has ended before.
  template <class Condition>
  bool wait_until(Condition what, milliseconds limit = std::chrono::seconds(30)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!what()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      if (gone_within(milliseconds(2))) return what();
    }
    return true;
  }
  /// True when the process ends within `d`; the one way to let time pass here.
  bool gone_within(milliseconds d) const;
  std::string out() const { return read_file(out_); }
  std::string err() const { return read_file(err_); }

private:
  pid_t pid_ = -1;
  int handle_ = -1; ///< its pidfd
  bool over_ = false;
  std::string out_, err_;
  std::chrono::steady_clock::time_point start_;
};

/// A folder of one scenario: specs, helper files, the store, temporary files. Removed with everything in it.
class scenario {
public:
  scenario();
  ~scenario();
  scenario(const scenario&) = delete;
  scenario& operator=(const scenario&) = delete;

  const std::string& folder() const noexcept { return folder_; }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string store() const { return path("store"); }
  /// Where the program puts its temporary files.
  std::string temporary() const { return path("tmp"); }
  bool store_exists() const { return std::filesystem::exists(store()); }

  /// Writes a file into the folder and returns its path.
  std::string write(const std::string& name, std::string_view contents, bool executable = false) const;
  std::string read(const std::string& name) const { return read_file(path(name)); }
  std::vector<std::string> lines(const std::string& name) const { return read_lines(path(name)); }

  /// Starts `attune ARGUMENTS…` in the folder, on the scenario's own store.
  process start(const std::vector<std::string>& arguments, const process::environment& extra = {}) const;
  /// The same behind another program (`prlimit --nofile=20`): its words, then the program and its arguments.
  std::unique_ptr<process> start_behind(const std::vector<std::string>& prefix,
                                        const std::vector<std::string>& arguments,
                                        const process::environment& extra = {}) const;
  /// Runs it to its end.
  ended attune(const std::vector<std::string>& arguments, milliseconds limit = std::chrono::seconds(60),
               const process::environment& extra = {}) const;
  /// `attune tune SPEC --json MORE…`.
  ended tune(const std::string& spec, std::vector<std::string> more = {},
             milliseconds limit = std::chrono::seconds(60)) const;
  /// The records of `attune history SPEC --json`; null where that fails.
  json history(const std::string& spec) const;

  /// The processes that this scenario's programs started and that are still alive, however far descended: found by a
  /// mark in their environment. One line each.
  std::vector<std::string> survivors() const;

private:
  process::environment environment_with(const process::environment& extra) const;

  std::string folder_, mark_;
};

/// The configurations of `records` as sorted texts (JSON); all, or those with a value.
std::multiset<std::string> configurations(const json& records);

} // namespace attune::testing
