#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/store_access.hpp"
#include "web/stored.hpp"
#include "web/trace.hpp"

#include <fstream>
#include <ostream>

namespace attune::cli {

int run_trace(const trace_options& options, const std::string& folder, output& io) {
  const auto store = open_to_read(folder);
  if (!store) return io.fail(store.err());
  if (!*store) return io.fail({errc::store_unusable, "there is no store yet; attune tune makes one", folder});
  const auto found = web::find_sessions(**store, options.session);
  if (!found) return io.fail(found.err());
  std::ofstream file;
  if (options.output != "-") {
    file.open(options.output, std::ios::binary);
    if (!file) return io.fail({errc::io, "cannot be written", options.output});
  }
  std::ostream& to = options.output == "-" ? io.out() : file;
  const auto& session = found->back();
  const auto trials = web::write_trace(to, **store, session);
  if (!trials) return io.fail(trials.err());
  to.flush();
  if (!to) return io.fail({errc::io, "cannot be written", options.output});
  if (io.json())
    io.document({{"file", options.output}, {"session", session.id}, {"trials", *trials}});
  else if (options.output != "-")
    io.message(options.output + ": " + std::to_string(*trials) + " trials of session " + session.id.substr(0, 12));
  if (*trials == 0) io.message("this session measured nothing itself");
  return *trials == 0 ? exit_code::no_result : exit_code::done;
}

command_spec trace_command() {
  struct words {
    std::string session, output;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"trace", "Write a session's builds and runs for Perfetto or Chrome's tracing"};
  c.place("SESSION", w->session, "The session, by the beginning of its id, or its task's name");
  c.value("-o,--output", "FILE", w->output, "The file to write (standard output)");
  c.more = R"(Of a task's sessions, the last. Open the file at ui.perfetto.dev or chrome://tracing.

  attune trace gemm -o gemm.trace.json)";
  c.read = [w](const typed_line& line) -> reading {
    if (line.json && (w->output.empty() || w->output == "-"))
      throw usage_fault{"--json wants standard output, and so does the trace: give --output FILE"};
    return trace_options{w->session, w->output.empty() ? "-" : w->output};
  };
  return c;
}

} // namespace attune::cli
