// Trainings beside the search: used at a fixed point whoever runs them, and however it ends.
#include "actors/model.hpp"
#include "testing/boost_test.hpp"

#include <algorithm>
#include <cmath>

using namespace attune;
using namespace attune::actors;
using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

/// A model's actor that answers when the test lets it: `internal` delivers the oldest (a promise is its actor's alone).
using slow_model = model_actor::extend<caf::reacts_to<atom::internal>>;
struct trainer {
  std::deque<std::pair<training_ptr, caf::typed_response_promise<caf::ok_atom>>> hand;
  int jobs = 0;
};

struct setting {
  explicit setting(std::uint32_t in_flight = 3) : g({.scheduling = with(in_flight)}) {
    slot = g.add_runner();
    slot->answer = [this](const run_order& o) {
      seen.push_back(o.what->config.text());
      return measured(std::abs(x_of(*o.what) - 131.3) + 1);
    };
  }
  ~setting() {
    caf::anon_send_exit(model, caf::exit_reason::kill);
    g.drain();
    if (beside) beside->hand.clear();
  }
  static scheduler_options with(std::uint32_t in_flight) {
    scheduler_options o;
    o.dispatcher.admission = {1, 1};
    o.in_flight = in_flight;
    return o;
  }
  tuner_options options() const {
    tuner_options o;
    o.size = 400;
    o.trials = 60;
    o.strategy = "model";
    o.seed = 5;
    o.model = model;
    return o;
  }
  void train_by_actor() { model = g.system.spawn(actors::model, false, scheduler_actor()); }
  void train_by_hand() {
    beside = std::make_shared<trainer>();
    slow = g.system.spawn([b = beside](slow_model::pointer self) -> slow_model::behavior_type {
      return {[self, b](atom::train, const training_ptr& job) -> caf::result<caf::ok_atom> {
                ++b->jobs;
                auto promise = self->make_response_promise<caf::ok_atom>();
                b->hand.emplace_back(job, promise);
                return promise;
              },
              [b](atom::internal) {
                auto [job, promise] = std::move(b->hand.front());
                b->hand.pop_front();
                job->run();
                promise.deliver(caf::ok_atom::value);
              }};
    });
    model = slow;
  }
  /// Lets the training in hand run, and its answer go.
  void answer() {
    BOOST_REQUIRE(!beside->hand.empty());
    caf::anon_send(slow, atom::internal::value);
    g.drain();
  }

  boost_world g;
  std::shared_ptr<fake_runner> slot;
  model_actor model;
  slow_model slow;
  std::shared_ptr<trainer> beside;
  std::vector<std::string> seen; ///< what was run, in order
};

/// What is run where the strategy trains by itself.
std::vector<std::string> alone() {
  setting s;
  BOOST_REQUIRE(s.g.report(s.g.begin(s.options())));
  return s.seen;
}

} // namespace

BOOST_AUTO_TEST_SUITE(the_model)

BOOST_AUTO_TEST_CASE(what_is_proposed_does_not_depend_on_who_trains_nor_on_how_long_it_takes) {
  const auto want = alone();
  BOOST_TEST(want.size() == 60u);
  {
    setting s;
    s.train_by_actor();
    BOOST_REQUIRE(s.g.report(s.g.begin(s.options())));
    BOOST_TEST(s.seen == want, boost::test_tools::per_element());
  }
  {
    // Each training takes until everything else has come to rest.
    setting s;
    s.train_by_hand();
    auto t = s.g.begin(s.options());
    int held = 0;
    while (!s.beside->hand.empty()) {
      ++held;
      const auto before = s.g.status_of(t);
      s.answer();
      BOOST_TEST(s.g.status_of(t).counts.proposed >= before.counts.proposed);
    }
    BOOST_TEST(held > 5);
    const auto report = s.g.report(t);
    BOOST_REQUIRE(report);
    BOOST_TEST(report->counts.measured == 60u);
    BOOST_TEST(s.seen == want, boost::test_tools::per_element());
    BOOST_TEST(s.g.store.steps.size() == 60u);
  }
}

BOOST_AUTO_TEST_CASE(while_a_training_is_needed_results_are_kept_and_nothing_is_proposed) {
  setting s;
  s.train_by_hand();
  auto t = s.g.begin(s.options());
  BOOST_REQUIRE(s.beside->hand.size() == 1u);
  // All that was in flight has come back and is durable; what the fixed point allows has been told, the rest waits.
  const auto held = s.g.status_of(t);
  BOOST_TEST(s.g.store.records.size() == s.seen.size());
  BOOST_TEST(held.counts.proposed < s.g.store.records.size());
  BOOST_TEST(held.in_flight == s.g.store.records.size() - held.counts.proposed);
  BOOST_TEST(s.g.store.steps.size() == held.counts.proposed);
  s.g.pass(20s);
  BOOST_TEST(s.g.status_of(t).counts.proposed == held.counts.proposed);
  s.answer();
  BOOST_TEST(s.g.status_of(t).counts.proposed > held.counts.proposed);
}

