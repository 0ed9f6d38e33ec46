#include "web/assets.hpp"
#include "web/model.hpp"
#include "web/report.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include <map>
#include <sstream>
#include <zlib.h>

using namespace attune::web;

namespace {

std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const auto a = text.find(from);
  if (a == std::string::npos) return {};
  const auto b = text.find(to, a + from.size());
  return text.substr(a + from.size(), b - a - from.size());
}

} // namespace

BOOST_AUTO_TEST_SUITE(page_and_report)

BOOST_AUTO_TEST_CASE(the_script_is_one_module_whose_top_level_names_differ) {
  std::istringstream in(app_script());
  std::map<std::string, int> names;
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    BOOST_TEST(!line.starts_with("import "), line);
    BOOST_TEST(!line.starts_with("export "), line);
    for (const std::string word : {"function ", "async function ", "class ", "const ", "let "})
      if (line.starts_with(word)) {
        const auto rest = line.substr(word.size());
        if (rest.starts_with('[') || rest.starts_with('{')) continue;
        ++names[rest.substr(
            0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$"))];
      }
  }
  BOOST_TEST(lines > 1000u);
  for (const auto& [name, n] : names) BOOST_TEST(n == 1, name << " stands " << n << " times");
}

BOOST_AUTO_TEST_CASE(the_page_asks_for_nothing_but_its_own_parts) {
  for (const auto name : {"index.html", "app.css"}) {
    const std::string text(asset(name));
    BOOST_TEST(!text.empty());
    BOOST_TEST(text.find("@import") == std::string::npos);
    // The namespace of SVG is a name, not a place.
    for (auto at = text.find("://"); at != std::string::npos; at = text.find("://", at + 1))
      BOOST_TEST(text.substr(at, 13) == "://www.w3.org", text.substr(at, 30));
  }
}

BOOST_AUTO_TEST_CASE(a_report_holds_its_data_whatever_stands_in_it) {
  const std::string nasty = "</script><script>alert(1)</script><!--";
  const nlohmann::json extra{{"lives", {{"1/0", "<b>"}}}};
  model shown(attune::nanoseconds(0), attune::nanoseconds(0));
  session_head head;
  head.task = nasty;
  shown.add_session(1, std::move(head));
  std::ostringstream out;
  write_report(out, "a <b> & \"c\"", shown, extra.dump());
  const auto html = out.str();
  const auto view = nlohmann::json::parse(between(html, "id=\"attune-view\">", "</script>"));
  BOOST_TEST(view["sessions"][0]["head"]["task"] == nasty);
  BOOST_TEST(nlohmann::json::parse(between(html, "id=\"attune-extra\">", "</script>")) == extra);
  BOOST_TEST(between(html, "<title>", "</title>") == "a &lt;b> &amp; &quot;c&quot;");
  BOOST_TEST(html.find("alert(1)</script>") == std::string::npos);
  BOOST_TEST(html.find("default-src 'none'") != std::string::npos);
  BOOST_TEST(html.find("src=\"app.js\"") == std::string::npos);
  BOOST_TEST(html.find("href=\"app.css\"") == std::string::npos);
  BOOST_TEST(html.find("id=\"attune-rows-1\"") == std::string::npos);
  // Nothing in the script ends its element early.
  BOOST_TEST(app_script().find("</script") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_report_holds_each_sessions_trials_as_a_server_gives_them) {
  model shown(attune::nanoseconds(0), attune::nanoseconds(0));
  const auto names = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"a", "b"});
  for (const std::uint64_t session : {1u, 7u}) {
    shown.add_session(session, {});
    for (std::uint64_t i = 0; i < 300 + session; ++i) {
      attune::measurement m;
      m.value = 1.0 / static_cast<double>(i + session);
      attune::outcome o;
      o.data = m;
      shown.add_trial(session, i, attune::configuration(names, {static_cast<std::int64_t>(i % 5), i % 2 == 0}), {}, o,
                      false, std::chrono::milliseconds(i));
    }
  }
  std::ostringstream out;
  write_report(out, "t", shown, "{}");
  for (const std::uint64_t session : {1u, 7u}) {
    const auto text = between(
        out.str(), "<script type=\"text/plain\" id=\"attune-rows-" + std::to_string(session) + "\">", "</script>");
    std::string small(text.size(), '\0');
    const int n = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(small.data()),
                                    reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    BOOST_REQUIRE(n > 0);
    const auto wanted = *shown.rows(session, 300 + session);
    std::string bytes(wanted.size() + 8, '\0');
    auto size = static_cast<uLongf>(bytes.size());
    BOOST_REQUIRE(::uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size,
                               reinterpret_cast<const Bytef*>(small.data()), static_cast<uLong>(n)) == Z_OK);
    bytes.resize(size);
    BOOST_TEST((bytes == wanted), session);
    BOOST_TEST(text.size() < wanted.size() / 2);
  }
}

BOOST_AUTO_TEST_SUITE_END()
