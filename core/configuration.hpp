#pragma once

#include "core/value.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune {

/// Names with values, kept in the order in which they were given: the arguments of a workload, the extras of a target.
using arguments = std::vector<std::pair<std::string, value>>;

/// The value under `name`, or null.
const value* find(const arguments& args, std::string_view name) noexcept;

/// The parameter names of a space, shared by all its configurations.
using parameter_names = std::shared_ptr<const std::vector<std::string>>;

/// One point of a search space: a value for each parameter, in the order of declaration.
/// Two configurations are equal when they give the same names the same typed values, in whatever order.
/// Thread-safety: a value; the shared names are immutable.
class configuration {
public:
  configuration() = default;
  /// @pre names->size() == values.size()
  configuration(parameter_names names, std::vector<value> values)
      : names_(std::move(names)), values_(std::move(values)) {}
  /// From names and values; makes its own list of names.
  explicit configuration(const arguments& values);

  std::size_t size() const noexcept { return values_.size(); }
  bool empty() const noexcept { return values_.empty(); }
  const std::string& name(std::size_t i) const { return (*names_)[i]; }
  const value& operator[](std::size_t i) const { return values_[i]; }
  /// The value of the parameter `name`, or null.
  const value* find(std::string_view name) const noexcept;
  const parameter_names& names() const noexcept { return names_; }
  std::span<const value> values() const noexcept { return values_; }

  /// The canonical encoding of its names and values, absent ones left out (encode, below). Equal configurations, and
  /// only these, encode equally.
  std::string canonical() const;

  /// `tile_m=32 unroll=4` for a person, on one line: values that are empty or hold white space, quotes, `\` or `$`
  /// stand in double quotes, with `"`, `\` and line ends written `\"`, `\\` and `\n`; absent ones are left out.
  std::string text() const;

  friend bool operator==(const configuration& a, const configuration& b);

private:
  parameter_names names_;
  std::vector<value> values_;
};

/// Appends the canonical encoding of named values: `count{`, then for each, sorted by the bytes of its name, the name
/// as `length:bytes` and the value as attune::encode has it, then `}`. Absent values are left out.
void encode(const arguments& args, std::string& out);

} // namespace attune
