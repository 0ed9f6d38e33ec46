#include "actors/earlier.hpp"

#include "core/evolution.hpp"
#include "search/evolution.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace attune::actors {

namespace {

/// Whether configurations with these names can be ones of the spec that lack parameters with defaults.
bool lacks(const std::vector<std::string>& names, const std::vector<parameter>& declared) {
  const auto has = [&](const std::string& n) { return std::ranges::find(names, n) != names.end(); };
  return names.size() < declared.size() &&
         std::ranges::all_of(declared, [&](const parameter& p) { return p.standard || has(p.name); }) &&
         std::ranges::all_of(names, [&](const std::string& n) {
           return std::ranges::any_of(declared, [&](const parameter& p) { return p.name == n; });
         });
}

std::string note_of(const std::vector<std::string>& lacking, const configuration& config) {
  std::string out = "measured before the spec had";
  for (const auto& name : lacking) {
    const auto* v = config.find(name);
    out += (name == lacking.front() ? " " : ", ") + name +
           (v && !v->is_absent() ? " (its default " + v->text() + ")" : "");
  }
  return out;
}

} // namespace

result<std::vector<earlier_result>> earlier_results(const storage::store& from, const task& of,
                                                    const search::space& over) {
  const auto& declared = of.spec.parameters;
  std::vector<earlier_result> out;
  const auto lists = from.name_lists();
  if (std::ranges::none_of(lists, [&](const auto& names) { return lacks(*names, declared); })) return out;

  std::vector<storage::task_entry> tasks;
  if (auto read = from.tasks_of(of.identity.workload_key,
                                [&](const storage::task_entry& t, const storage::task_counts& counts) {
                                  if (counts.records > 0 && t.target == of.identity.target_key) tasks.push_back(t);
                                });
      !read)
    return read.err();

  std::map<std::vector<std::string>, std::string> forms; // of the method, by what is left out
  std::set<key128> known;
  std::map<key128, earlier_result> newest;
  for (const auto& t : tasks) {
    status wrong;
    const bool same = t.task == of.identity.task_key;
    std::vector<std::string> lacking;
    auto read = from.records_of(t.task, [&](const storage::record& r) {
      if (!conclusive(r.result)) return true;
      auto config = search::completed(over, declared, r.config, lacking);
      if (!config) {
        if (same) known.insert(r.key);
        return true;
      }
      if (!same) {
        auto form = forms.find(lacking);
        if (form == forms.end()) {
          auto made = method_form(without_parameters(of.spec, lacking));
          if (!made) {
            wrong = made.err();
            return false;
          }
          form = forms.emplace(lacking, std::move(*made)).first;
        }
        if (form->second != t.method_form) return true;
      }
      earlier_result found{std::move(*config), {}, r};
      found.key = measurement_key(of.identity, found.config.canonical());
      found.from.result.notes.push_back(note_of(lacking, found.config));
      if (const auto at = newest.find(found.key); at == newest.end() || newer(r, at->second.from))
        newest.insert_or_assign(found.key, std::move(found));
      return true;
    });
    if (!read) return read.err();
    if (!wrong) return wrong.err();
  }
  for (auto& [key, e] : newest)
    if (!known.contains(key)) out.push_back(std::move(e));
  return out;
}

} // namespace attune::actors
