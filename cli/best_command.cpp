#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/store_access.hpp"
#include "search/similarity.hpp"
#include "storage/formats/origin.hpp"

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace attune::cli {

namespace {

/// Whether a target that was imported has every fact that the spec writes down. A spec that writes none means this
/// machine, which nobody else has measured on.
bool on_written_target(const arguments& facts, const arguments& written) {
  bool any = false;
  for (const auto& [name, v] : written) {
    if (name == "device" && v == value("local")) continue;
    const auto* fact = find(facts, name);
    if (fact == nullptr || fact->text() != v.text()) return false;
    any = true;
  }
  return any;
}

/// What is known of one task of the spec.
struct answer {
  task_ptr of;
  std::vector<known_result> best;
  std::string hint;      ///< what to do where there is none
  std::string statistic; ///< of what was imported: what its values are
  /// Whose best it is, where it is not the task's own.
  std::optional<storage::task_entry> nearest;
  double similarity = 1;
};

/// The tasks in the store that the question is about: the spec's own, or those of the same workload, built and measured
/// the same way, on the targets that --target means.
result<std::vector<storage::task_entry>> asked_for(const storage::store& store, const task& of,
                                                   const best_options& options) {
  std::vector<storage::task_entry> out;
  const auto& id = of.identity;
  const auto& where = options.target;
  if (options.imported) {
    const auto read = store.tasks_of(id.workload_key, [&](const storage::task_entry& t, const storage::task_counts&) {
      const auto origin = storage::formats::origin_of(t.method_form);
      if (!origin || t.metric != of.metric().name || t.unit != of.metric().stored_unit() ||
          t.direction != of.metric().direction)
        return;
      if (where ? matches_target(t.target_facts, *where) : on_written_target(t.target_facts, of.spec.target))
        out.push_back(t);
    });
    if (!read) return read.err();
    return out;
  }
  if (!where) {
    auto found = store.find_task(id.task_key);
    if (!found) return found.err();
    if (*found) out.push_back(std::move(**found));
    return out;
  }
  const auto read = store.tasks_of(id.workload_key, [&](const storage::task_entry& t, const storage::task_counts&) {
    if (t.method == id.method_key && matches_target(t.target_facts, *where)) out.push_back(t);
  });
  if (!read) return read.err();
  return out;
}

/// Of imported tasks those of one statistic, the medians where there are any: a mean that a file states is not ranked
/// against them. Answers which it is; empty where there is no task.
std::string one_statistic(std::vector<storage::task_entry>& tasks) {
  const auto statistic = [](const storage::task_entry& t) {
    const auto origin = storage::formats::origin_of(t.method_form);
    return origin ? origin->statistic : std::string();
  };
  if (tasks.empty()) return {};
  const bool medians = std::any_of(tasks.begin(), tasks.end(), [&](const auto& t) { return statistic(t) == "median"; });
  std::string kept = medians ? "median" : "stated";
  std::erase_if(tasks, [&](const auto& t) { return statistic(t) != kept; });
  return kept;
}

/// The devices of what was imported for this workload.
result<std::string> imported_hint(const storage::store& store, const task& of) {
  std::vector<std::string> devices;
  const auto read =
      store.tasks_of(of.identity.workload_key, [&](const storage::task_entry& t, const storage::task_counts& counts) {
        if (!storage::formats::origin_of(t.method_form) || counts.records == counts.failures) return;
        auto device = target{t.target_facts}.device();
        if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(std::move(device));
      });
  if (!read) return read.err();
  std::string out;
  for (const auto& d : devices) out += (out.empty() ? "" : ", ") + ("'" + d + "'");
  return out;
}

/// Why there may be nothing, from what else the store has.
result<std::string> hint_for(const storage::store& store, const task& of, const std::optional<std::string>& where) {
  const auto& id = of.identity;
  std::vector<std::string> devices;
  bool other_method = false, imported = false;
  const auto read =
      store.tasks_of(id.workload_key, [&](const storage::task_entry& t, const storage::task_counts& counts) {
        if (counts.records == counts.failures) return;
        if (t.method != id.method_key) {
          (storage::formats::origin_of(t.method_form) ? imported : other_method) = true;
          return;
        }
        const auto device = target{t.target_facts}.device();
        if ((where || t.target != id.target_key) && std::find(devices.begin(), devices.end(), device) == devices.end())
          devices.push_back(device);
      });
  if (!read) return read.err();
  std::string out;
  if (!devices.empty()) {
    out = "there are results on other targets (";
    for (std::size_t i = 0; i < devices.size(); ++i) out += (i == 0 ? "" : ", ") + devices[i];
    out += "); --target names one";
  } else if (imported && !other_method) {
    out = "there are imported results; --imported answers from them";
  } else if (other_method) {
    out = "there are results with other commands, sources or measuring";
  }
  return out;
}

/// The best of the most similar task that has one inside the space: of the same name, metric and goal, and on the
/// targets that --target means. Leaves the answer as it is where there is none.
status ask_nearest(const storage::store& store, const search::space& space, const best_options& options, answer& a) {
  const auto& metric = a.of->metric();
  std::vector<std::pair<double, storage::task_entry>> similar;
  const auto read =
      store.tasks_named(a.of->spec.name, [&](const storage::task_entry& t, const storage::task_counts& counts) {
        if (counts.records == counts.failures || t.task == a.of->identity.task_key || t.metric != metric.name ||
            t.direction != metric.direction || (options.target && !matches_target(t.target_facts, *options.target)))
          return;
        // The facts of a target that is only named are those of what is found on it.
        const auto& facts = options.target ? t.target_facts : a.of->where.facts;
        similar.emplace_back(search::task_similarity(a.of->load.args, facts, t.workload_args, t.target_facts), t);
      });
  if (!read) return read;
  std::stable_sort(similar.begin(), similar.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
  for (auto& [similarity, entry] : similar) {
    auto found = best_inside(store, entry, space, options.top);
    if (!found) return found.err();
    if (found->empty()) continue;
    a.best = std::move(*found);
    a.nearest = std::move(entry);
    a.similarity = similarity;
    return {};
  }
  return {};
}

/// `a similar task, not of this one: gemm m=512 on board1, similarity 0.93 (distance 0.07)`
std::string nearest_text(const answer& a) {
  const auto rounded = [](double d) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", d);
    return std::string(text);
  };
  std::string out = "a similar task, not of this one: " + a.nearest->name;
  for (const auto& [name, v] : a.nearest->workload_args) out += " " + name + "=" + v.text();
  out += " on " + target{a.nearest->target_facts}.device() + ", similarity " + rounded(a.similarity) + " (distance " +
         rounded(1 - a.similarity) + ")";
  // It goes into comments.
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return out;
}

json answer_json(const answer& a, std::uint64_t top) {
  json out{{"task", a.of->spec.name},
           {"key", a.of->identity.task_key.hex()},
           {"target", arguments_json(a.best.empty() ? a.of->where.facts : a.best[0].target)},
           {"best", nullptr}};
  const auto entry = [&](const known_result& k) {
    auto e = best_json(k.config, k.measured, a.of->metric(), k.record);
    e["at"] = rfc3339(k.at);
    return e;
  };
  if (!a.best.empty()) out["best"] = entry(a.best[0]);
  if (!a.statistic.empty()) out["statistic"] = a.statistic;
  if (a.nearest)
    out["nearest"] = {{"similarity", number_json(a.similarity)},
                      {"distance", number_json(1 - a.similarity)},
                      {"task", a.nearest->name},
                      {"key", a.nearest->task.hex()},
                      {"workload", arguments_json(a.nearest->workload_args)},
                      {"target", arguments_json(a.nearest->target_facts)}};
  if (top > 1) {
    out["top"] = json::array();
    for (const auto& k : a.best) out["top"].push_back(entry(k));
  }
  return out;
}

} // namespace

int run_best(const best_options& options, const std::string& folder, output& io) {
  using form = best_options::form;
  const auto format = options.format.value_or(form::text);
  const bool as_json = io.json() || format == form::json;
  const auto tasks = load(options.spec, options.task);
  if (!tasks) return io.fail(tasks.err());
  if (tasks->size() > 1 && format != form::text && format != form::json)
    return io.fail({errc::invalid_spec, "holds several tasks; choose one with --task NAME", options.spec});
  const auto store = open_to_read(folder);
  if (!store) return io.fail(store.err());

  std::vector<answer> answers;
  for (const auto& t : *tasks) {
    auto made = make_task(t.spec);
    if (!made) return io.fail(made.err());
    answer a{*made, {}, {}, {}, {}, 1};
    if (*store) {
      auto entries = asked_for(**store, *a.of, options);
      if (!entries) return io.fail(entries.err());
      if (options.imported) a.statistic = one_statistic(*entries);
      for (const auto& entry : *entries) {
        auto found = best_inside(**store, entry, *t.space, options.top);
        if (!found) return io.fail(found.err());
        for (auto& k : *found) a.best.push_back(std::move(k));
      }
      if (!options.target && !options.imported) {
        auto earlier = best_of_earlier(**store, *a.of, *t.space);
        if (!earlier) return io.fail(earlier.err());
        for (auto& k : *earlier) a.best.push_back(std::move(k));
      }
      std::stable_sort(a.best.begin(), a.best.end(), [&](const known_result& x, const known_result& y) {
        return a.of->better(x.measured.value, y.measured.value);
      });
      if (a.best.size() > options.top) a.best.resize(options.top);
      if (a.best.empty() && options.nearest)
        if (const auto asked = ask_nearest(**store, *t.space, options, a); !asked) return io.fail(asked.err());
      if (a.best.empty()) {
        auto hint = options.imported ? imported_hint(**store, *a.of) : hint_for(**store, *a.of, options.target);
        if (!hint) return io.fail(hint.err());
        a.hint = options.imported && !hint->empty() ? "results were imported for " + *hint + "; --target names one"
                                                    : std::move(*hint);
      }
    }
    answers.push_back(std::move(a));
  }

  std::size_t none = 0;
  json documents = json::array();
  for (const auto& a : answers) {
    if (as_json) documents.push_back(answer_json(a, options.top));
    if (a.best.empty()) {
      ++none;
      io.message(a.of->spec.name + ": no result is known" + (options.target ? " on " + *options.target : "") +
                 (a.hint.empty() ? "; attune tune finds one" : "; " + a.hint));
      continue;
    }
    if (!a.statistic.empty())
      io.message(a.of->spec.name + ": imported; ranked by " +
                 (a.statistic == "median" ? "the cleaned median of the files' own samples"
                                          : "the values that the files state"));
    if (a.nearest) io.message(a.of->spec.name + ": this is the best of " + nearest_text(a));
    if (as_json) continue;
    if (a.nearest && format == form::text) io.out() << "nearest: " << nearest_text(a) << '\n';
    if (answers.size() > 1) io.out() << a.of->spec.name << '\n';
    const std::vector<ranked> plain(a.best.begin(), a.best.end());
    io.out() << render_best(*a.of, plain, a.nearest ? nearest_text(a) : a.best[0].device, format);
  }
  if (as_json) io.document(documents.size() == 1 ? documents[0] : json{{"tasks", std::move(documents)}});
  return none == 0 ? exit_code::done : none == answers.size() ? exit_code::no_result : exit_code::partial;
}

command_spec best_command() {
  struct words {
    std::string spec, task, top, format, target;
    bool imported = false, nearest = false;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"best", "Print the best known configuration, without measuring"};
  c.place("SPEC", w->spec, "The spec file (YAML, or T1 where it ends in .json)");
  c.value("--task", "NAME", w->task, "One task of a spec that holds several");
  c.value("--top", "K", w->top, "The K best, best first (1)");
  c.value("--format", "F", w->format, "text, json, env, args, header or cmake");
  c.value("--target", "T", w->target, "Of another target: a device's name, or facts as in device=board1,flags=-O2");
  c.flag("--imported", w->imported, "Of what was imported for this workload, in place of what was measured here");
  c.flag("--nearest", w->nearest, "Where nothing is known: the best of the most similar task, and which that is");
  c.more = R"help(Similar are tasks of the same name, metric and goal; how much is the cosine of
their workloads' arguments and their targets' facts, from 0 to 1. A result of
--nearest was not measured for what you ask for, and says so.

Formats: env is lines for a shell's eval (ATTUNE_tile_m=32); args is one line of
--tile_m=32 words, quoted for a shell; header is C macros (ATTUNE_TILE_M); cmake
is set() lines.

  eval "$(attune best gemm.yaml --format env)"
  attune best gemm.yaml --format header > tuned.h

What was imported (attune db import) belongs to the same workload where its name and
arguments are the spec's, and counts with --imported alone: it was built and measured
by somebody else. --target names where: attune db stats and export show it.

  attune best gemm.yaml --imported --target "NVIDIA RTX A4000")help";
  c.read = [w](const typed_line& line) -> reading {
    best_options o;
    o.spec = w->spec;
    o.task = w->task;
    if (!w->top.empty()) o.top = read_count<std::uint64_t>("--top", w->top, 1, 1'000'000);
    if (line.given("--format")) {
      const std::pair<const char*, best_options::form> forms[] = {
          {"text", best_options::form::text},     {"json", best_options::form::json},
          {"env", best_options::form::env},       {"args", best_options::form::args},
          {"header", best_options::form::header}, {"cmake", best_options::form::cmake}};
      for (const auto& [name, form] : forms)
        if (w->format == name) o.format = form;
      if (!o.format)
        throw usage_fault{"--format must be text, json, env, args, header or cmake, not '" + w->format.substr(0, 60) +
                          "'"};
      const bool one = *o.format != best_options::form::text && *o.format != best_options::form::json;
      if (one && o.top > 1)
        throw usage_fault{"--top has no effect with --format " + w->format + ", which is of one configuration"};
      if (line.json && *o.format != best_options::form::json)
        throw usage_fault{"--json and --format " + w->format + " exclude each other"};
    }
    if (line.given("--target")) {
      if (w->target.empty()) throw usage_fault{"--target is empty"};
      o.target = w->target;
    }
    o.imported = w->imported;
    o.nearest = w->nearest;
    return o;
  };
  return c;
}

} // namespace attune::cli
