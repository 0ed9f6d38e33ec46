// Hub and agents over socket pairs, with stand-ins for what runs.
#pragma once

#include "net/connection.hpp"
#include "net/fleet/agent.hpp"
#include "net/fleet/fleet_server.hpp"
#include "tests/net/live.hpp"

#include <asio/local/connect_pair.hpp>
#include <asio/local/stream_protocol.hpp>

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>

namespace attune::tests {

using namespace attune::net;
using namespace attune::net::fleet;

/// A runner that the test answers for.
struct stand_in final : measure::runner {
  void run(trial_ptr what, measure::artifact_ptr, callback done) override {
    ++begun;
    overlapped = overlapped || in_hand;
    in_hand = std::move(what);
    then = std::move(done);
  }
  void cancel() override {
    ++cancelled;
    if (in_hand) end({failure{failure_kind::cancelled, "cancelled", {}, {}}, {}, {}, {}});
  }
  void end(measure::run_result r) {
    in_hand = nullptr;
    std::exchange(then, nullptr)(std::move(r));
  }
  void measured(double v) {
    measurement m;
    m.value = v;
    m.samples = {v};
    end({m, std::chrono::milliseconds(1), {}, {"a note"}});
  }
  int begun = 0, cancelled = 0;
  bool overlapped = false;
  trial_ptr in_hand;
  callback then;
};

struct pairs : live {
  explicit pairs(fleet_server_options options = {}) {
    std::string name = (std::filesystem::temp_directory_path() / "attune-fleet-XXXXXX").string();
    folder = ::mkdtemp(name.data());
    files = *artifact_store::open(folder + "/files", std::uint64_t{1} << 30);
    options.clock = &time;
    fleet_server::events tell;
    tell.came = [this](agent_id who, const description& d) { there[d.name] = who; };
    tell.went = [this](agent_id who, std::uint64_t absence) {
      std::erase_if(there, [who](const auto& t) { return t.second == who; });
      absences.push_back(absence);
    };
    tell.changed = [this](agent_id, const description& d, bool on) { ready[d.name] = on; };
    tell.log = [this](const std::string& text) { log.push_back(text); };
    tell.audit = [this](const audit_who& who, std::string_view did, const audit_details& more) {
      auto& line = deeds.emplace_back(who.token + "/" + who.role + "/" + who.name + " " + std::string(did));
      for (const auto& [what, text] : more) line.append(" ").append(what).append("=").append(text);
    };
    tell.asked = [this](client_id who, std::uint64_t request, const wire::v1::Envelope& e) {
      asked.push_back({who, request, e});
    };
    tell.said = [this](const trial& t, const std::string& place, const wire::v1::Output& o) {
      said.push_back(place + " " + std::to_string(t.number) + " " + std::string(o.text()));
    };
    server = std::make_shared<fleet_server>(loop, files, options, tell);
    server->package = [](const task_ptr&) { return std::make_shared<task_package>(); };
  }
  ~pairs() {
    server->close();
    for (auto& a : agents)
      if (a.wire) a.wire->close();
    turn();
    // What runs still holds its agent, and that what runs.
    for (auto& a : agents)
      for (auto& s : a.slots) s->then = nullptr;
    std::error_code ec;
    std::filesystem::remove_all(folder, ec);
  }

  struct side {
    std::shared_ptr<agent> self;
    link_ptr wire;
    std::vector<std::shared_ptr<stand_in>> slots;
    int lost = 0;
    std::string why_lost; ///< the last time
  };

  std::pair<link_ptr, link_ptr> link_pair() {
    using stream = asio::local::stream_protocol::socket;
    stream a(loop), b(loop);
    asio::local::connect_pair(a, b);
    return {std::make_shared<connection<stream>>(std::move(a), connection_limits{}),
            std::make_shared<connection<stream>>(std::move(b), connection_limits{})};
  }

  /// The hub's time passes, and the hub is there all the time. @pre the options' lease is this
  void pass(nanoseconds d, nanoseconds lease) {
    for (auto left = d; left.count() > 0;) {
      const auto some = std::min(left, lease / 2);
      time.advance(some);
      left -= some;
      server->stop(0, 0); // of nobody: it is looked at
      turn();
    }
  }

  /// An agent's process that is not connected yet.
  side& make(const std::string& name, std::uint32_t slots = 1) {
    auto& s = agents.emplace_back();
    fleet::agent_options how;
    how.self.name = name;
    how.self.slots = slots;
    how.files = files;
    how.make_runner = [&s](std::uint32_t) { return s.slots.emplace_back(std::make_shared<stand_in>()); };
    agent::events tell;
    tell.lost = [&s](const error& e) {
      ++s.lost;
      s.why_lost = e.message;
    };
    s.self = std::make_shared<agent>(loop, how, tell);
    return s;
  }
  void connect(side& s) {
    auto [here, away] = link_pair();
    s.wire = away;
    server->adopt(here);
    s.self->attach(away);
  }
  side& come(const std::string& name, std::uint32_t slots = 1) {
    auto& s = make(name, slots);
    connect(s);
    until([&] { return there.contains(name); });
    return s;
  }

  task_ptr some_task() {
    auto t = std::make_shared<task>();
    t->spec.name = "t";
    return t;
  }
  trial_ptr some_trial(std::uint64_t number = 0) {
    auto t = std::make_shared<trial>();
    t->of = of;
    t->number = number;
    t->config = configuration(arguments{{"x", value(static_cast<std::int64_t>(number))}});
    return t;
  }

  manual_time time;
  std::string folder;
  std::shared_ptr<artifact_store> files;
  std::shared_ptr<fleet_server> server;
  std::deque<side> agents;
  std::map<std::string, agent_id> there;
  std::map<std::string, bool> ready;
  std::vector<std::string> log, deeds, said;
  std::vector<std::uint64_t> absences; ///< by which agents went, in their order
  struct question {
    client_id who;
    std::uint64_t request;
    wire::v1::Envelope message;
  };
  std::vector<question> asked;
  task_ptr of = some_task();
};

} // namespace attune::tests
