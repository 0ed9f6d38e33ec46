#pragma once

#include <string>
#include <string_view>

namespace attune::web {

/// A file of web/app/ as it is inside the binary; empty where there is none of that name.
std::string_view asset(std::string_view name);

/// The page's modules as one: in the order in which they need each other, their `import` lines and `export` words left
/// out, so that a browser takes it from one URL, or from inside a report. Their top-level names differ.
const std::string& app_script();

} // namespace attune::web
