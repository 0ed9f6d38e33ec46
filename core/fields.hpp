// Named, length-prefixed fields one behind the other, `name=5:text;`: what keys are hashed from. No contents can be
// taken for another field.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attune {

void append_field(std::string& out, std::string_view name, std::string_view text);
/// The text of the field that begins `from`, which is taken off it; none, and nothing is taken, where it is not
/// `name`'s.
std::optional<std::string> take_field(std::string_view& from, std::string_view name);

} // namespace attune
