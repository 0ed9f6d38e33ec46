#include "cli/tune_end.hpp"

#include "actors/messages.hpp"
#include "cli/output.hpp"

#include <csignal>

namespace attune::cli {

int code_of(const std::vector<actors::report_ptr>& reports, int signal) {
  if (signal == SIGINT) return exit_code::interrupted;
  if (signal == SIGTERM) return exit_code::terminated;
  std::size_t with_best = 0;
  for (const auto& r : reports) {
    if (r->trouble && exit_code_of(r->trouble->code) == exit_code::store) return exit_code::store;
    if (r->best) ++with_best;
  }
  for (const auto& r : reports)
    if (r->reason == search::stop_reason::error && with_best > 0) return exit_code::partial;
  return with_best == reports.size() ? exit_code::done : with_best == 0 ? exit_code::no_result : exit_code::partial;
}

} // namespace attune::cli
