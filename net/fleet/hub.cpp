#include "net/fleet/hub.hpp"

#include "actors/scheduler.hpp"
#include "net/fleet/hub_impl.hpp"
#include "net/fleet/matching.hpp"
#include "net/store_messages.hpp"
#include "net/tokens.hpp"
#include "storage/convert.hpp"

#include <asio/post.hpp>

#include <algorithm>
#include <future>

namespace attune::net::fleet {

using wire::v1::Envelope;

namespace {

constexpr std::size_t messages_kept = 200;
/// What runs say travels to clients at this rate at the most, of each task.
constexpr std::size_t output_each_second = 64 << 10;

} // namespace

void hub::impl::say(const std::string& text) {
  if (options.log) options.log(text);
}

const std::set<std::string>& hub::impl::asked_of(const std::string& target_form) const {
  static const std::set<std::string> nothing;
  const auto at = asked.find(target_form);
  return at == asked.end() ? nothing : at->second;
}

void hub::impl::post(std::function<void()> what) {
  {
    const std::lock_guard guard(lock);
    todo.push_back(std::move(what));
  }
  if (options.desk == nullptr) return news.notify_one();
  asio::post(*options.desk, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->turn();
  });
}

// --- devices, on the loop's thread ---

void hub::impl::came(agent_id who, const description& what) {
  if (closing) return;
  slots[who];
  refresh();
  // One that is drained gets not even a first order.
  if (server->devices().ready(who)) offer(who, what);
}

void hub::impl::offer(agent_id who, const description& what) {
  auto& mine = slots[who];
  const std::weak_ptr<impl> weak = weak_from_this();
  for (std::uint32_t i = 0; i < what.slots; ++i) {
    actors::place_info info;
    info.name = what.name + "/slot" + std::to_string(i);
    info.device = what.name;
    info.serves = [weak, what](const task& t) {
      const auto self = weak.lock();
      if (!self) return false;
      const std::lock_guard guard(self->lock);
      return fleet::serves(t, what, self->asked_of(t.identity.target_form));
    };
    info.absence = [number = mine.absence] { return number->load(); };
    if (what.ahead)
      info.stop = [to = std::weak_ptr(server), who, i](const trial_ptr& which) {
        if (const auto s = to.lock()) s->stop(who, i, which);
      };
    mine.numbers.push_back(engine->add_slot(info, std::make_shared<remote_slot>(server, who, i)));
  }
  refresh();
}

void hub::impl::went(agent_id who, std::uint64_t absence) {
  const auto node = slots.extract(who);
  if (node.empty() || closing) return;
  node.mapped().absence->store(absence);
  for (const auto number : node.mapped().numbers) engine->remove_slot(number);
  refresh();
}

void hub::impl::changed(agent_id who, const description& what, bool on) {
  const auto at = slots.find(who);
  if (at == slots.end() || closing) return;
  for (const auto number : at->second.numbers) engine->rest_slot(number, !on);
  refresh();
  if (on && at->second.numbers.empty()) offer(who, what);
}

void hub::impl::refresh() {
  std::map<std::string, description> there;
  for (const auto* d : server->devices().ready()) there[d->name] = *d;
  std::vector<std::string> others;
  for (const auto& d : server->devices().list(now()))
    if (d.state != device_state::ready && others.size() < 20)
      others.push_back(d.what.name + " (" + to_string(d.state) + ")");
  const std::lock_guard guard(lock);
  ready.swap(there);
  away.swap(others);
}

std::string hub::impl::no_service(const arguments& target, const std::vector<const description*>& there) const {
  auto out = nothing_serves(target, there);
  if (!away.empty()) out += "; not in service:";
  for (const auto& a : away) out += (&a == &away.front() ? " " : ", ") + a;
  return out;
}

void hub::impl::output(const trial& what, const std::string& place, const wire::v1::Output& heard) {
  const std::lock_guard guard(lock);
  const auto at = hearers.find(what.of.get());
  if (at == hearers.end()) return;
  auto& a = at->second;
  if (now() - a.since >= std::chrono::seconds(1)) {
    a.since = now();
    a.sent = 0;
  }
  if (a.sent >= output_each_second) {
    a.left_out += heard.text().size() + heard.left_out();
    return;
  }
  a.sent += heard.text().size() + 64;
  Envelope out;
  auto& o = *out.mutable_output();
  o = heard;
  o.clear_lease();
  o.set_left_out(o.left_out() + std::exchange(a.left_out, 0));
  o.set_task(what.of->spec.name);
  o.set_configuration(what.config.text());
  o.set_place(place);
  for (const auto& f : a.of) server->reply(f.who, f.request, out);
}

