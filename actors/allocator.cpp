#include "actors/allocator.hpp"

#include "actors/monitor.hpp"
#include "actors/time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attune::actors {

static_assert(!std::is_aggregate_v<allocator_state>);
static_assert(!std::is_aggregate_v<opener_state>);

double cost_of(double value, goal direction) noexcept {
  // What is not above zero has no ratio to anything: it counts as next to nothing, or as next to everything.
  constexpr double least = 1e-300;
  const double v = std::max(value, least);
  return direction == goal::minimize ? v : 1 / v;
}

bool must_be_relative(const std::vector<task_ptr>& tasks) {
  return std::any_of(tasks.begin(), tasks.end(), [&](const task_ptr& t) {
    return t->metric().direction != goal::minimize ||
           t->metric().stored_unit() != tasks.front()->metric().stored_unit();
  });
}

namespace {

using allocator_self = allocator_actor::stateful_pointer<allocator_state>;
using schedulers::leaving;

void deal(allocator_self self);

/// The report of one that was never opened.
report_ptr nothing_done(const allocator_member& m, search::stop_reason why, std::optional<error> trouble) {
  auto out = std::make_shared<tuning_report>();
  out->of = m.of;
  out->session = m.session;
  out->reason = why;
  out->trouble = std::move(trouble);
  return out;
}

void say(allocator_self self, const std::string& text) {
  emit(self, self->state.watch, [&] { return event{event_kind::decided, 0, nullptr, nullptr, text, now_of(self)}; });
}

std::string name_of(const task& t) {
  std::string out = t.load.name;
  for (const auto& [name, v] : t.load.args) out += " " + name + "=" + v.text();
  return out;
}

/// Takes one result into the budget and the curve.
void take(allocator_self self, std::size_t i, const budget_step& step, bool past) {
  auto& s = self->state;
  auto& budget = *s.setup.budget;
  const auto cost =
      step.value ? std::optional(cost_of(*step.value, s.setup.members[i].of->metric().direction)) : std::nullopt;
  const auto before = budget.tasks()[i].best;
  if (past)
    budget.restore(i, cost);
  else
    budget.told(i, cost);
  s.busy += step.busy;
  if (cost && (!before || *cost < *before)) {
    std::uint64_t trials = 0;
    for (const auto& t : budget.tasks()) trials += t.told;
    s.steps.push_back({std::max(nanoseconds(0), step.at - s.setup.since), trials, i, *cost});
  }
}

/// The past of all tasks, as it went by the clock; what came from memory has the time of what came before it.
void take_past(allocator_self self) {
  auto& s = self->state;
  struct entry {
    nanoseconds at;
    std::size_t member;
    budget_step step;
  };
  std::vector<entry> all;
  for (std::size_t i = 0; i < s.setup.members.size(); ++i) {
    nanoseconds last = s.setup.since;
    for (auto& step : s.setup.members[i].past) {
      if (step.busy.count() > 0) last = std::max(last, step.at);
      step.at = last;
      all.push_back({last, i, step});
    }
    s.setup.members[i].past = {};
  }
  std::stable_sort(all.begin(), all.end(), [](const entry& a, const entry& b) { return a.at < b.at; });
  for (const auto& e : all) take(self, e.member, e.step, true);
}

search::stop_reason reason_of(const allocator_state& s, std::size_t i) {
  const auto& t = s.setup.budget->tasks()[i];
  if (t.why == leaving::converged) return search::stop_reason::converged;
  if (s.setup.members[i].configurations && t.told >= *s.setup.members[i].configurations)
    return search::stop_reason::exhausted;
  return search::stop_reason::trials;
}

void finish(allocator_self self, std::size_t i, search::stop_reason why) {
  auto& s = self->state;
  auto& m = s.setup.members[i];
  if (m.report || s.progress_of[i].opening) return;
  if (!m.tuner) {
    m.report = nothing_done(m, why, std::nullopt);
    return;
  }
  const bool interrupted = why == search::stop_reason::interrupted;
  auto& p = s.progress_of[i];
  if (interrupted ? std::exchange(p.interrupting, true) : p.finishing) return;
  p.finishing = true;
  budget_end how{why, std::nullopt};
  if (s.setup.time) how.finals_until = s.started + *s.setup.time;
  self->send(m.tuner, atom::finish::value, how);
}

void end_if_all_have(allocator_self self) {
  auto& s = self->state;
  const auto& members = s.setup.members;
  if (s.report || std::any_of(members.begin(), members.end(), [](const auto& m) { return !m.report; })) return;
  auto out = std::make_shared<joint_report>();
  std::vector<double> weights;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto& t = s.setup.budget->tasks()[i];
    out->tasks.push_back({members[i].report, t.why, members[i].known});
    out->trials += t.told;
    weights.push_back(members[i].of->spec.weight / (s.setup.relative ? t.first.value_or(1) : 1.0));
  }
  out->curve = schedulers::total_over_time(weights, s.steps);
  out->relative = s.setup.relative;
  out->busy = s.busy;
  out->wall = now_of(self) - s.started;
  s.report = std::move(out);
  for (auto& promise : s.waiting) promise.deliver(s.report);
  s.waiting.clear();
}

