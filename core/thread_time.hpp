#pragma once

#include "core/clock.hpp"

namespace attune {

/// The CPU time that the calling thread has used, as a clock (CLOCK_THREAD_CPUTIME_ID): what a piece of work costs,
/// however busy the machine is. monotonic() is comparable within one thread only; wall() is the system's.
const time_source& thread_time();

} // namespace attune
