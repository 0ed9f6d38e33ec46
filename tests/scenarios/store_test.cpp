// The store as a user meets it: full, read-only or missing folders, two programs, thinning, copies, its figures.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/mount.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <unistd.h>

using namespace attune::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// A small file system of its own in the place of a folder; gone with this.
class small_disk {
public:
  small_disk(std::string path, const char* options) : path_(std::move(path)) {
    fs::create_directory(path_);
    mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, options) == 0;
  }
  ~small_disk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;
  bool mounted() const noexcept { return mounted_; }
  void make_read_only() const {
    BOOST_REQUIRE(::mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0);
  }

private:
  std::string path_;
  bool mounted_ = false;
};

void fill(const std::string& file) {
  std::ofstream out(file, std::ios::binary);
  const std::string block(4096, 'f');
  while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
}

/// x from 1 to `last`; every second one fails with a long message. Each run leaves a line.
void write_spec(const scenario& s, const std::string& name, int first, int last, const std::string& more = {}) {
  s.write(name, "task: t\nworkload: {n: 1}\nparameters: {x: {range: [" + std::to_string(first) + ", " +
                    std::to_string(last) +
                    "]}}\nrun: {command: \"echo {x} >>runs.log; test $(({x} % 2)) = 1 || { head -c 1500 /dev/zero | "
                    "tr '\\\\0' x >&2; exit 1; }; echo {x}\"}\nsearch: {strategy: grid, trials: " +
                    std::to_string(last - first + 1) + "}\n" + more);
}

json stats(const scenario& s, const std::vector<std::string>& more = {}) {
  std::vector<std::string> all{"db", "stats", "--json"};
  all.insert(all.end(), more.begin(), more.end());
  const auto e = s.attune(all);
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  return e.document();
}

void clean(const scenario& s, const std::vector<std::string>& more = {}) {
  std::vector<std::string> all{"db", "verify", "--json"};
  all.insert(all.end(), more.begin(), more.end());
  const auto e = s.attune(all);
  BOOST_TEST(e.exit == 0, e.told());
}

} // namespace

// A26
BOOST_AUTO_TEST_CASE(a_disk_that_fills_up_holds_the_search_and_loses_nothing) {
  const scenario s;
  const small_disk disk(s.store(), "size=8m");
  if (!disk.mounted()) {
    BOOST_TEST_MESSAGE("skipped: a small tmpfs needs root");
    return;
  }
  write_spec(s, "s.yaml", 1, 200);
  auto running = s.start({"tune", "s.yaml", "--json"});
  BOOST_REQUIRE(running.wait_until([&] { return s.lines("runs.log").size() >= 50; }));
  fill(s.store() + "/filler");
  BOOST_REQUIRE(running.wait_until([&] { return running.err().find("no space left") != std::string::npos; }));
  // A moment later nothing more has been counted than is on the disk.
  const auto held = s.attune({"history", "s.yaml", "--json"});
  BOOST_TEST(held.exit == 0, held.told());
  const auto there = held.document()["records"].size();
  fs::remove(s.store() + "/filler");
  const auto e = running.wait(60s);
  BOOST_TEST(e.exit == 0, e.told());
  BOOST_TEST(e.document()["trials"]["proposed"] == 200, e.told());
  BOOST_TEST(e.document()["trials"]["measured"] == 100, e.told());
  BOOST_TEST(e.document()["best"]["value"] == 1.0, e.told());
  BOOST_TEST(there < 200u);
  BOOST_TEST(s.lines("runs.log").size() == 200u); // none was measured twice
  BOOST_TEST(s.history("s.yaml").size() == 200u);
  clean(s);
}

