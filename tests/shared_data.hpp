// Where tests find other people's data, which is not in the tree: ../shared/data beside it, or $ATTUNE_SHARED/data.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace attune::testing {

/// The path of a shared file or folder (`spaces/pnpoly.json`), or none, with a message that the test skips it.
inline std::optional<std::string> shared_data(const std::string& name) {
  const char* root = std::getenv("ATTUNE_SHARED");
  const std::string path =
      (root != nullptr ? std::string(root) : std::string(ATTUNE_SOURCE_DIR) + "/../shared") + "/data/" + name;
  if (std::filesystem::exists(path)) return path;
  BOOST_TEST_MESSAGE("skipped: " << path << " is not there");
  return std::nullopt;
}

} // namespace attune::testing
