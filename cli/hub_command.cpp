#include "actors/messages.hpp"
#include "cli/commands.hpp"
#include "cli/fleet_view.hpp"
#include "cli/interrupts.hpp"
#include "cli/joint_report.hpp"
#include "cli/json.hpp"
#include "cli/render.hpp"
#include "cli/secret.hpp"
#include "cli/tune_end.hpp"
#include "measure/scratch.hpp"
#include "net/address.hpp"
#include "net/audit_log.hpp"
#include "net/fleet/hub.hpp"
#include "net/fleet/local_peer.hpp"
#include "net/line_limit.hpp"
#include "net/listen.hpp"
#include "net/shared_store.hpp"
#include "net/tokens.hpp"
#include "storage/store.hpp"
#include "web/dashboard.hpp"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <condition_variable>
#include <csignal>
#include <future>
#include <memory>
#include <mutex>
#include <ostream>
#include <thread>

namespace attune::cli {

namespace {

/// Of the store's past, on the dashboard.
constexpr std::size_t hub_sessions_shown = 100;

} // namespace

int run_hub(const hub_options& options, const std::string& store, output& io) {
  if (store.empty())
    return io.fail(
        {errc::store_unusable, "no folder for the store is known: give --store DIR or set ATTUNE_STORE", {}});
  auto at = net::parse_address(options.listen, true);
  if (!at) return io.fail(at.err());
  // Where it builds. A machine on which nothing can be run is told before anything is begun.
  if (const auto room = measure::scratch::open({}); !room) return io.fail(room.err());
  const auto secret = take_secret("ATTUNE_DASHBOARD_TOKEN");
  // Signals first: one that comes while the store is opened must not be lost.
  std::mutex lock;
  std::condition_variable ended;
  int signal = 0;
  interrupts signals([&](int which) {
    const std::lock_guard guard(lock);
    signal = which;
    ended.notify_all();
  });

  net::listen_options where;
  where.at = *at;
  where.plain = options.plain ? net::plain_from::anywhere : net::plain_from::loopback;
  std::optional<net::token_book> tokens;
  auto own = net::private_folder::open(net::hub_folder(store), true);
  if (!own) return io.fail(own.err());
  net::audit_log deeds(std::move(*own));
  if (!options.plain || !options.no_tokens) {
    auto secrets = net::private_folder::open(net::hub_folder(store), true);
    if (!secrets) return io.fail(secrets.err());
    const auto wall = system_time().wall();
    const auto identity = options.certificate.empty() ? net::own_identity(*secrets, wall)
                                                      : net::identity_of_files(options.certificate, options.key, wall);
    if (!identity) return io.fail(identity.err());
    auto tls = net::tls_for_hub(*identity);
    if (!tls) return io.fail(tls.err());
    where.tls = std::move(*tls);
    if (!options.no_tokens) {
      auto book = net::token_book::open(std::move(*secrets));
      if (!book) return io.fail(book.err());
      tokens.emplace(std::move(*book));
    }
  }

  asio::io_context loop{1};
  auto work = asio::make_work_guard(loop);
  std::thread wire([&loop] { loop.run(); });
  const auto stop = [&] {
    if (!wire.joinable()) return;
    work.reset();
    loop.stop();
    wire.join();
  };
  // Also where something throws, for want of a thread.
  const std::shared_ptr<void> at_the_end(nullptr, [&](void*) { stop(); });

  std::mutex saying;
  bool told = false;
  const auto audit = [&](const net::audit_who& who, std::string_view did, const net::audit_details& more) {
    const std::lock_guard guard(saying);
    const auto written = deeds.write(system_time().wall(), who, did, more);
    if (!written && !std::exchange(told, true)) io.message(written.err().message);
    if (written) told = false;
  };
  // Of those who are not let in.
  net::line_limit refusals;
  const auto refused = [&](const std::string& kind, std::string line) {
    const std::lock_guard guard(saying);
    for (const auto& l : refusals.take(kind, std::move(line), system_time().monotonic())) io.message(l);
  };
  net::fleet::hub_options how;
  how.audit = audit;
  how.store = store;
  how.open_store = [](const std::string& folder) { return net::open_shared(folder); };
  how.builders = options.builders;
  if (options.memory) how.remembered = *options.memory;
  if (tokens) {
    how.wire.admit = [&](const std::string& id, const std::string& secret,
                         const std::string& peer) -> std::optional<net::fleet::pass> {
      const auto who = tokens->admit(id, secret, system_time().wall());
      if (!who) {
        audit({who.id, "", who.name, peer}, "was refused", {{"why", net::to_string(who.reason)}});
        const std::string why = net::to_string(who.reason);
        refused(net::without_port(peer) + ": token: " + why,
                "a token was refused: " + why + (who.id.empty() ? "" : " (" + who.id + ")"));
        return std::nullopt;
      }
      using net::deed;
      return net::fleet::pass{net::may(who.role, deed::work),
                              net::may(who.role, deed::tune),
                              net::may(who.role, deed::watch),
                              net::may(who.role, deed::manage),
                              who.id,
                              net::to_string(who.role),
                              who.name,
                              who.weight,
                              who.limit};
    };
    how.wire.stands = [&](const std::string& id) { return tokens->stands(id); };
    how.wire.trusted = net::fleet::same_user_on_loopback;
  }
  how.log = [&](const std::string& text) {
    const std::lock_guard guard(saying);
    for (const auto& l : refusals.due(system_time().monotonic())) io.message(l);
    io.message(text);
  };
  how.render = [](const auto& reports) {
    net::fleet::rendered out;
    out.code = code_of(reports, 0);
    out.json = dump(reports_json(reports));
    for (const auto& r : reports) {
      out.text += render_report(*r);
      if (r->trouble) out.messages.push_back(r->of->spec.name + ": " + r->trouble->text());
      if (const auto text = no_best_text(*r); !text.empty()) out.messages.push_back(text);
    }
    return out;
  };
  how.render_joint = [](const actors::joint_report& joint, const budget_spec& budget) {
    net::fleet::rendered out;
    std::vector<std::shared_ptr<const actors::tuning_report>> reports;
    for (const auto& t : joint.tasks) reports.push_back(t.report);
    out.code = code_of(reports, 0);
    out.json = dump(joint_json(joint, budget));
    for (const auto& r : reports) {
      if (r->best) out.text += task_title(*r->of) + "\n  " + r->best->config.text() + '\n';
      if (r->trouble) out.messages.push_back(r->of->spec.name + ": " + r->trouble->text());
      if (const auto text = no_best_text(*r); !text.empty()) out.messages.push_back(text);
    }
    out.text += '\n' + render_joint(joint);
    return out;
  };
  auto hub = net::fleet::hub::start(loop, std::move(how));
  if (!hub) {
    stop();
    return io.fail(hub.err());
  }
  for (const auto& n : (*hub)->notices()) io.message(n);
  audit({"", "local", "hub", ""}, "began", {{"listens on", options.listen}});

  // The dashboard asks the hub, and is told by it: first it hears no more, then it is gone, then the hub.
  std::unique_ptr<web::dashboard> board;
  struct hearing {
    std::mutex lock;
    web::dashboard* to = nullptr;
  };
  const auto heard = std::make_shared<hearing>();
  const auto shut = [&] {
    {
      const std::lock_guard guard(heard->lock);
      heard->to = nullptr;
    }
    board.reset();
    hub->reset();
    stop();
  };
  if (options.dashboard) {
    web::dashboard_options shown;
    const auto where_shown = web::parse_listen(*options.dashboard);
    if (!where_shown) return shut(), io.fail(where_shown.err());
    shown.at = *where_shown;
    shown.token = secret.value_or("");
    auto* const h = hub->get();
    auto made = web::dashboard::start(
        shown, [h]() -> std::shared_ptr<const storage::store> { return h->view(); },
        [h] {
          const auto all = h->devices();
          return all ? dump(fleet_json(*all)) : std::string("null");
        });
    if (!made) return shut(), io.fail(made.err());
    board = std::move(*made);
    if (auto added = board->add_stored_sessions(hub_sessions_shown); !added) return shut(), io.fail(added.err());
    heard->to = board.get();
    h->subscribe([heard](const actors::event_batch& batch) {
      const std::lock_guard guard(heard->lock);
      if (heard->to != nullptr) heard->to->take(batch);
    });
    const std::lock_guard guard(saying);
    io.message("dashboard: " + board->url());
  }

  std::promise<result<std::unique_ptr<net::listener>>> opened;
  asio::post(loop, [&] {
    net::listener::events tell;
    tell.came = [h = hub->get()](net::link_ptr link) { h->adopt(std::move(link)); };
    tell.refused = [&](const std::string& peer, const error& why) {
      audit({"", "", "", peer}, "was refused", {{"why", why.message}});
      refused(net::without_port(peer) + ": " + why.message, "refused " + peer + ": " + why.message);
    };
    opened.set_value(net::listener::open(loop, where, std::move(tell)));
  });
  auto listening = opened.get_future().get();
  if (!listening) return shut(), io.fail(listening.err());
  {
    const std::lock_guard guard(saying);
    for (const auto& b : (*listening)->bound()) io.message("the hub listens on " + b.text());
    io.err() << std::flush;
  }
  {
    std::unique_lock guard(lock);
    ended.wait(guard, [&] { return signal != 0; });
  }
  std::promise<void> closed;
  asio::post(loop, [&] {
    (*listening)->close();
    closed.set_value();
  });
  closed.get_future().wait();
  shut();
  audit({"", "local", "hub", ""}, "ended", {});
  for (const auto& l : refusals.rest(system_time().monotonic())) io.message(l);
  io.message("the hub has ended; what was measured and what was sent is kept");
  return signal == SIGINT ? exit_code::interrupted : exit_code::terminated;
}

command_spec hub_command() {
  struct words {
    std::string listen, certificate, key, builders, memory, dashboard;
    bool plain = false, no_tokens = false;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"hub", "Own a store, and have agents on other machines measure what clients send"};
  c.value("--listen", "ADDR:PORT", w->listen, "Where agents and clients come: 127.0.0.1:7410, [::]:7410").required =
      true;
  c.value("--certificate", "FILE", w->certificate, "A certificate of your own (else one is made at the first start)");
  c.value("--key", "FILE", w->key, "Its key");
  c.flag("--plain", w->plain, "Let peers off this machine do without TLS too");
  c.flag("--no-tokens", w->no_tokens, "Let everybody in");
  c.value("--builders", "N", w->builders, "Builds at once on this machine (one for each core)");
  c.value("--memory", "SIZE", w->memory,
          "Results that are kept at hand in memory (192M); others are read from the store where they are asked for");
  c.flag("--dashboard", w->dashboard, "Show the fleet in a browser; --dashboard=ADDR:PORT says where it is served");
  c.more = R"(Agents offer the slots, this machine builds. A job whose target no device serves ends
after ten seconds with what there is; one that has lost its devices, after two minutes.
Off this machine TLS and a token are needed (attune token create); on it, the same
user's processes do without. What clients have sent lies in the store's folder: a hub
that is started again goes on with it, and measures nothing twice.

The dashboard shows devices, jobs and sessions as they are, and changes nothing: that is
for attune devices, with an admin's token. It is served on this machine alone unless an
address is given; then it wants the token of the printed URL.

  attune hub --listen 127.0.0.1:7410 --store /srv/attune --dashboard)";
  c.read = [w](const typed_line&) -> reading {
    hub_options o;
    o.listen = w->listen;
    o.certificate = w->certificate;
    o.key = w->key;
    if (o.certificate.empty() != o.key.empty()) throw usage_fault{"--certificate and --key belong together"};
    o.plain = w->plain;
    o.no_tokens = w->no_tokens;
    if (!w->dashboard.empty()) {
      o.dashboard = w->dashboard == "true" ? std::string() : w->dashboard;
      if (const auto good = web::parse_listen(*o.dashboard); !good)
        throw usage_fault{"--dashboard: " + good.err().message};
    }
    if (!w->memory.empty()) o.memory = read_size("--memory", w->memory);
    if (!w->builders.empty()) o.builders = read_count<std::uint32_t>("--builders", w->builders, 1, 4096);
    return o;
  };
  return c;
}

} // namespace attune::cli
