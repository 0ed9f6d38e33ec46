#include "core/random.hpp"
#include "storage/cache.hpp"
#include "storage/store.hpp"
#include "tests/storage/samples.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <malloc.h>
#include <map>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::samples;
namespace fs = std::filesystem;

namespace {

void append(store& s, std::vector<record_item> items, std::vector<step_item> steps = {}) {
  const auto done = s.append(items, steps);
  BOOST_REQUIRE_MESSAGE(done.ok(), (done.ok() ? "" : done.err().text()));
}

void clean(const store& s) {
  const auto v = s.verify();
  BOOST_REQUIRE(v.ok());
  for (const auto& p : v->problems) BOOST_ERROR(p);
}

std::vector<record> all_of(const store& s, const task_ptr& t) {
  std::vector<record> out;
  const auto read = s.records_of(t->identity.task_key, [&](const record& r) {
    out.push_back(r);
    return true;
  });
  BOOST_REQUIRE(read.ok());
  return out;
}

std::vector<double> best_values(const store& s, const task_ptr& t, std::size_t n = 16) {
  const auto b = s.best(t->identity.task_key, n);
  BOOST_REQUIRE(b.ok());
  std::vector<double> out;
  for (const auto& r : *b) out.push_back(r.result.measured()->value);
  return out;
}

/// The order of the cache as it comes from the store.
std::vector<std::string> cached_in(const store& s) {
  std::vector<std::string> out;
  BOOST_REQUIRE(s.visit_cache([&](const cached& e) {
                   out.push_back(e.canonical);
                   return true;
                 }).ok());
  return out;
}

store_options bounded(std::uint64_t entries, std::uint64_t bytes = std::uint64_t{1} << 30) {
  store_options o;
  o.cache = {entries, bytes};
  return o;
}

} // namespace

BOOST_AUTO_TEST_SUITE(store_of_records)

BOOST_AUTO_TEST_CASE(what_is_appended_is_there_and_there_after_reopening) {
  const scratch_folder scratch;
  const auto a = make(), b = make({.size = 64});
  std::vector<record_item> items{item(ask(a, 1), measured(0.5)), item(ask(b, 1), measured(0.25)),
                                 item(ask(a, 2), failed(failure_kind::run_error, "bad \xff")),
                                 item(ask(a, 3), failed(failure_kind::device_lost), "not hex"),
                                 item(ask(b, 2), measured(2), "")};
  for (int pass = 0; pass < 2; ++pass) {
    const auto s = open(scratch.store());
    if (pass == 0) {
      BOOST_REQUIRE(s->append(items, {}).ok());
      for (std::size_t k = 0; k < items.size(); ++k) BOOST_TEST(items[k].record == k + 1);
    }
    for (std::size_t k = 0; k < items.size(); ++k) {
      const auto r = s->find(k + 1);
      BOOST_REQUIRE(r.ok());
      BOOST_REQUIRE(r->has_value());
      const auto& got = **r;
      BOOST_TEST(got.id == k + 1);
      BOOST_TEST(bool(got.config == items[k].what->config));
      BOOST_TEST(bool(got.result == *items[k].result));
      BOOST_TEST(got.session == items[k].session);
      BOOST_TEST(bool(got.key == items[k].what->key));
      const auto& id = items[k].what->of->identity;
      BOOST_TEST(bool(got.task == id.task_key && got.workload == id.workload_key && got.target == id.target_key &&
                      got.method == id.method_key));
    }
    for (const record_id none : {record_id{0}, record_id{6}, ~record_id{0}}) {
      const auto r = s->find(none);
      BOOST_REQUIRE(r.ok());
      BOOST_TEST(!r->has_value());
    }
    const auto of_a = all_of(*s, a);
    BOOST_REQUIRE_EQUAL(of_a.size(), 3u);
    BOOST_TEST(of_a[0].id == 1u);
    BOOST_TEST(of_a[1].id == 3u);
    BOOST_TEST(of_a[2].id == 4u);
    BOOST_TEST(all_of(*s, make({.size = 1})).empty());
    const auto st = s->statistics();
    BOOST_REQUIRE(st.ok());
    BOOST_TEST(st->records == 5u);
    BOOST_TEST(st->failures == 2u);
    BOOST_TEST(st->tasks == 2u);
    BOOST_TEST(st->targets == 1u);
    BOOST_TEST(st->cache_entries == 4u);
    BOOST_TEST(st->schema == 3u);
    BOOST_TEST(st->bytes > 0u);
    clean(*s);
  }
}

BOOST_AUTO_TEST_CASE(numbers_go_on_after_reopening) {
  const scratch_folder scratch;
  const auto t = make();
  for (std::int64_t n = 0; n < 4; ++n) {
    const auto s = open(scratch.store());
    std::vector<record_item> one{item(ask(t, n), measured(1))};
    BOOST_REQUIRE(s->append(one, {}).ok());
    BOOST_TEST(one[0].record == static_cast<record_id>(n + 1));
  }
}

BOOST_AUTO_TEST_CASE(tasks_are_described_once_and_in_order) {
  const scratch_folder scratch;
  const auto s = open(scratch.store());
  const auto a = make({.name = "first", .direction = goal::maximize}), b = make({.name = "second"});
  append(*s, {item(ask(a, 1), measured(1)), item(ask(b, 1), failed(failure_kind::build_error)),
              item(ask(a, 2), measured(1))});
  std::vector<std::pair<task_entry, task_counts>> seen;
  BOOST_REQUIRE(s->tasks([&](const task_entry& e, const task_counts& c) { seen.emplace_back(e, c); }).ok());
  BOOST_REQUIRE_EQUAL(seen.size(), 2u);
  BOOST_TEST(seen[0].first.name == "first");
  BOOST_TEST(bool(seen[0].first.direction == goal::maximize));
  BOOST_TEST(seen[0].second.records == 2u);
  BOOST_TEST(seen[0].second.last == 3u);
  BOOST_TEST(seen[1].second.failures == 1u);
  BOOST_TEST(bool(seen[1].first.task == b->identity.task_key));
  const auto known = s->find_task(a->identity.task_key);
  BOOST_REQUIRE(known.ok());
  BOOST_REQUIRE(known->has_value());
  BOOST_TEST((*known)->method_form == a->identity.method_form);
  const auto unknown = s->find_task(make({.size = 3})->identity.task_key);
  BOOST_REQUIRE(unknown.ok());
  BOOST_TEST(!unknown->has_value());
}

