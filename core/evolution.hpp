#pragma once

#include "core/spec.hpp"

#include <span>
#include <string>

namespace attune {

/// The spec as it was before it had these parameters: without them, and its commands without the words that mention one
/// of them (`{name}`, `{name*}`, `ATTUNE_name`), nor an option `--option` that stands right before such a word. Quoted
/// words stay whole; of an argv whole elements go. So `run {a} --pad {b}` without `b` is `run {a}`, whose method_form()
/// (core/task.hpp) is that of the earlier spec. The constraints stay as they are.
task_spec without_parameters(const task_spec& spec, std::span<const std::string> names);

} // namespace attune
