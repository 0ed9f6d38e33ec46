// What the store and the cache do in a second, and what a record costs on the disk.
//   store_bench [RECORDS]        all of it, with 1,000,000 records unless given; one line per figure
//   store_bench large [RECORDS]  makes a store of 10,000,000 records, as many cache entries among them, and opens it in
//   a
//                                process of its own: the time to the first answers, and the memory
//   store_bench first FOLDER RECORDS
#include "core/clock.hpp"
#include "core/random.hpp"
#include "storage/cache.hpp"
#include "storage/store.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

using namespace attune;
using namespace attune::storage;

namespace {

double now() { return seconds(system_time().monotonic()); }

/// The CPU time of the whole process, background threads among it.
double cpu() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double most_resident_mib() {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;)
    if (double kib = 0; word == "VmHWM:" && in >> kib) return kib / 1024;
  return 0;
}

double resident_mib() {
  std::ifstream in("/proc/self/statm");
  long total = 0, resident = 0;
  in >> total >> resident;
  return static_cast<double>(resident) * 4096 / (1 << 20);
}

task_ptr make(const std::string& name) {
  task_spec spec;
  spec.name = name;
  spec.workload = {{"m", value(512)}, {"dtype", value("f32")}};
  spec.run.run.shell = "./run";
  target where;
  where.facts = {{"device", value("local")}};
  auto t = make_task(std::move(spec), std::move(where));
  if (!t) std::exit(1);
  return *t;
}

struct pool {
  std::vector<record_item> items;
  std::vector<step_item> steps;
};

const std::string session = "0123456789abcdef0123456789abcdef";

/// Trials of a space with ten parameters, and results as a run gives them.
pool make_items(const task_ptr& of, std::size_t from, std::size_t count, bool with_steps) {
  static const auto names = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{
      "tile_m", "tile_n", "tile_k", "unroll", "vec", "pack", "prefetch", "order", "opt", "cc"});
  random_engine random(from);
  pool out;
  for (std::size_t k = from; k < from + count; ++k) {
    const auto n = static_cast<std::int64_t>(k);
    auto t = std::make_shared<trial>();
    t->number = k;
    t->of = of;
    t->config = configuration(names, {value(n % 64), value(n / 64 % 64), value(n / 4096 % 64), value(n / 262144),
                                      value(std::int64_t{8}), value(n % 2 == 0), value(0.5),
                                      value(permutation{{"i", "j", "k"}}), value("-O2"), value("g++")});
    t->canonical = t->config.canonical();
    t->key = measurement_key(of->identity, t->canonical);
    auto o = std::make_shared<outcome>();
    const double v = 1e-3 * (1 + random.uniform());
    o->data = measurement{v, 0.01, {v, v * 1.01, v * 0.99}, 0, {}};
    o->phases = {std::chrono::microseconds(100), std::chrono::milliseconds(200), std::chrono::milliseconds(30), {}};
    o->used = {std::chrono::milliseconds(29), 20 << 20};
    o->runner = "local/slot0";
    o->at = std::chrono::seconds(1'800'000'000) + std::chrono::microseconds(k);
    record_item r;
    r.what = std::move(t);
    r.result = std::move(o);
    r.session = session;
    if (with_steps) out.steps.push_back({session, r.what, r.result, k + 1, false, 0});
    out.items.push_back(std::move(r));
  }
  return out;
}

struct spent {
  double wall = 0, cpu = 0;
};

spent append_all(store& to, const task_ptr& of, std::size_t from, std::size_t count, std::size_t group, bool steps) {
  spent out;
  for (std::size_t at = 0; at < count;) {
    const std::size_t n = std::min<std::size_t>(count - at, std::max<std::size_t>(group, 20000) / group * group);
    auto p = make_items(of, from + at, n, steps);
    const double wall = now(), used = cpu();
    for (std::size_t k = 0; k < n; k += group) {
      const auto size = std::min(group, n - k);
      const auto some = steps ? std::span<const step_item>(p.steps).subspan(k, size) : std::span<const step_item>();
      if (const auto done = to.append(std::span(p.items).subspan(k, size), some); !done) {
        std::fprintf(stderr, "%s\n", done.err().text().c_str());
        std::exit(1);
      }
    }
    out.wall += now() - wall;
    out.cpu += cpu() - used;
    at += n;
  }
  return out;
}

