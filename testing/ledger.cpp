#include "testing/ledger.hpp"

#include <algorithm>

namespace attune::testing {

using namespace actors;

namespace {

const failure* failure_in(const caf::message& m) {
  for (std::size_t i = 0; i < m.size(); ++i) {
    if (m.match_element<run_report>(i)) return std::get_if<failure>(&m.get_as<run_report>(i).result->data);
    if (m.match_element<build_report>(i)) return std::get_if<failure>(&m.get_as<build_report>(i).result->data);
  }
  return nullptr;
}

bool is_report(const caf::message& m) {
  return !m.empty() && (m.match_element<run_report>(m.size() - 1) || m.match_element<build_report>(m.size() - 1));
}

} // namespace

ledger::ledger(world& of) : world_(of) {
  world_.observe([this](const handled& h) { look(h); });
}

void ledger::broken(const std::string& rule, const std::string& how) const {
  world_.check(false, "broken: " + rule + ": " + how);
}

void ledger::power_cut() {
  for (auto& [session, t] : tuners_) t = {};
  trials_.clear();
  in_hand_.clear();
}

void ledger::look(const handled& h) {
  const auto& m = h.what;
  if (m.match_elements<atom::done, finished_batch>()) {
    for (const auto& f : m.get_as<finished_batch>(1).items) heard(tuners_[f.what->session], f);
  } else if (m.match_elements<atom::lookup, trial_batch>()) {
    for (const auto& t : m.get_as<trial_batch>(1).items) {
      auto& book = tuners_[t->session];
      book.of = t->of;
      if (++book.in_flight > book.allowed)
        broken("credits bound",
               std::to_string(book.in_flight) + " trials in flight, " + std::to_string(book.allowed) + " were allowed");
    }
  } else if (m.match_elements<atom::credits, std::uint32_t>() && h.to.starts_with("tuner")) {
    auto& book = tuners_[std::stoull(h.to.substr(5))];
    book.allowed = std::max<std::size_t>(book.allowed, m.get_as<std::uint32_t>(1));
  } else if (m.match_elements<atom::run, run_order>()) {
    ordered(h, *m.get_as<run_order>(1).what, true);
  } else if (m.match_elements<atom::build, build_order>()) {
    ordered(h, *m.get_as<build_order>(1).what, false);
  } else if (h.to == "scheduler" && is_report(m)) {
    const auto at = in_hand_.find(h.from);
    if (at == in_hand_.end()) return;
    if (const auto* why = failure_in(m); why != nullptr && is_infrastructure(why->kind))
      trials_[at->second].failed_at.insert(h.from);
    in_hand_.erase(at);
  } else if (h.to == "scheduler" && m.match_elements<caf::down_msg>()) {
    const auto at = in_hand_.find(world_.name_of(m.get_as<caf::down_msg>(0).source));
    if (at == in_hand_.end()) return;
    auto& book = trials_[at->second];
    ++book.lost;
    in_hand_.erase(at);
  }
}

void ledger::heard(tuner_book& t, const finished& f) {
  const bool cancelled = was_cancelled(*f.result);
  if (f.what->why == purpose::search) {
    if (!t.told.insert(f.what->number).second)
      broken("told once", "trial " + std::to_string(f.what->number) + " of session " + std::to_string(f.what->session) +
                              " ended twice");
    if (t.in_flight > 0) --t.in_flight;
  }
  if (cancelled || f.what->once()) return;
  t.heard.push_back(f.result);
  const bool there = std::any_of(world_.store.records.begin(), world_.store.records.end(), [&](const auto& r) {
    return r.what->key == f.what->key && r.result->data == f.result->data;
  });
  if (!there)
    broken("durable before told",
           "trial " + std::to_string(f.what->number) + " {" + f.what->config.text() + "} is not in the store");
}

void ledger::ordered(const handled& h, const trial& t, bool runs) {
  if (in_hand_.contains(h.to)) broken("one at a time", h.to + " gets an order while it has one in hand");
  const trial_id id{t.session, t.number};
  in_hand_[h.to] = id;
  const auto& book = trials_[id];
  if (book.failed_at.contains(h.to))
    broken("retries are bounded",
           "trial " + std::to_string(t.number) + " comes back to " + h.to + ", which failed with it");
  if (book.lost >= 2)
    broken("retries are bounded", "trial " + std::to_string(t.number) + " has lost two devices and is tried again");
  if (!runs || t.why != purpose::search || fresh_.contains(t.session)) return;
  for (const auto& r : world_.store.records)
    if (r.what->key == t.key && r.cacheable && r.result->measured() != nullptr)
      broken("measured once", "{" + t.config.text() + "} is run again");
}

void ledger::ended(std::uint64_t session, const tuning_report& r, const std::vector<fake_store::step>& heard_before) {
  std::vector<outcome_ptr> all = tuners_[session].heard;
  for (const auto& s : heard_before) all.push_back(s.result);
  std::optional<double> best;
  for (const auto& o : all)
    if (const auto* m = o->measured(); m != nullptr && (!best || r.of->better(m->value, *best))) best = m->value;
  if (best.has_value() != r.best.has_value())
    broken("the best is measured", best ? "it was heard of, and is not reported" : "nothing was measured");
  if (best && r.side_by_side.empty() && r.best->result->measured()->value != *best)
    broken("the best is measured",
           "reported is " + std::to_string(r.best->result->measured()->value) + ", heard was " + std::to_string(*best));
}

void ledger::look_at_store() const {
  std::map<key128, int> seen;
  for (const auto& r : world_.store.records) {
    if (!r.cacheable || r.result->measured() == nullptr || r.what->why != purpose::search) continue;
    if (fresh_.contains(r.what->session)) continue;
    if (++seen[r.what->key] > 1) broken("measured once", "{" + r.what->config.text() + "} is in the store twice");
  }
}

} // namespace attune::testing
