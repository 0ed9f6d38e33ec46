#include "net/fleet/hub.hpp"

#include "actors/messages.hpp"
#include "actors/scheduler.hpp"
#include "net/fleet/candidate_bans.hpp"
#include "net/fleet/job.hpp"
#include "net/fleet/matching.hpp"
#include "net/store_messages.hpp"
#include "net/timer.hpp"
#include "net/tokens.hpp"
#include "storage/convert.hpp"

#include <asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

namespace attune::net::fleet {

using wire::v1::Envelope;

namespace {

constexpr std::size_t messages_kept = 200;
/// Jobs are looked at each second at least: what is longer than this is an absence.
constexpr nanoseconds away_after = std::chrono::seconds(5);
/// What runs say travels to clients at this rate at the most, of each task.
constexpr std::size_t output_each_second = 64 << 10;

/// One task of a job, under way.
struct running {
  task_ptr of;
  std::optional<actors::session> session; ///< none: it shares a budget
  actors::tuner_status last;
  std::shared_ptr<const actors::tuning_report> report;
  std::optional<std::uint64_t> trials;
  std::optional<nanoseconds> unserved; ///< since when no device serves it
};

/// What the budget comes to, for the display.
std::optional<std::uint64_t> budget_of(const task_spec& spec, const search::space& over) {
  std::optional<std::uint64_t> trials = spec.search.trials;
  const auto count = over.count();
  if (spec.search.fraction && count) trials = trials_of_fraction(*spec.search.fraction, static_cast<double>(*count));
  if (!trials && !spec.search.time) trials = actors::default_trials;
  if (count && *count < (search::uint128{1} << 62) && trials)
    trials = std::min(*trials, static_cast<std::uint64_t>(*count));
  return trials;
}

struct follower {
  client_id who = 0;
  std::uint64_t request = 0;
  bool output = false; ///< what runs say is wanted
};

/// Who hears what a task's runs say.
struct audience {
  std::vector<follower> of;
  nanoseconds since{0}; ///< of the present second
  std::size_t sent = 0;
  std::uint64_t left_out = 0;
};

struct open_job {
  explicit open_job(job_folder w) : where(std::move(w)) {}
  job_folder where;
  std::vector<task_spec> specs;
  std::optional<budget_spec> budget; ///< that they share
  std::optional<actors::joint_session> whole;
  std::vector<running> tasks;   ///< empty: it waits for its devices
  std::vector<task_ptr> packed; ///< those that agents can be told of
  nanoseconds since{0};         ///< that it waits, or is under way
  nanoseconds patience{0};      ///< of its waiting
  std::vector<follower> followers;
  std::string said;        ///< the last Progress
  std::string end_message; ///< why it was ended before its time

  /// Whose it is: by the token, else by the name that was given.
  std::string owner() const {
    const auto& s = where.submission();
    return s.owner().empty() ? "~" + std::string(s.client()) : std::string(s.owner());
  }
  void cancel() {
    if (whole) whole->cancel();
    for (auto& t : tasks)
      if (t.session) t.session->cancel();
  }
};

} // namespace

struct hub::impl : std::enable_shared_from_this<hub::impl> {
  impl(asio::io_context& l, hub_options o) : loop(l), options(std::move(o)) {}

  asio::io_context& loop;
  hub_options options;
  std::string jobs_folder;
  std::shared_ptr<fleet_server> server;
  std::unique_ptr<actors::engine> engine;

  // The loop's thread.
  struct offered_slots {
    std::vector<std::uint64_t> numbers; ///< the engine's
    /// place_info::absence of all of them.
    std::shared_ptr<std::atomic<std::uint64_t>> absence = std::make_shared<std::atomic<std::uint64_t>>(0);
  };
  std::unordered_map<agent_id, offered_slots> slots;
  bool closing = false;

