#include "cli/bundle_text.hpp"

#include "cli/render.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

namespace attune::cli {

namespace {

std::string as_identifier(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    // Neither two in a row nor one at an end: such names are the compiler's.
    if (plain)
      out += c;
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (out.empty() || (out[0] >= '0' && out[0] <= '9')) out.insert(0, "t");
  return out;
}

/// A parameter's name where a word of the language would not do.
std::string member_name(const std::string& name) {
  static constexpr std::array words{
      "alignas",     "alignof",  "and",        "and_eq",    "asm",       "auto",         "bitand",
      "bitor",       "bool",     "break",      "case",      "catch",     "char",         "char16_t",
      "char32_t",    "char8_t",  "class",      "co_await",  "co_return", "co_yield",     "compl",
      "concept",     "const",    "const_cast", "consteval", "constexpr", "constinit",    "continue",
      "decltype",    "default",  "delete",     "do",        "double",    "dynamic_cast", "else",
      "enum",        "explicit", "export",     "extern",    "false",     "float",        "for",
      "friend",      "goto",     "if",         "inline",    "int",       "long",         "mutable",
      "namespace",   "new",      "noexcept",   "not",       "not_eq",    "nullptr",      "operator",
      "or",          "or_eq",    "private",    "protected", "public",    "register",     "reinterpret_cast",
      "requires",    "return",   "short",      "signed",    "sizeof",    "static",       "static_assert",
      "static_cast", "struct",   "switch",     "template",  "this",      "thread_local", "throw",
      "true",        "try",      "typedef",    "typeid",    "typename",  "union",        "unsigned",
      "using",       "virtual",  "void",       "volatile",  "wchar_t",   "while",        "xor",
      "xor_eq"};
  const auto plain = as_identifier(name);
  return std::find(words.begin(), words.end(), plain) != words.end() ? plain + "_" : plain;
}

std::string described(const storage::bundle_item& item) {
  std::string out = item.workload;
  for (const auto& [name, v] : item.args) out += " " + name + "=" + v.text();
  out += " on " + item.target + ": " + shortest(item.measured) + " " + item.unit;
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\\'; }, ' ');
  return out;
}

std::string number_text(const value& v) {
  if (v.type() == value::kind::real) {
    auto text = v.text();
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  // The least one is no literal: its minus is an operator.
  if (v.as_integer() == std::numeric_limits<std::int64_t>::min()) return "-9223372036854775807 - 1";
  return v.text();
}

} // namespace

std::vector<std::string> identifiers_of(const std::vector<storage::bundle_item>& items) {
  std::vector<std::string> out;
  std::set<std::string> taken;
  for (const auto& item : items) {
    std::string text = item.workload;
    for (const auto& [name, v] : item.args) text += "_" + name + "_" + v.text();
    const auto base = as_identifier(text + "_" + item.target);
    auto name = base;
    for (int n = 2; !taken.insert(name).second; ++n) name = base + "_" + std::to_string(n);
    out.push_back(std::move(name));
  }
  return out;
}

std::string bundle_header(const std::vector<storage::bundle_item>& items, std::string_view bytes) {
  const auto names = identifiers_of(items);
  std::string out = "// The best known configurations of " + std::to_string(items.size()) +
                    (items.size() == 1 ? " task" : " tasks") +
                    ". Written by attune bundle.\n#pragma once\n\n"
                    "namespace attune_tuned {\n";
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& c = items[i].config;
    out += "\n// " + described(items[i]) + "\nnamespace " + names[i] + " {\n";
    for (std::size_t k = 0; k < c.size(); ++k) {
      const auto& v = c[k];
      const auto name = member_name(c.name(k));
      switch (v.type()) {
      case value::kind::absent:
        break;
      case value::kind::boolean:
        out += "inline constexpr bool " + name + " = " + (v.as_bool() ? "true" : "false") + ";\n";
        break;
      case value::kind::integer:
        out += "inline constexpr long long " + name + " = " + number_text(v) + ";\n";
        break;
      case value::kind::real:
        out += "inline constexpr double " + name + " = " + number_text(v) + ";\n";
        break;
      case value::kind::text:
      case value::kind::order:
        out += "inline constexpr const char* " + name + " = " + c_string(v.text()) + ";\n";
        break;
      }
    }
    out += "} // namespace " + names[i] + "\n";
  }
  out += "\n} // namespace attune_tuned\n\n"
         "// All of it once more, to be looked up by workload and target while the program runs.\n"
         "#if defined(__has_include)\n#if __has_include(<attune/bundle.hpp>)\n#include <attune/bundle.hpp>\n"
         "namespace attune_tuned {\n\nalignas(8) inline constexpr unsigned char bytes[] = {";
  for (std::size_t i = 0; i < bytes.size(); ++i)
    out += (i % 24 == 0 ? "\n" : "") + std::to_string(static_cast<unsigned char>(bytes[i])) + ",";
  out +=
      "};\n\ninline const attune::bundle& bundle() {\n  static const attune::bundle all = [] {\n"
      "    std::string why;\n    return attune::bundle::view(bytes, sizeof bytes, why);\n  }();\n  return all;\n}\n\n"
      "} // namespace attune_tuned\n#endif\n#endif\n";
  return out;
}

std::string bundle_cmake(const std::vector<storage::bundle_item>& items) {
  const auto names = identifiers_of(items);
  std::string out = "# The best known configurations. Written by attune bundle.\nset(ATTUNE_TASKS";
  for (const auto& n : names) out += " " + n;
  out += ")\n";
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& c = items[i].config;
    out += "\n# " + described(items[i]) + "\n";
    for (std::size_t k = 0; k < c.size(); ++k) {
      if (c[k].is_absent()) continue;
      out += "set(ATTUNE_" + names[i] + "_" + c.name(k) + " ";
      if (c[k].type() == value::kind::boolean)
        out += c[k].as_bool() ? "ON" : "OFF";
      else
        out += c[k].is_number() ? c[k].text() : cmake_string(c[k].text());
      out += ")\n";
    }
  }
  return out;
}

} // namespace attune::cli
