#include "web/model.hpp"

#include "web/event_json.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attune::web {

namespace {

constexpr float none = std::numeric_limits<float>::quiet_NaN();
/// Trials are numbered from 0; a session that passes this is counted, not kept.
constexpr trial_number numbers_most = 50'000'000;

float in_s(nanoseconds d) { return static_cast<float>(seconds(d)); }

} // namespace

const char* to_string(stage s) noexcept {
  static constexpr std::array<const char*, stage_count> names{"propose", "cache", "flight", "queue", "build",
                                                              "upload",  "run",   "clean",  "store", "told"};
  return names[static_cast<std::size_t>(s)];
}

std::uint8_t ending_of(const outcome& o) noexcept {
  if (o.ok()) return 0;
  if (o.bounded() != nullptr) return 1;
  return static_cast<std::uint8_t>(2 + static_cast<std::uint8_t>(o.failed()->kind));
}

std::string ending_name(std::uint8_t ending) {
  if (ending == 0) return "measured";
  if (ending == 1) return "bounded";
  return attune::to_string(static_cast<failure_kind>(ending - 2));
}

session_head head_of(const task& of, nanoseconds started) {
  session_head h;
  h.task = of.spec.name;
  h.key = of.identity.task_key.hex();
  h.strategy = of.spec.search.strategy;
  h.metric = of.metric().name;
  h.unit = of.metric().stored_unit();
  h.workload = of.load.args;
  h.target = of.where.facts;
  h.direction = of.metric().direction;
  h.seed = of.spec.search.seed;
  h.budget = of.spec.search.trials;
  h.time_limit = of.spec.search.time;
  h.weight = of.spec.weight;
  h.started = started;
  return h;
}

model::model(nanoseconds now, nanoseconds wall, model_options options) : begin_(now), wall_(wall), options_(options) {}

bool model::add_session(actors::session_number number, session_head head) {
  if (sessions_.contains(number)) return true;
  if (sessions_.size() >= options_.sessions_most) return false;
  auto& s = sessions_[number];
  s.number = number;
  s.head = std::move(head);
  s.version = 1;
  return true;
}

session_view* model::session_of(const actors::event& e) {
  auto at = sessions_.find(e.session);
  if (at == sessions_.end()) {
    if (e.session == 0 || !e.what) return nullptr;
    if (!add_session(e.session, head_of(*e.what->of, wall_ + (e.at - begin_)))) return nullptr;
    at = sessions_.find(e.session);
  }
  if (auto& s = at->second; s.begun.count() == 0)
    s.begun = e.at - from_seconds(s.rows.at_s.empty() ? 0.0 : static_cast<double>(s.rows.at_s.back()));
  return &at->second;
}

bool model::better(const session_view& s, double value) const noexcept {
  return !s.best || (s.head.direction == goal::minimize ? value < *s.best : value > *s.best);
}