  std::mutex lock; ///< guards what follows
  std::condition_variable news;
  std::deque<std::function<void()>> todo;
  bool stopping = false;
  std::map<std::string, description> ready; ///< devices that get work, by name
  std::unordered_map<const task*, std::shared_ptr<const task_package>> packages;
  std::map<std::string, std::set<std::string>> asked; ///< by the form of a target: what its tasks ask of a device
  std::map<const task*, std::vector<std::string>> messages;
  std::map<const task*, std::set<std::string>> said;
  std::map<const task*, audience> hearers;
  std::vector<std::string> job_lines, away;
  std::vector<wire::v1::ClientShare> clients;
  std::uint64_t waiting = 0;
  std::uint32_t unserved = 0;
  std::optional<candidate_bans> bans;

  // The desk's thread.
  std::map<std::string, open_job> jobs;
  std::deque<std::string> ended_names;         ///< of jobs, the longest ended first
  std::map<std::string, std::uint64_t> owners; ///< their numbers for the engine
  std::uint64_t next_owner = 1;
  nanoseconds looked{0}; ///< when the jobs were last looked at
  std::thread desk;
  std::unique_ptr<timer> looks; ///< where it has no thread

  void say(const std::string& text) {
    if (options.log) options.log(text);
  }
  /// With the lock held.
  const std::set<std::string>& asked_of(const std::string& target_form) const {
    static const std::set<std::string> nothing;
    const auto at = asked.find(target_form);
    return at == asked.end() ? nothing : at->second;
  }
  nanoseconds now() const { return options.wire.clock->monotonic(); }

