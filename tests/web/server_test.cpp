#include "web/feed.hpp"
#include "web/server.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

#include <algorithm>
#include <arpa/inet.h>
#include <httplib.h>
#include <thread>
#include <unistd.h>

using namespace attune;
using namespace attune::web;

namespace server_test_parts {

struct served_fixture {
  std::shared_ptr<feed> views = std::make_shared<feed>(8, 1 << 20), events = std::make_shared<feed>(8, 1 << 20);
  std::unique_ptr<server> http;

  void start(const std::function<void(server_options&)>& change = {}) {
    server_options how;
    how.watchers_most = 3;
    how.beat = std::chrono::milliseconds(50);
    how.write_patience = std::chrono::milliseconds(200);
    if (change) change(how);
    served what;
    what.view = [this](bool) { return std::pair(std::string("{\"n\":1}"), views->last()); };
    what.trial = [](std::uint64_t session, std::uint64_t trial) -> std::optional<std::string> {
      if (session != 1) return std::nullopt;
      return "{\"trial\":" + std::to_string(trial) + "}";
    };
    what.rows = [](std::uint64_t session, std::uint64_t count) -> std::optional<std::string> {
      return session == 1 && count <= 4 ? std::optional(std::string(count, '\0')) : std::nullopt;
    };
    what.store = [] { return std::string("null"); };
    what.metrics = [] { return std::string("attune_x 1\n"); };
    what.view_feed = views;
    what.event_feed = events;
    auto made = server::start(how, what);
    BOOST_REQUIRE_MESSAGE(made.ok(), (made.ok() ? "" : made.err().text()));
    http = std::move(*made);
  }
  httplib::Client client() const {
    httplib::Client c("127.0.0.1", http->port());
    c.set_read_timeout(20);
    return c;
  }
  int status(const std::string& path, const httplib::Headers& headers = {}) const {
    auto c = client();
    const auto r = c.Get(path.c_str(), headers);
    return r ? r->status : 0;
  }
  /// Follows a stream until `enough` says so, or it ends.
  std::string follow(const std::string& path, const std::function<bool(const std::string&)>& enough) const {
    auto c = client();
    std::string got;
    c.Get(path.c_str(), [&](const char* data, std::size_t n) {
      got.append(data, n);
      return !enough(got);
    });
    return got;
  }
};

bool holds(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

} // namespace server_test_parts
using namespace server_test_parts;

BOOST_FIXTURE_TEST_SUITE(web_server, served_fixture)

BOOST_AUTO_TEST_CASE(it_serves_the_page_and_the_data) {
  start();
  auto c = client();
  const auto page = c.Get("/");
  BOOST_REQUIRE(page);
  BOOST_TEST(page->status == 200);
  BOOST_TEST(holds(page->body, "<script type=\"module\" src=\"app.js\">"));
  BOOST_TEST(c.Get("/app.js")->get_header_value("Content-Type") == "text/javascript; charset=utf-8");
  BOOST_TEST(c.Get("/app.css")->status == 200);
  const auto view = nlohmann::json::parse(c.Get("/api/view")->body);
  BOOST_TEST(view["view"]["n"] == 1);
  BOOST_TEST(view["seq"] == 0);
  BOOST_TEST(c.Get("/api/trial?session=1&trial=12")->body == "{\"trial\":12}");
  BOOST_TEST(status("/api/trial?session=2&trial=12") == 404);
  for (const auto* bad : {"/api/trial", "/api/trial?session=1", "/api/trial?session=1&trial=-1",
                          "/api/trial?session=1&trial=1x", "/api/trial?session=1&trial=99999999999999999999"})
    BOOST_TEST(status(bad) == 400, bad);
  BOOST_TEST(c.Get("/metrics")->body == "attune_x 1\n");
  for (const auto* none : {"/index.html", "/../etc/passwd", "/%2e%2e/etc/passwd", "/app/main.js", "/api"})
    BOOST_TEST(status(none) == 404, none);
}

BOOST_AUTO_TEST_CASE(columns_are_bytes_and_a_hub_alone_has_a_fleet) {
  start();
  auto c = client();
  const auto bytes = c.Get("/api/rows?session=1&count=3");
  BOOST_REQUIRE((bytes && bytes->status == 200));
  BOOST_TEST(bytes->body == std::string(3, '\0'));
  BOOST_TEST(bytes->get_header_value("Content-Type") == "application/octet-stream");
  BOOST_TEST(status("/api/rows?session=1&count=5") == 404);
  BOOST_TEST(status("/api/rows?session=2&count=1") == 404);
  BOOST_TEST(status("/api/rows?session=1") == 400);
  const auto fleet = c.Get("/api/fleet");
  BOOST_REQUIRE((fleet && fleet->status == 200));
  BOOST_TEST(fleet->body == "null");
}

BOOST_AUTO_TEST_CASE(every_answer_keeps_the_page_from_being_framed_or_scripted_from_elsewhere) {
  start();
  auto c = client();
  for (const auto* path : {"/", "/app.js", "/api/view", "/metrics", "/nothing"}) {
    const auto r = c.Get(path);
    BOOST_REQUIRE(r);
    const auto policy = r->get_header_value("Content-Security-Policy");
    BOOST_TEST(holds(policy, "default-src 'self'"), path);
    BOOST_TEST(holds(policy, "frame-ancestors 'none'"), path);
    BOOST_TEST(!holds(policy, "unsafe"), path);
    BOOST_TEST(r->get_header_value("X-Content-Type-Options") == "nosniff", path);
    BOOST_TEST(!r->has_header("Access-Control-Allow-Origin"), path);
  }
}

BOOST_AUTO_TEST_CASE(nothing_can_be_changed) {
  start();
  auto c = client();
  for (const auto& r : {c.Post("/", "x", "text/plain"), c.Put("/api/view", "x", "text/plain"), c.Delete("/api/view"),
                        c.Patch("/", "x", "text/plain"), c.Options("/")}) {
    BOOST_REQUIRE(r);
    BOOST_TEST(r->status == 405);
  }
  BOOST_TEST(c.Head("/")->status == 200);
}

BOOST_AUTO_TEST_CASE(a_foreign_name_or_page_is_refused) {
  start();
  const auto own = "127.0.0.1:" + std::to_string(http->port());
  BOOST_TEST(status("/api/view", {{"Host", own}}) == 200);
  BOOST_TEST(status("/api/view", {{"Host", "localhost"}}) == 200);
  BOOST_TEST(status("/api/view", {{"Host", "evil.com"}}) == 421);
  BOOST_TEST(status("/", {{"Host", "evil.com:" + std::to_string(http->port())}}) == 421);
  BOOST_TEST(status("/api/view", {{"Host", own}, {"Origin", "http://" + own}}) == 200);
  BOOST_TEST(status("/api/view", {{"Host", own}, {"Origin", "http://evil.com"}}) == 403);
  BOOST_TEST(status("/api/view", {{"Host", own}, {"Sec-Fetch-Site", "cross-site"}}) == 403);
  // A link from elsewhere may lead here.
  BOOST_TEST(status("/", {{"Host", own}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}}) == 200);
}

