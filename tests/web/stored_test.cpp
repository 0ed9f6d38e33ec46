#include "storage/store.hpp"
#include "tests/web/samples.hpp"
#include "web/stored.hpp"
#include "web/trace.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include <map>
#include <sstream>

using namespace attune;
using namespace attune::web;
using namespace attune::web::samples;
using nlohmann::json;

namespace stored_test_parts {

constexpr auto begun = std::chrono::seconds(1'800'000'000);

/// A store with one session: trial 0 measured at 1 s, 1 failed, 2 from the cache, 3 measured while 0's successor ran.
struct stored_fixture {
  scratch_folder scratch;
  task_ptr of = make();
  std::unique_ptr<storage::store> store = open(scratch.store());
  storage::session_entry session;

  static outcome_ptr at(outcome_ptr o, std::int64_t after_ms, const char* place = "local/slot0") {
    auto out = std::make_shared<outcome>(*o);
    out->at = begun + ms(after_ms);
    out->runner = place;
    out->phases = {ms(100), ms(200), ms(300), nanoseconds(0), ms(10)};
    return out;
  }
  stored_fixture() {
    session.id = "beef0123456789abcdef0123456789ab";
    session.task_name = "gemm";
    session.strategy = "random";
    session.seed = 4;
    session.budget = 4;
    session.started = begun;
    BOOST_REQUIRE(store->begin_session(session).ok());
    std::vector<storage::record_item> items{
        item(ask(of, 0), at(measured(3), 1000), session.id),
        item(ask(of, 1), at(failed(failure_kind::run_error, "boom"), 1500), session.id),
        item(ask(of, 3), at(measured(2), 1600, "local/slot1"), session.id)};
    BOOST_REQUIRE(store->append(items, {}).ok());
    std::vector<storage::step_item> steps{step_of(items[0], 1),
                                          step_of(items[1], 2),
                                          {session.id, ask(of, 2), at(measured(9), -5000), 3, true, 0},
                                          step_of(items[2], 4)};
    BOOST_REQUIRE(store->append({}, steps).ok());
    session = **store->load_session(session.id);
  }
};

} // namespace stored_test_parts
using namespace stored_test_parts;

BOOST_FIXTURE_TEST_SUITE(stored_sessions, stored_fixture)

BOOST_AUTO_TEST_CASE(a_session_is_found_by_the_beginning_of_its_id_or_by_its_task) {
  for (const auto* word : {"beef", "beef0123456789abcdef0123456789ab", "gemm"}) {
    const auto found = find_sessions(*store, word);
    BOOST_REQUIRE_MESSAGE(found.ok(), word);
    BOOST_TEST(found->size() == 1u);
  }
  for (const auto* word : {"bee", "feed", "gem", ""}) {
    const auto found = find_sessions(*store, word);
    BOOST_REQUIRE_MESSAGE(!found.ok(), word);
    BOOST_TEST(bool(found.err().code == errc::not_found));
  }
}

BOOST_AUTO_TEST_CASE(its_trials_are_shown_as_they_were_told) {
  model shown(nanoseconds(0), begun);
  BOOST_REQUIRE(add_stored(shown, 5, *store, session).ok());
  const auto& s = shown.sessions().at(5);
  BOOST_TEST(s.proposed == 4u);
  BOOST_TEST(s.cached == 1u);
  BOOST_TEST(*s.best == 2.0);
  BOOST_TEST(s.head.metric == "time");
  BOOST_TEST(s.head.strategy == "random");
  BOOST_TEST(s.ended);
  const std::vector<float> at{1.0F, 1.5F, 1.5F, 1.6F}; // the answer from the cache came with those around it
  BOOST_TEST(s.rows.at_s == at, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(lives_are_those_of_all_or_of_the_best_and_the_first_failures) {
  const auto all = json::parse("{" + *stored_lives(*store, 5, session, 100) + "}");
  BOOST_TEST(all.size() == 4u);
  BOOST_TEST(all["5/1"]["result"]["message"] == "boom");
  BOOST_TEST(all["5/2"]["cached"] == true);
  const auto few = json::parse("{" + *stored_lives(*store, 5, session, 2) + "}");
  BOOST_TEST(few.size() == 1u);
  BOOST_TEST(few.contains("5/3"));
}

BOOST_AUTO_TEST_CASE(a_trace_holds_what_was_measured_at_its_time) {
  std::ostringstream out;
  const auto count = write_trace(out, *store, session);
  BOOST_REQUIRE(count.ok());
  BOOST_TEST(*count == 3u);
  const auto doc = json::parse(out.str());
  std::map<std::string, std::vector<json>> spans;
  for (const auto& e : doc["traceEvents"])
    if (e["ph"] == "X") spans[e["name"].get<std::string>() + " " + e["cat"].get<std::string>()].push_back(e);
  const auto& run = spans["trial 0 run"];
  BOOST_REQUIRE_EQUAL(run.size(), 1u);
  BOOST_TEST(run[0]["ts"] == 690'000.0); // us: it ended at 1000 ms, with 10 ms of cleaning and 300 ms of running
  BOOST_TEST(run[0]["dur"] == 300'000.0);
  BOOST_TEST(run[0]["args"]["config"]["tile"] == 0);
  const auto& build = spans["trial 0 build"];
  BOOST_REQUIRE_EQUAL(build.size(), 1u);
  BOOST_TEST(build[0]["ts"] == 490'000.0);
  BOOST_TEST(build[0]["dur"] == 200'000.0);
  BOOST_TEST(!spans.contains("trial 2 run"));
  // Runs at two places are two rows; builds that overlap too.
  BOOST_TEST(spans["trial 3 run"][0]["tid"] != run[0]["tid"]);
  BOOST_TEST(spans["trial 3 build"][0]["tid"] != spans["trial 1 build"][0]["tid"]);
}

BOOST_AUTO_TEST_SUITE_END()
