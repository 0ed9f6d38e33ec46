#pragma once

#include "cli/command_line.hpp"
#include "cli/output.hpp"

namespace attune::cli {

// One function a command, one file each. They return the program's exit code; errors have been shown.
/// `typed` is the command line as it can be typed again.
int run_tune(const tune_options& options, const std::string& store, const std::string& typed, output& io);
int run_space(const space_options& options, output& io);
int run_token(const token_options& options, const std::string& store, output& io);
int run_best(const best_options& options, const std::string& store, output& io);
int run_history(const history_options& options, const std::string& store, output& io);
int run_replay(const replay_command_options& options, output& io);
int run_db(const db_options& options, const std::string& store, output& io);
/// `db forget`.
int run_forget(const db_options& options, const std::string& store, output& io);
int run_import(const import_command_options& options, const std::string& store, output& io);
int run_export(const export_command_options& options, const std::string& store, output& io);
int run_bundle(const bundle_options& options, const std::string& store, output& io);
/// `tune --hub` and `tune --attach`.
int run_remote_tune(const tune_options& options, output& io);
int run_hub(const hub_options& options, const std::string& store, output& io);
int run_agent(const agent_options& options, const std::string& typed, output& io);
int run_agents(const agents_options& options, output& io);
int run_devices(const devices_options& options, output& io);
int run_doctor(const doctor_options& options, output& io);
/// `typed` is the command line as it can be typed again.
int run_compare(const compare_options& options, const std::string& store, const std::string& typed, output& io);
int run_dashboard(const dashboard_options& options, const std::string& store, output& io);
int run_report(const report_options& options, const std::string& store, output& io);
int run_trace(const trace_options& options, const std::string& store, output& io);

/// The whole program but for the process around it: reads the arguments, runs the command.
int run_program(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

} // namespace attune::cli
