#pragma once

#include "core/error.hpp"
#include "proto/wire.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attune::net {

/// What one side of a connection can do.
struct abilities {
  std::string magic; ///< what it speaks about
  std::uint32_t oldest = 1, newest = 1;
  std::vector<std::string> features;
  std::string program;
};

/// What both sides can do.
struct agreement {
  std::uint32_t version = 0;
  std::vector<std::string> features;
  bool has(std::string_view feature) const noexcept;
};

/// The greeting of who connects, as `peer` (16 bytes).
wire::v1::Hello hello_of(const abilities& mine, std::string_view peer);

/// What the greeted side makes of it: the newest version that both know, the features that both have. Errors: network,
/// with a message for the other side: another subject, no version in common (naming both), a greeting without an id.
result<agreement> agree(const abilities& mine, const wire::v1::Hello& theirs);
wire::v1::Welcome welcome_of(const abilities& mine, const agreement& agreed);

/// What the greeting side makes of the answer. Errors: network, where it names a version that was not offered.
result<agreement> agree(const abilities& mine, const wire::v1::Welcome& theirs);

} // namespace attune::net
