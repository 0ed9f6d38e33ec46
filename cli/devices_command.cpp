#include "cli/commands.hpp"
#include "cli/hub_call.hpp"
#include "cli/json.hpp"
#include "cli/render.hpp"
#include "core/text.hpp"
#include "storage/convert.hpp"

#include <ostream>

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
    m.set_what(options.action == what::drain     ? W::DRAIN
               : options.action == what::undrain ? W::UNDRAIN
               : options.action == what::ban     ? W::BAN
               : options.action == what::unban   ? W::UNBAN
                                                 : W::CANCEL);
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
  if (io.json()) {
    io.document({{"devices", list}, {"jobs", jobs}, {"quarantined", quarantined}});
    return exit_code::done;
  }
  if (list.empty())
    io.out() << "no device has come yet\n";
  else
    io.out() << table(rows);
  if (!holders.empty()) io.out() << "\nrunning\n" << holders;
  if (!jobs.empty()) io.out() << "\njobs\n";
  for (const auto& j : answer->devices().jobs()) io.out() << j << '\n';
  if (!quarantined.empty()) io.out() << "\nquarantined\n";
  for (const auto& q : answer->devices().quarantined()) io.out() << q << '\n';
  return exit_code::done;
}

command_spec devices_command() {
  struct words {
    hub_words hub;
    std::string drain, undrain, ban, unban, cancel;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"devices", "List a hub's devices: slots, who holds them, heartbeat, noise, errors"};
  w->hub.add(c, "Where the hub listens", true);
  c.value("--drain", "NAME", w->drain, "Give it nothing new; what it has in hand goes on");
  c.value("--undrain", "NAME", w->undrain, "Give it work again");
  c.value("--ban", "NAME", w->ban, "Hang up on it, and do not let it in again");
  c.value("--unban", "NAME", w->unban, "Let it in again");
  c.value("--cancel", "JOB", w->cancel, "Call a job back");
  c.read = [w](const typed_line&) -> reading {
    using what = devices_options::what;
    devices_options o;
    o.hub = w->hub.read();
    const std::pair<const std::string*, what> actions[] = {{&w->drain, what::drain},
                                                           {&w->undrain, what::undrain},
                                                           {&w->ban, what::ban},
                                                           {&w->unban, what::unban},
                                                           {&w->cancel, what::cancel}};
    for (const auto& [text, action] : actions) {
      if (text->empty()) continue;
      if (o.action != what::list)
        throw usage_fault{"one thing at a time: --drain, --undrain, --ban, --unban, --cancel"};
      o.action = action;
      o.name = *text;
    }
    return o;
  };
  return c;
}

} // namespace attune::cli
