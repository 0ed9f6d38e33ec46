#include "net/fleet/fleet_server.hpp"

#include "net/store_messages.hpp"
#include "net/tokens.hpp"
#include "storage/convert.hpp"

#include <asio/post.hpp>

#include <algorithm>

namespace attune::net::fleet {

using wire::v1::Envelope;

fleet_server::fleet_server(asio::io_context& loop, std::shared_ptr<blob_store> files,
                           const fleet_server_options& options, events tell)
    : loop_(loop),
      files_(std::move(files)),
      options_(options),
      tell_(std::move(tell)),
      registry_(options.lease),
      silence_(loop) {}

fleet_server::~fleet_server() { reading_.join(); }

void fleet_server::say(const std::string& text) const {
  if (tell_.log) tell_.log(text);
}

void fleet_server::adopt(link_ptr link) {
  if (closed_) return link->close();
  const auto who = next_++;
  if (peers_.empty()) watch();
  auto& p = peers_[who];
  p.wire = std::move(link);
  p.address = p.wire->peer();
  const std::weak_ptr<fleet_server> weak = weak_from_this();
  p.wire->start(
      [weak, who](std::string_view body) {
        if (const auto self = weak.lock()) self->take(who, body);
      },
      [weak, who](const error& why) {
        if (const auto self = weak.lock()) self->lose(who, why.message);
      });
}

void fleet_server::close() {
  closed_ = true;
  silence_.cancel();
  for (auto& [who, p] : peers_) p.wire->close();
  peers_.clear();
  runs_.clear();
}

void fleet_server::take(agent_id who, std::string_view body) {
  const auto at = peers_.find(who);
  if (at == peers_.end()) return;
  Envelope message;
  auto& p = at->second;
  status done;
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size())))
    done = bad_message("a message cannot be read");
  else if (p.is == role::none)
    done = message.has_hello() ? greet(p, message.hello(), message.request())
                               : status(bad_message("the first message is no greeting"));
  else
    done = handle(who, p, message);
  if (done) return;
  if (const auto still = peers_.find(who); still != peers_.end()) drop(who, still->second, done.err());
}

/// Says why, and hangs up.
void fleet_server::drop(agent_id who, peer& p, const error& why) {
  say("hung up on " + p.address + ": " + why.message);
  Envelope out;
  to(why, *out.mutable_failed());
  p.wire->send(out.SerializeAsString());
  const auto wire = p.wire;
  lose(who, why.message, false);
  wire->close_after_writing();
}

status fleet_server::greet(peer& p, const wire::v1::Hello& hello, std::uint64_t request) {
  const auto mine = fleet_abilities();
  const auto agreed = agree(mine, hello);
  if (!agreed) return agreed.err();
  p.is = role::greeted;
  p.wire->established();
  if (!options_.admit || (options_.trusted && options_.trusted(p.address))) p.may = pass::everything();
  Envelope out;
  out.set_request(request);
  *out.mutable_welcome() = welcome_of(mine, *agreed);
  p.wire->send(out.SerializeAsString());
  return {};
}

status fleet_server::authenticate(peer& p, const wire::v1::Authenticate& shown, std::uint64_t request) {
  if (options_.admit) {
    auto may = options_.admit(shown.id(), shown.secret());
    if (!may) return refused_token();
    p.may = std::move(may);
    p.token = p.may->id;
    say(p.address + " is " + p.may->name);
  }
  Envelope out;
  out.set_request(request);
  out.mutable_authenticated()->set_name(p.may->name);
  p.wire->send(out.SerializeAsString());
  return {};
}

status fleet_server::handle(agent_id who, peer& p, const Envelope& message) {
  if (p.is == role::greeted) {
    if (message.has_authenticate()) return authenticate(p, message.authenticate(), message.request());
    if (!p.may) return refused_token();
    if (message.has_agent_hello() && !p.may->work) return refused_deed();
    if (message.has_agent_hello()) return let_in(who, p, message.agent_hello(), message.request());
    p.is = role::client;
    const auto clients =
        std::count_if(peers_.begin(), peers_.end(), [](const auto& e) { return e.second.is == role::client; });
    if (static_cast<std::size_t>(clients) > options_.clients)
      return bad_message("the hub has as many clients as it takes");
  }
  if (p.is == role::agent) {
    registry_.heard(who, now());
    switch (message.body_case()) {
    case Envelope::kHeartbeat:
      p.wire->send(message.SerializeAsString());
      return {};
    case Envelope::kAnswers:
      return answers(who, message.answers());
    case Envelope::kFetch:
      return serve(who, p, message.fetch(), message.request());
    case Envelope::kGoodbye:
      say("agent " + registry_.find(who)->name + " leaves");
      lose(who, "it has left");
      return {};
    default:
      return bad_message("a message that is not expected");
    }
  }
  const bool allowed = message.has_submit() || message.has_follow() || message.has_chunk() ? p.may->tune
                       : message.has_manage()                                              ? p.may->manage
                                                                                           : p.may->watch;
  if (!allowed) return refused_deed();
  switch (message.body_case()) {
  case Envelope::kSubmit:
    return submit(who, p, message);
  case Envelope::kChunk:
    return p.bring ? p.bring->take(message.chunk()) : status(bad_message("a message that is not expected"));
  case Envelope::kPing: {
    Envelope out;
    out.set_request(message.request());
    out.mutable_done();
    p.wire->send(out.SerializeAsString());
    return {};
  }
  case Envelope::kFollow:
  case Envelope::kListDevices:
  case Envelope::kManage:
    if (tell_.asked) tell_.asked(who, message.request(), message);
    return {};
  default:
    return bad_message("a message that is not expected");
  }
}