std::unique_ptr<store> open(const std::string& path, std::uint64_t entries = 1'000'000) {
  auto s = store::open(path, {.cache = {entries, std::uint64_t{1} << 40}});
  if (!s) {
    std::fprintf(stderr, "%s\n", s.err().text().c_str());
    std::exit(1);
  }
  return *std::move(s);
}

void per_second(const char* what, double count, double time) { std::printf("%s: %.0f a second\n", what, count / time); }

/// What a fresh process waits for, and holds, until a store has answered.
int first_answers(const std::string& path, std::size_t records) {
  const auto task = make("bench");
  const auto asked = make_items(task, records / 2, 1, false);
  const double before = now();
  const auto s = open(path, records);
  const double opened = now();
  const auto best = s->best(task->identity.task_key, 1);
  const double answered = now();
  const auto hit = s->recall(std::vector{asked.items[0].what});
  const double recalled = now();
  if (!best || best->empty() || hit.size() != 1 || !hit[0].entry) return 1;
  std::printf(
      "open: %.0f ms, to the first best: %.0f ms, to the first hit of the cache: %.0f ms; resident %.1f MiB, at "
      "most %.1f MiB\n",
      1e3 * (opened - before), 1e3 * (answered - before), 1e3 * (recalled - before), resident_mib(),
      most_resident_mib());
  return 0;
}

