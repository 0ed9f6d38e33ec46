#include "tests/web/browser.hpp"
#include "tests/web/samples.hpp"
#include "web/dashboard.hpp"
#include "web/report.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

using namespace attune;
using namespace attune::web;
using namespace attune::web::samples;
using attune::testing::browser;

namespace {

const std::vector<std::string> views{"pipeline", "cache", "search", "devices", "tasks", "compare"};

std::vector<event> known_trials(const task_ptr& of, int from, int to) {
  std::vector<event> out;
  for (int i = from; i < to; ++i) {
    const auto result =
        i % 7 == 3 ? failed(failure_kind::build_error, "no such file <b>") : measured(0.001 * (1 + (i * 37) % 50));
    auto way = whole_way(trial_of(of, i), ms(100 * i), result);
    // From some trials on a model has its say, and is half right.
    if (i >= 12) way.front().expected = search::foreseen{0.001 * (1 + (i * 37 + i % 4 * 9) % 50), i % 3 != 0};
    for (auto& e : way) out.push_back(std::move(e));
  }
  return out;
}

struct fixture {
  std::unique_ptr<browser> chromium = browser::start();
  task_ptr of = make();

  static std::unique_ptr<dashboard> serve(std::uint16_t port = 0, fleet_reader fleet = {}) {
    dashboard_options how;
    how.at.port = port;
    how.every = std::chrono::milliseconds(20);
    auto made = dashboard::start(how, {}, std::move(fleet));
    BOOST_REQUIRE_MESSAGE(made.ok(), (made.ok() ? "" : made.err().text()));
    return std::move(*made);
  }
  void quiet(const std::string& allowed) {
    for (const auto& c : chromium->complaints(allowed)) BOOST_ERROR(c);
  }
  void show(const std::string& view) {
    chromium->value("location.hash = '" + view + "'");
    chromium->until("document.querySelector('.nav [aria-current]').dataset.view === '" + view + "'");
  }
  bool there() const {
    if (chromium) return true;
    BOOST_TEST_MESSAGE("no Chromium here (Debian's package chromium): the page is not tested in a browser");
    return false;
  }
};

/// WCAG 2: the contrast of every text that stands on the page, below what its size wants; and what has no name.
constexpr const char* judge = R"JS((() => {
  const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return [...m.slice(0, 3).map((v) => (c.startsWith('color(') ? v * 255 : v)), m[3] ?? 1]; };
  const lum = ([r, g, b]) => { const f = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const ground = (el) => { const layers = []; for (let e = el; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 0) layers.push(c); if (c[3] === 1) break; }
    return layers.reverse().reduce((under, over) => under.map((u, i) => over[i] * over[3] + u * (1 - over[3])), [255, 255, 255]); };
  const bad = [];
  for (const el of document.querySelectorAll('#app *')) {
    if (el.closest('svg') || !el.checkVisibility?.() || el.disabled) continue;
    if (![...el.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const style = getComputedStyle(el);
    const under = ground(el);
    const a = lum(parse(style.color)), b = lum(under);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize);
    if (contrast < (size >= 24 || (size >= 18.6 && style.fontWeight >= 700) ? 3 : 4.5)) bad.push(`${contrast.toFixed(2)} ${el.tagName} ${el.className} ${el.textContent.slice(0, 30)}`);
  }
  for (const el of document.querySelectorAll('button, select, input, canvas, [role=button]')) {
    const name = el.getAttribute('aria-label') || el.textContent.trim() || el.title || el.closest('label')?.textContent.trim();
    if (!name) bad.push(`no name: ${el.outerHTML.slice(0, 80)}`);
  }
  if (document.documentElement.scrollWidth > window.innerWidth) bad.push(`wider than the window: ${document.documentElement.scrollWidth}`);
  return bad;
})())JS";

/// What a hub says of its devices and jobs.
std::string fleet_of_two() {
  return R"({"devices": [
    {"name": "board1", "state": "ready", "labels": {"device": "cortex-a72"}, "address": "10.0.0.7:4242", "slots": 2, "busy": 1,
     "holds": ["slot0: gemm: tile=8"], "heard_s": 0.4, "noise": 0.011, "runs": 1234, "lost": 1, "error": ""},
    {"name": "board2", "state": "lost", "labels": {}, "address": "10.0.0.8:4243", "slots": 1, "busy": 0, "holds": [],
     "heard_s": null, "noise": null, "runs": 7, "lost": 2, "error": "nothing was heard of it for too long"}],
    "jobs": ["job 3f2a gemm.yaml: 120 trials"], "quarantined": ["gemm: tile=64: the device was lost twice"]})";
}

