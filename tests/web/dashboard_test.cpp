#include "storage/store.hpp"
#include "tests/web/samples.hpp"
#include "web/dashboard.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include <cstring>
#include <httplib.h>
#include <thread>

using namespace attune;
using namespace attune::web;
using namespace attune::web::samples;
using nlohmann::json;

namespace {

std::unique_ptr<dashboard> begin(store_reader read = {}) {
  dashboard_options how;
  how.every = std::chrono::milliseconds(1);
  auto made = dashboard::start(how, std::move(read));
  BOOST_REQUIRE_MESSAGE(made.ok(), (made.ok() ? "" : made.err().text()));
  return std::move(*made);
}

json get(const dashboard& from, const std::string& path) {
  httplib::Client c("127.0.0.1", from.port());
  const auto r = c.Get(path.c_str());
  return r && r->status == 200 ? json::parse(r->body) : json(nullptr);
}

/// The view, when it holds so many trials of a session.
json view_with(const dashboard& from, std::size_t trials) {
  for (;;) {
    auto doc = get(from, "/api/view");
    const auto& all = doc["view"]["sessions"];
    if (!all.empty() && all[0].contains("rows") && all[0]["rows"]["n"].size() >= trials) return doc;
    std::this_thread::yield();
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(dashboards)

BOOST_AUTO_TEST_CASE(events_become_the_view_and_those_who_watch_are_told_the_rest) {
  const auto board = begin();
  const auto of = make();
  board->take({whole_way(trial_of(of, 0), ms(0), measured(2))});
  auto doc = view_with(*board, 1);
  BOOST_TEST(doc["view"]["full"] == true);
  httplib::Client c("127.0.0.1", board->port());
  c.set_read_timeout(20);
  const auto path =
      "/api/live?boot=" + doc["boot"].get<std::string>() + "&after=" + std::to_string(doc["seq"].get<int>());
  std::string got;
  bool sent = false;
  c.Get(path.c_str(), [&](const char* data, std::size_t n) {
    got.append(data, n);
    if (!sent) board->take({whole_way(trial_of(of, 1), ms(100), measured(1))});
    sent = true;
    return got.find("\"from\":1") == std::string::npos || !got.ends_with("\n\n");
  });
  const auto at = got.find("data: ");
  BOOST_REQUIRE(at != std::string::npos);
  const auto news = json::parse(got.substr(at + 6, got.find('\n', at) - at - 6));
  BOOST_TEST(news["full"] == false);
  BOOST_TEST(news["sessions"][0]["rows"]["n"] == json::array({1}));
  BOOST_TEST(news["sessions"][0]["rows"]["v"] == json::array({1.0}));
  BOOST_TEST(news["sessions"][0]["head"]["best"] == 1.0);
}

BOOST_AUTO_TEST_CASE(trials_may_be_asked_for_apart) {
  const auto board = begin();
  board->take({whole_way(trial_of(make(), 0), ms(0), measured(2))});
  view_with(*board, 1);
  const auto doc = get(*board, "/api/view?rows=apart");
  BOOST_TEST(doc["view"]["sessions"][0]["count"] == 1);
  BOOST_TEST(!doc["view"]["sessions"][0].contains("rows"));
  httplib::Client c("127.0.0.1", board->port());
  const auto rows = c.Get("/api/rows?session=1&count=1");
  BOOST_REQUIRE((rows && rows->status == 200));
  double value = 0;
  std::memcpy(&value, rows->body.data(), sizeof value);
  BOOST_TEST(value == 2.0);
}

BOOST_AUTO_TEST_CASE(who_has_an_older_view_than_the_last_one_asked_for_is_told_to_ask_again) {
  const auto board = begin();
  board->take({whole_way(trial_of(make(), 0), ms(0), measured(2))});
  const auto old = view_with(*board, 1);
  get(*board, "/api/view");
  httplib::Client c("127.0.0.1", board->port());
  const auto path =
      "/api/live?boot=" + old["boot"].get<std::string>() + "&after=" + std::to_string(old["seq"].get<int>());
  std::string got;
  c.Get(path.c_str(), [&](const char* data, std::size_t n) {
    got.append(data, n);
    return got.find("{\"reset\":true}") == std::string::npos;
  });
  BOOST_TEST(got.find("{\"reset\":true}") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_session_that_goes_on_has_its_past_from_the_store) {
  const scratch_folder scratch;
  const auto of = make();
  std::shared_ptr<storage::store> store = open(scratch.store());
  storage::session_entry entry;
  entry.task_name = "gemm";
  entry.strategy = "auto";
  entry.started = std::chrono::seconds(1'799'999'000);
  entry.id = "feed0123456789abcdef0123456789ab";
  BOOST_REQUIRE(store->begin_session(entry).ok());
  std::vector<storage::record_item> items{item(ask(of, 0), measured(3), entry.id),
                                          item(ask(of, 1), measured(2), entry.id)};
  BOOST_REQUIRE(store->append(items, {}).ok());
  std::vector<storage::step_item> steps{step_of(items[0], 1), step_of(items[1], 2)};
  BOOST_REQUIRE(store->append({}, steps).ok());
  const auto board = begin([store] { return store; });
  BOOST_REQUIRE(board->add_stored_sessions(10).ok());
  const auto doc = view_with(*board, 2);
  const auto& s = doc["view"]["sessions"][0];
  BOOST_TEST(s["head"]["id"] == entry.id);
  BOOST_TEST(s["head"]["reason"] == "stored");
  BOOST_TEST(s["head"]["unit"] == "s");
  BOOST_TEST(s["head"]["best"] == 2.0);
  BOOST_TEST(s["rows"]["t"] == json::array({1000.0, 1000.0}));
  // A life that no monitor saw comes from the store.
  const auto life = get(*board, "/api/trial?trial=1&session=" + std::to_string(s["number"].get<std::uint64_t>()));
  BOOST_TEST(life["result"]["samples"].size() == 3u);
  BOOST_TEST(life["config"]["tile"] == 1);
  BOOST_TEST(get(*board, "/api/store")["records"] == 2);
}

BOOST_AUTO_TEST_CASE(raw_events_can_be_followed) {
  const auto board = begin();
  const auto of = make();
  httplib::Client c("127.0.0.1", board->port());
  c.set_read_timeout(20);
  std::string got;
  c.Get("/api/events", [&](const char* data, std::size_t n) {
    got.append(data, n);
    board->take({{make_event(event_kind::proposed, trial_of(of, 3), ms(5))}});
    return got.find("data: {\"v\":1,\"kind\":\"proposed\"") == std::string::npos;
  });
  BOOST_TEST(got.find("\"trial\":3") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_too_much_at_once_is_counted_as_lost) {
  dashboard_options how;
  how.waiting_most = 4;
  auto made = dashboard::start(how, {});
  BOOST_REQUIRE(made.ok());
  std::vector<event> all;
  for (int i = 0; i < 10; ++i)
    all.push_back(make_event(event_kind::told, trial_of(make(), i), ms(i), measured(2), "measured"));
  (*made)->take({all});
  const auto doc = view_with(**made, 4);
  BOOST_TEST(doc["view"]["counts"]["lost"] == 6);
  BOOST_TEST(doc["view"]["sessions"][0]["rows"]["n"] == json({0, 1, 2, 3}));
}

BOOST_AUTO_TEST_SUITE_END()