BOOST_AUTO_TEST_CASE(with_a_token_nothing_is_told_without_it) {
  start([](server_options& o) { o.token = "0123456789abcdef"; });
  for (const auto* path : {"/", "/app.js", "/api/view", "/api/live", "/api/events", "/api/store", "/metrics",
                           "/?token=wrong", "/?token=", "/?token=0123456789abcde"})
    BOOST_TEST(status(path) == 401, path);
  auto c = client();
  const auto in = c.Get("/?token=0123456789abcdef");
  BOOST_REQUIRE(in);
  BOOST_TEST(in->status == 303);
  BOOST_TEST(in->get_header_value("Location") == "/");
  const auto cookie = in->get_header_value("Set-Cookie");
  BOOST_TEST(holds(cookie, "HttpOnly"));
  BOOST_TEST(holds(cookie, "SameSite=Strict"));
  BOOST_TEST(status("/api/view", {{"Cookie", cookie.substr(0, cookie.find(';'))}}) == 200);
  BOOST_TEST(status("/metrics", {{"Authorization", "Bearer 0123456789abcdef"}}) == 200);
  BOOST_TEST(status("/metrics", {{"Authorization", "Bearer 0123456789abcdee"}}) == 401);
  BOOST_TEST(http->url().ends_with("/?token=0123456789abcdef"));
}

BOOST_AUTO_TEST_CASE(where_others_reach_it_there_must_be_a_token) {
  server_options how;
  how.at.host = "0.0.0.0";
  const auto refused = server::start(how, {});
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST(bool(refused.err().code == errc::invalid_spec));
}

