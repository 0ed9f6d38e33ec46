// What the fleet costs: a hub and its agents over loopback, in one process (each with a thread of its own), with
// stand-ins for what runs.
//
//   fleet_bench [busy] [rate] [wire] [many] [jobs [N]] [--tls] [--agents N] [--slots N] [--trials N] [--run-ms MS]
//               [--one-at-a-time] [--commands] [--one-task]
//
// With --one-at-a-time no slot is sent its next order ahead.
// busy: agents of one slot, runs of 10 ms that sleep: which part of the time the slots run, and how long a free slot
// waits
//   for its next run (at the agent, from the end of one to the begin of the next).
// rate: runs that take no time, through the engine, without a store: trials a second.
// wire: the same without the engine: orders and answers a second.
// many: agents that are connected and send heartbeats: memory and lost leases.
// jobs: N jobs (5,000) of a few trials through one hub with a store, one client after the other: the memory of hub,
//   agents and clients together, on the way. Each job is a task of its own, whose results are remembered up to the
//   cache's bound; with --one-task all are searches of one, of which everything is known soon: what grows is the jobs'.
//   --commands: agents run commands, in place of stand-ins.
// Targets: 95 % busy, 20,000 trials a second, 5 ms at the median, 500 MB for 1,000 agents.
#include "actors/engine.hpp"
#include "actors/messages.hpp"
#include "core/text.hpp"
#include "measure/supervisor.hpp"
#include "net/dial.hpp"
#include "net/fleet/agent.hpp"
#include "net/fleet/client.hpp"
#include "net/fleet/fleet_server.hpp"
#include "net/fleet/hub.hpp"
#include "net/listen.hpp"
#include "net/shared_store.hpp"
#include "net/store_messages.hpp"
#include "net/tls.hpp"
#include "search/space.hpp"
#include "storage/spec_reader.hpp"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <malloc.h>
#include <mutex>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace attune;
using namespace attune::net;
using namespace attune::net::fleet;

namespace {

struct settings {
  bool tls = false;
  std::uint32_t agents = 8, slots = 1;
  std::uint64_t trials = 2000;
  double run_ms = 10;
  bool ahead = true;
  std::uint64_t jobs = 5000;
  bool commands = false, one_task = false;
};

nanoseconds now() { return system_time().monotonic(); }

struct loop_thread {
  loop_thread() : thread([this] { loop.run(); }) {}
  ~loop_thread() {
    work.reset();
    loop.stop();
    thread.join();
  }
  template <class F>
  void call(F f) {
    std::promise<void> done;
    asio::post(loop, [&] {
      f();
      done.set_value();
    });
    done.get_future().wait();
  }
  asio::io_context loop{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(loop);
  std::thread thread;
};

struct tally {
  std::mutex lock;
  std::vector<double> gaps_us;
  nanoseconds busy{0};
  std::uint64_t runs = 0;
};

/// Runs for so long on the agent's own loop, and counts.
struct sleeper final : measure::runner {
  sleeper(asio::io_context& l, double ms, tally& t) : timer(l), length(from_seconds(ms / 1e3)), counts(t) {}
  void run(trial_ptr, measure::artifact_ptr, callback done) override {
    begun = now();
    if (ended.count() > 0) {
      const std::lock_guard guard(counts.lock);
      counts.gaps_us.push_back(static_cast<double>((begun - ended).count()) / 1e3);
    }
    then = std::move(done);
    if (length.count() == 0) return end();
    timer.expires_after(length);
    timer.async_wait([this](const asio::error_code&) { end(); });
  }
  void cancel() override { timer.cancel(); }
  void end() {
    ended = now();
    if (length.count() > 0) {
      const std::lock_guard guard(counts.lock);
      counts.busy += ended - begun;
      ++counts.runs;
    }
    measurement m;
    m.value = 1;
    m.samples = {1};
    if (then) std::exchange(then, nullptr)({m, ended - begun, {}, {}});
  }
  asio::steady_timer timer;
  nanoseconds length, begun{0}, ended{0};
  tally& counts;
  callback then;
};

class world {
public:
  explicit world(const settings& s) : options(s) {
    std::string name = (std::filesystem::temp_directory_path() / "attune-bench-XXXXXX").string();
    folder = ::mkdtemp(name.data());
    files = *artifact_store::open(folder, std::uint64_t{1} << 30);
    fleet_server::events tell;
    tell.came = [this](agent_id who, const description& d) {
      const std::lock_guard guard(lock);
      there.emplace_back(who, d);
      news.notify_all();
    };
    tell.went = [this](agent_id, std::uint64_t) { ++went; };
    server = std::make_shared<fleet_server>(hub.loop, files, fleet_server_options{}, tell);
    server->package = [packed = std::make_shared<task_package>()](const task_ptr&) { return packed; };
    listen_options where;
    where.at = {"127.0.0.1", 0};
    where.connections = 8192;
    where.greeting = 8192;
    if (options.tls) {
      const auto wall = system_time().wall();
      identity = make_identity("bench", wall - std::chrono::hours(1), wall + std::chrono::hours(1));
      where.tls = *tls_for_hub(**identity);
      where.plain = plain_from::nobody;
      tls_trust trust;
      trust.pin = (*identity)->fingerprint;
      known = *tls_for_client(trust);
    }
    hub.call([&] {
      auto opened = listener::open(hub.loop, where, {[this](link_ptr l) { server->adopt(std::move(l)); }, {}});
      if (!opened) {
        std::fprintf(stderr, "%s\n", opened.err().text().c_str());
        std::exit(1);
      }
      listening = std::move(*opened);
    });
  }
  ~world() {
    for (auto& t : threads)
      t->call([&] {
        for (auto& a : agents)
          if (a.on == t.get()) a.self.reset();
      });
    hub.call([&] {
      listening->close();
      listening.reset();
      server->close();
    });
    std::error_code ec;
    std::filesystem::remove_all(folder, ec);
  }

