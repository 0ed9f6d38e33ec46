#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/render.hpp"

#include <cstdlib>
#include <ostream>

namespace attune::cli {

namespace {

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

} // namespace

int run_program(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  const auto parsed = parse_command_line(arguments, [](const char* name) { return std::getenv(name); });
  if (const auto* end = std::get_if<early_end>(&parsed)) {
    out << end->out;
    err << end->err;
    if (!end->err.empty() && end->err.back() != '\n') err << '\n';
    if (end->code != 0 && end->json) output(out, err, true).document(error_json({errc::invalid_spec, end->err, {}}));
    out.flush();
    return end->code;
  }
  const auto& line = std::get<command_line>(parsed);
  output io(out, err, line.json);
  std::string typed = "attune";
  for (const auto& a : arguments) typed += " " + shell_word(a);
  const int code = std::visit(overloaded{
                                  [&](const tune_options& o) { return run_tune(o, line.store, typed, io); },
                                  [&](const space_options& o) { return run_space(o, io); },
                                  [&](const token_options& o) { return run_token(o, line.store, io); },
                                  [&](const best_options& o) { return run_best(o, line.store, io); },
                                  [&](const history_options& o) { return run_history(o, line.store, io); },
                                  [&](const replay_command_options& o) { return run_replay(o, io); },
                                  [&](const db_options& o) { return run_db(o, line.store, io); },
                                  [&](const import_command_options& o) { return run_import(o, line.store, io); },
                                  [&](const export_command_options& o) { return run_export(o, line.store, io); },
                                  [&](const bundle_options& o) { return run_bundle(o, line.store, io); },
                                  [&](const doctor_options& o) { return run_doctor(o, io); },
                                  [&](const hub_options& o) { return run_hub(o, line.store, io); },
                                  [&](const agent_options& o) { return run_agent(o, typed, io); },
                                  [&](const agents_options& o) { return run_agents(o, io); },
                                  [&](const devices_options& o) { return run_devices(o, io); },
                                  [&](const compare_options& o) { return run_compare(o, line.store, typed, io); },
                                  [&](const dashboard_options& o) { return run_dashboard(o, line.store, io); },
                                  [&](const report_options& o) { return run_report(o, line.store, io); },
                                  [&](const trace_options& o) { return run_trace(o, line.store, io); },
                                  [&](const init_options& o) { return run_init(o, io); },
                              },
                              line.command);
  out.flush();
  if (!out) {
    io.message("standard output cannot be written");
    return code == exit_code::done ? exit_code::partial : code;
  }
  return code;
}

} // namespace attune::cli
