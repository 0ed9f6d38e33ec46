// web: what a person sees in a browser, and what a monitoring service reads: the events' JSON form, the view of a
// search, the server that shows it, reports, traces, metrics. It changes nothing of what it looks at.
#pragma once

#include "actors/messages.hpp"
#include "web/figures.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace attune::web {

/// Where a trial can be, in the order of its way. What is proposed is at once in the cache; what is cleaned up is
/// counted under run until it is over: how long it took comes with the result.
enum class stage : std::uint8_t { propose, cache, flight, queue, build, upload, run, clean, store, told };
inline constexpr std::size_t stage_count = 10;
const char* to_string(stage s) noexcept;

/// How a trial of a session ended, as the columns have it: 0 measured, 1 stopped early, 2 + failure_kind.
std::uint8_t ending_of(const outcome& o) noexcept;
/// Its name: "measured", "bounded", or the failure's.
std::string ending_name(std::uint8_t ending);

/// What a session is called and made of.
struct session_head {
  std::string id; ///< in the store; may be empty
  std::string task, key, strategy, metric, unit;
  arguments workload, target;
  goal direction = goal::minimize;
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> budget;
  std::optional<nanoseconds> time_limit;
  double weight = 1;
  nanoseconds started{0}; ///< wall
};
/// That of a task that is being tuned.
session_head head_of(const task& of, nanoseconds started);

/// The trials of one session as columns: row i of each belongs to the i-th trial that was told.
struct trial_columns {
  std::vector<std::uint32_t> number;
  std::vector<float> at_s;   ///< since the session's start
  std::vector<double> value; ///< the bound's where it was stopped early; NaN where it failed
  std::vector<std::uint8_t> ending, cached;
  std::vector<std::vector<std::uint16_t>> parameters; ///< indices into session_view::values
  std::vector<float> queue_s, build_s, run_s, clean_s;
  std::vector<float> spread, drift; ///< drift: NaN where there was no reference
  std::vector<std::uint16_t> place;
  std::vector<key128> key;
  std::vector<double> expected;      ///< by the strategy's model, before it was measured; NaN: by none
  std::vector<std::uint8_t> idea_of; ///< 0: no model looked at it, 1: the model's, 2: looked at, but to explore
  std::size_t size() const noexcept { return number.size(); }
};

struct amended_row {
  std::size_t row = 0;
  double value = 0;
};

/// One session as it is shown.
struct session_view {
  actors::session_number number = 0;
  session_head head;
  bool ended = false;
  std::string reason;      ///< why it ended
  nanoseconds searched{0}; ///< how long, where it has ended
  std::uint64_t proposed = 0, cached = 0, left_out = 0;
  std::vector<std::uint64_t> endings = std::vector<std::uint64_t>(2 + all_failure_kinds.size());
  std::vector<std::string> names;               ///< of the parameters
  std::vector<std::vector<std::string>> values; ///< of each, as JSON texts, in the order in which they were seen
  std::vector<std::unordered_map<std::string, std::uint16_t>> value_index; ///< by attune::encode
  trial_columns rows;
  std::vector<bool> seen;           ///< by trial number
  std::vector<amended_row> amended; ///< in order
  std::optional<double> best;
  configuration best_config;
  double built_s = 0, run_s = 0;
  std::size_t in_flight = 0;
  std::uint32_t window = 0;
  actors::report_ptr report;
  std::uint64_t version = 0; ///< moves with every change of what is beside the rows
  nanoseconds begun{0};      ///< monotonic
};

struct place_view {
  std::string name;
  bool here = true, stuck = false;
  enum class work : std::uint8_t { idle, build, run } doing = work::idle;
  actors::session_number session = 0;
  trial_number trial = 0;
  double since_s = 0, busy_s = 0;
  std::uint64_t runs = 0, builds = 0;
};

/// A build or a run that has ended, for the timeline.
struct span_view {
  std::uint16_t place = 0;
  bool run = false;
  purpose why = purpose::search;
  actors::session_number session = 0;
  trial_number trial = 0;
  double begin_s = 0, end_s = 0; ///< since the model's beginning
};

struct decision_view {
  double at_s = 0;
  actors::session_number session = 0; ///< 0 or unknown: the machine's
  std::string kind, text;
};

struct model_options {
  std::size_t rows_most = 400'000; ///< trials kept of all sessions; beyond these only improvements are
  std::size_t sessions_most = 1024;
  std::size_t lives_most = 4096; ///< trials whose whole life is kept
  std::size_t flights_most = 65'536;
  std::size_t decisions_most = 512, spans_most = 4096, places_most = 4096;
};

/// How far somebody has been told.
struct model_cursor {
  struct session {
    std::size_t rows = 0, amended = 0;
    std::vector<std::size_t> values;
    std::uint64_t version = 0;
    bool named = false;
  };
  std::map<actors::session_number, session> sessions;
  std::uint64_t decisions = 0, spans = 0;
  bool begun = false;
};

/// Takes events in and keeps what the views show, in bounded memory: about 100 bytes a trial, and 2 kB for each of the
/// last ones. No clock, no thread, no I/O; one owner.
class model {
public:
  /// `now` and `wall`: the beginning of its times.
  model(nanoseconds now, nanoseconds wall, model_options options = {});

