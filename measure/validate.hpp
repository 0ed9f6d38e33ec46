#pragma once

#include "core/error.hpp"
#include "core/spec.hpp"

namespace attune::measure {

/// Holds what concerns building and running in a spec against the rules, before anything is started: the placeholders
/// of every command and metric name something, a pattern compiles, a pointer is one, `wall` is a time, a counter or
/// energy domain is one that this machine has and allows (it is opened once), the objective is there, repeats and
/// limits make sense, the sources can be read (and, where they are laid out, stay inside the private folder), the
/// spec's folder is there, and the shell is, where a command is for it. An empty run command means that a callable
/// measures. Errors: invalid_spec, with the spec's file and the key (`run.command`) in the message.
status validate(const task_spec& spec);

} // namespace attune::measure
