#pragma once

#include "core/budget.hpp"
#include "core/error.hpp"
#include "core/spec.hpp"

#include <optional>
#include <string>
#include <vector>

namespace attune::storage {

/// Reads a spec file: our own YAML (one task, or several under `tasks:` with the rest of the file as their defaults),
/// or a T1 file where the name ends in `.json` and it holds a `ConfigurationSpace`. The tasks come in the file's order,
/// never none; what was read leniently (T1 only) is in their `warnings`.
///
/// How `tasks:` takes defaults: `parameters`, `workload`, `target`, `build`, `run`, `search` and `measure` are joined
/// key by key, the task's own keys before the defaults'; every other key of the task replaces the default. `budget`
/// beside `tasks:` is no default: the tasks share it (read_shared_budget).
///
/// It reads and checks what can be seen in the file alone: form, keys, types, units, limits. Expressions are kept as
/// text (search::space::compile judges them), sources and commands are not looked for.
///
/// Errors: invalid_spec with `file:line:column` (JSON: `file:line`) in `where` and one line that says what to do: the
/// file cannot be read, is empty, binary, larger than 4 MB, no YAML or JSON, nested deeper than 100 levels, of several
/// documents or of more than 500,000 values; a key twice (both lines are named); an unknown key (with the nearest known
/// one); a wrong type; a duration without unit; a number that is not finite.
///
/// Touches only the file; safe from any thread.
result<std::vector<task_spec>> read_spec(const std::string& path);

/// The same for a text; `file` is how messages and source places name it, `directory` becomes {specdir}.
result<std::vector<task_spec>> read_spec_text(std::string_view text, const std::string& file,
                                              const std::string& directory);

/// The `budget:` that stands beside `tasks:`; none where there is none. Errors: as read_spec's.
result<std::optional<budget_spec>> read_shared_budget(const std::string& path);
result<std::optional<budget_spec>> read_shared_budget_text(std::string_view text, const std::string& file);

/// Reads one configuration as people and `--json` write it: a JSON object of names and values, an ordering as an array
/// of strings or as one text (`"i,j,k"`, which stays a text here: the space knows better). Errors: invalid_spec with
/// `name` in `where`.
result<arguments> read_configuration(std::string_view text, const std::string& name);

} // namespace attune::storage
