// What looking on costs a search whose trials cost nothing: trials a second with nobody watching, with a watcher that
// does nothing, and with a dashboard that has followers on loopback. In turns, so that the machine's load falls on all
// alike.
//   watch_bench [TRIALS] [FOLLOWERS] [ROUNDS]
#include "actors/engine.hpp"
#include "actors/messages.hpp"
#include "web/dashboard.hpp"

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

/// Trials a second. `followers`: less than none: nobody watches; none: one that does nothing.
double run(std::uint64_t trials, int followers, std::uint64_t seed, std::uint64_t& bytes) {
  std::unique_ptr<web::dashboard> board;
  std::vector<std::jthread> all;
  std::atomic<int> connected{0};
  std::atomic<std::uint64_t> sum{0};
  double rate = 0;
  {
    actors::engine_options options;
    options.in_flight = 2048;
    options.inline_callables = true;
    auto e = need(actors::engine::start(options));
    if (followers == 0) e->subscribe([](const actors::event_batch&) {});
    if (followers > 0) {
      board = need(web::dashboard::start({}, {}));
      for (int i = 0; i < followers; ++i)
        all.emplace_back([&, port = board->port()] { sum += follow(port, connected); });
      while (connected < followers) std::this_thread::yield();
      e->subscribe([&](const actors::event_batch& b) { board->take(b); });
    }
    const auto spec = spec_of(trials, seed);
    const auto over = need(search::space::compile(spec.parameters, spec.constraints));
    const auto of = need(make_task(spec, [](const configuration& c, const std::stop_token&) {
      return std::variant<std::vector<double>, failure>(
          std::vector<double>{1.0 + static_cast<double>(c[0].as_integer())});
    }));
    const auto begun = std::chrono::steady_clock::now();
    auto session = need(e->tune({of, over, false, false}));
    const auto report = session.wait();
    rate = static_cast<double>(report->counts.measured) /
           std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  }
  board.reset();
  all.clear();
  bytes = sum;
  return rate;
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
  std::vector<double> nobody, idle, watched;
  std::uint64_t bytes = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto seed = static_cast<std::uint64_t>(i) + 1;
    std::uint64_t none = 0;
    nobody.push_back(run(trials, -1, seed, none));
    idle.push_back(run(trials, 0, seed, none));
    watched.push_back(run(trials, followers, seed, bytes));
  }
  const double base = middle(nobody);
  std::printf("nobody watching: %.0f trials a second\n", base);
  std::printf("a watcher that does nothing: %.0f (%+.1f %%)\n", middle(idle), 100 * (middle(idle) / base - 1));
  std::printf("a dashboard with %d followers: %.0f (%+.1f %%), %.1f MB told to all\n", followers, middle(watched),
              100 * (middle(watched) / base - 1), static_cast<double>(bytes) / 1e6);
  return 0;
}
