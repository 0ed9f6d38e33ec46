// T1: the auto-tuning community's JSON form of a search space (General, ConfigurationSpace with TuningParameters and
// Conditions, KernelSpecification, Budget). What is read here is the space, the name, the unit and the budget; how its
// kernels are compiled and launched is the business of the tools that own them.
#include "core/text.hpp"
#include "storage/spec_fields.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace attune::storage {

namespace {

struct t1_reader {
  const std::string& file;
  task_spec out;

  void warn(const spec_node& at, const std::string& text) {
    out.warnings.push_back(source_place{file, at.line, 0}.text() + ": " + text);
  }

  /// A JSON array as text, as `Values` mostly are, read without the expression language.
  std::optional<value_list> plain_list(const std::string& text) const {
    const auto tree = read_json_tree(text, file);
    if (!tree || (*tree)->what != spec_node::kind::sequence || (*tree)->items.empty()) return std::nullopt;
    value_list list;
    for (const auto& item : (*tree)->items) {
      if (item->what != spec_node::kind::scalar) return std::nullopt;
      list.values.push_back(read_value(*item, "Values"));
    }
    return list;
  }

  /// Drops what is there twice, and says so: the field's lists have it now and then.
  void distinct(value_list& list, const spec_node& at, const std::string& name) {
    std::set<std::string> seen;
    std::vector<value> kept;
    for (auto& v : list.values) {
      std::string form;
      encode(v, form);
      if (seen.insert(form).second)
        kept.push_back(std::move(v));
      else
        warn(at, "parameter " + name + " lists " + v.text() + " twice; the second is left out");
    }
    list.values = std::move(kept);
  }

  parameter read_parameter(const spec_node& node) {
    if (node.what != spec_node::kind::mapping)
      refuse(node, "an entry of TuningParameters must be an object, not " + describe(node));
    const spec_section section(node, "TuningParameters", {"Name", "Type", "Values", "Default"});
    parameter p;
    p.name = read_string(section.need("Name"), "Name");
    if (!is_identifier(p.name))
      refuse(section.need("Name"),
             "Name '" + p.name.substr(0, 80) + "' is no name: letters, digits and _, no digit first");
    p.place = {file, node.line, 0};
    const auto& values = section.need("Values");
    if (values.what == spec_node::kind::sequence) {
      if (values.items.empty()) refuse(values, "Values of " + p.name + " is empty");
      value_list list;
      for (const auto& item : values.items) list.values.push_back(read_value(*item, "Values of " + p.name));
      warn(values, "Values of " + p.name + " is a JSON array where T1 wants a string; taken as it is");
      distinct(list, values, p.name);
      p.domain = std::move(list);
    } else {
      auto text = read_text(values, "Values of " + p.name);
      if (auto list = plain_list(text)) {
        distinct(*list, values, p.name);
        p.domain = std::move(*list);
      } else {
        p.domain = value_expression{std::move(text)};
      }
    }
    if (const auto* type = section.find("Type")) check_type(*type, p);
    if (const auto* standard = section.find("Default"); standard != nullptr) read_default(*standard, p);
    return p;
  }

  void check_type(const spec_node& type, const parameter& p) {
    const auto text = read_text(type, "Type of " + p.name);
    const auto* list = std::get_if<value_list>(&p.domain);
    const bool whole = text.find("int") != std::string::npos;
    if (list == nullptr || !whole) return;
    for (const auto& v : list->values)
      if (v.type() == value::kind::real) {
        warn(type, "Type of " + p.name + " is " + text + ", but " + shortest(v.as_real()) +
                       " is no integer; the values are taken as they are");
        return;
      }
  }

  void read_default(const spec_node& node, parameter& p) {
    if (node.what == spec_node::kind::null) return;
    if (node.what != spec_node::kind::scalar) {
      warn(node, "Default of " + p.name + " is " + describe(node) + "; it is left out");
      return;
    }
    auto v = read_value(node, "Default of " + p.name);
    if (in_domain(v, p.domain)) {
      p.standard = std::move(v);
    } else {
      warn(node, "Default " + v.text() + " of " + p.name + " is not among its values; it is left out");
    }
  }

  void read_conditions(const spec_node& node) {
    if (node.what == spec_node::kind::null) return;
    if (node.what != spec_node::kind::sequence) refuse(node, "Conditions must be an array, not " + describe(node));
    for (const auto& item : node.items) {
      constraint c;
      c.place = {file, item->line, 0};
      if (item->what == spec_node::kind::scalar) {
        warn(*item, "a condition is a plain string where T1 wants an object with Expression; taken as it is");
        c.expression = read_text(*item, "a condition");
      } else {
        const spec_section section(*item, "Conditions", {"Expression", "Parameters", "Name", "Comment"});
        const auto& expression = section.need("Expression");
        c.expression = read_text(expression, "Expression");
        c.place.line = expression.line;
      }
      if (trim(c.expression).empty()) refuse(*item, "a condition is empty");
      out.constraints.push_back(std::move(c));
    }
  }

