// The formats in which records come and go: one file each in this folder, each with its source, its units and its
// failure codes in its first lines. A reader gives records one by one, in constant memory; a writer takes them.
#pragma once

#include "core/measurement.hpp"
#include "storage/formats/source.hpp"
#include "storage/store.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attune::storage::formats {

using task_entry_ptr = std::shared_ptr<const task_entry>;

/// One record as it is read, or is to be written.
struct entry {
  task_entry_ptr task;
  configuration config;
  /// A measured `value` is what the file states, in the stored unit (seconds for times).
  outcome result;
  std::string session;
  /// The file has samples of its own, and the task is one of those whose value is the cleaned median of the samples:
  /// whoever keeps the record computes it (restate()).
  bool by_samples = false;
  double written = 0; ///< the file's own number in the file's own unit, where measured
  void clear();
};

/// Something of a file that could not be taken.
struct damage {
  std::uint64_t line = 0; ///< from 1; 0: nowhere in particular
  std::string why;
};

struct read_options {
  /// Take the value that the file states even where it has samples.
  bool stated = false;
  /// The name of what was tuned, for formats that do not say; empty: the file's name up to its first dot.
  std::string task;
  /// What one file of a database says for the next one (MetaSchedule's workloads); null: each stands for itself.
  std::vector<std::string>* workloads = nullptr;
};

/// Reads one file. Threads: one owner.
class reader {
public:
  enum class step : std::uint8_t { record, damaged, end };
  virtual ~reader() = default;
  /// The next record into `out`, or what is damaged into `what`. After `end` error() says whether all was read.
  virtual step next(entry& out, damage& what) = 0;
  /// The format with its version, as far as it has been seen.
  virtual std::string format() const = 0;
  virtual std::uint64_t comments() const { return 0; }
  /// Lines that were understood and are no records.
  virtual std::uint64_t others() const { return 0; }
  /// What was read leniently, one line each; whole at the end.
  virtual std::vector<std::string> warnings() const { return {}; }
  /// Where reading ended early: the file cannot be read any further.
  virtual status error() const { return {}; }
  /// The parameters with all values that they may have, where the file declares them; valid after the first next().
  virtual const std::vector<std::pair<std::string, std::vector<value>>>* declared() const { return nullptr; }
  /// The unit of entry::written: a unit of time, or any other word.
  virtual std::string unit() const { return "s"; }
};

/// What a writer could not express, with how often.
class losses {
public:
  void add(const char* what, std::uint64_t n = 1) { counts_[what] += n; }
  /// A whole record that was left out.
  void leave_out(const char* why) {
    ++left_out_;
    add(why);
  }
  const std::map<std::string, std::uint64_t>& counts() const noexcept { return counts_; }
  std::uint64_t left_out() const noexcept { return left_out_; }

private:
  std::map<std::string, std::uint64_t> counts_;
  std::uint64_t left_out_ = 0;
};

/// What a writer needs beside the records. Each call of `records` visits the same records in the same order, until the
/// visitor answers false.
struct selection {
  std::function<status(const std::function<bool(const entry&)>&)> records;
};

/// Where a writer writes to: text in blocks. Once it has failed it takes no more.
class sink {
public:
  using function = std::function<bool(std::string_view)>;
  explicit sink(function to) : to_(std::move(to)) {}
  /// What is appended here goes out with the next flush.
  std::string& text() noexcept { return text_; }
  /// Writes the text out when a block is full; false when that failed.
  bool pass() { return text_.size() < block || flush(); }
  bool flush() {
    if (good_ && !text_.empty()) good_ = to_(text_);
    text_.clear();
    return good_;
  }
  bool good() const noexcept { return good_; }

private:
  static constexpr std::size_t block = std::size_t{1} << 16;
  function to_;
  std::string text_;
  bool good_ = true;
};

/// One format.
struct format {
  const char* name;  ///< as --format has it
  const char* about; ///< one line
  /// Null: the format is only written.
  std::unique_ptr<reader> (*read)(source& from, const read_options& options);
  /// Errors: invalid_spec where the selection is nothing that the format can hold (several tasks in a file for one).
  /// Null: the format is only read.
  status (*write)(const selection& from, sink& to, losses& lost);
  bool importable = true; ///< false: replays read it, but it does not say of which workload and target it is
};

/// Every format.
std::span<const format> all_formats();
/// Null for an unknown name.
const format* find_format(std::string_view name);
/// The format of a file by its content; rewinds the source. Errors: io; invalid_spec where it is none, saying what it
/// is instead.
result<const format*> recognise(source& from);

} // namespace attune::storage::formats
