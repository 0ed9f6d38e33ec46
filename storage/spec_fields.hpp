// What the spec readers read single fields with. Internal to storage: everything here throws spec_fault with the place.
#pragma once

#include "core/budget.hpp"
#include "core/spec.hpp"
#include "storage/spec_tree.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::storage {

/// Throws spec_fault at the node.
[[noreturn]] void refuse(const spec_node& at, std::string message);

/// "a list", "a map", "nothing", "the string 'abc'", "the number 5", … for messages.
std::string describe(const spec_node& node);

/// A mapping whose keys are all among the known ones; `path` is how messages call it ("run.metric"; empty: the file).
class spec_section {
public:
  /// Throws: not a mapping, an unknown key (naming the nearest known one).
  spec_section(const spec_node& node, std::string path, std::initializer_list<std::string_view> known);
  const spec_node& node() const noexcept { return *node_; }
  /// The value under `key`, or null.
  const spec_node* find(std::string_view key) const noexcept { return node_->find(key); }
  /// The same; throws where there is none.
  const spec_node& need(std::string_view key) const;
  /// `path.key`.
  std::string name(std::string_view key) const;

private:
  const spec_node* node_;
  std::string path_;
};

/// A scalar by the YAML 1.2 core schema: quoted is a string; null is refused, as are .nan, .inf and numbers past 64
/// bits or the range of double. `name` is how messages call it.
value read_value(const spec_node& node, const std::string& name);
/// A string: quoted or plain, but not what the core schema takes for a number, boolean or null.
std::string read_string(const spec_node& node, const std::string& name);
/// The text of any scalar as it is written; for expressions, where `true` and `1` are text too.
std::string read_text(const spec_node& node, const std::string& name);
std::int64_t read_integer(const spec_node& node, const std::string& name, std::int64_t least, std::int64_t most);
std::uint64_t read_unsigned(const spec_node& node, const std::string& name);
bool read_boolean(const spec_node& node, const std::string& name);
/// A finite number.
double read_number(const spec_node& node, const std::string& name);
/// Longer than nothing.
nanoseconds read_duration(const spec_node& node, const std::string& name);
/// `1%` as the fraction 0.01, in (0, 1].
double read_percentage(const spec_node& node, const std::string& name);
/// A fraction in (0, 1], as a number or a percentage.
double read_fraction(const spec_node& node, const std::string& name);
/// A string for the shell, or a list of words.
command read_command(const spec_node& node, const std::string& name);
std::vector<std::string> read_strings(const spec_node& node, const std::string& name);
/// Names with values; a list of scalars becomes an ordering of their texts, strings in it quoted where they could be
/// taken for something else.
arguments read_arguments(const spec_node& node, const std::string& name);

/// Whether `text` can name a parameter or an argument: [A-Za-z_][A-Za-z0-9_]*.
bool is_identifier(std::string_view text) noexcept;

/// The `parameters:` of a spec. `file` goes into their places.
std::vector<parameter> read_parameters(const spec_node& node, const std::string& file);
/// Whether a value is one of a declared domain's (numbers by their value); always true for expressions.
bool in_domain(const value& v, const parameter_domain& domain);

/// The sections of a task.
build_spec read_build(const spec_node& node);
run_spec read_run(const spec_node& node, const spec_node* objective);
search_spec read_search(const spec_node& node);
measure_spec read_measure(const spec_node& node);
/// What tasks share; stands beside `tasks:`, never in one.
budget_spec read_budget(const spec_node& node);

/// A T1 file (the auto-tuning community's JSON form of a space) as one task. Lenient where files in the field are, with
/// a warning for each.
task_spec read_t1(const spec_node& root, const std::string& file);

} // namespace attune::storage
