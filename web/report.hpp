#pragma once

#include <iosfwd>
#include <string_view>

namespace attune::web {

/// Writes the page as one file that needs no server and asks for nothing: `view` is model::json() of a fresh cursor,
/// `extra` a JSON object: `store` (figures of the store, or null) and `lives` (by "session/trial", the lives that a
/// click shows).
void write_report(std::ostream& to, std::string_view title, std::string_view view, std::string_view extra);

} // namespace attune::web
