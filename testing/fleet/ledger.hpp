#pragma once

#include "actors/messages.hpp"
#include "storage/store.hpp"
#include "testing/fleet/plan.hpp"
#include "testing/history.hpp"
#include "testing/timeline.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace attune::testing {

/// An outside view of a fleet that holds what must always hold. It sees three things: what the machines run, what is
/// written to the store, and the messages between the hub's actors; and throws `failed`, naming the rule, where they do
/// not fit together:
///
///  durable before told      what a tuner or a client hears of is in the store
///  told once                no trial ends twice in one life of the hub
///  measured once            what the store knows for good is not run again
///  a result is used once    each record of a value comes from one run of that very configuration, and no two from one
///  identity                 a trial hears only what a run of that very experiment came to: workload, target, commands,
///                           contents of files, protocol, configuration
///  one statistic            the value that a run came to is the one that is stored, with the run's own samples, is
///  told,
///                           is shown with its configuration, is reported, and ranks in the table of the best
///  one at a time            no two runs or builds overlap on a slot, and no place has two orders in hand, but for a
///                           slot that takes one behind the one that it runs
///  retries are bounded      only the infrastructure's faults are tried again, never at a place that has failed with
///                           the trial or on a device that was lost with it, and not at all after two devices were lost
///  credits bound            no tuner has more in flight than it was ever allowed
///  the best is measured     a report's best is the best of what the store holds of its task, but for what failed in
///  that
///                           very search
///  nothing is ignored       nothing is built or run of what is to be refused
///
/// Threads: one owner.
class fleet_ledger {
public:
  fleet_ledger(const timeline& time, std::function<void(const std::string&)> fail)
      : time_(time), fail_(std::move(fail)) {}

  /// A build begins at a machine's slot; its run follows there.
  void builds(const std::string& machine, std::uint32_t slot, const trial& what);
  /// A run begins at a machine; answers its number, which makes its value its own.
  std::uint64_t began(const std::string& machine, std::uint32_t slot, const trial& what);
  /// It has ended, by whatever end: the slot is free.
  void ended(const std::string& machine, std::uint32_t slot);
  /// What the run will have measured, where it comes to that.
  void will_measure(std::uint64_t run, const measurement& what);
  /// Nothing of this task may ever be built or run.
  void refused(const std::string& task) { refused_.insert(task); }

  /// Something is on the disk.
  void written(std::span<const storage::record_item> records);
  /// A message of the hub's, before its receiver handles it; with the number of the request that it is or answers, 0
  /// for neither.
  void look(const handled& h, std::uint64_t request);
  /// A place has come to the hub's scheduler; and has gone, as the scheduler hears just now.
  void joined(const std::string& place, const std::string& device, bool ahead);
  void gone(const std::string& place);
  /// The hub was stopped until now: what it loses of touch right after that is no fault of a device's or a trial's.
  void hub_was_away() { back_ = time_.monotonic(); }
  /// The hub's life has ended: what it had in hand is no more, what is on the disk stays.
  void hub_gone();
  /// A search of the hub has ended.
  void reported(const actors::tuning_report& r, std::uint64_t configurations);
  /// A client is shown the best of a task.
  void shown(const std::string& task, double value, const std::string& configuration);
  /// Looks at the store as it lies there: all that was acknowledged is in it.
  void look_at_store(const storage::store& s) const;

  [[noreturn]] void broken(const std::string& rule, const std::string& how) const;
  std::uint64_t runs() const noexcept { return runs_.size(); }
  std::uint64_t records() const noexcept { return records_.size(); }
  std::uint64_t builds() const noexcept { return builds_; }
  /// Orders that a slot was given behind the one that it ran.
  std::uint64_t aheads() const noexcept { return aheads_; }
  /// Of all that was seen: the same experiment twice comes to the same.
  std::uint64_t trace() const noexcept { return trace_; }
  void note(std::uint64_t word) noexcept { trace_ = (trace_ ^ word) * 0x100000001b3u; }
  void note(const std::string& text) noexcept {
    for (const char c : text) note(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }

private:
  struct run_book {
    std::string task, canonical, experiment;
    std::vector<double> samples;
    bool used = false;
  };
  struct record_book {
    key128 key;
    digest task;
    std::string name, canonical, text; ///< of the task; of the configuration
    outcome_ptr result;
    bool cacheable = true;
    purpose why = purpose::search;
    storage::record_id id = 0;
  };
  using trial_id = std::pair<std::uint64_t, trial_number>;
  struct trial_book {
    std::set<std::string> failed_at, lost_with;
  };
  struct tuner_book {
    std::size_t in_flight = 0, allowed = 0;
  };

  void heard(tuner_book& t, const actors::finished& f);
  void ordered(const handled& h, std::uint64_t request, const trial& t, bool runs);
  std::string device_of(const std::string& place) const;
  const std::string& experiment_of(const task_ptr& of);
  void occupies(const std::string& machine, std::uint32_t slot, const trial& what, const char* with);
  /// The newest of each configuration of a task that was measured.
  std::map<std::string, const record_book*> newest_of(const digest& task) const;

  const timeline& time_;
  std::function<void(const std::string&)> fail_;
  std::uint64_t aheads_ = 0, builds_ = 0;
  std::uint64_t trace_ = 0xcbf29ce484222325u;
  std::vector<run_book> runs_;
  std::unordered_map<double, std::uint64_t> by_value_;   ///< runs
  std::set<std::pair<std::string, std::uint32_t>> busy_; ///< machines' slots
  std::vector<record_book> records_;
  std::multimap<key128, std::size_t> by_key_;
  std::map<std::string, std::set<std::string>> failures_; ///< what each search has heard no value of
  std::map<task_ptr, std::string> experiments_;
  std::set<std::string> refused_; ///< tasks

  std::optional<nanoseconds> back_; ///< when the hub was last back from where it was

  // Of one life of the hub.
  std::map<std::string, tuner_book> tuners_;
  std::set<trial_id> told_;
  std::map<std::uint64_t, std::string> sessions_; ///< their names in the store
  std::map<trial_id, trial_book> trials_;
  /// By place, in the order in which they were given, by their requests.
  std::map<std::string, std::map<std::uint64_t, trial_id>> in_hand_;
  std::map<std::string, std::string> devices_;
  std::set<std::string> ahead_; ///< slots that take one more
};

} // namespace attune::testing
