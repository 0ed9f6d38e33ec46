#pragma once

#include "core/failure.hpp"

#include <cstdint>
#include <vector>

namespace attune::schedulers {

/// How often a trial may be tried again after a fault that is not its own.
struct retry_policy {
  std::uint32_t attempts = 3; ///< in all, the first among them; 0 counts as 1
  /// A candidate that has lost this many devices (builders among them) is quarantined: never tried again. 0 counts
  /// as 1.
  std::uint32_t devices_lost = 2;
  /// How often a trial may be lost by the absence of whoever hands it out, and keep no note of that.
  std::uint32_t absences = 3;
};

/// The faults of one trial so far, and what follows from the next one.
class retry_state {
public:
  enum class verdict : std::uint8_t {
    final_failure, ///< the candidate's own fault, or cancelled: it stands
    again,         ///< try again, on a place that is not in failed_places()
    exhausted,     ///< no more attempts: the failure stands
    quarantined,   ///< it has lost too many devices: the failure stands, and the candidate is marked
  };

  /// Takes note of a failure at `place` (a slot or builder), which belongs to `device` (0: to none that has others),
  /// and says what follows. A failure that is the candidate's own or `cancelled` leaves no note.
  verdict failed(failure_kind kind, std::uint32_t place, const retry_policy& policy, std::uint32_t device = 0) {
    if (!is_infrastructure(kind) || kind == failure_kind::cancelled) return verdict::final_failure;
    failed_places_.push_back(place);
    if (kind == failure_kind::device_lost && device != 0) lost_devices_.push_back(device);
    if (kind == failure_kind::device_lost && ++lost_ >= policy.devices_lost) return verdict::quarantined;
    return failed_places_.size() >= policy.attempts ? verdict::exhausted : verdict::again;
  }
  /// It was lost at a place by nobody's fault here: an absence of whoever hands it out, by its number (never 0). True:
  /// again, as if nothing had been; false: it was so too often, and is to count.
  bool excuse(std::uint64_t absence, const retry_policy& policy) {
    if (absence != last_absence_) ++absences_;
    last_absence_ = absence;
    return absences_ <= policy.absences;
  }
  /// Not there, though nothing has failed there.
  void avoid(std::uint32_t place) { failed_places_.push_back(place); }
  /// Never again on one of these.
  const std::vector<std::uint32_t>& failed_places() const noexcept { return failed_places_; }
  bool failed_at(std::uint32_t place, std::uint32_t device = 0) const noexcept {
    for (const auto p : failed_places_)
      if (p == place) return true;
    for (const auto d : lost_devices_)
      if (d == device) return true;
    return false;
  }

private:
  std::vector<std::uint32_t> failed_places_, lost_devices_;
  std::uint32_t lost_ = 0, absences_ = 0;
  std::uint64_t last_absence_ = 0;
};

} // namespace attune::schedulers
