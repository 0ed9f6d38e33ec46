// How fast records of other tools are taken, and that it needs no more memory for more of them.
//   import_bench [FORMAT] [LINES]     autotvm-0.2, 1,000,000 lines: made up, but of the length and the knobs of real
//   ones import_bench FILE                 a file, by its content
// One line per figure: the parser alone, then with the store (each group durable), then the same once more (all of it
// duplicates).
#include "core/clock.hpp"
#include "core/random.hpp"
#include "storage/formats/import.hpp"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::formats;

namespace {

double now() { return seconds(system_time().monotonic()); }

double cpu() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Of this thread alone: without what the database does behind it.
double own_cpu() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double resident_mib() {
  std::ifstream in("/proc/self/statm");
  long total = 0, resident = 0;
  in >> total >> resident;
  return static_cast<double>(resident) * 4096 / (1 << 20);
}

/// A log of 20 tasks, one record in ten failed.
void write_log(const std::string& path, std::uint64_t lines) {
  std::ofstream out(path);
  random_engine rng(1);
  const auto factor = [&] { return std::to_string(std::uint64_t{1} << rng.below(7)); };
  for (std::uint64_t i = 0; i < lines; ++i) {
    const auto task = std::to_string(64 << (i * 20 / lines));
    const bool failed = rng.chance(0.1);
    out << R"({"input": ["llvm -keys=cpu -link-params=0 -mcpu=skylake-avx512 -model=platinum-8124m", "conv2d_NCHWc.x86", [["TENSOR", [1, )"
        << task << R"(, 56, 56], "float32"], ["TENSOR", [64, )" << task
        << R"(, 3, 3], "float32"], [1, 1], [1, 1, 1, 1], [1, 1], "NCHW", "NCHW", "float32"], {}], "config": {"index": )"
        << rng.below(1'000'000) << R"(, "code_hash": null, "entity": [["tile_ic", "sp", [-1, )" << factor()
        << R"(]], ["tile_oc", "sp", [-1, )" << factor() << R"(]], ["tile_ow", "sp", [-1, )" << factor()
        << R"(]], ["unroll_kw", "ot", )" << (rng.chance(0.5) ? "true" : "false") << R"(]]}, "result": [)"
        << (failed ? "[1000000000.0], 6, 10"
                   : "[" + std::to_string(0.0001 + rng.uniform() / 1000) + "1234567], 0, 2.35520076751709")
        << ", " << 1610455200 + i / 10 << '.' << i % 10
        << "939427], \"version\": 0.2, \"tvm_version\": \"0.8.dev0\"}\n";
  }
}

void say(const char* what, std::uint64_t records, double took, double used, double own) {
  std::printf("%-28s %9llu records %8.2f s  %9.0f a second  %6.2f us CPU each, %.2f of it this thread's  %6.1f "
              "MiB resident\n",
              what, static_cast<unsigned long long>(records), took, static_cast<double>(records) / took,
              1e6 * used / static_cast<double>(records), 1e6 * own / static_cast<double>(records), resident_mib());
  std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
  std::string name = std::filesystem::temp_directory_path() / "attune-import-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return 1;
  std::string path = name + "/made.log";
  const format* as = find_format("autotvm-0.2");
  if (argc > 1 && find_format(argv[1]) == nullptr) {
    path = argv[1];
    const auto look = source::open(path);
    const auto found = look ? recognise(**look) : result<const format*>(look.err());
    if (!found) {
      std::fprintf(stderr, "%s\n", found.err().text().c_str());
      return 1;
    }
    as = *found;
  } else {
    write_log(path, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000);
  }
  std::printf("%s: %s, %.1f MB\n", path.c_str(), as->name, static_cast<double>(std::filesystem::file_size(path)) / 1e6);
  int code = 0;
  {
    const auto from = source::open(path);
    const auto reading = as->read(**from, {});
    entry e;
    damage d;
    std::uint64_t n = 0;
    const double start = now(), used = cpu(), own = own_cpu();
    for (auto s = reading->next(e, d); s != reader::step::end; s = reading->next(e, d))
      n += s == reader::step::record ? 1 : 0;
    say("parser alone", n, now() - start, cpu() - used, own_cpu() - own);
  }
  auto s = store::open(name + "/store", {});
  if (!s) return 1;
  for (const char* what : {"into the store", "all of it known already"}) {
    const auto from = source::open(path);
    import_options options;
    options.restate = [](measurement& m) {
      if (!m.samples.empty()) m.value = m.samples[m.samples.size() / 2];
    };
    const double start = now(), used = cpu(), own = own_cpu();
    const auto report = import_records(**s, **from, *as, options);
    if (!report) {
      std::fprintf(stderr, "%s\n", report.err().text().c_str());
      code = 1;
      break;
    }
    say(what, report->read, now() - start, cpu() - used, own_cpu() - own);
    std::printf("  added %llu, duplicates %llu, damaged %llu\n", static_cast<unsigned long long>(report->added),
                static_cast<unsigned long long>(report->duplicates), static_cast<unsigned long long>(report->damages));
  }
  s = error{errc::internal, "", {}};
  std::filesystem::remove_all(name);
  return code;
}
