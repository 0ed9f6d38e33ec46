#include "storage/cache.hpp"
#include "storage/store_port.hpp"
#include "tests/storage/samples.hpp"

#include <boost/test/unit_test.hpp>

#include <unordered_map>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::samples;

namespace {

outcome_ptr value_of(double v) {
  outcome o;
  measurement m;
  m.value = v;
  m.samples = {v};
  o.data = m;
  return std::make_shared<const outcome>(std::move(o));
}

std::vector<record_item> items(const task_ptr& of, std::int64_t from, std::int64_t to) {
  std::vector<record_item> out;
  for (auto n = from; n < to; ++n) {
    record_item r;
    r.what = ask(of, n);
    r.result = value_of(static_cast<double>(n));
    r.session = "s";
    out.push_back(r);
  }
  return out;
}

std::uint64_t count_of(const store& s) {
  const auto got = s.statistics();
  BOOST_REQUIRE(got.ok());
  return got->records;
}

std::vector<record_id> numbers(const std::vector<record_item>& all) {
  std::vector<record_id> out;
  for (const auto& r : all) out.push_back(r.record);
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(store_shared_appends)

BOOST_AUTO_TEST_CASE(an_append_that_is_sent_again_is_written_once_and_gets_its_numbers) {
  const scratch_folder scratch;
  const auto of = make();
  append_origin from{key128{{1, 2, 3}}, 1, 1};
  auto first = items(of, 0, 3);
  std::vector<step_item> steps{{"s", first[0].what, first[0].result, 1, false, 0}};
  {
    auto s = *store::open(scratch.store(), {});
    auto own = items(of, 100, 101);
    BOOST_REQUIRE(s->append(own, {}).ok());
    BOOST_REQUIRE(s->append(first, steps, &from).ok());
    BOOST_TEST(numbers(first) == (std::vector<record_id>{2, 3, 4}), boost::test_tools::per_element());
  }
  // By another owner, and with more behind it.
  auto s = *store::open(scratch.store(), {});
  auto again = items(of, 0, 5);
  steps.push_back({"s", first[1].what, first[1].result, 2, false, 0});
  BOOST_REQUIRE(s->append(again, steps, &from).ok());
  BOOST_TEST(numbers(again) == (std::vector<record_id>{2, 3, 4, 5, 6}), boost::test_tools::per_element());
  BOOST_TEST(count_of(*s) == 6u);
  std::vector<trial_number> told;
  BOOST_REQUIRE(s->session_steps("s", [&](const session_step& x) { told.push_back(x.number); }).ok());
  BOOST_TEST(told == (std::vector<trial_number>{0, 1}), boost::test_tools::per_element());
  // What is wholly known writes nothing.
  from.first_record = 4;
  from.first_step = 3;
  auto last = items(of, 3, 5);
  BOOST_REQUIRE(s->append(last, {}, &from).ok());
  BOOST_TEST(numbers(last) == (std::vector<record_id>{5, 6}), boost::test_tools::per_element());
  BOOST_TEST(count_of(*s) == 6u);
  const auto v = s->verify();
  BOOST_REQUIRE(v.ok());
  BOOST_TEST(v->ok());
}

BOOST_AUTO_TEST_CASE(a_sender_is_not_taken_for_another) {
  const scratch_folder scratch;
  const auto of = make();
  auto s = *store::open(scratch.store(), {});
  for (std::uint8_t who = 1; who <= 3; ++who) {
    const append_origin from{key128{{who}}, 1, 1};
    auto some = items(of, who * 10, who * 10 + 2);
    BOOST_REQUIRE(s->append(some, {}, &from).ok());
  }
  BOOST_TEST(count_of(*s) == 6u);
  // Those with the newest records are kept, and a forgotten one begins anew.
  BOOST_REQUIRE(s->trim_senders(2).ok());
  BOOST_REQUIRE(s->forget_sender(key128{{3}}).ok());
  const auto goes_again = [&](std::uint8_t who) {
    const auto before = count_of(*s);
    const append_origin from{key128{{who}}, 1, 1};
    auto some = items(of, who * 10, who * 10 + 2);
    BOOST_REQUIRE(s->append(some, {}, &from).ok());
    return count_of(*s) - before;
  };
  BOOST_TEST(goes_again(2) == 0u);
  BOOST_TEST(goes_again(1) == 2u);
  BOOST_TEST(goes_again(3) == 2u);
}

BOOST_AUTO_TEST_CASE(the_cache_is_asked_for_one_key) {
  const scratch_folder scratch;
  const auto of = make();
  auto s = *store::open(scratch.store(), {});
  auto some = items(of, 0, 2);
  some[1].cacheable = false;
  BOOST_REQUIRE(s->append(some, {}).ok());
  const auto found = s->cached_record(some[0].what->key);
  BOOST_REQUIRE(found.ok());
  BOOST_REQUIRE(found->has_value());
  BOOST_TEST((*found)->id == some[0].record);
  BOOST_TEST(bool((*found)->config == some[0].what->config));
  const auto none = s->cached_record(some[1].what->key);
  BOOST_REQUIRE(none.ok());
  BOOST_TEST(!none->has_value());
}

BOOST_AUTO_TEST_CASE(an_exclusive_port_refuses_a_second_one) {
  const scratch_folder scratch;
  const auto first = open_exclusive(scratch.store());
  BOOST_REQUIRE(first.ok());
  BOOST_TEST((*first)->claim(*ask(make(), 1), false, std::chrono::seconds(1)));
  const auto second = open_exclusive(scratch.store());
  BOOST_REQUIRE(!second.ok());
  BOOST_TEST(bool(second.err().code == errc::store_busy));
}

BOOST_AUTO_TEST_SUITE_END()
