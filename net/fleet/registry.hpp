#pragma once

#include "core/clock.hpp"
#include "core/configuration.hpp"
#include "core/hash.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace attune::net::fleet {

/// One connection of an agent; given by the hub, never reused.
using agent_id = std::uint64_t;

/// What an agent says of itself.
struct description {
  std::string name;
  key128 boot;      ///< drawn by its process: another one is another life of the device
  arguments labels; ///< given by whoever started it; `device` is the device's class
  arguments facts;  ///< the machine's fingerprint
  std::uint32_t slots = 1;
  std::string address; ///< where it connects from
  bool ahead = false;  ///< its slots take an order behind the one that they run
};

/// How a device stands.
enum class device_state : std::uint8_t {
  ready,    ///< gets work
  draining, ///< what is in hand goes on, nothing new comes
  lost,     ///< no connection
  banned,   ///< is not let in
};
const char* to_string(device_state s) noexcept;

/// A device as a person sees it.
struct device_view {
  description what;
  device_state state = device_state::lost;
  std::optional<nanoseconds> heard; ///< ago; none: never in this hub's life
  std::string error;                ///< the last
  /// How far single samples of one run lie apart, of what it measured lately: the median over its runs of 1.4826 times
  /// the median absolute deviation over the median (for a normal distribution that is the standard deviation).
  std::optional<double> noise;
  std::uint64_t runs = 0, lost_leases = 0;
};

/// Which agents there are, and what is known of every device by its name. A device is its name: an agent that comes
/// again under it (after a reboot, a cut) takes its old self's place. Of two that are alive at one time the first
/// stays: the second is refused, tries again, and is let in when the first has gone or has been silent for too long.
///
/// Decides; does nothing. Time is passed in (monotonic). Thread-safety: one owner. Bounds: the names beyond
/// `most_names` that are lost are forgotten, the longest lost first.
class registry {
public:
  static constexpr std::size_t most_names = 4096;

  /// An agent that was not heard of for `lease` is silent.
  explicit registry(nanoseconds lease) : lease_(lease) {}

  struct arrival {
    bool let_in = false;
    std::optional<agent_id> instead; ///< its old self, which is to be dropped
    std::string refused;             ///< why not
  };
  /// An agent says who it is. @pre `id` is new
  arrival come(agent_id id, description what, nanoseconds now);
  void heard(agent_id id, nanoseconds now);
  /// Whoever listens was away until now: nobody has been silent before this.
  void listen_anew(nanoseconds now);
  /// Its connection has ended. Unknown ids are ignored.
  void go(agent_id id, std::string why, nanoseconds now);
  /// Those whose lease has run out: the hub drops them.
  std::vector<agent_id> silent(nanoseconds now) const;

  /// By name; false where no such device is known. A ban holds for names that are not known, too.
  bool drain(const std::string& name, bool on);
  void ban(const std::string& name, bool on);
  bool banned(const std::string& name) const { return banned_.contains(name); }
  const std::set<std::string>& drained() const noexcept { return drained_; }
  const std::set<std::string>& bans() const noexcept { return banned_; }

  /// Whether the agent gets work.
  bool ready(agent_id id) const;
  std::optional<agent_id> agent_of(const std::string& name) const;
  const description* find(agent_id id) const;
  /// A run has ended there: scatter_of() its samples where it measured, its failure where the device is at fault.
  void ran(agent_id id, std::optional<double> scatter, std::string error = {});
  void lost(agent_id id, std::size_t leases);

  /// Those that get work, by name.
  std::vector<const description*> ready() const;
  /// All that are known, by name.
  std::vector<device_view> list(nanoseconds now) const;
  std::size_t agents() const noexcept { return names_.size(); }

private:
  struct device {
    description what;
    std::optional<agent_id> agent;
    std::optional<nanoseconds> heard;
    std::string error;
    std::deque<double> scatters; ///< the last ones
    std::uint64_t runs = 0, lost_leases = 0;
  };
  device* device_of(agent_id id);
  void forget();

  nanoseconds lease_;
  std::map<std::string, device> devices_;
  std::unordered_map<agent_id, std::string> names_; ///< of the live ones
  std::set<std::string> drained_, banned_;
};

/// 1.4826 times the median absolute deviation of the samples over their median; none of fewer than three, or where
/// their median is 0.
std::optional<double> scatter_of(std::vector<double> samples);

} // namespace attune::net::fleet
