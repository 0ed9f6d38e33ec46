// testing: what a program's own tests of messages need: the graph of actors on a deterministic scheduler with a virtual
// clock and one seed, with builders, runners, a store and links that a script answers for. It starts no thread, opens
// no file or socket, and never sleeps.
#pragma once

#include "core/clock.hpp"

#include <caf/actor_addr.hpp>
#include <caf/message.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace attune::testing {

/// What a check of this room throws: what was expected, and the last messages.
struct failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One message, when its receiver began to handle it.
struct handled {
  std::uint64_t step = 0; ///< from 1, over all actors
  nanoseconds at{0};      ///< virtual
  std::string from, to;   ///< the actors' names; `from` may be empty
  caf::message what;
};

/// A message's elements for a person, one after the other: atoms, numbers and texts as they are, the graph's own types
/// by what tells them apart (the trial's number and configuration, how it ended).
std::string describe(const caf::message& what);

/// Which messages are meant.
class pattern {
public:
  using judge = std::function<bool(const caf::message&)>;
  explicit pattern(judge what, std::string name) : what_(std::move(what)), name_(std::move(name)) {}

  /// Only those to, or from, the actor of this name.
  pattern to(std::string name) const;
  pattern from(std::string name) const;

  bool matches(const handled& h) const;
  /// For a message: "run run_order to slot0".
  std::string text() const;

private:
  judge what_;
  std::string name_, to_, from_;
};

/// Messages whose elements have exactly these types: message<atom::run, run_order>().
template <class... Ts>
pattern message() {
  return pattern([](const caf::message& m) { return m.match_elements<Ts...>(); }, caf::deep_to_string(Ts{}...));
}
/// The same, where `is` holds for the last element: message_where<atom::run, run_order>([](const run_order& o) { … }).
template <class... Ts, class Is>
pattern message_where(Is is) {
  using last = typename std::tuple_element<sizeof...(Ts) - 1, std::tuple<Ts...>>::type;
  return pattern(
      [is](const caf::message& m) {
        return m.match_elements<Ts...>() && is(m.template get_as<last>(sizeof...(Ts) - 1));
      },
      "a certain " + message<Ts...>().text());
}

/// The messages so far, the last `bound` of them kept. Threads: one owner.
class history {
public:
  explicit history(std::size_t bound) : bound_(bound) {}
  void add(handled h);

  const std::deque<handled>& kept() const noexcept { return kept_; }
  /// How many were handled in all.
  std::uint64_t steps() const noexcept { return steps_; }
  /// How many of those that are kept match.
  std::size_t count(const pattern& p) const;
  /// The last of them, one line each: step, time, sender, receiver, message.
  std::string text(std::size_t last = 40) const;

private:
  std::size_t bound_;
  std::uint64_t steps_ = 0;
  std::deque<handled> kept_;
};

} // namespace attune::testing