BOOST_AUTO_TEST_CASE(a_model_that_dies_with_a_training_in_hand_costs_nothing_but_its_help) {
  const auto want = alone();
  for (int after = 0; after < 4; ++after) {
    setting s;
    s.train_by_hand();
    auto t = s.g.begin(s.options());
    for (int k = 0; k < after; ++k) s.answer();
    BOOST_REQUIRE(!s.beside->hand.empty());
    caf::anon_send_exit(s.model, caf::exit_reason::kill);
    s.beside->hand.clear();
    s.g.drain();
    const auto report = s.g.report(t);
    BOOST_REQUIRE(report);
    BOOST_TEST(s.beside->jobs == after + 1); // nobody asks it again
    BOOST_TEST(s.seen == want, boost::test_tools::per_element());
  }
  // Dead from the start.
  setting s;
  s.train_by_actor();
  caf::anon_send_exit(s.model, caf::exit_reason::kill);
  s.g.drain();
  BOOST_REQUIRE(s.g.report(s.g.begin(s.options())));
  BOOST_TEST(s.seen == want, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_model_that_does_not_answer_is_given_up_after_its_limit) {
  const auto want = alone();
  setting s;
  s.train_by_hand();
  auto t = s.g.begin(s.options());
  s.g.pass(50min, 1min);
  BOOST_TEST(!s.g.report(t));
  s.g.pass(20min, 1min);
  BOOST_REQUIRE(s.g.report(t));
  BOOST_TEST(s.seen == want, boost::test_tools::per_element());
  // Its late answer is nobody's business any more.
  s.answer();
}

BOOST_AUTO_TEST_CASE(cancel_while_a_training_is_under_way_ends_at_once_and_loses_no_result) {
  for (int after = 0; after < 4; ++after) {
    setting s;
    s.train_by_hand();
    auto t = s.g.begin(s.options());
    for (int k = 0; k < after; ++k) s.answer();
    const auto known = s.g.store.records.size();
    caf::anon_send(t, atom::cancel::value);
    s.g.drain();
    const auto report = s.g.report(t);
    BOOST_REQUIRE(report);
    BOOST_CHECK(report->reason == search::stop_reason::interrupted);
    BOOST_TEST(report->counts.proposed == known); // also those that the training had held back
    BOOST_TEST(s.g.store.steps.size() == known);
    s.answer();
    const auto status = *s.g.ask<scheduler_status>(s.g.scheduler, atom::status::value);
    BOOST_TEST(status.in_hand == 0u);
    BOOST_TEST(status.clients == 0u);
  }
}

BOOST_AUTO_TEST_CASE(cancel_at_every_step_of_a_search_that_trains_leaves_nothing_behind) {
  for (std::size_t after = 40; after < 400; after += 3) {
    setting s;
    s.train_by_actor();
    auto t = s.g.add_tuner(s.options());
    caf::anon_send(t, atom::begin::value);
    s.g.drain(after);
    caf::anon_send(t, atom::cancel::value);
    s.g.drain();
    const auto report = s.g.report(t);
    BOOST_REQUIRE_MESSAGE(report, "no report when cancelled after " << after << " messages");
    BOOST_TEST(report->counts.proposed == s.g.store.records.size());
    BOOST_TEST(report->counts.proposed == s.g.store.steps.size());
    BOOST_TEST((*s.g.ask<cache_statistics>(s.g.cache, atom::statistic::value)).flights == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_pause_holds_what_a_training_lets_go) {
  setting s;
  s.train_by_hand();
  auto t = s.g.begin(s.options());
  BOOST_REQUIRE(s.g.ask<caf::ok_atom>(t, atom::pause::value).has_value());
  s.answer();
  const auto asked = s.seen.size();
  s.g.pass(1s);
  BOOST_TEST(s.seen.size() == asked);
  BOOST_REQUIRE(s.g.ask<caf::ok_atom>(t, atom::resume::value).has_value());
  BOOST_TEST(s.seen.size() > asked);
}

BOOST_AUTO_TEST_CASE(a_session_played_back_from_its_journal_goes_on_as_if_it_had_never_ended) {
  const auto want = alone();
  for (const std::size_t length : {5u, 10u, 17u, 18u, 19u, 33u, 59u}) BOOST_TEST_CONTEXT("length " << length) {
      std::vector<fake_store::step> past;
      {
        setting s;
        s.train_by_actor();
        const auto answer = s.slot->answer;
        auto runs = std::make_shared<std::size_t>(0);
        s.slot->answer = [=, &s](const run_order& o) {
          if (++*runs == length) s.slot->answer = nullptr; // the next run never ends
          return answer(o);
        };
        s.g.begin(s.options());
        past = s.g.store.steps;
        BOOST_REQUIRE(past.size() == length);
      }
      setting s;
      s.train_by_actor();
      auto o = s.options();
      o.past = past;
      BOOST_REQUIRE(s.g.report(s.g.begin(o)));
      std::vector<std::string> told;
      for (const auto& list : {past, s.g.store.steps})
        for (const auto& step : list) told.push_back(step.what->config.text());
      BOOST_TEST(told == want, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(what_a_strategy_decides_is_an_event) {
  setting s;
  s.train_by_actor();
  std::vector<std::string> decided;
  auto w = s.g.system.spawn([&decided](watcher_actor::pointer) -> watcher_actor::behavior_type {
    return {[&decided](atom::note, const event_batch& b) {
      for (const auto& e : b.items)
        if (e.kind == event_kind::decided) decided.push_back(std::to_string(e.session) + ": " + e.text);
    }};
  });
  BOOST_REQUIRE(s.g.ask<caf::ok_atom>(s.g.watch.to, atom::subscribe::value, w).has_value());
  BOOST_REQUIRE(s.g.report(s.g.begin(s.options())));
  BOOST_REQUIRE(!decided.empty());
  BOOST_TEST(decided.front().find("1: the model is") == 0u, decided.front());
  caf::anon_send_exit(w, caf::exit_reason::kill);
  s.g.drain();
}

BOOST_AUTO_TEST_SUITE_END()