  void read_budget(const spec_node& node) {
    if (node.what == spec_node::kind::null) return;
    if (node.what == spec_node::kind::mapping) {
      warn(node, "Budget is an object where T1 wants an array; taken as its only entry");
      read_one_budget(node);
      return;
    }
    if (node.what != spec_node::kind::sequence) refuse(node, "Budget must be an array, not " + describe(node));
    for (const auto& item : node.items) read_one_budget(*item);
  }

  void read_one_budget(const spec_node& node) {
    const spec_section section(node, "Budget", {"Type", "BudgetValue"});
    const auto type = read_string(section.need("Type"), "Budget.Type");
    const auto& amount = section.need("BudgetValue");
    if (type == "TuningDuration") {
      const double d = read_number(amount, "BudgetValue");
      if (!(d > 0) || d > 864e6) refuse(amount, "BudgetValue must be a number of seconds above 0, not " + amount.text);
      out.search.time = from_seconds(d);
    } else if (type == "ConfigurationCount") {
      const double d = read_number(amount, "BudgetValue");
      if (!(d >= 1) || d > 1e12 || d != std::floor(d))
        refuse(amount, "BudgetValue must be a whole number from 1 on, not " + amount.text);
      out.search.trials = static_cast<std::uint64_t>(d);
    } else if (type == "ConfigurationFraction") {
      out.search.fraction = read_fraction(amount, "BudgetValue");
    } else {
      warn(section.need("Type"), "Budget of the type '" + type.substr(0, 60) + "' is not known; it is left out");
    }
    if (out.search.trials && out.search.fraction) {
      warn(node, "a budget by count and one by fraction exclude each other; the count holds");
      out.search.fraction.reset();
    }
  }

  void read_general(const spec_node& node) {
    if (node.what != spec_node::kind::mapping) refuse(node, "General must be an object, not " + describe(node));
    if (const auto* name = node.find("BenchmarkName")) out.name = read_text(*name, "BenchmarkName");
    const auto* unit = node.find("TimeUnit");
    if (unit == nullptr) return;
    const auto text = read_text(*unit, "TimeUnit");
    for (const auto& [written, meant] : {std::pair<std::string_view, const char*>{"Nanoseconds", "ns"},
                                         {"Microseconds", "us"},
                                         {"Milliseconds", "ms"},
                                         {"Seconds", "s"}})
      if (std::equal(text.begin(), text.end(), written.begin(), written.end(),
                     [](char a, char b) { return (a | 0x20) == (b | 0x20); })) {
        out.run.metrics[0].unit = meant;
        return;
      }
    warn(*unit, "TimeUnit '" + text.substr(0, 60) + "' is not known; seconds are taken");
  }

  void read(const spec_node& root) {
    if (const auto* general = root.find("General")) read_general(*general);
    if (const auto* kernel = root.find("KernelSpecification");
        out.name.empty() && kernel != nullptr && kernel->what == spec_node::kind::mapping)
      if (const auto* name = kernel->find("KernelName")) out.name = read_text(*name, "KernelName");
    if (trim(out.name).empty()) {
      const auto slash = file.find_last_of('/');
      const auto stem = file.substr(slash == std::string::npos ? 0 : slash + 1);
      out.name = stem.substr(0, stem.find('.'));
      warn(root, "no BenchmarkName; the task is called '" + out.name + "' after the file");
    }
    const auto& space = *root.find("ConfigurationSpace");
    const spec_section section(space, "ConfigurationSpace", {"TuningParameters", "Conditions"});
    const auto& parameters = section.need("TuningParameters");
    if (parameters.what != spec_node::kind::sequence || parameters.items.empty())
      refuse(parameters, "TuningParameters must be an array with at least one parameter");
    for (const auto& item : parameters.items) out.parameters.push_back(read_parameter(*item));
    if (const auto* conditions = section.find("Conditions")) read_conditions(*conditions);
    const auto* budget = root.find("Budget");
    if (budget == nullptr) {
      if (const auto* general = root.find("General"); general != nullptr) budget = general->find("Budget");
      if (budget != nullptr) warn(*budget, "Budget stands under General; taken from there");
    }
    if (budget != nullptr) read_budget(*budget);
  }
};

} // namespace

task_spec read_t1(const spec_node& root, const std::string& file) {
  t1_reader reader{file, {}};
  reader.read(root);
  return std::move(reader.out);
}

} // namespace attune::storage
