#pragma once

#include "bench/replay_spaces.hpp"

#include <cstdint>

namespace attune::bench {

/// What `modelled:SEED` and `modelled:SEED:DEVICE` name, see load_table(). The time of a tiled stencil by a roofline
/// (Williams, Waterman and Patterson, 2009) whose ceilings depend on occupancy, coalescing, waves of blocks, spilled
/// registers and conflicts of banks; the seed draws the kernel and its workload, the device the machine.
named_table modelled_space(std::uint64_t seed, std::uint64_t device);

} // namespace attune::bench
