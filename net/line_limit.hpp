#pragma once

#include "core/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace attune::net {

struct line_limits {
  nanoseconds period = std::chrono::minutes(10);
  std::size_t first = 1;  ///< of a kind that are told as they come
  std::size_t kinds = 64; ///< told apart at one time; what there is of others is counted as one more
};

/// Lines for a log that others can cause as often as they like. Of each kind the first are told as they come; what
/// follows is counted, and told with its number once in a period; a kind of which there was nothing for a period is
/// forgotten. So whatever happens there are at most `(kinds + 1) * (first + 1)` lines in a period, and as many kinds in
/// memory. Decides; writes nothing. Time is passed in (monotonic). Thread-safety: one owner.
class line_limit {
public:
  explicit line_limit(const line_limits& limits = {}) : limits_(limits) {}

  /// Something happens that may happen again. `kind`: what makes it the same: the line without what differs each time.
  /// What is to be told now: what is due, then the line where it is one of the first.
  std::vector<std::string> take(const std::string& kind, std::string line, nanoseconds now);
  /// What was counted in periods that are over.
  std::vector<std::string> due(nanoseconds now);
  /// All that was counted, at the end.
  std::vector<std::string> rest(nanoseconds now);

private:
  struct seen {
    nanoseconds since{0};
    std::size_t told = 0;
    std::uint64_t again = 0;
    std::string last;
  };

  line_limits limits_;
  std::map<std::string, seen> kinds_;
  seen others_;
  nanoseconds next_{0}; ///< nothing is due before
};

/// Of an address as text ("1.2.3.4:80", "[::1]:80") what stays the same when its owner connects again.
std::string without_port(const std::string& address);

} // namespace attune::net
