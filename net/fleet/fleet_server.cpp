#include "net/fleet/fleet_server.hpp"

#include "core/text.hpp"
#include "net/network_error.hpp"
#include "net/store_messages.hpp"
#include "net/tokens.hpp"
#include "storage/convert.hpp"

#include <asio/post.hpp>

#include <algorithm>

namespace attune::net::fleet {

using wire::v1::Envelope;

fleet_server::fleet_server(asio::io_context& loop, std::shared_ptr<artifact_store> files,
                           const fleet_server_options& options, events tell)
    : loop_(loop),
      files_(std::move(files)),
      options_(options),
      tell_(std::move(tell)),
      registry_(options.lease),
      silence_(loop) {}

fleet_server::~fleet_server() {
  if (reading_) reading_->join();
}

void fleet_server::read_aside(std::function<void()> what) {
  if (options_.desk != nullptr) return asio::post(*options_.desk, std::move(what));
  if (!reading_) reading_.emplace(1);
  asio::post(*reading_, std::move(what));
}

void fleet_server::say(const std::string& text) const {
  if (tell_.log) tell_.log(text);
}

void fleet_server::say(line_limit& held, const std::string& kind, std::string text) {
  for (const auto& line : held.take(kind, std::move(text), now())) say(line);
}

/// Who it is, as far as it has said so.
void fleet_server::note(const peer& p, std::string_view did, const audit_details& more) const {
  if (!tell_.audit) return;
  audit_who who;
  who.peer = p.address;
  if (p.session.admitted()) {
    who.token = p.session.may().id;
    who.role = p.session.may().role;
    who.name = p.session.may().name;
  }
  tell_.audit(who, did, more);
}

void fleet_server::audit(client_id who, std::string did, audit_details more) {
  asio::post(loop_, [weak = weak_from_this(), who, did = std::move(did), more = std::move(more)] {
    const auto self = weak.lock();
    if (!self) return;
    if (const auto at = self->peers_.find(who); at != self->peers_.end()) self->note(at->second, did, more);
  });
}

void fleet_server::adopt(link_ptr link) {
  if (closed_) return link->close();
  const auto who = next_++;
  if (peers_.empty()) {
    awake_ = now(); // until now nobody was waited for
    watch();
  }
  wake();
  auto known = options_.admit ? std::nullopt : std::optional(pass::everything("anybody"));
  auto& p = peers_.try_emplace(who, peer_session(fleet_abilities(), std::move(known))).first->second;
  p.wire = std::move(link);
  p.address = p.wire->peer();
  p.since = now();
  const std::weak_ptr<fleet_server> weak = weak_from_this();
  p.wire->start(
      [weak, who](std::string_view body) {
        if (const auto self = weak.lock()) self->take(who, body);
      },
      [weak, who](const error& why) {
        if (const auto self = weak.lock()) self->lose(who, why.message);
      });
}

void fleet_server::wake() {
  const auto at = now();
  const auto gap = at - std::exchange(awake_, at);
  for (auto* held : {&strangers_lines_, &peers_lines_})
    for (const auto& line : held->due(at)) say(line);
  if (gap <= options_.lease / 2) return;
  ++absences_;
  back_ = at;
  registry_.listen_anew(at);
  for (auto& [who, p] : peers_)
    if (!p.agent && !p.client) p.since = at;
  say("the hub was away for " + human_duration(gap) +
      ": what is lost by that counts against no device and no candidate");
}

std::uint64_t fleet_server::absence_of(const peer& p) const {
  return absences_ != 0 && p.since <= back_ && now() - back_ <= options_.lease + options_.lease / 2 ? absences_ : 0;
}

void fleet_server::close() {
  closed_ = true;
  silence_.cancel();
  for (auto* held : {&strangers_lines_, &peers_lines_})
    for (const auto& line : held->rest(now())) say(line);
  for (auto& [who, p] : peers_) p.wire->close();
  peers_.clear();
  runs_.clear();
}

void fleet_server::take(agent_id who, std::string_view body) {
  const auto at = peers_.find(who);
  if (at == peers_.end()) return;
  wake();
  auto& p = at->second;
  status done;
  if (const auto part = p.bring ? read_part(body) : std::nullopt) {
    // Most of all bytes of a submission: they are read where they lie.
    done = p.bring->take(*part);
  } else if (Envelope message; !message.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    done = network_error("a message cannot be read");
  } else if (const auto what = p.session.take(message); what) {
    done = handle(who, p, *what, message);
  } else {
    done = what.err();
  }
  if (done) return;
  if (const auto still = peers_.find(who); still != peers_.end()) drop(who, still->second, done.err());
}

/// Says why, and hangs up.
void fleet_server::drop(agent_id who, peer& p, const error& why) {
  say(p.agent || p.client ? peers_lines_ : strangers_lines_, without_port(p.address) + ": " + why.message,
      "hung up on " + p.address + ": " + why.message);
  note(p, "was hung up on", {{"why", why.message}});
  Envelope out;
  to(why, *out.mutable_failed());
  p.wire->send(out.SerializeAsString());
  const auto wire = p.wire;
  lose(who, why.message, false);
  wire->close_after_writing();
}

void fleet_server::greet(peer& p, std::uint64_t request) {
  // Of those alone who speak the protocol: to find out who somebody is takes longer than to hear what he says.
  if (!p.session.admitted() && options_.trusted && options_.trusted(p.address))
    static_cast<void>(p.session.admit(pass::everything("local")));
  Envelope out;
  out.set_request(request);
  *out.mutable_welcome() = welcome_of(fleet_abilities(), p.session.agreed());
  p.wire->send(out.SerializeAsString());
  // Who has to show a token first is held to the short messages and the time of a greeting.
  if (p.session.admitted()) p.wire->established();
}

status fleet_server::authenticate(peer& p, const wire::v1::Authenticate& shown, std::uint64_t request) {
  if (options_.admit) {
    if (auto good = p.session.admit(options_.admit(shown.id(), shown.secret(), p.address)); !good) return good;
    const auto& may = p.session.may();
    say(peers_lines_, without_port(p.address) + " is token " + may.id,
        p.address + " is token " + may.id + " (" + may.role + ", " + may.name + ")");
    p.wire->established();
  }
  Envelope out;
  out.set_request(request);
  out.mutable_authenticated()->set_role(p.session.may().role);
  out.mutable_authenticated()->set_name(p.session.may().name);
  p.wire->send(out.SerializeAsString());
  return {};
}

status fleet_server::handle(agent_id who, peer& p, peer_session::step what, const Envelope& message) {
  using step = peer_session::step;
  if (p.session.at() == peer_session::stage::client && !p.client) {
    const auto clients = std::count_if(peers_.begin(), peers_.end(), [](const auto& e) { return e.second.client; });
    if (static_cast<std::size_t>(clients) >= options_.clients)
      return network_error("the hub has as many clients as it takes");
    p.client = true;
    note(p, "came as a client");
  }
  if (p.agent) registry_.heard(who, now());
  switch (what) {
  case step::greet:
    greet(p, message.request());
    return {};
  case step::authenticate:
    return authenticate(p, message.authenticate(), message.request());
  case step::come:
    return let_in(who, p, message.agent_hello(), message.request());
  case step::beat:
    p.wire->send(message.SerializeAsString());
    return {};
  case step::answers:
    return answers(who, message.answers());
  case step::output:
    return said(who, message.output());
  case step::fetch:
    return serve(p, message.artifact_fetch());
  case step::leave:
    if (const auto* d = registry_.find(who)) say(peers_lines_, "leaves " + d->name, "agent " + d->name + " leaves");
    lose(who, "it has left");
    return {};
  case step::submit:
    return submit(who, p, message);
  case step::part: // none is under way
    return network_error("a message that is not expected");
  case step::ping: {
    Envelope out;
    out.set_request(message.request());
    out.mutable_done();
    p.wire->send(out.SerializeAsString());
    return {};
  }
  case step::ask:
    if (message.has_manage())
      note(p, wire::v1::Manage::What_Name(message.manage().what()), {{"of", message.manage().name()}});
    if (tell_.asked) tell_.asked(who, message.request(), message);
    return {};
  }
  return network_error("a message that is not expected");
}

status fleet_server::let_in(agent_id who, peer& p, const wire::v1::AgentHello& hello, std::uint64_t request) {
  description what;
  if (auto good = from(hello, what); !good) return good;
  what.address = p.address;
  what.ahead = p.session.agreed().has("ahead");
  const auto name = what.name;
  const auto came = registry_.come(who, what, now());
  if (!came.let_in) return error{errc::network, came.refused, {}};
  if (came.instead) {
    // It is not the registry's any more: only what it held is to be lost.
    const auto old = peers_.find(*came.instead);
    const auto wire = old == peers_.end() ? nullptr : old->second.wire;
    lose(*came.instead, "came again");
    if (wire) wire->close();
  }
  auto& me = peers_.at(who);
  me.session.let_in();
  me.agent = true;
  Envelope out;
  out.set_request(request);
  out.mutable_agent_welcome()->set_heartbeat_ns(options_.heartbeat.count());
  out.mutable_agent_welcome()->set_lease_ns(options_.lease.count());
  me.wire->send(out.SerializeAsString());
  say(peers_lines_, "comes " + name,
      "agent " + name + " (" + me.address + ", " + std::to_string(what.slots) +
          (what.slots == 1 ? " slot)" : " slots)") + (came.instead ? " has come again" : " has come"));
  note(me, came.instead ? "came again as an agent" : "came as an agent", {{"device", name}});
  if (tell_.came) tell_.came(who, what);
  if (tell_.changed && !registry_.ready(who)) tell_.changed(who, what, false);
  return {};
}

void fleet_server::lose(agent_id who, const std::string& why, bool close) {
  auto node = peers_.extract(who);
  if (node.empty()) return;
  wake();
  auto& p = node.mapped();
  p.session.end();
  if (p.bring) p.bring->fail({errc::network, why, {}});
  if (p.agent) {
    const auto* d = registry_.find(who);
    const auto lost = leases_.lose(who);
    const auto absence = absence_of(p);
    if (d != nullptr) {
      say(peers_lines_, "goes " + d->name,
          "agent " + d->name + " is gone: " + why +
              (lost.empty() ? "" : "; what it had in hand goes elsewhere: " + std::to_string(lost.size())) +
              (absence == 0 ? "" : "; the hub was away"));
      note(p, "went", {{"device", d->name}, {"why", why}, {"leases lost", std::to_string(lost.size())}});
    }
    if (absence == 0) registry_.lost(who, lost.size());
    registry_.go(who, absence == 0 ? why : "the hub was away", now());
    for (const auto& l : lost) runs_.erase(l.id);
    if (tell_.went) tell_.went(who, absence);
  } else if (p.client) {
    note(p, "went", {{"why", why}});
    if (tell_.left) tell_.left(who);
  }
  if (close) p.wire->close();
}

void fleet_server::watch() {
  silence_.expires_after(options_.lease / 4);
  silence_.async_wait([weak = weak_from_this()](const asio::error_code& ec) {
    const auto self = weak.lock();
    if (ec || !self) return;
    self->wake();
    if (self->options_.stands) {
      std::vector<agent_id> revoked;
      for (const auto& [who, p] : self->peers_)
        if (p.session.admitted() && !p.session.may().id.empty() && !self->options_.stands(p.session.may().id))
          revoked.push_back(who);
      for (const auto who : revoked) self->drop(who, self->peers_.at(who), refused_token());
    }
    std::vector<agent_id> mute;
    for (const auto& [who, p] : self->peers_)
      if (!p.agent && !p.client && self->now() - p.since > self->options_.silence) mute.push_back(who);
    for (const auto who : mute)
      self->drop(who, self->peers_.at(who), {errc::network, "it was not said in time who this is", {}});
    for (const auto who : self->registry_.silent(self->now())) self->lose(who, "nothing was heard of it for too long");
    if (!self->peers_.empty()) self->watch();
  });
}

status fleet_server::drain(const std::string& name, bool on) {
  if (!registry_.drain(name, on)) return error{errc::not_found, "there is no device '" + name + "'", {}};
  if (const auto who = registry_.agent_of(name); who && tell_.changed)
    tell_.changed(*who, *registry_.find(*who), registry_.ready(*who));
  return {};
}

status fleet_server::ban(const std::string& name, bool on) {
  registry_.ban(name, on);
  if (!on) return {};
  if (const auto who = registry_.agent_of(name))
    if (const auto at = peers_.find(*who); at != peers_.end())
      drop(*who, at->second, {errc::network, "the device '" + name + "' is banned", {}});
  return {};
}

// --- orders and answers ---

void fleet_server::put(wanted w) {
  {
    const std::lock_guard guard(lock_);
    handed_.push_back(std::move(w));
    if (std::exchange(passing_, true)) return;
  }
  asio::post(loop_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->pass_on();
  });
}

