#include "core/configuration.hpp"

#include <algorithm>
#include <numeric>

namespace attune {

const value* find(const arguments& args, std::string_view name) noexcept {
  for (const auto& [key, v] : args)
    if (key == name) return &v;
  return nullptr;
}

configuration::configuration(const arguments& values) {
  auto names = std::make_shared<std::vector<std::string>>();
  names->reserve(values.size());
  values_.reserve(values.size());
  for (const auto& [name, v] : values) {
    names->push_back(name);
    values_.push_back(v);
  }
  names_ = std::move(names);
}

const value* configuration::find(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < values_.size(); ++i)
    if ((*names_)[i] == name) return &values_[i];
  return nullptr;
}

namespace {

/// The one place that decides what a set of named values looks like: `count{` then name and value sorted by name.
template <class Name, class Value>
void encode_sorted(std::size_t size, Name name, Value val, std::string& out) {
  // Small spaces are the rule: an insertion-sorted index on the stack beats a heap allocation for each trial.
  constexpr std::size_t small = 64;
  std::uint32_t stack[small] = {};
  std::vector<std::uint32_t> heap;
  std::uint32_t* order = stack;
  if (size > small) {
    heap.resize(size);
    order = heap.data();
  }
  std::size_t used = 0;
  for (std::size_t i = 0; i < size; ++i)
    if (!val(i).is_absent()) order[used++] = static_cast<std::uint32_t>(i);
  std::sort(order, order + used, [&](std::uint32_t a, std::uint32_t b) { return name(a) < name(b); });
  out += std::to_string(used);
  out += '{';
  for (std::size_t k = 0; k < used; ++k) {
    const std::string& n = name(order[k]);
    out += std::to_string(n.size());
    out += ':';
    out += n;
    encode(val(order[k]), out);
  }
  out += '}';
}

} // namespace

std::string configuration::canonical() const {
  std::string out;
  out.reserve(24 * values_.size() + 8);
  encode_sorted(
      values_.size(), [this](std::size_t i) -> const std::string& { return (*names_)[i]; },
      [this](std::size_t i) -> const value& { return values_[i]; }, out);
  return out;
}

void encode(const arguments& args, std::string& out) {
  encode_sorted(
      args.size(), [&](std::size_t i) -> const std::string& { return args[i].first; },
      [&](std::size_t i) -> const value& { return args[i].second; }, out);
}

std::string configuration::text() const {
  std::string out;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].is_absent()) continue;
    if (!out.empty()) out += ' ';
    out += (*names_)[i];
    out += '=';
    const auto v = values_[i].text();
    const bool quote = v.empty() || v.find_first_of(" \t\n'\"\\$") != std::string::npos;
    if (!quote) {
      out += v;
      continue;
    }
    out += '"';
    for (const char c : v) {
      // One line stays one line; the backslash is escaped, so nothing reads two ways.
      if (c == '\n') {
        out += "\\n";
        continue;
      }
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out;
}

bool operator==(const configuration& a, const configuration& b) {
  if (a.names_ == b.names_) return a.values_ == b.values_;
  return a.canonical() == b.canonical();
}

} // namespace attune
