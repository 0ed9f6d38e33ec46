#include "core/text.hpp"
#include "storage/spec_fields.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace attune::storage {

namespace {

/// Names that mean something else where parameters are read: words of the constraint language and of substitution.
constexpr std::string_view reserved[] = {"and",      "or",      "not",     "in",       "is",    "if",
                                         "else",     "True",    "False",   "None",     "true",  "false",
                                         "artifact", "workdir", "specdir", "workload", "target"};

value_list read_list(const spec_node& node, const std::string& name) {
  if (node.what != spec_node::kind::sequence) refuse(node, name + " must be a list of values, not " + describe(node));
  if (node.items.empty()) refuse(node, name + " has no values");
  value_list list;
  std::unordered_set<std::string> seen;
  for (const auto& item : node.items) {
    auto v = read_value(*item, "a value of " + name);
    std::string form;
    encode(v, form);
    if (!seen.insert(std::move(form)).second) refuse(*item, name + " lists " + describe(*item) + " twice");
    list.values.push_back(std::move(v));
  }
  return list;
}

/// The two ends of a range.
std::pair<value, value> read_ends(const spec_node& node, const std::string& name) {
  if (node.what != spec_node::kind::sequence || node.items.size() != 2)
    refuse(node, name + " must be a list of two numbers, the first and the last value");
  auto first = read_value(*node.items[0], name), last = read_value(*node.items[1], name);
  for (std::size_t i = 0; i < 2; ++i)
    if (!(i == 0 ? first : last).is_number())
      refuse(*node.items[i], name + " must be a list of two numbers, not " + describe(*node.items[i]));
  if (first.to_double() > last.to_double())
    refuse(node, name + " is empty: its first value " + first.text() + " is larger than its last, " + last.text());
  return {std::move(first), std::move(last)};
}

parameter_domain read_range(const spec_section& section) {
  const auto& node = section.need("range");
  const auto [first, last] = read_ends(node, section.name("range"));
  const auto* step_node = section.find("step");
  const auto* count_node = section.find("count");
  const bool log = section.find("log") != nullptr && read_boolean(*section.find("log"), section.name("log"));
  std::optional<value> step;
  if (step_node != nullptr) {
    step = read_value(*step_node, section.name("step"));
    if (!step->is_number() || !(step->to_double() > 0))
      refuse(*step_node, section.name("step") + " must be a number above 0, not " + describe(*step_node));
  }
  if (log && !(first.to_double() > 0)) refuse(node, section.name("range") + " must begin above 0 for a log scale");
  const bool whole = first.type() == value::kind::integer && last.type() == value::kind::integer &&
                     (!step || step->type() == value::kind::integer);
  if (whole && count_node == nullptr)
    return integer_range{first.as_integer(), last.as_integer(), step ? step->as_integer() : 1, log};
  if (count_node != nullptr) {
    if (step) refuse(*count_node, section.name("count") + " and step exclude each other");
    const auto count = read_integer(*count_node, section.name("count"), 2, 1'000'000);
    if (first.to_double() == last.to_double())
      refuse(node, section.name("range") + " has one value only, and count asks for " + std::to_string(count));
    return real_grid{first.to_double(), last.to_double(), static_cast<std::uint32_t>(count), log};
  }
  if (!step)
    refuse(node, section.name("range") + " of real numbers needs 'step: S' (the distance) or 'count: N' (how many)");
  if (log) refuse(*section.find("log"), section.name("log") + " needs 'count: N' in place of step for real numbers");
  return real_range{first.to_double(), last.to_double(), step->to_double()};
}

parameter_domain read_powers(const spec_section& section) {
  const auto& node = section.need("pow2");
  const auto name = section.name("pow2");
  const auto [first, last] = read_ends(node, name);
  for (const auto* end : {&first, &last})
    if (end->type() != value::kind::integer || end->as_integer() < 1)
      refuse(node, name + " must be a list of two whole numbers from 1 on");
  std::int64_t power = 1;
  while (power < first.as_integer() && power <= (std::int64_t{1} << 61)) power *= 2;
  if (power < first.as_integer() || power > last.as_integer())
    refuse(node, name + " holds no power of two between " + first.text() + " and " + last.text());
  return power_range{first.as_integer(), last.as_integer()};
}

parameter_domain read_permutation(const spec_section& section) {
  const auto& node = section.need("permutation");
  const auto name = section.name("permutation");
  if (node.what != spec_node::kind::sequence || node.items.empty())
    refuse(node, name + " must be a list of the items to be ordered");
  permutation_of out;
  const std::string an_item = "an item of " + name;
  for (const auto& item : node.items) {
    auto text = read_text(*item, an_item);
    if (text.empty() || text.find(',') != std::string::npos) refuse(*item, an_item + " must be a text without commas");
    if (std::find(out.items.begin(), out.items.end(), text) != out.items.end())
      refuse(*item, name + " has the item '" + text + "' twice");
    out.items.push_back(std::move(text));
  }
  if (out.items.size() > 12) refuse(node, name + " has more than 12 items: that is more orders than can be numbered");
  return out;
}

parameter read_parameter(const spec_node::entry& entry, const std::string& file) {
  parameter p;
  p.name = entry.key;
  p.place = {file, entry.line, entry.column};
  const auto& node = *entry.value;
  const auto path = "parameters." + p.name;
  if (node.what == spec_node::kind::sequence) {
    p.domain = read_list(node, path);
    return p;
  }
  if (node.what != spec_node::kind::mapping)
    refuse(node,
           path + " must be a list of values or a map such as {range: [1, 8]}, not " + describe(node) +
               (node.what == spec_node::kind::scalar ? ": write [" + node.text.substr(0, 40) + "] for a single value"
                                                     : ""));
  const spec_section section(
      node, path, {"values", "range", "step", "log", "count", "pow2", "bool", "permutation", "when", "default"});
  const spec_node::entry* form = nullptr;
  for (const auto& e : node.entries) {
    if (e.key != "values" && e.key != "range" && e.key != "pow2" && e.key != "bool" && e.key != "permutation") continue;
    if (form != nullptr)
      throw spec_fault{path + " has both '" + form->key + "' and '" + e.key + "'; give one of them", e.line, e.column};
    form = &e;
  }
  if (form == nullptr) refuse(node, path + " needs one of values, range, pow2, bool, permutation");
  if (form->key != "range")
    for (const auto* only : {"step", "log", "count"})
      if (const auto* given = section.find(only))
        refuse(*given, section.name(only) + " goes with 'range', not with '" + form->key + "'");
  if (form->key == "values") {
    p.domain = read_list(*form->value, section.name("values"));
  } else if (form->key == "range") {
    p.domain = read_range(section);
  } else if (form->key == "pow2") {
    p.domain = read_powers(section);
  } else if (form->key == "permutation") {
    p.domain = read_permutation(section);
  } else {
    if (!read_boolean(*form->value, section.name("bool")))
      refuse(*form->value, section.name("bool") + " must be true (a single value is written as a list: [false])");
    p.domain = value_list{{value(true), value(false)}};
  }
  if (const auto* when = section.find("when")) {
    p.when = read_text(*when, section.name("when"));
    if (trim(p.when).empty()) refuse(*when, section.name("when") + " is empty");
  }
  if (const auto* standard = section.find("default")) {
    const auto name = section.name("default");
    if (std::holds_alternative<permutation_of>(p.domain) && standard->what == spec_node::kind::sequence) {
      permutation order;
      for (const auto& item : standard->items) order.order.push_back(read_text(*item, "an item of " + name));
      p.standard = value(std::move(order));
    } else {
      p.standard = read_value(*standard, name);
    }
    if (!in_domain(*p.standard, p.domain))
      refuse(*standard, name + ": " + p.standard->text() + " is not among the values of " + p.name);
  }
  return p;
}

} // namespace