BOOST_AUTO_TEST_CASE(a_disk_that_stays_full_is_left_as_it_was_and_goes_on_later) {
  const scenario s;
  const small_disk disk(s.store(), "size=8m");
  if (!disk.mounted()) {
    BOOST_TEST_MESSAGE("skipped: a small tmpfs needs root");
    return;
  }
  write_spec(s, "s.yaml", 1, 120);
  auto running = s.start({"tune", "s.yaml", "--json"});
  BOOST_REQUIRE(running.wait_until([&] { return s.lines("runs.log").size() >= 30; }));
  fill(s.store() + "/filler");
  BOOST_REQUIRE(running.wait_until([&] { return running.err().find("no space left") != std::string::npos; }));
  running.signal(SIGINT);
  const auto stopped = running.wait(30s);
  BOOST_TEST(stopped.exit != 0, stopped.told());
  const auto ran = s.lines("runs.log").size();
  const auto best = s.attune({"best", "s.yaml", "--json"});
  BOOST_TEST(best.exit == 0, best.told());
  fs::remove(s.store() + "/filler");
  clean(s);
  const auto known = s.history("s.yaml").size();
  const auto e = s.tune("s.yaml");
  BOOST_TEST(e.exit == 0, e.told());
  BOOST_TEST(s.history("s.yaml").size() == 120u);
  BOOST_TEST(s.lines("runs.log").size() == ran + 120 - known); // what was recorded is not run again
  clean(s);
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_written_is_named_and_can_be_read) {
  const scenario s;
  const small_disk disk(s.store(), "size=8m");
  if (!disk.mounted()) {
    BOOST_TEST_MESSAGE("skipped: a small tmpfs needs root");
    return;
  }
  write_spec(s, "s.yaml", 1, 5);
  BOOST_REQUIRE(s.tune("s.yaml").exit == 0);
  disk.make_read_only();
  const auto refused = s.tune("s.yaml", {"--trials", "6"});
  BOOST_TEST(refused.exit == 3, refused.told());
  BOOST_TEST(refused.err.find(s.store()) != std::string::npos, refused.told());
  BOOST_TEST(s.attune({"best", "s.yaml"}).exit == 0);
  BOOST_TEST(stats(s)["records"] == 5);
  for (const auto* command : {"compact", "forget"}) {
    std::vector<std::string> words{"db", command};
    if (std::string(command) == "forget") words.push_back("--all");
    const auto e = s.attune(words);
    BOOST_TEST(e.exit == 3, e.told());
  }
  const auto copy = s.attune({"db", "backup", "copy", "--json"});
  BOOST_TEST(copy.exit == 0, copy.told());
  BOOST_TEST(copy.document()["how"] == "copy", copy.told());
  clean(s, {"--store", s.path("copy")});
}

BOOST_AUTO_TEST_CASE(a_store_that_is_not_there_is_made_by_tuning_alone) {
  const scenario s;
  write_spec(s, "s.yaml", 1, 3);
  const auto deep = s.path("a/b/c");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"db", "stats"},
                                                {"db", "verify"},
                                                {"db", "compact"},
                                                {"db", "backup", "copy"},
                                                {"db", "forget", "--all"},
                                                {"db", "forget", "--all", "--dry-run"}}) {
    auto all = words;
    all.insert(all.end(), {"--store", deep});
    const auto e = s.attune(all);
    BOOST_TEST(e.exit == 3, e.told());
  }
  BOOST_TEST(!fs::exists(s.path("a")));
  BOOST_TEST(!fs::exists(s.path("copy")));
  BOOST_TEST(s.tune("s.yaml", {"--store", deep}).exit == 0);
  BOOST_TEST(stats(s, {"--store", deep})["records"] == 3);
}

// A21
BOOST_AUTO_TEST_CASE(two_programs_on_one_store_lose_no_result) {
  for (int round = 0; round < 3; ++round) {
    const scenario s;
    for (const auto& [name, first] : {std::pair{"a.yaml", 1}, {"b.yaml", 21}})
      s.write(name,
              "task: t\nparameters: {x: {range: [" + std::to_string(first) + ", " + std::to_string(first + 19) +
                  "]}}\nrun: {command: \"echo {x} >>runs.log; sleep 0.02; echo {x}\"}\nsearch: {strategy: grid}\n");
    auto one = s.start({"tune", "a.yaml", "--json"}), two = s.start({"tune", "b.yaml", "--json"});
    const auto a = one.wait(), b = two.wait();
    std::size_t expected = 0;
    for (const auto& [e, other] : {std::pair{&a, two.pid()}, {&b, one.pid()}}) {
      if (e->exit == 0) {
        expected += 20;
        continue;
      }
      // Refused, at once, with the path and the holder.
      BOOST_TEST(e->exit == 3, e->told());
      BOOST_TEST(e->seconds < 5.0);
      BOOST_TEST(e->err.find(s.store()) != std::string::npos, e->told());
      BOOST_TEST(e->err.find(std::to_string(other)) != std::string::npos, e->told());
    }
    BOOST_TEST(expected >= 20u);
    BOOST_TEST(s.history("a.yaml").size() == expected);
    BOOST_TEST(s.lines("runs.log").size() == expected);
    clean(s);
  }
}

