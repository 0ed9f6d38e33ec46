#include "cli/secret.hpp"

#include <cstdlib>

namespace attune::cli {

std::optional<std::string> take_secret(const char* name) {
  char* there = std::getenv(name);
  if (there == nullptr) return std::nullopt;
  std::string out = there;
  // Also where the kernel shows it to this user's other processes.
  for (char* at = there; *at != '\0'; ++at) *at = '\0';
  ::unsetenv(name);
  return out;
}

} // namespace attune::cli
