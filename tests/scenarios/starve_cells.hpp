// The cells of the starvation matrix: each takes something away from a process of Attune, looks at what the user sees,
// and holds what is left against the outside ledger. See starve.cpp.
#pragma once

#include "tests/scenarios/outside_ledger.hpp"

#include <sys/resource.h>

#include <functional>
#include <string>
#include <vector>

namespace attune::testing {

/// One row of the table.
struct starved_row {
  std::string subject; ///< tune, hub, agent
  std::string what;    ///< is taken away, how much, and when
  std::string ended;   ///< "exit 0"
  std::string message; ///< what the user reads of it; "" where there is nothing to say
  std::string wrong;   ///< empty: as it must be
};

struct starved_cell {
  std::string name; ///< SUBJECT/WHAT
  bool quick;       ///< part of the bounded run
  std::function<std::vector<starved_row>()> play;
};

std::vector<starved_cell> tune_cells();
std::vector<starved_cell> stream_cells();
std::vector<starved_cell> fleet_cells();

/// A cell that cannot be played here (not root, no tmpfs), and why.
struct not_here {
  std::string why;
};

using starved_words = std::vector<std::string>;

/// A user that nothing else runs as, so that a limit of processes binds: the words that stand before a program.
starved_words as_lonely_user();
/// Gives the scenario's folder, with all in it, to that user. Throws not_here where this is not root.
void give_to_lonely_user(const scenario& at);
/// `prlimit --WHAT=AMOUNT --`.
starved_words limited(const std::string& what, std::uint64_t amount);

/// Sets the soft limit of a running process; throws not_here where that is not allowed.
void squeeze(const process& of, __rlimit_resource what, rlim_t amount);
rlim_t open_files(const process& of);     ///< the number of its descriptors
rlim_t address_space(const process& of);  ///< in bytes
double processor_time(const process& of); ///< in seconds, its own threads'

/// Deletes a folder in which others make and delete files meanwhile.
void delete_in_use(const std::string& folder);

/// A small file system in the place of a folder, gone with this. Throws not_here where that is not allowed.
class small_disk {
public:
  /// `options` as mount takes them: "size=8m".
  small_disk(std::string path, const std::string& options);
  ~small_disk();
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;
  void fill() const;
  void free() const;
  void make_read_only(bool on) const;

private:
  std::string path_, options_;
};

/// What the program said last on standard error by its own name; of one that ended well, what it said first.
std::string said(const ended& e);
/// "exit 3", "SIGABRT".
std::string ending(const ended& e);
/// Throws broken where it did not end, was ended by a signal, failed without a word, or said what is no message for a
/// user (an exception's text).
void must_end_in_order(const ended& e);

/// What the outside ledger knows of the scenario's task: each x with its conclusive records.
class starved_ledger {
public:
  explicit starved_ledger(const scenario& at) : at_(at) {}
  /// Takes down what is recorded and run now. Throws broken where a value is recorded twice, is not its x, or has no
  /// run.
  void note();
  std::size_t values() const noexcept { return values_.size(); }
  /// Notes anew; throws broken where what was recorded is gone, changed or was run again.
  void must_have_kept();

private:
  const scenario& at_;
  std::map<int, std::string> values_;
  std::map<int, int> runs_;
};

/// Throws broken where a process or a file is left.
void must_leave_nothing(const scenario& at);

} // namespace attune::testing