void fleet_server::order(agent_id agent, std::uint32_t slot, trial_ptr what, measure::artifact_ptr built,
                         run_callback done) {
  put({agent, slot, std::move(what), false, std::move(built), std::move(done)});
}

void fleet_server::stop(agent_id agent, std::uint32_t slot, trial_ptr what) {
  put({agent, slot, std::move(what), true, nullptr, {}});
}

/// Those that wait to be listed come behind those that have a lease.
void fleet_server::stop_now(const wanted& w, peer& p) {
  for (const auto lease : leases_.of(w.agent, w.slot)) {
    if (w.what && runs_.at(lease).what != w.what) continue;
    p.next.add_stop(lease);
    runs_.at(lease).stopped = true;
    dirty_.push_back(w.agent);
    return;
  }
  if (const auto early = listing_.find({w.agent, w.slot}); early != listing_.end())
    for (auto& [what, stopped] : early->second)
      if (!w.what || what == w.what) {
        stopped = true;
        return;
      }
}

void fleet_server::loud(const task_ptr& of, bool on) {
  asio::post(loop_, [weak = weak_from_this(), of, on] {
    const auto self = weak.lock();
    if (!self) return;
    if (on)
      self->loud_.insert(of);
    else
      self->loud_.erase(of);
  });
}

