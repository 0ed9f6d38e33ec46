// What the cache asks other processes before it measures, and what it makes of their answers.
#include "testing/boost_test.hpp"

using namespace attune;
using namespace attune::actors;
using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

/// The other processes, played by the test.
struct others {
  boost_world& g;
  std::vector<std::pair<key128, bool>> asked; ///< with `anew`
  std::vector<key128> released;
  bool at_once = false;

  explicit others(boost_world& with) : g(with) {
    claim_desk desk;
    desk.claim = [this](const trial& t, bool anew) {
      asked.emplace_back(t.key, anew);
      return at_once;
    };
    desk.release = [this](const key128& k) { released.push_back(k); };
    caf::anon_send(g.cache, atom::wire::value, std::move(desk));
    g.drain();
  }
  void grant(const key128& k) { say({k, nullptr, 0}); }
  void tell(const key128& k, outcome o, storage::record_id record) {
    say({k, std::make_shared<const outcome>(std::move(o)), record});
  }
  void say(storage::claim_answer a) {
    caf::anon_send(g.cache, atom::claim::value, claim_batch{{std::move(a)}});
    g.drain();
  }
};

outcome with_value(double v) {
  outcome o;
  measurement m;
  m.value = v;
  m.samples = {v};
  o.data = m;
  return o;
}

scheduler_options one_at_a_time() {
  scheduler_options o;
  o.dispatcher.admission = {1, 1};
  o.in_flight = 1;
  return o;
}

tuner_options trials(std::uint64_t n) {
  tuner_options o;
  o.trials = n;
  return o;
}

} // namespace

BOOST_AUTO_TEST_SUITE(claims)

BOOST_AUTO_TEST_CASE(nothing_is_measured_before_its_claim_is_granted_nor_kept_after_its_end) {
  boost_world g({.scheduling = one_at_a_time()});
  others o(g);
  auto slot = g.add_runner();
  auto t = g.begin(trials(1));
  BOOST_REQUIRE(o.asked.size() == 1u);
  BOOST_TEST(!o.asked[0].second);
  BOOST_TEST(slot->orders == 0);
  o.grant(o.asked[0].first);
  BOOST_TEST(slot->orders == 1);
  BOOST_TEST(o.released.empty());
  g.answer(slot, measured(3));
  BOOST_TEST(g.report(t)->counts.measured == 1u);
  BOOST_REQUIRE(o.released.size() == 1u);
  BOOST_TEST(o.released[0].hex() == o.asked[0].first.hex());
}

BOOST_AUTO_TEST_CASE(what_another_process_measured_is_as_from_the_cache_and_refers_to_its_record) {
  boost_world g({.scheduling = one_at_a_time()});
  others o(g);
  auto slot = g.add_runner();
  auto t = g.begin(trials(1));
  o.tell(o.asked.at(0).first, with_value(2.5), 77);
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.cached == 1u);
  BOOST_TEST(report->best->result->measured()->value == 2.5);
  BOOST_TEST(slot->orders == 0);
  BOOST_TEST(g.store.records.empty());
  BOOST_REQUIRE(g.store.steps.size() == 1u);
  BOOST_TEST(g.store.steps[0].record == 77u);
  // It is known from now on, and nobody is asked.
  auto again = g.begin(trials(1));
  BOOST_TEST(g.report(again)->counts.cached == 1u);
  BOOST_TEST(o.asked.size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_none_is_asked_for_anew) {
  boost_world g({.scheduling = one_at_a_time()});
  others o(g);
  auto slot = g.add_runner();
  auto t = g.begin(trials(1));
  outcome stopped;
  stopped.data = bound{3, 1, {}}; // at least 3: no answer for who has no best yet
  o.tell(o.asked.at(0).first, stopped, 5);
  BOOST_REQUIRE(o.asked.size() == 2u);
  BOOST_TEST(o.asked[1].second);
  o.grant(o.asked[1].first);
  g.answer(slot, measured(4));
  BOOST_TEST(g.report(t)->best->result->measured()->value == 4.0);
}

BOOST_AUTO_TEST_CASE(a_session_that_is_called_back_waits_for_no_other_process) {
  boost_world g({.scheduling = one_at_a_time()});
  others o(g);
  auto slot = g.add_runner();
  auto t = g.begin(trials(3));
  caf::anon_send(t, atom::cancel::value);
  g.drain();
  const auto report = g.report(t);
  BOOST_REQUIRE(report);
  BOOST_CHECK(report->reason == search::stop_reason::interrupted);
  BOOST_REQUIRE(o.released.size() == 1u);
  // The grant was on its way: it is given back.
  o.grant(o.asked.at(0).first);
  BOOST_TEST(o.released.size() == 2u);
  BOOST_TEST(slot->orders == 0);
}

BOOST_AUTO_TEST_CASE(of_two_sessions_that_wait_the_other_goes_on) {
  auto options = one_at_a_time();
  options.in_flight = 2;
  boost_world g({.scheduling = options});
  others o(g);
  auto slot = g.add_runner();
  auto a = g.begin(trials(1)), b = g.begin(trials(1));
  BOOST_TEST(o.asked.size() == 1u);
  caf::anon_send(a, atom::cancel::value);
  g.drain();
  BOOST_CHECK(g.report(a)->reason == search::stop_reason::interrupted);
  BOOST_TEST(o.released.empty());
  o.grant(o.asked.at(0).first);
  BOOST_TEST(slot->orders == 1);
  g.answer(slot, measured(1));
  BOOST_TEST(g.report(b)->counts.measured == 1u);
  BOOST_TEST(o.released.size() == 1u);
}

BOOST_AUTO_TEST_CASE(to_measure_anew_is_said_and_granted_at_once_where_nobody_else_is) {
  boost_world g({.scheduling = one_at_a_time()});
  others o(g);
  o.at_once = true;
  auto slot = g.add_runner();
  slot->answer = [](const run_order& order) { return measured(x_of(*order.what) + 1); };
  auto options = trials(4);
  options.fresh = true;
  const auto report = g.report(g.begin(options));
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.measured == 4u);
  BOOST_TEST(o.asked.size() == 4u);
  for (const auto& [key, anew] : o.asked) BOOST_TEST(anew);
  BOOST_TEST(o.released.size() == 4u);
}

BOOST_AUTO_TEST_SUITE_END()
