#include "actors/engine.hpp"

#include "actors/messages.hpp"
#include "core/clock.hpp"
#include "library/access.hpp"
#include "net/shared_store.hpp"
#include "search/strategy.hpp"

#include <algorithm>

namespace attune {

found found_of(const search::space& over, const task& of, const configuration& config, const measurement& m) {
  found out;
  // What a store has written may name its values in another order.
  const auto at = over.to_point(config);
  out.config = at ? over.to_configuration(*at) : config;
  out.value = m.value;
  out.spread = m.spread;
  out.samples = m.samples;
  out.unit = of.metric().stored_unit();
  return out;
}

namespace {

/// The database's own threads, and the one of the store that is shared.
constexpr std::uint32_t store_threads = 8, shared_threads = 1;
/// The worker, the clock and the printer of an actor system; the actors with threads of their own: the trainings, and
/// with a store the recorder and the archive.
constexpr std::uint32_t system_threads = 3, model_threads = 1, disk_actor_threads = 2;

constexpr std::uint32_t most_in_flight = 4096, most_in_hand = 64, far_ahead = 256;

std::uint32_t threads_of_slots(const engine_options& o, std::uint32_t slots) noexcept {
  // What watches a call's limit; what calls.
  return o.inline_calls ? 1 : 2 * slots;
}

std::uint32_t threads_of_rest(const engine_options& o) noexcept {
  std::uint32_t n = model_threads;
  if (o.host == nullptr) n += system_threads;
  if (!o.store.empty()) n += disk_actor_threads + store_threads + (o.shared ? shared_threads : 0);
  return n;
}

std::uint32_t slots_of(const engine_options& o) noexcept { return o.inline_calls ? 1 : std::max(1u, o.slots); }

std::optional<found> found_of(const prepared& what, const std::optional<search::best_so_far>& best) {
  if (!best) return std::nullopt;
  return found_of(*what.over, *what.of, best->config, *best->result->measured());
}

void count(report& into, const search::tuning_counts& counts) {
  into.proposed = counts.proposed;
  into.measured = counts.measured;
  into.cached = counts.cached;
  for (std::size_t i = 0; i < counts.failed.size(); ++i)
    if (counts.failed[i] > 0) into.failed.emplace_back(all_failure_kinds[i], counts.failed[i]);
}

ending ending_of(search::stop_reason r) noexcept {
  using search::stop_reason;
  switch (r) {
  case stop_reason::trials:
    return ending::trials;
  case stop_reason::time:
    return ending::time;
  case stop_reason::exhausted:
    return ending::exhausted;
  case stop_reason::converged:
    return ending::converged;
  case stop_reason::no_valid:
    return ending::no_valid;
  case stop_reason::error:
    return ending::error;
  case stop_reason::interrupted:
  case stop_reason::none:
    break;
  }
  return ending::interrupted;
}

report report_of(const prepared& what, const actors::tuning_report* r) {
  report out;
  out.finished = true;
  if (r == nullptr) return out;
  out.best = found_of(what, r->best);
  out.standard = found_of(what, r->standard);
  count(out, r->counts);
  out.first_failure = r->first_failure;
  out.ended = ending_of(r->reason);
  out.trouble = r->trouble;
  out.wall = r->wall;
  return out;
}

} // namespace

objective_function function_of(objective what, const std::string& unit) {
  metric_spec metric;
  metric.unit = unit;
  return [what = std::move(what), metric = std::move(metric)](const configuration& c, const std::stop_token& stop) {
    return written(what(config_view(c), stop), metric);
  };
}

namespace {

std::optional<std::pair<log_level, std::string>> line_of(const actors::event& e) {
  using actors::event_kind;
  switch (e.kind) {
  case event_kind::session_started:
    return std::pair{log_level::info, "search of " + e.text + " begins"};
  case event_kind::session_ended:
    return std::pair{log_level::info, "search ended: " + e.text};
  case event_kind::retried:
    return std::pair{log_level::warning, "measured again: " + e.text};
  case event_kind::quarantined:
    return std::pair{log_level::warning, "given up: " + e.text};
  case event_kind::place_stuck:
    return std::pair{log_level::warning, e.text + " does not answer"};
  case event_kind::store_trouble:
    return std::pair{log_level::error, e.text};
  case event_kind::store_recovered:
    return std::pair{log_level::info, e.text};
  case event_kind::decided:
  case event_kind::finals:
    return std::pair{log_level::debug, e.text};
  default:
    return std::nullopt;
  }
}

} // namespace

const char* to_string(ending e) noexcept {
  switch (e) {
  case ending::trials:
    return "trials";
  case ending::time:
    return "time";
  case ending::exhausted:
    return "exhausted";
  case ending::converged:
    return "converged";
  case ending::interrupted:
    return "interrupted";
  case ending::no_valid:
    return "no_valid";
  case ending::error:
    return "error";
  }
  return "error";
}

std::uint64_t report::failures() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [kind, n] : failed) sum += n;
  return sum;
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> out{"auto"};
  for (const auto& s : search::strategies())
    if (s.name != "auto") out.push_back(s.name);
  return out;
}

