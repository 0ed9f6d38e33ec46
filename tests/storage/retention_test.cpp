// What stays when records are taken out, and that all that refers to them fits together afterwards.
#include "core/random.hpp"
#include "storage/retention.hpp"
#include "tests/storage/samples.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <set>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::samples;

namespace {

constexpr std::int64_t begun = 1'800'000'000;

outcome_ptr at(const outcome_ptr& o, std::int64_t seconds) {
  auto out = std::make_shared<outcome>(*o);
  out->at = std::chrono::seconds(begun + seconds);
  return out;
}

outcome_ptr stopped(double at_least) {
  auto out = std::make_shared<outcome>(*measured(1));
  out->data = bound{at_least, 0.5, {}};
  return out;
}

configuration pair_of(std::int64_t x, std::int64_t y) {
  return configuration(arguments{{"x", value(x)}, {"y", value(y)}});
}

/// The records of one task, numbered from 1.
struct history {
  std::vector<record> all;
  void add(const configuration& c, const outcome_ptr& o) {
    record r;
    r.id = all.size() + 1;
    r.config = c;
    r.key = truncate(sha256(c.canonical()));
    r.result = *o;
    r.counts_from = o->at;
    all.push_back(std::move(r));
  }
  retention_choice::answer under(const retention& how, goal direction = goal::minimize) const {
    retention_choice choice(how, direction);
    for (const auto& r : all) choice.add(r);
    return choice.choose();
  }
};

std::vector<record_id> ids(std::initializer_list<int> of) { return {of.begin(), of.end()}; }

void expect_clean(const store& s) {
  const auto v = s.verify();
  BOOST_REQUIRE(v.ok());
  for (const auto& p : v->problems) BOOST_ERROR(p);
}

void append_records(store& s, std::vector<record_item> items, std::vector<step_item> steps = {}) {
  BOOST_REQUIRE(s.append(items, steps).ok());
}

std::vector<record_id> left_in(const store& s, const task_ptr& t) {
  std::vector<record_id> out;
  BOOST_REQUIRE(s.records_of(t->identity.task_key, [&](const record& r) {
                   out.push_back(r.id);
                   return true;
                 }).ok());
  return out;
}

retention keeping(std::size_t best, std::size_t boundary = 0, std::size_t reservoir = 0) {
  retention how;
  how.keep_best = best;
  how.boundary = boundary;
  how.reservoir = reservoir;
  return how;
}

} // namespace

BOOST_AUTO_TEST_SUITE(retention_of_records)

BOOST_AUTO_TEST_CASE(what_was_measured_last_stands_whatever_was_written_last) {
  history h;
  h.add(pair_of(1, 1), at(measured(3), 100));
  h.add(pair_of(2, 1), at(measured(2), 100));
  h.add(pair_of(1, 1), at(measured(1), 50)); // imported later
  h.add(pair_of(2, 1), at(measured(4), 100));
  const auto kept = h.under(keeping(1));
  BOOST_TEST(kept.gone == ids({2, 3, 4}), boost::test_tools::per_element());
  BOOST_TEST(kept.folded == 1u);
}

