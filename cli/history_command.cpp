#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/store_access.hpp"

#include <functional>
#include <ostream>

namespace attune::cli {

namespace {

/// What sessions have estimated of a task in place of measuring it: there is no record of these.
status estimates_of(const storage::store& from, const task& of,
                    const std::function<void(const storage::session_step&)>& visit) {
  std::vector<std::string> ids;
  if (auto read = from.sessions([&](const storage::session_entry& s) {
        if (s.task_name == of.spec.name && s.estimates) ids.push_back(s.id);
      });
      !read)
    return read;
  for (const auto& id : ids)
    if (auto read = from.session_steps(id,
                                       [&](const storage::session_step& s) {
                                         if (s.guess && s.key == measurement_key(of.identity, s.config.canonical()))
                                           visit(s);
                                       });
        !read)
      return read;
  return {};
}

} // namespace

int run_history(const history_options& options, const std::string& folder, output& io) {
  const auto tasks = load(options.spec, options.task);
  if (!tasks) return io.fail(tasks.err());
  const auto store = open_to_read(folder);
  if (!store) return io.fail(store.err());
  std::vector<task_ptr> made;
  for (const auto& t : *tasks) {
    auto m = make_task(t.spec);
    if (!m) return io.fail(m.err());
    made.push_back(std::move(*m));
  }

  // Record by record, for a history may be longer than memory.
  std::uint64_t records = 0;
  if (io.json()) io.out() << "{\"records\":[";
  status read;
  for (const auto& of : made) {
    if (!*store || !read) break;
    const auto unit = of->metric().stored_unit();
    if (made.size() > 1 && !io.json()) io.out() << of->spec.name << '\n';
    read = (*store)->records_of(of->identity.task_key, [&](const storage::record& r) {
      if (io.json()) {
        auto entry = record_json(r.config, r.result, unit, r.key.hex(), of->metric().direction);
        if (made.size() > 1) entry["task"] = of->spec.name;
        io.out() << (records == 0 ? "" : ",") << dump(entry);
      } else {
        io.out() << render_record(r.config, r.result, unit, of->metric().direction);
      }
      ++records;
      return static_cast<bool>(io.out());
    });
  }
  if (io.json()) io.out() << "],\"estimates\":[";
  std::uint64_t estimates = 0;
  for (const auto& of : made) {
    if (!*store || !read) break;
    const auto unit = of->metric().stored_unit();
    read = estimates_of(**store, *of, [&](const storage::session_step& s) {
      if (io.json()) {
        auto entry = estimate_json(s.config, *s.guess, unit);
        if (made.size() > 1) entry["task"] = of->spec.name;
        io.out() << (estimates == 0 ? "" : ",") << dump(entry);
      } else {
        io.out() << render_estimate(s.config, *s.guess, unit);
      }
      ++estimates;
    });
  }
  if (io.json()) io.out() << "]}\n";
  if (!read) {
    // The document is whole as far as it goes; the code says that it is not all.
    io.message(read.err().text());
    return exit_code_of(read.err().code);
  }
  if (records == 0) io.message("no record of this task is in the store; attune tune makes some");
  return records == 0 ? exit_code::no_result : exit_code::done;
}

command_spec history_command() {
  struct words {
    std::string spec, task;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"history", "List every record of a spec's task, failures and their messages too"};
  c.place("SPEC", w->spec, "The spec file (YAML, or T1 where it ends in .json)");
  c.value("--task", "NAME", w->task, "One task of a spec that holds several");
  c.read = [w](const typed_line&) -> reading { return history_options{w->spec, w->task}; };
  return c;
}

} // namespace attune::cli