std::uint32_t engine_threads(const engine_options& options) noexcept {
  return threads_of_rest(options) + threads_of_slots(options, slots_of(options));
}

result<prepared> prepare(const space& over, const search_options& how, objective_function measure) {
  task_spec spec = detail::space_access::spec(over);
  spec.callable = how.method;
  auto& metric = spec.run.metrics.front();
  metric.unit = how.unit;
  metric.direction = how.maximize ? goal::maximize : goal::minimize;
  spec.run.timeout = how.limit;
  spec.run.warmup = how.warmup;
  spec.run.repeats = {how.repeats, std::max(how.repeats, how.most_repeats), how.until};
  spec.search.strategy = how.strategy;
  spec.search.trials = how.trials;
  spec.search.time = how.time;
  spec.search.seed = how.seed;
  spec.measure.finals = how.finalists;
  if (spec.name.empty()) return error{errc::invalid_spec, "the space has no name", {}};
  if (how.method.empty()) return error{errc::invalid_spec, "search_options::method is empty", {}};
  if (how.repeats == 0) return error{errc::invalid_spec, "search_options::repeats is 0", {}};
  if (how.limit <= nanoseconds(0)) return error{errc::invalid_spec, "search_options::limit is not positive", {}};
  auto compiled = search::space::compile(spec.parameters, spec.constraints, spec.workload, spec.target);
  if (!compiled) return compiled.err();
  auto of = make_task(std::move(spec), std::move(measure));
  if (!of) return of.err();
  return prepared{*of, *compiled};
}

void engine::impl::log(log_level level, std::string_view text) noexcept {
  if (!options.log || text.empty()) return;
  try {
    const std::lock_guard guard(logging);
    options.log(level, text);
  } catch (...) { // NOLINT(bugprone-empty-catch): the sink is the host's, and there is nobody else to be told
  }
}

result<engine> engine::start(engine_options options) {
  auto i = std::make_unique<impl>();
  i->options = std::move(options);
  const auto& o = i->options;
  actors::engine_options with;
  with.store = o.store;
  if (o.shared) with.open_store = [](const std::string& folder) { return net::open_shared(folder); };
  with.host = o.host;
  with.cache.bytes = o.memory;
  with.cache.hot_bytes = std::min(with.cache.hot_bytes, o.memory);
  with.inline_callables = o.inline_calls;
  with.builders = 1;
  // Each search has its own bound, so that none waits for another's turn.
  with.in_flight = most_in_flight;
  with.subreaper = false;
  auto slots = slots_of(o);
  if (o.threads > 0) {
    const auto rest = threads_of_rest(o);
    while (slots > 1 && rest + threads_of_slots(o, slots) > o.threads) --slots;
    if (rest + threads_of_slots(o, slots) > o.threads)
      return error{errc::invalid_spec,
                   "engine_options::threads is " + std::to_string(o.threads) + ", this engine needs " +
                       std::to_string(rest + threads_of_slots(o, slots)),
                   {}};
  }
  with.slots = slots;
  auto core = actors::engine::start(std::move(with));
  if (!core) return core.err();
  i->core = std::move(*core);
  if (o.log) {
    if (auto* store = i->core->store())
      for (const auto& n : store->notices()) i->log(log_level::warning, n);
    i->log(log_level::info, i->core->remark());
    i->core->subscribe([to = i.get()](const actors::event_batch& batch) {
      for (const auto& e : batch.items)
        if (const auto line = line_of(e)) to->log(line->first, line->second);
    });
  }
  return engine(std::move(i));
}

engine::engine(std::unique_ptr<impl> i) noexcept : impl_(std::move(i)) {}
engine::~engine() = default;
engine::engine(engine&& other) noexcept = default;
engine& engine::operator=(engine&& other) noexcept = default;

result<std::shared_ptr<session::impl>> engine::impl::begin(prepared what, const search_options& how, bool by_caller) {
  const auto& strategy = what.of->spec.search.strategy;
  // What does not learn loses nothing by proposing far ahead, and messages go in larger batches then.
  const bool learns = strategy != "grid" && strategy != "random" && strategy != "quasirandom";
  const auto ahead = by_caller ? most_in_hand : learns ? slots_of(options) + 2 : far_ahead;
  actors::tuning_request request{what.of, what.over};
  request.remeasure = how.remeasure;
  request.by_caller = by_caller;
  request.in_flight = how.in_hand > 0 ? how.in_hand : ahead;
  auto begun = core->tune(request);
  if (!begun) return begun.err();
  auto out = std::make_shared<session::impl>(std::move(what), std::move(*begun));
  out->inner.when_done([to = out](const std::shared_ptr<const actors::tuning_report>& r) {
    auto end = report_of(to->what, r.get());
    to->inner.close();
    to->promise.set_value(std::move(end));
  });
  return out;
}

