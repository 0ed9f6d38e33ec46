// Cells of `attune tune`: limits from the start and in the middle, disks, folders, stops, the clock.
#include "tests/scenarios/starve_cells.hpp"

#include <csignal>
#include <filesystem>
#include <memory>
#include <utility>

namespace attune::testing {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr int tune_trials = 40;

/// One tune under want, and the same command in plenty after it.
class starved_tune {
public:
  explicit starved_tune(const std::string& more = {}, const std::string& command = "echo {x}") {
    at.write("s.yaml", "task: t\nparameters: {x: {range: [1, " + std::to_string(tune_trials) +
                           "]}}\nrun: {command: \"echo {x} >>runs.log; " + command +
                           "\", timeout: 20s}\nsearch: {strategy: random, trials: " + std::to_string(tune_trials) +
                           "}\n" + more);
  }

  void start(starved_words prefix = {}, const process::environment& extra = {}) {
    running = at.start_behind(prefix, {"tune", "s.yaml", "--json"}, extra);
  }
  void wait_for_runs(std::size_t count) const {
    must(running->wait_until([&] { return at.lines("runs.log").size() >= count; }),
         "it does not get so far: " + running->err());
  }
  /// Waits for its end, and checks all that must hold whatever was taken away.
  ended end(milliseconds limit = 60s) {
    const auto e = running->wait(limit);
    must_end_in_order(e);
    must_leave_nothing(at);
    ledger.note();
    const auto d = e.document();
    if (d.is_object() && d.contains("trials"))
      must(d["trials"]["measured"].get<std::size_t>() <= ledger.values(), "told more than is recorded: " + e.told());
    if (e.exit == 0) must(d["trials"]["proposed"] == tune_trials, "not all were counted: " + e.told());
    return e;
  }
  /// The same command with nothing taken away: it goes on, and all is there.
  void go_on() {
    const auto e = at.tune("s.yaml");
    must(e.exit == 0 && e.document()["trials"]["proposed"] == tune_trials, "in plenty: " + e.told());
    ledger.must_have_kept();
    must_verify(at);
    must_leave_nothing(at);
  }