int large(const std::string& self, const std::string& folder, std::size_t records) {
  const std::string path = folder + "/large";
  const auto task = make("bench");
  {
    const double before = now();
    auto s = open(path, records);
    const auto t = append_all(*s, task, 0, records, 4000, false);
    std::printf("append %zu records in groups of 4000: %.0f a second; resident %.1f MiB\n", records,
                static_cast<double>(records) / t.wall, resident_mib());
    const auto st = s->statistics();
    if (!st || st->cache_entries != records) return 1;
    std::printf("bytes a record, its cache entry with it: %.0f\n",
                static_cast<double>(st->bytes) / static_cast<double>(records));
    s.reset();
    std::printf("made in %.0f s\n", now() - before);
    std::fflush(stdout);
  }
  for (int k = 0; k < 3; ++k)
    if (std::system(("'" + self + "' first '" + path + "' " + std::to_string(records)).c_str()) != 0) return 1;
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "first") return argc == 4 ? first_answers(argv[2], std::strtoull(argv[3], nullptr, 10)) : 2;
  std::string folder = (std::filesystem::temp_directory_path() / "attune-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  if (what == "large") {
    const int failed = large(argv[0], folder, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 10'000'000);
    std::filesystem::remove_all(folder);
    return failed;
  }
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const auto task = make("bench");

  for (const std::size_t group : {1u, 10u, 100u, 500u, 4000u}) {
    const std::string path = folder + "/group" + std::to_string(group);
    auto s = open(path);
    const std::size_t n = std::min<std::size_t>(count, group < 10 ? 500 : group * 200);
    const auto t = append_all(*s, task, 0, n, group, false);
    std::printf("append in groups of %zu: %.0f records a second, %.2f us of CPU a record\n", group,
                static_cast<double>(n) / t.wall, 1e6 * t.cpu / static_cast<double>(n));
  }

  const std::string path = folder + "/big";
  {
    auto s = open(path);
    session_entry begun;
    begun.id = session;
    begun.task_name = "bench";
    if (!s->begin_session(begun)) return 1;
    spent all;
    double resident = 0;
    for (std::size_t k = 0; k < 10; ++k) {
      const auto t = append_all(*s, task, k * (count / 10), count / 10, 500, true);
      all.wall += t.wall;
      all.cpu += t.cpu;
      if (k == 0 || k == 4 || k == 9) {
        resident = resident_mib();
        std::printf("resident after %zu0 %% of the records: %.1f MiB\n", k + 1, resident);
      }
    }
    std::printf(
        "append with session steps, %zu records in groups of 500: %.0f records a second, %.2f us of CPU a record\n",
        count, static_cast<double>(count) / all.wall, 1e6 * all.cpu / static_cast<double>(count));
    const double before = now();
    s.reset();
    std::printf("close: %.0f ms\n", 1e3 * (now() - before));
  }
  {
    double before = now();
    auto s = open(path);
    std::printf("open with %zu records: %.1f ms\n", count, 1e3 * (now() - before));
    before = now();
    const auto first = s->best(task->identity.task_key, 1);
    std::printf("the first best after it: %.2f ms\n", 1e3 * (now() - before));
    if (!first || first->empty()) return 1;

    std::vector<double> times;
    for (int k = 0; k < 100'000; ++k) {
      const double start = now();
      const auto b = s->best(task->identity.task_key, 1);
      times.push_back(now() - start);
      if (!b) return 1;
    }
    std::sort(times.begin(), times.end());
    std::printf("best: p50 %.2f us, p99 %.2f us\n", 1e6 * times[times.size() / 2],
                1e6 * times[times.size() * 99 / 100]);

    if (const auto st = s->statistics())
      std::printf("bytes a record, cache and session with it: %.0f\n",
                  static_cast<double>(st->bytes) / static_cast<double>(count));

    // In an order that is neither theirs nor the cache's.
    const auto asked = make_items(task, 0, std::min<std::size_t>(count, 200'000), false);
    std::vector<const trial*> order;
    for (const auto& i : asked.items) order.push_back(i.what.get());
    random_engine random(1);
    random.shuffle(std::span(order));
    std::vector<trial_ptr> cold;
    for (const auto& i : asked.items) cold.push_back(i.what);
    random.shuffle(std::span(cold));
    before = now();
    auto recalled = s->recall(cold);
    per_second("cache hits from the disk", static_cast<double>(recalled.size()), now() - before);
    lru_cache cache({count, std::uint64_t{4} << 30}, true);
    for (std::size_t k = 0; k < cold.size(); ++k) {
      if (!recalled[k].entry) return 1;
      cache.restore(*cold[k], *std::move(recalled[k].entry));
    }
    std::printf("memory of a hit that is held: %.0f bytes\n",
                static_cast<double>(cache.statistics().bytes) / static_cast<double>(cold.size()));
    std::size_t hits = 0;
    before = now();
    for (int round = 0; round < 5; ++round)
      for (const auto* t : order) hits += cache.lookup(*t) != nullptr;
    per_second("cache hits, one thread", static_cast<double>(hits), now() - before);
    const auto uses = cache.take_used();
    before = now();
    s->touch(uses);
    per_second("uses noted on the disk", static_cast<double>(uses.size()), now() - before);

    before = now();
    std::size_t seen = 0;
    if (!s->records_of(task->identity.task_key, [&](const record&) { return ++seen > 0; })) return 1;
    per_second("records read", static_cast<double>(seen), now() - before);
    before = now();
    seen = 0;
    if (!s->session_steps(session, [&](const session_step&) { ++seen; })) return 1;
    per_second("session steps read", static_cast<double>(seen), now() - before);
    before = now();
    const auto v = s->verify();
    std::printf("verify: %.1f s, %llu problems\n", now() - before,
                static_cast<unsigned long long>(v ? v->problem_count : 1));
    std::printf("resident: %.1f MiB\n", resident_mib());
  }
  std::filesystem::remove_all(folder);
  return 0;
}
