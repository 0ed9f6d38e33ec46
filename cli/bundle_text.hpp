#pragma once

#include "storage/bundle_writer.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace attune::cli {

/// A name for each item that is an identifier of C++ and CMake, and no other item's: workload, arguments and target,
/// what is no letter or digit as `_`.
std::vector<std::string> identifiers_of(const std::vector<storage::bundle_item>& items);

/// A header of C++17 that compiles alone: for each item a namespace with its configuration as constants; and, where
/// <attune/bundle.hpp> is found, the bundle itself (`bytes`), open without a file.
std::string bundle_header(const std::vector<storage::bundle_item>& items, std::string_view bytes);

/// A file for CMake's include(): ATTUNE_TASKS, and for each of these names N the variables ATTUNE_N_PARAMETER.
std::string bundle_cmake(const std::vector<storage::bundle_item>& items);

} // namespace attune::cli
