#include "core/value.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

namespace attune {

std::string shortest(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer{};
  const auto [end, ec] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), d);
  return std::string(buffer.data(), ec == std::errc{} ? end : buffer.data());
}

double value::to_double() const {
  switch (type()) {
  case kind::boolean:
    return as_bool() ? 1 : 0;
  case kind::integer:
    return static_cast<double>(as_integer());
  default:
    return as_real();
  }
}

std::string value::text() const {
  switch (type()) {
  case kind::absent:
    return {};
  case kind::boolean:
    return as_bool() ? "true" : "false";
  case kind::integer:
    return std::to_string(as_integer());
  case kind::real:
    return shortest(as_real());
  case kind::text:
    return as_text();
  case kind::order:
    break;
  }
  std::string out;
  const auto& items = as_order().order;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    out += items[i];
  }
  return out;
}

const char* to_string(value::kind k) noexcept {
  switch (k) {
  case value::kind::absent:
    return "absent";
  case value::kind::boolean:
    return "boolean";
  case value::kind::integer:
    return "integer";
  case value::kind::real:
    return "float";
  case value::kind::text:
    return "string";
  case value::kind::order:
    return "permutation";
  }
  return "value";
}

namespace {

void encode_decimal(std::int64_t n, std::string& out) {
  std::array<char, 24> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), n).ptr;
  out.append(buffer.data(), end);
}

void encode_text(std::string_view s, std::string& out) {
  out += 's';
  encode_decimal(static_cast<std::int64_t>(s.size()), out);
  out += ':';
  out += s;
}

} // namespace

void encode(const value& v, std::string& out) {
  switch (v.type()) {
  case value::kind::absent:
    out += 'a';
    return;
  case value::kind::boolean:
    out += v.as_bool() ? 't' : 'f';
    return;
  case value::kind::integer:
    out += 'i';
    encode_decimal(v.as_integer(), out);
    out += ';';
    return;
  case value::kind::real: {
    out += 'd';
    const auto bits = std::bit_cast<std::uint64_t>(v.as_real());
    for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[(bits >> shift) & 15];
    return;
  }
  case value::kind::text:
    encode_text(v.as_text(), out);
    return;
  case value::kind::order:
    out += 'p';
    encode_decimal(static_cast<std::int64_t>(v.as_order().order.size()), out);
    out += ':';
    for (const auto& item : v.as_order().order) encode_text(item, out);
    return;
  }
}

} // namespace attune
