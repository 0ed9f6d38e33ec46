// What the formats have in common: how a foreign workload becomes a task, units, failures, what may be lost.
// Internal to storage/formats.
#pragma once

#include "storage/formats/format.hpp"
#include "storage/formats/json.hpp"
#include "storage/formats/origin.hpp"

#include <array>
#include <list>
#include <unordered_map>

namespace attune::storage::formats {

/// The task of a foreign workload: its digests are those that a task of our own with the same name, arguments and facts
/// would have, but for the method.
task_entry_ptr imported_task(workload what, target where, const origin& from, std::string metric, std::string unit,
                             goal direction);

/// A foreign task in its two statistics.
struct foreign_task {
  task_entry_ptr stated, sampled;
};
foreign_task foreign(const workload& what, const target& where, origin from, const std::string& metric,
                     const std::string& unit, goal direction);

/// The tasks of a file by what stands there of them; bounded, so that a file of a million tasks is read too.
class task_pool {
public:
  /// The task under `key`; `make` gives one that is not known (or no longer).
  template <class Make>
  const foreign_task& of(std::string_view key, Make make) {
    if (last_ != nullptr && key == last_key_) return *last_;
    auto at = known_.find(std::string(key));
    if (at == known_.end()) {
      if (known_.size() >= bound) known_.clear();
      at = known_.emplace(std::string(key), make()).first;
    }
    last_key_ = at->first;
    return *(last_ = &at->second);
  }

private:
  static constexpr std::size_t bound = 8192;
  std::unordered_map<std::string, foreign_task> known_;
  std::string last_key_;
  const foreign_task* last_ = nullptr;
};

/// Lists of parameter names, so that records of one space share theirs.
class names_pool {
public:
  /// Null where a name stands there twice.
  parameter_names of(const std::vector<std::string>& names);

private:
  static constexpr std::size_t bound = 256;
  std::vector<parameter_names> known_;
  std::size_t next_ = 0;
};

/// The power of ten of a unit of time in seconds; 0 for any other word.
int unit_exponent(std::string_view unit) noexcept;
/// "s", "ms", "us" or "ns" for the spellings that tools use, in any case; the text itself for anything else.
std::string canonical_unit(std::string_view unit);
inline bool is_time_unit(std::string_view unit) noexcept {
  return unit == "s" || unit == "ms" || unit == "us" || unit == "ns";
}
/// Rates are better when they are higher.
bool is_rate(std::string_view metric);

void fail(outcome& o, failure_kind kind, std::string message);
/// The value as the file states it, with its samples; bad_metric where it is not finite or negative (rates as well:
/// none of these formats has one that may be). `text` is the number as written, in a unit that is ten to the `exponent`
/// of the stored one.
void measure(entry& out, std::string_view text, int exponent);
/// Samples, likewise; what is no finite number is left out.
void take_samples(entry& out, const json_ref& list, int exponent);
/// A note of the form `name=text`, which keeps what a format needs to write the record again; none: not there.
std::optional<std::string_view> noted(const outcome& o, std::string_view name);
void note(outcome& o, std::string_view name, std::string_view text);
/// The value as the record's file stated it, where it was restated; else the value.
double stated_value(const measurement& m);
inline constexpr const char* stated_metric = "stated";

/// What a format can say of a record; the rest is counted as lost where a record has it.
struct capability {
  bool samples = false, message = false, exit = false, build = false, run = false, queue = false, search = false,
       resources = false, notes = false, session = false, runner = false, at = false, metrics = false, spread = false;
};
/// Counts what of the record is lost. `runner` is the one that the reader gives by itself, which is not.
void count_losses(const entry& e, const capability& can, std::string_view own_runner, losses& lost);

/// The one task of a selection, for formats that hold one in a file. Errors: invalid_spec, naming how many there are;
/// not_found where there is no record.
result<task_entry_ptr> only_task(const selection& from, const char* format);

/// The readers' common part for one record a line.
class line_format : public reader {
public:
  explicit line_format(source& from) : lines_(from) {}
  step next(entry& out, damage& what) final;
  std::uint64_t comments() const override { return comments_; }
  std::uint64_t others() const override { return others_; }
  status error() const override { return lines_.error(); }

protected:
  enum class taken : std::uint8_t { record, nothing, damaged };
  /// One line that is neither empty nor a comment, parsed. `nothing`: it is understood and holds no record.
  virtual taken line(const json_ref& root, entry& out, std::string& why) = 0;
  virtual bool has_comments() const { return true; }

private:
  line_reader lines_;
  json_document parsed_;
  std::uint64_t comments_ = 0, others_ = 0;
};

// The formats, one file each.
std::unique_ptr<reader> read_attune(source& from, const read_options& options);
status write_attune(const selection& from, sink& to, losses& lost);
std::unique_ptr<reader> read_history(source& from, const read_options& options);
std::unique_ptr<reader> read_autotvm(source& from, const read_options& options);
status write_autotvm_0_1(const selection& from, sink& to, losses& lost);
status write_autotvm_0_2(const selection& from, sink& to, losses& lost);
std::unique_ptr<reader> read_ansor(source& from, const read_options& options);
status write_ansor(const selection& from, sink& to, losses& lost);
std::unique_ptr<reader> read_metaschedule(source& from, const read_options& options);
status write_metaschedule(const selection& from, sink& to, losses& lost);
std::unique_ptr<reader> read_kernel_tuner(source& from, const read_options& options);
status write_kernel_tuner(const selection& from, sink& to, losses& lost);
std::unique_ptr<reader> read_t4(source& from, const read_options& options);
status write_t4(const selection& from, sink& to, losses& lost);
std::unique_ptr<reader> read_ktt(source& from, const read_options& options);
status write_ktt(const selection& from, sink& to, losses& lost);
std::unique_ptr<reader> read_csv(source& from, const read_options& options);
status write_csv(const selection& from, sink& to, losses& lost);

// What a line or a document is, for recognise().
bool is_attune(const json_ref& line);
bool is_history(const json_ref& line);
bool is_autotvm(const json_ref& line);
bool is_ansor(const json_ref& line);
bool is_metaschedule(const json_ref& line);
bool is_csv_header(std::string_view line);

/// The name for a workload whose file has none.
std::string name_of_file(const source& from, const read_options& options);

/// [runs beside, builds beside, drift or null, correction, disturbed]: core/measurement.hpp's conditions.
void put_conditions(const conditions& from, std::string& out);
/// None where it is no such list.
std::optional<conditions> take_conditions(const json_ref& from);

/// Their sum; what passes 64 bits is the longest or the least time that there is.
inline nanoseconds added(nanoseconds a, nanoseconds b) noexcept {
  nanoseconds::rep out = 0;
  if (!__builtin_add_overflow(a.count(), b.count(), &out)) return nanoseconds(out);
  return b.count() > 0 ? nanoseconds::max() : nanoseconds::min();
}

} // namespace attune::storage::formats
