#pragma once

#include "core/error.hpp"

#include <sys/types.h>

#include <string>

namespace attune::cli {

/// Makes a file that must not be there yet, with `text` in it, of which `mode` (less the umask) says who may read it.
/// Half a file is taken away again. Errors: invalid_spec (it is there: it is left as it is), io.
status make_new_file(const std::string& path, const std::string& text, mode_t mode = 0644);

} // namespace attune::cli
