#pragma once

#include <iosfwd>
#include <string_view>

namespace attune::web {

class model;

/// Writes the page as one file that needs no server and asks for nothing: what `shown` has (the trials as the columns
/// that the page gets from a server too, compressed), and `extra`, a JSON object: `store` (figures of the store, or
/// null) and `lives` (by "session/trial", the lives that a click shows).
void write_report(std::ostream& to, std::string_view title, const model& shown, std::string_view extra);

} // namespace attune::web