status fleet_server::let_in(agent_id who, peer& p, const wire::v1::AgentHello& hello, std::uint64_t request) {
  description what;
  if (auto good = from(hello, what); !good) return good;
  what.address = p.address;
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
  me.is = role::agent;
  Envelope out;
  out.set_request(request);
  out.mutable_agent_welcome()->set_heartbeat_ns(options_.heartbeat.count());
  out.mutable_agent_welcome()->set_lease_ns(options_.lease.count());
  me.wire->send(out.SerializeAsString());
  say("agent " + name + " (" + me.address + ", " + std::to_string(what.slots) +
      (what.slots == 1 ? " slot)" : " slots)") + (came.instead ? " has come again" : " has come"));
  if (tell_.came) tell_.came(who, what);
  if (tell_.changed && !registry_.ready(who)) tell_.changed(who, what, false);
  return {};
}

void fleet_server::lose(agent_id who, const std::string& why, bool close) {
  auto node = peers_.extract(who);
  if (node.empty()) return;
  auto& p = node.mapped();
  if (p.bring) p.bring->fail({errc::network, why, {}});
  if (p.is == role::agent) {
    const auto* d = registry_.find(who);
    const auto lost = leases_.lose(who);
    if (d != nullptr)
      say("agent " + d->name + " is gone: " + why +
          (lost.empty() ? "" : "; what it had in hand goes elsewhere: " + std::to_string(lost.size())));
    registry_.lost(who, lost.size());
    registry_.go(who, why, now());
    for (const auto& l : lost) runs_.erase(l.id);
    if (tell_.went) tell_.went(who);
  } else if (p.is == role::client && tell_.left) {
    tell_.left(who);
  }
  if (close) p.wire->close();
}