void model::add_trial(actors::session_number number, trial_number which, const configuration& config, const key128& key,
                      const outcome& result, bool cached, nanoseconds at,
                      const std::optional<search::foreseen>& expected) {
  const auto found = sessions_.find(number);
  if (found == sessions_.end()) return;
  auto& s = found->second;
  if (which < numbers_most) {
    if (s.seen.size() <= which) s.seen.resize(static_cast<std::size_t>(std::max(which + 1, which * 5 / 4)));
    if (s.seen[static_cast<std::size_t>(which)]) return;
    s.seen[static_cast<std::size_t>(which)] = true;
  }
  ++s.version;
  ++s.proposed;
  s.cached += cached ? 1 : 0;
  const auto ending = ending_of(result);
  ++s.endings[ending];
  if (!cached) {
    s.built_s += seconds(result.phases.build);
    s.run_s += seconds(result.phases.run);
  }
  const auto* m = result.measured();
  const bool improves = m != nullptr && better(s, m->value);
  if (improves) {
    s.best = m->value;
    s.best_config = config;
  }
  if ((rows_ >= options_.rows_most && !improves) || which >= numbers_most) {
    ++s.left_out;
    return;
  }
  ++rows_;
  auto& r = s.rows;
  if (s.names.empty() && !config.empty()) {
    s.names = *config.names();
    s.values.resize(s.names.size());
    s.value_index.resize(s.names.size());
    r.parameters.resize(s.names.size());
  }
  for (std::size_t i = 0; i < s.names.size(); ++i) {
    // The names are one list for the whole session, but for what another version of the spec has left in its journal.
    const auto* v = i < config.size() && config.name(i) == s.names[i] ? &config[i] : config.find(s.names[i]);
    form_.clear();
    encode(v == nullptr ? value() : *v, form_);
    auto known = s.value_index[i].find(form_);
    if (known == s.value_index[i].end()) {
      const std::string text = dump(v == nullptr ? nlohmann::ordered_json(nullptr) : value_json(*v));
      // A parameter of more values than this is no axis that one could read: the rest is one.
      constexpr std::size_t values_most = 65'000;
      const auto next = static_cast<std::uint16_t>(std::min(s.values[i].size(), values_most));
      if (s.values[i].size() <= values_most) s.values[i].push_back(next == values_most ? "\"…\"" : text);
      known = s.value_index[i].emplace(form_, next).first;
    }
    r.parameters[i].push_back(known->second);
  }
  r.number.push_back(static_cast<std::uint32_t>(which));
  r.at_s.push_back(in_s(at));
  r.value.push_back(m != nullptr                  ? m->value
                    : result.bounded() != nullptr ? result.bounded()->value
                                                  : std::numeric_limits<double>::quiet_NaN());
  r.ending.push_back(ending);
  r.cached.push_back(cached ? 1 : 0);
  r.queue_s.push_back(in_s(result.phases.queue));
  r.build_s.push_back(in_s(result.phases.build));
  r.run_s.push_back(in_s(result.phases.run));
  r.clean_s.push_back(in_s(result.phases.clean));
  r.spread.push_back(m != nullptr ? static_cast<float>(m->spread) : none);
  r.drift.push_back(result.around.drift ? static_cast<float>(*result.around.drift) : none);
  r.place.push_back(result.runner.empty() ? std::uint16_t{0xFFFF} : place_index(result.runner));
  r.key.push_back(key);
  r.expected.push_back(expected ? expected->value : std::numeric_limits<double>::quiet_NaN());
  r.idea_of.push_back(!expected ? 0 : expected->chosen ? 1 : 2);
}

void model::amend(actors::session_number number, trial_number which, const configuration& config,
                  const outcome& result) {
  const auto found = sessions_.find(number);
  const auto* m = result.measured();
  if (found == sessions_.end() || m == nullptr) return;
  auto& s = found->second;
  const auto at = std::find(s.rows.number.begin(), s.rows.number.end(), static_cast<std::uint32_t>(which));
  if (at == s.rows.number.end()) return;
  const auto row = static_cast<std::size_t>(at - s.rows.number.begin());
  s.rows.value[row] = m->value;
  s.amended.push_back({row, m->value});
  ++s.version;
  // The old value may have been the best: it is looked for anew.
  s.best.reset();
  for (std::size_t i = 0; i < s.rows.size(); ++i)
    if (s.rows.ending[i] == 0 && better(s, s.rows.value[i])) {
      s.best = s.rows.value[i];
      if (i == row) s.best_config = config;
    }
}

void model::end_session(actors::session_number number, std::string reason, nanoseconds searched) {
  const auto at = sessions_.find(number);
  if (at == sessions_.end()) return;
  at->second.ended = true;
  at->second.reason = std::move(reason);
  at->second.searched = searched;
  at->second.in_flight = 0;
  ++at->second.version;
}

void model::note_window(actors::session_number number, std::size_t in_flight, std::uint32_t window) {
  const auto at = sessions_.find(number);
  if (at == sessions_.end() || (at->second.in_flight == in_flight && at->second.window == window)) return;
  at->second.in_flight = in_flight;
  at->second.window = window;
  ++at->second.version;
}