void fleet_server::forget(const task_ptr& of, std::shared_ptr<const task_package> as) {
  asio::post(loop_, [weak = weak_from_this(), of, as = std::move(as)] {
    const auto self = weak.lock();
    if (!self) return;
    self->loud_.erase(of);
    for (auto& [who, p] : self->peers_) {
      const auto known = p.tasks.find(of);
      if (known == p.tasks.end()) continue;
      if (p.session.agreed().has("forget")) {
        p.next.add_forget(known->second);
        self->dirty_.push_back(who);
      }
      if (as) p.gives.withdraw(as->files, as->folder);
      p.tasks.erase(known);
    }
    self->flush();
  });
}

const pass* fleet_server::pass_of(client_id who) const {
  const auto at = peers_.find(who);
  return at == peers_.end() || !at->second.session.admitted() ? nullptr : &at->second.session.may();
}

status fleet_server::said(agent_id who, const wire::v1::Output& message) {
  const auto* lease = leases_.find(message.lease());
  if (message.text().size() > 8192 || message.samples_size() > 64)
    return network_error("more output than there may be");
  const auto run = runs_.find(message.lease());
  // Of a lease that has ended it is of no use.
  if (lease == nullptr || lease->agent != who || run == runs_.end() || !tell_.said) return {};
  tell_.said(*run->second.what, registry_.find(who)->name + "/slot" + std::to_string(lease->slot), message);
  return {};
}