/// The axe engine (axe-core, MPL), where it is installed: $ATTUNE_AXE, or where npm puts what is global.
std::string axe_script() {
  const char* given = std::getenv("ATTUNE_AXE");
  for (const std::string& path :
       {std::string(given == nullptr ? "" : given), std::string("/usr/local/lib/node_modules/axe-core/axe.min.js"),
        std::string("/usr/lib/node_modules/axe-core/axe.min.js"),
        std::string("/usr/share/nodejs/axe-core/axe.min.js")}) {
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!path.empty() && !text.empty()) return text;
  }
  return {};
}

/// What axe finds against WCAG 2.1 A and AA and its best practices, a line each.
constexpr const char* axe_judge =
    R"JS(axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})
  .then((r) => r.violations.flatMap((v) => v.nodes.slice(0, 5).map((n) => `${v.id} (${v.impact}): ${n.target.join(' ')} ${n.html.slice(0, 120)}`))))JS";

} // namespace

BOOST_FIXTURE_TEST_SUITE(page_in_a_browser, fixture)

BOOST_AUTO_TEST_CASE(every_view_shows_a_known_session_at_every_size_and_in_both_schemes) {
  if (!there()) return;
  const auto board = serve(0, fleet_of_two);
  board->take({known_trials(of, 0, 60)});
  const char* pictures = std::getenv("ATTUNE_PICTURES"); // a folder, for whoever wants to look
  for (const bool phone : {false, true})
    for (const std::string scheme : {"light", "dark"}) {
      chromium->size(phone ? 390 : 1366, phone ? 844 : 900, phone);
      chromium->scheme(scheme);
      chromium->value("try { localStorage.clear() } catch {}");
      chromium->open(board->url());
      chromium->until("attune.firstPaint && attune.session()?.length === 60");
      BOOST_TEST(chromium->value("document.documentElement.dataset.theme") == scheme);
      for (const auto& view : views) {
        show(view);
        chromium->until("document.querySelectorAll('main section.card').length >= 3");
        for (const auto& line : chromium->value(judge)) BOOST_ERROR(view << " " << scheme << ": " << line);
        if (pictures != nullptr)
          std::ofstream(std::string(pictures) + "/" + view + (phone ? "-phone-" : "-desktop-") + scheme + ".png",
                        std::ios::binary)
              << chromium->picture();
      }
    }
  // 60 trials, 9 of them failed; the best is 1 ms.
  show("pipeline");
  const auto text = chromium->value("document.querySelector('main').innerText").get<std::string>();
  for (const auto* part : {"60", "1 ms", "build error", "Where the time goes"})
    BOOST_TEST((text.find(part) != std::string::npos), part << " in " << text);
  show("devices");
  BOOST_TEST(chromium->value("document.querySelector('main').innerText").get<std::string>().find("local/slot0") !=
             std::string::npos);
  quiet(board->url());
}

BOOST_AUTO_TEST_CASE(a_hub_has_its_fleet_among_the_devices_and_an_upload_on_the_way) {
  if (!there()) return;
  const auto board = serve(0, fleet_of_two);
  board->take({known_trials(of, 0, 12)});
  chromium->size(1366, 900);
  chromium->open(board->url() + "#devices");
  chromium->until("document.querySelector('main').innerText.includes('board1')");
  const auto text = chromium->value("document.querySelector('main').innerText").get<std::string>();
  for (const auto* part : {"The fleet", "board2", "lost", "1 of 2", "job 3f2a", "quarantined"})
    BOOST_TEST((text.find(part) != std::string::npos), part << " in " << text);
  show("pipeline");
  chromium->until("document.querySelector('.flow')?.innerText.includes('Upload')");
  quiet(board->url());
}

BOOST_AUTO_TEST_CASE(what_a_model_expected_is_drawn_against_what_came) {
  if (!there()) return;
  const auto board = serve();
  board->take({known_trials(of, 0, 60)});
  chromium->size(1366, 900);
  chromium->open(board->url() + "#search");
  const std::string cards = "[...document.querySelectorAll('main section.card')].some((c) => c.checkVisibility() && ";
  chromium->until(cards +
                  "c.innerText.includes('prediction against the measurement') && /τ -?[0-9.−]+/.test(c.innerText))");
  chromium->until(cards + "c.innerText.includes('Offline and online'))");
  quiet(board->url());
}

