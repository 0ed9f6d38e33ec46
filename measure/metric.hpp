#pragma once

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/spec.hpp"
#include "measure/capture.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace attune::measure {

/// What one run left for the metric to be taken from.
struct run_output {
  const captured* out = nullptr; ///< standard output
  nanoseconds wall{0};           ///< Attune's own clock around the process
  std::string file;              ///< the content of the metric's file, where it has one
  /// Of a metric of the processes: CPU seconds, peak bytes, the counter (task-clock in seconds), joules.
  std::optional<double> amount{};
  std::string missing{}; ///< why there is no amount
};

/// The samples of one run in the stored unit, or why there are none (a bad_metric with that text).
struct extracted {
  std::variant<std::vector<double>, std::string> data;
  std::vector<std::string> notes;
  const std::vector<double>* samples() const noexcept { return std::get_if<std::vector<double>>(&data); }
};

/// Takes a metric from runs. Made once for each metric, since a pattern is compiled. Never looks at the locale.
///
/// `pattern`: an ECMAScript pattern, searched in every line of standard output (a line's first 8 KiB); every match is a
/// sample: its first group, or all of it where there is none. `json`: a pointer (RFC 6901) into the last line that is a
/// JSON object or array (any JSON for the empty pointer); a number, or an array of numbers. `file`: the last number in
/// the file. `wall`: the time between the start and the end of the process. `cpu`, `memory`, `counter` and `energy`:
/// the run's amount. Else the last number on standard output. A number is written in decimal, with a point; a unit may
/// follow it without a blank (`12.5ms`), which is not looked at; commas separate.
///
/// Not a number, infinite, negative (whatever the unit) or missing: no samples, and the reason. A zero is kept and
/// noted; no ratio is ever formed with it.
/// Thread-safety: extract() from any thread.
class metric_reader {
public:
  /// Errors: invalid_spec, for a pattern or pointer that is wrong, an unknown counter or energy domain, a unit that the
  /// source cannot have.
  static result<metric_reader> make(const metric_spec& spec);
  metric_reader(metric_reader&&) noexcept;
  metric_reader& operator=(metric_reader&&) noexcept;
  ~metric_reader();

  extracted extract(const run_output& run) const;

private:
  struct compiled;
  explicit metric_reader(std::unique_ptr<compiled> parts);
  std::unique_ptr<compiled> parts_;
};

/// Scales written samples to the stored unit and holds them to the rules above. `place` names them in messages.
extracted check_samples(std::vector<double> samples, const metric_spec& spec, double divisor);

/// The last number in `text`; none where there is none. `nan` and `inf` count, so that a program that prints them is
/// not taken by the number before.
std::optional<double> last_number(std::string_view text);

} // namespace attune::measure
