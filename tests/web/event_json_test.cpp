#include "tests/web/samples.hpp"
#include "web/event_json.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include <set>

using namespace attune;
using namespace attune::web;
using namespace attune::web::samples;
using nlohmann::json;

BOOST_AUTO_TEST_SUITE(events_as_json)

BOOST_AUTO_TEST_CASE(an_event_of_a_trial_says_whose_it_is_and_what_came_of_it) {
  const auto of = make();
  const auto t = trial_of(of, 7, 3);
  const auto doc = json::parse(event_json(make_event(event_kind::told, t, ms(1500), measured(0.5), "measured")));
  BOOST_TEST(doc["v"] == event_version);
  BOOST_TEST(doc["kind"] == "told");
  BOOST_TEST(doc["at_s"] == 1.5);
  BOOST_TEST(doc["session"] == 3);
  BOOST_TEST(doc["task"] == "gemm");
  BOOST_TEST(doc["trial"] == 7);
  BOOST_TEST(doc["key"] == t->key.hex());
  BOOST_TEST(doc["config"]["tile"] == 7);
  BOOST_TEST(doc["config"]["order"] == json::array({"i", "j", "k"}));
  BOOST_TEST(doc["result"]["value"] == 0.5);
  BOOST_TEST(doc["result"]["phases_s"]["build"] == 0.02);
  BOOST_TEST(doc["text"] == "measured");
  BOOST_TEST(!doc.contains("for"));
}

BOOST_AUTO_TEST_CASE(a_run_beside_the_search_says_what_for) {
  const auto t = trial_of(make(), 1, 1, purpose::reference);
  BOOST_TEST(json::parse(event_json(make_event(event_kind::ran, t, ms(0))))["for"] == "reference");
}

BOOST_AUTO_TEST_CASE(a_bound_is_at_least_or_at_most_by_the_goal) {
  const auto up = make({.direction = goal::maximize});
  const auto least =
      json::parse(event_json(make_event(event_kind::told, trial_of(make(), 1), ms(0), stopped_at_least(2))));
  const auto most = json::parse(event_json(make_event(event_kind::told, trial_of(up, 1), ms(0), stopped_at_least(2))));
  BOOST_TEST(least["result"]["at_least"] == 2.0);
  BOOST_TEST(most["result"]["at_most"] == 2.0);
}

BOOST_AUTO_TEST_CASE(size_is_bounded_whatever_a_tool_wrote) {
  auto o = std::make_shared<outcome>(*failed(failure_kind::build_error, std::string(1'000'000, 'x')));
  o->notes.assign(1000, std::string(10'000, 'n'));
  auto many = std::make_shared<outcome>(*measured(1));
  std::get<measurement>(many->data).samples.assign(100'000, 1.5);
  const auto t = trial_of(make(), 1);
  BOOST_TEST(event_json(make_event(event_kind::told, t, ms(0), o, std::string(1'000'000, 't'))).size() < 16'000u);
  const auto doc = json::parse(event_json(make_event(event_kind::told, t, ms(0), many)));
  BOOST_TEST(doc["result"]["samples"].size() == event_samples_most);
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_text_and_cuts_inside_a_character_leave_json) {
  const auto t = trial_of(make(), 1);
  const auto bad = event_json(make_event(event_kind::retried, t, ms(0), nullptr, "a\xff\xfe\nb\"c"));
  BOOST_TEST(json::parse(bad)["text"].get<std::string>().starts_with("a"));
  BOOST_TEST(bad.find('\n') == std::string::npos);
  std::string umlauts;
  for (int i = 0; i < 1500; ++i) umlauts += "\xc3\xa4"; // two bytes each, cut at an even and at an odd place
  for (const std::size_t at : {1000u, 1001u}) {
    const auto cut = shortened(umlauts, at);
    BOOST_TEST(cut == umlauts.substr(0, 1000) + "…");
  }
}

BOOST_AUTO_TEST_CASE(a_log_line_begins_with_time_and_level) {
  const auto line = event_log_line(make_event(event_kind::place_stuck, nullptr, ms(5), nullptr, "local/slot0"),
                                   std::chrono::seconds(1'800'000'000));
  BOOST_TEST(line.starts_with(R"({"time":"2027-01-15T08:00:00Z","level":"warning","event":"place_stuck")"));
  BOOST_TEST(json::parse(line)["text"] == "local/slot0");
}

BOOST_AUTO_TEST_CASE(every_kind_has_a_name_and_a_level) {
  std::set<std::string> names;
  for (int k = 0; k <= static_cast<int>(event_kind::finals); ++k) {
    event e;
    e.kind = static_cast<event_kind>(k);
    names.insert(json::parse(event_json(e))["kind"]);
    BOOST_TEST(to_string(level_of(e)) != nullptr);
  }
  BOOST_TEST(names.size() == static_cast<std::size_t>(event_kind::finals) + 1);
  BOOST_TEST(!names.contains("unknown"));
}

BOOST_AUTO_TEST_SUITE_END()
