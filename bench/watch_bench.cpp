// What looking on costs a search whose trials cost nothing: trials a second with nobody watching, with IDLE watchers
// that do nothing, and with a dashboard that has followers on loopback. In turns, and as the ratio of neighbours, so
// that the machine's load falls on all alike. With a RATE, trials are not begun faster than that.
//   watch_bench [TRIALS] [FOLLOWERS] [ROUNDS] [RATE] [IDLE]
#include "actors/engine.hpp"
#include "actors/messages.hpp"
#include "web/dashboard.hpp"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace attune;

namespace {

template <class T>
T need(result<T> r) {
  if (r) return std::move(*r);
  std::fprintf(stderr, "watch_bench: %s\n", r.err().text().c_str());
  std::exit(1);
}

task_spec spec_of(std::uint64_t trials, std::uint64_t seed) {
  task_spec spec;
  spec.name = "nothing";
  spec.callable = "watch_bench/1";
  for (int i = 0; i < 8; ++i) {
    parameter p;
    p.name = "p" + std::to_string(i);
    p.domain = integer_range{0, 7, 1, false};
    spec.parameters.push_back(p);
  }
  spec.run.timeout = std::chrono::seconds(10);
  spec.search.strategy = "random";
  spec.search.seed = seed;
  spec.search.trials = trials;
  return spec;
}

/// Reads a stream to its end and counts the bytes.
std::uint64_t follow(std::uint16_t port, std::atomic<int>& connected) {
  const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::uint64_t bytes = 0;
  if (::connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
    const char request[] = "GET /api/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    if (::send(s, request, sizeof request - 1, MSG_NOSIGNAL) > 0) {
      ++connected;
      std::array<char, 65536> part;
      for (ssize_t n; (n = ::recv(s, part.data(), part.size(), 0)) > 0;) bytes += static_cast<std::uint64_t>(n);
    }
  }
  ::close(s);
  return bytes;
}

struct outcome_of_run {
  double rate = 0; ///< trials a second
  double cpu = 0;  ///< seconds of this process for each
};

double cpu_seconds() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/// `followers`: less than none: so many that do nothing; none: nobody watches.
outcome_of_run run(std::uint64_t trials, int followers, std::uint64_t seed, double most, std::uint64_t& bytes) {
  std::unique_ptr<web::dashboard> board;
  std::vector<std::jthread> all;
  std::atomic<int> connected{0};
  std::atomic<std::uint64_t> sum{0};
  outcome_of_run out;
  {
    actors::engine_options options;
    options.in_flight = 2048;
    options.inline_callables = true;
    auto e = need(actors::engine::start(options));
    for (int i = followers; i < 0; ++i) e->subscribe([](const actors::event_batch&) {});
    if (followers > 0) {
      board = need(web::dashboard::start({}, {}));
      for (int i = 0; i < followers; ++i)
        all.emplace_back([&, port = board->port()] { sum += follow(port, connected); });
      while (connected < followers) std::this_thread::yield();
      e->subscribe([&](const actors::event_batch& b) { board->take(b); });
    }
    const auto spec = spec_of(trials, seed);
    const auto over = need(search::space::compile(spec.parameters, spec.constraints));
    const auto began = std::chrono::steady_clock::now();
    const auto of = need(
        make_task(spec, [most, began, n = std::uint64_t{0}](const configuration& c, const std::stop_token&) mutable {
          // Behind the rate it goes on at once, before it it waits; some microseconds are not worth a sleep.
          if (most > 0) {
            const auto due = began + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                         std::chrono::duration<double>(static_cast<double>(++n) / most));
            if (due - std::chrono::steady_clock::now() > std::chrono::milliseconds(1))
              std::this_thread::sleep_until(due);
          }
          return std::variant<std::vector<double>, failure>(
              std::vector<double>{1.0 + static_cast<double>(c[0].as_integer())});
        }));
    const auto begun = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds();
    auto session = need(e->tune({of, over, false, false}));
    const auto report = session.wait();
    const auto measured = static_cast<double>(report->counts.measured);
    out.rate = measured / std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    out.cpu = (cpu_seconds() - cpu) / measured;
  }
  board.reset();
  all.clear();
  bytes = sum;
  return out;
}

double middle(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

} // namespace

int main(int argc, char** argv) {
  const std::uint64_t trials = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  const int followers = argc > 2 ? std::atoi(argv[2]) : 10;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  const double rate = argc > 4 ? std::atof(argv[4]) : 0;
  const int idle_watchers = argc > 5 ? std::atoi(argv[5]) : 1;
  std::vector<double> base, idle, watched, base_cpu, idle_cpu, watched_cpu;
  std::uint64_t bytes = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto seed = static_cast<std::uint64_t>(i) + 1;
    std::uint64_t none = 0;
    // Each between two of those that nobody watches.
    const auto before = run(trials, 0, seed, rate, none);
    const auto nothing = run(trials, -idle_watchers, seed, rate, none);
    const auto between = run(trials, 0, seed, rate, none);
    const auto followed = run(trials, followers, seed, rate, bytes);
    const auto behind = run(trials, 0, seed, rate, none);
    for (const auto& b : {before, between, behind}) {
      base.push_back(b.rate);
      base_cpu.push_back(b.cpu * 1e6);
    }
    idle.push_back(100 * (2 * nothing.rate / (before.rate + between.rate) - 1));
    watched.push_back(100 * (2 * followed.rate / (between.rate + behind.rate) - 1));
    idle_cpu.push_back(nothing.cpu * 1e6);
    watched_cpu.push_back(followed.cpu * 1e6);
  }
  std::printf("nobody watching: %.0f trials a second, %.1f us of CPU a trial\n", middle(base), middle(base_cpu));
  std::printf("%d that do nothing: %+.1f %% (%+.1f to %+.1f), %.1f us of CPU a trial\n", idle_watchers, middle(idle),
              *std::min_element(idle.begin(), idle.end()), *std::max_element(idle.begin(), idle.end()),
              middle(idle_cpu));
  std::printf("a dashboard with %d followers: %+.1f %% (%+.1f to %+.1f), %.1f us of CPU a trial, %.1f MB told to all\n",
              followers, middle(watched), *std::min_element(watched.begin(), watched.end()),
              *std::max_element(watched.begin(), watched.end()), middle(watched_cpu), static_cast<double>(bytes) / 1e6);
  return 0;
}
