// What the tests of the page are made of: events of trials that go their way.
#pragma once

#include "actors/messages.hpp"
#include "core/random.hpp"
#include "tests/storage/samples.hpp"

#include <array>
#include <cmath>
#include <utility>

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

/// A session of so many trials over ten parameters, each told 100 ms after the one before: batches of 1,000 events.
inline std::vector<actors::event_batch> long_session(const task_ptr& of, std::uint64_t trials) {
  const auto names = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{
      "tile_m", "tile_n", "tile_k", "vec", "micro_m", "micro_n", "unroll", "pack_a", "pack_b", "opt"});
  constexpr std::array<std::uint64_t, 10> sizes{5, 6, 6, 5, 5, 4, 4, 2, 2, 4};
  random_engine rng(1);
  std::vector<actors::event_batch> out;
  std::vector<event> some;
  for (std::uint64_t i = 0; i < trials; ++i) {
    std::vector<value> values;
    double time = 0.001;
    for (std::size_t p = 0; p < sizes.size(); ++p) {
      const auto v = rng.below(sizes[p]);
      values.emplace_back(static_cast<std::int64_t>(v));
      time *= 1 + 0.3 * std::abs(static_cast<double>(v) - 2) / static_cast<double>(p + 1);
    }
    const auto result =
        rng.chance(0.05) ? failed(failure_kind::build_error) : measured(time * (1 + 0.02 * rng.uniform()));
    auto t = std::make_shared<trial>(*trial_of(of, 0));
    t->number = i;
    t->config = configuration(names, std::move(values));
    some.push_back(make_event(event_kind::told, t, ms(static_cast<std::int64_t>(100 * i)), result,
                              rng.chance(0.2) ? "cache" : "measured"));
    if (some.size() == 1000 || i + 1 == trials) out.push_back({std::exchange(some, {})});
  }
  return out;
}

} // namespace attune::web::samples
