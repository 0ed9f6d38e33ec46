// The page in Chromium with a long session, as a report and as a server gives it: when it first paints and when all is
// drawn, how long a brush takes, how much memory it has.
//   page_bench [TRIALS]
#include "tests/web/browser.hpp"
#include "tests/web/samples.hpp"
#include "web/dashboard.hpp"
#include "web/model.hpp"
#include "web/report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace attune;
using namespace attune::web;
using namespace attune::web::samples;

namespace {

using attune::testing::browser;

/// What a page takes that is opened once, looked at and brushed.
struct memory_taken {
  double scripts = 0, columns = 0, renderer = 0; ///< MB
};

memory_taken memory_of(const std::string& url, const std::string& whole) {
  const auto chromium = browser::start();
  chromium->size(1366, 900);
  chromium->open(url + "#pipeline");
  chromium->until(whole);
  for (const auto* view : {"cache", "devices", "tasks", "compare", "search"}) {
    chromium->value("location.hash = '" + std::string(view) + "'");
    chromium->until("document.querySelectorAll('main section.card').length >= 3");
  }
  chromium->until("document.querySelectorAll('.axes [role=slider]').length > 6");
  chromium->value("attune.brushTook = 0; document.querySelector('.axes [role=slider]').dispatchEvent(new "
                  "KeyboardEvent('keydown', {key: 'ArrowUp', bubbles: true}))");
  chromium->until("attune.brushTook > 0");
  return {chromium->value("performance.memory.usedJSHeapSize").get<double>() / 1e6,
          chromium->value("[...attune.session().p, ...Object.values(attune.session().columns)].reduce((a, c) => a + "
                          "c.data.byteLength, 0)")
                  .get<double>() /
              1e6,
          chromium->renderer_mb()};
}

void look_at(const char* what, const std::string& url, std::uint64_t trials) {
  const auto started = browser::start();
  auto& chromium = *started;
  chromium.size(1366, 900);
  const auto whole = "window.attune?.allPaint && attune.session()?.length === " + std::to_string(trials);
  std::vector<double> first_paints, all_paints;
  for (int i = 0; i < 5; ++i) {
    chromium.open("about:blank");
    chromium.open(url + "#pipeline");
    chromium.until(whole);
    first_paints.push_back(chromium.value("attune.firstPaint").get<double>());
    all_paints.push_back(chromium.value("attune.allPaint").get<double>());
  }
  std::sort(first_paints.begin(), first_paints.end());
  std::sort(all_paints.begin(), all_paints.end());
  chromium.value("location.hash = 'search'");
  chromium.until("document.querySelectorAll('.axes [role=slider]').length > 6");
  // Each axis step by step from its foot, four steps, which the shortest has; the first ones are slower, until the code
  // is compiled. Shown: when the frame with it has been made.
  const auto brushes = chromium.value(
      "(async () => { const all = []; for (let k = 0; k < 24; k++) { const b = document.querySelectorAll('.axes "
      "[role=slider]')[k % 6]; attune.brushTook = 0; const began = performance.now(); "
      "b.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowUp', bubbles: true})); "
      "while (!attune.brushTook) { if (performance.now() - began > 20000) throw new Error('no brush'); "
      "await new Promise((go) => requestAnimationFrame(() => setTimeout(go))); } "
      "all.push([attune.brushTook, performance.now() - began]); "
      "await new Promise((go) => setTimeout(go, 250)); } return all; })()");
  std::vector<double> took, shown;
  for (const auto& one : brushes) {
    took.push_back(one[0]);
    shown.push_back(one[1]);
  }
  const double first = took.front();
  std::sort(took.begin(), took.end());
  std::sort(shown.begin(), shown.end());
  const auto memory = memory_of(url, whole);
  std::printf(
      "%s, %llu trials: first paint %.0f ms (best %.0f), all drawn %.0f (best %.0f); a brush %.0f ms (the first "
      "%.0f, the slowest %.0f), shown after %.0f (the slowest %.0f); %.0f MB of JavaScript, %.0f MB of columns, %.0f "
      "MB the whole renderer\n",
      what, static_cast<unsigned long long>(trials), first_paints[2], first_paints[0], all_paints[2], all_paints[0],
      took[took.size() / 2], first, took.back(), shown[shown.size() / 2], shown.back(), memory.scripts, memory.columns,
      memory.renderer);
}

} // namespace

int main(int argc, char** argv) {
  const std::uint64_t trials = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  if (!browser::start()) {
    std::puts("no Chromium here (Debian's package chromium)");
    return 0;
  }
  const auto told = long_session(make(), trials);
  model shown(nanoseconds(0), std::chrono::seconds(1'800'000'000));
  for (const auto& batch : told)
    for (const auto& e : batch.items) shown.take(e);
  shown.end_session(1, "trials", ms(static_cast<std::int64_t>(100 * trials)));
  const scratch_folder scratch;
  const auto path = scratch.path() + "/report.html";
  {
    std::ofstream file(path, std::ios::binary);
    write_report(file, "page_bench", shown, R"({"store":null,"lives":{}})");
  }
  std::printf("a report of %.1f MB\n", static_cast<double>(std::filesystem::file_size(path)) / 1e6);
  look_at("a report", "file://" + path, trials);
  if (auto board = dashboard::start({}, {})) {
    for (const auto& batch : told) (*board)->take(batch);
    look_at("served", (*board)->url(), trials);
  }
  return 0;
}
