#pragma once

#include "core/task.hpp"
#include "storage/store.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace attune::storage {

/// Why a lookup found nothing.
enum class miss_cause : std::uint8_t {
  unseen,         ///< "new": this configuration of this workload was not seen
  other_target,   ///< "target": it was seen on another target
  other_source,   ///< "source": the contents or the names of the sources have changed
  other_method,   ///< "method": it was built or measured in another way
  evicted_before, ///< "evicted": it was here, and had to go or was invalidated
  stopped_early ///< "stopped_early": it is here, but was stopped where this trial would not be (core/task.hpp, answers)
};
inline constexpr std::size_t miss_cause_count = 6;
/// The name in statistics.
const char* to_string(miss_cause c) noexcept;

struct cache_figures {
  std::uint64_t entries = 0, bytes = 0; ///< now
  std::uint64_t hits = 0, misses = 0, evicted = 0;
  std::array<std::uint64_t, miss_cause_count> causes{}; ///< of the misses, by miss_cause
  /// What building and running took once: of the results that hits gave, and of those that were inserted.
  nanoseconds saved{0}, spent{0};
};

/// What a result counts for against the bound in bytes: about what it takes in memory.
std::uint64_t cache_cost(std::size_t canonical, const outcome& result) noexcept;

/// In what two tasks of one workload differ: the target, or the sources, or else the method.
miss_cause difference(bool same_target, std::string_view method_form_a, std::string_view method_form_b);

/// The measurements that are known, exactly the most recently used ones: a lookup or an insert makes an entry the
/// newest, and what exceeds the bounds goes, oldest first.
///
/// Alone, that is all there is. Above a store it is the part of the store's cache that was used last: what goes is
/// still below, may be asked for there (store::recall) and be put back with restore(). Then take_used() tells what was
/// used, in order, for the store to keep the order of all (store::touch).
///
/// A hit compares the task's digest and the configuration's canonical form, so that a collision of keys is a miss.
/// The causes of misses are told from a table of bounded size that remembers configurations that were here; what it has
/// forgotten counts as new. Of tasks of which there is no entry some 16,000 are remembered. Thread-safety: one owner.
/// Cost: O(1) for every function but visit() and invalidate(); take_used() is O(1) for each that was used.
class lru_cache {
public:
  explicit lru_cache(cache_limits limits = {}, bool above_store = false);

  /// What is known of this trial, or null. Valid until the next insert, restore or invalidate. `otherwise` is the cause
  /// of a miss as the store tells it, where nothing is remembered here.
  const cached* lookup(const trial& t, miss_cause otherwise = miss_cause::unseen);

  /// True where an entry has this key; it is not used by that, and nothing is counted.
  bool holds(const key128& key) const noexcept { return find(key) != none; }

  /// Remembers it as the newest, with its record in the store (0: none). Answers the keys that had to go for good (its
  /// own, where it alone exceeds the bounds): none above a store. `below`: the store has it under this key.
  std::vector<key128> insert(const trial& t, outcome_ptr result, record_id record = 0, bool below = true);

  /// Puts back what the store has; it is not used by that, and nothing is counted.
  void restore(const trial& t, cached entry);

  /// The entries that the store has and that were used since the last time, in the order of their last use.
  std::vector<cache_use> take_used();
  /// How many that would be.
  std::size_t used() const noexcept { return recent_ + passed_.size(); }
  /// Hits and misses by task since the last time.
  std::vector<task_uses> take_task_uses();
  /// True where something of this task had to go to the store, or may have had to: of so many tasks that nothing is
  /// known of it any more.
  bool below(const digest& task) const;

  /// Forgets all of the task with this digest (32 bytes, or 64 hex digits): how many there were.
  std::uint64_t invalidate(std::string_view task);

  /// Each entry, oldest first.
  void visit(const std::function<void(const cached&)>& each) const;

  cache_figures statistics() const noexcept;
  const cache_limits& limits() const noexcept { return limits_; }

private:
  using index = std::uint32_t;
  static constexpr index none = ~index{0};

  struct node {
    cached entry;
    index task = 0;
    index newer = none, older = none;
    std::uint32_t used_in = 0; ///< the epoch of its last use
    bool below = true;
    bool fresh = false; ///< inserted, and not asked for since
  };
  /// What tells tasks apart that are about the same configuration.
  struct relation {
    digest task;
    std::uint64_t workload = 0, target = 0, sources = 0, method = 0;
    std::uint64_t hits = 0, misses = 0; ///< not yet taken
    bool below = false;
  };
  struct memory {
    std::uint64_t hash = 0;
    index task = none;
  };

  index relation_of(const task_identity& id);
  void forget_tasks();
  std::vector<key128> put(cached entry, index task, bool below);
  void use(index n, bool fresh) noexcept;
  void pass_down(index n);
  std::size_t slot_of(const key128& key) const noexcept;
  index find(const key128& key) const noexcept;
  void unlink(index n) noexcept;
  void link_newest(index n) noexcept;
  void remove(index n);
  void grow_slots();
  void remember(std::uint64_t hash, index task);
  miss_cause cause_of(const trial& t);

  cache_limits limits_;
  bool above_store_ = false;
  std::uint32_t epoch_ = 1;        ///< since the last take_used()
  std::size_t recent_ = 0;         ///< entries used in this epoch
  std::vector<cache_use> passed_;  ///< used in this epoch, and gone below since
  std::vector<index> asked_tasks_; ///< with hits or misses not yet taken
  std::vector<node> nodes_;
  std::vector<index> free_;
  std::vector<index> slots_; ///< open addressing, linear probing; a power of two, at most half full
  std::size_t used_ = 0;
  std::uint64_t bytes_ = 0;
  index newest_ = none, oldest_ = none;
  std::vector<relation> relations_;
  std::unordered_map<std::string, index> relation_by_task_;
  index last_relation_ = none;
  static constexpr std::size_t most_relations = std::size_t{1} << 14;
  std::size_t forgets_at_ = most_relations; ///< when there are so many, those without an entry go
  bool forgot_ = false;                     ///< that has happened
  std::vector<memory> memories_;            ///< direct-mapped by hash; a power of two
  cache_figures counted_;
};

} // namespace attune::storage
