#pragma once

#include "core/configuration.hpp"
#include "core/error.hpp"
#include "core/spec.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune::measure {

/// The names that a text of the spec may hold and the texts that take their place.
///
/// `{name}` is replaced once; what was put in is never looked at again. `{{` is a brace. `{name*}` as a whole element
/// of a list command becomes the words of the value (split as a POSIX shell splits, quotes honoured; none if empty); in
/// a string command it is `{name}`, since the shell splits. A brace that begins nothing like a name (`{ `, `{}`, `{"a":
/// 1}`,
/// `{1..3}`, `{a,b}`) stands for itself; one that holds an unknown name is an error.
class substitution {
public:
  substitution() = default;
  /// The names of a trial: parameters, `workload.x`, `target.x`, `artifact`, `workdir`, `specdir`.
  substitution(const task_spec& spec, const configuration& config, std::string artifact, std::string workdir);

  void set(std::string name, std::string text);
  const std::string* find(std::string_view name) const noexcept;

  /// `text` with all names replaced. Errors: invalid_spec, naming the unknown name and what there is.
  result<std::string> expand(std::string_view text) const;

  /// The argv of a command: `/bin/sh -c TEXT` for a string, the elements for a list. Errors: as expand(); a value whose
  /// quotes do not close where it is split into words; a program name that becomes empty.
  result<std::vector<std::string>> command_line(const command& what) const;

  /// One `NAME=value` for each name: `ATTUNE_` and the name as it is written, every character that a shell does not
  /// take in a name turned into `_` (`workload.m` is ATTUNE_workload_m), and the same in upper case where that is
  /// another name that is not taken (`tile_m`: ATTUNE_tile_m and ATTUNE_TILE_M). Absent values are empty texts.
  /// ATTUNE_TRIAL is never among them: it marks the processes of a trial.
  std::vector<std::string> environment() const;

private:
  std::vector<std::pair<std::string, std::string>> names_;
};

/// The names that `text` holds, in order; `{name*}` as `name`. Errors: invalid_spec for a brace that is not closed
/// after a name, or a name with spaces around it.
result<std::vector<std::string>> placeholders(std::string_view text);

/// Splits as a POSIX shell does, without any expansion: blanks separate, '…' and "…" and \ quote. Errors: invalid_spec
/// for a quote that is not closed.
result<std::vector<std::string>> split_words(std::string_view text);

/// True where a part of `what` holds `{name}`.
bool names_placeholder(const command& what, std::string_view name);

/// True where the build of `spec` writes in place, so that the build and the run of one trial must be one section that
/// no other trial enters: it has a build, which neither names `{artifact}` or `{workdir}` nor runs in the private
/// folder.
bool builds_in_place(const task_spec& spec);

} // namespace attune::measure