  void take(const actors::event& e);
  /// A session that was, or is, elsewhere known: under a number of its own. False where there are too many.
  bool add_session(actors::session_number number, session_head head);
  bool knows(actors::session_number number) const { return sessions_.contains(number); }
  /// One of its trials; one that is there already is left out. `at`: since the session's start.
  void add_trial(actors::session_number number, trial_number which, const configuration& config, const key128& key,
                 const outcome& result, bool cached, nanoseconds at,
                 const std::optional<search::foreseen>& expected = std::nullopt);
  /// A later result takes the place of that of a trial.
  void amend(actors::session_number number, trial_number which, const configuration& config, const outcome& result);
  void end_session(actors::session_number number, std::string reason, nanoseconds searched);
  /// Where its tuner stands.
  void note_window(actors::session_number number, std::size_t in_flight, std::uint32_t window);
  /// So many events did not get here.
  void note_lost(std::uint64_t events) { lost_ += events; }

  /// All that has changed since `from`, as one JSON object (docs/events.md, "The view"), which is moved on; with a
  /// fresh cursor, everything. Empty: nothing has. `form`: how the trials of sessions that `from` has heard nothing of
  /// are told: in it, or `apart` as a count alone, to be asked for by rows().
  enum class row_form : std::uint8_t { inside, apart };
  std::string json(model_cursor& from, nanoseconds now, row_form form = row_form::inside) const;
  /// The first `count` trials of a session, as bytes: column by column, numbers as this machine has them
  /// (little-endian), NaN for null (docs/events.md, "The view"). None: there is no such session, or it has fewer.
  std::optional<std::string> rows(actors::session_number session, std::size_t count) const;
  /// One trial's whole life; none where it is not kept. `key` is filled in where the trial is known at all.
  std::optional<std::string> life_json(actors::session_number session, trial_number trial,
                                       std::optional<key128>& key) const;

  struct stage_view {
    std::uint64_t in = 0, entered = 0, left = 0;
    latency_histogram took;
    recent_rate rate; ///< of leaving
  };
  const std::array<stage_view, stage_count>& stages() const noexcept { return stages_; }
  const std::map<actors::session_number, session_view>& sessions() const noexcept { return sessions_; }
  const std::vector<place_view>& places() const noexcept { return places_; }
  const std::deque<decision_view>& decisions() const noexcept { return decisions_; }
  std::uint64_t events() const noexcept { return events_; }
  std::uint64_t lost() const noexcept { return lost_; }
  std::uint64_t retried() const noexcept { return retried_; }
  std::uint64_t quarantined() const noexcept { return quarantined_; }
  std::uint64_t hits() const noexcept { return hits_; }
  std::uint64_t joined() const noexcept { return joined_; }
  std::uint64_t misses() const noexcept { return misses_; }
  const std::string& trouble() const noexcept { return trouble_; }

private:
  using trial_id = std::pair<actors::session_number, trial_number>;
  struct hash_id {
    std::size_t operator()(const trial_id& t) const noexcept {
      return static_cast<std::size_t>(t.first * 0x9E3779B97F4A7C15u + t.second);
    }
  };
  struct step {
    actors::event_kind kind;
    nanoseconds at;
    std::string text;
  };
  struct life {
    trial_ptr what;
    outcome_ptr result;
    bool cached = false;
    std::vector<step> steps;
  };
  struct flight {
    stage where = stage::cache;
    nanoseconds since{0};
    std::optional<search::foreseen> expected{};
  };

  double since_begin(nanoseconds at) const noexcept { return seconds(at - begin_); }
  session_view* session_of(const actors::event& e);
  void move_on(const actors::event& e, std::optional<stage> to);
  /// Of a stage that is passed, not stayed in; `took`: where that is known.
  void pass(const actors::event& e, stage which, std::optional<nanoseconds> took);
  void remember(const actors::event& e);
  void decide(const actors::event& e, const char* kind);
  std::uint16_t place_index(const std::string& name);
  void occupy(const actors::event& e, bool run);
  void vacate(const actors::event& e, bool run);
  void take_told(const actors::event& e, const std::optional<search::foreseen>& expected);
  std::optional<search::foreseen> expected_of(const actors::event& e) const;
  bool better(const session_view& s, double value) const noexcept;

  nanoseconds begin_, wall_;
  model_options options_;
  std::map<actors::session_number, session_view> sessions_;
  std::size_t rows_ = 0;
  std::array<stage_view, stage_count> stages_{};
  std::unordered_map<trial_id, flight, hash_id> flights_;
  std::unordered_map<trial_id, std::shared_ptr<life>, hash_id> lives_;
  std::deque<trial_id> life_order_;
  std::vector<place_view> places_;
  std::map<std::string, std::uint16_t> place_of_;
  std::map<std::pair<const trial*, bool>, std::pair<std::uint16_t, nanoseconds>> at_work_;
  std::deque<decision_view> decisions_;
  std::deque<span_view> spans_;
  std::uint64_t decision_count_ = 0, span_count_ = 0;
  std::uint64_t events_ = 0, lost_ = 0, retried_ = 0, quarantined_ = 0, hits_ = 0, joined_ = 0, misses_ = 0;
  std::string trouble_;
  std::string form_; ///< work space
};

} // namespace attune::web