std::shared_ptr<const task_package> hub::impl::package(const task_ptr& of) {
  const std::lock_guard guard(lock);
  const auto at = packages.find(of.get());
  return at == packages.end() ? nullptr : at->second;
}

// --- clients ---

void hub::impl::fail(client_id who, std::uint64_t request, const error& why) {
  Envelope out;
  to(why, *out.mutable_failed());
  server->reply(who, request, std::move(out));
}

void hub::impl::asked_by(client_id who, std::uint64_t request, const Envelope& message) {
  switch (message.body_case()) {
  case Envelope::kSubmit: {
    auto what = message.submit();
    const auto* may = server->pass_of(who);
    what.set_owner(may == nullptr ? "" : may->id);
    what.set_weight(may == nullptr ? 1 : may->weight);
    what.set_limit(may == nullptr ? 0 : may->limit);
    return post([this, who, request, what = std::move(what)] { submit(who, request, what); });
  }
  case Envelope::kFollow:
    return post([this, who, request, what = message.follow()] { follow(who, request, what); });
  case Envelope::kListDevices: {
    Envelope out;
    list(*out.mutable_devices());
    return server->reply(who, request, std::move(out));
  }
  case Envelope::kManage:
    return manage(who, request, message.manage());
  default:
    return;
  }
}

void hub::impl::list(wire::v1::Devices& out) {
  const auto at = now();
  for (const auto& v : server->devices().list(at)) {
    auto& d = *out.add_devices();
    d.set_name(v.what.name);
    storage::convert::to(v.what.labels, *d.mutable_labels());
    storage::convert::to(v.what.facts, *d.mutable_facts());
    d.set_slots(v.what.slots);
    d.set_state(to_string(v.state));
    d.set_error(v.error);
    d.set_address(v.what.address);
    d.set_runs(v.runs);
    d.set_lost(v.lost_leases);
    if (v.heard) d.set_heard_ns(v.heard->count());
    if (v.noise) d.set_noise(*v.noise);
    const auto agent = server->devices().agent_of(v.what.name);
    if (!agent) continue;
    const auto leases = server->leases().of(*agent);
    std::set<std::uint32_t> busy;
    for (const auto& l : leases)
      d.add_holders("slot" + std::to_string(l.slot) + (busy.insert(l.slot).second ? ": " : ", next: ") +
                    server->text_of(l.id));
    d.set_busy(static_cast<std::uint32_t>(busy.size()));
  }
  const std::lock_guard guard(lock);
  for (const auto& j : job_lines) out.add_jobs(j);
  for (const auto& c : clients) *out.add_clients() = c;
  out.set_waiting(waiting);
  out.set_unserved(unserved);
  for (const auto& c : bans->list()) {
    if (c.quarantined()) out.add_quarantined(c.task() + ": " + c.configuration() + ": " + c.why());
    *out.add_banned() = c;
  }
}

void hub::impl::manage(client_id who, std::uint64_t request, const wire::v1::Manage& what) {
  using W = wire::v1::Manage;
  status done;
  switch (what.what()) {
  case W::DRAIN:
  case W::UNDRAIN:
    done = server->drain(what.name(), what.what() == W::DRAIN);
    break;
  case W::BAN:
  case W::UNBAN:
    done = server->ban(what.name(), what.what() == W::BAN);
    break;
  case W::BAN_CANDIDATE:
  case W::UNBAN_CANDIDATE: {
    const auto* may = server->pass_of(who);
    const auto by = may == nullptr ? std::string() : may->name;
    return post([this, who, request, what, by] { ban_candidate(who, request, what, by); });
  }
  case W::CANCEL:
    return post([this, who, request, job = std::string(what.name())] { cancel(who, request, job); });
  default:
    done = error{errc::invalid_spec, "nothing that this hub can do", {}};
  }
  if (!done) return fail(who, request, done.err());
  say(W::What_Name(what.what()) + " " + what.name());
  Envelope out;
  out.mutable_done();
  server->reply(who, request, std::move(out));
}

