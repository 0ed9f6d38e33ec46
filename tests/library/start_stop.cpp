// Starts and ends an engine again and again in one process, idle, in the middle of searches and of asking, with a store
// and without, and a live beside it.   start_stop [TIMES]
#include "attune/attune.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>

using namespace attune;

namespace {

std::size_t threads_now() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator()));
}

/// One life of an engine; what is begun in it is left in the middle.
bool once(int n, const std::string& store) {
  engine_options options;
  // The disk every tenth time: opening a database is most of the time then.
  if (n % 10 == 9) options.store = store;
  options.slots = static_cast<std::uint32_t>(1 + n % 2);
  options.inline_calls = n % 3 == 0;
  auto e = engine::start(options);
  if (!e) {
    std::fprintf(stderr, "start_stop: %s\n", e.err().text().c_str());
    return false;
  }
  space s("start_stop");
  const auto x = s.integers("x", 0, 10'000);
  if (n % 5 == 0) return true;
  auto running = e->tune(s, [x](config_view c) { return 1.0 + static_cast<double>(c[x] % 97); },
                         {.strategy = "random", .trials = 5'000, .seed = static_cast<std::uint64_t>(n)});
  if (!running) return false;
  if (n % 5 == 1) return running->wait().finished;
  std::optional<ask_tell> asking;
  if (n % 5 == 2) {
    auto opened = e->open(s, {.method = "by hand", .seed = static_cast<std::uint64_t>(n)});
    if (!opened || !opened->ask()) return false;
    return true;
  }
  if (n % 5 == 3) {
    auto l = live<std::int64_t>::start(*e, s, [x](config_view c) { return c[x]; });
    if (!l) return false;
    for (int i = 0; i < 200; ++i) l->tell(l->choose(), std::chrono::microseconds(10));
  }
  return true;
}

} // namespace

int main(int argc, char** argv) {
  const int times = argc > 1 ? std::atoi(argv[1]) : 100;
  const auto store = std::filesystem::temp_directory_path() / ("attune-start-stop-" + std::to_string(getpid()));
  { const auto first = engine::start({.store = store.string()}); } // RocksDB's own threads stay in the process
  const auto threads = threads_now();
  std::chrono::duration<double> longest{0};
  bool good = true;
  for (int n = 0; n < times && good; ++n) {
    const auto start = std::chrono::steady_clock::now();
    good = once(n, store.string());
    longest = std::max(longest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start));
  }
  std::filesystem::remove_all(store);
  // One that has ended is seen for a moment.
  for (int n = 0; n < 100'000 && threads_now() != threads; ++n) std::this_thread::yield();
  if (threads_now() != threads) {
    std::fprintf(stderr, "start_stop: %zu threads are left over\n", threads_now() - threads);
    good = false;
  }
  std::printf("%d times, the longest took %.3f s\n", times, longest.count());
  return good ? 0 : 1;
}
