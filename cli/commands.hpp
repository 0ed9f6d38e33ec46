#pragma once

#include "cli/command.hpp"
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

int run_init(const init_options& options, output& io);

// What they are called and take, beside each. Groups have theirs below them.
command_spec tune_command();
command_spec space_command();
command_spec best_command();
command_spec token_command();
command_spec history_command();
command_spec replay_command();
command_spec db_command();
command_spec forget_command();
command_spec import_command();
command_spec export_command();
command_spec bundle_command();
command_spec hub_command();
command_spec agent_command();
command_spec agents_command();
command_spec devices_command();
command_spec doctor_command();
command_spec compare_command();
command_spec dashboard_command();
command_spec report_command();
command_spec completion_command();
command_spec trace_command();
command_spec init_command();
command_spec man_command();

/// The whole program but for the process around it: reads the arguments, runs the command.
int run_program(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

} // namespace attune::cli
