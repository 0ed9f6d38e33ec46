// What a person writes down: the parsed form of a spec file (storage reads YAML and T1 into it), or what a C++ program
// fills in. Plain values with the contract's defaults; nothing here is checked but by validate().
#pragma once

#include "core/clock.hpp"
#include "core/configuration.hpp"
#include "core/error.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace attune {

/// Where something was written, for messages. line 0: nowhere (made by a program).
struct source_place {
  std::string file;
  int line = 0;
  int column = 0;
  /// `file:line`, or the empty text.
  std::string text() const;
};

/// The values of a parameter as they were declared. All domains are finite.
struct integer_range {
  std::int64_t first = 0, last = 0, step = 1;
  bool log = false;
}; ///< both ends in
struct real_range {
  double first = 0, last = 0, step = 0;
}; ///< both ends in, exact decimal steps
struct real_grid {
  double first = 0, last = 0;
  std::uint32_t count = 0;
  bool log = false;
}; ///< `count` points, both ends in
struct power_range {
  std::int64_t first = 1, last = 1;
}; ///< the powers of two in [first, last]
struct value_list {
  std::vector<value> values;
}; ///< as listed; no two equal
struct permutation_of {
  std::vector<std::string> items;
}; ///< all orders of the items
/// A list written as a Python expression, as T1 files have it (`[1, 2]`, `list(range(1, 9, 2))`, `[2**i for i in
/// range(5)] + [3]`); search::space::compile evaluates it.
struct value_expression {
  std::string text;
};

using parameter_domain =
    std::variant<value_list, integer_range, real_range, real_grid, power_range, permutation_of, value_expression>;

/// One parameter as declared.
struct parameter {
  std::string name; ///< [A-Za-z_][A-Za-z0-9_]*
  parameter_domain domain;
  std::string when{};              ///< condition (constraint language); empty: always there
  std::optional<value> standard{}; ///< the default value, for the default configuration; none: the first of the domain
  source_place place{};
};

/// A C++ callable as a constraint over named parameters. Must be pure and safe from any thread.
struct callable_constraint {
  std::vector<std::string> over; ///< the parameters that it reads, in the order of the call
  std::function<bool(std::span<const value>)> accept;
  std::string name; ///< for messages
};

/// One constraint: an expression, or a callable.
struct constraint {
  std::string expression;
  std::optional<callable_constraint> callable{};
  source_place place{};
};

/// A command: text for `/bin/sh -c`, or an argv whose elements are never split (but `{name*}`).
struct command {
  std::string shell;
  std::vector<std::string> argv;
  bool empty() const noexcept { return shell.empty() && argv.empty(); }
  friend bool operator==(const command&, const command&) = default;
};

/// Where commands run.
enum class working_directory : std::uint8_t { specdir, workdir };

/// Whose machine builds where a hub has the trials measured by agents.
enum class building_place : std::uint8_t {
  hub,    ///< the hub's
  runner, ///< the one that runs it
};

struct build_spec {
  command run;                      ///< empty: no build
  std::vector<std::string> sources; ///< paths relative to the spec's folder; their contents are identity
  nanoseconds timeout = std::chrono::seconds(60);
  working_directory cwd = working_directory::specdir;
  building_place on = building_place::hub; ///< of no effect where one machine does both
};

enum class goal : std::uint8_t { minimize, maximize };
const char* to_string(goal g) noexcept;

/// How a number is taken from a run: from what it writes, or (wall and what follows) from its processes.
struct metric_spec {
  enum class from : std::uint8_t { last_number, pattern, json, file, wall, cpu, memory, counter, energy };
  std::string name = "time";
  from source = from::last_number;
  std::string expression; ///< the pattern, JSON pointer, file path, counter or energy domain that `source` needs
  std::string unit = "s"; ///< as written; s ms us ns are stored in seconds
  goal direction = goal::minimize;
  /// Of a run's processes, not of what they write: one sample a run.
  bool of_processes() const noexcept { return source >= from::wall; }
  /// The unit as stored: "s" for the four units of time, else `unit`.
  std::string stored_unit() const;
  /// What a written number is divided by to be stored (dividing by 1000 rounds once, multiplying by 0.001 twice).
  double divisor() const;
};

/// The words that a metric's source may be followed by: the counters (named as perf names its events), the energy
/// domains of RAPL, the units of memory with the bytes of one.
std::span<const std::string_view> counter_names() noexcept;
std::span<const std::string_view> energy_domains() noexcept;
std::span<const std::pair<std::string_view, double>> memory_units() noexcept;