void fleet_server::pass_on() {
  std::vector<wanted> handed;
  {
    const std::lock_guard guard(lock_);
    handed.swap(handed_);
    passing_ = false;
  }
  if (!peers_.empty()) wake();
  for (auto& w : handed) {
    const auto at = peers_.find(w.agent);
    if (at == peers_.end()) continue; // its place is being taken away
    if (w.stops) {
      stop_now(w, at->second);
      continue;
    }
    if (!w.built) {
      begin(std::move(w), nullptr);
      continue;
    }
    listing_[{w.agent, w.slot}].emplace_back(w.what, false);
    read_aside([self = shared_from_this(), w = std::move(w)]() mutable {
      auto listed = list_folder(w.built->directory);
      auto& loop = self->loop_;
      asio::post(loop, [self = std::move(self), w = std::move(w), listed = std::move(listed)]() mutable {
        // They are listed in their order.
        const auto mine = self->listing_.find({w.agent, w.slot});
        const bool stopped = mine->second.front().second;
        mine->second.pop_front();
        if (mine->second.empty()) self->listing_.erase(mine);
        if (stopped) {
          w.done({failure{failure_kind::cancelled, "cancelled", {}, {}}, {}, {}, {}});
          return;
        }
        if (!listed) {
          w.done({failure{failure_kind::internal, listed.err().text(), {}, {}}, {}, {}, {}});
          return;
        }
        self->begin(std::move(w), std::make_shared<const manifest>(std::move(*listed)));
        self->flush();
      });
    });
  }
  flush();
}

