#pragma once

#include "cli/command_line.hpp"
#include "cli/output.hpp"
#include "core/error.hpp"

#include <cstddef>
#include <memory>

namespace attune::actors {
class engine;
struct tuner_status;
} // namespace attune::actors

namespace attune::cli {

/// What looks on while `attune tune` tunes, beside its progress display: the dashboard and the log of events. Made
/// before the engine, whose events reach it until its end. One owner, the main thread.
class tune_watch {
public:
  tune_watch(const tune_options& options, output& io);
  ~tune_watch();
  tune_watch(const tune_watch&) = delete;
  tune_watch& operator=(const tune_watch&) = delete;

  /// Serves the dashboard, where it is asked for, and says where. Errors: as web::dashboard::start.
  status start();
  /// Follows the engine. The store is the dashboard's to read until what this returns ends; that must be before the
  /// engine does.
  std::shared_ptr<void> attach(actors::engine& to);
  /// Where the `index`-th session that the engine was given stands.
  void note_window(std::size_t index, const actors::tuner_status& now);
  /// Writes the events that have come down as JSON lines; false where nobody asked for that.
  bool write_log();

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace attune::cli