BOOST_AUTO_TEST_CASE(axe_finds_nothing_in_any_view) {
  if (!there()) return;
  const auto axe = axe_script();
  if (axe.empty()) {
    BOOST_TEST_MESSAGE("axe-core is not here (npm install -g axe-core, or $ATTUNE_AXE): only our own checks are made");
    return;
  }
  const auto board = serve(0, fleet_of_two);
  board->take({known_trials(of, 0, 60)});
  for (const bool phone : {false, true})
    for (const std::string scheme : {"light", "dark"}) {
      chromium->size(phone ? 390 : 1366, phone ? 844 : 900, phone);
      chromium->scheme(scheme);
      chromium->value("try { localStorage.clear() } catch {}");
      chromium->open(board->url());
      chromium->until("attune.allPaint && attune.session()?.length === 60");
      chromium->value(axe + "; 0");
      for (const auto& view : views) {
        show(view);
        chromium->until("document.querySelectorAll('main section.card').length >= 3");
        for (const auto& line : chromium->value(axe_judge))
          BOOST_ERROR(view << (phone ? " phone " : " ") << scheme << ": " << line.get<std::string>());
      }
      show("pipeline");
      chromium->value("document.querySelector('tr.go').click()");
      chromium->until("document.querySelector('.drawer')?.innerText.includes('Facts')");
      for (const auto& line : chromium->value(axe_judge)) BOOST_ERROR("a trial: " << line.get<std::string>());
    }
}

BOOST_AUTO_TEST_CASE(it_follows_a_live_search_and_survives_the_servers_restart) {
  if (!there()) return;
  auto board = serve();
  const auto port = board->port();
  board->take({known_trials(of, 0, 5)});
  chromium->size(1366, 900);
  chromium->open(board->url());
  chromium->until("attune.session()?.length === 5");
  chromium->until("document.querySelector('.live').textContent === 'live'");
  board->take({known_trials(of, 5, 25)});
  chromium->until("attune.session()?.length === 25");
  chromium->until("document.querySelector('main').innerText.includes('25')");
  quiet(board->url());
  board.reset();
  chromium->until("document.querySelector('.dot.off')");
  board = serve(port);
  board->take({known_trials(of, 0, 40)});
  chromium->until("attune.session()?.length === 40 && document.querySelector('.dot.on')");
}

BOOST_AUTO_TEST_CASE(a_trial_shows_its_whole_life_and_the_keyboard_is_enough) {
  if (!there()) return;
  const auto board = serve();
  board->take({known_trials(of, 0, 30)});
  chromium->size(1366, 900);
  chromium->open(board->url() + "#search");
  chromium->until("attune.session()?.length === 30 && document.querySelector('.nav')");
  chromium->key("1", "Digit1", 49);
  chromium->until("location.hash === '#pipeline' && document.querySelector('tr.go')");
  // The failed trial 24: its message, as text.
  chromium->value("document.querySelector('tr.go [aria-label=\"Trial 24\"]').focus()");
  chromium->key("Enter", "Enter", 13);
  chromium->until("document.querySelector('.drawer')?.innerText.includes('no such file <b>')");
  BOOST_TEST(chromium->value("document.querySelector('.drawer').innerText.includes('proposed by the strategy')") ==
             true);
  BOOST_TEST(chromium->value("document.querySelector('.drawer').contains(document.activeElement)") == true);
  chromium->key("Escape", "Escape", 27);
  chromium->until("!document.querySelector('.drawer')");
  BOOST_TEST(chromium->value("document.activeElement.getAttribute('aria-label')") == "Trial 24");
  // Brushing an axis by keys.
  chromium->key("3", "Digit3", 51);
  chromium->until("document.querySelector('.axes [role=slider]')");
  chromium->value("document.querySelector('.axes [role=slider]').focus()");
  chromium->key("ArrowUp", "ArrowUp", 38);
  chromium->until("document.querySelector('.tools .chip')?.textContent.includes('1 trial,')");
  chromium->key("Escape", "Escape", 27);
  chromium->until("!document.querySelector('main .tools .chip')");
  quiet(board->url());
}

