#include "testing/history.hpp"

#include "actors/messages.hpp"

#include <algorithm>
#include <cstdio>

namespace attune::testing {

namespace {

using namespace attune::actors;

std::string text_of(const trial_ptr& t) {
  if (!t) return "no trial";
  std::string out = "#" + std::to_string(t->number) + "{" + t->config.text() + "}";
  if (t->why != purpose::search) out += t->why == purpose::repeat ? " again" : " once more";
  return out;
}

std::string text_of(const outcome& o) {
  if (const auto* m = o.measured()) return "= " + caf::deep_to_string(m->value);
  if (const auto* b = o.bounded()) return ">= " + caf::deep_to_string(b->value);
  return to_string(o.failed()->kind);
}

/// "3: a, b, c", at most some.
template <class Items, class Text>
std::string list(const Items& items, Text text) {
  constexpr std::size_t most = 6;
  std::string out = std::to_string(items.size());
  for (std::size_t i = 0; i < std::min(items.size(), most); ++i) out += (i == 0 ? ": " : ", ") + text(items[i]);
  return items.size() > most ? out + ", ..." : out;
}

std::string text_of(const trial_batch& b) {
  return list(b.items, [](const auto& t) { return text_of(t); });
}

std::string text_of(const finished_batch& b) {
  return list(b.items, [](const finished& f) {
    return text_of(f.what) + " " + text_of(*f.result) + (f.from_cache ? " (known)" : "");
  });
}

std::string text_of(const step_batch& b) {
  return list(b.items, [](const told_trial& t) { return text_of(t.what); });
}

std::string text_of(const build_report& r) {
  if (const auto* why = std::get_if<failure>(&r.result->data)) return to_string(why->kind);
  return "built";
}

std::string text_of(const run_report& r) {
  outcome o;
  o.data = r.result->data;
  return text_of(o);
}

std::string text_of(const event_batch& b) {
  return list(b.items, [](const event& e) {
    return std::string(to_string(e.kind)) + (e.what ? " " + text_of(e.what) : "") +
           (e.text.empty() ? "" : " '" + e.text + "'");
  });
}

/// One element; what is not known here as CAF has it.
std::string element(const caf::message& m, std::size_t i) {
  const auto is = [&]<class T>(std::in_place_type_t<T>) { return m.match_element<T>(i); };
  const auto get = [&]<class T>(std::in_place_type_t<T>) -> const T& { return m.get_as<T>(i); };
  std::string out;
  const auto one = [&]<class T>(std::in_place_type_t<T> type, auto text) {
    if (out.empty() && is(type)) out = text(get(type));
  };
  const auto plain = [](const auto& x) { return text_of(x); };
  one(std::in_place_type<trial_batch>, plain);
  one(std::in_place_type<finished_batch>, plain);
  one(std::in_place_type<step_batch>, plain);
  one(std::in_place_type<build_report>, plain);
  one(std::in_place_type<run_report>, plain);
  one(std::in_place_type<event_batch>, plain);
  one(std::in_place_type<trial_ptr>, plain);
  one(std::in_place_type<outcome_ptr>, [](const outcome_ptr& o) { return o ? text_of(*o) : "none"; });
  one(std::in_place_type<build_order>, [](const build_order& o) { return text_of(o.what); });
  one(std::in_place_type<run_order>, [](const run_order& o) { return text_of(o.what); });
  one(std::in_place_type<rerun>, [](const rerun& r) { return text_of(r.what); });
  one(std::in_place_type<place_info>, [](const place_info& p) { return p.name; });
  one(std::in_place_type<error>, [](const error& e) { return e.text(); });
  one(std::in_place_type<session_info>, [](const session_info& s) { return "session " + std::to_string(s.number); });
  one(std::in_place_type<report_ptr>, [](const report_ptr& r) {
    return r ? "report of " + std::to_string(r->counts.proposed) + " trials" : std::string("none");
  });
  return out.empty() ? m.cvals()->stringify(i) : out;
}

} // namespace

std::string describe(const caf::message& what) {
  std::string out;
  for (std::size_t i = 0; i < what.size(); ++i) out += (i == 0 ? "" : " ") + element(what, i);
  return out;
}

pattern pattern::to(std::string name) const {
  auto out = *this;
  out.to_ = std::move(name);
  return out;
}

pattern pattern::from(std::string name) const {
  auto out = *this;
  out.from_ = std::move(name);
  return out;
}

bool pattern::matches(const handled& h) const {
  return (to_.empty() || to_ == h.to) && (from_.empty() || from_ == h.from) && what_(h.what);
}

std::string pattern::text() const {
  return name_ + (from_.empty() ? "" : " from " + from_) + (to_.empty() ? "" : " to " + to_);
}

void history::add(handled h) {
  ++steps_;
  kept_.push_back(std::move(h));
  if (kept_.size() > bound_) kept_.pop_front();
}

std::size_t history::count(const pattern& p) const {
  return static_cast<std::size_t>(
      std::count_if(kept_.begin(), kept_.end(), [&](const handled& h) { return p.matches(h); }));
}

std::string history::text(std::size_t last) const {
  std::string out;
  for (auto at = kept_.size() - std::min(last, kept_.size()); at < kept_.size(); ++at) {
    const auto& h = kept_[at];
    char head[64];
    std::snprintf(head, sizeof head, "%6llu %10.3f s  ", static_cast<unsigned long long>(h.step), seconds(h.at));
    out += head + (h.from.empty() ? "" : h.from + " ") + "-> " + h.to + ": " + describe(h.what) + "\n";
  }
  return out;
}

} // namespace attune::testing
