#include "core/fields.hpp"

#include "core/text.hpp"

namespace attune {

void append_field(std::string& out, std::string_view name, std::string_view text) {
  out += name;
  out += '=';
  out += std::to_string(text.size());
  out += ':';
  out += text;
  out += ';';
}

std::optional<std::string> take_field(std::string_view& from, std::string_view name) {
  if (!from.starts_with(name) || from.size() <= name.size() || from[name.size()] != '=') return std::nullopt;
  auto rest = from.substr(name.size() + 1);
  const auto colon = rest.find(':');
  const auto size = parse_integer(rest.substr(0, colon));
  if (colon == std::string_view::npos || !size || *size < 0) return std::nullopt;
  rest.remove_prefix(colon + 1);
  const auto n = static_cast<std::size_t>(*size);
  if (rest.size() <= n || rest[n] != ';') return std::nullopt;
  from = rest.substr(n + 1);
  return std::string(rest.substr(0, n));
}

} // namespace attune
