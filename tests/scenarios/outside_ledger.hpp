// What was run and what is recorded, as seen from outside: for programs that kill and starve Attune. The task has one
// parameter x, and each run of it appends its x as a line to the scenario's runs.log.
#pragma once

#include "tests/scenarios/attune_process.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace attune::testing {

/// A rule that was broken.
struct broken {
  std::string what;
};

/// Throws broken{what} where it does not hold.
void must(bool holds, const std::string& what);

/// Each configuration's record as text, by its x; empty before there is a store. Throws broken where the history cannot
/// be read or has two records of one configuration.
std::map<int, std::string> records_of(const scenario& s, const std::string& spec = "s.yaml");

/// How often each x was run.
std::map<int, int> runs_of(const scenario& s);

/// The largest number of trials that the progress on standard error has told as done.
std::size_t told_done(const std::string& progress);

/// Throws broken where there is a store and `attune db verify` finds fault with it.
void must_verify(const scenario& s);

/// Calls `play`: 0; 1, and the rule that was broken is printed, where it throws.
int ending_of(const std::function<void()>& play);

/// The main function of a program `NAME [ROUNDS [SEED]]`: prints the seed (by the clock where none is given) and plays
/// so many rounds, `usual` where it is not said how many: ending_of() them; 2 where it is called wrongly.
int play_rounds(int argc, char** argv, int usual, const std::function<void(int rounds, std::uint64_t seed)>& play);

} // namespace attune::testing
