#include "tests/web/samples.hpp"
#include "web/model.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <limits>

using namespace attune;
using namespace attune::web;
using namespace attune::web::samples;
using nlohmann::json;

namespace model_test_parts {

struct fixture {
  task_ptr of = make();
  model shown{nanoseconds(0), std::chrono::seconds(1'800'000'000)};
  model_cursor cursor;

  void take(const std::vector<event>& all) {
    for (const auto& e : all) shown.take(e);
  }
  json whole(nanoseconds now = ms(1000)) const {
    model_cursor fresh;
    return json::parse(shown.json(fresh, now));
  }
  json news() { return json::parse(shown.json(cursor, ms(1000))); }
  const model::stage_view& at(stage s) const { return shown.stages()[static_cast<std::size_t>(s)]; }
};

} // namespace model_test_parts
using namespace model_test_parts;

BOOST_FIXTURE_TEST_SUITE(view_of_a_search, fixture)

BOOST_AUTO_TEST_CASE(a_trial_is_in_one_stage_at_a_time_and_leaves_each_with_its_time) {
  const auto t = trial_of(of, 0);
  const auto result = std::make_shared<outcome>(*measured(2));
  result->phases.clean = ms(3);
  const auto steps = whole_way(t, ms(0), result);
  const stage where[] = {stage::cache, stage::queue, stage::build, stage::queue,
                         stage::run,   stage::store, stage::store};
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    shown.take(steps[i]);
    for (std::size_t s = 0; s < stage_count; ++s)
      BOOST_TEST(shown.stages()[s].in == (static_cast<stage>(s) == where[i] ? 1u : 0u), "step " << i << " stage " << s);
  }
  shown.take(steps.back());
  for (const auto& s : shown.stages()) BOOST_TEST(s.in == 0u);
  BOOST_TEST(at(stage::queue).left == 2u);
  BOOST_TEST(at(stage::build).left == 1u);
  BOOST_TEST(at(stage::build).took.sum_s() == 0.01, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(at(stage::store).took.sum_s() == 0.02, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(at(stage::told).took.sum_s() == 0.07, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(at(stage::clean).took.sum_s() == 0.003, boost::test_tools::tolerance(1e-9));
  for (const auto s : {stage::propose, stage::clean, stage::told}) BOOST_TEST(at(s).entered == 1u, to_string(s));
}

BOOST_AUTO_TEST_CASE(an_upload_stands_between_the_build_and_the_run) {
  const auto t = trial_of(of, 0);
  shown.take(make_event(event_kind::proposed, t, ms(0)));
  shown.take(make_event(event_kind::queued, t, ms(10)));
  shown.take(make_event(event_kind::run_started, t, ms(20), nullptr, "board1/slot0"));
  shown.take(make_event(event_kind::upload_started, t, ms(25), nullptr, "board1"));
  BOOST_TEST(at(stage::upload).in == 1u);
  BOOST_TEST(at(stage::run).in == 0u);
  shown.take(make_event(event_kind::uploaded, t, ms(65), nullptr, "board1"));
  BOOST_TEST(at(stage::upload).in == 0u);
  BOOST_TEST(at(stage::run).in == 1u);
  BOOST_TEST(at(stage::upload).took.sum_s() == 0.04, boost::test_tools::tolerance(1e-9));
  shown.take(make_event(event_kind::ran, t, ms(70)));
  BOOST_TEST(at(stage::store).in == 1u);
  const auto stages = whole()["stages"];
  BOOST_TEST(stages[5]["name"] == "upload");
  BOOST_TEST(stages[5]["left"] == 1);
}

BOOST_AUTO_TEST_CASE(what_a_model_expected_stands_beside_what_was_measured) {
  for (int i = 0; i < 3; ++i) {
    auto way = whole_way(trial_of(of, i), ms(100 * i), measured(2));
    if (i > 0) way.front().expected = search::foreseen{1.5, i == 1};
    take(way);
  }
  const auto rows = whole()["sessions"][0]["rows"];
  BOOST_TEST((rows["m"] == json{nullptr, 1.5, 1.5}));
  BOOST_TEST((rows["x"] == json{0, 1, 2}));
}

BOOST_AUTO_TEST_CASE(trials_apart_are_the_same_as_those_inside) {
  for (int i = 0; i < 5; ++i)
    take(whole_way(trial_of(of, i), ms(100 * i), i == 2 ? failed(failure_kind::run_error) : measured(9 - i)));
  model_cursor here;
  const auto heads = json::parse(shown.json(here, ms(1000), model::row_form::apart));
  BOOST_TEST(heads["sessions"][0]["count"] == 5);
  BOOST_TEST(!heads["sessions"][0].contains("rows"));
  BOOST_TEST((heads["sessions"][0]["values"] == whole()["sessions"][0]["values"]));
  const auto bytes = shown.rows(1, 5);
  BOOST_REQUIRE(bytes.has_value());
  const std::size_t parameters = shown.sessions().at(1).names.size();
  BOOST_TEST(bytes->size() == 5 * (8 * 2 + 4 * 8 + 2 * (1 + parameters) + 3));
  double value = 0;
  std::memcpy(&value, bytes->data() + 8, sizeof value);
  BOOST_TEST(value == 8.0);
  std::memcpy(&value, bytes->data() + 16, sizeof value);
  BOOST_TEST(std::isnan(value));
  BOOST_TEST(!shown.rows(1, 6).has_value());
  BOOST_TEST(!shown.rows(2, 0).has_value());
  // What comes later follows on.
  take(whole_way(trial_of(of, 5), ms(600), measured(1)));
  const auto news = json::parse(shown.json(here, ms(1100)));
  BOOST_TEST(news["sessions"][0]["from"] == 5);
}

BOOST_AUTO_TEST_CASE(the_best_is_the_best_measured_for_the_goal_and_never_a_bound_or_a_failure) {
  take(whole_way(trial_of(of, 0), ms(0), measured(2)));
  take(whole_way(trial_of(of, 1), ms(100), stopped_at_least(0.5)));
  take(whole_way(trial_of(of, 2), ms(200), failed(failure_kind::run_error)));
  take(whole_way(trial_of(of, 3), ms(300), measured(1)));
  take(whole_way(trial_of(of, 4), ms(400), measured(3)));
  const auto& s = shown.sessions().at(1);
  BOOST_TEST(*s.best == 1.0);
  BOOST_TEST(bool(s.best_config == config(3)));
  BOOST_TEST(s.endings[ending_of(*measured(1))] == 3u);
  BOOST_TEST(s.endings[ending_of(*failed(failure_kind::run_error))] == 1u);

  const auto larger = make({.name = "throughput", .direction = goal::maximize});
  take(whole_way(trial_of(larger, 0, 2), ms(500), measured(2)));
  take(whole_way(trial_of(larger, 1, 2), ms(600), measured(1)));
  BOOST_TEST(*shown.sessions().at(2).best == 2.0);
}

BOOST_AUTO_TEST_CASE(what_is_told_twice_counts_once) {
  const auto t = trial_of(of, 0);
  take(whole_way(t, ms(0), measured(2)));
  shown.take(make_event(event_kind::told, t, ms(80), measured(1), "measured"));
  const auto& s = shown.sessions().at(1);
  BOOST_TEST(s.proposed == 1u);
  BOOST_TEST(*s.best == 2.0);
}

BOOST_AUTO_TEST_CASE(hits_go_past_the_queue) {
  const auto t = trial_of(of, 0);
  shown.take(make_event(event_kind::proposed, t, ms(0)));
  shown.take(make_event(event_kind::cache_hit, t, ms(1), measured(2)));
  shown.take(make_event(event_kind::told, t, ms(2), measured(2), "cache"));
  BOOST_TEST(shown.hits() == 1u);
  BOOST_TEST(shown.misses() == 0u);
  BOOST_TEST(at(stage::cache).left == 1u);
  BOOST_TEST(at(stage::queue).entered == 0u);
  BOOST_TEST(at(stage::told).entered == 1u);
  const auto doc = whole();
  BOOST_TEST(doc["sessions"][0]["rows"]["c"][0] == 1);
  BOOST_TEST(doc["sessions"][0]["head"]["cached"] == 1);
}

BOOST_AUTO_TEST_CASE(a_delta_holds_what_is_new_and_together_they_are_the_whole) {
  json sum;
  std::vector<json> values;
  for (int i = 0; i < 6; ++i) {
    take(whole_way(trial_of(of, i), ms(100 * i), i == 2 ? failed(failure_kind::build_error) : measured(9 - i)));
    const auto doc = news();
    BOOST_TEST(doc["full"] == (i == 0));
    BOOST_REQUIRE_EQUAL(doc["sessions"].size(), 1u);
    const auto& s = doc["sessions"][0];
    BOOST_TEST(s["from"] == i);
    BOOST_TEST(s["rows"]["n"] == json::array({i}));
    BOOST_TEST(s.contains("names") == (i == 0));
    if (i == 0)
      values.assign(s["values"].begin(), s["values"].end());
    else if (s.contains("values"))
      for (std::size_t p = 0; p < values.size(); ++p)
        values[p].insert(values[p].end(), s["values"][p].begin(), s["values"][p].end());
    for (const auto& [name, column] : s["rows"].items())
      if (name != "p") {
        if (!sum.contains(name)) sum[name] = json::array();
        sum[name].insert(sum[name].end(), column.begin(), column.end());
      }
  }
  const auto all = whole()["sessions"][0];
  BOOST_TEST(json(values) == all["values"]);
  for (const auto& [name, column] : sum.items()) BOOST_TEST(column == all["rows"][name], name);
  // Nothing new: no session.
  BOOST_TEST(news()["sessions"].empty());
}

BOOST_AUTO_TEST_CASE(rows_give_their_configurations_back) {
  for (int i = 0; i < 7; ++i) take(whole_way(trial_of(of, i), ms(100 * i), measured(i + 1)));
  const auto s = whole()["sessions"][0];
  for (int i = 0; i < 7; ++i)
    for (std::size_t p = 0; p < s["names"].size(); ++p) {
      const auto& v = s["values"][p][s["rows"]["p"][p][static_cast<std::size_t>(i)].get<std::size_t>()];
      if (s["names"][p] == "tile") BOOST_TEST(v == i);
      if (s["names"][p] == "pad") BOOST_TEST(v == (i % 5 == 0 ? json(nullptr) : json(4)));
      if (s["names"][p] == "order") BOOST_TEST(v == json::array({"i", "j", "k"}));
    }
}

BOOST_AUTO_TEST_CASE(numbers_that_json_cannot_hold_are_null) {
  auto odd = std::make_shared<outcome>(*measured(1));
  odd->around.drift = std::numeric_limits<double>::quiet_NaN();
  take(whole_way(trial_of(of, 0), ms(0), odd));
  take(whole_way(trial_of(of, 1), ms(100), failed(failure_kind::run_timeout)));
  const auto rows = whole()["sessions"][0]["rows"];
  BOOST_TEST(rows["d"] == json::array({nullptr, nullptr}));
  BOOST_TEST(rows["v"] == json::array({1.0, nullptr}));
}

BOOST_AUTO_TEST_CASE(places_say_what_they_do_and_how_long_they_did) {
  const auto t = trial_of(of, 0);
  const auto steps = whole_way(t, ms(0), measured(2));
  for (std::size_t i = 0; i < 5; ++i) shown.take(steps[i]);
  BOOST_REQUIRE_EQUAL(shown.places().size(), 2u);
  BOOST_TEST(shown.places()[1].name == "local/slot0");
  BOOST_TEST(bool(shown.places()[1].doing == place_view::work::run));
  BOOST_TEST(bool(shown.places()[0].doing == place_view::work::idle));
  for (std::size_t i = 5; i < steps.size(); ++i) shown.take(steps[i]);
  BOOST_TEST(bool(shown.places()[1].doing == place_view::work::idle));
  BOOST_TEST(shown.places()[1].runs == 1u);
  BOOST_TEST(shown.places()[1].busy_s == 0.01, boost::test_tools::tolerance(1e-9));
  const auto spans = whole()["spans"];
  BOOST_TEST(spans == json::parse("[[0,0,0,1,0,0.02,0.03],[1,1,0,1,0,0.04,0.05]]"));
}

BOOST_AUTO_TEST_CASE(runs_beside_the_search_are_seen_at_their_place_alone) {
  take(whole_way(trial_of(of, 0), ms(0), measured(2)));
  const auto again = trial_of(of, 0, 1, purpose::reference);
  const auto before = at(stage::run).entered;
  shown.take(make_event(event_kind::queued, again, ms(100)));
  shown.take(make_event(event_kind::run_started, again, ms(110), nullptr, "local/slot0"));
  shown.take(make_event(event_kind::ran, again, ms(130)));
  BOOST_TEST(at(stage::run).entered == before);
  BOOST_TEST(at(stage::queue).in == 0u);
  BOOST_TEST(shown.misses() == 1u);
  BOOST_TEST(shown.places()[1].runs == 2u);
  BOOST_TEST(shown.sessions().at(1).proposed == 1u);
}

BOOST_AUTO_TEST_CASE(what_a_session_had_in_hand_goes_with_it) {
  shown.take(make_event(event_kind::proposed, trial_of(of, 0), ms(0)));
  shown.take(make_event(event_kind::proposed, trial_of(of, 0, 2), ms(0)));
  event end;
  end.kind = event_kind::session_ended;
  end.session = 1;
  end.text = "interrupted";
  shown.take(end);
  BOOST_TEST(at(stage::cache).in == 1u);
  BOOST_TEST(shown.sessions().at(1).ended);
  BOOST_TEST(shown.sessions().at(1).reason == "interrupted");
  BOOST_TEST(!shown.sessions().at(2).ended);
}

BOOST_AUTO_TEST_CASE(an_amendment_replaces_a_value_and_the_best_with_it) {
  take(whole_way(trial_of(of, 0), ms(0), measured(1)));
  take(whole_way(trial_of(of, 1), ms(100), measured(2)));
  news();
  shown.amend(1, 0, config(0), *measured(3));
  BOOST_TEST(*shown.sessions().at(1).best == 2.0);
  BOOST_TEST(whole()["sessions"][0]["head"]["best_config"]["tile"] == 1);
  BOOST_TEST(news()["sessions"][0]["amended"] == json::parse("[[0,3]]"));
}

BOOST_AUTO_TEST_CASE(memory_is_bounded_and_what_is_left_out_is_said) {
  model_options few;
  few.rows_most = 10;
  few.lives_most = 4;
  few.decisions_most = 3;
  few.spans_most = 5;
  few.sessions_most = 1;
  model small(nanoseconds(0), nanoseconds(0), few);
  for (int i = 0; i < 50; ++i)
    for (const auto& e : whole_way(trial_of(of, i), ms(100 * i), measured(i == 40 ? 0.5 : 10.0 + i))) small.take(e);
  for (int i = 0; i < 9; ++i)
    small.take(make_event(event_kind::decided, nullptr, ms(i), nullptr, "d" + std::to_string(i)));
  small.take(make_event(event_kind::told, trial_of(of, 0, 7), ms(1), measured(1), "measured"));
  const auto& s = small.sessions().at(1);
  BOOST_TEST(small.sessions().size() == 1u);
  // An improvement is kept whatever there is.
  BOOST_TEST(s.rows.size() == 11u);
  BOOST_TEST(s.proposed == 50u);
  BOOST_TEST(s.left_out == 39u);
  BOOST_TEST(*s.best == 0.5);
  BOOST_TEST(small.decisions().size() == 3u);
  std::optional<key128> key;
  BOOST_TEST(small.life_json(1, 49, key).has_value());
  BOOST_TEST(!small.life_json(1, 3, key).has_value());
  BOOST_REQUIRE(key.has_value());
  BOOST_TEST(bool(*key == trial_of(of, 3)->key));
  model_cursor fresh;
  const auto doc = json::parse(small.json(fresh, ms(0)));
  BOOST_TEST(doc["spans"].size() == 5u);
  BOOST_TEST(doc["decisions"][0]["text"] == "d6");
  BOOST_TEST(doc["sessions"][0]["head"]["left_out"] == 39);
}

BOOST_AUTO_TEST_CASE(a_life_has_every_step_with_its_time) {
  take(whole_way(trial_of(of, 5), ms(0), measured(2)));
  std::optional<key128> key;
  const auto life = shown.life_json(1, 5, key);
  BOOST_REQUIRE(life.has_value());
  const auto doc = json::parse(*life);
  BOOST_TEST(doc["steps"].size() == 8u);
  BOOST_TEST(doc["steps"][4]["kind"] == "run_started");
  BOOST_TEST(doc["steps"][4]["text"] == "local/slot0");
  BOOST_TEST(doc["steps"][4]["at_s"] == 0.04);
  BOOST_TEST(doc["result"]["samples"].size() == 3u);
  BOOST_TEST(doc["config"]["tile"] == 5);
}

BOOST_AUTO_TEST_CASE(a_parameter_of_very_many_values_does_not_overflow_its_column) {
  const auto list = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"x"});
  shown.add_session(1, head_of(*of, nanoseconds(0)));
  const auto result = measured(1);
  for (std::int64_t i = 0; i < 66'000; ++i)
    shown.add_trial(1, static_cast<trial_number>(i), configuration(list, {value(i)}), {}, *result, false,
                    nanoseconds(0));
  const auto& s = shown.sessions().at(1);
  BOOST_TEST(s.rows.size() == 66'000u);
  BOOST_TEST(s.values[0].size() == 65'001u);
  BOOST_TEST(s.rows.parameters[0].back() == 65'000u);
  BOOST_TEST(s.rows.parameters[0][17] == 17u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(figures)

BOOST_AUTO_TEST_CASE(quantiles_lie_in_the_bucket_that_holds_them) {
  latency_histogram h;
  for (int i = 0; i < 90; ++i) h.add(ms(3));
  for (int i = 0; i < 10; ++i) h.add(ms(300));
  BOOST_TEST(h.count() == 100u);
  BOOST_TEST(h.quantile_s(0.5) > 0.0025);
  BOOST_TEST(h.quantile_s(0.5) <= 0.005);
  BOOST_TEST(h.quantile_s(0.95) > 0.25);
  BOOST_TEST(h.quantile_s(0.95) <= 0.5);
  h.add(std::chrono::hours(5));
  BOOST_TEST(h.buckets().back() == 1u);
  BOOST_TEST(latency_histogram{}.quantile_s(0.5) == 0.0);
}

BOOST_AUTO_TEST_CASE(a_bound_belongs_to_its_own_bucket) {
  latency_histogram h;
  h.add(ms(1));
  BOOST_TEST(h.buckets()[3] == 1u); // le 0.001
}

BOOST_AUTO_TEST_CASE(a_rate_is_of_whole_seconds_lately) {
  recent_rate r;
  for (int i = 0; i < 200; ++i) r.add(ms(100 * i)); // ten a second, for 20 s
  BOOST_TEST(r.per_second(ms(20'000)) == 10.0);
  BOOST_TEST(r.per_second(ms(25'000)) == 5.0);
  BOOST_TEST(r.per_second(ms(60'000)) == 0.0);
}

BOOST_AUTO_TEST_SUITE_END()
