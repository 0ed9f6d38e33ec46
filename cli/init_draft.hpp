#pragma once

#include "core/error.hpp"
#include "core/spec.hpp"
#include "search/space.hpp"

#include <functional>
#include <string>
#include <vector>

namespace attune::cli {

/// A spec as text, for a person to go on from.
struct spec_draft {
  std::string text;
  std::vector<std::string> notes; ///< what is to be looked at, a line each
};

/// What the draft of a source may know of what lies around it.
struct source_file {
  std::string path; ///< as the spec is to name it
  std::string text;
  /// The contents of a file that it includes by a name in quotes, beside it; none where there is none.
  std::function<std::optional<std::string>(const std::string& name)> beside;
};

/// For a C, C++ or CUDA source whose choices are macros: those of `#ifndef NAME` / `#define NAME VALUE` (or `#if
/// !defined(NAME)`), with values around the one that stands there. How it is built follows from the file's ending and
/// what it includes, how it is timed from what it prints (a number behind a word for time or throughput), else it is
/// the whole run. Reads the text as lines: nothing is compiled.
spec_draft draft_of_source(const std::string& task, const source_file& source);

/// For a command: its `{name}`s are the parameters; without any, the numbers behind its options are (`--block 64`).
/// Errors: invalid_spec, where nothing in it can vary.
result<spec_draft> draft_of_command(const std::string& task, const std::string& command);

/// For a space that was read from a T1 file: parameters, constraints and budget as they are there. `over` is its space.
spec_draft draft_of_space(const task_spec& read, const search::space& over);

} // namespace attune::cli
