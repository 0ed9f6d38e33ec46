// What the tests of the page are made of: events of trials that go their way.
#pragma once

#include "actors/messages.hpp"
#include "tests/storage/samples.hpp"

namespace attune::web::samples {

using namespace attune::storage::samples;
using actors::event;
using actors::event_kind;

inline trial_ptr trial_of(const task_ptr& of, std::int64_t n, actors::session_number session = 1,
                          purpose why = purpose::search, nanoseconds proposed = nanoseconds(0)) {
  auto t = std::make_shared<trial>(*ask(of, n));
  t->session = session;
  t->why = why;
  t->proposed = proposed;
  return t;
}

inline event make_event(event_kind kind, const trial_ptr& t, nanoseconds at, outcome_ptr result = nullptr,
                        std::string text = {}) {
  event e;
  e.kind = kind;
  e.session = t ? t->session : 0;
  e.what = t;
  e.result = std::move(result);
  e.text = std::move(text);
  e.at = at;
  return e;
}

inline nanoseconds ms(std::int64_t n) { return std::chrono::milliseconds(n); }

/// A trial's way from its proposal to its end, measured: a step each 10 ms from `from` on.
inline std::vector<event> whole_way(const trial_ptr& t, nanoseconds from, const outcome_ptr& result) {
  return {make_event(event_kind::proposed, t, from),
          make_event(event_kind::queued, t, from + ms(10)),
          make_event(event_kind::build_started, t, from + ms(20), nullptr, "local/builder0"),
          make_event(event_kind::built, t, from + ms(30)),
          make_event(event_kind::run_started, t, from + ms(40), nullptr, "local/slot0"),
          make_event(event_kind::ran, t, from + ms(50)),
          make_event(event_kind::recorded, t, from + ms(60), result),
          make_event(event_kind::told, t, from + ms(70), result, "measured")};
}

inline outcome_ptr stopped_at_least(double v) {
  auto o = std::make_shared<outcome>(*measured(1));
  o->data = bound{v, v / 2, {v}};
  return o;
}

} // namespace attune::web::samples