BOOST_AUTO_TEST_CASE(the_stats_tell_the_hit_rate_and_the_speed_up) {
  const scenario s;
  write_spec(s, "s.yaml", 1, 10);
  BOOST_REQUIRE(s.tune("s.yaml").exit == 0);
  // Another session of the same task: all is known.
  const auto again = s.tune("s.yaml", {"--seed", "9", "--strategy", "random"});
  BOOST_TEST(again.document()["trials"]["cached"] == 10, again.told());
  const auto st = stats(s);
  BOOST_TEST(st["cache"]["entries"] == 10);
  BOOST_TEST(st["cache"]["hits"] == 10);
  BOOST_TEST(st["cache"]["misses"]["new"] == 10);
  BOOST_TEST(st["cache"]["evicted"] == 0);
  BOOST_TEST(st["cache"]["hit_rate"] == 0.5);
  BOOST_TEST(st["cache"]["speedup_by_hit_rate"] == 2.0);
  // Each was run once and hit once: the time tells the same.
  BOOST_TEST(std::abs(st["cache"]["speedup"].get<double>() - 2) < 1e-9);
  BOOST_REQUIRE_EQUAL(st["by_task"].size(), 1u);
  BOOST_TEST(st["by_task"][0]["task"] == "t");
  BOOST_TEST(st["by_task"][0]["records"] == 10);
  BOOST_TEST(st["by_task"][0]["failures"] == 5);
  BOOST_TEST(st["by_task"][0]["hit_rate"] == 0.5);
  BOOST_TEST(st["by_target"][0]["records"] == 10);
  // The same task on another target, then with another command: the causes of the misses are told.
  write_spec(s, "s.yaml", 1, 10, "target: {board: other}\n");
  BOOST_REQUIRE(s.tune("s.yaml").exit == 0);
  s.write("m.yaml", "task: t\nworkload: {n: 1}\nparameters: {x: {range: [1, 4]}}\nrun: {command: \"echo 1{x}\"}\n");
  BOOST_REQUIRE(s.tune("m.yaml").exit == 0);
  const auto causes = stats(s)["cache"]["misses"];
  BOOST_TEST(causes["target"] == 10, causes.dump());
  BOOST_TEST(causes["method"] == 4, causes.dump());
  BOOST_TEST(causes["new"] == 10, causes.dump());
  const auto text = s.attune({"db", "stats"});
  for (const auto* word : {"hit rate", "speed-up", "records", "target 10", "method 4", "size", "newest"})
    BOOST_TEST(text.out.find(word) != std::string::npos, text.told());
}