// --- candidates, on the desk's thread ---

void hub::impl::ban_candidate(client_id who, std::uint64_t request, const wire::v1::Manage& what,
                              const std::string& by) {
  using W = wire::v1::Manage;
  status done;
  {
    const std::lock_guard guard(lock);
    done = what.what() == W::BAN_CANDIDATE ? bans->ban(what.name(), what.configuration(), by, system_time().wall())
                                           : bans->lift(what.name(), what.configuration());
  }
  if (!done) return fail(who, request, done.err());
  say(W::What_Name(what.what()) + " " + what.configuration() + (what.name().empty() ? "" : " of " + what.name()));
  refuse();
  Envelope out;
  out.mutable_done();
  server->reply(who, request, std::move(out));
}

void hub::impl::refuse() {
  engine->refuse([weak = weak_from_this()](const trial& t) -> std::optional<failure> {
    const auto self = weak.lock();
    if (!self) return std::nullopt;
    const std::lock_guard guard(self->lock);
    const auto* c = self->bans->find(t);
    if (c == nullptr) return std::nullopt;
    return failure{failure_kind::device_lost,
                   c->quarantined() ? "not run: it has lost two devices (" + c->why() + "), and is quarantined"
                                    : "not run: " + c->why(),
                   {},
                   {}};
  });
}

void hub::impl::on_loop(const std::function<void()>& what) {
  if (options.desk != nullptr) return what();
  std::promise<void> done;
  asio::post(loop, [&] {
    what();
    done.set_value();
  });
  done.get_future().wait();
}

// --- what happens, on the engine's thread ---

void hub::impl::note(const actors::event_batch& batch) {
  const std::lock_guard guard(lock);
  const auto tell = [this](const task* of, const std::string& text) {
    auto& m = messages[of];
    if (m.size() < messages_kept) m.push_back(text);
  };
  using kind = actors::event_kind;
  for (const auto& e : batch.items) {
    const task* of = e.what ? e.what->of.get() : nullptr;
    if (of != nullptr && !packages.contains(of)) continue;
    const auto config = [&e] { return e.what ? e.what->config.text() : std::string(); }; // of few is it asked
    switch (e.kind) {
    case kind::told:
      if (e.result && of && e.text != "cache")
        for (const auto& n : e.result->notes)
          if (said[of].size() < 100 && said[of].insert(n).second) tell(of, config() + ": " + n);
      break;
    case kind::quarantined:
      tell(of, "not tried again: " + config() + ": " + e.text);
      if (e.what)
        todo.push_back([this, what = e.what, why = e.text] {
          status kept;
          {
            const std::lock_guard inner(lock);
            kept = bans->quarantine(*what, why, system_time().wall());
          }
          if (!kept) say("quarantine: " + kept.err().text());
          refuse();
        });
      news.notify_one();
      break;
    case kind::finals:
    case kind::decided:
      if (of)
        tell(of, e.text);
      else
        todo.push_back([this, text = e.text] { say(text); });
      break;
    case kind::store_trouble:
      for (const auto& [t, p] : packages) tell(t, "the hub's store cannot be written: " + e.text);
      break;
    default:
      break;
    }
  }
}

