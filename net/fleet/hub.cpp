#include "net/fleet/hub.hpp"

#include "actors/messages.hpp"
#include "actors/scheduler.hpp"
#include "net/fleet/job.hpp"
#include "net/fleet/matching.hpp"
#include "net/store_messages.hpp"
#include "net/timer.hpp"
#include "net/tokens.hpp"
#include "storage/convert.hpp"

#include <asio/post.hpp>

#include <algorithm>
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

/// One task of a job, under way.
struct running {
  task_ptr of;
  actors::session session;
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
};

struct open_job {
  explicit open_job(job_folder w) : where(std::move(w)) {}
  job_folder where;
  std::vector<task_spec> specs;
  std::vector<running> tasks; ///< empty: it waits for its devices
  nanoseconds since{0};       ///< that it waits, or is under way
  nanoseconds patience{0};    ///< of its waiting
  std::vector<follower> followers;
  std::string said;        ///< the last Progress
  std::string end_message; ///< why it was ended before its time
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
  std::unordered_map<agent_id, std::vector<std::uint64_t>> slots; ///< the engine's numbers
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
  std::vector<std::string> job_lines, quarantined;

  // The desk's thread.
  std::map<std::string, open_job> jobs;
  std::thread desk;
  std::unique_ptr<timer> looks; ///< where it has no thread

  void say(const std::string& text) {
    if (options.log) options.log(text);
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
    auto& numbers = slots[who];
    const std::weak_ptr<impl> weak = weak_from_this();
    for (std::uint32_t i = 0; i < what.slots; ++i) {
      actors::place_info info;
      info.name = what.name + "/slot" + std::to_string(i);
      info.device = what.name;
      info.serves = [weak, what](const task& t) {
        const auto self = weak.lock();
        if (!self) return false;
        const std::lock_guard guard(self->lock);
        return fleet::serves(t, what, self->asked[t.identity.target_form]);
      };
      numbers.push_back(engine->add_slot(info, std::make_shared<remote_slot>(server, who, i)));
    }
  }

  void went(agent_id who) {
    const auto node = slots.extract(who);
    if (node.empty() || closing) return;
    for (const auto number : node.mapped()) engine->remove_slot(number);
    refresh();
  }

  void changed(agent_id who, const description& what, bool on) {
    const auto at = slots.find(who);
    if (at == slots.end() || closing) return;
    for (const auto number : at->second) engine->rest_slot(number, !on);
    refresh();
    if (on && at->second.empty()) offer(who, what);
  }

  void refresh() {
    std::map<std::string, description> there;
    for (const auto* d : server->devices().ready()) there[d->name] = *d;
    const std::lock_guard guard(lock);
    ready.swap(there);
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
    case Envelope::kSubmit:
      return post([this, who, request, what = message.submit()] { submit(who, request, what); });
    case Envelope::kFollow:
      return post([this, who, request, job = std::string(message.follow().job())] { follow(who, request, job); });
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
      d.set_busy(static_cast<std::uint32_t>(leases.size()));
      for (const auto& l : leases) d.add_holders("slot" + std::to_string(l.slot) + ": " + server->text_of(l.id));
    }
    const std::lock_guard guard(lock);
    for (const auto& j : job_lines) out.add_jobs(j);
    for (const auto& q : quarantined) out.add_quarantined(q);
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

  // --- jobs, on the desk's thread ---

  void submit(client_id who, std::uint64_t request, const wire::v1::Submit& what) {
    // What is under way is followed: its folder stays as it is.
    const auto name = job_folder::name_of(what);
    if (!jobs.contains(name)) {
      std::size_t same = 0;
      for (const auto& [other, j] : jobs)
        if (j.where.submission().client() == what.client()) ++same;
      if (same >= options.jobs_each)
        return fail(who, request,
                    {errc::network,
                     "this client has " + std::to_string(same) + " jobs under way, as many as it may; wait for one",
                     {}});
      auto made = job_folder::create(jobs_folder, what, *server->files());
      if (!made) return fail(who, request, made.err());
      open_job j(std::move(*made));
      auto specs = j.where.read();
      if (!specs) return fail(who, request, specs.err());
      j.specs = std::move(*specs);
      j.since = now();
      j.patience = options.match_patience;
      jobs.emplace(name, std::move(j));
      say("job " + name + ": " + what.file() + " submitted by " + what.client());
    }
    server->audit(who, "submitted", {{"job", name}, {"file", what.file()}});
    Envelope out;
    out.mutable_submitted()->set_job(name);
    server->reply(who, request, std::move(out));
    auto& j = jobs.at(name);
    j.followers.push_back({who, request});
    j.said.clear(); // it begins when the jobs are looked at, right after this
  }

  void follow(client_id who, std::uint64_t request, const std::string& name) {
    Envelope submitted;
    submitted.mutable_submitted()->set_job(name);
    if (const auto at = jobs.find(name); at != jobs.end()) {
      server->reply(who, request, std::move(submitted));
      at->second.followers.push_back({who, request});
      at->second.said.clear();
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
      for (auto& t : at->second.tasks) t.session.cancel();
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
    {
      const std::lock_guard guard(lock);
      for (const auto& t : j.tasks) {
        packages.erase(t.of.get());
        messages.erase(t.of.get());
        said.erase(t.of.get());
      }
    }
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
          return error{errc::network, nothing_serves(j.specs[i].target, there), {}};
      }
      return out;
    }
    out.clear();
    const auto known = known_names(there);
    for (const auto& s : j.specs) {
      auto where = choose(s.target, there);
      if (!where) return error{errc::network, nothing_serves(s.target, there), {}};
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
    for (std::size_t i = 0; i < j.specs.size(); ++i) {
      if (const auto good = start(j, j.specs[i], (*where)[i]); !good) {
        for (auto& t : j.tasks) t.session.cancel();
        j.end_message = good.err().text();
        if (!j.tasks.empty()) return true; // it ends when they have
        give_up(j, good.err());
        return false;
      }
    }
    j.since = now();
    return true;
  }

