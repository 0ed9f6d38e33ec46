// Near-identical reuse: off by default; where on, an estimate is told from a measurement everywhere.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace attune::testing;

namespace {

/// x = 0 … 40, flat but for every seventh, which is the best: what lies between two flat ones need not be measured.
constexpr const char* flat = R"(task: flat
parameters: {x: {range: [0, 40]}}
run: {command: "echo {x} >>runs.log; if [ $(({x} % 7)) = 0 ]; then echo 1; else echo 5; fi"}
search: {strategy: random, trials: 41, seed: 3}
)";

} // namespace

BOOST_AUTO_TEST_SUITE(near_reuse)

BOOST_AUTO_TEST_CASE(it_is_off_unless_it_is_asked_for) {
  const scenario s;
  s.write("s.yaml", flat);
  const auto e = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  BOOST_TEST(e.document()["trials"]["estimated"] == 0);
  BOOST_TEST(s.lines("runs.log").size() == 41u);
}

BOOST_AUTO_TEST_CASE(an_estimate_is_labelled_everywhere_and_stored_nowhere_as_a_measurement) {
  const scenario s;
  s.write("s.yaml", flat);
  const auto e = s.tune("s.yaml", {"--reuse", "near"});
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  const auto trials = e.document()["trials"];
  const auto estimated = trials["estimated"].get<std::size_t>(), measured = trials["measured"].get<std::size_t>();
  BOOST_TEST(estimated >= 2u, e.told());
  BOOST_TEST(trials["proposed"] == 41);
  BOOST_TEST(measured + estimated == 41u);
  BOOST_TEST(s.lines("runs.log").size() == measured);
  BOOST_TEST(e.document()["best"]["config"]["x"].get<int>() % 7 == 0);
  BOOST_TEST(e.document()["cache"]["misses"]["new"] == 41);

  const auto history = s.attune({"history", "s.yaml", "--json"}).document();
  BOOST_TEST(history["records"].size() == measured);
  BOOST_REQUIRE(history["estimates"].size() == estimated);
  for (const auto& guess : history["estimates"]) {
    BOOST_TEST(guess["value"].is_null());
    BOOST_TEST(guess["estimate"] == 5.0);
    BOOST_TEST(guess["between"].size() == 2u);
    for (const auto& r : history["records"]) BOOST_TEST(r["config"] != guess["config"]);
  }
  const auto text = s.attune({"history", "s.yaml"});
  BOOST_TEST(text.out.find("not measured          an estimate: 5") != std::string::npos, text.told());

  BOOST_TEST(s.attune({"db", "stats", "--json"}).document()["records"] == measured);
  BOOST_REQUIRE(s.attune({"db", "export", "all.jsonl", "--format", "attune"}).exit == 0);
  const auto lines = s.lines("all.jsonl");
  BOOST_TEST(std::count_if(lines.begin(), lines.end(), [](const std::string& l) {
               return l.find("\"value\"") != std::string::npos;
             }) == static_cast<std::ptrdiff_t>(measured));
  const auto verified = s.attune({"db", "verify"});
  BOOST_TEST(verified.exit == 0, verified.told());

  // The same command again has nothing to do, and says the same.
  const auto again = s.tune("s.yaml", {"--reuse", "near"});
  BOOST_TEST(again.document()["trials"]["measured"] == 0, again.told());
  BOOST_TEST(again.document()["trials"]["estimated"] == estimated, again.told());
  BOOST_TEST(s.lines("runs.log").size() == measured);
  // And without the option what was estimated is measured, and only that.
  const auto exact = s.tune("s.yaml");
  BOOST_TEST(exact.document()["trials"]["measured"] == estimated, exact.told());
  BOOST_TEST(exact.document()["trials"]["cached"] == measured, exact.told());
  BOOST_TEST(s.lines("runs.log").size() == 41u);
}

BOOST_AUTO_TEST_CASE(a_spec_may_ask_for_it_and_the_command_line_has_the_last_word) {
  const scenario s;
  std::string asks = flat;
  asks.replace(asks.find("seed: 3"), 7, "seed: 3, reuse: near");
  s.write("s.yaml", asks);
  const auto dry = s.attune({"tune", "s.yaml", "--dry-run", "--json"}).document();
  BOOST_TEST(dry["tasks"][0]["reuse"] == "near");
  const auto e = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  const auto estimated = e.document()["trials"]["estimated"].get<std::size_t>();
  BOOST_TEST(estimated >= 2u, e.told());
  BOOST_TEST(s.lines("runs.log").size() == 41u - estimated);
  BOOST_TEST(dry["tasks"][0]["session"] == e.document()["session"]);
  const auto exact = s.tune("s.yaml", {"--reuse", "exact"});
  BOOST_TEST(exact.document()["trials"]["measured"] == estimated, exact.told());
  BOOST_TEST(exact.document()["trials"]["estimated"] == 0, exact.told());
}

BOOST_AUTO_TEST_CASE(a_word_that_it_does_not_know_is_refused) {
  const scenario s;
  s.write("s.yaml", std::string(flat).replace(std::string(flat).find("seed: 3"), 7, "reuse: nearby"));
  BOOST_TEST(s.attune({"tune", "s.yaml"}).exit == 2);
  s.write("s.yaml", flat);
  const auto e = s.attune({"tune", "s.yaml", "--reuse", "nearly"});
  BOOST_TEST(e.exit == 2, e.told());
  BOOST_TEST(!s.store_exists());
}

BOOST_AUTO_TEST_SUITE_END()
