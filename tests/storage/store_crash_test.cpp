// SIGKILL at random instants of a process that writes: what it had acknowledged is there, once, and nothing is half
// written. Attune's script runs the same with many rounds (ATTUNE_CRASH_ROUNDS).
#include "core/random.hpp"
#include "storage/store.hpp"
#include "tests/storage/samples.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <set>
#include <unistd.h>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::samples;

namespace {

constexpr const char* session_name = "0123456789abcdef0123456789abcdef";

/// Appends groups of records and their steps for ever, and says on the pipe which number it would give next.
[[noreturn]] void write_for_ever(const std::string& path, std::int64_t from, std::uint64_t seed, int acknowledged) {
  random_engine random(seed);
  auto s = store::open(path, {});
  if (!s) ::_exit(1);
  const auto a = make(), b = make({.size = 64});
  session_entry e;
  e.id = session_name;
  if (!(*s)->begin_session(e)) ::_exit(2);
  std::vector<step_item> steps;
  for (std::int64_t n = from;;) {
    std::vector<record_item> items;
    for (auto k = 1 + random.below(40); k > 0; --k, ++n)
      items.push_back(item(ask(n % 3 == 0 ? b : a, n),
                           n % 7 == 0 ? failed(failure_kind::run_error) : measured(1 + random.uniform())));
    if (!(*s)->append(items, steps)) ::_exit(3);
    steps.clear();
    for (const auto& i : items) steps.push_back(step_of(i, static_cast<trial_number>(n)));
    if (::write(acknowledged, &n, sizeof n) != sizeof n) ::_exit(4);
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(store_of_a_killed_process)

BOOST_AUTO_TEST_CASE(what_was_acknowledged_is_there_once_after_any_kill) {
  const char* asked = std::getenv("ATTUNE_CRASH_ROUNDS");
  const int rounds = asked != nullptr ? std::atoi(asked) : 15;
  const char* given = std::getenv("ATTUNE_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 31;
  BOOST_TEST_MESSAGE("seed " << seed << ", " << rounds << " rounds");
  random_engine random(seed);
  const scratch_folder scratch;
  std::int64_t next = 0; // all configurations below are acknowledged
  for (int round = 0; round < rounds; ++round) {
    int pipe[2];
    BOOST_REQUIRE(::pipe(pipe) == 0);
    const pid_t child = ::fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) {
      ::close(pipe[0]);
      write_for_ever(scratch.store(), next, seed + static_cast<std::uint64_t>(round), pipe[1]);
    }
    ::close(pipe[1]);
    // Some acknowledgements are awaited, the instant after is random.
    std::int64_t told = next;
    for (auto groups = random.below(60); groups > 0; --groups)
      BOOST_REQUIRE(::read(pipe[0], &told, sizeof told) == sizeof told);
    pollfd never{-1, 0, 0};
    const timespec wait{0, static_cast<long>(random.below(20'000'000))};
    ::ppoll(&never, 1, &wait, nullptr);
    ::kill(child, SIGKILL);
    BOOST_REQUIRE(::waitpid(child, nullptr, 0) == child);
    while (::read(pipe[0], &told, sizeof told) == sizeof told) {
    }
    ::close(pipe[0]);

    const auto s = open(scratch.store());
    for (const auto& n : s->notices()) BOOST_TEST(n.find("torn") != std::string::npos, n);
    std::set<std::int64_t> seen;
    std::uint64_t records = 0;
    for (const auto& t : {make(), make({.size = 64})})
      BOOST_REQUIRE(s->records_of(t->identity.task_key, [&](const record& r) {
                       seen.insert(r.config.find("tile")->as_integer());
                       ++records;
                       return true;
                     }).ok());
    BOOST_TEST(records == seen.size()); // none twice
    const auto count = static_cast<std::int64_t>(seen.size());
    BOOST_TEST(count >= told);
    BOOST_TEST((seen.empty() || (*seen.begin() == 0 && *seen.rbegin() == count - 1))); // none missing, no group in part
    if (told > 0) BOOST_TEST(s->best(make()->identity.task_key)->size() == 1u);
    const auto v = s->verify();
    BOOST_REQUIRE(v.ok());
    for (const auto& p : v->problems) BOOST_ERROR(p);
    next = count;
  }
  BOOST_TEST_MESSAGE(next << " records");
  BOOST_TEST(next > 0);
}

BOOST_AUTO_TEST_SUITE_END()
