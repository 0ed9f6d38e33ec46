#include "cli/load.hpp"

#include "core/clock.hpp"
#include "core/text.hpp"
#include "storage/spec_reader.hpp"

namespace attune::cli {

result<std::vector<loaded_task>> load(const std::string& spec, const std::string& only) {
  auto tasks = storage::read_spec(spec);
  if (!tasks) return tasks.err();
  std::vector<loaded_task> out;
  std::vector<std::string> names;
  for (auto& t : *tasks) {
    names.push_back(t.name);
    if (!only.empty() && t.name != only) continue;
    const auto begin = system_time().monotonic();
    auto space = search::space::compile(t.parameters, t.constraints, t.workload, t.target);
    if (!space) return space.err().where.empty() ? error{space.err().code, space.err().message, spec} : space.err();
    const auto took = system_time().monotonic() - begin;
    out.push_back({std::move(t), std::move(*space), seconds(took) * 1e3});
  }
  if (out.empty()) {
    const auto near = nearest_word(only, names);
    return error{errc::invalid_spec, "has no task '" + only + "'" + (near ? "; did you mean '" + *near + "'?" : ""),
                 spec};
  }
  return out;
}

} // namespace attune::cli
