#include "core/random.hpp"
#include "storage/cache.hpp"
#include "tests/storage/samples.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <list>
#include <malloc.h>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::samples;

namespace {

std::vector<std::string> order(const lru_cache& c) {
  std::vector<std::string> out;
  c.visit([&](const cached& e) { out.push_back(e.canonical); });
  return out;
}

std::uint64_t cause(const lru_cache& c, miss_cause which) {
  return c.statistics().causes[static_cast<std::size_t>(which)];
}

} // namespace

BOOST_AUTO_TEST_SUITE(cache_of_measurements)

BOOST_AUTO_TEST_CASE(it_is_an_exact_lru) {
  const std::uint64_t seed = 42;
  BOOST_TEST_MESSAGE("seed " << seed);
  random_engine random(seed);
  const auto task = make();
  std::vector<trial_ptr> trials;
  for (std::int64_t n = 0; n < 200; ++n) trials.push_back(ask(task, n));
  for (const std::uint64_t bound : {1u, 2u, 7u, 64u, 150u}) {
    lru_cache cache({bound, std::uint64_t{1} << 40});
    std::list<std::pair<trial_ptr, outcome_ptr>> model; // newest in front
    std::uint64_t hits = 0, misses = 0, evicted = 0;
    for (int step = 0; step < 4000; ++step) {
      const auto& t = trials[random.below(trials.size())];
      const auto at = std::find_if(model.begin(), model.end(), [&](const auto& e) { return e.first == t; });
      if (random.chance(0.5)) {
        const auto got = cache.lookup(*t);
        BOOST_REQUIRE((got != nullptr) == (at != model.end()));
        got ? ++hits : ++misses;
        if (!got) continue;
        BOOST_REQUIRE(got->result == at->second);
        model.splice(model.begin(), model, at);
      } else {
        const auto o = measured(1.0 + step);
        const auto gone = cache.insert(*t, o);
        if (at != model.end()) model.erase(at);
        model.emplace_front(t, o);
        std::vector<key128> expected;
        while (model.size() > bound) {
          expected.push_back(model.back().first->key);
          model.pop_back();
        }
        evicted += expected.size();
        BOOST_REQUIRE(gone == expected);
      }
    }
    std::vector<std::string> expected;
    for (auto e = model.rbegin(); e != model.rend(); ++e) expected.push_back(e->first->canonical);
    BOOST_TEST(order(cache) == expected, boost::test_tools::per_element());
    const auto s = cache.statistics();
    BOOST_TEST(s.entries == model.size());
    BOOST_TEST(s.hits == hits);
    BOOST_TEST(s.misses == misses);
    BOOST_TEST(s.evicted == evicted);
  }
}

BOOST_AUTO_TEST_CASE(it_is_bounded_by_bytes) {
  const auto task = make();
  lru_cache probe({10, 1 << 20});
  probe.insert(*ask(task, 1), measured(1));
  const auto one = probe.statistics().bytes;
  BOOST_TEST(one > sizeof(outcome));
  lru_cache cache({1000, 10 * one + one / 2});
  for (std::int64_t n = 0; n < 100; ++n) cache.insert(*ask(task, n), measured(1));
  BOOST_TEST(cache.statistics().bytes <= 10 * one + one / 2);
  BOOST_TEST(cache.statistics().entries >= 9u);
  BOOST_TEST(cache.statistics().entries <= 11u);
}

BOOST_AUTO_TEST_CASE(an_entry_larger_than_all_goes_itself) {
  lru_cache cache({10, 100});
  const auto t = ask(make(), 1);
  const auto gone = cache.insert(*t, measured(1));
  BOOST_REQUIRE_EQUAL(gone.size(), 1u);
  BOOST_TEST(bool(gone[0] == t->key));
  BOOST_TEST(cache.statistics().bytes == 0u);
}

