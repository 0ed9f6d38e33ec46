#include "actors/scheduler_watch.hpp"

#include "actors/monitor.hpp"
#include "actors/time.hpp"
#include "measure/substitution.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace attune::actors {

namespace {

/// So many runs at once on a machine, as its watch allows; none: nothing is watched there.
void admit(scheduler_self self, std::uint32_t device, const schedulers::machine_watch* machine) {
  auto& s = self->state;
  if (s.options.apart) {
    s.core.limit_device(device, machine != nullptr ? std::optional(machine->allowed().slots) : std::nullopt,
                        now_of(self), s.actions);
    return;
  }
  s.core.set_admission(machine != nullptr ? machine->allowed() : s.options.dispatcher.admission, now_of(self),
                       s.actions);
  share_credits(self);
}

/// Whether only the reference is started on a machine.
void hold(scheduler_self self, std::uint32_t device, bool on) {
  auto& s = self->state;
  const auto whose = on ? std::optional(nobody) : std::nullopt;
  if (s.options.apart)
    s.core.hold_device(device, whose, now_of(self), s.actions);
  else
    s.core.hold_all_but(whose, now_of(self), s.actions);
}

std::string name_of_device(const scheduler_state& s, std::uint32_t device) {
  for (const auto& [name, number] : s.devices)
    if (number == device) return name + ": ";
  return {};
}

/// What the controller wants is done, and said.
void follow(scheduler_self self, std::uint32_t device, const schedulers::noise_decision& decision) {
  auto& s = self->state;
  auto& w = s.watches.at(device);
  emit(self, s.watch, [&] {
    const auto& now = w.machine.allowed();
    std::string text = name_of_device(s, device) + decision.text();
    if (decision.from != decision.to) {
      text += " (now " + std::to_string(now.slots) + (now.slots == 1 ? " timed run" : " timed runs") + " at once";
      if (!s.options.apart)
        text += ", with " + std::to_string(now.beside) + (now.beside == 1 ? " build" : " builds") + " beside";
      text += ")";
    }
    return event{event_kind::decided, nobody, nullptr, nullptr, std::move(text), now_of(self)};
  });
  admit(self, device, &w.machine);
  std::unordered_map<session_number, trial_batch> doubted;
  for (const auto id : w.machine.take_suspects()) {
    const auto at = std::find_if(w.lately.begin(), w.lately.end(), [id](const auto& l) { return l.first == id; });
    if (at == w.lately.end()) continue;
    doubted[at->second->session].items.push_back(at->second);
    w.lately.erase(at);
  }
  for (auto& [number, batch] : doubted)
    if (const auto client = s.clients.find(number); client != s.clients.end())
      self->send(client->second, atom::doubt::value, std::move(batch));
}

} // namespace

void note_company(scheduler_state& s) {
  const auto& load = s.core.load();
  std::erase_if(s.timed, [&](schedulers::job_id id) {
    const auto at = s.in_hand.find(id);
    if (at == s.in_hand.end() || at->second.phase != &phase_times::run) return true;
    auto& w = at->second;
    const auto running = w.device == 0 ? load.running : s.core.running_on(w.device);
    w.runs_beside = std::max(w.runs_beside, running > 0 ? running - 1 : 0);
    // Elsewhere nothing is built beside it.
    if (!s.options.apart) w.builds_beside = std::max(w.builds_beside, load.building);
    return false;
  });
}

void drop_reference(scheduler_self self, std::uint32_t device) {
  if (self->state.watches.erase(device) == 0) return;
  hold(self, device, false);
  admit(self, device, nullptr);
}

void took_reference(scheduler_self self, const scheduler_state::work& w, const outcome& o) {
  auto& s = self->state;
  const auto at = s.watches.find(w.device);
  if (at == s.watches.end() || at->second.seen_by.what != w.what) return;
  auto& seen_by = at->second.seen_by;
  seen_by.under_way = false;
  const auto* m = o.measured();
  if (m == nullptr || m->value <= 0) {
    if (++seen_by.failed >= 2) drop_reference(self, w.device);
    return;
  }
  seen_by.failed = 0;
  const bool slower_is_more = w.what->of->metric().direction == goal::minimize;
  const auto decision =
      at->second.machine.observe(slower_is_more ? m->value : 1 / m->value, o.phases.run, w.runs_beside, w.builds_beside,
                                 w.all_served && s.core.waiting() == 0, now_of(self));
  if (decision) follow(self, w.device, *decision);
}

