#pragma once

#include <cstdint>
#include <vector>

namespace attune::schedulers {

/// What happens on one machine now.
struct machine_load {
  std::uint32_t building = 0; ///< builds in progress
  std::uint32_t running = 0;  ///< timed runs in progress
  std::uint32_t ready = 0;    ///< built, waiting for a slot
  bool section_taken = false; ///< a trial that builds in place holds the machine from its build to the end of its run
};

/// Whether a build or a timed run may start beside what happens on the machine already.
///
/// The rule without a noise controller (`beside` is 0): timed runs keep the machine to themselves (up to the number of
/// slots that the user asked for), builds keep each other company, and neither stands beside the other. A wave of
/// builds ends when enough is ready to be run: so neither waits for ever, and with one builder build and run simply
/// alternate. Where builds beside timed runs have been seen to do no harm, so many go on beside them.
struct admission {
  std::uint32_t slots = 1;    ///< timed runs at once
  std::uint32_t builders = 1; ///< builds at once where nothing is timed
  std::uint32_t beside = 0;   ///< builds at once beside timed runs

  bool may_build(const machine_load& m) const noexcept {
    const bool timing = m.running > 0 || (beside > 0 && m.ready > 0);
    return !m.section_taken && m.building < (timing ? beside : builders) && m.ready < stock();
  }
  /// How much may lie built and wait for a slot: enough that neither waits where builds and runs take about the same
  /// time, each now more and now less (bench/overlap_bench).
  std::uint32_t stock() const noexcept { return beside > 0 ? 4 * builders : builders; }
  /// Trials in flight that keep all of it busy, with one that is being recorded.
  std::uint32_t in_flight() const noexcept {
    return (beside > 0 ? slots + beside + stock() - builders : slots > builders ? slots : builders) + 1;
  }
  bool may_run(const machine_load& m) const noexcept {
    return !m.section_taken && m.building <= beside && m.running < slots;
  }
  friend bool operator==(const admission&, const admission&) = default;
};

/// The steps by which the noise controller may raise what goes on at once, the quiet one first: one build beside the
/// timed runs, then one timed run after the other, then further builds. What is stated is not moved.
/// @pre slots, builders: at least 1; the most that there may be
std::vector<admission> admission_ladder(std::uint32_t slots, bool slots_move, std::uint32_t builders,
                                        bool builders_move);

} // namespace attune::schedulers