  scenario at;
  std::unique_ptr<process> running;
  starved_ledger ledger{at};
};

std::string failures_of(const ended& e) {
  const auto d = e.document();
  std::string out;
  if (!d.is_object() || !d.contains("trials")) return out;
  for (const auto& [kind, n] : d["trials"]["failed"].items()) out += (out.empty() ? "" : ", ") + n.dump() + " " + kind;
  return out.empty() ? out : " (" + out + ")";
}

template <class Play>
starved_row row_of(const std::string& what, Play play) {
  starved_row row{"tune", what, "", "", ""};
  try {
    const ended e = play();
    row.ended = ending(e) + failures_of(e);
    row.message = said(e);
  } catch (const broken& b) {
    row.wrong = b.what;
  }
  return row;
}

/// From the start, one amount after the other; neighbours that come to the same are one row.
std::vector<starved_row> sweep(const std::string& option, const std::vector<std::uint64_t>& amounts, bool lonely) {
  std::vector<std::pair<std::pair<std::uint64_t, std::uint64_t>, starved_row>> rows;
  for (const auto amount : amounts) {
    auto row = row_of("", [&] {
      starved_tune t;
      auto prefix = limited(option, amount);
      if (lonely) {
        give_to_lonely_user(t.at);
        auto user = as_lonely_user();
        prefix.insert(prefix.begin(), user.begin(), user.end());
      }
      t.start(prefix);
      auto e = t.end(180s); // a store that cannot be written is waited for
      t.go_on();
      return e;
    });
    const auto same = [&](const starved_row& r) {
      return r.ended == row.ended && r.message == row.message && r.wrong == row.wrong;
    };
    if (!rows.empty() && same(rows.back().second))
      rows.back().first.second = amount;
    else
      rows.push_back({{amount, amount}, row});
  }
  std::vector<starved_row> out;
  for (auto& [range, row] : rows) {
    row.what = option + " " + std::to_string(range.first) +
               (range.first == range.second ? "" : " to " + std::to_string(range.second)) + " from the start";
    out.push_back(std::move(row));
  }
  return out;
}

/// In the middle: at some runs the limit is what is in use, for a while or for good.
std::vector<starved_row> in_the_middle(const std::string& what, __rlimit_resource resource,
                                       rlim_t (*amount)(const process&), bool lonely) {
  std::vector<starved_row> out;
  for (const bool for_good : {false, true})
    out.push_back(row_of(what + " in the middle, " + (for_good ? "for good" : "for a second"), [&] {
      starved_tune t({}, "sleep 0.01; echo {x}");
      if (lonely) give_to_lonely_user(t.at);
      t.start(lonely ? as_lonely_user() : starved_words{});
      t.wait_for_runs(10);
      squeeze(*t.running, resource, amount(*t.running));
      if (!for_good) {
        t.running->gone_within(1s);
        squeeze(*t.running, resource, RLIM_INFINITY);
      }
      auto e = t.end(150s);
      t.go_on();
      return e;
    }));
  return out;
}

rlim_t nothing_more(const process&) { return 1; }

std::vector<starved_row> a_full_disk() {
  return {
      row_of("the store's disk full in the middle, for a second",
             [] {
               starved_tune t({}, "head -c 3000 /dev/urandom | od -An -tx1 >&2; echo {x}");
               const small_disk disk(t.at.store(), "size=8m");
               t.start();
               t.wait_for_runs(10);
               disk.fill();
               t.running->gone_within(1s);
               disk.free();
               auto e = t.end();
               t.go_on();
               return e;
             }),
      row_of("the store's disk full in the middle, Ctrl-C",
             [] {
               // A failure keeps what it said, so the disk is soon full.
               starved_tune t({}, "test $(({x} % 2)) = 0 || { head -c 3000 /dev/zero | tr '\\\\0' x >&2; exit 1; }; "
                                  "echo {x}");
               const small_disk disk(t.at.store(), "size=8m");
               t.start();
               t.wait_for_runs(10);
               disk.fill();
               t.running->wait_until([&] { return t.running->err().find("no space left") != std::string::npos; }, 5s);
               t.running->signal(SIGINT);
               auto e = t.end();
               disk.free();
               t.go_on();
               return e;
             }),
      row_of("the store's disk without files to spare",
             [] {
               starved_tune t;
               auto e = [&] {
                 const small_disk disk(t.at.store(), "size=8m,nr_inodes=8");
                 t.start();
                 return t.end();
               }();
               t.go_on();
               return e;
             }),
      row_of("the temporary folder's disk full", [] {
        starved_tune t("build: {command: \"head -c 100000 /dev/zero >{artifact}\"}\n");
        auto e = [&] {
          const small_disk disk(t.at.temporary(), "size=64k");
          t.start();
          auto out = t.running->wait(60s);
          must_end_in_order(out);
          must(fs::is_empty(t.at.temporary()), "files are left");
          return out;
        }();
        t.ledger.note();
        // What a candidate could not write is its own failure, and stays recorded.
        t.ledger.must_have_kept();
        return e;
      })};
}

std::vector<starved_row> folders() {
  return {
      row_of("the store read-only",
             [] {
               starved_tune t;
               const small_disk disk(t.at.store(), "size=8m");
               disk.make_read_only(true);
               t.start();
               auto e = t.end();
               must(e.exit == 3, "not exit 3: " + e.told());
               disk.make_read_only(false);
               t.go_on();
               return e;
             }),
      row_of("the store another user's",
             [] {
               starved_tune t;
               give_to_lonely_user(t.at);
               fs::create_directory(t.at.store());
               fs::permissions(t.at.store(), fs::perms::owner_all);
               t.start(as_lonely_user());
               auto e = t.end();
               must(e.exit == 3, "not exit 3: " + e.told());
               t.go_on();
               return e;
             }),
      row_of("the store a file",
             [] {
               starved_tune t;
               t.at.write("store", "something");
               t.start();
               auto e = t.running->wait();
               must_end_in_order(e);
               must(e.exit == 3, "not exit 3: " + e.told());
               must(t.at.read("store") == "something", "it was touched");
               must_leave_nothing(t.at);
               return e;
             }),
      row_of("no temporary folder",
             [] {
               starved_tune t;
               t.start({}, {{"TMPDIR", t.at.path("nowhere")}});
               auto e = t.end();
               t.go_on();
               return e;
             }),
      row_of("the temporary folder read-only",
             [] {
               starved_tune t;
               auto e = [&] {
                 const small_disk disk(t.at.temporary(), "size=1m");
                 disk.make_read_only(true);
                 t.start();
                 return t.end();
               }();
               t.go_on();
               return e;
             }),
      row_of("the temporary folder deleted in the middle",
             [] {
               starved_tune t("build: {command: \"echo {x} >{artifact}\"}\n", "sleep 0.01; cat {artifact}");
               t.start();
               t.wait_for_runs(10);
               delete_in_use(t.at.temporary());
               auto e = t.end();
               fs::create_directory(t.at.temporary());
               t.go_on();
               return e;
             }),
      row_of("the working folder deleted in the middle",
             [] {
               starved_tune t({}, "sleep 0.01; echo {x}");
               fs::create_directory(t.at.path("work"));
               t.at.write("work/s.yaml", "task: t\nparameters: {x: {range: [1, 40]}}\nrun: {command: \"echo {x} >>" +
                                             t.at.path("runs.log") +
                                             "; sleep 0.01; echo {x}\"}\nsearch: {strategy: random, trials: 40}\n");
               t.running = t.at.start_behind({}, {"tune", "work/s.yaml", "--json"});
               t.wait_for_runs(10);
               delete_in_use(t.at.path("work"));
               auto e = t.running->wait();
               must_end_in_order(e);
               must_leave_nothing(t.at);
               must_verify(t.at);
               return e;
             }),
  };
}

std::vector<starved_row> stops() {
  return {row_of("stopped for two seconds in the middle of a run whose limit is one",
                 [] {
                   starved_tune t({}, "sleep 0.05; echo {x}");
                   auto text = t.at.read("s.yaml");
                   text.replace(text.find("timeout: 20s"), 12, "timeout: 1s");
                   t.at.write("s.yaml", text);
                   t.start();
                   t.wait_for_runs(10);
                   t.running->signal(SIGSTOP);
                   t.running->gone_within(2s);
                   t.running->signal(SIGCONT);
                   auto e = t.end();
                   // The runs were over in time: it is only their supervisor that could not look.
                   must(e.exit == 0 && e.document()["trials"]["measured"] == tune_trials,
                        "what was over in time: " + e.told());
                   t.go_on();
                   return e;
                 }),
          row_of("killed in the middle of a run that has a family", [] {
            starved_tune t({}, "sleep 60 & setsid sleep 60 & test {x} -lt 0 || sleep 60");
            t.start();
            t.wait_for_runs(1);
            t.running->gone_within(50ms);
            t.running->signal(SIGKILL);
            auto e = t.running->wait();
            must(e.signal == SIGKILL, "not killed: " + e.told());
            // The guardian has its say after that.
            const auto clean = [&] { return t.at.survivors().empty() && fs::is_empty(t.at.temporary()); };
            const auto until = std::chrono::steady_clock::now() + 20s;
            while (!clean() && std::chrono::steady_clock::now() < until) ::usleep(20'000);
            must_leave_nothing(t.at);
            must_verify(t.at);
            return e;
          })};
}

std::vector<starved_row> the_clock() {
  return {row_of("the wall clock two hours back, then a day on", [] {
    starved_tune t({}, "sleep 0.02; echo {x}");
    t.at.write("clock", "0");
    t.start({}, {{"LD_PRELOAD", STEPPED_CLOCK}, {"STEPPED_CLOCK_SECONDS", t.at.path("clock")}});
    t.wait_for_runs(10);
    t.at.write("clock", "-7200");
    t.wait_for_runs(20);
    t.at.write("clock", "86400");
    auto e = t.end();
    must(e.exit == 0 && e.document()["trials"]["measured"] == tune_trials, "not all were measured: " + e.told());
    for (const auto* part : {"wall", "build", "run", "queue", "search"}) {
      const double took = e.document()["time_s"][part];
      must(took >= 0 && took < 60, "a duration: " + e.told());
    }
    t.go_on();
    return e;
  })};
}

/// A run that leaves a daemon behind, while there is no descriptor to look for it with.
std::vector<starved_row> a_family_and_no_descriptors() {
  return {row_of("descriptors in the middle, runs that leave daemons", [] {
    starved_tune t({}, "(setsid sleep 300 >/dev/null 2>&1 &); sleep 0.02; echo {x}");
    give_to_lonely_user(t.at); // without the right to cgroups
    t.start(as_lonely_user());
    t.wait_for_runs(6);
    squeeze(*t.running, RLIMIT_NOFILE, open_files(*t.running));
    t.running->gone_within(1s);
    squeeze(*t.running, RLIMIT_NOFILE, RLIM_INFINITY);
    auto e = t.end(150s);
    t.go_on();
    return e;
  })};
}

} // namespace

std::vector<starved_cell> tune_cells() {
  constexpr std::uint64_t mb = 1 << 20;
  return {
      {"tune/descriptors", false,
       [] {
         return sweep("nofile", {4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 36, 40, 48, 64}, false);
       }},
      {"tune/few-descriptors", true,
       [] {
         return sweep("nofile", {12, 24}, false);
       }},
      {"tune/descriptors-in-the-middle", true,
       [] { return in_the_middle("descriptors", RLIMIT_NOFILE, open_files, false); }},
      {"tune/daemons", true, a_family_and_no_descriptors},
      {"tune/processes", false,
       [] {
         return sweep("nproc", {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 24}, true);
       }},
      {"tune/few-processes", true,
       [] {
         return sweep("nproc", {3, 12}, true);
       }},
      {"tune/processes-in-the-middle", false,
       [] { return in_the_middle("processes and threads", RLIMIT_NPROC, nothing_more, true); }},
      {"tune/memory", false,
       [] {
         return sweep("as",
                      {60 * mb, 80 * mb, 100 * mb, 120 * mb, 150 * mb, 200 * mb, 250 * mb, 300 * mb, 400 * mb, 500 * mb,
                       700 * mb, 1000 * mb, 1500 * mb},
                      false);
       }},
      {"tune/little-memory", false, [] { return sweep("as", {150 * mb}, false); }},
      {"tune/memory-in-the-middle", false, [] { return in_the_middle("memory", RLIMIT_AS, address_space, false); }},
      {"tune/file-size", false,
       [] {
         return sweep("fsize", {4096, 65536, mb}, false);
       }},
      {"tune/disk", false, a_full_disk},
      {"tune/folders", true, folders},
      {"tune/stops", false, stops},
      {"tune/clock", false, the_clock},
  };
}

} // namespace attune::testing