result<session> engine::tune(const space& over, objective what, const search_options& how) {
  auto made = prepare(over, how, function_of(std::move(what), how.unit));
  if (!made) return made.err();
  auto begun = impl_->begin(std::move(*made), how, false);
  if (!begun) return begun.err();
  return session(std::move(*begun));
}

result<ask_tell> engine::open(const space& over, const search_options& how) {
  auto made = prepare(over, how, {});
  if (!made) return made.err();
  auto begun = impl_->begin(std::move(*made), how, true);
  if (!begun) return begun.err();
  return ask_tell(std::move(*begun));
}

result<std::vector<found>> engine::best(const space& over, const search_options& how, std::size_t count) const {
  auto made = prepare(over, how, {});
  if (!made) return made.err();
  return impl_->best(*made, count);
}

result<std::vector<found>> engine::impl::best(const prepared& what, std::size_t count) const {
  std::vector<found> out;
  auto* store = core->store();
  if (store == nullptr) return out;
  const auto view = store->view();
  if (!view) return view.err();
  const auto known = (*view)->best(what.of->identity.task_key, count);
  if (!known) return known.err();
  for (const auto& r : *known)
    if (const auto* m = r.result.measured()) out.push_back(found_of(*what.over, *what.of, r.config, *m));
  return out;
}

std::optional<double> engine::impl::known(const prepared& what, const configuration& config) const {
  auto* store = core->store();
  if (store == nullptr) return std::nullopt;
  const auto view = store->view();
  if (!view) return std::nullopt;
  const auto record = (*view)->cached_record(measurement_key(what.of->identity, config.canonical()));
  if (!record || !*record) return std::nullopt;
  const auto* m = (*record)->result.measured();
  return m == nullptr ? std::nullopt : std::optional(m->value);
}

report session::wait() const { return impl_->ended.get(); }

std::optional<report> session::wait_for(nanoseconds patience) const {
  if (impl_->ended.wait_for(patience) != std::future_status::ready) return std::nullopt;
  return impl_->ended.get();
}

std::shared_future<report> session::future() const { return impl_->ended; }

void session::on_end(std::function<void(const report&)> what) const {
  if (const auto now = wait_for(nanoseconds(0))) return what(*now);
  impl_->inner.when_done([of = impl_, what = std::move(what)](const std::shared_ptr<const actors::tuning_report>& r) {
    what(report_of(of->what, r.get()));
  });
}

void session::cancel() const {
  if (!wait_for(nanoseconds(0))) impl_->inner.cancel();
}
void session::pause() const {
  if (!wait_for(nanoseconds(0))) impl_->inner.pause();
}
void session::resume() const {
  if (!wait_for(nanoseconds(0))) impl_->inner.resume();
}

report session::progress() const {
  if (auto end = wait_for(nanoseconds(0))) return *end;
  const auto now = impl_->inner.progress();
  if (auto end = wait_for(nanoseconds(0))) return *end;
  report out;
  out.best = found_of(impl_->what, now.best);
  count(out, now.counts);
  return out;
}

config_view asked::config() const noexcept { return config_view(impl_->what->config); }

std::optional<asked> ask_tell::ask() const {
  if (wait_for(nanoseconds(0))) return std::nullopt;
  auto next = impl_->inner.ask();
  if (!next) return std::nullopt;
  return asked(std::make_shared<const asked::impl>(asked::impl{std::move(next)}));
}

status ask_tell::tell(const asked& which, const answer& what) const {
  if (wait_for(nanoseconds(0))) return error{errc::cancelled, "the search has ended", {}};
  const auto& t = *which.get().what;
  outcome o;
  o.runner = "caller";
  o.at = system_time().wall();
  o.data = clean(t, what, o.notes);
  return impl_->inner.tell(t, std::move(o));
}

result<report> tune(const space& over, objective what, const search_options& how, engine_options with,
                    std::stop_token stop) {
  if (with.host == nullptr) with.inline_calls = true;
  auto e = engine::start(std::move(with));
  if (!e) return e.err();
  const auto s = e->tune(over, std::move(what), how);
  if (!s) return s.err();
  const std::stop_callback cancels(stop, [&] { s->cancel(); });
  return s->wait();
}

} // namespace attune
