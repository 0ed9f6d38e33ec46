#pragma once

#include <exception>
#include <string>

namespace attune::cli {

/// Prepares the process for a system that has no more of something. To be called first in main, once:
/// - where memory is out, the program ends at once with one line and exit_code::partial. What was told is on the disk,
/// and
///   the guardian of its processes ends those and removes its files, as it does after SIGKILL;
/// - the same where a thread cannot be started by anybody who could say so;
/// - a limit of the size of files is an error of the write, not a signal;
/// - a standard descriptor that is closed is held by one that can be neither read nor written, so that no file of the
///   store's takes its place and gets what is printed.
void be_ready_for_want();

/// What a person reads of an exception that nobody took: what is out and what helps, or that it is a defect.
std::string told_of(const std::exception& e);

} // namespace attune::cli
