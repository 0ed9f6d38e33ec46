// The long run: a hub, agents that come, go in order and are killed, clients that send one job after the other and are
// killed in between. Every few seconds memory, descriptors, threads and disk are sampled. At its end the store
// verifies, every job that was sent is whole, nothing is left, and what must be flat is flat: the last third of the
// time against the second.
//
//   soak MINUTES [FOLDER [SEED]]     FOLDER gets soak.csv, soak.md and soak.svg
#include "core/random.hpp"
#include "tests/scenarios/fleet_process.hpp"
#include "tests/scenarios/outside_ledger.hpp"
#include "tests/scenarios/soak_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>

using namespace attune::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t soak_job_trials = 60;

struct soak_use {
  double memory_mb = 0, descriptors = 0, threads = 0;
};

soak_use use_of(const process& p) {
  soak_use out;
  std::istringstream in(read_file("/proc/" + std::to_string(p.pid()) + "/status"));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("VmRSS:")) out.memory_mb = std::atof(line.c_str() + 6) / 1024;
    if (line.starts_with("Threads:")) out.threads = std::atof(line.c_str() + 8);
  }
  std::error_code gone;
  for (fs::directory_iterator at("/proc/" + std::to_string(p.pid()) + "/fd", gone), end; !gone && at != end;
       at.increment(gone))
    ++out.descriptors;
  return out;
}

struct soak_disk {
  double mb = 0, files = 0;
};

soak_disk disk_of(const std::string& folder) {
  soak_disk out;
  std::error_code gone;
  for (fs::recursive_directory_iterator at(folder, gone), end; !gone && at != end; at.increment(gone)) {
    std::error_code skipped;
    ++out.files;
    if (!at->is_regular_file(skipped)) continue;
    // It may go in between.
    if (const auto bytes = at->file_size(skipped); !skipped) out.mb += static_cast<double>(bytes) / (1 << 20);
  }
  return out;
}

struct soak_agent {
  std::unique_ptr<process> runs; ///< none: it is away
  double until = 0;              ///< when it goes, or comes
};

struct soak_client {
  std::unique_ptr<process> runs;
  std::string spec, job;
  std::optional<double> dies; ///< when it is killed, to follow its job as another process
};

class soak_run {
public:
  soak_run(double minutes, std::uint64_t seed) : length_(minutes * 60), rng_(seed), fleet_(at_) {
    for (const auto& [name, unit] : columns_) series_.push_back({name, unit, {}});
  }

  void play() {
    // So that what is to be full is full long before the end.
    fleet_.launch_hub({}, {}, {"--memory", "16M"});
    must(fleet_.listens(), "the hub does not listen: " + fleet_.hub().err());
    for (std::size_t i = 0; i < agents_.size(); ++i) come(i);
    double next = 0;
    for (double now = 0; now < length_; now = elapsed()) {
      must(!fleet_.hub().gone_within(100ms), "the hub is gone: " + fleet_.hub().err());
      for (std::size_t i = 0; i < agents_.size(); ++i) turn_agent(i);
      for (auto& c : clients_) turn_client(c);
      if (now >= next) {
        sample();
        next = now + 5;
      }
    }
    finish();
  }

  void write(const std::string& folder) const {
    std::string csv = "seconds";
    for (const auto& s : series_) csv += "," + s.name + (s.unit.empty() ? "" : " (" + s.unit + ")");
    for (std::size_t i = 0; i < seconds_.size(); ++i) {
      csv += "\n" + std::to_string(seconds_[i]);
      for (const auto& s : series_) csv += "," + std::to_string(s.values[i]);
    }
    const auto text = soak_table(seconds_, series_) + summary_;
    write_file(folder + "/soak.csv", csv + "\n");
    write_file(folder + "/soak.md", text);
    write_file(folder + "/soak.svg", soak_drawing(seconds_, series_));
    std::printf("%s", text.c_str());
  }

