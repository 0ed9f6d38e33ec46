// Errors of the wire, for the room's own sources.
#pragma once

#include "core/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace attune::net {

/// errc::network with these words, and no place.
inline error network_error(std::string what) { return error{errc::network, std::move(what), {}}; }

/// A text of the other side for messages: in quotes, at most `most` bytes of it, nothing that a terminal would obey.
inline std::string quoted(std::string_view text, std::size_t most) {
  std::string out = "'";
  for (const char c : text.substr(0, most)) out += c >= ' ' && c != 0x7f ? c : '?';
  return out + (text.size() > most ? "...'" : "'");
}

} // namespace attune::net
