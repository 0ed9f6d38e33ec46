#include "cli/commands.hpp"
#include "cli/hub_call.hpp"
#include "cli/json.hpp"
#include "cli/render.hpp"
#include "core/text.hpp"
#include "core/value.hpp"
#include "net/fleet/candidate_bans.hpp"
#include "storage/convert.hpp"
#include "storage/spec_reader.hpp"

#include <ostream>
#include <utility>

namespace attune::cli {

namespace {

std::string device_class(const arguments& labels) {
  const value* found = find(labels, "device");
  return found == nullptr ? "local" : found->text();
}

} // namespace

int run_devices(const devices_options& options, output& io) {
  const auto hub = way_to(options.hub);
  if (!hub) return io.fail(hub.err());
  wire::v1::Envelope question;
  using what = devices_options::what;
  using W = wire::v1::Manage;
  if (options.action == what::list) {
    question.mutable_list_devices();
  } else {
    auto& m = *question.mutable_manage();
    m.set_name(options.name);
    m.set_what(options.action == what::drain          ? W::DRAIN
               : options.action == what::undrain      ? W::UNDRAIN
               : options.action == what::ban          ? W::BAN
               : options.action == what::unban        ? W::UNBAN
               : options.action == what::ban_config   ? W::BAN_CANDIDATE
               : options.action == what::unban_config ? W::UNBAN_CANDIDATE
                                                      : W::CANCEL);
    if (const std::string text(trim(options.configuration)); text.starts_with('{')) {
      const auto values = storage::read_configuration(text, "the configuration");
      if (!values) return io.fail(values.err());
      m.set_configuration(net::fleet::sorted_text(configuration(*values)));
    } else {
      m.set_configuration(text);
    }
  }
  const auto answer = ask_hub(*hub, question);
  if (!answer) {
    // What the hub does not know is as wrong as a word on the command line.
    return io.fail(answer.err());
  }
  if (!answer->has_devices()) {
    if (io.json()) io.document(json{{"done", true}});
    return exit_code::done;
  }
  json list = json::array();
  std::vector<std::vector<std::string>> rows{
      {"device", "class", "state", "slots", "busy", "heard", "noise", "runs", "lost", "labels", "last error"}};
  std::string holders;
  for (const auto& d : answer->devices().devices()) {
    arguments labels, facts;
    if (!storage::convert::from(d.labels(), labels) || !storage::convert::from(d.facts(), facts))
      return io.fail({errc::network, "the hub's answer cannot be understood", {}});
    json held = json::array();
    for (const auto& h : d.holders()) {
      held.push_back(h);
      holders += std::string(d.name()) + "/" + std::string(h) + "\n";
    }
    list.push_back({{"name", d.name()},
                    {"class", device_class(labels)},
                    {"state", d.state()},
                    {"labels", arguments_json(labels)},
                    {"facts", arguments_json(facts)},
                    {"address", d.address()},
                    {"slots", d.slots()},
                    {"busy", d.busy()},
                    {"leases", held},
                    {"heard_s", d.has_heard_ns() ? number_json(static_cast<double>(d.heard_ns()) / 1e9) : json()},
                    {"noise", d.has_noise() ? number_json(d.noise()) : json()},
                    {"runs", d.runs()},
                    {"leases_lost", d.lost()},
                    {"last_error", d.error().empty() ? json() : json(d.error())}});
    arguments rest;
    for (const auto& l : labels)
      if (l.first != "device") rest.push_back(l);
    rows.push_back({d.name(), device_class(labels), d.state(), std::to_string(d.slots()), std::to_string(d.busy()),
                    d.has_heard_ns() ? human_duration(nanoseconds(d.heard_ns())) + " ago" : "",
                    d.has_noise() ? human_value(d.noise() * 100, "%") : "", std::to_string(d.runs()),
                    std::to_string(d.lost()), configuration(rest).text(), d.error()});
  }
  json jobs = json::array(), quarantined = json::array();
  for (const auto& j : answer->devices().jobs()) jobs.push_back(j);
  for (const auto& q : answer->devices().quarantined()) quarantined.push_back(q);
  json clients = json::array(), banned = json::array();
  std::vector<std::vector<std::string>> shares{{"client", "weight", "limit", "jobs", "busy", "used"}};
  for (const auto& c : answer->devices().clients()) {
    clients.push_back({{"name", c.name()},
                       {"weight", number_json(c.weight())},
                       {"limit", c.limit() == 0 ? json() : json(c.limit())},
                       {"jobs", c.jobs()},
                       {"busy", c.busy()},
                       {"used_s", number_json(c.used_s())}});
    shares.push_back({c.name(), shortest(c.weight()), c.limit() == 0 ? "" : std::to_string(c.limit()),
                      std::to_string(c.jobs()), std::to_string(c.busy()), human_duration(from_seconds(c.used_s()))});
  }
  for (const auto& c : answer->devices().banned())
    banned.push_back({{"task", c.task().empty() ? json() : json(c.task())},
                      {"config", c.configuration()},
                      {"quarantined", c.quarantined()},
                      {"why", c.why()},
                      {"since", rfc3339(nanoseconds(c.since_ns()))}});
  if (io.json()) {
    io.document({{"devices", list},
                 {"jobs", jobs},
                 {"clients", clients},
                 {"waiting", answer->devices().waiting()},
                 {"unserved", answer->devices().unserved()},
                 {"quarantined", quarantined},
                 {"banned", banned}});
    return exit_code::done;
  }
  if (list.empty())
    io.out() << "no device has come yet\n";
  else
    io.out() << table(rows);
  if (!holders.empty()) io.out() << "\nrunning\n" << holders;
  if (!jobs.empty()) io.out() << "\njobs\n";
  for (const auto& j : answer->devices().jobs()) io.out() << j << '\n';
  if (!clients.empty())
    io.out() << '\n' << table(shares) << answer->devices().waiting() << " trials wait for a builder or a device\n";
  if (!quarantined.empty()) io.out() << "\nquarantined\n";
  for (const auto& q : answer->devices().quarantined()) io.out() << q << '\n';
  bool said = false;
  for (const auto& c : answer->devices().banned()) {
    if (c.quarantined()) continue;
    if (!std::exchange(said, true)) io.out() << "\nbanned\n";
    io.out() << (c.task().empty() ? "" : c.task() + ": ") << c.configuration() << ": " << c.why() << '\n';
  }
  return exit_code::done;
}

command_spec devices_command() {
  struct words {
    hub_words hub;
    std::string drain, undrain, ban, unban, cancel, ban_config, unban_config, task;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"devices", "List a hub's devices: slots, who holds them, heartbeat, noise, errors"};
  w->hub.add(c, "Where the hub listens", true);
  c.value("--drain", "NAME", w->drain, "Give it nothing new; what it has in hand goes on");
  c.value("--undrain", "NAME", w->undrain, "Give it work again");
  c.value("--ban", "NAME", w->ban, "Hang up on it, and do not let it in again");
  c.value("--unban", "NAME", w->unban, "Let it in again");
  c.value("--cancel", "JOB", w->cancel, "Call a job back");
  c.value("--ban-config", "CONFIG", w->ban_config,
          "Do not run this candidate, and stop it where it runs: as it is shown (\"x=1 y=2\"), or as JSON");
  c.value("--unban-config", "CONFIG", w->unban_config,
          "Let it be run again; one that was quarantined for losing two devices, too");
  c.value("--task", "NAME", w->task, "With these two: of this task alone");
  c.more = R"(What is banned and what is quarantined stays so until it is lifted, also over a restart of
the hub. A candidate that is banned ends as device_lost, which is not kept as its result.

  attune devices --hub big:7410
  attune devices --hub big:7410 --token-file admin.token --ban-config "tile=64 vec=8" --task gemm)";
  c.read = [w](const typed_line&) -> reading {
    using what = devices_options::what;
    devices_options o;
    o.hub = w->hub.read();
    const std::pair<const std::string*, what> actions[] = {{&w->drain, what::drain},
                                                           {&w->undrain, what::undrain},
                                                           {&w->ban, what::ban},
                                                           {&w->unban, what::unban},
                                                           {&w->cancel, what::cancel},
                                                           {&w->ban_config, what::ban_config},
                                                           {&w->unban_config, what::unban_config}};
    for (const auto& [text, action] : actions) {
      if (text->empty()) continue;
      if (o.action != what::list)
        throw usage_fault{
            "one thing at a time: --drain, --undrain, --ban, --unban, --cancel, --ban-config, --unban-config"};
      o.action = action;
      o.name = *text;
    }
    if (o.action == what::ban_config || o.action == what::unban_config) {
      o.configuration = std::exchange(o.name, w->task);
    } else if (!w->task.empty()) {
      throw usage_fault{"--task goes with --ban-config or --unban-config"};
    }
    return o;
  };
  return c;
}

} // namespace attune::cli