BOOST_AUTO_TEST_CASE(tasks_are_found_by_workload_and_by_name) {
  const scratch_folder scratch;
  const auto a = make({.name = "first", .size = 1}), b = make({.name = "first", .size = 2}),
             c = make({.name = "second", .size = 1});
  const auto seen = [](const auto& read) {
    std::vector<digest> out;
    BOOST_REQUIRE(read([&](const task_entry& e, const task_counts& counts) {
                    BOOST_TEST(counts.records == 1u);
                    out.push_back(e.task);
                  }).ok());
    return out;
  };
  const auto check = [&](const store& s) {
    const auto named = [&](const std::string& name) {
      return seen([&](const store::task_visit& v) { return s.tasks_named(name, v); });
    };
    const auto of = [&](const task_ptr& t) {
      return seen([&](const store::task_visit& v) { return s.tasks_of(t->identity.workload_key, v); });
    };
    BOOST_TEST((named("first") == std::vector{a->identity.task_key, b->identity.task_key}));
    BOOST_TEST((named("second") == std::vector{c->identity.task_key}));
    BOOST_TEST(named("fir").empty());
    std::vector<digest> like_b; // as a look at all of them says
    BOOST_REQUIRE(s.tasks([&](const task_entry& e, const task_counts&) {
                     if (e.workload == b->identity.workload_key) like_b.push_back(e.task);
                   }).ok());
    BOOST_TEST((of(b) == like_b));
    BOOST_TEST((of(make({.name = "third"})).empty()));
  };
  {
    const auto s = open(scratch.store());
    append(*s, {item(ask(a, 1), measured(1)), item(ask(b, 1), measured(1)), item(ask(c, 1), measured(1))});
    check(*s);
  }
  check(*open(scratch.store()));
}

BOOST_AUTO_TEST_CASE(the_best_is_never_a_failure_or_a_marker) {
  const scratch_folder scratch;
  const auto t = make();
  {
    const auto s = open(scratch.store());
    append(*s, {item(ask(t, 1), failed(failure_kind::run_error))});
    BOOST_TEST(best_values(*s, t).empty());
    append(*s, {item(ask(t, 2), measured(3)), item(ask(t, 3), measured(-1)), item(ask(t, 4), measured(2)),
                item(ask(t, 5), failed(failure_kind::wrong_output)), item(ask(t, 6), measured(0))});
    BOOST_TEST((best_values(*s, t) == std::vector<double>{0, 2, 3}));
    BOOST_TEST((best_values(*s, t, 2) == std::vector<double>{0, 2}));
    BOOST_TEST(best_values(*s, t, 0).empty());
    // Measured again: the new value counts; lost with its device: nothing has been learnt about it.
    append(*s, {item(ask(t, 6), measured(9)), item(ask(t, 4), failed(failure_kind::device_lost))});
    BOOST_TEST((best_values(*s, t) == std::vector<double>{2, 3, 9}));
  }
  const auto s = open(scratch.store());
  BOOST_TEST((best_values(*s, t) == std::vector<double>{2, 3, 9}));
  clean(*s);
}

BOOST_AUTO_TEST_CASE(what_was_stopped_early_is_kept_and_never_the_best) {
  const scratch_folder scratch;
  const auto task = make();
  auto stopped = std::make_shared<outcome>(*measured(1));
  stopped->data = bound{0.5, 0.25, {0.5, 0.75}};
  {
    const auto s = open(scratch.store());
    append(*s, {item(ask(task, 1), stopped), item(ask(task, 2), measured(2)), item(ask(task, 3), measured(1)),
                item(ask(task, 3), stopped)});
    clean(*s);
  }
  const auto s = open(scratch.store());
  BOOST_TEST(best_values(*s, task) == std::vector<double>{2}, boost::test_tools::per_element()); // 3: the newest stands
  const auto all = all_of(*s, task);
  BOOST_REQUIRE(all.size() == 4u);
  BOOST_TEST(bool(all[0].result == *stopped));
  BOOST_TEST(cached_in(*s).size() == 3u);
}

BOOST_AUTO_TEST_CASE(the_best_is_exact_for_any_history) {
  const std::uint64_t seed = 99;
  BOOST_TEST_MESSAGE("seed " << seed);
  random_engine random(seed);
  const scratch_folder scratch;
  auto s = open(scratch.store());
  for (const auto direction : {goal::minimize, goal::maximize}) {
    const auto t = make({.direction = direction});
    std::vector<std::pair<std::int64_t, double>> newest(100, {-1, 0.0});
    for (int round = 0; round < 60; ++round) {
      std::vector<record_item> group;
      for (int k = 0; k < 10; ++k) {
        // Again and again the same hundred, ever worse: entries leave the list, and the history must be looked at.
        const auto n = static_cast<std::int64_t>(random.below(100));
        const double v = direction == goal::minimize ? round + random.uniform() : 100 - round + random.uniform();
        group.push_back(item(ask(t, n), measured(v)));
        newest[static_cast<std::size_t>(n)] = {n, v};
      }
      append(*s, std::move(group));
      if (round % 20 == 19) s.reset(), s = open(scratch.store());
      std::vector<double> expected;
      for (const auto& [n, v] : newest)
        if (n >= 0) expected.push_back(v);
      std::sort(expected.begin(), expected.end());
      if (direction == goal::maximize) std::reverse(expected.begin(), expected.end());
      if (expected.size() > 16) expected.resize(16);
      BOOST_REQUIRE((best_values(*s, t) == expected));
    }
  }
  clean(*s);
}

