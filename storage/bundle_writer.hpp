#pragma once

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/spec.hpp"

#include <string>
#include <vector>

namespace attune::storage {

/// One task's best as it goes into a bundle.
struct bundle_item {
  std::string workload;
  arguments args;     ///< of the workload
  std::string target; ///< the device's name
  configuration config;
  double measured = 0, spread = 0;
  std::string unit;
  goal direction = goal::minimize;
  key128 record;
};

/// The bytes of a bundle (include/attune/bundle.hpp) with these, in this order. Errors: invalid_spec, where two are of
/// one workload and target, so that a lookup could not tell them apart (naming it), or it is too large.
result<std::string> bundle_bytes(const std::vector<bundle_item>& items);

/// Writes a whole file under a new name, and then over the old one, durably: a reader sees the old one or the new one.
/// A link stays and its file is replaced. Errors: io, also where `where` is something other than a file.
status replace_file(const std::string& where, std::string_view contents);

} // namespace attune::storage
