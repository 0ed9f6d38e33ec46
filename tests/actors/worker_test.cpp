#include "actors/error.hpp"
#include "actors/worker.hpp"
#include "testing/boost_test.hpp"

using namespace attune;
using namespace attune::actors;
using namespace attune::testing;

namespace {

/// A way to run that the test answers for: at once, or when it calls `late`.
struct by_hand final : measure::runner {
  bool at_once = false;
  int runs = 0, cancels = 0;
  callback late;
  void run(trial_ptr, measure::artifact_ptr, callback done) override {
    ++runs;
    if (at_once)
      done({measurement{1, 0, {1}, 0, {}}, {}, {}, {}});
    else
      late = std::move(done);
  }
  void cancel() override {
    ++cancels;
    if (late) std::exchange(late, nullptr)({failure{failure_kind::cancelled, "", {}, {}}, {}, {}, {}});
  }
};

struct fixture : boost_world {
  std::shared_ptr<by_hand> how = std::make_shared<by_hand>();
  runner_actor who = system.spawn(actors::runner, std::shared_ptr<measure::runner>(how));
  run_order order{std::make_shared<trial>(), nullptr};
  std::vector<std::string> answers;

  void send() {
    system.spawn([this](caf::event_based_actor* self) {
      self->request(who, caf::infinite, atom::run::value, order)
          .then(
              [this](const run_report& r) {
                answers.push_back(r.result->data.index() == 0 ? "measured"
                                                              : to_string(std::get<failure>(r.result->data).kind));
              },
              [this](const caf::error& e) { answers.push_back(e == ec::busy ? "busy" : "error"); });
    });
    drain();
  }
  ~fixture() {
    caf::anon_send_exit(who, caf::exit_reason::kill);
    drain();
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(worker, fixture)

BOOST_AUTO_TEST_CASE(an_answer_at_once_and_a_late_one_are_the_same_to_the_asker) {
  how->at_once = true;
  send();
  how->at_once = false;
  send();
  BOOST_TEST(answers.size() == 1u);
  std::exchange(how->late, nullptr)({measurement{2, 0, {2}, 0, {}}, {}, {}, {}});
  drain();
  BOOST_TEST(answers == (std::vector<std::string>{"measured", "measured"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_order_at_a_time) {
  send();
  send();
  BOOST_TEST(how->runs == 1);
  BOOST_TEST(answers == std::vector<std::string>{"busy"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(cancel_answers_the_order_in_hand_and_the_next_is_taken) {
  send();
  caf::anon_send(who, atom::cancel::value);
  drain();
  BOOST_TEST(how->cancels == 1);
  BOOST_TEST(answers == std::vector<std::string>{"cancelled"}, boost::test_tools::per_element());
  how->at_once = true;
  send();
  BOOST_TEST(answers.back() == "measured");
}

BOOST_AUTO_TEST_SUITE_END()