BOOST_AUTO_TEST_CASE(the_best_stay_by_their_newest_result_and_duplicates_are_folded) {
  history h;
  h.add(pair_of(1, 1), measured(1)); // measured again below: worse
  h.add(pair_of(2, 1), measured(2));
  h.add(pair_of(3, 1), measured(3));
  h.add(pair_of(1, 1), measured(9));
  h.add(pair_of(3, 1), failed(failure_kind::device_lost)); // says nothing of it
  h.add(pair_of(2, 1), measured(2.5));
  const auto kept = h.under(keeping(2));
  BOOST_TEST(kept.gone == ids({1, 2, 4, 5}), boost::test_tools::per_element());
  BOOST_TEST(kept.folded == 2u); // 2, and 5 of 3
  BOOST_TEST(kept.best == 2u);
  const auto most = h.under(keeping(1), goal::maximize);
  BOOST_TEST(most.gone == ids({1, 2, 3, 5, 6}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_boundary_is_failures_next_to_what_works_and_the_slowest) {
  history h;
  h.add(pair_of(1, 1), measured(1));
  h.add(pair_of(2, 1), measured(2));
  h.add(pair_of(2, 5), measured(8));
  h.add(pair_of(3, 1), failed(failure_kind::build_error)); // next to 1 and 2
  h.add(pair_of(2, 6), failed(failure_kind::build_error)); // next to 2 and 3
  h.add(pair_of(9, 5), failed(failure_kind::build_error)); // next to 3, the slow one
  h.add(pair_of(7, 7), failed(failure_kind::build_error)); // next to nothing
  h.add(pair_of(4, 4), stopped(50));
  auto kept = h.under(keeping(1, 1));
  BOOST_TEST(kept.gone == ids({2, 3, 5, 6, 7}), boost::test_tools::per_element());
  BOOST_TEST(kept.boundary == 2u);
  kept = h.under(keeping(1, 2));
  BOOST_TEST(kept.gone == ids({2, 6, 7}), boost::test_tools::per_element());
  kept = h.under(keeping(0, 10));
  BOOST_TEST(kept.gone == ids({7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_sample_of_the_rest_stays_the_same_however_often) {
  history h;
  for (std::int64_t n = 0; n < 500; ++n) h.add(pair_of(n, n), measured(1.0 + static_cast<double>(n)));
  const auto kept = h.under(keeping(10, 0, 50));
  BOOST_TEST(kept.gone.size() == 440u);
  BOOST_TEST(kept.best == 10u);
  BOOST_TEST(kept.reservoir == 50u);
  history thinned;
  std::size_t high = 0;
  for (auto& r : h.all)
    if (!std::binary_search(kept.gone.begin(), kept.gone.end(), r.id)) {
      high += r.id > 250 ? 1 : 0;
      thinned.all.push_back(r);
    }
  BOOST_TEST(high > 10u); // it is no prefix
  BOOST_TEST(high < 50u);
  BOOST_TEST(thinned.under(keeping(10, 0, 50)).gone.empty());
  BOOST_TEST(thinned.under(keeping(10, 0, 49)).gone.size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_newer_stays_whatever_it_is) {
  history h;
  h.add(pair_of(1, 1), at(measured(1), 0));
  h.add(pair_of(2, 1), at(measured(2), 10));
  h.add(pair_of(1, 1), at(measured(3), 20));
  h.add(pair_of(1, 1), at(failed(failure_kind::device_lost), 30));
  retention how;
  how.newer_than = std::chrono::seconds(begun + 20);
  const auto kept = h.under(how);
  BOOST_TEST(kept.gone == ids({1, 2}), boost::test_tools::per_element());
  BOOST_TEST(kept.newer == 2u);
  BOOST_TEST(kept.folded == 1u);
  how.keep_best = 1; // 2 is the best: 1 was measured again, and is 3 now
  BOOST_TEST(h.under(how).gone == ids({1}), boost::test_tools::per_element());
  BOOST_TEST(h.under({}).gone.size() == 4u);
}

BOOST_AUTO_TEST_CASE(no_record_at_all_is_no_trouble) {
  BOOST_TEST(history().under(keeping(3, 3, 3)).gone.empty());
  history h;
  h.add(configuration(), failed(failure_kind::run_error));
  BOOST_TEST(h.under(keeping(0, 5)).gone.size() == 1u); // the only one, next to nothing
}

BOOST_AUTO_TEST_CASE(the_store_fits_together_after_any_forgetting) {
  const std::uint64_t seed = 17;
  BOOST_TEST_MESSAGE("seed " << seed);
  random_engine random(seed);
  const scratch_folder scratch;
  const auto a = make(), b = make({.device = "B", .direction = goal::maximize});
  std::uint64_t written = 0;
  for (int round = 0; round < 12; ++round) {
    const auto s = open(scratch.store());
    for (int group = 0; group < 10; ++group) {
      std::vector<record_item> items;
      for (int k = 0; k < 8; ++k) {
        const auto n = static_cast<std::int64_t>(random.below(60));
        const auto o = random.chance(0.2)   ? failed(failure_kind::run_error)
                       : random.chance(0.1) ? failed(failure_kind::internal)
                       : random.chance(0.1) ? stopped(random.uniform())
                                            : measured(random.uniform());
        items.push_back(item(ask(random.chance(0.5) ? a : b, n), at(o, round)));
      }
      append_records(*s, items);
      written += items.size();
    }
    auto how = keeping(random.below(3) * 5, random.below(3) * 3, random.below(3) * 10);
    if (random.chance(0.5)) how.newer_than = std::chrono::seconds(begun + round);
    const std::vector<digest> which{(random.chance(0.5) ? a : b)->identity.task_key};
    const auto before = s->statistics()->records;
    const auto ahead = s->forget(which, how, true);
    BOOST_REQUIRE(ahead.ok());
    BOOST_TEST(s->statistics()->records == before);
    const auto done = s->forget(which, how, false);
    BOOST_REQUIRE(done.ok());
    BOOST_REQUIRE_EQUAL(done->size(), 1u);
    BOOST_TEST((*done)[0].records == (*ahead)[0].records);
    BOOST_TEST((*done)[0].kept == (*ahead)[0].kept);
    BOOST_TEST(s->statistics()->records + (*done)[0].records == before);
    expect_clean(*s);
    // The same again finds nothing more to do.
    BOOST_TEST((*s->forget(which, how, false))[0].records == 0u);
    BOOST_TEST(s->newest() == written);
    for (const auto& t : {a, b}) {
      std::map<key128, double> newest;
      BOOST_REQUIRE(s->records_of(t->identity.task_key, [&](const record& r) {
                       if (!conclusive(r.result)) return true;
                       newest.erase(r.key);
                       if (const auto* m = r.result.measured()) newest[r.key] = m->value;
                       return true;
                     }).ok());
      std::vector<double> expected;
      for (const auto& [key, v] : newest) expected.push_back(v);
      std::sort(expected.begin(), expected.end());
      if (t == b) std::reverse(expected.begin(), expected.end());
      if (expected.size() > 16) expected.resize(16);
      std::vector<double> told;
      const auto best = s->best(t->identity.task_key, 16);
      for (const auto& r : *best) told.push_back(r.result.measured()->value);
      BOOST_TEST(told == expected, boost::test_tools::per_element());
    }
  }
  expect_clean(*open(scratch.store(), {.read_only = true}));
}

BOOST_AUTO_TEST_CASE(what_is_forgotten_is_no_hit_and_its_number_is_not_given_again) {
  const scratch_folder scratch;
  const auto t = make(), other = make({.size = 64});
  {
    const auto s = open(scratch.store());
    append_records(*s, {item(ask(t, 1), measured(1)), item(ask(other, 2), measured(2)), item(ask(t, 3), measured(3))});
    const auto done = s->forget(std::vector{t->identity.task_key}, {}, false);
    BOOST_REQUIRE(done.ok());
    BOOST_TEST((*done)[0].cache_entries == 2u);
    BOOST_TEST(!s->find(1)->has_value());
    BOOST_TEST(!s->find(3)->has_value());
    BOOST_TEST(s->find(2)->has_value());
    BOOST_TEST(s->statistics()->tasks == 1u);
    BOOST_TEST(s->statistics()->cache_entries == 1u);
  }
  const auto s = open(scratch.store());
  BOOST_TEST(s->notices().empty());
  BOOST_TEST(!s->recall(std::vector{ask(t, 1)})[0].entry);
  // A use that is told late does not bring it back.
  s->touch(std::vector<cache_use>{{ask(t, 1)->key, 1}});
  BOOST_TEST(!s->recall(std::vector{ask(t, 1)})[0].entry);
  BOOST_TEST(s->best(t->identity.task_key)->empty());
  std::vector<record_item> again{item(ask(t, 1), measured(1))};
  BOOST_REQUIRE(s->append(again, {}).ok());
  BOOST_TEST(again[0].record == 4u);
  BOOST_TEST(left_in(*s, t) == std::vector<record_id>{4}, boost::test_tools::per_element());
  expect_clean(*s);
}

BOOST_AUTO_TEST_CASE(a_session_goes_with_the_records_that_its_steps_name) {
  const scratch_folder scratch;
  const auto t = make();
  const std::string rests = "0123456789abcdef0123456789abcdef", stands = "another";
  {
    const auto s = open(scratch.store());
    session_entry e;
    for (const auto& id : {rests, stands}) {
      e.id = id;
      BOOST_REQUIRE(s->begin_session(e).ok());
    }
    std::vector<record_item> items{item(ask(t, 1), measured(1)), item(ask(t, 2), measured(2)),
                                   item(ask(t, 3), measured(3))};
    BOOST_REQUIRE(s->append(items, {}).ok());
    append_records(
        *s, {},
        {{rests, items[0].what, items[0].result, 1, false, 1}, {rests, items[2].what, items[2].result, 2, false, 3}});
    append_records(*s, {}, {{stands, items[0].what, items[0].result, 1, true, 1}});
    const std::vector<digest> all{t->identity.task_key};
    BOOST_TEST((*s->forget(all, keeping(1), true))[0].sessions == 1u);
    BOOST_TEST(s->load_session(rests)->has_value());
    BOOST_TEST((*s->forget(all, keeping(1), false))[0].sessions == 1u);
    expect_clean(*s);
  }
  const auto s = open(scratch.store());
  BOOST_TEST(!s->load_session(rests)->has_value());
  BOOST_TEST((*s->load_session(stands))->steps == 1u);
  expect_clean(*s);
}

BOOST_AUTO_TEST_CASE(a_reader_forgets_nothing_and_compaction_gives_space_back) {
  const scratch_folder scratch;
  const auto t = make();
  const std::vector<digest> all{t->identity.task_key};
  const auto s = open(scratch.store());
  random_engine random(1);
  for (std::int64_t n = 0; n < 200; ++n) {
    std::string text(2000, ' ');
    for (auto& c : text) c = static_cast<char>('a' + random.below(26));
    append_records(*s, {item(ask(t, n), failed(failure_kind::build_error, text))});
  }
  const auto reader = open(scratch.store(), {.read_only = true});
  BOOST_TEST(!reader->forget(all, {}, false).ok());
  BOOST_TEST((*reader->forget(all, {}, true))[0].records == 200u);
  BOOST_TEST(!reader->compact().ok());
  BOOST_REQUIRE(s->compact().ok());
  const auto full = s->statistics()->bytes;
  BOOST_TEST((*s->forget(all, keeping(0, 0, 10), false))[0].records == 190u);
  BOOST_REQUIRE(s->compact().ok());
  BOOST_TEST(s->statistics()->bytes + 200'000 < full);
  expect_clean(*s);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(backup_of_a_store)

BOOST_AUTO_TEST_CASE(a_backup_of_a_store_in_use_is_a_store_as_it_was) {
  const scratch_folder scratch;
  const auto t = make();
  const auto owner = open(scratch.store());
  std::vector<record_item> items;
  for (std::int64_t n = 0; n < 50; ++n) items.push_back(item(ask(t, n), measured(1.0 + static_cast<double>(n))));
  BOOST_REQUIRE(owner->append(items, {}).ok());
  owner->touch(std::vector<cache_use>{{ask(t, 3)->key}});
  const auto reader = open(scratch.store(), {.read_only = true});
  append_records(*owner, {item(ask(t, 100), measured(0.5))});
  // By the owner, which writes on; by a reader beside it, as it was when it was opened.
  BOOST_REQUIRE(owner->backup(scratch.path() + "/by/owner").ok());
  BOOST_REQUIRE(reader->backup(scratch.path() + "/reader/").ok());
  append_records(*owner, {item(ask(t, 101), measured(0.25))});
  for (const auto* how : {"/by/owner", "/reader"}) {
    const bool by_owner = std::string(how) == "/by/owner";
    const auto copy = open(scratch.path() + how);
    BOOST_TEST(copy->notices().empty());
    BOOST_TEST(copy->statistics()->records == (by_owner ? 51u : 50u));
    BOOST_TEST((*copy->best(t->identity.task_key))[0].result.measured()->value == (by_owner ? 0.5 : 1.0));
    expect_clean(*copy);
    // Uses that are told there are newer than all that came along.
    copy->touch(std::vector<cache_use>{{ask(t, 7)->key}});
    std::string newest;
    BOOST_REQUIRE(copy->visit_cache([&](const cached& c) {
                        newest = c.canonical;
                        return true;
                      })
                      .ok());
    BOOST_TEST(newest == ask(t, 7)->canonical);
    std::vector<record_item> more{item(ask(t, 200), measured(9))};
    BOOST_REQUIRE(copy->append(more, {}).ok());
    BOOST_TEST(more[0].record == (by_owner ? 52u : 51u));
    expect_clean(*copy);
  }
  BOOST_TEST(owner->statistics()->records == 52u);
  expect_clean(*owner);
}

BOOST_AUTO_TEST_CASE(a_backup_takes_nobodys_place) {
  const scratch_folder scratch;
  const auto s = open(scratch.store());
  append_records(*s, {item(ask(make(), 1), measured(1))});
  const auto taken = scratch.path() + "/taken";
  std::filesystem::create_directory(taken);
  BOOST_TEST(s->backup(taken).ok());
  const auto again = s->backup(taken);
  BOOST_REQUIRE(!again.ok());
  BOOST_TEST(again.err().message.find(taken) != std::string::npos);
  BOOST_TEST(!s->backup("/proc/nothing/here").ok());
  expect_clean(*open(taken));
}

BOOST_AUTO_TEST_SUITE_END()
