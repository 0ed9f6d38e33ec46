#include "tests/web/samples.hpp"
#include "web/metrics.hpp"
#include "web/model.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <sstream>

using namespace attune;
using namespace attune::web;
using namespace attune::web::samples;

namespace {

/// The values by name with labels.
std::map<std::string, std::string> values_of(const std::string& text) {
  std::map<std::string, std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    const auto space = line.rfind(' ');
    out[line.substr(0, space)] = line.substr(space + 1);
  }
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(metrics)

BOOST_AUTO_TEST_CASE(they_say_what_the_model_has_counted) {
  const auto of = make();
  model shown(nanoseconds(0), nanoseconds(0));
  for (const auto& e : whole_way(trial_of(of, 0), ms(0), measured(2))) shown.take(e);
  for (const auto& e : whole_way(trial_of(of, 1), ms(100), failed(failure_kind::build_error))) shown.take(e);
  shown.take(make_event(event_kind::proposed, trial_of(of, 2), ms(200)));
  const auto text = metrics_text(shown, {3, 1});
  auto v = values_of(text);
  BOOST_TEST(v[R"(attune_trials_total{task="gemm",result="measured"})"] == "1");
  BOOST_TEST(v[R"(attune_trials_total{task="gemm",result="build_error"})"] == "1");
  BOOST_TEST(v[R"(attune_best{task="gemm",unit="s"})"] == "2");
  BOOST_TEST(v[R"(attune_trials_in_stage{stage="cache"})"] == "1");
  BOOST_TEST(v[R"(attune_stage_duration_seconds_count{stage="build"})"] == "2");
  BOOST_TEST(v[R"(attune_stage_duration_seconds_bucket{stage="build",le="0.01"})"] == "2");
  BOOST_TEST(v[R"(attune_stage_duration_seconds_bucket{stage="build",le="+Inf"})"] == "2");
  BOOST_TEST(v[R"(attune_places{state="idle"})"] == "2");
  BOOST_TEST(v["attune_watchers"] == "3");
  BOOST_TEST(v["attune_watchers_dropped_total"] == "1");
  BOOST_TEST(text.find("# TYPE attune_stage_duration_seconds histogram") != std::string::npos);
  BOOST_TEST(text.find("# TYPE attune_trials_total counter") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(names_follow_the_rules) {
  model shown(nanoseconds(0), nanoseconds(0));
  for (const auto& e : whole_way(trial_of(make({.name = "a\"b\nc"}), 0), ms(0), measured(2))) shown.take(e);
  std::istringstream in(metrics_text(shown, {}));
  std::map<std::string, std::string> types;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("# TYPE ")) continue;
    const auto space = line.rfind(' ');
    types[line.substr(7, space - 7)] = line.substr(space + 1);
  }
  BOOST_TEST(types.size() > 10u);
  for (const auto& [name, type] : types) {
    BOOST_TEST(name.starts_with("attune_"), name);
    BOOST_TEST(name.ends_with("_total") == (type == "counter"), name);
  }
  BOOST_TEST(metrics_text(shown, {}).find(R"(task="a\"b\nc")") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(sessions_of_a_task_are_one_series) {
  model shown(nanoseconds(0), nanoseconds(0));
  for (actors::session_number s = 1; s <= 5; ++s)
    for (const auto& e : whole_way(trial_of(make(), 0, s), ms(0), measured(static_cast<double>(s)))) shown.take(e);
  auto v = values_of(metrics_text(shown, {}));
  BOOST_TEST(v[R"(attune_trials_total{task="gemm",result="measured"})"] == "5");
  BOOST_TEST(v[R"(attune_best{task="gemm",unit="s"})"] == "1");
}

BOOST_AUTO_TEST_SUITE_END()
