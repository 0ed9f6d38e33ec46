#pragma once

#include "testing/world.hpp"

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace attune::testing {

/// An outside view of a world that holds what must always hold, message by message. It keeps its own books, and throws
/// `failed`, naming the rule, at the first message that breaks one:
///
///  durable before told    what a tuner hears of is in the store
///  told once              no trial ends twice
///  one at a time          a place gets an order only when it has none in hand
///  measured once          what the store knows for good is not run again (but anew, where somebody asked for that)
///  retries are bounded    only the infrastructure's faults are tried again, never at a place that has failed with the
///                         trial, and not at all after two devices were lost with it
///  credits bound          no tuner has more in flight than it was ever allowed
///  the best is measured   a report's best is the best of what its tuner heard
///
/// One ledger for each world, which it must not outlive.
class ledger {
public:
  explicit ledger(world& of);
  ledger(const ledger&) = delete;
  ledger& operator=(const ledger&) = delete;

  /// After world::power_cut(): what was in flight is no more; what was told stays told.
  void power_cut();
  /// A search that measures anew on purpose (tuner_options::fresh): its runs are not held to "measured once".
  void fresh(std::uint64_t session) { fresh_.insert(session); }
  /// Looks at how a search ended. `heard_before`: results that its past gave it (tuner_options::past).
  void ended(std::uint64_t session, const actors::tuning_report& r,
             const std::vector<fake_store::step>& heard_before = {});
  /// Looks at the store as it lies there: each result of a configuration once.
  void look_at_store() const;

private:
  using trial_id = std::pair<std::uint64_t, trial_number>;
  struct trial_book {
    std::set<std::string> failed_at;
    int lost = 0;
  };
  struct tuner_book {
    std::set<trial_number> told;
    std::size_t in_flight = 0, allowed = 0;
    std::vector<outcome_ptr> heard;
    task_ptr of;
  };

  void look(const handled& h);
  void heard(tuner_book& t, const actors::finished& f);
  void ordered(const handled& h, const trial& t, bool runs);
  void broken(const std::string& rule, const std::string& how) const;

  world& world_;
  std::map<std::uint64_t, tuner_book> tuners_;
  std::map<trial_id, trial_book> trials_;
  std::map<std::string, trial_id> in_hand_; ///< by place
  std::set<std::uint64_t> fresh_;
};

} // namespace attune::testing