void mark(scheduler_self self, schedulers::job_id id, const scheduler_state::work& w, outcome& o) {
  auto& s = self->state;
  o.around.runs_beside = w.runs_beside;
  o.around.builds_beside = w.builds_beside;
  const auto at = s.watches.find(w.device);
  if (at == s.watches.end()) return;
  auto& machine = at->second.machine;
  const auto seen = machine.now();
  o.around.drift = seen.drift;
  o.around.disturbed = seen.disturbed;
  o.around.correction = seen.correction;
  // Side by side a drift falls on all alike.
  if (w.what->why == purpose::finalist) return;
  const auto direction = w.what->of->metric().direction;
  if (auto* m = std::get_if<measurement>(&o.data)) m->value = corrected(m->value, o.around, direction);
  if (auto* b = std::get_if<bound>(&o.data)) b->value = corrected(b->value, o.around, direction);
  machine.ran(o.phases.run);
  machine.ended(id);
  auto& lately = at->second.lately;
  lately.emplace_back(id, w.what);
  if (lately.size() > 1024) lately.pop_front();
}

void take_as_reference(scheduler_self self, const scheduler_state::work& w, const outcome& o) {
  auto& s = self->state;
  const auto& spec = w.what->of->spec;
  if (s.watches.contains(w.device) || !spec.wants_reference() || !o.ok() || o.measured()->value <= 0 ||
      measure::builds_in_place(spec) || w.what->why != purpose::search)
    return;
  if (s.options.apart && (w.device == 0 || builds_at_slot(spec))) return;
  auto what = std::make_shared<trial>(*w.what);
  what->why = purpose::reference;
  what->rival.reset();
  auto options = s.options.watch;
  options.tolerance = spec.measure.accepted_noise();
  if (s.options.apart) {
    const auto slots = static_cast<std::uint32_t>(
        std::count_if(s.places.begin(), s.places.end(), [&](const auto& p) { return p.second.device == w.device; }));
    options.ladder = schedulers::admission_ladder(std::max(1u, slots), spec.measure.slots.automatic, 1, false);
  } else if (options.ladder.empty()) {
    options.ladder = {s.options.dispatcher.admission};
  }
  const auto made =
      s.watches.emplace(w.device, scheduler_state::watched{{std::move(what), w.built, w.what->session, false, 0},
                                                           schedulers::machine_watch(std::move(options)),
                                                           {},
                                                           false});
  admit(self, w.device, &made.first->second.machine);
}

std::vector<std::uint32_t> look_at_machines(scheduler_self self) {
  auto& s = self->state;
  if (s.watches.empty()) return {};
  const auto now = now_of(self);
  const auto under_way = static_cast<std::size_t>(
      std::count_if(s.watches.begin(), s.watches.end(), [](const auto& w) { return w.second.seen_by.under_way; }));
  const bool idle = s.in_hand.size() <= under_way;
  std::vector<std::uint32_t> due;
  for (auto& [device, w] : s.watches) {
    const bool holding = w.machine.holding(now);
    if (holding != w.holding) hold(self, device, w.holding = holding);
    if (!idle && !w.seen_by.under_way && w.machine.due(now)) due.push_back(device);
  }
  return due;
}

std::optional<nanoseconds> next_look_at_machines(const scheduler_state& s, nanoseconds now) {
  std::optional<nanoseconds> next;
  if (s.in_hand.empty()) return next;
  for (const auto& [device, w] : s.watches) {
    if (w.seen_by.under_way) continue;
    if (const auto look = w.machine.next_look(now); look && (!next || *look < *next)) next = look;
  }
  return next;
}

void forget_references(scheduler_self self, session_number number) {
  std::vector<std::uint32_t> gone;
  for (const auto& [device, w] : self->state.watches)
    if (w.seen_by.from == number) gone.push_back(device);
  for (const auto device : gone) drop_reference(self, device);
}

} // namespace attune::actors
