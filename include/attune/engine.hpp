// The engine that a program embeds: tuning in the background, many sessions, one store.
#pragma once

#include "attune/objective.hpp"
#include "attune/space.hpp"
#include "core/clock.hpp"

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caf {
class actor_system;
}

namespace attune {

enum class log_level : std::uint8_t { debug, info, warning, error };
/// Where an engine's messages go, one line each. Called from the engine's threads, one call at a time; it must be quick
/// and must not throw.
using log_sink = std::function<void(log_level, std::string_view)>;

struct engine_options {
  /// The folder of the store; empty: nothing outlives the engine, and the disk is not touched.
  std::string store{};
  /// Programs of this user may work on the store at the same time; false: it is this engine's alone.
  bool shared = true;
  /// The program's own actor system, which must outlive the engine; null: the engine makes one, whose single worker
  /// sleeps when there is nothing to do.
  caf::actor_system* host = nullptr;
  /// Objectives that are called at once, each on a thread of its own.
  std::uint32_t slots = 1;
  /// True: objectives are called on the engine's worker, between two messages, which saves two changes of threads a
  /// call. For objectives of microseconds: a long one holds up everything else. Then there is one slot.
  bool inline_calls = false;
  /// The most threads that the engine starts; fewer slots are opened where that is needed to keep it. 0: no limit.
  /// engine::start() refuses what is too few (engine_threads()).
  std::uint32_t threads = 0;
  /// The most bytes for measurements held in memory. Beside it stand the strategies' own, and, with a store, at most
  /// 100 MiB for the database.
  std::uint64_t memory = std::uint64_t{64} << 20;
  /// Empty: silence.
  log_sink log{};
};

/// How many threads an engine with these options starts at most, a store's own ones included. (RocksDB's background
/// threads stay in the process when the engine ends, for the next one.)
std::uint32_t engine_threads(const engine_options& options) noexcept;

/// How one search is done.
struct search_options {
  /// Name and version of what measures: part of a measurement's identity, so that a store tells a new version's results
  /// from the old one's.
  std::string method = "objective/1";
  std::string strategy = "auto"; ///< any of strategy_names()
  /// Distinct configurations; none: 1,000 where there is no `time` either.
  std::optional<std::uint64_t> trials{};
  std::optional<nanoseconds> time{};
  std::uint64_t seed = 1;
  std::string unit = "s"; ///< of plain numbers: s ms us ns (kept in seconds), or any other word (kept as it is)
  bool maximize = false;
  std::uint32_t warmup = 0; ///< samples thrown away for each configuration
  /// Samples for each configuration: at least `repeats`, up to `most_repeats`, until the 95 % interval of the median is
  /// within +-`until` (a fraction) of it; 0: always `most_repeats`.
  std::uint32_t repeats = 1, most_repeats = 1;
  double until = 0;
  nanoseconds limit = std::chrono::seconds(60); ///< of one call of the objective
  /// So many of the best are measured again, side by side, before a winner is named.
  std::uint32_t finalists = 0;
  /// Configurations that are proposed and not decided yet, at most: each is chosen without knowing what the others come
  /// to. 0: two more than the engine has slots, 256 for strategies that do not learn; up to 64 where the program
  /// measures.
  std::uint32_t in_hand = 0;
  /// Forgets the session and measures everything anew.
  bool remeasure = false;
};

/// The names of the search strategies, `auto` first.
std::vector<std::string> strategy_names();

/// A configuration and what it was measured at.
struct found {
  configuration config;
  double value = 0;  ///< the cleaned value, in `unit`
  double spread = 0; ///< half the 95 % interval's width, a fraction of the value
  std::vector<double> samples;
  std::string unit = "s";