bool in_domain(const value& v, const parameter_domain& domain) {
  if (const auto* list = std::get_if<value_list>(&domain))
    return std::any_of(list->values.begin(), list->values.end(), [&](const value& x) { return same_value(x, v); });
  if (std::holds_alternative<value_expression>(domain)) return true;
  if (const auto* orders = std::get_if<permutation_of>(&domain)) {
    if (v.type() != value::kind::order) return false;
    auto a = v.as_order().order, b = orders->items;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return a == b;
  }
  if (!v.is_number()) return false;
  const double d = v.to_double();
  const auto near_step = [&](double first, double last, double step) {
    const double steps = (d - first) / step;
    return d >= first - step * 1e-9 && d <= last + step * 1e-9 && std::fabs(steps - std::round(steps)) < 1e-6;
  };
  if (const auto* r = std::get_if<integer_range>(&domain))
    return near_step(static_cast<double>(r->first), static_cast<double>(r->last), static_cast<double>(r->step));
  if (const auto* r = std::get_if<real_range>(&domain)) return near_step(r->first, r->last, r->step);
  if (const auto* r = std::get_if<real_grid>(&domain)) {
    if (r->log) {
      const double steps = std::log(d / r->first) / std::log(r->last / r->first) * (r->count - 1);
      return d >= r->first && d <= r->last && std::fabs(steps - std::round(steps)) < 1e-6;
    }
    return near_step(r->first, r->last, (r->last - r->first) / (r->count - 1));
  }
  const auto& r = std::get<power_range>(domain);
  if (d < static_cast<double>(r.first) || d > static_cast<double>(r.last) || std::floor(d) != d) return false;
  const auto n = static_cast<std::uint64_t>(d);
  return (n & (n - 1)) == 0;
}

std::vector<parameter> read_parameters(const spec_node& node, const std::string& file) {
  if (node.what != spec_node::kind::mapping)
    refuse(node, "parameters must be a map of names and their values, not " + describe(node));
  if (node.entries.empty()) refuse(node, "parameters is empty; there is nothing to tune");
  std::vector<parameter> out;
  for (const auto& entry : node.entries) {
    if (!is_identifier(entry.key))
      throw spec_fault{"'" + entry.key.substr(0, 80) +
                           "' in parameters is no name: letters, digits and _, no digit first",
                       entry.line, entry.column};
    if (std::find(std::begin(reserved), std::end(reserved), entry.key) != std::end(reserved))
      throw spec_fault{"'" + entry.key + "' cannot name a parameter: it is a word of constraints or of substitution",
                       entry.line, entry.column};
    out.push_back(read_parameter(entry, file));
  }
  return out;
}

} // namespace attune::storage