void fleet_server::begin(wanted w, std::shared_ptr<const manifest> folder) {
  const auto at = peers_.find(w.agent);
  if (at == peers_.end()) return;
  auto& p = at->second;
  const auto refuse = [&w](std::string why) {
    w.done({failure{failure_kind::internal, std::move(why), {}, {}}, {}, {}, {}});
  };
  auto& number = p.tasks[w.what->of];
  if (number == 0) {
    const auto packed = package ? package(w.what->of) : nullptr;
    if (!packed) {
      p.tasks.erase(w.what->of);
      return refuse("this task cannot be sent to an agent");
    }
    number = ++p.tasks_told;
    auto& notice = *p.next.add_tasks();
    notice.set_number(number);
    notice.set_spec(packed->spec);
    notice.set_file(packed->file);
    notice.set_task(w.what->of->spec.name);
    storage::convert::to(w.what->of->where.facts, *notice.mutable_target());
    to(packed->files, *notice.mutable_files());
    p.gives.offer(packed->files, packed->folder);
  }
  const auto lease = leases_.grant(w.agent, w.slot, now());
  if (!lease) return refuse("the slot is taken");
  auto& o = *p.next.add_orders();
  o.set_lease(*lease);
  o.set_slot(w.slot);
  o.set_task(number);
  storage::convert::to(w.what->config, *o.mutable_configuration());
  o.set_number(w.what->number);
  if (w.what->rival) o.set_rival(*w.what->rival);
  if (w.what->noise) o.set_noise(*w.what->noise);
  o.set_purpose(static_cast<std::uint32_t>(w.what->why));
  if (loud_.contains(w.what->of) && p.session.agreed().has("output")) o.set_output(true);
  if (folder) {
    o.set_built(true);
    to(*folder, *o.mutable_folder());
    const auto& b = *w.built;
    p.gives.offer(*folder, b.directory);
    if (b.path.size() > b.directory.size()) o.set_artifact(b.path.substr(b.directory.size() + 1));
  }
  runs_.emplace(*lease,
                in_hand{std::move(w.what), std::move(w.built), std::move(folder), std::move(w.done), false, now()});
  dirty_.push_back(w.agent);
}

void fleet_server::flush() {
  for (const auto who : std::exchange(dirty_, {})) {
    const auto at = peers_.find(who);
    if (at == peers_.end()) continue;
    auto& p = at->second;
    if (p.next.orders_size() == 0 && p.next.stop_size() == 0 && p.next.forget_size() == 0) continue;
    Envelope out;
    out.mutable_orders()->Swap(&p.next);
    p.next.Clear();
    p.wire->send(out.SerializeAsString());
  }
}