BOOST_AUTO_TEST_CASE(a_backup_is_made_while_a_search_goes_on) {
  const scenario s;
  s.write("s.yaml",
          "task: t\nparameters: {x: {range: [1, 100000]}}\nrun: {command: \"echo {x} >>runs.log; echo {x}\"}\n"
          "search: {strategy: random, trials: 100000}\n");
  auto running = s.start({"tune", "s.yaml", "--json"});
  BOOST_REQUIRE(running.wait_until([&] { return s.lines("runs.log").size() >= 30; }));
  const auto copy = s.attune({"db", "backup", "copies/one", "--json"});
  BOOST_TEST(copy.exit == 0, copy.told());
  BOOST_TEST(copy.document()["how"] == "copy", copy.told());
  BOOST_TEST(copy.document()["records"] > 0, copy.told());
  BOOST_TEST(!fs::exists(s.path("copies/one.partial")));
  clean(s, {"--store", s.path("copies/one")});
  for (const std::vector<std::string>& words : {std::vector<std::string>{"db", "compact"}, {"db", "forget", "--all"}}) {
    const auto e = s.attune(words);
    BOOST_TEST(e.exit == 0, e.told());
  }
  const auto taken = s.attune({"db", "backup", "copies/one"});
  BOOST_TEST(taken.exit == 3, taken.told());
  running.signal(SIGINT);
  const auto e = running.wait();
  BOOST_TEST(e.exit == 130, e.told());
  const auto quick = s.attune({"db", "backup", "copies/two", "--json"});
  BOOST_TEST(quick.document()["how"] == "checkpoint", quick.told());
  BOOST_TEST(quick.document()["records"] == s.history("s.yaml").size(), quick.told());
  clean(s);
}

BOOST_AUTO_TEST_CASE(records_are_thinned_and_the_best_stays) {
  const scenario s;
  write_spec(s, "s.yaml", 1, 40);
  BOOST_REQUIRE(s.tune("s.yaml").exit == 0);
  const auto ahead = s.attune({"db", "forget", "--keep-best", "5", "--reservoir", "4", "--dry-run", "--json"});
  BOOST_REQUIRE_MESSAGE(ahead.exit == 0, ahead.told());
  BOOST_TEST(ahead.document()["removed"] == 31, ahead.told());
  BOOST_TEST(stats(s)["records"] == 40);
  const auto done = s.attune({"db", "forget", "--keep-best", "5", "--reservoir", "4", "--json"});
  BOOST_REQUIRE_MESSAGE(done.exit == 0, done.told());
  BOOST_TEST(done.document()["removed"] == 31);
  BOOST_TEST(done.document()["kept"] == 9);
  BOOST_TEST(done.document()["cache_entries"] == 31);
  BOOST_TEST(done.document()["sessions"] == 1);
  BOOST_TEST(done.document()["tasks"][0]["best"] == 5);
  clean(s);
  const auto top = s.attune({"best", "s.yaml", "--top", "5", "--json"}).document();
  for (int k = 0; k < 5; ++k) BOOST_TEST(top["top"][static_cast<std::size_t>(k)]["value"] == 1.0 + 2 * k);
  // What stays is known, what went is run again.
  const auto again = s.tune("s.yaml");
  BOOST_TEST(again.document()["trials"]["cached"] == 9, again.told());
  BOOST_TEST(s.lines("runs.log").size() == 40u + 31u);
  // Nothing is older than an hour; no other task is there; a name that is not there is no reason to change anything.
  BOOST_TEST(s.attune({"db", "forget", "--older-than", "1h", "--json"}).document()["removed"] == 0);
  const auto none = s.attune({"db", "forget", "--task", "other"});
  BOOST_TEST(none.exit == 0, none.told());
  BOOST_TEST(none.err.find("no task") != std::string::npos, none.told());
  // Only the cache: the records stay, and all is measured again.
  const auto cache = s.attune({"db", "forget", "--task", "t", "--cache", "--json"});
  BOOST_TEST(cache.document()["cache_entries"] == 40, cache.told());
  BOOST_TEST(s.history("s.yaml").size() == 40u);
  const auto fresh = s.tune("s.yaml", {"--seed", "77", "--strategy", "random"});
  BOOST_TEST(fresh.document()["trials"]["cached"] == 0, fresh.told());
  BOOST_TEST(s.lines("runs.log").size() == 40u + 31u + 40u);
  const auto text = s.attune({"db", "forget", "--all"});
  BOOST_TEST(text.exit == 0, text.told());
  BOOST_TEST(text.out.find("forgot 80 records") != std::string::npos, text.told());
  BOOST_TEST(stats(s)["records"] == 0);
  const auto compacted = s.attune({"db", "compact", "--json"});
  BOOST_TEST(compacted.exit == 0, compacted.told());
  BOOST_TEST(compacted.document()["bytes_after"] < compacted.document()["bytes_before"], compacted.told());
  clean(s);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"db", "forget"},
                                                {"db", "forget", "--all", "--task", "t"},
                                                {"db", "forget", "--older-than", "5"},
                                                {"db", "forget", "--keep-best", "0"},
                                                {"db", "forget", "--cache", "--keep-best", "3"},
                                                {"db", "backup"}})
    BOOST_TEST(s.attune(words).exit == 2);
}