  /// Throws broken where something grows that must not.
  void must_be_flat() const {
    for (const std::size_t i : {0, 1, 2, 4, 5, 6}) {
      const double before = median_of_part(series_[i], 1, 2, 3), after = median_of_part(series_[i], 2, 3, 3);
      // A cache that is still filling up may take its part of that.
      must(after <= before * 1.1 + 8, series_[i].name + " grows: " + std::to_string(before) + ", then " +
                                          std::to_string(after) + " " + series_[i].unit);
    }
  }

private:
  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

  void come(std::size_t i) {
    agents_[i].runs = fleet_.agent("board" + std::to_string(i), {"--slots", "1"});
    agents_[i].until = elapsed() + 20 + static_cast<double>(rng_.below(60));
    ++came_;
  }
  void turn_agent(std::size_t i) {
    auto& a = agents_[i];
    if (elapsed() < a.until) {
      must(!a.runs || !a.runs->gone_within(0ms), "an agent has ended by itself");
      return;
    }
    if (!a.runs) return come(i);
    const bool kill = rng_.chance(0.5);
    a.runs->signal(kill ? SIGKILL : SIGTERM);
    const auto e = a.runs->wait(20s);
    must(kill ? e.signal == SIGKILL : e.exit == 143, "an agent's end: " + e.told());
    a.runs.reset();
    // One of them is always away for longer.
    a.until = elapsed() + 1 + static_cast<double>(rng_.below(i == 0 ? 20 : 4));
  }

  void turn_client(soak_client& c) {
    if (!c.runs) {
      if (c.job.empty()) {
        const auto number = std::to_string(++jobs_sent_);
        c.spec =
            at_.write("s" + number + ".yaml",
                      "task: t" + number + "\nparameters: {x: {range: [1, 100000]}}\n" +
                          (jobs_sent_ % 2 == 0 ? "build: {command: \"head -c 20000 /dev/zero >{artifact}; echo {x} "
                                                 ">>{artifact}\"}\n"
                                               : "") +
                          "run: {command: \"echo >>" + at_.path("runs.log") +
                          "; echo {x}\"}\nsearch: {strategy: random, seed: " + number +
                          ", trials: " + std::to_string(soak_job_trials) + "}\n");
        c.runs = fleet_.client({c.spec, "--quiet"});
      } else {
        c.runs = fleet_.client({"--attach", c.job, "--quiet"});
      }
      if (rng_.chance(0.3)) c.dies = elapsed() + 1 + static_cast<double>(rng_.below(5));
      return;
    }
    const std::string says = "the hub has the job ";
    if (c.job.empty()) {
      const auto text = c.runs->err();
      const auto from = text.find(says);
      const auto end = from == std::string::npos ? from : text.find('\n', from);
      if (end != std::string::npos) c.job = text.substr(from + says.size(), end - from - says.size());
    }
    if (c.runs->gone_within(0ms)) {
      const auto e = c.runs->wait();
      must(e.exit == 0 && e.document()["trials"]["proposed"] == soak_job_trials, "a job: " + e.told());
      c = {};
      ++jobs_done_;
    } else if (c.dies && elapsed() >= *c.dies && !c.job.empty()) {
      c.runs->signal(SIGKILL);
      c.runs->wait(20s);
      c.runs.reset();
      c.dies.reset();
      ++killed_clients_;
    }
  }

  void sample() {
    const double now = elapsed();
    const auto hub = use_of(fleet_.hub());
    soak_use most;
    double there = 0;
    for (const auto& a : agents_) {
      if (!a.runs) continue;
      ++there;
      const auto u = use_of(*a.runs);
      most.memory_mb = std::max(most.memory_mb, u.memory_mb);
      most.descriptors = std::max(most.descriptors, u.descriptors);
      most.threads = std::max(most.threads, u.threads);
    }
    std::error_code none;
    const auto runs = static_cast<double>(fs::file_size(at_.path("runs.log"), none));
    const auto store = disk_of(at_.store()), temporary = disk_of(at_.temporary());
    const double count = none ? 0 : runs; // a run is one byte of it
    const double rate = seconds_.empty() ? 0 : (count - runs_before_) / std::max(0.1, now - seconds_.back());
    runs_before_ = count;
    seconds_.push_back(now);
    const std::array<double, columns_.size()> row{hub.memory_mb,  hub.descriptors,  hub.threads,  there,
                                                  most.memory_mb, most.descriptors, most.threads, store.mb,
                                                  store.files,    temporary.mb,     rate};
    for (std::size_t i = 0; i < row.size(); ++i) series_[i].values.push_back(row[i]);
  }