/// What a run must keep to be a result: an expression over the metrics' names (the constraints' language).
struct limit_spec {
  std::string expression;
  source_place place{};
};

/// How often a run is repeated: until the 95 % confidence interval of the median is within +-until (a fraction) of it.
struct repeat_spec {
  std::uint32_t min = 1;
  std::uint32_t max = 1;
  double until = 0; ///< 0: always `max`
};

struct check_spec {
  command run; ///< empty: no check
  nanoseconds timeout = std::chrono::seconds(60);
};

struct run_spec {
  command run; ///< empty: a callable measures (task::objective)
  nanoseconds timeout = std::chrono::seconds(60);
  working_directory cwd = working_directory::specdir;
  std::vector<metric_spec> metrics{metric_spec{}};
  std::size_t objective = 0; ///< index into metrics
  std::uint32_t warmup = 0;
  repeat_spec repeats;
  check_spec check;
  /// What its commands read beside what is built, relative to the spec's folder: it is where they run, under the same
  /// names, and its contents are identity.
  std::vector<std::string> files;
  std::vector<limit_spec> limits; ///< of the cleaned values; a configuration that breaks one is an invalid_config
};

struct search_spec {
  std::string strategy = "auto";
  std::optional<std::uint64_t> trials; ///< none: until the space is exhausted or time is over
  std::optional<double> fraction;      ///< of the valid configurations, in (0, 1]; rounded up; excludes trials
  std::optional<nanoseconds> time;
  std::uint64_t seed = 1;
  /// What lies between two equal measurements is estimated, not measured (search/near_reuse.hpp), as far as that is
  /// within the noise that is accepted (measure_spec::accepted_noise).
  bool near = false;
};

/// How many trials a fraction of `count` configurations is: rounded up, at least one. A product that is a whole number
/// but for the rounding of binary fractions counts as that number (0.07 of 100 is 7).
std::uint64_t trials_of_fraction(double fraction, double count) noexcept;

/// How many at once: stated, left to the noise that is seen, or not said.
struct how_many {
  std::optional<std::uint32_t> count;
  bool automatic = false; ///< `auto` was written

  how_many() = default;
  how_many(std::uint32_t n) : count(n) {} // NOLINT(google-explicit-constructor): a number says how many
  static how_many by_noise() {
    how_many out;
    out.automatic = true;
    return out;
  }
  bool said() const noexcept { return count || automatic; }
  friend bool operator==(const how_many&, const how_many&) = default;
};
std::string to_string(const how_many& h); ///< "3", "auto"; empty where it is not said

struct measure_spec {
  how_many slots;                      ///< timed runs; not said: one
  how_many builders;                   ///< not said: one for each core, and none beside a timed run
  std::optional<double> tolerance;     ///< the noise that the user accepts, a fraction
  std::optional<std::uint32_t> finals; ///< so many of the best are measured again before a winner is named; 0: none
  std::uint32_t cores = 1;             ///< for each slot, where slots are kept apart

  double accepted_noise() const noexcept { return tolerance.value_or(0.02); }
};

/// One task as it was written.
struct task_spec {
  std::string name;
  arguments workload;
  arguments target; ///< `device` and the extra entries, as written
  std::vector<parameter> parameters;
  std::vector<constraint> constraints;
  std::optional<build_spec> build;
  run_spec run;
  std::string callable; ///< where a C++ callable measures: its name and version, which are identity
  search_spec search;
  measure_spec measure;
  double weight = 1;
  std::string directory;             ///< absolute folder of the spec file: {specdir}
  std::string file;                  ///< the spec file as named by the user; empty: made by a program
  std::vector<std::string> warnings; ///< what was read leniently, one line each

  // Where an interval is asked for (run.repeats.until), measuring is Attune's to arrange. A stated number of repeats is
  // run exactly so often, unless `measure` says more.

  /// How many of the best are measured again, side by side, before a winner is named.
  std::uint32_t finals() const noexcept { return measure.finals.value_or(run.repeats.until > 0 ? 8 : 0); }
  /// Whether a reference configuration is run now and then, to see the machine.
  bool wants_reference() const noexcept {
    return run.repeats.until > 0 || measure.slots.automatic || measure.builders.automatic || measure.tolerance;
  }
};

} // namespace attune