BOOST_AUTO_TEST_CASE(a_changed_source_is_forgotten_by_its_name) {
  const scenario s;
  const auto spec = [](const std::string& file) {
    return "task: " + file + "\nparameters: {x: [1, 2]}\nbuild: {command: \"cp " + file + " {artifact}\", sources: [" +
           file + "]}\nrun: {command: \"echo {x}\"}\n";
  };
  for (const auto* file : {"a.txt", "b.txt"}) {
    s.write(file, file);
    s.write(std::string(file) + ".yaml", spec(file));
    const auto e = s.tune(std::string(file) + ".yaml");
    BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  }
  s.write("a.txt", "changed");
  BOOST_TEST(s.tune("a.txt.yaml").document()["trials"]["measured"] == 2);
  BOOST_TEST(stats(s)["cache"]["misses"]["source"] == 2);
  const auto e = s.attune({"db", "forget", "--source", "a.txt", "--json"});
  BOOST_TEST(e.document()["removed"] == 4, e.told());
  BOOST_TEST(stats(s)["records"] == 2);
  clean(s);
}

// A18: a fallback only where it is asked for, and it says so.
BOOST_AUTO_TEST_CASE(the_nearest_task_is_asked_only_when_told_to_and_is_labelled) {
  const scenario s;
  const auto spec = [](int m, const std::string& board) {
    return "task: W\nworkload: {m: " + std::to_string(m) + "}\ntarget: {board: " + board +
           "}\nparameters: {x: [1, 2, 3]}\nrun: {command: \"echo $(({x} * " + std::to_string(m) + "))\"}\n";
  };
  for (const int m : {64, 4096}) {
    s.write("s.yaml", spec(m, "A"));
    BOOST_REQUIRE(s.tune("s.yaml").exit == 0);
  }
  const auto asked = s.write("c.yaml", spec(128, "A"));
  BOOST_TEST(s.attune({"best", asked, "--json"}).exit == 1);
  const auto near = s.attune({"best", asked, "--nearest", "--json"});
  BOOST_REQUIRE_MESSAGE(near.exit == 0, near.told());
  const auto d = near.document();
  BOOST_TEST(d["nearest"]["workload"]["m"] == 64, near.told());
  BOOST_TEST(d["best"]["value"] == 64.0, near.told());
  const double similarity = d["nearest"]["similarity"], distance = d["nearest"]["distance"];
  BOOST_TEST(similarity > 0.9);
  BOOST_TEST(similarity < 1.0);
  BOOST_TEST(std::abs(similarity + distance - 1) < 1e-12);
  BOOST_TEST(near.err.find("similarity") != std::string::npos, near.told());
  for (const auto* format : {"text", "header", "cmake"}) {
    const auto e = s.attune({"best", asked, "--nearest", "--format", format});
    BOOST_TEST(e.exit == 0, e.told());
    BOOST_TEST(e.out.find("similarity") != std::string::npos, e.told());
  }
  // What is known for itself is no fallback.
  s.write("s.yaml", spec(64, "A"));
  const auto own = s.attune({"best", "s.yaml", "--nearest", "--json"});
  BOOST_TEST(!own.document().contains("nearest"), own.told());
  // On a target that nobody has: none; another name: none.
  BOOST_TEST(s.attune({"best", asked, "--nearest", "--target", "board=Z"}).exit == 1);
  s.write("o.yaml", "task: O\nparameters: {x: [1]}\nrun: {command: echo 1}\n");
  BOOST_TEST(s.attune({"best", "o.yaml", "--nearest"}).exit == 1);
}
