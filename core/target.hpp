#pragma once

#include "core/configuration.hpp"

#include <string>

namespace attune {

/// What is tuned: a name and its arguments.
struct workload {
  std::string name;
  arguments args;
  std::string canonical() const;
};

/// Where it runs: named facts, those of the machine and those that the spec adds. All of them are identity.
struct target {
  arguments facts;
  /// The device's short name: the fact `device`, "local" where there is none.
  std::string device() const;
  std::string canonical() const;
  /// `device=local cpu="…" …` for a person.
  std::string text() const;
};

/// The fingerprint of this machine: `cpu` (model name), `isa` (architecture and the vector extensions that matter),
/// `cores` (that this process may use), `compiler` (what `c++ --version` prints first, empty where there is none),
/// `kernel` (release). Reads /proc and uname, and runs the compiler once; the answer is kept for the process's life.
const arguments& machine_fingerprint();

/// The spec's `target:` joined with the fingerprint of this machine: the spec's entries first, then the machine's facts
/// that the spec does not name.
target local_target(const arguments& written);

} // namespace attune