  config_view view() const noexcept { return config_view(config); }
  template <class T>
  decltype(auto) operator[](const param<T>& p) const {
    return config_view(config)[p];
  }
};

/// Why a search ended.
enum class ending : std::uint8_t { trials, time, exhausted, converged, interrupted, no_valid, error };
const char* to_string(ending e) noexcept;

/// Where a search stands, or what it came to.
struct report {
  std::optional<found> best;     ///< none where nothing was measured
  std::optional<found> standard; ///< the default configuration's, where a parameter has a default
  std::uint64_t proposed = 0;    ///< configurations that were decided: measured, answered from memory, failed
  std::uint64_t measured = 0;    ///< by this process, to a value
  std::uint64_t cached = 0;      ///< known already
  std::vector<std::pair<failure_kind, std::uint64_t>> failed; ///< kinds that occurred
  std::optional<failure> first_failure;
  bool finished = false;
  ending ended = ending::interrupted; ///< where it is finished
  std::optional<error> trouble;       ///< with ending::error: what it was
  nanoseconds wall{0};                ///< where it is finished

  std::uint64_t failures() const noexcept;
};

/// A search under way. Copies are the same search; it goes on when all are gone. Threads: any that is no actor's.
class session {
public:
  /// Waits for the end; the same report each time. Where the engine was destroyed before: what was known, interrupted.
  report wait() const;
  /// The report, if the end comes within `patience`.
  std::optional<report> wait_for(nanoseconds patience) const;
  std::shared_future<report> future() const;
  /// Calls `what` with the report at the end, on a thread of the engine's, where it must be quick and may not throw; on
  /// this one where the end has come.
  void on_end(std::function<void(const report&)> what) const;
  /// Asks it to end as interrupted; returns at once.
  void cancel() const;
  void pause() const;
  void resume() const;
  report progress() const;

  struct impl;
  explicit session(std::shared_ptr<impl> i) noexcept : impl_(std::move(i)) {}
  impl& get() const noexcept { return *impl_; }

protected:
  std::shared_ptr<impl> impl_;
};

/// A configuration that a program is asked to measure.
class asked {
public:
  config_view config() const noexcept;

  struct impl;
  explicit asked(std::shared_ptr<const impl> i) noexcept : impl_(std::move(i)) {}
  const impl& get() const noexcept { return *impl_; }

private:
  std::shared_ptr<const impl> impl_;
};

/// A search whose trials the program measures by itself. What the store knows is not asked for.
class ask_tell : public session {
public:
  using session::session;
  /// The next configuration; none at the end of the search. Several may be in hand at once, up to
  /// search_options::in_hand; with so many it waits until one is told.
  std::optional<asked> ask() const;
  /// What came of it; returns when that is durable and the strategy knows. Errors: not_found for what is not in hand,
  /// cancelled where the search has ended.
  status tell(const asked& which, const answer& what) const;
};

/// Tunes C++ callables in the background, on its own actor system or the host's.
///
/// It installs no signal handler, writes to no standard stream, never exits, keeps no global state; errors are values.
/// Threads: start and destroy it on one thread, everything else from any thread that is no actor's.
class engine {
public:
  /// Errors: store_unusable, store_busy, store_newer, store_corrupt, network (a sharing process of another version),
  /// invalid_spec (too few threads).
  static result<engine> start(engine_options options = {});
  /// Cancels what is under way, keeps what was measured, and is done well below a second after the last call of an
  /// objective has returned.
  ~engine();
  engine(engine&& other) noexcept;
  engine& operator=(engine&& other) noexcept;

  /// Begins a search, or goes on with it: the same space, objective's method, strategy and seed are one session in the
  /// store. Returns at once. Errors: invalid_spec, store errors.
  result<session> tune(const space& over, objective what, const search_options& how = {});
  /// The same, for a program that measures by itself.
  result<ask_tell> open(const space& over, const search_options& how = {});
  /// The best that the store knows for this task, best first, without measuring: at most 16. Errors: as tune().
  result<std::vector<found>> best(const space& over, const search_options& how = {}, std::size_t count = 1) const;

  struct impl;
  impl& get() const noexcept { return *impl_; }

private:
  explicit engine(std::unique_ptr<impl> i) noexcept;
  std::unique_ptr<impl> impl_;
};

/// Tunes in one call, on an engine of its own: calls `what` on another thread, one call at a time, until the search has
/// ended. Cheap objectives lose some microseconds a call. `stop`: cancels. Errors: as engine::start() and
/// engine::tune().
result<report> tune(const space& over, objective what, const search_options& how = {}, engine_options with = {},
                    std::stop_token stop = {});

} // namespace attune