void fleet_server::watch() {
  silence_.expires_after(options_.lease / 4);
  silence_.async_wait([weak = weak_from_this()](const asio::error_code& ec) {
    const auto self = weak.lock();
    if (ec || !self) return;
    if (self->options_.stands) {
      std::vector<agent_id> revoked;
      for (const auto& [who, p] : self->peers_)
        if (!p.token.empty() && !self->options_.stands(p.token)) revoked.push_back(who);
      for (const auto who : revoked) self->drop(who, self->peers_.at(who), refused_token());
    }
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
  put({agent, slot, std::move(what), std::move(built), std::move(done)});
}

void fleet_server::stop(agent_id agent, std::uint32_t slot) { put({agent, slot, nullptr, nullptr, {}}); }

void fleet_server::pass_on() {
  std::vector<wanted> now_;
  {
    const std::lock_guard guard(lock_);
    now_.swap(handed_);
    passing_ = false;
  }
  for (auto& w : now_) {
    const auto at = peers_.find(w.agent);
    if (at == peers_.end()) continue; // its place is being taken away
    if (!w.what) {
      if (const auto early = listing_.find({w.agent, w.slot}); early != listing_.end()) {
        early->second = true;
      } else if (const auto lease = leases_.holder(w.agent, w.slot)) {
        at->second.next.add_stop(*lease);
        dirty_.push_back(w.agent);
      }
      continue;
    }
    if (!w.built) {
      begin(std::move(w), nullptr);
      continue;
    }
    listing_[{w.agent, w.slot}] = false;
    asio::post(reading_, [self = shared_from_this(), w = std::move(w)]() mutable {
      auto listed = list_folder(w.built->directory);
      asio::post(self->loop_, [self, w = std::move(w), listed = std::move(listed)]() mutable {
        const auto stopped = self->listing_.extract({w.agent, w.slot});
        if (!stopped.empty() && stopped.mapped()) {
          w.done({failure{failure_kind::cancelled, "cancelled", {}, {}}, {}, {}, {}});
          return;
        }
        if (!listed) {
          w.done({failure{failure_kind::internal, listed.err().text(), {}, {}}, {}, {}, {}});
          return;
        }
        self->begin(std::move(w), std::make_shared<const std::vector<file_entry>>(std::move(*listed)));
        self->flush();
      });
    });
  }
  flush();
}

void fleet_server::begin(wanted w, std::shared_ptr<const std::vector<file_entry>> folder) {
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
    number = static_cast<std::uint32_t>(p.packages.size() + 1);
    p.packages.push_back(packed);
    auto& notice = *p.next.add_tasks();
    notice.set_number(number);
    notice.set_spec(packed->spec);
    notice.set_file(packed->file);
    notice.set_task(w.what->of->spec.name);
    storage::convert::to(w.what->of->where.facts, *notice.mutable_target());
    for (const auto& f : packed->files) to(f, *notice.add_files());
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
  if (folder) {
    o.set_built(true);
    for (const auto& f : *folder) to(f, *o.add_folder());
    const auto& b = *w.built;
    if (b.path.size() > b.directory.size()) o.set_artifact(b.path.substr(b.directory.size() + 1));
  }
  runs_.emplace(*lease, in_hand{std::move(w.what), std::move(w.built), std::move(folder), std::move(w.done)});
  dirty_.push_back(w.agent);
}

void fleet_server::flush() {
  for (const auto who : std::exchange(dirty_, {})) {
    const auto at = peers_.find(who);
    if (at == peers_.end()) continue;
    auto& p = at->second;
    if (p.next.orders_size() == 0 && p.next.stop_size() == 0) continue;
    Envelope out;
    out.mutable_orders()->Swap(&p.next);
    p.next.Clear();
    p.wire->send(out.SerializeAsString());
  }
}

status fleet_server::answers(agent_id who, const wire::v1::Answers& message) {
  for (const auto lease : message.arrived())
    if (const auto run = runs_.find(lease); run != runs_.end() && run->second.fetched && tell_.uploads)
      tell_.uploads(who, run->second.what, true);
  for (const auto& a : message.answers()) {
    measure::run_result r;
    if (auto good = from(a, r); !good) return good;
    switch (leases_.end(a.lease(), who)) {
    case lease_table::answer::unknown:
      return bad_message("an answer to what was never asked");
    case lease_table::answer::late:
      say("a late answer of " + registry_.find(who)->name + " is not used");
      continue;
    case lease_table::answer::good:
      break;
    }
    auto node = runs_.extract(a.lease());
    if (node.empty()) continue;
    const auto* m = std::get_if<measurement>(&r.data);
    const auto* f = std::get_if<failure>(&r.data);
    registry_.ran(who, m != nullptr && m->samples.size() > 1 ? std::optional(m->spread) : std::nullopt,
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

status fleet_server::serve(agent_id who, peer& p, const wire::v1::Fetch& asked, std::uint64_t request) {
  digest what;
  if (auto good = from(asked.sha256(), what); !good) return good;
  // Only what it was told of: of its tasks, and of its leases.
  std::string path;
  for (const auto& packed : p.packages)
    for (const auto& f : packed->files)
      if (!f.folder && f.sha256 == what) path = packed->folder + "/" + f.path;
  if (path.empty())
    for (const auto& l : leases_.of(who)) {
      const auto run = runs_.find(l.id);
      if (run == runs_.end() || !run->second.folder) continue;
      for (const auto& f : *run->second.folder) {
        if (f.folder || !f.link.empty() || f.sha256 != what) continue;
        path = run->second.built->directory + "/" + f.path;
        if (!std::exchange(run->second.fetched, true) && tell_.uploads) tell_.uploads(who, run->second.what, false);
      }
    }
  if (path.empty()) return bad_message("a file is asked for that was not offered");
  Envelope out;
  out.set_request(request);
  if (auto read = read_chunk(path, asked, *out.mutable_chunk()); !read) return read;
  p.wire->send(out.SerializeAsString());
  return {};
}

status fleet_server::submit(agent_id who, peer& p, const Envelope& message) {
  std::vector<file_entry> files;
  if (auto good = from_all(message.submit().files(), files); !good) return good;
  std::uint64_t bytes = 0;
  for (const auto& f : files) {
    if (f.folder || !f.link.empty()) return bad_message("a submission names files alone");
    bytes += f.size;
    if (f.size > options_.files_most || bytes > options_.files_most)
      return bad_message("the files are more than the hub takes");
  }
  if (!p.bring)
    p.bring = std::make_unique<fetcher>(files_, [weak = std::weak_ptr(p.wire)](const wire::v1::Fetch& ask) {
      Envelope out;
      *out.mutable_fetch() = ask;
      if (const auto wire = weak.lock()) wire->send(out.SerializeAsString());
    });
  p.bring->want(files, [this, who, message](const status& done) {
    if (done) {
      if (tell_.asked) tell_.asked(who, message.request(), message);
      return;
    }
    Envelope out;
    out.set_request(message.request());
    to(done.err(), *out.mutable_failed());
    if (const auto at = peers_.find(who); at != peers_.end()) at->second.wire->send(out.SerializeAsString());
  });
  return {};
}

void fleet_server::reply(client_id to, std::uint64_t request, Envelope message) {
  message.set_request(request);
  asio::post(loop_, [weak = weak_from_this(), to, body = message.SerializeAsString()] {
    const auto self = weak.lock();
    if (!self) return;
    if (const auto at = self->peers_.find(to); at != self->peers_.end()) at->second.wire->send(body);
  });
}

} // namespace attune::net::fleet