  void post(std::function<void()> what) {
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

  void came(agent_id who, const description& what) {
    if (closing) return;
    slots[who];
    refresh();
    // One that is drained gets not even a first order.
    if (server->devices().ready(who)) offer(who, what);
  }

  void offer(agent_id who, const description& what) {
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

  void went(agent_id who, std::uint64_t absence) {
    const auto node = slots.extract(who);
    if (node.empty() || closing) return;
    node.mapped().absence->store(absence);
    for (const auto number : node.mapped().numbers) engine->remove_slot(number);
    refresh();
  }

  void changed(agent_id who, const description& what, bool on) {
    const auto at = slots.find(who);
    if (at == slots.end() || closing) return;
    for (const auto number : at->second.numbers) engine->rest_slot(number, !on);
    refresh();
    if (on && at->second.numbers.empty()) offer(who, what);
  }

  void refresh() {
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

  /// What there is, for who is served by none of it. With the lock held.
  std::string no_service(const arguments& target, const std::vector<const description*>& there) const {
    auto out = nothing_serves(target, there);
    if (!away.empty()) out += "; not in service:";
    for (const auto& a : away) out += (&a == &away.front() ? " " : ", ") + a;
    return out;
  }

  /// What a run has said, to those who want to hear it.
  void output(const trial& what, const std::string& place, const wire::v1::Output& heard) {
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

  std::shared_ptr<const task_package> package(const task_ptr& of) {
    const std::lock_guard guard(lock);
    const auto at = packages.find(of.get());
    return at == packages.end() ? nullptr : at->second;
  }

  // --- clients ---

  void fail(client_id who, std::uint64_t request, const error& why) {
    Envelope out;
    to(why, *out.mutable_failed());
    server->reply(who, request, std::move(out));
  }

  void asked_by(client_id who, std::uint64_t request, const Envelope& message) {
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

  void list(wire::v1::Devices& out) {
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

  void manage(client_id who, std::uint64_t request, const wire::v1::Manage& what) {
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

  void ban_candidate(client_id who, std::uint64_t request, const wire::v1::Manage& what, const std::string& by) {
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

  /// Who is banned now is not run, and stopped where it runs.
  void refuse() {
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

  // --- jobs, on the desk's thread ---

  schedulers::share_terms terms_of(const open_job& j) {
    const auto& s = j.where.submission();
    auto [at, fresh] = owners.try_emplace(j.owner(), next_owner);
    if (fresh) ++next_owner;
    schedulers::share_terms out;
    out.owner = at->second;
    out.weight = s.weight() > 0 ? s.weight() : 1;
    out.limit = s.limit();
    out.part = schedulers::part_of_priority(std::clamp(s.options().priority(), -5, 5));
    return out;
  }

  void set_audience(const open_job& j) {
    std::vector<follower> loud;
    for (const auto& f : j.followers)
      if (f.output) loud.push_back(f);
    for (const auto& t : j.tasks) {
      server->loud(t.of, !loud.empty());
      const std::lock_guard guard(lock);
      if (loud.empty())
        hearers.erase(t.of.get());
      else
        hearers[t.of.get()].of = loud;
    }
  }

  /// Remembers that a job has ended, and forgets those that ended long ago.
  void keep_ended(const std::string& name) {
    std::erase(ended_names, name);
    ended_names.push_back(name);
    while (ended_names.size() > options.ended_jobs) {
      const auto oldest = ended_names.front();
      ended_names.pop_front();
      if (auto there = job_folder::open(jobs_folder, oldest); there && !jobs.contains(oldest)) there->remove();
    }
  }

  void submit(client_id who, std::uint64_t request, const wire::v1::Submit& what) {
    // What is under way is followed: its folder stays as it is.
    const auto name = job_folder::name_of(what);
    if (!jobs.contains(name)) {
      std::size_t same = 0;
      const auto owner = what.owner().empty() ? "~" + std::string(what.client()) : std::string(what.owner());
      for (const auto& [other, j] : jobs)
        if (j.owner() == owner) ++same;
      if (same >= options.jobs_each)
        return fail(who, request,
                    {errc::network,
                     "this client has " + std::to_string(same) + " jobs under way, as many as it may; wait for one",
                     {}});
      auto made = job_folder::create(jobs_folder, what, *server->files());
      if (!made) return fail(who, request, made.err());
      open_job j(std::move(*made));
      auto specs = j.where.read();
      if (!specs) {
        j.where.remove();
        return fail(who, request, specs.err());
      }
      j.specs = std::move(*specs);
      j.budget = *j.where.budget();
      j.since = now();
      j.patience = options.match_patience;
      std::erase(ended_names, name);
      jobs.emplace(name, std::move(j));
      say("job " + name + ": " + what.file() + " submitted by " + what.client());
    }
    server->audit(who, "submitted", {{"job", name}, {"file", what.file()}});
    Envelope out;
    out.mutable_submitted()->set_job(name);
    server->reply(who, request, std::move(out));
    auto& j = jobs.at(name);
    j.followers.push_back({who, request, what.output()});
    j.said.clear(); // it begins when the jobs are looked at, right after this
    if (j.tasks.empty()) return;
    // It is under way: the same again may have another priority.
    if (const auto priority = what.options().priority();
        priority != j.where.submission().options().priority() && j.where.set_priority(priority)) {
      const auto terms = terms_of(j);
      if (j.whole) j.whole->share(terms);
      for (auto& t : j.tasks)
        if (t.session) t.session->share(terms);
    }
    set_audience(j);
  }

  void follow(client_id who, std::uint64_t request, const wire::v1::Follow& what) {
    const std::string name(what.job());
    Envelope submitted;
    submitted.mutable_submitted()->set_job(name);
    if (const auto at = jobs.find(name); at != jobs.end()) {
      server->reply(who, request, std::move(submitted));
      at->second.followers.push_back({who, request, what.output()});
      at->second.said.clear();
      set_audience(at->second);
      return;
    }
    const auto there = job_folder::open(jobs_folder, name);
    if (!there) return fail(who, request, there.err());
    const auto ended = there->ended();
    if (!ended) return fail(who, request, {errc::not_found, "the job '" + name + "' is not under way", {}});
    server->reply(who, request, std::move(submitted));
    Envelope out;
    *out.mutable_ended() = *ended;
    server->reply(who, request, std::move(out));
  }

  void cancel(client_id who, std::uint64_t request, const std::string& name) {
    const auto at = jobs.find(name);
    if (at == jobs.end()) return fail(who, request, {errc::not_found, "there is no job '" + name + "' under way", {}});
    at->second.end_message = "called back";
    if (at->second.tasks.empty()) {
      give_up(at->second, {errc::cancelled, "called back before it began", {}});
      jobs.erase(at);
    } else {
      at->second.cancel();
    }
    Envelope out;
    out.mutable_done();
    server->reply(who, request, std::move(out));
  }

  /// It cannot begin: its followers hear why, and so does who asks later.
  void give_up(open_job& j, const error& why) {
    wire::v1::Ended ended;
    ended.set_code(why.code == errc::network ? 5 : why.code == errc::invalid_spec ? 2 : 4);
    ended.add_messages(why.text());
    finish(j, ended);
  }

  void finish(open_job& j, const wire::v1::Ended& ended) {
    if (const auto kept = j.where.end(ended); !kept) say("job " + j.where.name() + ": " + kept.err().text());
    for (const auto& f : j.followers) {
      Envelope out;
      *out.mutable_ended() = ended;
      server->reply(f.who, f.request, std::move(out));
    }
    for (const auto& of : j.packed) server->forget(of, package(of));
    {
      const std::lock_guard guard(lock);
      for (const auto& of : j.packed) {
        packages.erase(of.get());
        messages.erase(of.get());
        said.erase(of.get());
        hearers.erase(of.get());
        const auto& form = of->identity.target_form;
        if (std::none_of(packages.begin(), packages.end(),
                         [&](const auto& p) { return p.first->identity.target_form == form; }))
          asked.erase(form);
      }
    }
    // Nothing of it is kept in memory, here or at the agents.
    for (auto& t : j.tasks)
      if (t.session) t.session->close();
    if (j.whole) j.whole->close();
    j.where.thin();
    keep_ended(j.where.name());
    say("job " + j.where.name() + " has ended");
  }

  /// Where the tasks run, as far as there are devices for all of them.
  result<std::vector<job_folder::decision>> decide(const open_job& j) {
    const std::lock_guard guard(lock);
    std::vector<const description*> there;
    for (const auto& [name, d] : ready) there.push_back(&d);
    auto out = j.where.decisions();
    if (out.size() == j.specs.size()) {
      // Decided before: the same class must be there again.
      for (std::size_t i = 0; i < out.size(); ++i) {
        const auto form = out[i].where.canonical();
        if (std::none_of(there.begin(), there.end(), [&](const auto* d) {
              return matches(j.specs[i].target, *d, out[i].asked) &&
                     target_on(j.specs[i].target, *d).canonical() == form;
            }))
          return error{errc::network, no_service(j.specs[i].target, there), {}};
      }
      return out;
    }
    out.clear();
    const auto known = known_names(there);
    for (const auto& s : j.specs) {
      auto where = choose(s.target, there);
      if (!where) return error{errc::network, no_service(s.target, there), {}};
      auto& d = out.emplace_back();
      d.where = std::move(*where);
      for (const auto& [name, v] : s.target)
        if (known.contains(name)) d.asked.insert(name);
    }
    return out;
  }

  /// True where it stays; false where it is over.
  bool begin(open_job& j) {
    const auto where = decide(j);
    if (!where) {
      if (now() - j.since < j.patience) return true;
      give_up(j, {where.err().code,
                  where.err().message + " (waited " + std::to_string(static_cast<int>(seconds(j.patience))) + " s)",
                  {}});
      return false;
    }
    if (auto kept = j.where.decide(*where); !kept) {
      give_up(j, kept.err());
      return false;
    }
    std::vector<actors::tuning_request> requests;
    for (std::size_t i = 0; i < j.specs.size(); ++i) {
      auto made = prepare(j, j.specs[i], (*where)[i]);
      if (!made) return stay_or_give_up(j, made.err());
      requests.push_back(std::move(*made));
    }
    if (j.budget) {
      auto whole = engine->tune_together({requests, *j.budget, terms_of(j)});
      if (!whole) return stay_or_give_up(j, whole.err());
      j.whole = std::move(*whole);
      for (const auto& r : requests)
        j.tasks.push_back({r.of, std::nullopt, {}, nullptr, budget_of(r.of->spec, *r.over), std::nullopt});
    } else {
      for (const auto& r : requests) {
        auto session = engine->tune(r);
        if (!session) return stay_or_give_up(j, session.err());
        j.tasks.push_back({r.of, std::move(*session), {}, nullptr, budget_of(r.of->spec, *r.over), std::nullopt});
      }
    }
    j.since = now();
    set_audience(j);
    return true;
  }

  /// It cannot begin whole: what has begun ends first.
  bool stay_or_give_up(open_job& j, const error& why) {
    j.cancel();
    j.end_message = why.text();
    if (!j.tasks.empty()) return true;
    give_up(j, why);
    return false;
  }

  result<actors::tuning_request> prepare(open_job& j, const task_spec& spec, const job_folder::decision& where) {
    auto space = search::space::compile(spec.parameters, spec.constraints, spec.workload, spec.target);
    if (!space) return space.err();
    if (spec.run.run.empty())
      return error{errc::invalid_spec, "has no run.command, so there is nothing to measure", spec.file};
    auto of = make_task(spec, where.where);
    if (!of) return of.err();
    auto packed = std::make_shared<task_package>();
    packed->file = j.where.submission().file();
    packed->folder = j.where.files();
    std::vector<std::string> names = spec.run.files;
    if (spec.build && actors::builds_at_slot(spec))
      names.insert(names.end(), spec.build->sources.begin(), spec.build->sources.end());
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    auto files = list_files(packed->folder, names);
    if (!files) return files.err();
    packed->files = std::move(*files);
    auto text = j.where.spec_text();
    if (!text) return text.err();
    packed->spec = std::move(*text);
    {
      const std::lock_guard guard(lock);
      packages[of->get()] = std::move(packed);
      j.packed.push_back(*of);
      auto& names_ = asked[(*of)->identity.target_form];
      names_.insert(where.asked.begin(), where.asked.end());
    }
    const auto id = actors::session_id(**of, j.budget.has_value());
    for (const auto& [name, other] : jobs)
      for (const auto& t : other.tasks)
        if (actors::session_id(*t.of, other.budget.has_value()) == id)
          return error{errc::invalid_spec,
                       spec.name + ": the job " + name +
                           " has the same session under way; follow it with --attach, or "
                           "give another --seed",
                       spec.file};
    actors::tuning_request out{*of, *space, j.where.submission().options().remeasure(), false};
    out.share = terms_of(j);
    return out;
  }

  Envelope progress_of(open_job& j) {
    Envelope out;
    auto& p = *out.mutable_progress();
    p.set_tasks(static_cast<std::uint32_t>(j.specs.size()));
    p.set_name(j.specs.size() == 1 ? j.specs[0].name : std::to_string(j.specs.size()) + " tasks");
    std::optional<std::uint64_t> budget = 0;
    std::optional<nanoseconds> limit = nanoseconds(0);
    std::array<std::uint64_t, all_failure_kinds.size()> failed{};
    std::uint64_t done = 0, cached = 0;
    std::uint32_t with_best = 0, ended = 0;
    for (const auto& t : j.tasks) {
      done += t.last.counts.proposed;
      cached += t.last.counts.cached;
      for (std::size_t i = 0; i < failed.size(); ++i) failed[i] += t.last.counts.failed[i];
      budget = budget && t.trials ? std::optional(*budget + *t.trials) : std::nullopt;
      const auto& time = t.of->spec.search.time;
      limit = limit && time ? std::optional(std::max(*limit, *time)) : std::nullopt;
      if (t.last.best) ++with_best;
      if (t.last.finished) ++ended;
      if (j.tasks.size() == 1 && t.last.best) {
        p.set_best(t.last.best->result->measured()->value);
        p.set_unit(t.of->metric().stored_unit());
        p.set_best_config(t.last.best->config.text());
      }
      if (t.unserved) p.set_note("no device serves it just now");
    }
    if (j.tasks.empty()) p.set_note("waiting for a device");
    p.set_done(done);
    p.set_cached(cached);
    p.set_with_best(with_best);
    p.set_ended(ended);
    for (const auto n : failed) p.add_failed(n);
    if (j.budget) {
      budget = j.budget->trials;
      limit = j.budget->time;
    }
    if (budget && !j.tasks.empty()) p.set_budget(*budget);
    if (limit && !j.tasks.empty()) p.set_time_limit_ns(limit->count());
    const std::lock_guard guard(lock);
    for (const auto& t : j.tasks)
      for (auto& m : std::exchange(messages[t.of.get()], {})) p.add_messages(std::move(m));
    return out;
  }

  bool served(const running& t) {
    const std::lock_guard guard(lock);
    const auto& names = asked_of(t.of->identity.target_form);
    return std::any_of(ready.begin(), ready.end(),
                       [&](const auto& d) { return fleet::serves(*t.of, d.second, names); });
  }

  /// Looks at one job; false where it is over.
  bool look(open_job& j) {
    if (j.tasks.empty() && !begin(j)) return false;
    if (j.tasks.empty()) return true;
    bool over = true;
    for (std::size_t i = 0; i < j.tasks.size(); ++i) {
      auto& t = j.tasks[i];
      if (!t.last.finished) t.last = t.session ? t.session->progress() : j.whole->progress(i);
      over = over && t.last.finished;
      if (t.last.finished || served(t)) {
        t.unserved.reset();
        continue;
      }
      if (!t.unserved) t.unserved = now();
      if (now() - *t.unserved < options.device_patience || !j.end_message.empty()) continue;
      {
        const std::lock_guard guard(lock);
        std::vector<const description*> there;
        for (const auto& [name, d] : ready) there.push_back(&d);
        j.end_message = no_service(t.of->spec.target, there) + " (waited " +
                        std::to_string(static_cast<int>(seconds(options.device_patience))) +
                        " s); what was measured is kept, and the same command goes on with the rest";
      }
      j.cancel();
    }
    if (j.whole) over = j.whole->ended();
    if (!j.followers.empty()) {
      auto p = progress_of(j);
      auto text = p.SerializeAsString();
      if (text != j.said) {
        p.mutable_progress()->set_elapsed_ns((now() - j.since).count());
        for (const auto& f : j.followers) server->reply(f.who, f.request, p);
        j.said = std::move(text);
      }
    }
    if (!over) return true;
    rendered shown;
    if (j.whole) {
      const auto joint = j.whole->wait();
      if (!joint) return true;
      shown = options.render_joint(*joint, *j.budget);
    } else {
      std::vector<std::shared_ptr<const actors::tuning_report>> reports;
      for (auto& t : j.tasks) reports.push_back(t.session->wait());
      if (std::any_of(reports.begin(), reports.end(), [](const auto& r) { return r == nullptr; })) return true;
      shown = options.render(reports);
    }
    wire::v1::Ended ended;
    ended.set_code(static_cast<std::uint32_t>(j.end_message.empty() ? shown.code : 5));
    ended.set_json(shown.json);
    ended.set_text(shown.text);
    for (const auto& m : shown.messages) ended.add_messages(m);
    if (!j.end_message.empty()) ended.add_messages(j.end_message);
    finish(j, ended);
    return false;
  }

  void forget_client(client_id who) {
    for (auto& [name, j] : jobs)
      if (std::erase_if(j.followers, [who](const follower& f) { return f.who == who; }) > 0) set_audience(j);
  }

  /// Until the jobs are looked at again where nothing is asked.
  nanoseconds pause() const {
    using namespace std::chrono_literals;
    if (jobs.empty()) return 10s;
    return std::any_of(jobs.begin(), jobs.end(), [](const auto& j) { return !j.second.followers.empty(); }) ? 200ms
                                                                                                            : 1s;
  }

  void work() {
    for (;;) {
      {
        std::unique_lock guard(lock);
        news.wait_for(guard, pause(), [this] { return stopping || !todo.empty(); });
        if (stopping) return;
      }
      turn();
    }
  }

  void look_again() {
    looks->expires_after(pause());
    looks->async_wait([weak = weak_from_this()](const asio::error_code& ec) {
      const auto self = weak.lock();
      if (ec || !self) return;
      self->turn();
      self->look_again();
    });
  }

  void turn() {
    std::deque<std::function<void()>> batch;
    {
      const std::lock_guard guard(lock);
      if (stopping) return;
      batch.swap(todo);
    }
    // Where the hub itself was away nobody's patience has run meanwhile.
    if (const auto gap = now() - looked; looked.count() > 0 && gap > away_after)
      for (auto& [name, j] : jobs) {
        if (j.tasks.empty()) j.since += gap;
        for (auto& t : j.tasks)
          if (t.unserved) *t.unserved += gap;
      }
    for (const auto& f : batch) f();
    for (auto at = jobs.begin(); at != jobs.end();) at = look(at->second) ? std::next(at) : jobs.erase(at);
    std::vector<std::string> lines;
    for (const auto& [name, j] : jobs) {
      std::uint64_t done = 0;
      for (const auto& t : j.tasks) done += t.last.counts.proposed;
      lines.push_back(name + " " + j.where.submission().file() + ": " +
                      (j.tasks.empty() ? "waits for a device" : std::to_string(done) + " trials"));
    }
    auto shares = clients_now();
    const auto waits = engine->waiting();
    std::uint32_t without = 0;
    for (const auto& [name, j] : jobs)
      without += j.tasks.empty() ||
                 std::any_of(j.tasks.begin(), j.tasks.end(), [](const running& t) { return t.unserved.has_value(); });
    looked = now();
    const std::lock_guard guard(lock);
    job_lines.swap(lines);
    clients.swap(shares);
    waiting = waits;
    unserved = without;
  }

  /// The clients that have jobs, and what they have of the slots. Owners without a job are forgotten.
  std::vector<wire::v1::ClientShare> clients_now() {
    std::map<std::string, wire::v1::ClientShare> out;
    for (const auto& [name, j] : jobs) {
      auto& c = out[j.owner()];
      const auto& s = j.where.submission();
      c.set_name(s.owner().empty() ? s.client() : s.client() + " (token " + s.owner() + ")");
      c.set_weight(s.weight() > 0 ? s.weight() : 1);
      c.set_limit(s.limit());
      c.set_jobs(c.jobs() + 1);
    }
    std::erase_if(owners, [&](const auto& o) { return !out.contains(o.first); });
    if (!out.empty())
      for (const auto& share : engine->shares())
        for (const auto& [owner, number] : owners) {
          if (number != share.owner) continue;
          out.at(owner).set_busy(share.busy);
          out.at(owner).set_used_s(share.used_s);
        }
    std::vector<wire::v1::ClientShare> all;
    for (auto& [owner, c] : out) all.push_back(std::move(c));
    return all;
  }

  /// On the loop's thread, from another one; returns when it is done.
  void on_loop(const std::function<void()>& what) {
    if (options.desk != nullptr) return what();
    std::promise<void> done;
    asio::post(loop, [&] {
      what();
      done.set_value();
    });
    done.get_future().wait();
  }

  // --- what happens, on the engine's thread ---

  void note(const actors::event_batch& batch) {
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
};

result<std::unique_ptr<hub>> hub::start(asio::io_context& loop, hub_options options) {
  auto i = std::make_shared<impl>(loop, std::move(options));
  actors::engine_options how;
  how.store = i->options.store;
  how.open_store = i->options.open_store;
  how.builders = i->options.builders;
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
  for (const auto& name : job_folder::list(i->jobs_folder)) {
    auto there = job_folder::open(i->jobs_folder, name);
    if (!there) continue;
    if (there->ended()) {
      i->ended_names.push_back(name);
      continue;
    }
    open_job j(std::move(*there));
    auto specs = j.where.read();
    if (!specs) {
      // It was right when it was submitted: who asks for it hears why it does not go on.
      wire::v1::Ended how_it_ended;
      how_it_ended.set_code(2);
      how_it_ended.add_messages(specs.err().text());
      if (const auto kept = j.where.end(how_it_ended); !kept) i->say("job " + name + ": " + kept.err().text());
      i->ended_names.push_back(name);
      continue;
    }
    j.specs = std::move(*specs);
    j.budget = *j.where.budget();
    j.since = i->now();
    j.patience = i->options.device_patience;
    i->say("job " + name + ": goes on when a device is there");
    i->jobs.emplace(name, std::move(j));
  }
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
