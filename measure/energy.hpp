#pragma once

#include "core/error.hpp"
#include "measure/descriptor.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attune::measure {

/// Reads the energy that one of energy_domains() has used, through RAPL's zones in the kernel's powercap tree, summed
/// over all packages. It is the machine's energy, whoever used it: what else runs is counted too. The hardware counts
/// in steps of about a millisecond.
/// Thread-safety: from any thread, one at a time.
class energy_meter {
public:
  /// `root`: where the tree begins ("": this machine). Errors: invalid_spec, with the reason (no RAPL, no such domain,
  /// not allowed) and the remedy in one line.
  static result<energy_meter> open(std::string_view domain, const std::string& root = {});

  /// What the zones show, in microjoules.
  using reading = std::vector<std::uint64_t>;
  /// Empty where a zone cannot be read.
  reading read() const;
  /// The joules between two readings; a zone's counter may have gone round once.
  double between(const reading& before, const reading& after) const;

private:
  struct zone {
    descriptor counter;
    std::uint64_t range = 0; ///< the largest value; the next is 0
  };
  std::vector<zone> zones_;
};

} // namespace attune::measure