void opened(allocator_self self, std::size_t i, const opened_task& o) {
  auto& s = self->state;
  auto& m = s.setup.members[i];
  s.progress_of[i].opening = false;
  if (!o.tuner) {
    s.setup.budget->leave(i);
    m.report = nothing_done(m, search::stop_reason::error, o.trouble);
  } else {
    m.tuner = caf::actor_cast<tuner_actor>(o.tuner);
    self->monitor(m.tuner);
    self->send(m.tuner, atom::begin::value);
  }
  deal(self);
}

void open(allocator_self self, std::size_t i) {
  auto& s = self->state;
  s.progress_of[i].opening = true;
  self->request(s.opener, caf::infinite, atom::open::value, std::uint64_t{i}, std::uint64_t{s.setup.newest})
      .then([self, i](const opened_task& o) { opened(self, i, o); },
            [self, i](const caf::error&) {
              opened(self, i, {nullptr, error{errc::cancelled, "the task could not be opened", {}}});
            });
}

/// Deals what can be dealt, takes leave of those that get no more.
void deal(allocator_self self) {
  auto& s = self->state;
  if (!s.begun) return;
  auto& budget = *s.setup.budget;
  while (!s.called_off && budget.next()) {
  }
  for (std::size_t i = 0; i < s.setup.members.size(); ++i) {
    auto& m = s.setup.members[i];
    auto& p = s.progress_of[i];
    if (m.report || p.opening) continue;
    const auto& t = budget.tasks()[i];
    if (s.called_off) {
      finish(self, i, *s.called_off);
    } else if (!m.tuner && t.pending() > 0) {
      open(self, i);
    } else if (m.tuner && p.allowed != t.dealt && !p.finishing) {
      p.allowed = t.dealt;
      self->send(m.tuner, atom::allow::value, budget_allowance{t.dealt, s.started});
    }
    if (t.pending() == 0 && (t.why != leaving::none || budget.over())) {
      if (t.why == leaving::dead && m.tuner && !p.finishing)
        say(self, name_of(*m.of) + ": no valid result in " + std::to_string(t.told) + " trials, it gets no more");
      finish(self, i, reason_of(s, i));
    }
  }
  end_if_all_have(self);
}

void call_off(allocator_self self, search::stop_reason why) {
  auto& s = self->state;
  if (!s.called_off || why == search::stop_reason::interrupted) s.called_off = why;
  deal(self);
}

void begin(allocator_self self, const allocator_setup_ptr& setup) {
  auto& s = self->state;
  if (s.begun) return;
  s.setup = std::move(*setup);
  s.progress_of.resize(s.setup.members.size());
  s.begun = true;
  s.started = now_of(self);
  take_past(self);
  for (std::size_t i = 0; i < s.setup.members.size(); ++i) {
    auto& m = s.setup.members[i];
    if (m.report) s.setup.budget->leave(i);
    if (!m.tuner) continue;
    s.progress_of[i].allowed = s.setup.budget->tasks()[i].dealt;
    self->monitor(m.tuner);
    self->send(m.tuner, atom::begin::value);
    self->send(m.tuner, atom::allow::value, budget_allowance{s.progress_of[i].allowed, s.started});
  }
  if (s.setup.time)
    self->delayed_send(self, std::max(nanoseconds(0), *s.setup.time - s.setup.kept_for_finals), atom::internal::value,
                       atom::tick::value);
  deal(self);
}

void heard(allocator_self self, const budget_news& news) {
  auto& s = self->state;
  auto& m = s.setup.members[news.member];
  for (const auto& step : news.told) {
    take(self, news.member, step, false);
    s.setup.newest = std::max(s.setup.newest, step.record);
  }
  if (news.window > 0) s.setup.budget->set_room(s.setup.shares[news.member].place, news.window);
  if (news.stopping || news.report) s.setup.budget->leave(news.member);
  if (news.report) m.report = news.report;
  deal(self);
}

} // namespace

allocator_actor::behavior_type allocator(allocator_self self, opener_actor opener, monitor_port watch) {
  auto& state = self->state;
  state.opener = std::move(opener);
  state.watch = std::move(watch);
  self->set_down_handler([self](const caf::down_msg& down) {
    for (std::size_t i = 0; i < self->state.setup.members.size(); ++i) {
      auto& m = self->state.setup.members[i];
      if (!m.tuner || m.tuner.address() != down.source || m.report) continue;
      self->state.setup.budget->leave(i);
      m.report = nothing_done(m, search::stop_reason::error, error{errc::cancelled, "its tuner has gone", {}});
    }
    deal(self);
  });
  return {
      [self](atom::begin, const allocator_setup_ptr& setup) { begin(self, setup); },
      [self](atom::note, const budget_news& news) { heard(self, news); },
      [self](atom::cancel) { call_off(self, search::stop_reason::interrupted); },
      [self](atom::report) -> caf::result<joint_report_ptr> {
        auto promise = self->make_response_promise<joint_report_ptr>();
        if (self->state.report)
          promise.deliver(self->state.report);
        else
          self->state.waiting.push_back(promise);
        return promise;
      },
      [self](atom::status) { return self->state.report != nullptr; },
      [self](atom::internal, atom::tick) { call_off(self, search::stop_reason::time); },
  };
}

opener_actor::behavior_type opener(opener_actor::stateful_pointer<opener_state> self, open_task open) {
  return {[self, open = std::move(open)](atom::open, std::uint64_t member, std::uint64_t up_to) {
    return open(caf::actor_cast<allocator_actor>(self->current_sender()), static_cast<std::size_t>(member), up_to);
  }};
}

} // namespace attune::actors
