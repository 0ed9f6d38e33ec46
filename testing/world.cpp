#include "testing/world.hpp"

#include "actors/time.hpp"

#include <algorithm>

namespace attune::testing {

using namespace actors;

world::settings::settings() { set("scheduler.policy", caf::atom("testing")); }

world::world(world_options options) : options_(std::move(options)), rng_(options_.seed), past_(options_.history) {
  wire();
}

world::~world() { end_all(); }

caf::scheduler::test_coordinator& world::clockwork() {
  return dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
}

void world::wire() {
  watch = actors::spawn_monitor(system);
  auto known = std::make_unique<storage::lru_cache>(options_.cache, bool(options_.archive));
  for (const auto& r : store.records)
    if (r.cacheable) known->insert(*r.what, r.result, r.id);
  cache = system.spawn(actors::cache, std::make_shared<std::unique_ptr<storage::lru_cache>>(std::move(known)), watch);
  if (options_.archive) archive = system.spawn(actors::archive, options_.archive);
  recorder = system.spawn(actors::recorder, store.sink(), cache, watch, options_.recording);
  scheduler = system.spawn(actors::scheduler, recorder, watch, options_.scheduling);
  name(watch.to.address(), "monitor");
  name(cache.address(), "cache");
  name(recorder.address(), "recorder");
  name(scheduler.address(), "scheduler");
  if (archive) name(archive.address(), "archive");
  caf::anon_send(cache, atom::wire::value, scheduler, recorder, archive);
  drain();
}

void world::end_all() {
  const auto end = [](const auto& who) {
    if (who) caf::anon_send_exit(who, caf::exit_reason::kill);
  };
  for (const auto& t : tuners) end(t);
  for (const auto& [who, place] : runners) end(who);
  for (const auto& [who, place] : builders) end(who);
  end(scheduler);
  end(cache);
  end(recorder);
  end(archive);
  end(watch.to);
  observers_.clear();
  // Whoever gave a script may be gone.
  for (auto& [who, place] : runners) place->answer = nullptr;
  for (auto& [who, place] : builders) place->answer = nullptr;
  while (clockwork().try_run_once()) {
  }
  for (auto& [who, place] : runners) place->hand.clear();
  for (auto& [who, place] : builders) place->hand.clear();
  tuners.clear();
  runners.clear();
  builders.clear();
}

void world::power_cut() {
  auto observers = observers_;
  end_all();
  observers_ = std::move(observers);
  wire();
}

void world::name(const caf::actor_addr& who, std::string as) { names_[who.id()] = std::move(as); }

std::string world::name_of(caf::actor_id id) const {
  const auto at = names_.find(id);
  return at == names_.end() ? (id == 0 ? std::string() : "actor" + std::to_string(id)) : at->second;
}

bool world::turn() {
  auto& jobs = clockwork().jobs;
  if (jobs.empty()) return false;
  if (options_.seed != 0 && jobs.size() > 1)
    std::swap(jobs.front(), jobs[static_cast<std::size_t>(rng_.below(jobs.size()))]);
  auto* who = dynamic_cast<caf::scheduled_actor*>(jobs.front());
  if (auto* element = who == nullptr ? nullptr : who->peek_at_next_mailbox_element(); element != nullptr) {
    handled h{past_.steps() + 1, now(), element->sender ? name_of(element->sender->id()) : std::string(),
              name_of(who->id()), element->copy_content_to_message()};
    past_.add(h);
    for (const auto& each : observers_) each(h);
  }
  return clockwork().try_run_once();
}

std::size_t world::drain(std::size_t most) {
  std::size_t n = 0;
  while (n < most && turn()) ++n;
  if (n == no_end) fail("the actors never come to rest");
  return n;
}

void world::run_until(const pattern& p) {
  for (std::size_t n = 0; n < no_end; ++n) {
    const auto before = past_.steps();
    if (!turn()) break;
    if (past_.steps() > before && p.matches(past_.kept().back())) return;
  }
  fail("everything came to rest before a message came: " + p.text());
}

void world::pass(nanoseconds d, nanoseconds step) {
  for (nanoseconds done{0}; done < d; done += step) {
    clockwork().advance_time(std::min(step, d - done));
    drain();
  }
}

nanoseconds world::now() {
  return std::chrono::duration_cast<nanoseconds>(clockwork().clock().now().time_since_epoch());
}

std::shared_ptr<fake_runner> world::add_runner(std::string name, run_script script) {
  return add_runner(place_info{std::move(name)}, std::move(script));
}

std::shared_ptr<fake_runner> world::add_runner(const place_info& info, run_script script) {
  auto place = std::make_shared<fake_runner>();
  place->name = info.name;
  place->answer = std::move(script);
  const runner_actor who = system.spawn(run_by_script, place);
  name(who.address(), info.name);
  caf::anon_send(scheduler, atom::join::value, info, who);
  runners.emplace_back(who, place);
  drain();
  return place;
}

std::shared_ptr<fake_builder> world::add_builder(std::string name, build_script script) {
  auto place = std::make_shared<fake_builder>();
  place->name = name;
  place->answer = std::move(script);
  const builder_actor who = system.spawn(build_by_script, place);
  this->name(who.address(), name);
  caf::anon_send(scheduler, atom::join::value, place_info{std::move(name)}, who);
  builders.emplace_back(who, place);
  drain();
  return place;
}

void world::reply(const std::shared_ptr<fake_runner>& at, const run_report& with) {
  check(!at->hand.empty(), at->name + " has nothing in hand that could be answered");
  for (const auto& [who, place] : runners)
    if (place == at) caf::anon_send(who, atom::internal::value, with);
}

void world::reply(const std::shared_ptr<fake_builder>& at, const build_report& with) {
  check(!at->hand.empty(), at->name + " has nothing in hand that could be answered");
  for (const auto& [who, place] : builders)
    if (place == at) caf::anon_send(who, atom::internal::value, with);
}

void world::answer(const std::shared_ptr<fake_runner>& at, const run_report& with) {
  reply(at, with);
  drain();
}

void world::answer(const std::shared_ptr<fake_builder>& at, const build_report& with) {
  reply(at, with);
  drain();
}

void world::kill_runner(std::size_t i) {
  caf::anon_send_exit(runners.at(i).first, caf::exit_reason::kill);
  drain();
}

void world::kill_builder(std::size_t i) {
  caf::anon_send_exit(builders.at(i).first, caf::exit_reason::kill);
  drain();
}

tuner_actor world::add_tuner(const tuner_options& o) {
  task_spec spec;
  spec.name = o.name;
  parameter p;
  p.name = "x";
  p.domain = integer_range{0, o.size - 1, 1, false};
  spec.parameters.push_back(p);
  if (o.build) {
    spec.build.emplace();
    spec.build->run.shell = "build {x} -o {artifact}";
    spec.build->timeout = std::chrono::seconds(20);
  }
  spec.run.run.shell = "run {x}";
  spec.run.timeout = o.run_timeout;
  spec.run.metrics[0].direction = o.direction;
  spec.run.limits = o.limits;
  if (o.shape) o.shape(spec);
  auto of = make_task(spec, target{spec.target.empty() ? arguments{{"device", "test"}} : spec.target});
  if (!of) fail("the task is wrong: " + of.err().text());
  auto over = o.over ? result<search::space_ptr>(o.over) : search::space::compile(spec.parameters, spec.constraints);
  if (!over) fail("the space is wrong: " + over.err().text());
  search::strategy_options how;
  how.seed = o.seed;
  how.budget = o.trials;
  auto strategy = search::make_strategy(o.strategy, *over, how);
  if (!strategy) fail("the strategy is wrong: " + strategy.err().text());
  const session_number number = tuners.size() + 1;
  auto setup = std::make_shared<tuner_setup>();
  setup->session = {number, o.by_caller ? measuring::by_caller : measuring::by_runners, o.fresh, o.stored,
                    o.near.has_value()};
  setup->session_id = o.session.empty() ? "session" + std::to_string(number) : o.session;
  setup->search = std::make_unique<search::tuning>(*of, *over, std::move(*strategy),
                                                   search::tuning_limits{o.trials, o.time, 16}, number);
  if (o.near) {
    setup->search->estimate_near(*o.near);
    for (const auto& r : store.records)
      if (r.what->of->identity.task_key == (*of)->identity.task_key)
        setup->search->known_near(r.what->config, r.what->key, *r.result);
  }
  for (const auto& s : o.past) {
    const search::told_step step{s.what->number, s.asked_before};
    if (s.guess)
      setup->search->replay_estimate(step, s.what->config, *s.guess);
    else if (s.amends)
      setup->search->replay_amendment(step, s.what->config, s.what->key, s.result, *s.amends);
    else
      setup->search->replay(step, s.what->config, s.what->key, s.result);
  }
  setup->wish = o.wish;
  setup->model = o.model;
  setup->finals_until = o.finals_until;
  setup->dealer = o.dealer;
  setup->member = o.member;
  setup->party = o.dealer ? 1000 : 0;
  if (o.made != nullptr) *o.made = *of;
  tuners.push_back(system.spawn(actors::tuner, setup, cache, scheduler, recorder, watch));
  name(tuners.back().address(), "tuner" + std::to_string(number));
  drain();
  return tuners.back();
}

tuner_actor world::begin(const tuner_options& o) {
  auto t = add_tuner(o);
  caf::anon_send(t, atom::begin::value);
  drain();
  return t;
}

report_ptr world::report(const tuner_actor& t) { return ask<report_ptr>(t, atom::report::value).value_or(nullptr); }

tuner_status world::status_of(const tuner_actor& t) {
  const auto s = ask<tuner_status>(t, atom::status::value);
  check(s.has_value(), "the tuner does not say where it stands");
  return *s;
}

void world::expect(const pattern& p, std::size_t times) const {
  const auto n = seen(p);
  check(n == times, "expected " + std::to_string(times) + " times, seen " + std::to_string(n) + ": " + p.text());
}

void world::expect_in_order(const std::vector<pattern>& ps) const {
  auto next = ps.begin();
  for (const auto& h : past_.kept())
    if (next != ps.end() && next->matches(h)) ++next;
  check(next == ps.end(), "not seen in this order: " + (next == ps.end() ? std::string() : next->text()));
}

void world::check(bool holds, const std::string& why) const {
  if (!holds) fail(why);
}

void world::fail(const std::string& why) const {
  throw failed(why + "\nthe last messages (step, time, sender -> receiver):\n" + past_.text());
}

} // namespace attune::testing
