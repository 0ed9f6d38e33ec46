// The engine as a program embeds it: real threads, real clock.
#include "actors/engine.hpp"
#include "actors/messages.hpp"
#include "core/text.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <malloc.h>
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

BOOST_AUTO_TEST_CASE(a_session_that_was_let_go_leaves_nothing_behind) {
  auto e = start();
  const auto some = [&](int sessions) {
    for (int i = 0; i < sessions; ++i) {
      auto s = begin(*e, [](const configuration&, std::stop_token) -> std::variant<std::vector<double>, failure> {
        return std::vector<double>{1.0};
      });
      BOOST_REQUIRE(s.wait() != nullptr);
      s.close();
    }
    return ::mallinfo2().uordblks;
  };
  const auto before = some(50), after = some(400);
  BOOST_TEST_MESSAGE("400 sessions: " << before << " bytes before, " << after << " after");
  // A sanitizer's heap tells nothing.
  if (before > 0) BOOST_TEST(after < before + 400 * 300, before << " bytes before, " << after << " after");
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

namespace {

/// A command that tells who it is when it runs, and then neither ends nor heeds SIGTERM.
struct stubborn {
  stubborn() {
    std::string name = (std::filesystem::temp_directory_path() / "attune-stubborn-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder = name;
    BOOST_REQUIRE(::mkfifo((folder + "/pipe").c_str(), 0600) == 0);
  }
  ~stubborn() { std::filesystem::remove_all(folder); }
  stubborn(const stubborn&) = delete;
  stubborn& operator=(const stubborn&) = delete;
  std::string command() const { return "trap '' TERM; echo $$ >" + folder + "/pipe; while :; do sleep 600; done"; }
  /// Waits until it runs: its process.
  pid_t wait() const {
    pid_t out = 0;
    std::ifstream(folder + "/pipe") >> out;
    return out;
  }
  std::string folder;
};

session begin_commands(engine& e, const std::string& build, const std::string& run, const std::string& name,
                       const std::string& folder) {
  auto spec = spec_of(4);
  spec.name = name;
  spec.callable.clear();
  spec.directory = folder;
  spec.run.run.shell = run;
  if (!build.empty()) {
    spec.build.emplace();
    spec.build->run.shell = build + " {artifact}";
    spec.build->timeout = std::chrono::hours(1);
  }
  auto of = make_task(spec);
  BOOST_REQUIRE(of.ok());
  const auto over = search::space::compile(spec.parameters, spec.constraints);
  auto begun = e.tune({*of, *over});
  BOOST_REQUIRE(begun.ok());
  return *begun;
}

} // namespace

// Far below what the commands would take, and far above what it does take (library_bench shutdown).
BOOST_AUTO_TEST_CASE(its_end_waits_for_no_command_whatever_that_does) {
  using clock = std::chrono::steady_clock;
  for (const bool stored : {false, true})
    for (const std::string phase : {"building", "running", "queueing"}) {
      const stubborn command;
      engine_options options;
      options.subreaper = false;
      if (stored) options.store = command.folder + "/store";
      auto e = start(options);
      std::vector<session> all;
      all.push_back(begin_commands(*e, phase == "building" ? command.command() + " #" : "",
                                   phase == "building" ? "echo 1" : command.command(), "first", command.folder));
      if (phase == "queueing")
        for (int n = 0; n < 20; ++n)
          all.push_back(begin_commands(*e, "", "echo 1", "more" + std::to_string(n), command.folder));
      const auto process = command.wait();
      BOOST_REQUIRE(process > 0);
      const auto begun = clock::now();
      e = nullptr;
      const auto took = std::chrono::duration<double>(clock::now() - begun).count();
      BOOST_TEST_MESSAGE(phase << (stored ? ", with a store" : "") << ": its end took " << took << " s");
      BOOST_TEST(took < 20, phase);
      BOOST_TEST((::kill(process, 0) != 0 && errno == ESRCH));
      for (auto& s : all) {
        const auto report = s.wait();
        BOOST_REQUIRE(report);
        BOOST_TEST((report->reason == search::stop_reason::interrupted));
        BOOST_TEST(report->counts.measured == 0u);
      }
    }
}

BOOST_AUTO_TEST_CASE(its_end_waits_for_no_training) {
  // Each value is worse than the one before: there is always something to learn, and the model is never far away.
  std::mutex lock;
  std::condition_variable changed;
  int calls = 0;
  auto e = start();
  auto spec = spec_of(100'000);
  spec.search.strategy = "model";
  auto of = make_task(spec, [&](const configuration&, std::stop_token) -> std::variant<std::vector<double>, failure> {
    const std::lock_guard guard(lock);
    ++calls;
    changed.notify_all();
    return std::vector<double>{static_cast<double>(calls)};
  });
  BOOST_REQUIRE(of.ok());
  auto begun = e->tune({*of, *search::space::compile(spec.parameters, spec.constraints)});
  BOOST_REQUIRE(begun.ok());
  {
    std::unique_lock guard(lock);
    changed.wait(guard, [&] { return calls >= 200; });
  }
  e = nullptr;
  BOOST_REQUIRE(begun->wait());
  BOOST_TEST((begun->wait()->reason == search::stop_reason::interrupted));
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