namespace {

/// Records that come from elsewhere, of the sample task.
struct import_of {
  explicit import_of(const task_ptr& t) : of(t), entry(entry_of(*t)) {}
  void add(std::int64_t n, const outcome_ptr& o, std::int64_t second) {
    auto dated = std::make_shared<outcome>(*o);
    dated->at = std::chrono::seconds(1'800'000'000 + second);
    trials.push_back(ask(of, n));
    results.push_back(std::move(dated));
  }
  void into(store& s) {
    std::vector<foreign_record> records;
    for (std::size_t i = 0; i < trials.size(); ++i)
      records.push_back({&entry, trials[i]->key, &trials[i]->config, results[i].get(), {}});
    BOOST_REQUIRE(s.append_new(records).ok());
    trials.clear();
    results.clear();
  }
  task_ptr of;
  task_entry entry;
  std::vector<trial_ptr> trials;
  std::vector<outcome_ptr> results;
};

double cached_value(const store& s, const trial_ptr& of) {
  const auto r = s.cached_record(of->key);
  BOOST_REQUIRE(r.ok());
  return *r && (*r)->result.ok() ? (*r)->result.measured()->value : -1;
}

} // namespace

BOOST_AUTO_TEST_CASE(an_import_of_something_older_does_not_take_the_place_of_what_is_newer) {
  const scratch_folder scratch;
  const auto t = make();
  {
    auto s = open(scratch.store());
    append(*s, {item(ask(t, 1), measured(3)), item(ask(t, 2), failed(failure_kind::run_error)),
                item(ask(t, 3), measured(4))});
    import_of more(t);
    more.add(1, measured(1), -50); // measured since
    more.add(2, measured(1), -50); // has failed since
    more.add(4, measured(5), -50); // known from there alone
    more.add(3, measured(2), 50);  // newer
    more.add(3, measured(1), 40);  // older than the one before it in the same write
    more.into(*s);
    BOOST_TEST((best_values(*s, t) == std::vector<double>{2, 3, 5}));
    BOOST_TEST(cached_value(*s, ask(t, 1)) == 3);
    BOOST_TEST(cached_value(*s, ask(t, 2)) == -1);
    BOOST_TEST(cached_value(*s, ask(t, 3)) == 2);
    BOOST_TEST(cached_value(*s, ask(t, 4)) == 5);
    clean(*s);
    more.add(4, measured(6), -40);
    more.add(1, measured(0.5), -40);
    more.into(*s);
    BOOST_TEST((best_values(*s, t) == std::vector<double>{2, 3, 6}));
    const auto gone = s->forget(std::vector<digest>{t->identity.task_key},
                                {.newer_than = std::chrono::seconds(1'800'000'000 - 45)}, false);
    BOOST_REQUIRE(gone.ok());
    BOOST_TEST(gone->front().records == 3u);
    BOOST_TEST((best_values(*s, t) == std::vector<double>{2, 3, 6}));
  }
  const auto s = open(scratch.store(), {.read_only = true});
  BOOST_TEST((best_values(*s, t) == std::vector<double>{2, 3, 6}));
  clean(*s);
}

BOOST_AUTO_TEST_CASE(what_is_measured_here_counts_whatever_the_clock_says) {
  const scratch_folder scratch;
  const auto t = make();
  const auto set_back = [](double v, std::int64_t second) {
    auto o = std::make_shared<outcome>(*measured(v));
    o->at = std::chrono::seconds(1'800'000'000 + second);
    return o;
  };
  {
    auto s = open(scratch.store());
    append(*s, {item(ask(t, 1), measured(1)), item(ask(t, 2), measured(2))});
    append(*s, {item(ask(t, 1), set_back(5, -7200))});
    BOOST_TEST((best_values(*s, t) == std::vector<double>{2, 5}));
    BOOST_TEST(cached_value(*s, ask(t, 1)) == 5);
    // As it is told: the time of day that it had.
    BOOST_TEST(all_of(*s, t)[2].result.at.count() == set_back(5, -7200)->at.count());
    import_of more(t);
    more.add(1, measured(0.5), -10); // older than what the clock says of the one, newer than of the other
    more.into(*s);
    BOOST_TEST((best_values(*s, t) == std::vector<double>{2, 5}));
  }
  const auto s = open(scratch.store());
  BOOST_TEST((best_values(*s, t) == std::vector<double>{2, 5}));
  clean(*s);
}

BOOST_AUTO_TEST_CASE(the_best_is_exact_in_whatever_order_records_are_imported) {
  const std::uint64_t seed = 7;
  BOOST_TEST_MESSAGE("seed " << seed);
  random_engine random(seed);
  const scratch_folder scratch;
  auto s = open(scratch.store());
  const auto t = make();
  std::map<std::int64_t, std::pair<std::int64_t, double>> newest;
  for (int round = 0; round < 60; ++round) {
    import_of group(t);
    for (int k = 0; k < 20; ++k) {
      const auto n = static_cast<std::int64_t>(random.below(150)),
                 second = static_cast<std::int64_t>(random.below(1000));
      const double v = random.uniform();
      group.add(n, measured(v), second);
      const auto [at, fresh] = newest.try_emplace(n, second, v);
      if (!fresh && second >= at->second.first) at->second = {second, v};
    }
    group.into(*s);
    if (round % 20 == 19) s.reset(), s = open(scratch.store());
    if (round % 4 != 0) continue; // sometimes nobody asks in between
    std::vector<double> expected;
    for (const auto& [n, result] : newest) expected.push_back(result.second);
    std::sort(expected.begin(), expected.end());
    if (expected.size() > 16) expected.resize(16);
    BOOST_REQUIRE((best_values(*s, t) == expected));
  }
  clean(*s);
}

BOOST_AUTO_TEST_CASE(the_best_is_of_one_target_and_one_workload) {
  const scratch_folder scratch;
  const auto s = open(scratch.store());
  const auto a = make({.device = "A"}), b = make({.device = "B"}), b2 = make({.device = "B", .run = "./other"}),
             c = make({.device = "C"});
  append(*s, {item(ask(a, 1), measured(1)), item(ask(b, 2), measured(2)), item(ask(b2, 3), measured(3))});
  const auto on_b = s->best_for(b->identity.workload_key, b->identity.target_key, 1);
  BOOST_REQUIRE(on_b.ok());
  BOOST_REQUIRE_EQUAL(on_b->size(), 2u);
  BOOST_TEST((*on_b)[0].best[0].result.measured()->value == 2);
  BOOST_TEST((*on_b)[1].best[0].result.measured()->value == 3);
  BOOST_TEST(bool((*on_b)[1].task.task == b2->identity.task_key));
  const auto on_c = s->best_for(c->identity.workload_key, c->identity.target_key, 1);
  BOOST_REQUIRE(on_c.ok());
  BOOST_TEST(on_c->empty());
  BOOST_TEST(best_values(*s, c).empty());
}

BOOST_AUTO_TEST_CASE(the_order_of_writing_decides_nothing_but_what_is_newest) {
  // SA10: two winners for one task, merged in either order.
  for (const bool reversed : {false, true}) {
    const scratch_folder scratch;
    const auto s = open(scratch.store());
    const auto t = make();
    std::vector<record_item> items{item(ask(t, 1), measured(2)), item(ask(t, 2), measured(1))};
    if (reversed) std::swap(items[0], items[1]);
    for (auto& i : items) append(*s, {i});
    const auto b = s->best(t->identity.task_key);
    BOOST_REQUIRE(b->size() == 1u);
    BOOST_TEST((*b)[0].config.canonical() == config(2).canonical());
    BOOST_TEST((*b)[0].result.measured()->value == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_session_is_kept_with_its_steps_in_the_order_of_telling) {
  const scratch_folder scratch;
  const auto t = make();
  const std::string id = "0123456789abcdef0123456789abcdef";
  std::vector<step_item> told;
  {
    const auto s = open(scratch.store());
    session_entry e;
    e.id = id;
    e.task_name = "gemm";
    e.strategy = "random";
    e.seed = 3;
    e.budget = 10;
    BOOST_REQUIRE(s->begin_session(e).ok());
    e.strategy = "another";
    BOOST_REQUIRE(s->begin_session(e).ok());
    std::vector<record_item> one{item(ask(t, 4), measured(4)), item(ask(t, 2), failed(failure_kind::run_error))};
    BOOST_REQUIRE(s->append(one, {}).ok());
    // By reference; inline, for it is in no record; in one write with its record, which has no number yet.
    std::vector<step_item> steps{step_of(one[1], 6), step_of(item(ask(t, 7), measured(7)), 7, true)};
    std::vector<record_item> two{item(ask(t, 3), measured(3))};
    BOOST_REQUIRE(s->append({}, steps).ok());
    std::vector<step_item> more{step_of(one[0], 8), step_of(two[0], 9)};
    BOOST_REQUIRE(s->append(two, more).ok());
    for (const auto* group : {&steps, &more})
      for (const auto& i : *group) told.push_back(i);
  }
  for (int pass = 0; pass < 2; ++pass) {
    const auto s = open(scratch.store());
    if (pass == 1) {
      // What the cache drops, the session keeps.
      std::vector<key128> all;
      for (const auto& step : told) all.push_back(step.what->key);
      s->drop_cached(all);
      BOOST_TEST(cached_in(*s).empty());
    }
    const auto e = s->load_session(id);
    BOOST_REQUIRE(e.ok());
    BOOST_REQUIRE(e->has_value());
    BOOST_TEST((*e)->strategy == "random");
    BOOST_TEST((*e)->steps == 4u);
    BOOST_TEST(*(*e)->budget == 10u);
    std::vector<session_step> got;
    BOOST_REQUIRE(s->session_steps(id, [&](const session_step& x) { got.push_back(x); }).ok());
    BOOST_REQUIRE_EQUAL(got.size(), told.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      BOOST_TEST(got[k].number == told[k].what->number);
      BOOST_TEST(got[k].asked_before == told[k].asked_before);
      BOOST_TEST(bool(got[k].key == told[k].what->key));
      BOOST_TEST(bool(got[k].config == told[k].what->config));
      BOOST_TEST(got[k].from_cache == told[k].from_cache);
      BOOST_TEST(bool(*got[k].result == *told[k].result));
    }
    clean(*s);
  }
  const auto s = open(scratch.store());
  std::size_t sessions = 0;
  BOOST_REQUIRE(s->sessions([&](const session_entry& e) { sessions += e.id == id; }).ok());
  BOOST_TEST(sessions == 1u);
  BOOST_REQUIRE(s->erase_session(id).ok());
  BOOST_TEST(!s->load_session(id)->has_value());
  std::size_t steps = 0;
  BOOST_REQUIRE(s->session_steps(id, [&](const session_step&) { ++steps; }).ok());
  BOOST_TEST(steps == 0u);
  BOOST_TEST(all_of(*s, t).size() == 3u);
  // A new one of the same name begins at its beginning.
  session_entry fresh;
  fresh.id = id;
  BOOST_REQUIRE(s->begin_session(fresh).ok());
  append(*s, {}, {step_of(item(ask(t, 1), measured(1)), 1)});
  BOOST_TEST((*s->load_session(id))->steps == 1u);
  clean(*s);
}

BOOST_AUTO_TEST_CASE(a_step_is_never_told_by_another_trials_record) {
  const scratch_folder scratch;
  const auto t = make();
  {
    const auto s = open(scratch.store());
    std::vector<record_item> one{item(ask(t, 1), measured(1))};
    session_entry e;
    e.id = one[0].session;
    BOOST_REQUIRE(s->begin_session(e).ok());
    BOOST_REQUIRE(s->append(one, {}).ok());
    // The same key with another result that is in no record.
    auto other = one[0];
    other.result = measured(2);
    other.record = 0;
    append(*s, {}, {step_of(other, 1)});
  }
  const auto s = open(scratch.store());
  std::vector<double> got;
  BOOST_REQUIRE(s->session_steps("0123456789abcdef0123456789abcdef", [&](const session_step& x) {
                   got.push_back(x.result->measured()->value);
                 }).ok());
  BOOST_TEST((got == std::vector<double>{2}));
}

BOOST_AUTO_TEST_CASE(the_cache_comes_back_in_its_order_and_within_its_bounds) {
  const scratch_folder scratch;
  const auto t = make();
  const auto form = [](std::int64_t n) { return config(n).canonical(); };
  {
    const auto s = open(scratch.store());
    append(*s, {item(ask(t, 1), measured(1)), item(ask(t, 2), failed(failure_kind::build_error)),
                item(ask(t, 3), measured(3)), item(ask(t, 4), failed(failure_kind::internal))});
    s->touch(std::vector<cache_use>{{ask(t, 1)->key}, {ask(t, 77)->key}});
    append(*s, {item(ask(t, 5), measured(5)), item(ask(t, 6), measured(6))});
    s->touch(std::vector<cache_use>{{ask(t, 3)->key}});
    s->drop_cached(std::vector{ask(t, 6)->key});
  }
  {
    const auto s = open(scratch.store());
    BOOST_TEST((cached_in(*s) == std::vector{form(2), form(1), form(5), form(3)}));
    s->touch(std::vector<cache_use>{{ask(t, 2)->key}});
  }
  {
    const auto s = open(scratch.store(), bounded(3));
    s->touch(std::vector<cache_use>{{ask(t, 2)->key}});
    BOOST_TEST((cached_in(*s) == std::vector{form(5), form(3), form(2)}));
    clean(*s);
    // A result that was measured again is the newest.
    append(*s, {item(ask(t, 5), measured(50))});
  }
  const auto s = open(scratch.store());
  BOOST_TEST(s->statistics()->cache_entries == 3u);
  const auto got = s->recall(std::vector{ask(t, 5), ask(t, 1), ask(t, 99)});
  BOOST_REQUIRE(got.size() == 3u);
  BOOST_REQUIRE(got[0].entry.has_value());
  BOOST_TEST(got[0].entry->result->measured()->value == 50);
  BOOST_TEST((cached_in(*s) == std::vector{form(3), form(2), form(5)}));
  // 1 had to go, and that is known; 99 was never there.
  BOOST_TEST(!got[1].entry.has_value());
  BOOST_CHECK(got[1].cause == miss_cause::evicted_before);
  BOOST_CHECK(got[2].cause == miss_cause::unseen);
}

BOOST_AUTO_TEST_CASE(the_order_of_the_cache_on_the_disk_is_exact) {
  const std::uint64_t seed = 7;
  BOOST_TEST_MESSAGE("seed " << seed);
  random_engine random(seed);
  const scratch_folder scratch;
  const auto t = make();
  std::vector<trial_ptr> trials;
  for (std::int64_t n = 0; n < 60; ++n) trials.push_back(ask(t, n));
  for (const std::uint64_t bound : {1u, 5u, 40u}) {
    fs::remove_all(scratch.store());
    auto s = open(scratch.store(), bounded(bound));
    std::vector<std::size_t> model; // oldest in front
    std::uint64_t evicted = 0;
    std::map<std::size_t, record_id> newest;
    const auto used = [&](std::size_t n) {
      std::erase(model, n);
      model.push_back(n);
    };
    const auto bound_model = [&] {
      for (; model.size() > bound; ++evicted) model.erase(model.begin());
    };
    for (int step = 0; step < 150; ++step) {
      const auto n = random.below(trials.size());
      switch (random.below(5)) {
      case 0:
      case 1: {
        std::vector<record_item> group;
        std::vector<std::size_t> which;
        for (auto k = random.below(4) + 1; k > 0; --k) {
          which.push_back(random.below(trials.size()));
          group.push_back(item(trials[which.back()], measured(1.0 + step)));
        }
        BOOST_REQUIRE(s->append(group, {}).ok());
        for (std::size_t k = 0; k < which.size(); ++k) {
          used(which[k]);
          newest[which[k]] = group[k].record;
        }
        bound_model();
        break;
      }
      case 2:
      case 3: {
        // With its record one that was evicted comes back; without, it does not.
        const bool back = random.chance(0.5);
        std::vector<cache_use> uses;
        for (auto k = random.below(6) + 1; k > 0; --k) {
          const auto which = random.below(trials.size());
          const bool known = newest.contains(which);
          uses.push_back({trials[which]->key, back && known ? newest[which] : 0});
        }
        std::vector<key128> last;
        for (auto u = uses.rbegin(); u != uses.rend(); ++u)
          if (std::ranges::find(last, u->key) == last.end()) last.insert(last.begin(), u->key);
        for (const auto& key : last) {
          const auto which = static_cast<std::size_t>(
              std::ranges::find_if(trials, [&](const auto& x) { return x->key == key; }) - trials.begin());
          if (std::ranges::find(model, which) != model.end() || (back && newest.contains(which))) used(which);
        }
        s->touch(uses);
        bound_model();
        break;
      }
      default:
        if (random.chance(0.3)) {
          s->drop_cached(std::vector{trials[n]->key});
          std::erase(model, n);
        } else {
          s.reset();
          s = open(scratch.store(), bounded(bound));
        }
      }
      std::vector<std::string> expected;
      for (const auto m : model) expected.push_back(trials[m]->canonical);
      BOOST_REQUIRE(cached_in(*s) == expected);
      BOOST_REQUIRE(s->statistics()->cache_entries == model.size());
      BOOST_REQUIRE(s->statistics()->evicted == evicted);
    }
    clean(*s);
  }
}

BOOST_AUTO_TEST_CASE(what_has_just_been_written_keeps_its_place_behind_the_uses_told_before_it) {
  const scratch_folder scratch;
  const auto t = make();
  const auto form = [](std::int64_t n) { return config(n).canonical(); };
  const auto s = open(scratch.store());
  append(*s, {item(ask(t, 1), measured(1)), item(ask(t, 2), measured(2)), item(ask(t, 3), measured(3))});
  const auto fresh = [&](std::int64_t n) { return cache_use{ask(t, n)->key, 0, true}; };
  const auto used = [&](std::int64_t n) { return cache_use{ask(t, n)->key}; };
  s->touch(std::vector{fresh(1), fresh(2)});
  BOOST_TEST((cached_in(*s) == std::vector{form(1), form(2), form(3)}));
  // 1 was used before 3 was filled in: 3 is newer, in one write or in two.
  s->touch(std::vector{used(1), fresh(3)});
  BOOST_TEST((cached_in(*s) == std::vector{form(2), form(1), form(3)}));
  append(*s, {item(ask(t, 4), measured(4))});
  s->touch(std::vector{used(2)});
  BOOST_TEST((cached_in(*s) == std::vector{form(1), form(3), form(4), form(2)}));
  s->touch(std::vector{fresh(4)});
  BOOST_TEST((cached_in(*s) == std::vector{form(1), form(3), form(2), form(4)}));
}

BOOST_AUTO_TEST_CASE(the_cache_is_bounded_by_bytes) {
  const scratch_folder scratch;
  const auto t = make();
  const auto one = cache_cost(ask(t, 1)->canonical.size(), *measured(1));
  const auto s = open(scratch.store(), bounded(1000, 10 * one + one / 2));
  for (std::int64_t n = 10; n < 40; ++n) append(*s, {item(ask(t, n), measured(1))});
  const auto st = s->statistics();
  BOOST_TEST(st->cache_bytes <= 10 * one + one / 2);
  BOOST_TEST(st->cache_entries >= 9u);
  BOOST_TEST(st->cache_entries == cached_in(*s).size());
  // One that is larger than all of it does not stay, and takes nothing with it that fits beside nothing.
  append(*s, {item(ask(t, 1000), failed(failure_kind::run_error, std::string(100 * one, 'x')))});
  BOOST_TEST(s->statistics()->cache_entries == 0u);
  append(*s, {item(ask(t, 1001), measured(1))});
  BOOST_TEST(s->statistics()->cache_entries == 1u);
  clean(*s);
}

BOOST_AUTO_TEST_CASE(what_the_cache_forgot_and_is_measured_again_stays) {
  const scratch_folder scratch;
  const auto t = make();
  const auto s = open(scratch.store(), bounded(4));
  for (std::int64_t n = 0; n < 8; ++n) append(*s, {item(ask(t, n), measured(1))});
  for (std::int64_t n = 0; n < 2; ++n) append(*s, {item(ask(t, n), measured(2))});
  const auto form = [](std::int64_t n) { return config(n).canonical(); };
  BOOST_TEST((cached_in(*s) == std::vector{form(6), form(7), form(0), form(1)}));
  const auto got = s->recall(std::vector{ask(t, 0), ask(t, 5)});
  BOOST_TEST(got[0].entry->result->measured()->value == 2);
  BOOST_CHECK(got[1].cause == miss_cause::evicted_before);
  // As many as it holds are remembered: 4, 5 and, before them, 2 and 3.
  const auto long_ago = s->recall(std::vector{ask(t, 2), ask(t, 3), ask(t, 4)});
  for (const auto& r : long_ago) BOOST_CHECK(r.cause == miss_cause::evicted_before);
  append(*s, {item(ask(t, 20), measured(2))});
  BOOST_CHECK(s->recall(std::vector{ask(t, 2)})[0].cause == miss_cause::unseen);
  clean(*s);
}

BOOST_AUTO_TEST_CASE(a_miss_has_the_cause_that_the_records_of_other_tasks_tell) {
  const scratch_folder scratch;
  const auto s = open(scratch.store());
  append(*s, {item(ask(make({.device = "A"}), 1), measured(1)), item(ask(make({.run = "./other"}), 2), measured(1)),
              item(ask(make({.size = 64}), 3), measured(1))});
  const auto t = make();
  BOOST_TEST(s->knows_workload(t->identity.workload_key));
  BOOST_TEST(!s->knows_workload(make({.size = 65})->identity.workload_key));
  const auto got = s->recall(std::vector{ask(t, 1), ask(t, 2), ask(t, 3)});
  BOOST_CHECK(got[0].cause == miss_cause::other_target);
  BOOST_CHECK(got[1].cause == miss_cause::other_method);
  BOOST_CHECK(got[2].cause == miss_cause::unseen);
}

BOOST_AUTO_TEST_CASE(the_cache_forgets_a_task_and_its_records_stay) {
  const scratch_folder scratch;
  const auto a = make(), b = make({.size = 64});
  {
    const auto s = open(scratch.store());
    for (std::int64_t n = 0; n < 5; ++n) append(*s, {item(ask(a, n), measured(1)), item(ask(b, n), measured(1))});
    append(*s, {item(ask(a, 1), measured(2))});
    BOOST_TEST(*s->drop_cached(a->identity.task_key) == 5u);
    BOOST_TEST(*s->drop_cached(a->identity.task_key) == 0u);
    BOOST_TEST(*s->drop_cached(make({.size = 65})->identity.task_key) == 0u);
  }
  const auto s = open(scratch.store());
  BOOST_TEST(cached_in(*s).size() == 5u);
  BOOST_TEST(!s->recall(std::vector{ask(a, 1)})[0].entry);
  BOOST_TEST(s->recall(std::vector{ask(b, 1)})[0].entry.has_value());
  BOOST_TEST(all_of(*s, a).size() == 6u);
  clean(*s);
}

BOOST_AUTO_TEST_CASE(many_steps_of_one_write_and_of_two_sessions_keep_their_numbers) {
  const scratch_folder scratch;
  const auto t = make();
  const std::string a = "0123456789abcdef0123456789abcdef", b = "another";
  constexpr std::size_t each = 2500;
  for (int pass = 0; pass < 2; ++pass) {
    const auto s = open(scratch.store());
    std::vector<step_item> steps;
    for (std::size_t n = 0; n < each; ++n)
      for (const auto& id : {a, b})
        steps.push_back({id == a ? a : b, ask(t, static_cast<std::int64_t>(n)), measured(double(n)), n, id == b});
    session_entry e;
    for (const auto& id : {a, b}) {
      e.id = id;
      BOOST_REQUIRE(s->begin_session(e).ok());
    }
    BOOST_REQUIRE(s->append({}, steps).ok());
  }
  const auto s = open(scratch.store());
  for (const auto& id : {a, b}) {
    BOOST_TEST((*s->load_session(id))->steps == 2 * each);
    std::size_t seen = 0;
    BOOST_REQUIRE(s->session_steps(id, [&](const session_step& x) {
                     BOOST_REQUIRE(x.asked_before == seen % each);
                     BOOST_REQUIRE(x.from_cache == (id == b));
                     ++seen;
                   }).ok());
    BOOST_TEST(seen == 2 * each);
  }
}

BOOST_AUTO_TEST_CASE(steps_from_a_restored_cache_need_no_copy_of_the_result) {
  const scratch_folder scratch;
  const auto t = make();
  const std::string big(100'000, 'x');
  append(*open(scratch.store()), {item(ask(t, 1), failed(failure_kind::build_error, big))});
  const auto s = open(scratch.store());
  session_entry e;
  e.id = "0123456789abcdef0123456789abcdef";
  BOOST_REQUIRE(s->begin_session(e).ok());
  const auto before = s->statistics()->bytes;
  const auto trial = ask(t, 1);
  const auto known = *s->recall(std::vector{trial})[0].entry;
  append(*s, {}, {{e.id, trial, known.result, 1, true, known.record}});
  BOOST_TEST(s->statistics()->bytes < before + 10'000);
  std::size_t seen = 0;
  BOOST_REQUIRE(
      s->session_steps(e.id, [&](const session_step& x) { seen += x.result->failed()->message == big; }).ok());
  BOOST_TEST(seen == 1u);
}

BOOST_AUTO_TEST_CASE(counters_of_the_cache_outlive_it) {
  const scratch_folder scratch;
  cache_figures f;
  f.hits = 10;
  f.evicted = 2;
  f.causes[static_cast<std::size_t>(miss_cause::unseen)] = 3;
  for (int pass = 0; pass < 2; ++pass) open(scratch.store())->count(f);
  const auto st = open(scratch.store())->statistics();
  BOOST_REQUIRE(st.ok());
  BOOST_TEST(st->hits == 20u);
  BOOST_TEST(st->evicted == 4u);
  BOOST_REQUIRE_EQUAL(st->misses.size(), 1u);
  BOOST_TEST(st->misses[0].first == "new");
  BOOST_TEST(st->misses[0].second == 6u);
}

BOOST_AUTO_TEST_CASE(each_task_has_its_figures) {
  const scratch_folder scratch;
  const auto a = make(), b = make({.device = "B"});
  {
    const auto s = open(scratch.store());
    append(*s, {item(ask(a, 1), measured(1)), item(ask(b, 1), measured(1)),
                item(ask(b, 2), failed(failure_kind::run_error))});
    const std::vector<task_uses> uses{{a->identity.task_key, 3, 1}, {make({.size = 9})->identity.task_key, 7, 7}};
    for (int k = 0; k < 2; ++k) s->count({}, uses);
  }
  const auto s = open(scratch.store(), {.read_only = true});
  const auto all = s->statistics_by_task();
  BOOST_REQUIRE(all.ok());
  BOOST_REQUIRE_EQUAL(all->size(), 2u);
  BOOST_TEST((*all)[0].hits == 6u);
  BOOST_TEST((*all)[0].misses == 2u);
  BOOST_TEST((*all)[1].hits == 0u);
  BOOST_TEST((*all)[1].counts.records == 2u);
  BOOST_TEST((*all)[1].counts.failures == 1u);
}

BOOST_AUTO_TEST_CASE(a_reader_sees_what_is_there_and_changes_nothing) {
  const scratch_folder scratch;
  const auto t = make();
  const auto owner = open(scratch.store());
  append(*owner, {item(ask(t, 1), measured(1))});
  const auto reader = open(scratch.store(), {.read_only = true});
  BOOST_TEST(all_of(*reader, t).size() == 1u);
  BOOST_TEST((best_values(*reader, t) == std::vector<double>{1}));
  std::vector<record_item> more{item(ask(t, 2), measured(2))};
  BOOST_TEST(!reader->append(more, {}).ok());
  BOOST_TEST(more[0].record == 0u);
  session_entry e;
  e.id = "x";
  BOOST_TEST(!reader->begin_session(e).ok());
  BOOST_TEST(!reader->erase_session("x").ok());
  BOOST_TEST(cached_in(*reader).size() == 1u);
  clean(*reader);
  append(*owner, {item(ask(t, 2), measured(2))});
  BOOST_TEST(all_of(*owner, t).size() == 2u);
  clean(*owner);
}

BOOST_AUTO_TEST_CASE(spaces_without_parameters_and_wide_ones_are_stored) {
  const scratch_folder scratch;
  const auto t = make();
  arguments wide;
  for (int n = 0; n < 500; ++n) wide.emplace_back("p" + std::to_string(n), value(n));
  std::vector<record_item> items{item(ask(t, configuration()), measured(1)),
                                 item(ask(t, configuration(wide)), measured(2))};
  BOOST_REQUIRE(open(scratch.store())->append(items, {}).ok());
  const auto s = open(scratch.store());
  const auto all = all_of(*s, t);
  BOOST_REQUIRE_EQUAL(all.size(), 2u);
  BOOST_TEST(all[0].config.size() == 0u);
  BOOST_TEST(bool(all[1].config == configuration(wide)));
  clean(*s);
}

// An import of so many at once is written as tables of their own (storage/database.hpp).
BOOST_AUTO_TEST_CASE(thousands_of_records_at_once_are_there_like_any_others) {
  const scratch_folder scratch;
  const auto of = make();
  const auto entry = entry_of(*of);
  constexpr std::int64_t count = 12'000;
  std::vector<trial_ptr> trials;
  std::vector<outcome_ptr> results;
  for (std::int64_t n = 0; n < count; ++n) {
    trials.push_back(ask(of, n / 2)); // each configuration twice: the later one counts
    results.push_back(measured(static_cast<double>((n * 7919) % count) + 1));
  }
  std::vector<foreign_record> records;
  for (std::size_t i = 0; i < trials.size(); ++i)
    records.push_back({&entry, trials[i]->key, &trials[i]->config, results[i].get(), {}});
  double best = 1e9;
  for (std::size_t i = 1; i < results.size(); i += 2) best = std::min(best, results[i]->measured()->value);
  {
    auto s = open(scratch.store());
    // Something of the same task lies in memory already, unflushed.
    std::vector<record_item> first{item(ask(of, -1), measured(50'000))};
    BOOST_REQUIRE(s->append(first, {}).ok());
    BOOST_REQUIRE(s->append_new(records).ok());
    BOOST_TEST(std::count_if(records.begin(), records.end(), [](const auto& r) { return r.added; }) == count);
    BOOST_TEST(s->verify()->ok());
    BOOST_TEST(s->append_new(records).ok());
    BOOST_TEST(std::count_if(records.begin(), records.end(), [](const auto& r) { return r.added; }) == 0);
    std::vector<record_item> last{item(ask(of, -2), measured(60'000))};
    BOOST_REQUIRE(s->append(last, {}).ok());
    BOOST_TEST(last[0].record == static_cast<std::uint64_t>(count) + 2);
  }
  // What a killed process left of its tables is no trouble, and goes.
  const auto left = scratch.store() + "/7.new";
  std::ofstream(left) << "half a table";
  const auto s = open(scratch.store());
  BOOST_TEST(!std::filesystem::exists(left));
  BOOST_TEST(s->verify()->ok());
  BOOST_TEST(s->statistics()->records == static_cast<std::uint64_t>(count) + 2);
  BOOST_TEST(s->statistics()->cache_entries == static_cast<std::uint64_t>(count) / 2 + 2);
  BOOST_TEST(s->best(of->identity.task_key)->at(0).result.measured()->value == best);
  const auto again = s->cached_record(trials[1]->key);
  BOOST_REQUIRE(again.ok());
  BOOST_TEST((*again)->result.measured()->value == results[1]->measured()->value);
}

BOOST_AUTO_TEST_CASE(the_best_of_many_tasks_are_not_all_kept_in_memory) {
  const scratch_folder scratch;
  const auto s = open(scratch.store());
  constexpr std::size_t tasks = 600, each = 8;
  std::vector<task_ptr> of;
  std::vector<double> expected;
  for (std::size_t k = 1; k <= each; ++k) expected.push_back(static_cast<double>(k));
  for (std::size_t i = 0; i < tasks; ++i) {
    of.push_back(make({.size = static_cast<std::int64_t>(i)}));
    std::vector<record_item> items;
    for (std::size_t k = each; k > 0; --k) {
      auto o = std::make_shared<outcome>(*measured(static_cast<double>(k)));
      std::get<measurement>(o->data).samples.assign(250, 1.0);
      items.push_back(item(ask(of.back(), static_cast<std::int64_t>(k)), o));
    }
    append(*s, std::move(items));
  }
  const auto look = [&] {
    for (const auto& t : of) BOOST_TEST_REQUIRE(best_values(*s, t) == expected, boost::test_tools::per_element());
  };
  look();
  const auto before = ::mallinfo2().uordblks;
  append(*s, {item(ask(of[3], 99), measured(0.5))});
  const auto after = ::mallinfo2().uordblks;
  // Their samples alone; a sanitizer's heap tells nothing.
  if (before > 0) BOOST_TEST(after + 500 * each * 250 * sizeof(double) < before, before << " bytes before, " << after);
  BOOST_TEST(best_values(*s, of[3], 2) == (std::vector<double>{0.5, 1}), boost::test_tools::per_element());
  std::swap(of[3], of.back());
  of.pop_back();
  look();
  clean(*s);
}

BOOST_AUTO_TEST_SUITE_END()
