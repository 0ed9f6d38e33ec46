#pragma once

#include "core/clock.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::testing {

/// Something that goes wrong, at a virtual time.
struct fault {
  enum class kind : std::uint8_t {
    runner_dies,    ///< the `which`-th, with what it has in hand; it is back after `lasts`
    builder_dies,   ///< the same
    store_fails,    ///< every write, for `lasts`
    power_cut,      ///< every actor ends at once; the same searches begin again
    search_stopped, ///< the `which`-th search is called back, and begins again after `lasts`
    search_pauses,  ///< for `lasts`
  };
  kind what = kind::runner_dies;
  nanoseconds at{0}, lasts{0};
  std::uint32_t which = 0;
};
const char* to_string(fault::kind k) noexcept;

/// A whole experiment: how many searches and places, how candidates behave, whose turn it is, and what goes wrong when.
/// All of it follows from the seed; `faults` may be taken out.
struct plan {
  std::uint64_t seed = 1;
  std::uint32_t runners = 1, builders = 1, searches = 1;
  std::uint32_t size = 16;     ///< configurations of each space
  bool builds = false;
  bool shared = false;         ///< all searches are of one task, so that they ask for the same
  double hangs = 0, crashes = 0, fails = 0, kills = 0, slow = 0; ///< shares of the candidates
  std::vector<fault> faults;

  std::string text() const; ///< for a person, one line and a line for each fault
};
plan plan_of(std::uint64_t seed);

/// Plays it, with a ledger beside it. None: everything held; else what was broken, with the last messages.
/// Deterministic: the same plan gives the same messages.
std::optional<std::string> play(const plan& p);

/// Takes out faults as long as it still fails. @pre play(p) has a value
plan shrunk(plan p);

} // namespace attune::testing
