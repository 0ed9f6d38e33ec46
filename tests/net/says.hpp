// What a message is looked through for.
#pragma once

#include <string>
#include <string_view>

namespace attune {

inline bool says(const std::string& message, std::string_view what) { return message.find(what) != std::string::npos; }

} // namespace attune