std::uint16_t model::place_index(const std::string& name) {
  if (const auto at = place_of_.find(name); at != place_of_.end()) return at->second;
  if (places_.size() >= options_.places_most) return 0xFFFF;
  const auto index = static_cast<std::uint16_t>(places_.size());
  places_.emplace_back().name = name;
  places_.back().here = false; // until it says that it has come, or does something
  place_of_.emplace(name, index);
  return index;
}

void model::occupy(const actors::event& e, bool run) {
  const auto index = place_index(e.text);
  if (index == 0xFFFF || !e.what) return;
  auto& p = places_[index];
  p.here = true;
  p.stuck = false;
  p.doing = run ? place_view::work::run : place_view::work::build;
  p.session = e.session;
  p.trial = e.what->number;
  p.since_s = since_begin(e.at);
  if (at_work_.size() < options_.flights_most) at_work_[{e.what.get(), run}] = {index, e.at};
}

void model::vacate(const actors::event& e, bool run) {
  const auto at = at_work_.find({e.what.get(), run});
  if (at == at_work_.end()) return;
  const auto [index, since] = at->second;
  at_work_.erase(at);
  auto& p = places_[index];
  p.busy_s += seconds(e.at - since);
  ++(run ? p.runs : p.builds);
  if (p.trial == e.what->number && p.session == e.session) p.doing = place_view::work::idle;
  spans_.push_back({index, run, e.what->why, e.session, e.what->number, since_begin(since), since_begin(e.at)});
  ++span_count_;
  if (spans_.size() > options_.spans_most) spans_.pop_front();
}

void model::pass(const actors::event& e, stage which, std::optional<nanoseconds> took) {
  auto& s = stages_[static_cast<std::size_t>(which)];
  ++s.entered;
  ++s.left;
  if (took) s.took.add(*took);
  s.rate.add(e.at);
}

void model::move_on(const actors::event& e, std::optional<stage> to) {
  // Runs beside the search (references, finals) are seen at their places, not on the way.
  if (!e.what || e.what->why != purpose::search) return;
  const trial_id id{e.session, e.what->number};
  auto at = flights_.find(id);
  if (at != flights_.end()) {
    auto& from = stages_[static_cast<std::size_t>(at->second.where)];
    --from.in;
    ++from.left;
    from.took.add(e.at - at->second.since);
    from.rate.add(e.at);
  }
  if (to == stage::told) pass(e, stage::told, e.at - e.what->proposed);
  if (!to || *to == stage::told) {
    if (at != flights_.end()) flights_.erase(at);
    return;
  }
  if (at == flights_.end()) {
    if (flights_.size() >= options_.flights_most) return;
    at = flights_.emplace(id, flight{}).first;
  }
  at->second.where = *to;
  at->second.since = e.at;
  if (e.expected) at->second.expected = e.expected;
  auto& into = stages_[static_cast<std::size_t>(*to)];
  ++into.in;
  ++into.entered;
}

void model::remember(const actors::event& e) {
  if (!e.what || e.what->why != purpose::search) return;
  const trial_id id{e.session, e.what->number};
  auto& kept = lives_[id];
  if (!kept) {
    kept = std::make_shared<life>();
    kept->what = e.what;
    kept->steps.reserve(8); // a trial's way, where nothing goes wrong
    life_order_.push_back(id);
    if (life_order_.size() > options_.lives_most) {
      lives_.erase(life_order_.front());
      life_order_.pop_front();
    }
  }
  if (e.result) kept->result = e.result;
  if (e.kind == actors::event_kind::told) kept->cached = e.text == "cache";
  constexpr std::size_t steps_most = 64; // retries are few
  if (kept->steps.size() < steps_most) kept->steps.push_back({e.kind, e.at, shortened(e.text, 500)});
}

void model::decide(const actors::event& e, const char* kind) {
  decisions_.push_back({since_begin(e.at), e.session, kind, shortened(e.text)});
  ++decision_count_;
  if (decisions_.size() > options_.decisions_most) decisions_.pop_front();
}

std::optional<search::foreseen> model::expected_of(const actors::event& e) const {
  if (!e.what) return std::nullopt;
  const auto at = flights_.find({e.session, e.what->number});
  return at == flights_.end() ? std::nullopt : at->second.expected;
}

