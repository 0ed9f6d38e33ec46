// Many searches in the background: attune::Engine, and ask and tell.
#include "attune/actors.hpp"
#include "attune/attune.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_registry.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace attune;
using namespace std::chrono_literals;

namespace {

struct engine_folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("attune-engine-" + std::to_string(getpid()) + "-" + std::to_string(n++));
  ~engine_folder() { std::filesystem::remove_all(path); }
  static inline int n = 0;
};

std::size_t threads_now() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator()));
}

template <class T>
T need(result<T> r) {
  BOOST_REQUIRE_MESSAGE(r, (r ? std::string() : r.err().text()));
  return std::move(*r);
}

/// Waits inside the objective until it is told to stop.
answer held(config_view, const std::stop_token& stop) {
  std::mutex m;
  std::condition_variable_any changed;
  std::unique_lock guard(m);
  changed.wait(guard, stop, [] { return false; });
  return 1.0;
}

} // namespace

BOOST_AUTO_TEST_CASE(many_searches_share_an_engine) {
  auto e = need(Engine::start({.slots = 2}));
  std::vector<session> all;
  std::vector<std::shared_future<report>> futures;
  std::atomic<int> heard{0};
  for (int n = 0; n < 20; ++n) {
    space s("many" + std::to_string(n));
    const auto x = s.integers("x", 0, 30);
    all.push_back(need(e.tune(s, [x, n](config_view c) { return 1.0 + std::abs(static_cast<double>(c[x] - n)); },
                              {.strategy = "grid"})));
    futures.push_back(all.back().future());
    all.back().on_end([&](const report& r) { heard += r.finished ? 1 : 1000; });
  }
  for (int n = 0; n < 20; ++n) {
    const auto r = futures[static_cast<std::size_t>(n)].get();
    BOOST_REQUIRE(r.best);
    BOOST_TEST(r.best->config[0].as_integer() == n);
    BOOST_TEST(all[static_cast<std::size_t>(n)].progress().finished);
  }
  e = need(Engine::start()); // the first one ends: everybody has heard by then
  BOOST_TEST(heard == 20);
  all.front().on_end([&](const report&) { heard = -1; });
  BOOST_TEST(heard == -1);
}

