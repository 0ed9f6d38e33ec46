#include "cli/progress.hpp"
#include "cli/terminal.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cmath>
#include <map>
#include <sstream>

using namespace attune;
using namespace attune::cli;
using namespace std::chrono_literals;

namespace {

progress_view busy() {
  progress_view v;
  v.name = "gemm";
  v.elapsed = 30s;
  v.done = 120;
  v.budget = 200;
  v.cached = 40;
  v.failed[static_cast<std::size_t>(failure_kind::build_error)] = 6;
  v.failed[static_cast<std::size_t>(failure_kind::run_timeout)] = 2;
  v.best = 0.00123;
  v.unit = "s";
  v.best_config = "tile_m=32";
  v.rate = 4.13;
  return v;
}

environment progress_env(std::map<std::string, std::string> names) {
  return [names = std::move(names)](const char* name) -> const char* {
    const auto at = names.find(name);
    return at == names.end() ? nullptr : at->second.c_str();
  };
}

} // namespace

BOOST_AUTO_TEST_SUITE(progress)

BOOST_AUTO_TEST_CASE(shows_best_rate_cached_failed_by_kind_and_time_left) {
  BOOST_TEST(
      render_bar(busy(), {200, false, false}) ==
      "gemm  [############........]  120/200  best 1.23 ms  4.1/s  40 cached  8 failed (build_error 6, run_timeout 2)"
      "  19.4 s left");
  BOOST_TEST(render_line(busy()) == "gemm: 120/200 done, best 1.23 ms (tile_m=32), 40 cached, 8 failed (build_error 6, "
                                    "run_timeout 2), 4.1/s, 19.4 s left");
  auto over = busy();
  over.done = 200;
  BOOST_TEST(render_line(over).ends_with("run_timeout 2), 4.1/s"));
  BOOST_TEST(render_bar(over, {200, false, false}).find("left") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(leaves_out_the_least_important_where_there_is_no_room) {
  const auto wide = render_bar(busy(), {200, false, false});
  for (std::size_t width = 1; width < 130; ++width) {
    const auto bar = render_bar(busy(), {width, false, false});
    BOOST_TEST(columns(bar) <= width);
    if (width >= 12) BOOST_TEST(bar.find("best 1.23 ms") != std::string::npos, bar);
  }
  const auto narrow = render_bar(busy(), {80, false, false});
  BOOST_TEST(narrow == "120/200  best 1.23 ms  4.1/s  40 cached  8 failed  19.4 s left");
  BOOST_TEST(render_bar(busy(), {wide.size(), false, false}) == wide);
}

BOOST_AUTO_TEST_CASE(colours_and_draws_blocks_only_where_asked) {
  const auto coloured = render_bar(busy(), {200, true, true});
  BOOST_TEST(coloured.find("\x1b[32mbest 1.23 ms\x1b[0m") != std::string::npos);
  BOOST_TEST(coloured.find("████████████░░░░░░░░") != std::string::npos);
  BOOST_TEST(columns(coloured) == columns(render_bar(busy(), {200, false, true})));
  BOOST_TEST(render_bar(busy(), {200, false, false}).find('\x1b') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(draws_how_the_best_came_to_be_and_says_what_is_at_work) {
  best_curve curve;
  curve.add(0, std::nullopt);
  curve.add(20, 8.0);
  curve.add(50, 4.0);
  curve.add(60, 4.0);
  curve.add(90, 1.0);
  auto v = busy();
  v.curve = curve.at(100, 10);
  BOOST_TEST(std::isnan(v.curve[0]));
  BOOST_TEST(v.curve[1] == 8.0);
  BOOST_TEST(v.curve[3] == 8.0);
  BOOST_TEST(v.curve[4] == 4.0);
  BOOST_TEST(v.curve[9] == 1.0);
  v.running = 2;
  v.building = 1;
  const auto wide = render_bar(v, {200, false, true});
  BOOST_TEST(wide.find(" ███▄▄▄▄▁▁") != std::string::npos, wide);
  BOOST_TEST(wide.find("2 running, 1 building") != std::string::npos, wide);
  // It needs characters that not every terminal has; and it goes before anything that counts.
  BOOST_TEST(render_bar(v, {200, false, false}).find("█") == std::string::npos);
  const auto narrow = render_bar(v, {70, false, true});
  BOOST_TEST(narrow.find("running") == std::string::npos, narrow);
  BOOST_TEST(narrow.find("best 1.23 ms") != std::string::npos, narrow);
}

BOOST_AUTO_TEST_CASE(says_when_there_is_nothing_to_say) {
  progress_view v;
  v.name = "t";
  BOOST_TEST(render_bar(v, {80, false, false}) == "t  0  no best yet");
  BOOST_TEST(render_line(v) == "t: 0 done, no best yet");
}

BOOST_AUTO_TEST_CASE(sums_several_tasks) {
  auto v = busy();
  v.name = "3 tasks";
  v.tasks = 3;
  v.tasks_with_best = 2;
  BOOST_TEST(render_line(v).starts_with("3 tasks: 120/200 done, 2 of 3 tasks have a best, 40 cached"));
}

BOOST_AUTO_TEST_CASE(tells_the_time_left_by_the_nearer_end) {
  progress_view v;
  BOOST_TEST(!time_left(v).has_value());
  v.budget = 100;
  v.done = 50;
  BOOST_TEST(!time_left(v).has_value());
  v.rate = 10;
  BOOST_TEST((time_left(v) == nanoseconds(5s)));
  v.time_limit = 60s;
  v.elapsed = 58s;
  BOOST_TEST((time_left(v) == nanoseconds(2s)));
  v.elapsed = 61s;
  BOOST_TEST((time_left(v) == nanoseconds(0)));
  v.elapsed = 1s;
  BOOST_TEST((time_left(v) == nanoseconds(5s)));
  v.done = 120; // more than the budget, as a resumed session may have
  BOOST_TEST((time_left(v) == nanoseconds(0)));
}

BOOST_AUTO_TEST_CASE(measures_the_rate_of_the_last_half_minute) {
  rate_meter m;
  BOOST_TEST(m.per_second() == 0.0);
  m.add(0s, 0);
  m.add(1s, 1000); // from memory
  for (int s = 2; s <= 60; ++s) m.add(std::chrono::seconds(s), 1000 + static_cast<std::uint64_t>(s));
  BOOST_TEST(m.per_second() == 1.0, boost::test_tools::tolerance(0.05));
  rate_meter fast;
  for (int i = 0; i <= 10000; ++i) fast.add(std::chrono::milliseconds(i), static_cast<std::uint64_t>(i));
  BOOST_TEST(fast.per_second() == 1000.0, boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_CASE(knows_what_a_terminal_may_be_shown) {
  const auto seen = [](bool terminal, std::map<std::string, std::string> env) {
    const auto t = traits_of(terminal, progress_env(std::move(env)));
    return std::string(t.bar ? "bar " : "lines ") + (t.colour ? "colour " : "plain ") + (t.blocks ? "blocks" : "ascii");
  };
  BOOST_TEST(seen(true, {{"TERM", "xterm"}, {"LANG", "de_DE.UTF-8"}}) == "bar colour blocks");
  BOOST_TEST(seen(true, {{"TERM", "xterm"}, {"LANG", "C"}}) == "bar colour ascii");
  BOOST_TEST(seen(true, {{"TERM", "xterm"}, {"LANG", "C.utf8"}, {"NO_COLOR", "1"}}) == "bar plain blocks");
  BOOST_TEST(seen(true, {{"TERM", "xterm"}, {"NO_COLOR", ""}}) == "bar colour ascii");
  BOOST_TEST(seen(true, {{"TERM", "xterm"}, {"LC_ALL", "C"}, {"LANG", "C.UTF-8"}}) == "bar colour ascii");
  BOOST_TEST(seen(true, {{"TERM", "dumb"}, {"LANG", "C.UTF-8"}}) == "lines plain ascii");
  BOOST_TEST(seen(true, {}) == "lines plain ascii");
  BOOST_TEST(seen(false, {{"TERM", "xterm"}, {"LANG", "C.UTF-8"}}) == "lines plain ascii");
}

BOOST_AUTO_TEST_CASE(keeps_messages_and_bar_apart) {
  std::ostringstream out;
  {
    progress_display display(out, {true, false, false});
    display.draw(busy(), 80);
    display.line("attune: hello");
    display.draw(busy(), 80);
  }
  const std::string bar = render_bar(busy(), {79, false, false});
  BOOST_TEST(out.str() == "\r\x1b[K" + bar + "\r\x1b[Kattune: hello\n\r\x1b[K" + bar + "\r\x1b[K");
  std::ostringstream plain;
  {
    progress_display display(plain, {});
    display.draw(busy(), 80);
    display.line("a line");
  }
  BOOST_TEST(plain.str() == "a line\n");
}

BOOST_AUTO_TEST_SUITE_END()