result<std::unique_ptr<hub>> hub::start(asio::io_context& loop, hub_options options) {
  options.wire.desk = options.desk;
  auto i = std::make_shared<impl>(loop, std::move(options));
  actors::engine_options how;
  how.store = i->options.store;
  how.open_store = i->options.open_store;
  how.builders = i->options.builders;
  how.cache.hot_bytes = i->options.remembered;
  how.make_builder = i->options.make_builder;
  how.apart = true;
  how.share_time = true;
  how.host = i->options.host;
  how.turn = i->options.turn;
  // The job's own patience is to strike first.
  how.no_slot_wait = i->options.device_patience + std::chrono::minutes(1);
  auto engine = actors::engine::start(how);
  if (!engine) return engine.err();
  i->engine = std::move(*engine);
  const auto own = hub_folder(i->options.store);
  i->jobs_folder = own + "/jobs";
  auto files = artifact_store::open(own + "/files", i->options.files_kept);
  if (!files) return files.err();
  auto secrets = private_folder::open(own, true);
  if (!secrets) return secrets.err();
  auto bans = candidate_bans::open(std::move(*secrets));
  if (!bans) return bans.err();
  i->bans.emplace(std::move(*bans));
  fleet_server::events tell;
  tell.came = [p = i.get()](agent_id who, const description& what) { p->came(who, what); };
  tell.went = [p = i.get()](agent_id who, std::uint64_t absence) { p->went(who, absence); };
  tell.changed = [p = i.get()](agent_id who, const description& what, bool on) { p->changed(who, what, on); };
  tell.asked = [p = i.get()](client_id who, std::uint64_t request, const Envelope& message) {
    p->asked_by(who, request, message);
  };
  tell.said = [p = i.get()](const trial& what, const std::string& device, const wire::v1::Output& heard) {
    p->output(what, device, heard);
  };
  tell.left = [p = i.get()](client_id who) { p->post([p, who] { p->forget_client(who); }); };
  tell.log = [p = i.get()](const std::string& text) { p->say(text); };
  tell.uploads = [p = i.get()](agent_id who, const trial_ptr& what, nanoseconds since) {
    using actors::event_kind;
    const auto* d = p->server->devices().find(who);
    const auto name = d == nullptr ? std::string() : d->name;
    p->engine->note({event_kind::upload_started, what->session, what, nullptr, name, since});
    p->engine->note({event_kind::uploaded, what->session, what, nullptr, name, p->now()});
  };
  tell.audit = i->options.audit;
  i->server = std::make_shared<fleet_server>(loop, std::move(*files), i->options.wire, std::move(tell));
  i->server->package = [p = i.get()](const task_ptr& of) { return p->package(of); };
  i->engine->subscribe([p = i.get()](const actors::event_batch& batch) { p->note(batch); });
  i->take_up_jobs();
  if (!i->bans->list().empty()) i->refuse();
  if (i->options.desk != nullptr) {
    i->looks = std::make_unique<timer>(*i->options.desk);
    i->look_again();
  } else {
    i->desk = std::thread([p = i.get()] { p->work(); });
  }
  return std::unique_ptr<hub>(new hub(std::move(i)));
}

hub::~hub() {
  {
    const std::lock_guard guard(impl_->lock);
    impl_->stopping = true;
  }
  impl_->news.notify_all();
  if (impl_->desk.joinable()) impl_->desk.join();
  impl_->looks.reset();
  // While devices may still come and go, so that what is lost now is not waited for.
  for (auto& [name, j] : impl_->jobs) j.cancel();
  for (auto& [name, j] : impl_->jobs) {
    if (j.whole) j.whole->wait();
    for (auto& t : j.tasks)
      if (t.session) t.session->wait_for(std::chrono::minutes(1));
  }
  impl_->on_loop([this] { impl_->closing = true; });
  impl_->engine.reset();
  impl_->on_loop([this] { impl_->server->close(); });
}

void hub::adopt(link_ptr link) { impl_->server->adopt(std::move(link)); }

void hub::subscribe(std::function<void(const actors::event_batch&)> watch) {
  impl_->engine->subscribe(std::move(watch));
}

std::shared_ptr<const storage::store> hub::view() const {
  auto* store = impl_->engine->store();
  if (store == nullptr) return nullptr;
  auto seen = store->view();
  return seen ? *seen : nullptr;
}

std::optional<wire::v1::Devices> hub::devices() const {
  const auto out = std::make_shared<std::promise<wire::v1::Devices>>();
  auto there = out->get_future();
  asio::post(impl_->loop, [weak = std::weak_ptr(impl_), out] {
    wire::v1::Devices all;
    if (const auto self = weak.lock(); self && !self->closing) self->list(all);
    out->set_value(std::move(all));
  });
  if (there.wait_for(std::chrono::seconds(2)) != std::future_status::ready) return std::nullopt;
  return there.get();
}

std::vector<std::string> hub::notices() const {
  auto* store = impl_->engine->store();
  return store == nullptr ? std::vector<std::string>() : store->notices();
}

} // namespace attune::net::fleet
