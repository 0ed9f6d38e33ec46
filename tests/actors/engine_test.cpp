// The engine as a program embeds it: real threads, real clock.
#include "actors/engine.hpp"
#include "actors/messages.hpp"
#include "core/text.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>

using namespace attune;
using actors::engine;
using actors::engine_options;
using actors::session;

namespace {

/// A run that is held until it is let go.
class gate {
public:
  std::variant<std::vector<double>, failure> pass(const configuration& c, std::stop_token stop) {
    std::unique_lock guard(lock_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(guard, stop, [this] { return open_; });
    return std::vector<double>{1.0 + static_cast<double>(c[0].as_integer())};
  }
  void wait_until_somebody_waits() {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [this] { return waiting_ > 0; });
  }
  void open() {
    const std::lock_guard guard(lock_);
    open_ = true;
    changed_.notify_all();
  }

private:
  std::mutex lock_;
  std::condition_variable_any changed_;
  bool open_ = false;
  int waiting_ = 0;
};

task_spec spec_of(std::int64_t size) {
  task_spec spec;
  spec.name = "gate";
  spec.callable = "gate/1";
  parameter p;
  p.name = "x";
  p.domain = integer_range{0, size - 1, 1, false};
  spec.parameters.push_back(p);
  spec.search.strategy = "grid";
  spec.run.timeout = std::chrono::hours(1);
  return spec;
}

session begin(engine& e, objective_function f, std::int64_t size = 4, bool by_caller = false) {
  const auto spec = spec_of(size);
  auto of = make_task(spec, std::move(f));
  BOOST_REQUIRE(of.ok());
  const auto over = search::space::compile(spec.parameters, spec.constraints);
  auto begun = e.tune({*of, *over, false, by_caller});
  BOOST_REQUIRE(begun.ok());
  return *begun;
}

std::unique_ptr<engine> start(engine_options options = {}) {
  auto e = engine::start(std::move(options));
  BOOST_REQUIRE(e.ok());
  return std::move(*e);
}

/// How often the threads of this process but this one have gone to sleep by themselves.
std::uint64_t naps() {
  std::uint64_t sum = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(gettid())) continue;
    std::ifstream in(task.path() / "status");
    for (std::string word; in >> word;) {
      std::uint64_t n = 0;
      if (word == "voluntary_ctxt_switches:" && in >> n) sum += n;
    }
  }
  return sum;
}

} // namespace

BOOST_AUTO_TEST_SUITE(the_engine)

// A scheduler that polls goes to sleep and wakes up again all the time, beside the run that is being timed.
BOOST_AUTO_TEST_CASE(no_thread_of_attunes_wakes_up_while_a_run_is_timed) {
  gate held;
  auto e = start();
  auto s = begin(*e, [&](const configuration& c, std::stop_token stop) { return held.pass(c, stop); });
  held.wait_until_somebody_waits();
  std::uint64_t before = naps(), after = 0;
  // The messages that led to the run have their aftermath: the quietest of some stretches counts.
  std::uint64_t fewest = ~std::uint64_t{0};
  for (int stretch = 0; stretch < 5; ++stretch, before = after) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    after = naps();
    fewest = std::min(fewest, after - before);
  }
  BOOST_TEST(fewest == 0u);
  held.open();
  BOOST_TEST(s.wait()->counts.measured == 4u);
}

BOOST_AUTO_TEST_CASE(it_lives_in_the_actor_system_of_its_host) {
  caf::actor_system_config config;
  config.set("scheduler.policy", caf::atom("sharing"));
  caf::actor_system host(config);
  engine_options options;
  options.host = &host;
  for (int life = 0; life < 2; ++life) {
    auto e = start(options);
    BOOST_TEST(&e->system() == &host);
    auto s = begin(*e, [](const configuration& c, std::stop_token) -> std::variant<std::vector<double>, failure> {
      return std::vector<double>{5.0 - static_cast<double>(c[0].as_integer())};
    });
    const auto report = s.wait();
    BOOST_REQUIRE(report);
    BOOST_TEST(report->best->config.text() == "x=3");
  }
}

BOOST_AUTO_TEST_CASE(its_end_ends_what_is_under_way) {
  gate held;
  auto e = start();
  auto s = begin(*e, [&](const configuration& c, std::stop_token stop) { return held.pass(c, stop); });
  held.wait_until_somebody_waits();
  e = nullptr; // asks the run to stop, and waits for it
  const auto report = s.wait();
  BOOST_REQUIRE(report);
  BOOST_TEST((report->reason == search::stop_reason::interrupted));
  BOOST_TEST(report->counts.measured == 0u);
  BOOST_TEST(!report->best);
}

BOOST_AUTO_TEST_CASE(cancel_reaches_a_callable_that_is_being_called) {
  gate held;
  auto e = start();
  auto s = begin(*e, [&](const configuration& c, std::stop_token stop) { return held.pass(c, stop); });
  held.wait_until_somebody_waits();
  s.cancel(); // nobody opens the gate
  BOOST_TEST((s.wait()->reason == search::stop_reason::interrupted));
}

BOOST_AUTO_TEST_CASE(a_caller_asks_and_tells_from_threads_of_its_own) {
  auto e = start();
  auto s = begin(*e, {}, 64, true);
  const auto work = [&] {
    while (const auto t = s.ask()) {
      outcome o;
      measurement m;
      m.value = static_cast<double>(t->config[0].as_integer() % 7) + 1;
      m.samples = {m.value};
      o.data = m;
      if (!s.tell(*t, o).ok()) return;
    }
  };
  std::thread other(work);
  work();
  other.join();
  const auto report = s.wait();
  BOOST_TEST(report->counts.measured == 64u);
  BOOST_TEST(report->best->result->measured()->value == 1);
}

BOOST_AUTO_TEST_CASE(a_later_engine_finds_in_the_store_what_memory_cannot_hold) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("attune-engine-" + std::to_string(getpid()))).string();
  engine_options options;
  options.store = folder;
  options.inline_callables = true;
  options.cache.hot_bytes = 1; // one entry
  int runs = 0;
  const auto objective = [&runs](const configuration& c,
                                 std::stop_token) -> std::variant<std::vector<double>, failure> {
    ++runs;
    return std::vector<double>{1.0 + static_cast<double>(c[0].as_integer())};
  };
  for (int pass = 0; pass < 3; ++pass) {
    {
      auto e = start(options);
      auto spec = spec_of(100);
      spec.search.strategy = "random";
      spec.search.trials = 100;
      spec.search.seed = static_cast<std::uint64_t>(pass);
      auto of = make_task(spec, objective);
      BOOST_REQUIRE(of.ok());
      const auto over = search::space::compile(spec.parameters, spec.constraints);
      auto begun = e->tune({*of, *over, false, false});
      BOOST_REQUIRE(begun.ok());
      const auto report = begun->wait();
      BOOST_REQUIRE(report);
      BOOST_TEST(report->counts.cached == (pass == 0 ? 0u : 100u));
      BOOST_TEST(report->counts.measured == (pass == 0 ? 100u : 0u));
    }
    const auto s = storage::store::open(folder, {.read_only = true});
    BOOST_REQUIRE(s.ok());
    const auto st = (*s)->statistics();
    BOOST_TEST(st->cache_entries == 100u);
    BOOST_TEST(st->hits == 100u * static_cast<unsigned>(pass));
    BOOST_TEST(st->evicted == 0u);
    BOOST_TEST((*s)->verify()->ok());
  }
  BOOST_TEST(runs == 100);
  std::filesystem::remove_all(folder);
}

BOOST_AUTO_TEST_SUITE_END()
