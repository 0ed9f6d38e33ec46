// A hub with some peers, and an agent with its hub, over links in memory: the bytes say who connects and what is said:
// good messages in any order, earlier ones again, cut off or changed ones, and any bytes at all. Whatever comes, nobody
// gets what he may not have, no order is answered twice, and nothing stays of who is gone.
#include "core/clock.hpp"
#include "net/fleet/agent.hpp"
#include "net/fleet/fleet_server.hpp"
#include "net/handshake.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

using namespace attune;
using namespace attune::net;
using namespace attune::net::fleet;
using wire::v1::Envelope;

namespace {

void must(bool holds) {
  if (!holds) __builtin_trap();
}

/// What the bytes of the input say next.
struct script {
  std::string_view text;
  unsigned next() {
    if (text.empty()) return 0;
    const auto c = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    return c;
  }
  std::string_view bytes(std::size_t n) {
    const auto out = text.substr(0, n);
    text.remove_prefix(out.size());
    return out;
  }
};

/// One end of a connection that is nothing but memory.
struct memory_link final : net::link {
  void start(take each, ended end) override {
    each_ = std::move(each);
    end_ = std::move(end);
  }
  void established() override { in = true; }
  void send(std::string_view body) override {
    if (!over) said.emplace_back(body);
  }
  std::size_t queued() const noexcept override { return 0; }
  void close_after_writing() override { over = true; }
  void close() override { over = true; }
  void break_off(const char* why) override { cut(why); }
  bool closed() const noexcept override { return over; }
  const std::string& peer() const noexcept override { return name; }

  void come(std::string_view body) {
    // As a connection has it: short frames until it is established.
    if (over || body.empty() || (!in && body.size() > 4096)) return;
    const auto each = each_;
    if (each) each(body);
  }
  void cut(const char* why) {
    if (std::exchange(over, true)) return;
    if (const auto end = std::exchange(end_, nullptr)) end({errc::network, why, {}});
  }

