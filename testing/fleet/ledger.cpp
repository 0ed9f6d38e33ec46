#include "testing/fleet/ledger.hpp"

#include "actors/interfaces.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

namespace attune::testing {

using namespace actors;

namespace {

const failure* failure_told(const caf::message& m) {
  const auto last = m.size() - 1;
  if (m.match_element<run_report>(last)) return std::get_if<failure>(&m.get_as<run_report>(last).result->data);
  return std::get_if<failure>(&m.get_as<build_report>(last).result->data);
}

/// What an experiment is, said anew: not by what makes its key.
std::string experiment(const task& of) {
  const auto& s = of.spec;
  std::string out = of.load.canonical() + "\n" + of.where.canonical() + "\n";
  const auto add = [&out](const command& c) {
    out += c.shell + "\n";
    for (const auto& word : c.argv) out += word + "\n";
  };
  add(s.run.run);
  if (s.build) add(s.build->run);
  out += std::to_string(s.run.timeout.count()) + "/" + std::to_string(s.run.warmup) + "/" +
         std::to_string(s.run.repeats.min) + "/" + std::to_string(s.run.repeats.max) + "\n";
  for (const auto& m : s.run.metrics) out += m.name + "/" + m.expression + "/" + m.unit + "\n";
  auto files = s.run.files;
  if (s.build) files.insert(files.end(), s.build->sources.begin(), s.build->sources.end());
  for (const auto& f : files) {
    std::ifstream in(s.directory + "/" + f, std::ios::binary);
    out += f + ":" + std::string(std::istreambuf_iterator<char>(in), {}) + "\n";
  }
  return out;
}

bool tells_an_end(const caf::message& m) {
  return !m.empty() && (m.match_element<run_report>(m.size() - 1) || m.match_element<build_report>(m.size() - 1));
}

/// Of the newest of each configuration. @pre not empty
template <class Records>
double value_of_best(const Records& of) {
  double out = std::numeric_limits<double>::infinity();
  for (const auto& [canonical, r] : of) out = std::min(out, r->result->measured()->value);
  return out;
}

} // namespace

void fleet_ledger::broken(const std::string& rule, const std::string& how) const {
  fail_("broken: " + rule + ": " + how);
  throw failed("broken: " + rule + ": " + how);
}

const std::string& fleet_ledger::experiment_of(const task_ptr& of) {
  const auto [at, fresh] = experiments_.try_emplace(of);
  if (fresh) at->second = experiment(*of);
  return at->second;
}

void fleet_ledger::occupies(const std::string& machine, std::uint32_t slot, const trial& what, const char* with) {
  note(machine + what.canonical + with);
  note(static_cast<std::uint64_t>(time_.monotonic().count()));
  if (!busy_.emplace(machine, slot).second)
    broken("one at a time", machine + "/slot" + std::to_string(slot) + " begins " + with + " while it is busy");
  if (refused_.contains(what.of->spec.name))
    broken("nothing is ignored", what.of->spec.name + " was to be refused, and there is " + with + " of it");
}

void fleet_ledger::builds(const std::string& machine, std::uint32_t slot, const trial& what) {
  occupies(machine, slot, what, "a build");
  ++builds_;
}

std::uint64_t fleet_ledger::began(const std::string& machine, std::uint32_t slot, const trial& what) {
  occupies(machine, slot, what, "a run");
  runs_.push_back({what.of->spec.name, what.canonical, experiment_of(what.of), {}, false});
  return runs_.size() - 1;
}

void fleet_ledger::ended(const std::string& machine, std::uint32_t slot) { busy_.erase({machine, slot}); }

void fleet_ledger::will_measure(std::uint64_t run, const measurement& what) {
  runs_[run].samples = what.samples;
  by_value_.emplace(what.value, run);
}

void fleet_ledger::written(std::span<const storage::record_item> records) {
  for (const auto& r : records) {
    const auto* m = r.result->measured();
    if (m != nullptr) {
      const auto at = by_value_.find(m->value);
      // What was run side by side comes to a value of its own.
      const bool of_one_run = r.what->why == purpose::search || r.what->why == purpose::repeat;
      if (at == by_value_.end() && of_one_run)
        broken("a result is used once", "{" + r.what->config.text() + "} is recorded with a value that no run had");
      if (at != by_value_.end() && of_one_run) {
        auto& run = runs_[at->second];
        if (run.canonical != r.what->canonical || run.task != r.what->of->spec.name)
          broken("a result is used once",
                 "{" + r.what->config.text() + "} is recorded with the value of a run of {" + run.canonical + "}");
        if (run.samples != m->samples)
          broken("one statistic", "{" + r.what->config.text() + "} is recorded with other samples than its run's");
        if (std::exchange(run.used, true))
          broken("a result is used once", "{" + r.what->config.text() + "} is recorded twice with one run's value");
      }
      if (r.what->why == purpose::search && r.cacheable) {
        const auto [first, last] = by_key_.equal_range(r.what->key);
        for (auto k = first; k != last; ++k)
          if (const auto& old = records_[k->second]; old.why == purpose::search && old.result->measured() != nullptr)
            broken("measured once", "{" + r.what->config.text() + "} is in the store twice");
      }
    }
    by_key_.emplace(r.what->key, records_.size());
    records_.push_back({r.what->key, r.what->of->identity.task_key, r.what->of->spec.name, r.what->canonical,
                        r.what->config.text(), r.result, r.cacheable, r.what->why, r.record});
  }
}

std::string fleet_ledger::device_of(const std::string& place) const {
  const auto at = devices_.find(place);
  return at == devices_.end() ? std::string() : at->second;
}

void fleet_ledger::hub_gone() {
  tuners_.clear();
  told_.clear();
  sessions_.clear();
  trials_.clear();
  in_hand_.clear();
  devices_.clear();
  ahead_.clear();
}

void fleet_ledger::look(const handled& h, std::uint64_t request) {
  note(h.to);
  note(h.from);
  note(static_cast<std::uint64_t>(h.at.count()));
  const auto& m = h.what;
  note(m.size());
  if (m.match_elements<atom::done, finished_batch>()) {
    for (const auto& f : m.get_as<finished_batch>(1).items) heard(tuners_[h.to], f);
  } else if (m.match_elements<atom::attach, session_number, std::string, tuner_actor>()) {
    sessions_[static_cast<std::uint64_t>(m.get_as<session_number>(1))] = m.get_as<std::string>(2);
  } else if (m.match_elements<atom::lookup, trial_batch>()) {
    auto& book = tuners_[h.from];
    book.in_flight += m.get_as<trial_batch>(1).items.size();
    if (book.in_flight > book.allowed)
      broken("credits bound",
             std::to_string(book.in_flight) + " trials in flight, " + std::to_string(book.allowed) + " were allowed");
  } else if (m.match_elements<atom::credits, std::uint32_t>()) {
    auto& book = tuners_[h.to];
    book.allowed = std::max<std::size_t>(book.allowed, m.get_as<std::uint32_t>(1));
  } else if (m.match_elements<atom::run, run_order>()) {
    ordered(h, request, *m.get_as<run_order>(1).what, true);
  } else if (m.match_elements<atom::build, build_order>()) {
    ordered(h, request, *m.get_as<build_order>(1).what, false);
  } else if (h.to == "scheduler" && tells_an_end(m)) {
    auto& here = in_hand_[h.from];
    const auto at = here.find(request);
    if (at == here.end()) return;
    if (const auto* why = failure_told(m); why != nullptr && is_infrastructure(why->kind) &&
                                           why->kind != failure_kind::cancelled && at->second != trial_id())
      trials_[at->second].failed_at.insert(h.from);
    here.erase(at);
  }
}

void fleet_ledger::heard(tuner_book& t, const finished& f) {
  const auto* why = f.result->failed();
  if (f.what->why == purpose::search) {
    if (!told_.emplace(f.what->session, f.what->number).second)
      broken("told once", "trial " + std::to_string(f.what->number) + " of session " + std::to_string(f.what->session) +
                              " ended twice");
    if (t.in_flight > 0) --t.in_flight;
    auto& without = failures_[sessions_[f.what->session]];
    why != nullptr ? void(without.insert(f.what->canonical)) : void(without.erase(f.what->canonical));
  }
  if (was_cancelled(*f.result) || f.what->once()) return;
  const auto [first, last] = by_key_.equal_range(f.what->key);
  if (std::none_of(first, last, [&](const auto& k) { return records_[k.second].result->data == f.result->data; }))
    broken("durable before told",
           "trial " + std::to_string(f.what->number) + " {" + f.what->config.text() + "} is not in the store");
  const auto* m = f.result->measured();
  if (m == nullptr) return;
  const auto at = by_value_.find(m->value);
  if (at == by_value_.end()) return; // it was run side by side with others
  const auto& run = runs_[at->second];
  if (run.canonical != f.what->canonical || run.experiment != experiment_of(f.what->of))
    broken("identity", "{" + f.what->config.text() + "} of " + f.what->of->spec.name +
                           " hears what another experiment came to, {" + run.canonical + "}");
}

void fleet_ledger::ordered(const handled& h, std::uint64_t request, const trial& t, bool runs) {
  auto& here = in_hand_[h.to];
  if (here.size() > (ahead_.contains(h.to) ? 1 : 0))
    broken("one at a time", h.to + " gets an order while it has " + std::to_string(here.size()) + " in hand");
  if (!here.empty()) ++aheads_;
  const trial_id id{t.session, t.number};
  if (t.why != purpose::search) {
    // Run once more: not another try of what was before.
    here[request] = {};
    return;
  }
  here[request] = id;
  const auto& book = trials_[id];
  if (book.failed_at.contains(h.to))
    broken("retries are bounded",
           "trial " + std::to_string(t.number) + " comes back to " + h.to + ", which failed with it");
  if (const auto device = device_of(h.to); book.lost_with.contains(device))
    broken("retries are bounded",
           "trial " + std::to_string(t.number) + " comes back to " + device + ", which was lost with it");
  if (book.lost_with.size() >= 2)
    broken("retries are bounded", "trial " + std::to_string(t.number) + " has lost two devices and is tried again");
  if (!runs) return;
  const auto [first, last] = by_key_.equal_range(t.key);
  for (auto k = first; k != last; ++k)
    if (const auto& r = records_[k->second]; r.cacheable && r.result->measured() != nullptr)
      broken("measured once", "{" + t.config.text() + "} is run again");
}

void fleet_ledger::joined(const std::string& place, const std::string& device, bool ahead) {
  devices_[place] = device;
  if (ahead) ahead_.insert(place);
}

void fleet_ledger::gone(const std::string& place) {
  const auto at = in_hand_.find(place);
  if (at == in_hand_.end()) return;
  // One and a half leases, and the way. What was behind the first had not begun, as far as anybody here can know.
  const bool excused = back_ && time_.monotonic() - *back_ <= std::chrono::seconds(8);
  if (!excused && !at->second.empty() && at->second.begin()->second != trial_id())
    trials_[at->second.begin()->second].lost_with.insert(device_of(place));
  in_hand_.erase(at);
}

void fleet_ledger::shown(const std::string& task, double value, const std::string& configuration) {
  const auto is_it = [&](const record_book& r) {
    const auto* m = r.result->measured();
    return r.name == task && m != nullptr && m->value == value;
  };
  const auto at = std::find_if(records_.begin(), records_.end(), is_it);
  if (at == records_.end())
    broken(by_value_.contains(value) ? "durable before told" : "one statistic",
           "a client is shown " + std::to_string(value) + " of " + task + ", which is not in the store");
  if (std::none_of(at, records_.end(), [&](const auto& r) { return is_it(r) && r.text == configuration; }))
    broken("one statistic", "a client is shown {" + configuration + "} with the value of {" + at->text + "}");
}

std::map<std::string, const fleet_ledger::record_book*> fleet_ledger::newest_of(const digest& task) const {
  std::map<std::string, const record_book*> out;
  for (const auto& r : records_)
    if (r.task == task && r.result->measured() != nullptr) out[r.canonical] = &r;
  return out;
}

void fleet_ledger::reported(const tuning_report& r, std::uint64_t configurations) {
  // What failed in this search may have been measured in another one of the same task.
  const auto& without = failures_[r.session];
  auto last = newest_of(r.of->identity.task_key);
  std::erase_if(last, [&](const auto& one) { return without.contains(one.first); });
  if (r.best) {
    const auto* m = r.best->result->measured();
    if (m == nullptr || !std::isfinite(m->value)) broken("the best is measured", "it is none");
    const auto at = last.find(r.best->config.canonical());
    if (at == last.end()) broken("the best is measured", "{" + r.best->config.text() + "} is not in the store");
    const auto [first, end] = by_key_.equal_range(at->second->key);
    if (std::none_of(first, end,
                     [&](const auto& k) { return records_[k.second].result->data == r.best->result->data; }))
      broken("one statistic", "{" + r.best->config.text() + "} is reported with what is not in the store");
  }
  const bool all = r.reason == search::stop_reason::exhausted || r.reason == search::stop_reason::no_valid ||
                   r.reason == search::stop_reason::trials;
  if (!all) return;
  if (r.counts.proposed != configurations)
    broken("each configuration once",
           std::to_string(r.counts.proposed) + " of " + std::to_string(configurations) + " were told");
  if (r.best.has_value() != !last.empty())
    broken("the best is measured",
           last.empty() ? "nothing was measured" : "something was measured, nothing is reported");
  if (!r.best || !r.side_by_side.empty()) return;
  // Another search of the same task may have run its own finalists since.
  if (std::any_of(records_.begin(), records_.end(), [](const auto& one) { return one.why != purpose::search; })) return;
  const auto least = value_of_best(last);
  if (r.best->result->measured()->value != least)
    broken("the best is measured", "reported is " + std::to_string(r.best->result->measured()->value) +
                                       ", in the store is " + std::to_string(least));
}

void fleet_ledger::look_at_store(const storage::store& s) const {
  std::size_t there = 0;
  for (const auto& r : records_) {
    const auto found = s.find(r.id);
    if (!found || !*found) broken("durable before told", "record " + std::to_string(r.id) + " is not in the store");
    if ((*found)->key != r.key || (*found)->result.data != r.result->data)
      broken("durable before told", "record " + std::to_string(r.id) + " is another one");
    ++there;
  }
  if (s.newest() < there) broken("durable before told", "the store has fewer records than it acknowledged");
  std::map<digest, std::string> tasks;
  for (const auto& r : records_) tasks.emplace(r.task, r.name);
  for (const auto& [task, name] : tasks) {
    const auto last = newest_of(task);
    const auto best = s.best(task);
    if (!best) broken("one statistic", "the best of " + name + " cannot be read: " + best.err().text());
    if (best->empty() != last.empty()) broken("one statistic", "the table of the best has nothing of " + name);
    if (!last.empty() && best->front().result.measured()->value != value_of_best(last))
      broken("one statistic", "the best of " + name + " in the table is " +
                                  std::to_string(best->front().result.measured()->value) + ", and " +
                                  std::to_string(value_of_best(last)) + " was recorded");
  }
}

} // namespace attune::testing
