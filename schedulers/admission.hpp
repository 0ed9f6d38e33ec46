#pragma once

#include <cstdint>

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
/// The rule without a noise controller: timed runs keep the machine to themselves (up to the number of slots that the
/// user asked for), builds keep each other company, and neither stands beside the other. A wave of builds ends when
/// enough is ready to be run: so neither waits for ever, and with one builder build and run simply alternate.
struct quiet_admission {
  std::uint32_t slots = 1;    ///< timed runs at once
  std::uint32_t builders = 1; ///< builds at once

  bool may_build(const machine_load& m) const noexcept {
    return !m.section_taken && m.running == 0 && m.building < builders && m.ready < builders;
  }
  bool may_run(const machine_load& m) const noexcept {
    return !m.section_taken && m.building == 0 && m.running < slots;
  }
};

} // namespace attune::schedulers
