#include "actors/allocator.hpp"
#include "actors/archive.hpp"
#include "actors/earlier.hpp"
#include "actors/engine.hpp"
#include "actors/engine_state.hpp"
#include "actors/handles.hpp"
#include "actors/similar.hpp"
#include "actors/tuner.hpp"
#include "measure/validate.hpp"
#include "search/limits.hpp"

#include <caf/send.hpp>

#include <map>
#include <set>

namespace attune::actors {

std::string session_id(const task& of, bool shared) {
  std::string form = "session/1:";
  form += of.identity.task_key.view();
  form += sha256(space_form(of.spec)).view();
  form += std::to_string(of.spec.search.seed) + ":" + of.spec.search.strategy;
  if (of.spec.search.near) form += ":near";
  if (shared) form += ":shared";
  return truncate(sha256(form)).hex();
}

attune::status engine::impl::fill_from_earlier(const task_ptr& of, const search::space& over) {
  const auto known = store->view();
  if (!known) return known.err();
  auto earlier = earlier_results(**known, *of, over);
  if (!earlier) return earlier.err();
  finished_batch batch;
  for (auto& e : *earlier) {
    auto t = std::make_shared<trial>();
    t->of = of;
    t->canonical = e.config.canonical();
    t->config = std::move(e.config);
    t->key = e.key;
    batch.items.push_back({std::move(t), std::make_shared<const outcome>(std::move(e.from.result)), true});
  }
  if (!batch.items.empty()) caf::anon_send(cache, atom::fill::value, std::move(batch));
  return {};
}

namespace {

/// A step of a session's past, for whoever deals.
budget_step past_step(const storage::session_step& s) {
  if (!s.result) return {}; // an estimate
  const auto* m = s.result->measured();
  return {m != nullptr ? std::optional(m->value) : std::nullopt, 0, s.result->at,
          s.from_cache ? nanoseconds(0) : s.result->phases.run};
}

} // namespace

result<std::shared_ptr<session::impl>> engine::impl::open(const tuning_request& request, const shared_part* part) {
  const auto& spec = request.of->spec;
  const auto number = next.fetch_add(1);
  search::tuning_limits limits;
  limits.trials = spec.search.trials;
  limits.time = spec.search.time;
  limits.kept_for_finals = limits.time && !request.by_caller && spec.finals() > 0 ? *limits.time / 20 : nanoseconds(0);
  const auto count = request.over->count();
  if (spec.search.fraction && count)
    limits.trials = trials_of_fraction(*spec.search.fraction, static_cast<double>(*count));
  if (spec.search.fraction && !count)
    return error{errc::invalid_spec, "search.fraction needs a space that can be counted; give search.trials",
                 spec.file};
  if (!limits.trials && !limits.time && part == nullptr) limits.trials = default_trials;
  limits.always_default = part != nullptr;

  const std::string id = session_id(*request.of, part != nullptr);
  search::strategy_options how;
  how.seed = spec.search.seed;
  how.budget = limits.trials ? limits.trials : part != nullptr ? part->trials_each : std::nullopt;
  bool known = false;
  std::shared_ptr<const storage::store> view;
  storage::record_id records_before = 0;
  if (store) {
    if (request.remeasure && part == nullptr)
      if (const auto erased = store->erase_session(id); !erased) return erased.err();
    const auto now = store->view();
    if (!now) return now.err();
    view = *now;
    auto past = view->load_session(id);
    if (!past) return past.err();
    known = past->has_value();
    // The strategy is made as it was at the session's beginning: its past is played back to it.
    records_before = known             ? (*past)->records_before
                     : part == nullptr ? view->newest()
                                       : std::min(view->newest(), part->up_to);
    if (known) how.budget = (*past)->budget;
    if (known) limits.spent = (*past)->spent;
    auto similar = find_similar(*view, *request.of, *request.over, {.up_to = records_before});
    if (!similar) return similar.err();
    how.prior = std::move(similar->records);
  }
  // What the user calls the default is measured first, so that there is something to compare with.
  const bool named =
      std::any_of(spec.parameters.begin(), spec.parameters.end(), [](const auto& p) { return p.standard.has_value(); });
  if (named || part != nullptr) how.first.push_back(request.over->standard());
  auto strategy = search::make_strategy(spec.search.strategy, request.over, how);
  if (!strategy) return error{errc::invalid_spec, strategy.err().message, spec.file};

  auto setup = std::make_shared<tuner_setup>();
  setup->session = {number, request.by_caller ? measuring::by_caller : measuring::by_runners, request.remeasure,
                    store && store->knows_workload(request.of->identity.workload_key), spec.search.near};
  setup->search = std::make_unique<search::tuning>(request.of, request.over, std::move(*strategy), limits, number);
  if (spec.search.near) setup->search->estimate_near(spec.measure.accepted_noise());
  if (spec.search.near && view && !request.remeasure) {
    // What other sessions had measured when this one began, and no more: it comes to the same each time.
    const auto read = view->records_of(request.of->identity.task_key, [&](const storage::record& r) {
      if (r.id <= records_before) setup->search->known_near(r.config, r.key, r.result);
      return r.id < records_before;
    });
    if (!read) return read.err();
  }
  setup->model = model;
  setup->wish = request.in_flight;
  if (limits.time) setup->finals_until = *limits.time - std::min(limits.spent, *limits.time);
  if (part != nullptr) {
    setup->dealer = part->dealer;
    setup->member = part->member;
    setup->party = part->party;
  }
  if (store) {
    setup->session_id = id;
    storage::session_entry entry;
    entry.id = id;
    entry.task_name = spec.name;
    entry.strategy = spec.search.strategy;
    entry.seed = spec.search.seed;
    entry.budget = how.budget;
    entry.started = system_time().wall();
    entry.records_before = records_before;
    entry.estimates = spec.search.near;
    if (part != nullptr) entry.spent = part->spent;
    const auto begun = store->begin_session(entry);
    if (!begun) return begun.err();
    if (!*begun)
      caf::anon_send(
          watch.to, atom::note::value,
          event_batch{{{event_kind::decided,
                        number,
                        nullptr,
                        nullptr,
                        spec.name + ": the same session is under way in another process: results are shared, "
                                    "and that process keeps the session's steps",
                        {}}}});
    if (known) {
      const auto read = view->session_steps(id, [&](const storage::session_step& s) {
        const search::told_step step{s.number, s.asked_before};
        if (s.guess)
          setup->search->replay_estimate(step, s.config, *s.guess);
        else if (s.amends)
          setup->search->replay_amendment(step, s.config, s.key, s.result, *s.amends);
        else
          setup->search->replay(step, s.config, s.key, s.result);
        const auto* failed = s.result ? s.result->failed() : nullptr;
        const bool counts = failed == nullptr || failed->kind != failure_kind::internal;
        if (part != nullptr && part->past != nullptr && !s.amends && counts) part->past->push_back(past_step(s));
      });
      if (!read) return read.err();
    }
  }
  if (store && !request.remeasure)
    if (const auto filled = fill_from_earlier(request.of, *request.over); !filled) return filled.err();
  auto open = std::make_shared<session::impl>();
  open->system = system;
  open->turn = options.turn;
  open->tuner = system->spawn(tuner, setup, cache, scheduler, recorder, watch);
  open->number = number;
  open->scheduler = scheduler;
  // Before it can begin.
  if (request.share != schedulers::share_terms{})
    caf::anon_send(scheduler, atom::share::value, session_number{number}, request.share);
  {
    const std::lock_guard guard(lock);
    // Those that were let go are gone when their hearers are.
    std::erase_if(sessions, [](const std::shared_ptr<session::impl>& s) {
      const std::lock_guard one(s->lock);
      return s->closed && s->report;
    });
    sessions.push_back(open);
  }
  return open;
}

namespace {

attune::status validate(const tuning_request& request) {
  const auto& spec = request.of->spec;
  if (!request.by_caller && !request.of->objective)
    if (auto good = measure::validate(spec); !good) return good;
  if (const auto good = search::run_limits::compile(spec); !good) return good.err();
  return {};
}

/// How many results of a task are known up to that record, and its report where that is enough: its best without a
/// search. None where it is not.
result<std::optional<std::pair<std::uint64_t, report_ptr>>> known_before(const storage::store& view,
                                                                         const tuning_request& request,
                                                                         storage::record_id up_to, std::uint64_t enough,
                                                                         const std::string& id) {
  std::set<key128> keys;
  const auto standard = request.over->to_configuration(request.over->standard());
  auto out = std::make_shared<tuning_report>();
  const auto read = view.records_of(request.of->identity.task_key, [&](const storage::record& r) {
    if (r.id > up_to) return false;
    const auto p = request.over->to_point(r.config);
    if (!p || !request.over->contains(*p) || !conclusive(r.result)) return true;
    keys.insert(r.key);
    const auto* m = r.result.measured();
    if (m == nullptr) return true;
    const search::best_so_far one{r.config, std::make_shared<const outcome>(r.result), r.key, 0};
    if (r.config == standard) out->standard = one;
    if (!out->best || request.of->better(m->value, out->best->result->measured()->value)) out->best = one;
    return true;
  });
  if (!read) return read.err();
  if (keys.size() < enough || !out->best) return std::optional<std::pair<std::uint64_t, report_ptr>>();
  out->of = request.of;
  out->session = id;
  out->reason = search::stop_reason::trials;
  return std::optional(std::pair<std::uint64_t, report_ptr>(keys.size(), std::move(out)));
}

} // namespace

result<session> engine::tune(const tuning_request& request) {
  if (const auto good = validate(request); !good) return good.err();
  auto open = impl_->open(request, nullptr);
  if (!open) return open.err();
  caf::anon_send((*open)->tuner, atom::begin::value);
  return session(*open);
}

result<joint_session> engine::tune_together(const joint_request& request) {
  const auto& i = *impl_;
  const auto& budget = request.budget;
  auto setup = std::make_shared<allocator_setup>();
  auto joint = std::make_shared<joint_session::impl>();
  joint->system = i.system;
  joint->turn = i.options.turn;
  joint->sessions.resize(request.tasks.size());
  joint->terms = request.share;
  joint->terms.among = static_cast<std::uint32_t>(std::max<std::size_t>(1, request.tasks.size()));
  std::vector<task_ptr> tasks;
  std::map<std::pair<std::string, std::string>, std::uint32_t> kinds;
  std::map<std::string, std::uint32_t> places;
  std::shared_ptr<const storage::store> view;
  if (i.store) {
    const auto now = i.store->view();
    if (!now) return now.err();
    view = *now;
    setup->newest = view->newest();
  }
  setup->since = system_time().wall();
  nanoseconds spent{0};
  std::vector<bool> known;
  for (const auto& one : request.tasks) {
    if (const auto good = validate(one); !good) return good.err();
    allocator_member m;
    m.of = one.of;
    m.session = session_id(*one.of, true);
    for (const auto& other : setup->members)
      if (other.session == m.session)
        return error{errc::invalid_spec, "task '" + one.of->spec.name + "' is given twice", one.of->spec.file};
    schedulers::shared_task share;
    share.weight = one.of->spec.weight;
    // On machines of their own, tasks for different ones do not wait for each other.
    if (i.options.apart)
      share.place = places.try_emplace(one.of->identity.target_key.hex(), static_cast<std::uint32_t>(places.size()))
                        .first->second;
    const auto& metric = one.of->metric();
    share.kind = kinds
                     .try_emplace({one.of->spec.name, metric.name + ' ' + to_string(metric.direction)},
                                  static_cast<std::uint32_t>(kinds.size()))
                     .first->second;
    share.most = one.of->spec.search.trials;
    if (const auto count = one.over->count(); count && *count < (search::uint128{1} << 62)) {
      m.configurations = static_cast<std::uint64_t>(*count);
      if (one.of->spec.search.fraction)
        share.most = trials_of_fraction(*one.of->spec.search.fraction, static_cast<double>(*count));
      share.most = std::min(share.most.value_or(*m.configurations), *m.configurations);
    }
    known.push_back(false);
    if (i.store) {
      if (one.remeasure)
        if (const auto erased = i.store->erase_session(m.session); !erased) return erased.err();
      const auto past =
          one.remeasure ? result<std::optional<storage::session_entry>>(std::nullopt) : view->load_session(m.session);
      if (!past) return past.err();
      known.back() = past->has_value();
      if (known.back()) {
        spent = std::max(spent, (*past)->spent);
        setup->since = std::min(setup->since, (*past)->started);
      }
      if (budget.sufficient && !one.remeasure) {
        auto before = known_before(*view, one, known.back() ? (*past)->records_before : view->newest(),
                                   *budget.sufficient, m.session);
        if (!before) return before.err();
        if (*before) {
          m.known = (*before)->first;
          m.report = (*before)->second;
        }
      }
    }
    tasks.push_back(one.of);
    setup->shares.push_back(share);
    setup->members.push_back(std::move(m));
  }
  schedulers::budget_options how;
  how.policy = budget.policy;
  how.trials = budget.trials;
  how.patience = budget.patience;
  how.hurried = budget.time.has_value();
  how.relative = setup->relative = must_be_relative(tasks);
  auto made = schedulers::make_task_budget(setup->shares, how);
  if (!made) return made.err();
  setup->budget = std::move(*made);
  if (budget.time) {
    setup->time = *budget.time - std::min(spent, *budget.time);
    const bool finals = std::any_of(tasks.begin(), tasks.end(), [](const auto& t) { return t->spec.finals() > 0; });
    if (finals) setup->kept_for_finals = *budget.time / 20;
  }

  impl::shared_part part;
  part.party = impl_->next.fetch_add(1);
  part.spent = spent;
  if (budget.trials) part.trials_each = std::max<std::uint64_t>(1, *budget.trials / request.tasks.size());
  const auto open = [engine = impl_.get(), common = part, all = request.tasks, weak = std::weak_ptr(joint)](
                        const allocator_actor& dealer, std::size_t member, storage::record_id up_to,
                        std::vector<budget_step>* past) -> opened_task {
    const auto whole = weak.lock();
    if (!whole) return {nullptr, error{errc::cancelled, "nobody waits for it any more", {}}};
    auto asked = all[member];
    {
      const std::lock_guard guard(whole->lock);
      asked.share = whole->terms;
    }
    auto own = common;
    own.dealer = dealer;
    own.member = member;
    own.up_to = up_to;
    own.past = past;
    auto got = engine->open(asked, &own);
    if (!got) return {nullptr, got.err()};
    const std::lock_guard guard(whole->lock);
    whole->sessions[member] = session(*got);
    return {caf::actor_cast<caf::strong_actor_ptr>((*got)->tuner), std::nullopt};
  };
  const open_task opens([open](const allocator_actor& dealer, std::size_t member, storage::record_id up_to) {
    return open(dealer, member, up_to, nullptr);
  });
  joint->opens = i.options.turn ? i.system->spawn(opener, opens) : i.system->spawn<caf::detached>(opener, opens);
  joint->dealer = i.system->spawn(allocator, joint->opens, i.watch);
  {
    const std::lock_guard guard(impl_->lock);
    std::erase_if(impl_->joints, [](const std::shared_ptr<joint_session::impl>& j) {
      const std::lock_guard one(j->lock);
      return j->closed;
    });
    impl_->joints.push_back(joint);
  }
  // What was begun before says by its results where the budget stands.
  std::optional<error> trouble;
  for (std::size_t k = 0; k < setup->members.size() && !trouble; ++k) {
    auto& m = setup->members[k];
    if (!known[k] || m.report) continue;
    const auto opened = open(joint->dealer, k, setup->newest, &m.past);
    if (opened.trouble) trouble = opened.trouble;
    if (opened.tuner) m.tuner = caf::actor_cast<tuner_actor>(opened.tuner);
  }
  caf::anon_send(joint->dealer, atom::begin::value, allocator_setup_ptr(setup));
  if (trouble) {
    caf::anon_send(joint->dealer, atom::cancel::value);
    return *trouble;
  }
  return joint_session(joint);
}

} // namespace attune::actors
