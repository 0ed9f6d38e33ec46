#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <string>

namespace attune {

/// The first `most` bytes of what can be read at `path`: of a file, a pipe, the kernel's tables. Blocks. Errors: io,
/// with the reason alone as its message and the path as its place; also where reading fails in the middle, as the
/// kernel's tables do of a process that has ended.
result<std::string> file_contents(const std::string& path, std::uint64_t most);

} // namespace attune