BOOST_AUTO_TEST_CASE(plots_can_be_saved_as_pictures_and_as_numbers) {
  if (!there()) return;
  const auto board = serve();
  board->take({known_trials(of, 0, 30)});
  chromium->size(1366, 900);
  chromium->open(board->url() + "#search");
  chromium->until("attune.session()?.length === 30 && document.querySelector('.menu')");
  chromium->value("window.saved = []; URL.createObjectURL = (b) => { window.saved.push(b); return 'data:,'; }; "
                  "HTMLAnchorElement.prototype.click = () => {}");
  const auto save = [&](int which) {
    chromium->value("window.saved.length = 0; [...document.querySelectorAll('main section.card')].find((c) => "
                    "c.getAttribute('aria-label').startsWith('Values')).querySelectorAll('.menu [role=menuitem]')[" +
                    std::to_string(which) + "].click()");
    chromium->until("window.saved.length === 1");
  };
  save(0);
  const auto svg = chromium->value("saved[0].text()").get<std::string>();
  BOOST_TEST(svg.starts_with("<svg xmlns="));
  BOOST_TEST(chromium->value("saved[0].text().then((t) => new DOMParser().parseFromString(t, "
                             "'image/svg+xml').querySelector('parsererror') === null)") == true);
  save(1);
  BOOST_TEST(chromium->value("saved[0].arrayBuffer().then((b) => [...new Uint8Array(b.slice(1, 4))].map((c) => "
                             "String.fromCharCode(c)).join(''))") == "PNG");
  save(2);
  const auto csv = chromium->value("saved[0].text()").get<std::string>();
  BOOST_TEST(csv.starts_with("trial,time_s,result,cached,value_s,best_so_far,tile,opt,"));
  BOOST_TEST(std::count(csv.begin(), csv.end(), '\n') == 31);
  quiet(board->url());
}

BOOST_AUTO_TEST_CASE(a_report_needs_no_server) {
  if (!there()) return;
  const scratch_folder scratch;
  model shown(nanoseconds(0), nanoseconds(0));
  for (const auto& e : known_trials(of, 0, 30)) shown.take(e);
  const auto path = scratch.path() + "/report.html";
  {
    std::ofstream file(path);
    write_report(file, "a report", shown,
                 R"({"store":null,"lives":{"1/2":{"trial":2,"key":"k","result":{"samples":[1,2,3]}}}})");
  }
  chromium->size(1366, 900);
  chromium->open("file://" + path);
  chromium->until("attune.firstPaint && attune.session()?.length === 30");
  BOOST_TEST(chromium->value("document.title").get<std::string>().find("gemm") != std::string::npos);
  // The columns that stand packed in the file are those that a server tells as text.
  model_cursor fresh;
  const auto rows = nlohmann::json::parse(shown.json(fresh, ms(0)))["sessions"][0]["rows"];
  const std::string plain = "].map((v) => Number.isNaN(v) ? null : v)";
  for (const auto* name : {"n", "v", "e", "c", "x", "w"})
    BOOST_TEST(chromium->value("[...attune.session().col('" + std::string(name) + "')" + plain) == rows[name], name);
  for (std::size_t p = 0; p < rows["p"].size(); ++p)
    BOOST_TEST(chromium->value("[...attune.session().param(" + std::to_string(p) + ")" + plain) == rows["p"][p]);
  for (const auto& view : views) show(view);
  chromium->value("attune.openTrial(1, 2)");
  chromium->until("document.querySelector('.drawer')?.innerText.includes('3 samples')");
  quiet("");
}

BOOST_AUTO_TEST_CASE(a_hundred_thousand_trials_are_shown_and_brushed) {
  if (!there()) return;
  constexpr int trials = 100'000;
  const auto told = long_session(of, trials);
  chromium->size(1366, 900);
  const auto look_at = [&](const std::string& url) {
    chromium->open("about:blank");
    chromium->open(url);
    chromium->until("attune.allPaint && attune.session()?.length === " + std::to_string(trials));
    show("search");
    chromium->until("document.querySelectorAll('.axes [role=slider]').length === 11");
    // tile_m = 0: a fifth of them.
    chromium->value("document.querySelector('.axes [role=slider]').focus()");
    chromium->key("ArrowUp", "ArrowUp", 38);
    chromium->until("/^(19|20),[0-9]{3} trials, best/.test(document.querySelector('.tools .chip')?.textContent)");
  };
  const scratch_folder scratch;
  const auto path = scratch.path() + "/report.html";
  {
    model shown(nanoseconds(0), nanoseconds(0));
    for (const auto& batch : told)
      for (const auto& e : batch.items) shown.take(e);
    std::ofstream file(path, std::ios::binary);
    write_report(file, "long", shown, R"({"store":null,"lives":{}})");
  }
  BOOST_TEST(std::filesystem::file_size(path) < 6'000'000u);
  look_at("file://" + path);
  quiet("");
  const auto board = serve();
  for (const auto& batch : told) board->take(batch);
  look_at(board->url());
  quiet(board->url());
}

BOOST_AUTO_TEST_SUITE_END()