BOOST_AUTO_TEST_CASE(a_collision_of_keys_is_a_miss) {
  lru_cache cache;
  const auto task = make();
  const auto one = ask(task, 1);
  cache.insert(*one, measured(1));
  auto other = std::make_shared<trial>(*ask(task, 2));
  other->key = one->key;
  BOOST_TEST(cache.lookup(*other) == nullptr);
  auto foreign = std::make_shared<trial>(*one);
  foreign->of = make({.size = 1024});
  BOOST_TEST(cache.lookup(*foreign) == nullptr);
  BOOST_TEST(cache.lookup(*one) != nullptr);
}

BOOST_AUTO_TEST_CASE(a_miss_has_its_cause) {
  lru_cache cache({3, 1 << 30});
  const auto task = make();
  cache.insert(*ask(task, 1), measured(1));
  cache.lookup(*ask(task, 2));
  BOOST_TEST(cause(cache, miss_cause::unseen) == 1u);
  cache.lookup(*ask(make({.device = "gpu"}), 1));
  BOOST_TEST(cause(cache, miss_cause::other_target) == 1u);
  cache.lookup(*ask(make({.run = "./run --fast"}), 1));
  BOOST_TEST(cause(cache, miss_cause::other_method) == 1u);
  cache.lookup(*ask(make({.size = 1024}), 1));
  BOOST_TEST(cause(cache, miss_cause::unseen) == 2u);
  for (std::int64_t n = 10; n < 13; ++n) cache.insert(*ask(task, n), measured(1));
  cache.lookup(*ask(task, 1));
  BOOST_TEST(cause(cache, miss_cause::evicted_before) == 1u);
  BOOST_TEST(cache.statistics().misses == 5u);
}

BOOST_AUTO_TEST_CASE(a_changed_source_is_told_from_a_changed_command) {
  auto with = [](std::string form) {
    auto t = std::make_shared<task>(*make());
    t->identity.method_form = std::move(form);
    t->identity.method_key = sha256(t->identity.method_form);
    t->identity.task_key = sha256(t->identity.method_form);
    return task_ptr(t);
  };
  lru_cache cache;
  cache.insert(*ask(with("method/1:build=3:cc ;source.a.cpp=2:11;run=2:./;"), 1), measured(1));
  cache.lookup(*ask(with("method/1:build=3:cc ;source.a.cpp=2:22;run=2:./;"), 1));
  BOOST_TEST(cause(cache, miss_cause::other_source) == 1u);
  cache.lookup(*ask(with("method/1:build=3:gcc;source.a.cpp=2:11;run=2:./;"), 1));
  BOOST_TEST(cause(cache, miss_cause::other_method) == 1u);
  // A form that is not one does no harm.
  for (const char* form : {"", "x", "a=b", "a=99999999999999999999:x;", "method/1:source.=5:;", "method/1:a=1:"})
    cache.lookup(*ask(with(form), 1));
  BOOST_TEST(cache.statistics().misses == 8u);
}

BOOST_AUTO_TEST_CASE(what_was_stopped_early_answers_only_who_would_stop_there) {
  for (const auto direction : {goal::minimize, goal::maximize}) {
    const auto task = make({.direction = direction});
    const double better = direction == goal::minimize ? 0.5 : 2, worse = direction == goal::minimize ? 2 : 0.5;
    lru_cache cache;
    auto stopped = std::make_shared<outcome>();
    stopped->data = bound{direction == goal::minimize ? 3.0 : 0.3, 1, {}};
    cache.insert(*ask(task, 1), stopped);
    const auto with = [&](std::optional<double> rival) {
      auto t = std::make_shared<trial>(*ask(task, 1));
      t->rival = rival;
      return t;
    };
    BOOST_TEST(cache.lookup(*with({})) == nullptr);
    BOOST_TEST(cache.lookup(*with(worse)) == nullptr);
    BOOST_TEST(cause(cache, miss_cause::stopped_early) == 2u);
    BOOST_TEST(cache.lookup(*with(1.0)) != nullptr);
    BOOST_TEST(cache.lookup(*with(better)) != nullptr);
    BOOST_TEST(cache.statistics().hits == 2u);
    cache.insert(*ask(task, 1), measured(4));
    BOOST_TEST(cache.lookup(*with({})) != nullptr);
  }
}

