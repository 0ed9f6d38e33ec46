#include "actors/scheduler.hpp"
#include "net/fleet/hub_impl.hpp"
#include "net/fleet/matching.hpp"
#include "net/store_messages.hpp"

#include <asio/post.hpp>

#include <algorithm>

namespace attune::net::fleet {

using wire::v1::Envelope;

namespace {

/// Jobs are looked at each second at least: what is longer than this is an absence.
constexpr nanoseconds away_after = std::chrono::seconds(5);

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

} // namespace

void hub::impl::take_up_jobs() {
  for (const auto& name : job_folder::list(jobs_folder)) {
    auto there = job_folder::open(jobs_folder, name);
    if (!there) {
      // One without its submission was never told to anybody.
      if (there.err().code != errc::not_found) say(there.err().text());
      continue;
    }
    if (there->ended()) {
      ended_names.push_back(name);
      continue;
    }
    open_job j(std::move(*there));
    auto specs = j.where.read();
    if (!specs) {
      // It was right when it was submitted: who asks for it hears why it does not go on.
      wire::v1::Ended how_it_ended;
      how_it_ended.set_code(2);
      how_it_ended.add_messages(specs.err().text());
      if (const auto kept = j.where.end(how_it_ended); !kept) say("job " + name + ": " + kept.err().text());
      say("job " + name + " cannot go on: " + specs.err().text());
      ended_names.push_back(name);
      continue;
    }
    j.specs = std::move(*specs);
    j.budget = *j.where.budget();
    j.since = now();
    j.patience = options.device_patience;
    say("job " + name + ": goes on when a device is there");
    jobs.emplace(name, std::move(j));
  }
}

schedulers::share_terms hub::impl::terms_of(const open_job& j) {
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

void hub::impl::set_audience(const open_job& j) {
  std::vector<follower> loud;
  for (const auto& f : j.followers)
    if (f.output) loud.push_back(f);
  for (const auto& of : j.packed) {
    server->loud(of, !loud.empty());
    const std::lock_guard guard(lock);
    if (loud.empty())
      hearers.erase(of.get());
    else
      hearers[of.get()].of = loud;
  }
}

void hub::impl::keep_ended(const std::string& name) {
  std::erase(ended_names, name);
  ended_names.push_back(name);
  while (ended_names.size() > options.ended_jobs) {
    const auto oldest = ended_names.front();
    ended_names.pop_front();
    if (auto there = job_folder::open(jobs_folder, oldest); there && !jobs.contains(oldest)) there->remove();
  }
}

void hub::impl::submit(client_id who, std::uint64_t request, const wire::v1::Submit& what) {
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

void hub::impl::follow(client_id who, std::uint64_t request, const wire::v1::Follow& what) {
  const std::string& name = what.job();
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

void hub::impl::cancel(client_id who, std::uint64_t request, const std::string& name) {
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

void hub::impl::give_up(open_job& j, const error& why) {
  wire::v1::Ended ended;
  ended.set_code(why.code == errc::network ? 5 : why.code == errc::invalid_spec ? 2 : 4);
  ended.add_messages(why.text());
  finish(j, ended);
}

void hub::impl::finish(open_job& j, const wire::v1::Ended& ended) {
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

result<std::vector<job_folder::decision>> hub::impl::decide(const open_job& j) {
  const std::lock_guard guard(lock);
  std::vector<const description*> there;
  for (const auto& [name, d] : ready) there.push_back(&d);
  auto out = j.where.decisions();
  if (out.size() == j.specs.size()) {
    // Decided before: the same class must be there again.
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto form = out[i].where.canonical();
      if (std::none_of(there.begin(), there.end(), [&](const auto* d) {
            return matches(j.specs[i].target, *d, out[i].asked) && target_on(j.specs[i].target, *d).canonical() == form;
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

bool hub::impl::begin(open_job& j) {
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
  // Before anything of it can be ordered: what the very first runs say is heard too.
  set_audience(j);
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
  return true;
}

bool hub::impl::stay_or_give_up(open_job& j, const error& why) {
  j.cancel();
  j.end_message = why.text();
  if (!j.tasks.empty()) return true;
  give_up(j, why);
  return false;
}

result<actors::tuning_request> hub::impl::prepare(open_job& j, const task_spec& spec,
                                                  const job_folder::decision& where) {
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

Envelope hub::impl::progress_of(open_job& j) {
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

bool hub::impl::served(const running& t) {
  const std::lock_guard guard(lock);
  const auto& names = asked_of(t.of->identity.target_form);
  return std::any_of(ready.begin(), ready.end(), [&](const auto& d) { return fleet::serves(*t.of, d.second, names); });
}

bool hub::impl::look(open_job& j) {
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

void hub::impl::forget_client(client_id who) {
  for (auto& [name, j] : jobs)
    if (std::erase_if(j.followers, [who](const follower& f) { return f.who == who; }) > 0) set_audience(j);
}

nanoseconds hub::impl::pause() const {
  using namespace std::chrono_literals;
  if (jobs.empty()) return 10s;
  return std::any_of(jobs.begin(), jobs.end(), [](const auto& j) { return !j.second.followers.empty(); }) ? 200ms : 1s;
}

void hub::impl::work() {
  for (;;) {
    {
      std::unique_lock guard(lock);
      news.wait_for(guard, pause(), [this] { return stopping || !todo.empty(); });
      if (stopping) return;
    }
    turn();
  }
}

void hub::impl::look_again() {
  looks->expires_after(pause());
  looks->async_wait([weak = weak_from_this()](const asio::error_code& ec) {
    const auto self = weak.lock();
    if (ec || !self) return;
    self->turn();
    self->look_again();
  });
}

void hub::impl::turn() {
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

std::vector<wire::v1::ClientShare> hub::impl::clients_now() {
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

} // namespace attune::net::fleet