  void come(std::uint32_t count, std::uint32_t on_threads) {
    for (std::uint32_t i = 0; i < on_threads; ++i) threads.push_back(std::make_unique<loop_thread>());
    agents.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      auto& a = agents[i];
      a.on = threads[i % on_threads].get();
      a.on->call([&] {
        net::fleet::agent_options how;
        how.self.name = "agent" + std::to_string(i);
        how.self.slots = options.slots;
        how.files = files;
        how.make_runner = [&](std::uint32_t) { return std::make_shared<sleeper>(a.on->loop, options.run_ms, counts); };
        a.self = std::make_shared<agent>(a.on->loop, how, agent::events{});
        dial_options to;
        to.to = listening->bound().front();
        to.tls = known;
        a.call = dial(a.on->loop, to, [&a](result<link_ptr> l) {
          if (l)
            a.self->attach(std::move(*l));
          else
            std::fprintf(stderr, "%s\n", l.err().text().c_str());
        });
      });
    }
    std::unique_lock guard(lock);
    if (!news.wait_for(guard, std::chrono::seconds(120), [&] { return there.size() == count; }))
      std::fprintf(stderr, "only %zu agents came\n", there.size());
  }

  struct one {
    loop_thread* on = nullptr;
    std::shared_ptr<agent> self;
    std::shared_ptr<dialing> call;
  };
  settings options;
  std::string folder;
  std::optional<result<tls_identity>> identity;
  tls_ptr known;
  std::shared_ptr<artifact_store> files;
  loop_thread hub;
  std::shared_ptr<fleet_server> server;
  std::unique_ptr<listener> listening;
  tally counts;
  std::vector<std::unique_ptr<loop_thread>> threads;
  std::vector<one> agents;
  std::mutex lock;
  std::condition_variable news;
  std::vector<std::pair<agent_id, description>> there;
  std::atomic<int> went{0};
};

task_ptr some_task(std::uint64_t trials) {
  task_spec spec;
  spec.name = "bench";
  spec.directory = "/";
  spec.parameters.push_back({"x", integer_range{1, 1'000'000, 1, false}});
  spec.parameters.push_back({"y", integer_range{1, 1'000'000, 1, false}});
  spec.run.run.argv = {"true"};
  spec.search.strategy = "random";
  spec.search.trials = trials;
  return *make_task(std::move(spec));
}

/// Trials through the engine; how long they took.
nanoseconds through_engine(world& w) {
  actors::engine_options how;
  how.apart = true;
  auto engine = *actors::engine::start(how);
  for (const auto& [who, d] : w.there)
    for (std::uint32_t i = 0; i < d.slots; ++i) {
      actors::place_info info;
      info.name = d.name + "/slot" + std::to_string(i);
      info.device = d.name;
      if (d.ahead && w.options.ahead)
        info.stop = [to = w.server, who = who, i](const trial_ptr& which) { to->stop(who, i, which); };
      engine->add_slot(info, std::make_shared<remote_slot>(w.server, who, i));
    }
  const auto of = some_task(w.options.trials);
  const auto over = *search::space::compile(of->spec.parameters, {}, {}, {});
  const auto begin = now();
  auto session = engine->tune({of, over, false, false});
  if (!session) {
    std::fprintf(stderr, "%s\n", session.err().text().c_str());
    std::exit(1);
  }
  const auto report = session->wait();
  const auto took = now() - begin;
  if (report->counts.measured != w.options.trials)
    std::printf("only %llu measured\n", static_cast<unsigned long long>(report->counts.measured));
  return took;
}

double percentile(std::vector<double> v, double p) {
  if (v.empty()) return 0;
  const auto at = v.begin() + static_cast<std::ptrdiff_t>(p * static_cast<double>(v.size() - 1));
  std::nth_element(v.begin(), at, v.end());
  return *at;
}

void busy(const settings& s) {
  world w(s);
  w.come(s.agents, std::min(s.agents, 4u));
  const auto took = through_engine(w);
  const auto slots = static_cast<double>(s.agents) * s.slots;
  std::printf(
      "busy: %u agents of %u, runs of %g ms%s: slots busy %.1f %% of the time; a free slot waits %.3f ms at the "
      "median, %.3f ms at the 99th percentile\n",
      s.agents, s.slots, s.run_ms, s.tls ? ", TLS" : "",
      100 * static_cast<double>(w.counts.busy.count()) / (slots * static_cast<double>(took.count())),
      percentile(w.counts.gaps_us, 0.5) / 1e3, percentile(w.counts.gaps_us, 0.99) / 1e3);
}

void rate(settings s) {
  s.run_ms = 0;
  s.slots = std::max(s.slots, 32u);
  s.trials = std::max<std::uint64_t>(s.trials, 50'000);
  world w(s);
  w.come(s.agents, 2);
  const auto took = through_engine(w);
  std::printf("rate: %u agents of %u%s: %.0f trials a second through the engine\n", s.agents, s.slots,
              s.tls ? ", TLS" : "", static_cast<double>(s.trials) / seconds(took));
}

void wire_only(settings s) {
  s.run_ms = 0;
  s.slots = std::max(s.slots, 32u);
  s.trials = std::max<std::uint64_t>(s.trials, 200'000);
  world w(s);
  w.come(s.agents, 2);
  auto t = std::make_shared<trial>();
  t->of = some_task(1);
  t->config = configuration(arguments{{"x", value(std::int64_t{1})}, {"y", value(std::int64_t{2})}});
  std::atomic<std::uint64_t> left{s.trials};
  std::promise<void> over;
  std::uint64_t ended = 0;
  std::function<void(agent_id, std::uint32_t)> next = [&](agent_id who, std::uint32_t slot) {
    if (left.load() == 0) return;
    --left;
    w.server->order(who, slot, t, nullptr, [&, who, slot](const measure::run_result&) {
      if (++ended == s.trials) return over.set_value();
      next(who, slot);
    });
  };
  const auto begin = now();
  w.hub.call([&] {
    for (const auto& [who, d] : w.there)
      for (std::uint32_t i = 0; i < d.slots; ++i) next(who, i);
  });
  over.get_future().wait();
  std::printf("wire: %u agents of %u%s: %.0f orders and answers a second without the engine\n", s.agents, s.slots,
              s.tls ? ", TLS" : "", static_cast<double>(s.trials) / seconds(now() - begin));
}

double resident_mb() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("VmRSS:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  return 0;
}

void many(settings s) {
  s.agents = std::max(s.agents, 1000u);
  const auto before = resident_mb();
  world w(s);
  const auto begin = now();
  w.come(s.agents, 2);
  const auto came = seconds(now() - begin);
  std::this_thread::sleep_for(std::chrono::seconds(15));
  std::printf("many: %u agents%s came in %.1f s; hub and agents in this process: %.0f MB (%.0f before); lost in 15 s: "
              "%d\n",
              s.agents, s.tls ? ", TLS" : "", came, resident_mb(), before, w.went.load());
}

/// A hub as the program has it, with its agents and one client at a time, in this process.
class whole_fleet {
public:
  explicit whole_fleet(const settings& s) : options(s) {
    std::string name = (std::filesystem::temp_directory_path() / "attune-bench-XXXXXX").string();
    folder = ::mkdtemp(name.data());
    hub_options how;
    how.store = folder + "/store";
    how.open_store = [](const std::string& at) { return open_shared(at); };
    how.builders.count = 1;
    how.jobs_each = 64;
    how.render = [](const auto&) { return rendered{0, "{}", {}, {}}; };
    auto made = hub::start(wire.loop, std::move(how));
    if (!made) fail(made.err());
    owner = std::move(*made);
    listen_options where;
    where.at = {"127.0.0.1", 0};
    wire.call([&] {
      auto opened = listener::open(wire.loop, where, {[this](link_ptr l) { owner->adopt(std::move(l)); }, {}});
      if (!opened) fail(opened.err());
      listening = std::move(*opened);
    });
    for (std::uint32_t i = 0; i < 2; ++i) {
      net::fleet::agent_options mine;
      mine.self.name = "agent" + std::to_string(i);
      mine.self.slots = 2;
      mine.files = *artifact_store::open(folder + "/files" + std::to_string(i), std::uint64_t{1} << 26);
      if (options.commands) {
        auto with = measure::supervisor::create({});
        if (!with) fail(with.err());
        mine.processes = *with;
      } else {
        mine.make_runner = [this](std::uint32_t) { return std::make_shared<sleeper>(away.loop, 0, counts); };
      }
      away.call([&] {
        agents.push_back(std::make_shared<agent>(away.loop, mine, agent::events{}));
        call([a = agents.back()](link_ptr l) { a->attach(std::move(l)); });
      });
    }
  }
  ~whole_fleet() {
    away.call([&] {
      agents.clear();
      calls.clear();
    });
    wire.call([&] {
      listening->close();
      listening.reset();
    });
    owner.reset();
    std::error_code ec;
    std::filesystem::remove_all(folder, ec);
  }

  /// So many jobs more, by a client that comes for them and goes, some of them at a time.
  void run(std::uint64_t count) {
    std::promise<void> over;
    std::shared_ptr<client> who;
    std::set<std::uint64_t> open;
    std::uint64_t left = count, ended = 0;
    const auto next = [&] {
      for (; left > 0 && open.size() < 32; --left) open.insert(who->ask(submission(*who)));
    };
    away.call([&] {
      client::events tell;
      tell.ready = next;
      tell.said = [&](const wire::v1::Envelope& e) {
        if (e.has_failed()) fail(error_of(e.failed()));
        if (!e.has_ended() || open.erase(e.request()) == 0) return;
        if (e.ended().code() != 0) fail({errc::internal, "a job ended with " + std::to_string(e.ended().code()), {}});
        if (++ended == count) return over.set_value();
        next();
      };
      tell.lost = [](const error& why) { fail(why); };
      who = std::make_shared<client>(tell);
      call([who](link_ptr l) { who->attach(std::move(l)); });
    });
    over.get_future().wait();
    away.call([&] {
      who->close();
      who.reset();
      calls.clear();
    });
  }

  std::uint64_t runs() const { return owner->devices() ? total(*owner->devices()) : 0; }

private:
  [[noreturn]] static void fail(const error& why) {
    std::fprintf(stderr, "%s\n", why.text().c_str());
    std::_Exit(1);
  }
  static std::uint64_t total(const wire::v1::Devices& all) {
    std::uint64_t out = 0;
    for (const auto& d : all.devices()) out += d.runs();
    return out;
  }
  void call(std::function<void(link_ptr)> then) {
    dial_options to;
    to.to = listening->bound().front();
    calls.push_back(dial(away.loop, to, [then = std::move(then)](result<link_ptr> l) {
      if (!l) fail(l.err());
      then(std::move(*l));
    }));
  }
  wire::v1::Envelope submission(client& who) {
    const auto n = std::to_string(++made);
    const auto path = folder + "/bench.yaml";
    std::ofstream(path) << "task: bench\nworkload: {n: " << (options.one_task ? "0" : n)
                        << "}\nparameters: {x: {range: [1, " << (options.one_task ? "100" : "1000000")
                        << "]}}\nrun:\n  command: echo {x}\n  timeout: 10s\n"
                           "  metric: {name: cost, unit: c}\nsearch: {strategy: random, trials: "
                        << options.trials << ", seed: " << n << "}\n";
    const auto tasks = storage::read_spec(path);
    if (!tasks) fail(tasks.err());
    auto what = submission_of(path, *tasks);
    if (!what) fail(what.err());
    // The next job's file has the same name.
    const auto kept = path + "." + std::to_string(made % 64);
    std::filesystem::rename(path, kept);
    for (const auto& f : what->files) who.offer(f.first, kept);
    wire::v1::Envelope out;
    *out.mutable_submit() = std::move(what->message);
    out.mutable_submit()->set_client("bench");
    return out;
  }

  settings options;
  std::string folder;
  std::uint64_t made = 0;
  tally counts;
  loop_thread wire, away;
  std::unique_ptr<hub> owner;
  std::unique_ptr<listener> listening;
  std::vector<std::shared_ptr<agent>> agents;
  std::vector<std::shared_ptr<dialing>> calls;
};

void jobs(settings s) {
  if (s.trials == settings().trials) s.trials = 4;
  whole_fleet w(s);
  std::uint64_t done = 0;
  const auto begin = now();
  const auto heap_mb = [] { return static_cast<double>(::mallinfo2().uordblks) / (1 << 20); };
  for (std::uint64_t up_to = 250; done < s.jobs; up_to *= 2) {
    const auto next = std::min(up_to, s.jobs);
    w.run(next - done);
    done = next;
    std::printf("jobs: %llu of %llu trials%s (%llu runs, %.0f s): %.1f MB resident, %.1f MB of heap in use\n",
                static_cast<unsigned long long>(done), static_cast<unsigned long long>(s.trials),
                s.one_task ? ", one task" : "", static_cast<unsigned long long>(w.runs()), seconds(now() - begin),
                resident_mb(), heap_mb());
    std::fflush(stdout);
  }
}

} // namespace

int main(int argc, char** argv) {
  settings s;
  std::vector<std::string> what;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::strtod(argv[++i], nullptr) : 0; };
    if (word == "--tls")
      s.tls = true;
    else if (word == "--one-at-a-time")
      s.ahead = false;
    else if (word == "--commands")
      s.commands = true;
    else if (word == "--one-task")
      s.one_task = true;
    else if (const auto count = parse_integer(word); count && *count > 0)
      s.jobs = static_cast<std::uint64_t>(*count);
    else if (word == "--agents")
      s.agents = static_cast<std::uint32_t>(number());
    else if (word == "--slots")
      s.slots = static_cast<std::uint32_t>(number());
    else if (word == "--trials")
      s.trials = static_cast<std::uint64_t>(number());
    else if (word == "--run-ms")
      s.run_ms = number();
    else
      what.push_back(word);
  }
  if (what.empty()) what = {"busy", "rate", "wire", "many"};
  for (const auto& w : what) {
    if (w == "busy") busy(s);
    if (w == "rate") rate(s);
    if (w == "wire") wire_only(s);
    if (w == "many") many(s);
    if (w == "jobs") jobs(s);
    std::fflush(stdout);
  }
}