status fleet_server::answers(agent_id who, const wire::v1::Answers& message) {
  for (const auto lease : message.arrived())
    if (const auto run = runs_.find(lease); run != runs_.end() && tell_.uploads)
      tell_.uploads(who, run->second.what, run->second.ordered);
  for (const auto& a : message.answers()) {
    measure::run_result r;
    if (auto good = from(a, r); !good) return good;
    switch (leases_.end(a.lease(), who)) {
    case lease_table::answer::unknown:
      return network_error("an answer to what was never asked");
    case lease_table::answer::late:
      say(peers_lines_, "late " + registry_.find(who)->name,
          "a late answer of " + registry_.find(who)->name + " is not used");
      continue;
    case lease_table::answer::good:
      break;
    }
    auto node = runs_.extract(a.lease());
    if (node.empty()) continue;
    if (const auto& run = node.mapped(); run.folder)
      if (const auto at = peers_.find(who); at != peers_.end())
        at->second.gives.withdraw(*run.folder, run.built->directory);
    const auto* m = std::get_if<measurement>(&r.data);
    auto* f = std::get_if<failure>(&r.data);
    // Nobody here wanted that: an agent that leaves in order. The trial goes elsewhere.
    if (f != nullptr && f->kind == failure_kind::cancelled && !node.mapped().stopped)
      *f = {failure_kind::internal, "the agent has ended it by itself", {}, {}};
    registry_.ran(who, m != nullptr ? scatter_of(m->samples) : std::nullopt,
                  f != nullptr && is_infrastructure(f->kind) && f->kind != failure_kind::cancelled ? f->message : "");
    node.mapped().done(std::move(r));
  }
  return {};
}

std::string fleet_server::text_of(lease_id id) const {
  const auto at = runs_.find(id);
  return at == runs_.end() ? std::string() : at->second.what->of->spec.name + ": " + at->second.what->config.text();
}

// --- files ---

status fleet_server::serve(peer& p, const wire::v1::ArtifactFetch& asked) {
  if (auto good = p.gives.answer(asked, part_); !good) return good;
  p.wire->send(part_);
  return {};
}

status fleet_server::submit(agent_id who, peer& p, const Envelope& message) {
  auto files = from(message.submit().files());
  if (!files) return files.err();
  for (const auto& f : files->files)
    if (!f.has_contents()) return network_error("a submission names files alone");
  if (files->bytes() > options_.files_most) return network_error("the files are more than the hub takes");
  if (!p.bring)
    p.bring =
        std::make_unique<artifact_receiver>(files_, [weak = std::weak_ptr(p.wire)](const wire::v1::ArtifactFetch& ask) {
          Envelope out;
          *out.mutable_artifact_fetch() = ask;
          if (const auto wire = weak.lock()) wire->send(out.SerializeAsString());
        });
  auto then = [this, who, message](const status& done) {
    if (done) {
      if (tell_.asked) tell_.asked(who, message.request(), message);
      return;
    }
    Envelope out;
    out.set_request(message.request());
    to(done.err(), *out.mutable_failed());
    const auto at = peers_.find(who);
    if (at == peers_.end()) return;
    at->second.session.answered();
    at->second.wire->send(out.SerializeAsString());
  };
  if (!takes_long_to_check(*files, *files_)) {
    p.bring->want(*files, then);
    return {};
  }
  read_aside([self = shared_from_this(), who, files = std::move(*files), then = std::move(then)]() mutable {
    for (const auto& f : files.files) self->files_->has(f.contents);
    // Not the last owner here: it would wait for this thread.
    auto& loop = self->loop_;
    asio::post(loop, [self = std::move(self), who, files = std::move(files), then = std::move(then)] {
      const auto at = self->peers_.find(who);
      if (at != self->peers_.end() && at->second.bring) at->second.bring->want(files, then);
    });
  });
  return {};
}

void fleet_server::reply(client_id to, std::uint64_t request, Envelope message) {
  message.set_request(request);
  const bool last = message.has_ended() || message.has_failed() || message.has_devices() || message.has_done();
  asio::post(loop_, [weak = weak_from_this(), to, last, body = message.SerializeAsString()] {
    const auto self = weak.lock();
    if (!self) return;
    const auto at = self->peers_.find(to);
    if (at == self->peers_.end()) return;
    if (last) at->second.session.answered();
    at->second.wire->send(body);
  });
}

} // namespace attune::net::fleet
