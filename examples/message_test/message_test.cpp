// A test of messages, as a program writes its own: the graph of actors as it is, on virtual time, with places that do
// what a script says. It takes no time, and comes out the same every time.
#define BOOST_TEST_MODULE message_test
#include <attune/testing/boost_test.hpp>
#include <attune/testing/ledger.hpp>

using namespace attune;
using namespace attune::actors;
using namespace attune::testing;

namespace {

double cost(const configuration& c) { return 1 + c.find("x")->to_double(); }

} // namespace

BOOST_AUTO_TEST_CASE(a_runner_that_dies_costs_one_retry) {
  boost_world w;
  w.add_runner("frail", at<run_order, run_report>(3, dies<fake_runner>(), measures(cost)));
  w.add_runner("sturdy", measures(cost));
  const auto report = w.report(w.begin({.size = 8}));
  BOOST_REQUIRE(report);
  BOOST_TEST(report->counts.measured == 8u);
  w.expect(message<atom::run, run_order>().to("frail"), 3);
  w.expect(message<atom::run, run_order>().to("sturdy"), 6);
}

BOOST_AUTO_TEST_CASE(nothing_is_told_before_the_disk_has_it) {
  boost_world w;
  ledger books(w); // throws at the first message that breaks a rule
  w.add_runner("slot", measures(cost));
  w.store.trouble = error{errc::store_unusable, "no space left", {}};
  const auto tuner = w.begin({.size = 8});
  w.pass(std::chrono::seconds(5));
  BOOST_TEST(w.status_of(tuner).counts.proposed == 0u);
  w.store.trouble.reset();
  w.pass(std::chrono::seconds(5));
  BOOST_TEST(w.report(tuner)->counts.measured == 8u);
  w.expect_in_order({message<atom::append, finished_batch>().to("recorder"),
                     message<atom::fill, finished_batch>().to("cache"),
                     message<atom::done, finished_batch>().to("tuner1")});
}
