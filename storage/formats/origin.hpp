#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attune::storage::formats {

/// How an imported record was measured, as far as its file tells: the method's part of its identity.
struct origin {
  std::string format; ///< "autotvm", "kernel-tuner", …
  std::string tool;   ///< the tool's version, where the file states it
  /// "median" (cleaned, of the file's samples) or "stated" (the file's own number): they are not mixed.
  std::string statistic;
};

/// `import/1:` and the three as named, length-prefixed fields; and back, none for a method of another kind.
std::string method_form(const origin& from);
std::optional<origin> origin_of(std::string_view method_form);

} // namespace attune::storage::formats
