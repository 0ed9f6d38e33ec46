// Cells of the three standard descriptors: closed, full, nobody at the other end.
#include "tests/scenarios/starve_cells.hpp"

#include <optional>
#include <utility>

namespace attune::testing {

namespace {

constexpr int stream_trials = 20;

/// `attune tune` behind a shell that has done `redirection`.
starved_row stream_row(const std::string& what, const std::string& redirection, int wanted) {
  starved_row row{"tune", what, "", "", ""};
  try {
    const scenario at;
    at.write("s.yaml", "task: t\nparameters: {x: {range: [1, " + std::to_string(stream_trials) +
                           "]}}\nrun: {command: \"echo {x} >>runs.log; echo {x}\"}\nsearch: {strategy: grid, trials: " +
                           std::to_string(stream_trials) + "}\n");
    auto running =
        at.start_behind({"/bin/bash", "-c", redirection + "; exec \"$0\" \"$@\""}, {"tune", "s.yaml", "--json"});
    const auto e = running->wait();
    row.ended = ending(e);
    row.message = said(e);
    must(!e.timed_out && e.signal == 0, e.told());
    must(e.exit == wanted, "not exit " + std::to_string(wanted) + ": " + e.told());
    must(e.out.empty() || e.document().is_object(),
         "something else than a document is on standard output: " + e.told());
    starved_ledger ledger(at);
    ledger.note();
    must(ledger.values() == stream_trials, "not all is recorded: " + std::to_string(ledger.values()));
    must_verify(at);
    must_leave_nothing(at);
  } catch (const broken& b) {
    row.wrong = b.what;
  }
  return row;
}

} // namespace

std::vector<starved_cell> stream_cells() {
  return {{"tune/streams", true, [] {
             return std::vector{
                 stream_row("standard input closed", "exec 0<&-", 0),
                 stream_row("standard output closed", "exec 1>&-", 4),
                 stream_row("standard error closed", "exec 2>&-", 0),
                 stream_row("all three closed", "exec 0<&- 1>&- 2>&-", 4),
                 stream_row("standard output full", "exec 1>/dev/full", 4),
                 stream_row("standard error full", "exec 2>/dev/full", 0),
                 stream_row("nobody reads standard output", "exec 1> >(:); wait $!", 4),
                 stream_row("nobody reads standard error", "exec 2> >(:); wait $!", 0),
             };
           }}};
}

} // namespace attune::testing
