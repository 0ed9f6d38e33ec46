#pragma once

#include "core/configuration.hpp"
#include "core/measurement.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace attune::storage {

// Values in the documents that the program prints and serves (other tools' formats: formats/json.hpp). Never a NaN or
// an infinity (null stands there), and whatever the locale.

/// A finite number, else null.
nlohmann::ordered_json number_json(double d);
/// Typed; an ordering as an array of strings, absent as null, of a text at most `most` bytes (shortened()).
nlohmann::ordered_json value_json(const value& v, std::size_t most = std::string_view::npos);
nlohmann::ordered_json arguments_json(const arguments& args, std::size_t most = std::string_view::npos);
/// `{"tile_m": 32, …}` in the order of declaration; absent parameters are left out.
nlohmann::ordered_json config_json(const configuration& c, std::size_t most = std::string_view::npos);
/// The cleaned values of the further metrics, by name.
nlohmann::ordered_json metrics_json(const measurement& m);
nlohmann::ordered_json conditions_json(const conditions& c);

/// The text of a document: one line, bytes that are not UTF-8 replaced.
std::string dump(const nlohmann::ordered_json& what);
/// At most `most` bytes of it, whole characters, the cut marked.
std::string shortened(std::string_view text, std::size_t most);

} // namespace attune::storage
