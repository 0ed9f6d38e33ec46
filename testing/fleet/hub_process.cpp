#include "testing/fleet/hub_process.hpp"

#include "actors/interfaces.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/send.hpp>
#include <caf/system_messages.hpp>

#include <algorithm>
#include <filesystem>

namespace attune::testing {

using namespace actors;

hub_process::settings::settings() { set("scheduler.policy", caf::atom("testing")); }

hub_process::hub_process(const setting& how) : how_(how), wire_(*how.time), desk_(*how.time) {
  net::fleet::hub_options o;
  o.store = how_.disk->folder();
  o.open_store = [this](const std::string&) -> result<std::unique_ptr<storage::store_port>> {
    return how_.disk->connect();
  };
  std::filesystem::create_directories(how_.folder);
  auto folders = measure::scratch::open(how_.folder);
  if (!folders) how_.books->broken("a hub starts again", folders.err().text());
  folders_ = std::move(*folders);
  o.builders = 2;
  o.make_builder = [this](std::uint32_t i) {
    auto script = [this, i](const build_order& order) {
      if (!watched_) return act<build_report>(); // it is being killed
      how_.books->builds("hub", i, *order.what);
      return how_.make(order, [this] { return *folders_->make_folder(); });
    };
    return makers_.emplace_back(std::make_shared<scripted_builder>(
        *how_.time, script, [this, i] { how_.books->ended("hub", i); }, [this] { how_.died(); }));
  };
  o.wire.clock = how_.time;
  o.match_patience = o.device_patience = std::chrono::minutes(10);
  o.desk = &desk_.loop();
  o.host = &system_;
  o.turn = [this] {
    while (actors_turn()) {
    }
  };
  o.render = [this](const std::vector<std::shared_ptr<const tuning_report>>& reports) {
    net::fleet::rendered out;
    for (const auto& r : reports) {
      how_.books->reported(*r, how_.configurations);
      if (!r->best) out.code = 1;
      if (r->best) out.text += r->best->config.text();
    }
    return out;
  };
  auto made = net::fleet::hub::start(wire_.loop(), std::move(o));
  if (!made) how_.books->broken("a hub starts again", made.err().text());
  hub_ = std::move(*made);
}

hub_process::~hub_process() {
  watched_ = false;
  for (const auto& [id, who] : seen_)
    if (const auto alive = caf::actor_cast<caf::strong_actor_ptr>(who))
      caf::anon_send_exit(caf::actor_cast<caf::actor>(alive), caf::exit_reason::kill);
  while (clockwork().try_run_once()) {
  }
  for (std::uint32_t i = 0; i < makers_.size(); ++i) {
    makers_[i]->kill();
    how_.books->ended("hub", i);
  }
  hub_.reset();
  how_.books->hub_gone();
}

void hub_process::adopt(net::link_ptr link) {
  asio::post(wire_.loop(), [this, link = std::move(link)]() mutable {
    if (hub_) hub_->adopt(std::move(link));
  });
}

caf::scheduler::test_coordinator& hub_process::clockwork() {
  return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
}

nanoseconds hub_process::now() { return how_.time->monotonic(); }

const std::string& hub_process::name_of(caf::actor_id id) {
  auto [at, added] = names_.try_emplace(id);
  if (added && id != 0) at->second = "actor" + std::to_string(id);
  return at->second;
}

bool hub_process::actors_turn() {
  auto& jobs = clockwork().jobs;
  if (jobs.empty()) return false;
  if (jobs.size() > 1) std::swap(jobs.front(), jobs[static_cast<std::size_t>(how_.rng->below(jobs.size()))]);
  auto* who = dynamic_cast<caf::scheduled_actor*>(jobs.front());
  if (who == nullptr || !watched_) return clockwork().try_run_once();
  if (seen_.try_emplace(who->id(), who->address()).second) {
    const std::string kind = who->name();
    auto& name = names_[who->id()];
    if (name.empty() || name.starts_with("actor"))
      name = kind == "scheduler" || kind == "cache" || kind == "recorder" || kind == "monitor"
                 ? kind
                 : kind + std::to_string(who->id());
  }
  auto* element = who->peek_at_next_mailbox_element();
  if (element == nullptr) return clockwork().try_run_once();
  handled h{how_.past->steps() + 1, now(), element->sender ? name_of(element->sender->id()) : std::string(),
            name_of(who->id()), element->copy_content_to_message()};
  how_.past->add(h);
  if (h.what.match_elements<atom::join, place_info, runner_actor>()) {
    const auto& info = h.what.get_as<place_info>(1);
    const auto life = ++lives_[info.name];
    const auto name = info.name + (life == 1 ? "" : "." + std::to_string(life));
    names_[h.what.get_as<runner_actor>(2).id()] = name;
    how_.books->joined(name, info.device, info.stop != nullptr);
  } else if (h.to == "scheduler" && h.what.match_elements<caf::down_msg>()) {
    how_.books->gone(name_of(h.what.get_as<caf::down_msg>(0).source.id()));
  }
  how_.books->look(h, element->mid.request_id().integer_value());
  return clockwork().try_run_once();
}

bool hub_process::turn() {
  switch (how_.rng->below(4)) {
  case 0:
    return desk_.turn() || wire_.turn() || actors_turn();
  case 1:
    return wire_.turn() || actors_turn() || desk_.turn();
  default:
    return actors_turn() || wire_.turn() || desk_.turn();
  }
}

std::optional<nanoseconds> hub_process::next() {
  const auto& due = clockwork().clock().schedule();
  if (due.empty()) return std::nullopt;
  return std::max(nanoseconds(0),
                  std::chrono::duration_cast<nanoseconds>(due.begin()->first - clockwork().clock().now()));
}

void hub_process::pass(nanoseconds d) { clockwork().clock().advance_time(d); }

} // namespace attune::testing