  status start(open_job& j, const task_spec& spec, const job_folder::decision& where) {
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
      auto& names_ = asked[(*of)->identity.target_form];
      names_.insert(where.asked.begin(), where.asked.end());
    }
    for (const auto& [name, other] : jobs)
      for (const auto& t : other.tasks)
        if (actors::session_id(*t.of) == actors::session_id(**of))
          return error{errc::invalid_spec,
                       spec.name + ": the job " + name +
                           " has the same session under way; follow it with --attach, or "
                           "give another --seed",
                       spec.file};
    auto session = engine->tune({*of, *space, j.where.submission().options().remeasure(), false});
    if (!session) {
      const std::lock_guard guard(lock);
      packages.erase(of->get());
      return session.err();
    }
    j.tasks.push_back({*of, std::move(*session), {}, nullptr, budget_of(spec, **space), std::nullopt});
    return {};
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
    if (budget && !j.tasks.empty()) p.set_budget(*budget);
    if (limit && !j.tasks.empty()) p.set_time_limit_ns(limit->count());
    const std::lock_guard guard(lock);
    for (const auto& t : j.tasks)
      for (auto& m : std::exchange(messages[t.of.get()], {})) p.add_messages(std::move(m));
    return out;
  }

  bool served(const running& t) {
    const std::lock_guard guard(lock);
    const auto& names = asked[t.of->identity.target_form];
    return std::any_of(ready.begin(), ready.end(),
                       [&](const auto& d) { return fleet::serves(*t.of, d.second, names); });
  }

  /// Looks at one job; false where it is over.
  bool look(open_job& j) {
    if (j.tasks.empty() && !begin(j)) return false;
    if (j.tasks.empty()) return true;
    bool over = true;
    for (auto& t : j.tasks) {
      if (!t.last.finished) t.last = t.session.progress();
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
        j.end_message = nothing_serves(t.of->spec.target, there) + " (waited " +
                        std::to_string(static_cast<int>(seconds(options.device_patience))) +
                        " s); what was measured is kept, and the same command goes on with the rest";
      }
      for (auto& all : j.tasks) all.session.cancel();
    }
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
    std::vector<std::shared_ptr<const actors::tuning_report>> reports;
    for (auto& t : j.tasks) reports.push_back(t.session.wait());
    if (std::any_of(reports.begin(), reports.end(), [](const auto& r) { return r == nullptr; })) return true;
    auto shown = options.render(reports);
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
    for (auto& [name, j] : jobs) std::erase_if(j.followers, [who](const follower& f) { return f.who == who; });
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
    for (const auto& f : batch) f();
    for (auto at = jobs.begin(); at != jobs.end();) at = look(at->second) ? std::next(at) : jobs.erase(at);
    std::vector<std::string> lines;
    for (const auto& [name, j] : jobs) {
      std::uint64_t done = 0;
      for (const auto& t : j.tasks) done += t.last.counts.proposed;
      lines.push_back(name + " " + j.where.submission().file() + ": " +
                      (j.tasks.empty() ? "waits for a device" : std::to_string(done) + " trials"));
    }
    const std::lock_guard guard(lock);
    job_lines.swap(lines);
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
      const std::string config = e.what ? e.what->config.text() : std::string();
      switch (e.kind) {
      case kind::told:
        if (e.result && of && e.text != "cache")
          for (const auto& n : e.result->notes)
            if (said[of].size() < 100 && said[of].insert(n).second) tell(of, config + ": " + n);
        break;
      case kind::quarantined:
        tell(of, "not tried again: " + config + ": " + e.text);
        quarantined.push_back((e.what ? e.what->of->spec.name + ": " : "") + config + ": " + e.text);
        if (quarantined.size() > 100) quarantined.erase(quarantined.begin());
        break;
      case kind::finals:
      case kind::decided:
        if (of) tell(of, e.text);
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
  fleet_server::events tell;
  tell.came = [p = i.get()](agent_id who, const description& what) { p->came(who, what); };
  tell.went = [p = i.get()](agent_id who) { p->went(who); };
  tell.changed = [p = i.get()](agent_id who, const description& what, bool on) { p->changed(who, what, on); };
  tell.asked = [p = i.get()](client_id who, std::uint64_t request, const Envelope& message) {
    p->asked_by(who, request, message);
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
    if (!there || there->ended()) continue;
    open_job j(std::move(*there));
    auto specs = j.where.read();
    if (!specs) continue;
    j.specs = std::move(*specs);
    j.since = i->now();
    j.patience = i->options.device_patience;
    i->say("job " + name + ": goes on when a device is there");
    i->jobs.emplace(name, std::move(j));
  }
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
  for (auto& [name, j] : impl_->jobs)
    for (auto& t : j.tasks) t.session.cancel();
  for (auto& [name, j] : impl_->jobs)
    for (auto& t : j.tasks) t.session.wait_for(std::chrono::minutes(1));
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