BOOST_AUTO_TEST_CASE(a_task_is_invalidated_alone) {
  lru_cache cache;
  const auto a = make(), b = make({.size = 64});
  for (std::int64_t n = 0; n < 5; ++n) cache.insert(*ask(a, n), measured(1));
  for (std::int64_t n = 0; n < 3; ++n) cache.insert(*ask(b, n), measured(1));
  BOOST_TEST(cache.invalidate("nothing") == 0u);
  BOOST_TEST(cache.invalidate(a->identity.task_key.hex()) == 5u);
  BOOST_TEST(cache.lookup(*ask(a, 1)) == nullptr);
  BOOST_TEST(cache.lookup(*ask(b, 1)) != nullptr);
  BOOST_TEST(cache.invalidate(b->identity.task_key.view()) == 3u);
  BOOST_TEST(cache.statistics().entries == 0u);
  BOOST_TEST(cache.statistics().bytes == 0u);
}

BOOST_AUTO_TEST_CASE(above_a_store_it_holds_what_was_used_last_and_tells_the_order_of_all_uses) {
  const std::uint64_t seed = 5;
  BOOST_TEST_MESSAGE("seed " << seed);
  random_engine random(seed);
  const auto task = make();
  std::vector<trial_ptr> trials;
  for (std::int64_t n = 0; n < 40; ++n) trials.push_back(ask(task, n));
  for (const std::uint64_t bound : {1u, 3u, 10u, 40u}) {
    lru_cache cache({bound, std::uint64_t{1} << 40}, true);
    std::vector<key128> below, model; // the orders as told and as they are, oldest in front
    const auto used = [](std::vector<key128>& order, const key128& key) {
      std::erase(order, key);
      order.push_back(key);
    };
    for (int step = 0; step < 3000; ++step) {
      const auto n = random.below(trials.size());
      const auto& t = *trials[n];
      const bool known = std::ranges::find(model, t.key) != model.end();
      if (random.chance(0.3)) {
        BOOST_REQUIRE(cache.insert(t, measured(1), n + 1).empty());
        used(model, t.key);
      } else {
        const bool here = cache.holds(t.key);
        BOOST_REQUIRE((!here || known));
        if (!here && known) {
          BOOST_REQUIRE(cache.below(task->identity.task_key));
          cache.restore(t, {t.key, task->identity.task_key, t.canonical, n + 1, measured(1)});
        }
        BOOST_REQUIRE((cache.lookup(t) != nullptr) == known);
        if (known) used(model, t.key);
      }
      BOOST_REQUIRE(cache.statistics().entries <= bound);
      if (random.chance(0.1)) {
        const auto told = cache.take_used();
        for (const auto& u : told) {
          BOOST_REQUIRE(bool(trials[u.record - 1]->key == u.key));
          used(below, u.key);
        }
        BOOST_REQUIRE(cache.used() == 0u);
        BOOST_REQUIRE(bool(below == model));
      }
    }
    BOOST_TEST(cache.statistics().evicted == 0u);
  }
}