void model::take_told(const actors::event& e, const std::optional<search::foreseen>& expected) {
  auto* s = session_of(e);
  if (s == nullptr || !e.result) return;
  add_trial(e.session, e.what->number, e.what->config, e.what->key, *e.result, e.text == "cache", e.at - s->begun,
            expected);
}

void model::take(const actors::event& e) {
  using kind = actors::event_kind;
  ++events_;
  switch (e.kind) {
  case kind::session_started:
    break; // what is to be known of it comes with its trials
  case kind::session_ended:
    if (e.report && !sessions_.contains(e.session)) {
      auto head = head_of(*e.report->of, wall_ + (e.at - begin_));
      head.id = e.report->session;
      add_session(e.session, std::move(head));
    }
    end_session(e.session, e.text, e.report ? e.report->wall : nanoseconds(0));
    if (const auto at = sessions_.find(e.session); at != sessions_.end() && e.report) {
      auto& s = at->second;
      s.report = e.report;
      s.head.id = e.report->session;
      if (e.report->best) {
        s.best = e.report->best->result->measured()->value;
        s.best_config = e.report->best->config;
      }
    }
    // What it had in hand has gone with it.
    for (auto at = flights_.begin(); at != flights_.end();) {
      if (at->first.first != e.session) {
        ++at;
        continue;
      }
      --stages_[static_cast<std::size_t>(at->second.where)].in;
      at = flights_.erase(at);
    }
    break;
  case kind::proposed:
    session_of(e);
    if (e.what && e.what->why == purpose::search) pass(e, stage::propose, std::nullopt);
    move_on(e, stage::cache);
    break;
  case kind::cache_hit:
    ++hits_;
    move_on(e, std::nullopt);
    break;
  case kind::joined_flight:
    ++joined_;
    move_on(e, stage::flight);
    break;
  case kind::queued:
    if (e.what && e.what->why == purpose::search) ++misses_;
    move_on(e, stage::queue);
    break;
  case kind::build_started:
    move_on(e, stage::build);
    occupy(e, false);
    break;
  case kind::built:
    move_on(e, stage::queue);
    vacate(e, false);
    break;
  case kind::upload_started:
    move_on(e, stage::upload);
    break;
  case kind::uploaded:
    move_on(e, stage::run);
    break;
  case kind::run_started:
    move_on(e, stage::run);
    occupy(e, true);
    break;
  case kind::ran:
    move_on(e, stage::store);
    vacate(e, true);
    break;
  case kind::retried:
    ++retried_;
    move_on(e, stage::queue);
    vacate(e, false);
    vacate(e, true);
    break;
  case kind::quarantined:
    ++quarantined_;
    decide(e, "quarantined");
    break;
  case kind::recorded:
    if (e.what && e.what->why == purpose::search && e.result && e.result->phases.clean.count() > 0)
      pass(e, stage::clean, e.result->phases.clean);
    vacate(e, false);
    vacate(e, true);
    break;
  case kind::told: {
    const auto expected = expected_of(e);
    move_on(e, stage::told);
    take_told(e, expected);
    break;
  }
  case kind::estimated: // it is not measured, and nothing is known of it for good
    move_on(e, std::nullopt);
    break;
  case kind::place_came: {
    const auto index = place_index(e.text);
    if (index != 0xFFFF) places_[index].here = true;
    break;
  }
  case kind::place_went:
    if (const auto at = place_of_.find(e.text); at != place_of_.end()) {
      places_[at->second].here = false;
      places_[at->second].doing = place_view::work::idle;
    }
    decide(e, "place_went");
    break;
  case kind::place_stuck:
    if (const auto at = place_of_.find(e.text); at != place_of_.end()) places_[at->second].stuck = true;
    decide(e, "place_stuck");
    break;
  case kind::store_trouble:
    trouble_ = shortened(e.text);
    decide(e, "store_trouble");
    break;
  case kind::store_recovered:
    trouble_.clear();
    decide(e, "store_recovered");
    break;
  case kind::decided:
    decide(e, "decided");
    break;
  case kind::finals:
    decide(e, "finals");
    break;
  }
  remember(e);
}

} // namespace attune::web
