// What the tests of measure/ share: a task from a few words, a process and its end, a trial built and run.
#pragma once

#include "core/file.hpp"
#include "core/task.hpp"
#include "measure/executor.hpp"
#include "measure/process_tree.hpp"
#include "measure/supervisor.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/syscall.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <string>
#include <vector>

namespace attune::measure::testing {

/// A folder that is gone with it.
class folder {
public:
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "attune-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  const std::string& path() const { return path_; }
  std::string write(const std::string& name, const std::string& text, bool executable = false) const {
    std::string file = path_ + "/" + name;
    std::ofstream(file) << text;
    if (executable) std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

private:
  std::string path_;
};

inline std::shared_ptr<supervisor> make_supervisor(supervisor_options options = {}) {
  auto made = supervisor::create(std::move(options));
  BOOST_REQUIRE_MESSAGE(made.ok(), (made.ok() ? std::string() : made.err().text()));
  return *made;
}

/// Waits for what a callback brings; a test that hangs is ended by ctest's limit.
template <class T>
class answer {
public:
  auto callback() {
    return [shared = state_](T value) { shared->set_value(std::move(value)); };
  }
  T get() { return state_->get_future().get(); }

private:
  std::shared_ptr<std::promise<T>> state_ = std::make_shared<std::promise<T>>();
};

inline process_request shell(const std::string& text, nanoseconds timeout = std::chrono::seconds(60)) {
  process_request out;
  out.argv = {"/bin/sh", "-c", text};
  out.timeout = timeout;
  return out;
}

inline process_result run_process(supervisor& processes, process_request request) {
  answer<process_result> wait;
  processes.start(std::move(request), wait.callback());
  return wait.get();
}

/// A task of commands in `directory`, with what a test wants changed.
inline task_spec spec_in(const std::string& directory) {
  task_spec out;
  out.name = "test";
  out.directory = directory;
  return out;
}

inline trial_ptr trial_of(task_spec spec, arguments config = {}, objective_function objective = {},
                          std::optional<double> rival = {}) {
  auto made = make_task(std::move(spec), target{}, std::move(objective));
  BOOST_REQUIRE_MESSAGE(made.ok(), (made.ok() ? std::string() : made.err().text()));
  auto out = std::make_shared<trial>();
  out->of = *made;
  out->config = configuration(config);
  out->canonical = out->config.canonical();
  out->key = measurement_key(out->of->identity, out->canonical);
  out->rival = rival;
  return out;
}

inline build_result build(builder& how, trial_ptr what) {
  answer<build_result> wait;
  how.build(std::move(what), wait.callback());
  return wait.get();
}

inline run_result run(runner& how, trial_ptr what, artifact_ptr built = nullptr) {
  answer<run_result> wait;
  how.run(std::move(what), std::move(built), wait.callback());
  return wait.get();
}

inline const failure* failed(const run_result& r) { return std::get_if<failure>(&r.data); }
inline const failure* failed(const build_result& r) { return std::get_if<failure>(&r.data); }

/// The processes whose command line holds `text`, zombies left out. Tests give each sleeper a length of its own.
inline std::vector<pid_t> processes_with(const std::string& text) {
  std::vector<pid_t> out;
  for (const auto& entry : list_processes()) {
    if (entry.dead()) continue;
    auto line = file_contents("/proc/" + std::to_string(entry.pid) + "/cmdline", std::uint64_t{1} << 20);
    if (!line) continue; // it has gone
    std::replace(line->begin(), line->end(), '\0', ' ');
    if (line->find(text) != std::string::npos) out.push_back(entry.pid);
  }
  return out;
}

/// A counter on the calling thread; -1 where it cannot be had.
inline int open_counter(perf_event_attr& what) {
  return static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

/// The zombies that wait for this process.
inline std::size_t zombies() {
  std::size_t count = 0;
  for (const auto& entry : list_processes())
    if (entry.parent == getpid() && entry.dead()) ++count;
  return count;
}

inline bool has_note(const std::vector<std::string>& notes, const std::string& part) {
  for (const auto& note : notes)
    if (note.find(part) != std::string::npos) return true;
  return false;
}

} // namespace attune::measure::testing