  void finish() {
    for (std::size_t i = 0; i < agents_.size(); ++i)
      if (!agents_[i].runs) come(i);
    // What is under way is let to its end.
    for (auto& c : clients_) {
      if (!c.runs && c.job.empty()) continue;
      c.dies.reset();
      if (!c.runs) c.runs = fleet_.client({"--attach", c.job, "--quiet"});
      const auto e = c.runs->wait(300s);
      must(e.exit == 0 && e.document()["trials"]["proposed"] == soak_job_trials, "a last job: " + e.told());
      ++jobs_done_;
    }
    for (auto& a : agents_) {
      a.runs->signal(SIGTERM);
      const auto e = a.runs->wait(30s);
      must(e.exit == 143, "an agent's end: " + e.told());
    }
    fleet_.hub().signal(SIGTERM);
    const auto e = fleet_.hub().wait(60s);
    must(e.exit == 143, "the hub's end: " + e.told());
    must_verify(at_);
    const auto stats = at_.attune({"db", "stats", "--json"}).document();
    must(stats["records"] == jobs_done_ * soak_job_trials,
         "records: " + stats["records"].dump() + ", jobs: " + std::to_string(jobs_done_));
    const auto left = at_.survivors();
    must(left.empty(), "a process is left: " + (left.empty() ? "" : left.front()));
    must(fs::is_empty(at_.temporary()), "files are left");
    summary_ = "\nJobs of " + std::to_string(soak_job_trials) + " trials: " + std::to_string(jobs_done_) +
               "; records " + stats["records"].dump() + ", none lost, none doubled; agents came " +
               std::to_string(came_) + " times, clients were killed " + std::to_string(killed_clients_) +
               " times; the store is " +
               std::to_string(
                   std::llround(disk_of(at_.store()).mb * (1 << 20) / std::max(1.0, stats["records"].get<double>()))) +
               " bytes a record.\n";
  }

  static constexpr std::array<std::pair<const char*, const char*>, 11> columns_{{{"hub memory", "MB"},
                                                                                 {"hub descriptors", ""},
                                                                                 {"hub threads", ""},
                                                                                 {"agents there", ""},
                                                                                 {"largest agent memory", "MB"},
                                                                                 {"most agent descriptors", ""},
                                                                                 {"most agent threads", ""},
                                                                                 {"store", "MB"},
                                                                                 {"store files", ""},
                                                                                 {"temporary files", "MB"},
                                                                                 {"runs", "1/s"}}};

  double length_;
  attune::random_engine rng_;
  scenario at_;
  fleet_process fleet_;
  std::array<soak_agent, 4> agents_;
  std::array<soak_client, 3> clients_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<double> seconds_;
  std::vector<soak_series> series_;
  double runs_before_ = 0;
  std::size_t jobs_sent_ = 0, jobs_done_ = 0, came_ = 0, killed_clients_ = 0;
  std::string summary_;
};

} // namespace

int main(int argc, char** argv) {
  const double minutes = argc > 1 ? std::atof(argv[1]) : 0;
  const std::string folder = argc > 2 ? argv[2] : ".";
  const auto seed =
      argc > 3 ? std::strtoull(argv[3], nullptr, 10) : static_cast<unsigned long long>(std::time(nullptr));
  if (!(minutes > 0)) {
    std::fprintf(stderr, "usage: soak MINUTES [FOLDER [SEED]]\n");
    return 2;
  }
  std::printf("seed %llu\n", seed);
  return ending_of([&] {
    soak_run run(minutes, seed);
    try {
      run.play();
    } catch (...) {
      run.write(folder);
      throw;
    }
    run.write(folder);
    run.must_be_flat();
  });
}