BOOST_AUTO_TEST_CASE(what_is_restored_and_not_used_is_not_told_as_used) {
  const auto task = make();
  lru_cache cache({10, 1 << 30}, true);
  const auto put_back = [&](std::int64_t n) {
    const auto t = ask(task, n);
    cache.restore(*t, {t->key, task->identity.task_key, t->canonical, static_cast<record_id>(n), measured(1)});
  };
  put_back(1);
  cache.insert(*ask(task, 2), measured(1), 2);
  put_back(3);
  cache.insert(*ask(task, 4), measured(1), 4, false); // the store has it under another key
  cache.lookup(*ask(task, 4));
  BOOST_TEST(cache.used() == 1u);
  const auto told = cache.take_used();
  BOOST_REQUIRE_EQUAL(told.size(), 1u);
  BOOST_TEST(told[0].record == 2u);
  const auto s = cache.statistics();
  BOOST_TEST(s.hits == 1u);
  BOOST_TEST(s.misses == 0u);
  // The cause is known for what was restored too, and the store's word counts for what was never here.
  cache.lookup(*ask(make({.device = "gpu"}), 1));
  BOOST_TEST(cause(cache, miss_cause::other_target) == 1u);
  cache.lookup(*ask(task, 50), miss_cause::evicted_before);
  BOOST_TEST(cause(cache, miss_cause::evicted_before) == 1u);
}

BOOST_AUTO_TEST_CASE(hits_and_misses_are_counted_by_task_and_by_time) {
  const auto a = make(), b = make({.size = 64});
  lru_cache cache;
  cache.insert(*ask(a, 1), measured(1));
  for (int n = 0; n < 3; ++n) cache.lookup(*ask(a, 1));
  cache.lookup(*ask(b, 1));
  cache.lookup(*ask(b, 2));
  auto told = cache.take_task_uses();
  BOOST_REQUIRE_EQUAL(told.size(), 2u);
  BOOST_TEST(bool(told[0].task == a->identity.task_key));
  BOOST_TEST(told[0].hits == 3u);
  BOOST_TEST(told[0].misses == 0u);
  BOOST_TEST(told[1].hits == 0u);
  BOOST_TEST(told[1].misses == 2u);
  BOOST_TEST(cache.take_task_uses().empty());
  // 50 ms of building and running each (samples.hpp): once spent, three times saved.
  BOOST_TEST(cache.statistics().spent.count() == 50'000'000);
  BOOST_TEST(cache.statistics().saved.count() == 150'000'000);
}

BOOST_AUTO_TEST_CASE(of_any_number_of_tasks_those_with_entries_are_known_and_few_of_the_others) {
  // Tasks that differ in their key alone.
  const auto numbered = [](std::size_t n) {
    auto t = std::make_shared<task>(*make());
    std::memcpy(t->identity.task_key.bytes.data(), &n, sizeof n);
    return task_ptr(std::move(t));
  };
  constexpr std::size_t tasks = 120'000, entries = 64;
  lru_cache cache({entries, std::uint64_t{1} << 40}, true);
  random_engine random(3);
  const auto first = ask(numbered(0), 1);
  cache.insert(*first, measured(7));
  std::size_t before = 0;
  std::uint64_t told = 0;
  for (std::size_t n = 1; n <= tasks; ++n) {
    if (n == tasks / 3) before = ::mallinfo2().uordblks;
    const auto t = ask(numbered(n), 1);
    BOOST_TEST_REQUIRE(cache.lookup(*t) == nullptr);
    cache.insert(*t, measured(static_cast<double>(n)));
    // One is used all the time: it never has to go, and its task stays known.
    const auto* kept = cache.lookup(*first);
    BOOST_TEST_REQUIRE(kept != nullptr);
    BOOST_TEST_REQUIRE(kept->result->measured()->value == 7.0);
    BOOST_TEST_REQUIRE(!cache.below(first->of->identity.task_key));
    // Of those that had to go none is ever taken for one that had not.
    if (n > entries) BOOST_TEST_REQUIRE(cache.below(numbered(1 + random.below(n - entries))->identity.task_key));
    if (n % 100 != 0) continue;
    for (const auto& u : cache.take_task_uses()) told += u.hits + u.misses;
    BOOST_TEST_REQUIRE(cache.take_used().size() <= 101u);
  }
  BOOST_TEST(told == 2 * tasks);
  // Each that is remembered takes some 200 bytes. A sanitizer's heap tells nothing.
  if (before > 0) BOOST_TEST(::mallinfo2().uordblks < before + (std::size_t{4} << 20));
}

BOOST_AUTO_TEST_SUITE_END()
