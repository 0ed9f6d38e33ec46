#include "storage/spec_reader.hpp"

#include "core/text.hpp"
#include "storage/spec_fields.hpp"
#include "storage/spec_tree.hpp"

#include <algorithm>
#include <filesystem>

namespace attune::storage {

namespace {

constexpr std::string_view joined[] = {"parameters", "workload", "target", "build", "run", "search", "measure"};

/// A mapping with the task's entries and those of the defaults that it does not have; sections that both have as maps
/// are joined in the same way, one level down and no deeper (a parameter's or metric's definition is one thing).
spec_node_ptr with_defaults(const spec_node& own, const spec_node& defaults, bool sections) {
  auto out = std::make_shared<spec_node>();
  out->what = spec_node::kind::mapping;
  out->line = own.line;
  out->column = own.column;
  for (const auto& entry : defaults.entries) {
    if (sections && (entry.key == "tasks" || entry.key == "budget")) continue;
    const auto* mine = own.find(entry.key);
    if (mine == nullptr) {
      out->entries.push_back(entry);
    } else if (sections && mine->what == spec_node::kind::mapping && entry.value->what == spec_node::kind::mapping &&
               std::find(std::begin(joined), std::end(joined), entry.key) != std::end(joined)) {
      out->entries.push_back({entry.key, entry.line, entry.column, with_defaults(*mine, *entry.value, false)});
    }
  }
  for (const auto& entry : own.entries)
    if (out->find(entry.key) == nullptr) out->entries.push_back(entry);
  return out;
}

std::vector<constraint> read_constraints(const spec_node& node, const std::string& file) {
  if (node.what == spec_node::kind::null) return {};
  if (node.what != spec_node::kind::sequence)
    refuse(node, "constraints must be a list of expressions, not " + describe(node));
  std::vector<constraint> out;
  for (const auto& item : node.items) {
    constraint c;
    c.expression = read_text(*item, "a constraint");
    if (trim(c.expression).empty()) refuse(*item, "a constraint is empty");
    c.place = {file, item->line, item->column};
    out.push_back(std::move(c));
  }
  return out;
}

task_spec read_task(const spec_node& root, const std::string& file) {
  const spec_section section(root, "",
                             {"task", "workload", "target", "parameters", "constraints", "build", "run", "objective",
                              "search", "measure", "weight", "tasks", "budget"});
  if (const auto* inner = section.find("tasks")) refuse(*inner, "a task cannot hold tasks of its own");
  if (const auto* shared = section.find("budget"))
    refuse(*shared, "budget is what several tasks share and stands beside 'tasks:'; a task's own limits are "
                    "search.trials and search.time");
  task_spec t;
  t.name = read_string(section.need("task"), "task");
  if (trim(t.name).empty()) refuse(section.need("task"), "task is empty; it names the workload");
  if (std::any_of(t.name.begin(), t.name.end(), [](char c) { return c >= 0 && c < 0x20; }) || t.name.size() > 200)
    refuse(section.need("task"), "task must be one line of at most 200 bytes");
  if (const auto* node = section.find("workload")) t.workload = read_arguments(*node, "workload");
  if (const auto* node = section.find("target")) t.target = read_arguments(*node, "target");
  t.parameters = read_parameters(section.need("parameters"), file);
  if (const auto* node = section.find("constraints")) t.constraints = read_constraints(*node, file);
  if (const auto* node = section.find("build")) {
    if (section.find("run") == nullptr) refuse(*node, "build is given without a run that would time what it makes");
    t.build = read_build(*node);
  }
  if (const auto* node = section.find("run")) {
    t.run = read_run(*node, section.find("objective"));
    for (auto& limit : t.run.limits) limit.place.file = file;
  } else if (const auto* objective = section.find("objective")) {
    refuse(*objective, "objective is given without a run that would measure it");
  }
  if (const auto* node = section.find("search")) t.search = read_search(*node);
  if (const auto* node = section.find("measure")) t.measure = read_measure(*node);
  if (const auto* node = section.find("weight")) {
    t.weight = read_number(*node, "weight");
    if (!(t.weight > 0)) refuse(*node, "weight must be above 0, not " + node->text);
  }
  return t;
}

std::vector<task_spec> read_tasks(const spec_node& root, const std::string& file) {
  const auto* list = root.what == spec_node::kind::mapping ? root.find("tasks") : nullptr;
  if (list == nullptr) return {read_task(root, file)};
  if (list->what != spec_node::kind::sequence) refuse(*list, "tasks must be a list of tasks, not " + describe(*list));
  if (list->items.empty()) refuse(*list, "tasks is empty");
  if (list->items.size() > 10'000) refuse(*list, "tasks has more than 10000 entries");
  if (const auto* node = root.find("budget")) read_budget(*node);
  std::vector<task_spec> out;
  for (const auto& item : list->items) {
    if (item->what != spec_node::kind::mapping) refuse(*item, "a task must be a map of keys, not " + describe(*item));
    out.push_back(read_task(*with_defaults(*item, root, true), file));
  }
  return out;
}

bool is_json_name(std::string_view file) {
  std::string end(file.substr(file.size() - std::min<std::size_t>(file.size(), 5)));
  std::transform(end.begin(), end.end(), end.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return end == ".json";
}

} // namespace

result<std::vector<task_spec>> read_spec_text(std::string_view text, const std::string& file,
                                              const std::string& directory) {
  if (auto fit = check_text(text, file); !fit) return fit.err();
  const bool json = is_json_name(file);
  const auto tree = json ? read_json_tree(text, file) : read_yaml_tree(text, file);
  if (!tree) return tree.err();
  try {
    // JSON is YAML too, so our own form is welcome in a .json file.
    const auto& root = **tree;
    if (json && root.what != spec_node::kind::mapping)
      refuse(root, "is " + describe(root) + ", not a spec (a JSON object with ConfigurationSpace or parameters)");
    auto tasks =
        json && root.find("ConfigurationSpace") != nullptr ? std::vector{read_t1(root, file)} : read_tasks(root, file);
    for (auto& t : tasks) {
      t.file = file;
      t.directory = directory;
    }
    return tasks;
  } catch (const spec_fault& f) {
    std::string where = file;
    if (f.line > 0) where += ":" + std::to_string(f.line);
    if (f.line > 0 && f.column > 0) where += ":" + std::to_string(f.column);
    return error{errc::invalid_spec, f.message, std::move(where)};
  }
}

result<std::optional<budget_spec>> read_shared_budget_text(std::string_view text, const std::string& file) {
  if (auto fit = check_text(text, file); !fit) return fit.err();
  const auto tree = is_json_name(file) ? read_json_tree(text, file) : read_yaml_tree(text, file);
  if (!tree) return tree.err();
  const auto& root = **tree;
  const bool shares = root.what == spec_node::kind::mapping && root.find("tasks") != nullptr;
  const auto* node = shares ? root.find("budget") : nullptr;
  if (node == nullptr) return std::optional<budget_spec>();
  try {
    return std::optional(read_budget(*node));
  } catch (const spec_fault& f) {
    return error{errc::invalid_spec, f.message, file};
  }
}

result<std::optional<budget_spec>> read_shared_budget(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text) return text.err();
  return read_shared_budget_text(*text, path);
}

result<arguments> read_configuration(std::string_view text, const std::string& name) {
  const auto tree = read_json_tree(text, name);
  if (!tree) return tree.err();
  try {
    const auto& root = **tree;
    if (root.what != spec_node::kind::mapping)
      refuse(root, "a configuration is a JSON object of names and values, not " + describe(root));
    arguments out;
    for (const auto& entry : root.entries) {
      if (entry.value->what != spec_node::kind::sequence) {
        out.emplace_back(entry.key, read_value(*entry.value, entry.key));
        continue;
      }
      permutation order;
      for (const auto& item : entry.value->items) order.order.push_back(read_text(*item, "an item of " + entry.key));
      out.emplace_back(entry.key, value(std::move(order)));
    }
    return out;
  } catch (const spec_fault& f) {
    return error{errc::invalid_spec, f.message, name};
  }
}

result<std::vector<task_spec>> read_spec(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text) return text.err();
  std::error_code ec;
  const auto absolute = std::filesystem::weakly_canonical(path, ec);
  if (ec) return error{errc::invalid_spec, "its folder cannot be found: " + ec.message(), path};
  return read_spec_text(*text, path, absolute.parent_path().string());
}

} // namespace attune::storage