  std::string name;
  take each_;
  ended end_;
  std::vector<std::string> said; ///< to the other side
  bool over = false, in = false;
};

/// The loop of one input. To make one takes longer than all that happens on it: there is one, which is left empty.
struct own_turn {
  own_turn() = default;
  ~own_turn() {
    loop.restart();
    loop.poll();
  }
  own_turn(const own_turn&) = delete;
  own_turn& operator=(const own_turn&) = delete;
  asio::io_context& loop = []() -> asio::io_context& {
    static asio::io_context one;
    return one;
  }();
};

std::shared_ptr<artifact_store> cache() {
  static const auto store = [] {
    std::string folder = (std::filesystem::temp_directory_path() / "attune-session-XXXXXX").string();
    must(::mkdtemp(folder.data()) != nullptr);
    static const std::string keep = folder;
    std::atexit([] { std::filesystem::remove_all(keep); });
    return *artifact_store::open(folder, 1u << 20);
  }();
  return store;
}

Envelope greeting_of(unsigned how) {
  Envelope out;
  auto mine = fleet_abilities();
  if (how % 8 == 1) mine.magic = "attune store";
  if (how % 8 == 2) mine.oldest = mine.newest = 99;
  if (how % 8 == 3) mine.features = {"what nobody knows"};
  *out.mutable_hello() = hello_of(mine, std::string(how % 8 == 4 ? 3 : 16, 'x'));
  return out;
}

/// A message that a peer of a hub may mean.
Envelope message(unsigned what, unsigned how) {
  Envelope out;
  switch (what % 16) {
  case 0:
    return greeting_of(how);
  case 1:
    out.mutable_authenticate()->set_id(std::string(1, static_cast<char>('a' + how % 4)));
    out.mutable_authenticate()->set_secret(how % 5 == 4 ? "wrong" : "right");
    break;
  case 2: {
    description d;
    d.name = std::string(1, static_cast<char>('A' + how % 3));
    d.slots = 1 + how % 2;
    d.boot.bytes[0] = static_cast<std::uint8_t>(how / 8);
    to(d, *out.mutable_agent_hello());
    break;
  }
  case 3:
    out.mutable_heartbeat()->set_number(how);
    break;
  case 4: {
    auto& a = *out.mutable_answers()->add_answers();
    a.set_lease(how % 8);
    if (how % 3 != 0) a.mutable_measured()->set_value(how);
    break;
  }
  case 5:
    out.mutable_artifact_fetch()->set_sha256(std::string(how % 2 ? sha256("a").view() : sha256("b").view()));
    out.mutable_artifact_fetch()->set_length(how % 4);
    out.mutable_artifact_fetch()->set_offset(how / 4 % 3);
    break;
  case 6: {
    auto& s = *out.mutable_submit();
    s.set_file("spec");
    auto& f = *s.add_files();
    f.set_path(how % 5 == 4 ? "../spec" : "spec");
    const std::string text(1 + how, 'q');
    f.set_sha256(std::string(sha256(text).view()));
    f.set_size(text.size());
    break;
  }
  case 7: {
    const std::string text(1 + how, 'q');
    auto& p = *out.mutable_artifact_part();
    p.set_sha256(std::string(sha256(text).view()));
    p.set_data(text);
    break;
  }
  case 8:
    out.mutable_ping();
    break;
  case 9:
    out.mutable_follow()->set_job("abc");
    break;
  case 10:
    out.mutable_list_devices();
    break;
  case 11:
    out.mutable_manage()->set_what(how % 2 ? wire::v1::Manage::BAN : wire::v1::Manage::DRAIN);
    out.mutable_manage()->set_name("A");
    break;
  case 12:
    out.mutable_goodbye();
    break;
  case 13:
    out.mutable_orders(); // the hub's own
    break;
  case 14:
    out.mutable_welcome()->set_version(how);
    break;
  default:
    out.mutable_failed()->set_message("no");
    break;
  }
  out.set_request(how);
  return out;
}

struct guest {
  std::shared_ptr<memory_link> wire = std::make_shared<memory_link>();
  std::size_t looked = 0;
  bool trusted = false, shown = false, agent_hello = false;
};

/// Nobody is told what he may not know.
void judge(guest& g) {
  for (; g.looked < g.wire->said.size(); ++g.looked) {
    Envelope e;
    must(e.ParseFromString(g.wire->said[g.looked]));
    if (e.has_welcome() || e.has_failed()) continue;
    must(g.trusted || g.shown);
    if (e.has_agent_welcome() || e.has_orders() || e.has_heartbeat()) must(g.agent_hello);
  }
}

void play_hub(script in) {
  const own_turn turn;
  auto& loop = turn.loop;
  manual_time time;
  fleet_server_options o;
  o.clock = &time;
  o.lease = o.silence = std::chrono::hours(1);
  o.clients = 2;
  o.trusted = [](const std::string& peer) { return peer == "trusted"; };
  o.admit = [](const std::string& id, const std::string& secret, const std::string&) -> std::optional<pass> {
    if (secret != "right" || id.size() != 1) return {};
    if (id == "a") return pass{true, false, false, false, "1", "agent", "a"};
    if (id == "b") return pass{false, true, true, false, "2", "client", "b"};
    if (id == "c") return pass{false, true, true, true, "3", "admin", "c"};
    return {};
  };
  std::vector<std::pair<agent_id, std::uint32_t>> slots;
  std::vector<std::pair<client_id, std::uint64_t>> questions;
  fleet_server::events tell;
  tell.came = [&](agent_id who, const description& d) {
    for (std::uint32_t i = 0; i < d.slots; ++i) slots.emplace_back(who, i);
  };
  tell.went = [&](agent_id who, std::uint64_t) { std::erase_if(slots, [&](const auto& s) { return s.first == who; }); };
  tell.asked = [&](client_id who, std::uint64_t request, const Envelope&) { questions.emplace_back(who, request); };
  const auto hub = std::make_shared<fleet_server>(loop, cache(), o, tell);
  hub->package = [](const task_ptr&) {
    auto p = std::make_shared<task_package>();
    p->files.files.push_back({"a", sha256("a"), 1, 0644, {}, false});
    p->folder = "/nonexistent";
    return p;
  };
  auto of = std::make_shared<task>();
  of->spec.name = "t";
  std::vector<guest> guests;
  std::vector<std::string> earlier;
  std::size_t orders = 0, answered = 0;
  for (int step = 0; step < 200 && !in.text.empty(); ++step) {
    const auto verb = in.next(), how = in.next();
    if (guests.empty() || verb % 16 == 0) {
      if (guests.size() >= 6) continue;
      auto& g = guests.emplace_back();
      g.trusted = how % 3 == 0;
      g.wire->name = g.trusted ? "trusted" : "stranger";
      hub->adopt(g.wire);
      continue;
    }
    auto& g = guests[how % guests.size()];
    const auto say = [&](std::string body) {
      Envelope e;
      if (e.ParseFromString(body)) {
        g.shown = g.shown || (e.has_authenticate() && e.authenticate().secret() == "right");
        g.agent_hello = g.agent_hello || e.has_agent_hello();
      }
      g.wire->come(body);
      earlier.push_back(std::move(body));
    };
    switch (verb % 16) {
    case 1: // what leads on: greet, show a token, be an agent
      say(greeting_of(0).SerializeAsString());
      if (!g.trusted) say(message(1, in.next() % 3).SerializeAsString());
      break;
    case 2:
    case 3:
    case 4:
    case 5: {
      const auto what = in.next();
      say(message(what, in.next()).SerializeAsString());
      break;
    }
    case 6:
      if (!earlier.empty()) say(std::string(earlier[in.next() % earlier.size()]));
      break;
    case 7: {
      if (earlier.empty()) break;
      auto body = earlier[in.next() % earlier.size()];
      body.resize(body.size() * (in.next() % 8) / 8);
      say(std::move(body));
      break;
    }
    case 8: {
      if (earlier.empty()) break;
      auto body = earlier[in.next() % earlier.size()];
      const auto at = in.next();
      if (!body.empty()) body[at % body.size()] = static_cast<char>(in.next());
      say(std::move(body));
      break;
    }
    case 9:
      say(std::string(in.bytes(in.next())));
      break;
    case 10:
      g.wire->cut("cut");
      break;
    case 11: {
      if (slots.empty()) break;
      const auto [who, slot] = slots[in.next() % slots.size()];
      auto t = std::make_shared<trial>();
      t->of = of;
      ++orders;
      hub->order(who, slot, t, nullptr, [&answered](const measure::run_result&) { ++answered; });
      break;
    }
    case 12:
      if (!slots.empty()) hub->stop(slots[in.next() % slots.size()].first, 0);
      break;
    case 13:
      if (questions.empty()) break;
      {
        Envelope e;
        e.mutable_done();
        hub->reply(questions.back().first, questions.back().second, e);
        questions.pop_back();
      }
      break;
    default:
      loop.restart();
      loop.poll();
    }
    for (auto& each : guests) judge(each);
  }
  loop.restart();
  loop.poll();
  for (auto& each : guests) judge(each);
  must(answered + hub->leases().size() <= orders);
  std::size_t open = 0;
  for (const auto& g : guests) open += g.wire->over ? 0 : 1;
  must(hub->connections() == open);
  for (auto& g : guests) g.wire->cut("end");
  must(hub->connections() == 0 && hub->leases().size() == 0 && hub->devices().agents() == 0);
  hub->close();
  loop.restart();
  loop.poll();
}

/// Runs nothing.
struct idle_runner final : measure::runner {
  void run(trial_ptr, measure::artifact_ptr, callback done) override {
    must(!then);
    then = std::move(done);
  }
  void cancel() override {
    if (then) std::exchange(then, nullptr)({failure{failure_kind::cancelled, "cancelled", {}, {}}, {}, {}, {}});
  }
  callback then;
};

Envelope hubs_message(unsigned what, unsigned how) {
  Envelope out;
  switch (what % 8) {
  case 0:
    out.mutable_welcome()->set_version(how % 4 == 3 ? 99 : 1);
    break;
  case 1:
    out.mutable_agent_welcome()->set_heartbeat_ns(how % 4 == 3 ? 0 : 3'600'000'000'000);
    out.mutable_agent_welcome()->set_lease_ns(how % 4 == 2 ? 1 : 7'200'000'000'000);
    break;
  case 2: {
    auto& o = *out.mutable_orders();
    if (how % 2 == 0) o.add_tasks()->set_number(how / 2 % 3);
    auto& one = *o.add_orders();
    one.set_task(how % 3);
    one.set_lease(how % 7);
    one.set_slot(how % 3);
    break;
  }
  case 3:
    out.mutable_orders()->add_stop(how % 7);
    break;
  case 4:
    out.mutable_heartbeat();
    break;
  case 5:
    out.mutable_failed()->set_message("no");
    break;
  case 6:
    out.mutable_artifact_part()->set_sha256(std::string(32, 'x'));
    break;
  default:
    out.mutable_authenticated();
    break;
  }
  return out;
}

void play_agent(script in) {
  const own_turn turn;
  auto& loop = turn.loop;
  std::vector<std::shared_ptr<idle_runner>> runners;
  fleet::agent_options o;
  o.self.name = "a";
  o.self.slots = 2;
  o.files = cache();
  o.make_runner = [&](std::uint32_t) { return runners.emplace_back(std::make_shared<idle_runner>()); };
  int lost = 0, attached = 0;
  agent::events tell;
  tell.lost = [&](const error&) { ++lost; };
  const auto self = std::make_shared<agent>(loop, o, tell);
  std::shared_ptr<memory_link> wire;
  for (int step = 0; step < 200 && !in.text.empty(); ++step) {
    if (attached == lost) {
      wire = std::make_shared<memory_link>();
      self->attach(wire);
      ++attached;
    }
    const auto verb = in.next();
    switch (verb % 8) {
    case 0:
      wire->come(hubs_message(0, 0).SerializeAsString());
      wire->come(hubs_message(1, 0).SerializeAsString());
      break;
    case 1:
    case 2:
    case 3: {
      const auto what = in.next();
      wire->come(hubs_message(what, in.next()).SerializeAsString());
      break;
    }
    case 4:
      wire->come(in.bytes(in.next()));
      break;
    case 5:
      wire->cut("cut");
      break;
    case 6: {
      auto& r = runners[in.next() % runners.size()];
      if (!r->then) break;
      measurement m;
      m.value = 1;
      m.samples = {1};
      std::exchange(r->then, nullptr)({m, std::chrono::milliseconds(1), {}, {}});
      break;
    }
    default:
      break;
    }
    loop.restart();
    loop.poll();
    must(lost <= attached);
    // Nothing runs on for a hub that is lost.
    if (lost == attached)
      for (const auto& r : runners) must(!r->then);
  }
  bool left = false;
  self->leave([&] { left = true; });
  loop.restart();
  loop.poll();
  must(left);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  script in{{reinterpret_cast<const char*>(data), size}};
  const auto which = in.next();
  which % 3 == 0 ? play_agent(in) : play_hub(in);
  return 0;
}
