#include "storage/json_value.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace attune::storage {

nlohmann::ordered_json number_json(double d) {
  return std::isfinite(d) ? nlohmann::ordered_json(d) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json value_json(const value& v, std::size_t most) {
  switch (v.type()) {
  case value::kind::absent:
    return nullptr;
  case value::kind::boolean:
    return v.as_bool();
  case value::kind::integer:
    return v.as_integer();
  case value::kind::real:
    return number_json(v.as_real());
  case value::kind::text:
    return shortened(v.as_text(), most);
  case value::kind::order:
    break;
  }
  return v.as_order().order;
}

nlohmann::ordered_json arguments_json(const arguments& args, std::size_t most) {
  auto out = nlohmann::ordered_json::object();
  for (const auto& [name, v] : args) out[name] = value_json(v, most);
  return out;
}

nlohmann::ordered_json config_json(const configuration& c, std::size_t most) {
  auto out = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < c.size(); ++i)
    if (!c[i].is_absent()) out[c.name(i)] = value_json(c[i], most);
  return out;
}

nlohmann::ordered_json metrics_json(const measurement& m) {
  auto out = nlohmann::ordered_json::object();
  for (const auto& [name, v] : m.metrics) out[name] = number_json(v);
  return out;
}

nlohmann::ordered_json conditions_json(const conditions& c) {
  return {{"runs_beside", c.runs_beside},
          {"builds_beside", c.builds_beside},
          {"drift", c.drift ? number_json(*c.drift) : nlohmann::ordered_json(nullptr)},
          {"correction", number_json(c.correction)},
          {"disturbed", c.disturbed}};
}

std::string dump(const nlohmann::ordered_json& what) {
  return what.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most; // not inside a character
  return std::string(text.substr(0, most)) + "…";
}

} // namespace attune::storage
