// A hub and its agents as a user runs them: real processes over loopback.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <memory>
#include <optional>

using namespace attune::testing;
using std::chrono::seconds;

namespace {

/// One hub on a port of its own.
struct fleet {
  explicit fleet(const std::string& port = "0") { start_hub(port); }

  void start_hub(const std::string& port) {
    hub.reset(new process(at.start({"hub", "--listen", "127.0.0.1:" + port})));
    const std::string said = "listens on ";
    BOOST_REQUIRE_MESSAGE(hub->wait_until([&] { return hub->err().find(said) != std::string::npos; }),
                          "the hub does not listen: " + hub->err());
    BOOST_REQUIRE(hub->wait_until([&] {
      const auto text = hub->err();
      return text.find('\n', text.find(said)) != std::string::npos;
    }));
    const auto text = hub->err();
    const auto from = text.find(said) + said.size();
    address = text.substr(from, text.find('\n', from) - from);
  }
  std::string port() const { return address.substr(address.rfind(':') + 1); }

  std::unique_ptr<process> agent(const std::string& name, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"agent", "--hub", address, "--name", name};
    words.insert(words.end(), more.begin(), more.end());
    return std::unique_ptr<process>(new process(at.start(words)));
  }
  json devices() {
    const auto e = at.attune({"devices", "--hub", address, "--json"});
    return e.exit == 0 ? e.document() : json();
  }
  std::optional<json> device(const std::string& name) {
    const auto all = devices();
    if (!all.is_object()) return std::nullopt;
    for (const auto& d : all["devices"])
      if (d["name"] == name) return d;
    return std::nullopt;
  }
  bool ready(const std::string& name) {
    return hub->wait_until([&] {
      const auto d = device(name);
      return d && (*d)["state"] == "ready";
    });
  }
  ended tune(const std::string& spec, std::vector<std::string> more = {}, milliseconds limit = seconds(90)) {
    // Without a store of its own: it is the hub's.
    std::vector<std::string> words{"tune", spec, "--hub", address, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return at.attune(words, limit);
  }

  scenario at;
  std::unique_ptr<process> hub;
  std::string address;
};

constexpr const char* quick = R"(
task: quick
parameters: {x: {range: [1, 10]}}
run:
  command: "echo {x}"
  timeout: 20s
  metric: {name: cost, unit: c}
search: {strategy: grid, trials: 10}
)";

} // namespace

BOOST_AUTO_TEST_SUITE(fleet_suite)

BOOST_AUTO_TEST_CASE(a_hub_has_its_agents_measure_what_a_client_sends) {
  fleet f;
  auto a = f.agent("one"), b = f.agent("two");
  BOOST_REQUIRE(f.ready("one"));
  BOOST_REQUIRE(f.ready("two"));
  const auto spec = f.at.write("quick.yaml", quick);
  const auto e = f.tune(spec);
  BOOST_TEST_REQUIRE(e.exit == 0, e.told());
  const auto d = e.document();
  BOOST_TEST(d["best"]["config"]["x"] == 1);
  BOOST_TEST(d["trials"]["measured"] == 10);
  // The same again is answered by what is known.
  const auto again = f.tune(spec);
  BOOST_TEST_REQUIRE(again.exit == 0, again.told());
  BOOST_TEST(again.document()["trials"]["measured"] == 0);
  BOOST_TEST(again.document()["trials"]["cached"] == 10);
  // Who ends in order leaves nothing behind.
  a->signal(SIGTERM);
  BOOST_TEST(a->wait().exit == 143);
  b->signal(SIGINT);
  BOOST_TEST(b->wait().exit == 130);
  f.hub->signal(SIGTERM);
  BOOST_TEST(f.hub->wait().exit == 143);
  BOOST_TEST(f.at.survivors().empty());
}

BOOST_AUTO_TEST_SUITE_END()
