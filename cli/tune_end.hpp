#pragma once

#include <memory>
#include <vector>

namespace attune::actors {
struct tuning_report;
}

namespace attune::cli {

/// The exit code that the ends of these searches come to; `signal`: that which ended them, 0: none.
int code_of(const std::vector<std::shared_ptr<const actors::tuning_report>>& reports, int signal);

} // namespace attune::cli