BOOST_AUTO_TEST_CASE(a_search_is_paused_looked_at_and_cancelled) {
  auto e = need(engine::start());
  space s("long");
  s.integers("x", 0, 100'000);
  auto running = need(e.tune(s, held, {.strategy = "random", .trials = 100'000}));
  BOOST_TEST(!running.wait_for(1ms));
  running.pause();
  BOOST_TEST(!running.progress().finished);
  running.resume();
  running.cancel();
  const auto r = running.wait();
  BOOST_TEST((r.ended == ending::interrupted));
  BOOST_TEST((running.wait().ended == ending::interrupted));
}

BOOST_AUTO_TEST_CASE(an_engine_may_end_while_it_works_and_its_searches_say_so) {
  space s("cut");
  s.integers("x", 0, 100'000);
  std::vector<session> left;
  std::atomic<int> heard{0};
  {
    auto e = need(engine::start());
    for (int i = 0; i < 3; ++i) {
      left.push_back(need(e.tune(s, held, {.strategy = "random", .seed = static_cast<std::uint64_t>(i + 1)})));
      left.back().on_end([&](const report&) { ++heard; });
    }
  }
  BOOST_TEST(heard == 3);
  for (const auto& one : left) {
    BOOST_TEST((one.wait().ended == ending::interrupted));
    BOOST_TEST(one.progress().finished);
    one.cancel();
    one.pause();
    one.resume();
    BOOST_TEST((handle_of(one).tuner == nullptr));
  }
}

BOOST_AUTO_TEST_CASE(it_lives_on_the_programs_own_actor_system) {
  caf::actor_system_config config;
  config.set("scheduler.policy", caf::atom("sharing"));
  caf::actor_system host{config};
  const auto before = host.registry().running();
  {
    auto e = need(engine::start({.host = &host}));
    BOOST_TEST(&system_of(e) == &host);
    space s("hosted");
    const auto x = s.integers("x", 0, 9);
    auto running =
        need(e.tune(s, [x](config_view c) { return 1.0 + static_cast<double>(c[x]); }, {.strategy = "grid"}));
    BOOST_TEST(running.wait().measured == 10u);
  }
  BOOST_TEST(host.registry().running() == before);
}

BOOST_AUTO_TEST_CASE(it_keeps_to_its_threads_and_gives_them_back) {
  const engine_folder f;
  { const auto first = need(engine::start({.store = f.path.string()})); } // RocksDB's own threads stay in the process
  const auto before = threads_now();
  for (const auto& options :
       {engine_options{}, engine_options{.slots = 2}, engine_options{.inline_calls = true},
        engine_options{.store = f.path.string()}, engine_options{.store = f.path.string(), .shared = false},
        engine_options{.slots = 2, .threads = engine_threads({.slots = 1})}}) {
    const auto stated = engine_threads(options);
    {
      auto e = need(engine::start(options));
      space s("threads");
      const auto x = s.integers("x", 0, 40);
      std::atomic<std::size_t> most{0};
      auto running = need(e.tune(s,
                                 [&](config_view c) {
                                   most = std::max(most.load(), threads_now());
                                   return 1.0 + static_cast<double>(c[x]);
                                 },
                                 {.strategy = "random", .trials = 40, .remeasure = true}));
      running.wait();
      const auto limit = options.threads > 0 ? options.threads : stated;
      BOOST_TEST(most - before <= limit, most - before << " threads, stated " << limit);
      BOOST_TEST(most - before + 8 >= limit, most - before << " threads, stated " << limit);
    }
    // One that has ended is seen for a moment.
    for (int n = 0; n < 100'000 && threads_now() != before; ++n) std::this_thread::yield();
    BOOST_TEST(threads_now() == before);
  }
}

BOOST_AUTO_TEST_CASE(it_says_nothing_installs_nothing_and_logs_where_it_is_told) {
  std::vector<struct sigaction> before(32), after(32);
  for (int n = 1; n < 32; ++n) sigaction(n, nullptr, &before[static_cast<std::size_t>(n)]);
  const engine_folder f;
  std::filesystem::create_directories(f.path);
  const auto file = (f.path / "out").string();
  const int caught = open(file.c_str(), O_CREAT | O_RDWR, 0600), out = dup(1), err = dup(2);
  dup2(caught, 1);
  dup2(caught, 2);
  std::mutex m;
  std::vector<std::string> lines;
  {
    auto e = engine::start({.store = (f.path / "store").string(), .log = [&](log_level, std::string_view text) {
                              const std::lock_guard guard(m);
                              lines.emplace_back(text);
                              throw 1; // a sink that misbehaves harms nobody
                            }});
    space s("loud");
    const auto x = s.integers("x", 0, 9);
    auto running = e->tune(s,
                           [x](config_view c) -> answer {
                             if (c[x] == 3) throw std::runtime_error("thrown");
                             return 1.0 + static_cast<double>(c[x]);
                           },
                           {.strategy = "grid"});
    running->wait();
  }
  dup2(out, 1);
  dup2(err, 2);
  close(out);
  close(err);
  close(caught);
  BOOST_TEST(std::filesystem::file_size(file) == 0u);
  for (int n = 1; n < 32; ++n) {
    sigaction(n, nullptr, &after[static_cast<std::size_t>(n)]);
    BOOST_TEST((before[static_cast<std::size_t>(n)].sa_handler == after[static_cast<std::size_t>(n)].sa_handler), n);
  }
  BOOST_TEST(std::count(lines.begin(), lines.end(), "search of loud begins") == 1);
  BOOST_TEST(std::count(lines.begin(), lines.end(), "search ended: exhausted") == 1);
}

BOOST_AUTO_TEST_CASE(a_program_measures_by_itself) {
  const engine_folder f;
  space s("by hand");
  const auto x = s.integers("x", 0, 11);
  for (const bool again : {false, true}) {
    auto e = need(engine::start({.store = f.path.string()}));
    auto search = need(e.open(s, {.strategy = "random", .trials = 12}));
    std::set<std::int64_t> seen;
    while (const auto next = search.ask()) {
      const auto at = next->config()[x];
      seen.insert(at);
      if (at == 4)
        BOOST_TEST(search.tell(*next, failed(failure_kind::run_error, "no")).ok());
      else
        BOOST_TEST(search
                       .tell(*next, std::vector<double>{2.0 + static_cast<double>(at), 1.0 + static_cast<double>(at),
                                                        1.0 + static_cast<double>(at)})
                       .ok());
      const auto twice = search.tell(*next, 1.0);
      BOOST_TEST(!twice.ok());
    }
    const auto r = search.wait();
    BOOST_TEST(seen.size() == (again ? 0u : 12u));
    BOOST_TEST(r.measured == (again ? 0u : 11u));
    BOOST_TEST(r.cached == (again ? 12u : 0u));
    BOOST_TEST(r.failures() == 1u);
    BOOST_REQUIRE(r.best);
    BOOST_TEST((*r.best)[x] == 0);
    BOOST_TEST(r.best->value == 1.0);
    BOOST_TEST(!search.ask());
  }
}

BOOST_AUTO_TEST_CASE(several_may_be_in_hand_and_what_is_not_told_is_no_result) {
  space s("in hand");
  s.integers("x", 0, 99);
  std::optional<ask_tell> left;
  std::optional<asked> open;
  {
    auto e = need(engine::start());
    left = need(e.open(s, {.strategy = "random", .trials = 50}));
    const auto a = left->ask();
    open = left->ask();
    BOOST_REQUIRE((a && open));
    BOOST_TEST((a->config().all() != open->config().all()));
    BOOST_TEST(left->tell(*a, 1ms).ok());
    BOOST_TEST(left->progress().best->value == 1e-3);
  }
  BOOST_TEST(left->wait().measured == 1u);
  const auto late = left->tell(*open, 1.0);
  BOOST_TEST((!late && late.err().code == errc::cancelled));
  BOOST_TEST(!left->ask());
}
