#pragma once

#include "core/error.hpp"
#include "core/task.hpp"
#include "storage/store.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attune::storage {

class lru_cache;
struct cache_figures;

/// An answer to store_port::claim(): the result that another process has measured, or, where `known` is null, the right
/// to measure it.
struct claim_answer {
  key128 key;
  outcome_ptr known;
  record_id record = 0; ///< of the known result
};

/// What a tuning process needs of the store, whether it owns the store itself or works through the process that does.
/// Reading goes through a view; writing, and the flights that processes have in common, through here.
///
/// Threads: every function from any thread; claim(), release() and listen() return at once, the others may wait for the
/// disk or for the owner. Errors: as those of `store`; store_busy where there is no owner to be had for too long.
class store_port {
public:
  virtual ~store_port() = default;

  virtual const std::string& path() const = 0;
  /// As store::notices(), and what is to be said about the sharing.
  virtual std::vector<std::string> notices() const = 0;

  /// The store as it is now: everything that was acknowledged before the call is in it, what comes later need not be.
  /// It may outlive neither the port nor a handover for long: ask for it anew for each use.
  virtual result<std::shared_ptr<const store>> view() const = 0;
  /// As store::recall() and store::knows_workload(); what another process has written lately need not be known.
  virtual std::vector<recalled> recall(std::span<const trial_ptr> asked) = 0;
  virtual bool knows_workload(const digest& workload) = 0;

  /// As store::append(). A call that has failed is repeated with the same records and steps first, in their order,
  /// before others are appended: what it may have written nevertheless is not written twice.
  virtual status append(std::span<record_item> records, std::span<const step_item> steps) = 0;

  /// As store::begin_session(); answers whether this process writes the session's steps. It does not where another
  /// process has the same session under way: then its steps are dropped, and its records kept.
  virtual result<bool> begin_session(const session_entry& session) = 0;
  virtual status erase_session(std::string_view id) = 0;
  /// As store::add_spent(), and the session is no longer under way in this process.
  virtual void end_session(std::string_view id, nanoseconds spent) = 0;

  /// As store::touch(), drop_cached() and count(): niceties, which may be lost.
  virtual void touch(std::span<const cache_use> used) = 0;
  virtual void drop_cached(std::span<const key128> gone) = 0;
  virtual void count(const cache_figures& since_last, std::span<const task_uses> by_task) = 0;
  /// As store::drop_cached() of a task. Every process of the store hears of it (on_forgotten).
  virtual result<std::uint64_t> drop_cached(const digest& task) = 0;

  /// As store::append_new(), forget() (which leaves the sessions under way what they rest on, in whatever process) and
  /// compact(). They may take as long as they do; where the owner ends meanwhile, whoever is next goes on.
  virtual status append_new(std::span<foreign_record> records) = 0;
  virtual result<std::vector<forgotten>> forget(std::span<const digest> tasks, const retention& how) = 0;
  virtual status compact() = 0;

  /// Single flight over all processes: asks for the right to measure the trial's key. True: granted. False: the answer
  /// comes to whom listen() was given, when the process that measures it has ended its flight (or itself), or has not
  /// for longer than `limit`. With `anew` what is known already is no answer, only what is being measured.
  virtual bool claim(const trial& what, bool anew, nanoseconds limit) = 0;
  /// The flight has ended, durably where there was something to keep; or the claim is no longer wanted.
  virtual void release(const key128& key) = 0;
  /// Who hears the answers, on a thread of the port's; empty: nobody any more, from the return of the call on.
  virtual void listen(std::function<void(std::vector<claim_answer>)> hear) = 0;
  /// Who hears of tasks of which something was forgotten, in the cache or altogether, by whomever: what is held of them
  /// in memory is no longer to be believed. As listen().
  virtual void on_forgotten(std::function<void(std::vector<digest>)> hear) = 0;
};

/// The store of a process that shares it with nobody: a second process is refused. Errors: as store::open.
result<std::unique_ptr<store_port>> open_exclusive(const std::string& directory, const cache_limits& cache = {});

} // namespace attune::storage
