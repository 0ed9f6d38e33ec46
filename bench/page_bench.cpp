// The page in Chromium with a long session, as a report and as a server gives it: when it first paints and when all is
// drawn, how long a brush takes, how much memory it has.
//   page_bench [TRIALS]
#include "core/random.hpp"
#include "tests/web/browser.hpp"
#include "tests/web/samples.hpp"
#include "web/dashboard.hpp"
#include "web/model.hpp"
#include "web/report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>

using namespace attune;
using namespace attune::web;
using namespace attune::web::samples;

namespace {

using attune::testing::browser;

void look_at(browser& chromium, const char* what, const std::string& url, std::uint64_t trials) {
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
  chromium.until("document.querySelectorAll('.axes [role=slider]').length > 4");
  // The first ones are slower, until the code is compiled.
  const auto brushes = chromium.value(
      "(async () => { const took = []; for (let k = 0; k < 24; k++) { const b = document.querySelectorAll('.axes "
      "[role=slider]')[k % 4]; attune.brushTook = 0; b.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowUp', "
      "bubbles: true})); while (!attune.brushTook) await new Promise((go) => setTimeout(go, 5)); "
      "took.push(attune.brushTook); "
      "await new Promise((go) => setTimeout(go, 250)); } return took; })()");
  auto took = brushes.get<std::vector<double>>();
  const double first = took.front();
  std::sort(took.begin(), took.end());
  const double heap = chromium.value("performance.memory.usedJSHeapSize").get<double>() / 1e6;
  const double columns = chromium
                             .value("[...attune.session().p, ...Object.values(attune.session().columns)].reduce((a, c) "
                                    "=> a + c.data.byteLength, 0)")
                             .get<double>() /
                         1e6;
  std::printf(
      "%s, %llu trials: first paint %.0f ms (best %.0f), all drawn %.0f (best %.0f); a brush %.0f ms (the first "
      "%.0f, the slowest %.0f); %.0f MB of JavaScript, %.0f MB of columns, %.0f MB the whole renderer\n",
      what, static_cast<unsigned long long>(trials), first_paints[2], first_paints[0], all_paints[2], all_paints[0],
      took[took.size() / 2], first, took.back(), heap, columns, chromium.renderer_mb());
}

} // namespace

int main(int argc, char** argv) {
  const std::uint64_t trials = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  const auto chromium = attune::testing::browser::start();
  if (!chromium) {
    std::puts("no Chromium here (Debian's package chromium)");
    return 0;
  }
  model shown(nanoseconds(0), std::chrono::seconds(1'800'000'000));
  const auto of = make();
  auto head = head_of(*of, std::chrono::seconds(1'800'000'000));
  head.budget = trials;
  shown.add_session(1, std::move(head));
  const auto names = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{
      "tile_m", "tile_n", "tile_k", "vec", "micro_m", "micro_n", "unroll", "pack_a", "pack_b", "opt"});
  constexpr std::array<std::uint64_t, 10> sizes{5, 6, 6, 5, 5, 4, 4, 2, 2, 4};
  random_engine rng(1);
  std::vector<actors::event_batch> told;
  for (std::uint64_t i = 0; i < trials; ++i) {
    std::vector<value> values;
    double time = 0.001;
    for (std::size_t p = 0; p < sizes.size(); ++p) {
      const auto v = rng.below(sizes[p]);
      values.emplace_back(static_cast<std::int64_t>(v));
      time *= 1 + 0.3 * std::abs(static_cast<double>(v) - 2) / static_cast<double>(p + 1);
    }
    const auto result =
        rng.chance(0.05) ? failed(failure_kind::build_error) : measured(time * (1 + 0.02 * rng.uniform()));
    const bool cached = rng.chance(0.2);
    const configuration config(names, std::move(values));
    shown.add_trial(1, i, config, {}, *result, cached, ms(static_cast<std::int64_t>(100 * i)));
    auto t = std::make_shared<trial>(*trial_of(of, static_cast<std::int64_t>(i % 8)));
    t->number = i;
    t->config = config;
    if (told.empty() || told.back().items.size() >= 1000) told.emplace_back();
    told.back().items.push_back(
        make_event(event_kind::told, t, ms(static_cast<std::int64_t>(100 * i)), result, cached ? "cache" : "measured"));
  }
  shown.end_session(1, "trials", ms(static_cast<std::int64_t>(100 * trials)));
  const scratch_folder scratch;
  const auto path = scratch.path() + "/report.html";
  model_cursor fresh;
  const auto view = shown.json(fresh, nanoseconds(0));
  {
    std::ofstream file(path, std::ios::binary);
    write_report(file, "page_bench", view, R"({"store":null,"lives":{}})");
  }
  std::printf("%.1f MB of JSON\n", static_cast<double>(view.size()) / 1e6);
  look_at(*chromium, "a report", "file://" + path, trials);
  if (auto board = dashboard::start({}, {})) {
    for (auto& batch : told) (*board)->take(batch);
    look_at(*chromium, "served", (*board)->url(), trials);
  }
  return 0;
}