BOOST_AUTO_TEST_CASE(a_taken_port_is_an_error) {
  start();
  server_options how;
  how.at.port = http->port();
  const auto refused = server::start(how, {});
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST(bool(refused.err().code == errc::io));
}

BOOST_AUTO_TEST_CASE(a_stream_tells_what_comes_and_beats_where_nothing_does) {
  start();
  views->add("{\"a\":1}");
  std::atomic<bool> beaten{false};
  std::jthread later([&] {
    while (!beaten) std::this_thread::yield();
    views->add("{\"a\":2}");
  });
  const auto got = follow("/api/live?after=0", [&](const std::string& text) {
    beaten = beaten || holds(text, ": here\n\n");
    return holds(text, "{\"a\":2}");
  });
  beaten = true;
  BOOST_TEST(got.find("data: {\"a\":1}\n\n") < got.find(": here"));
  BOOST_TEST(holds(got, "-1\ndata: {\"a\":1}\n\n"));
  BOOST_TEST(holds(got, "-2\ndata: {\"a\":2}\n\n"));
}

BOOST_AUTO_TEST_CASE(a_place_of_another_life_or_too_far_back_is_told_to_begin_anew) {
  start();
  for (int i = 0; i < 20; ++i) views->add("{}");
  const auto ended = [](const std::string&) { return false; };
  BOOST_TEST(holds(follow("/api/live?after=1", ended), "event: reset"));
  BOOST_TEST(holds(follow("/api/live?boot=other&after=19", ended), "event: reset"));
  BOOST_TEST(holds(follow("/api/live?after=99", ended), "event: reset"));
  auto c = client();
  std::string got;
  c.Get("/api/live", {{"Last-Event-ID", "other-19"}}, [&](const char* data, std::size_t n) {
    got.append(data, n);
    return true;
  });
  BOOST_TEST(holds(got, "event: reset"));
}

BOOST_AUTO_TEST_CASE(watchers_are_bounded) {
  start();
  std::vector<std::jthread> all;
  std::atomic<bool> over{false};
  for (int i = 0; i < 3; ++i)
    all.emplace_back([&] { follow("/api/live", [&](const std::string&) { return over.load(); }); });
  while (http->watchers() < 3) std::this_thread::yield();
  BOOST_TEST(status("/api/live") == 503);
  BOOST_TEST(status("/api/events") == 503);
  BOOST_TEST(status("/api/view") == 200);
  over = true;
  all.clear();
  while (http->watchers() > 0) views->add("{}");
  over = true;
  BOOST_TEST(!follow("/api/live?after=" + std::to_string(views->last() - 1), [](const std::string& t) {
                return !t.empty();
              }).empty());
}

BOOST_AUTO_TEST_CASE(a_watcher_that_does_not_read_is_dropped_and_costs_nobody_else_anything) {
  start();
  const int slow = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  BOOST_REQUIRE(slow >= 0);
  const int small = 4096;
  ::setsockopt(slow, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(http->port());
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  BOOST_REQUIRE(::connect(slow, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  const std::string request = "GET /api/live?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  BOOST_REQUIRE(::send(slow, request.data(), request.size(), 0) == static_cast<ssize_t>(request.size()));
  // It is greeted; from here on it reads nothing.
  std::string greeting;
  for (char c = 0; greeting.find("retry:") == std::string::npos && ::recv(slow, &c, 1, 0) == 1;) greeting += c;
  BOOST_REQUIRE(http->watchers() == 1u);
  // Far more than the kernel keeps for it; what is kept here stays bounded by the feed.
  while (http->watchers() > 0) {
    views->add(std::string(200'000, 'x'));
    std::this_thread::yield();
  }
  BOOST_TEST(http->dropped() == 1u);
  BOOST_TEST(views->after(views->last() - 1, nanoseconds(0)).texts.size() == 1u);
  ::close(slow);
  BOOST_TEST(status("/api/view") == 200);
}

BOOST_AUTO_TEST_CASE(its_end_ends_the_streams) {
  start();
  std::string got;
  std::jthread watcher([&] { got = follow("/api/live?after=0", [](const std::string&) { return false; }); });
  while (http->watchers() < 1) std::this_thread::yield();
  http.reset();
  watcher.join();
  BOOST_TEST(!holds(got, "reset"));
}

BOOST_AUTO_TEST_SUITE_END()
