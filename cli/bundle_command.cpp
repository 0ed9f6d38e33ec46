#include "cli/bundle_text.hpp"
#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/store_access.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

namespace attune::cli {

namespace {

/// One task on one target, and what is known of it.
struct bundled {
  task_ptr of;
  arguments target;
  std::string device;
  std::optional<known_result> best;
  std::string why; ///< nothing is bundled of it
};

/// Whether a result is what a bundle may carry; else why not. Looks at the record itself once more: that it is there,
/// that it was measured, and that its identity is what the spec says today.
std::optional<std::string> objection(const storage::store& from, const task& of, const storage::task_entry& entry,
                                     const known_result& k) {
  std::optional<storage::record> found;
  const auto key = key128::from_hex(k.record);
  if (key) {
    auto cached = from.cached_record(*key);
    if (!cached) return cached.err().text();
    found = std::move(*cached);
  }
  // What has left the cache is found in the history.
  if (!found || found->task != entry.task || !(found->config == k.config)) {
    found.reset();
    const auto read = from.records_of(entry.task, [&](const storage::record& r) {
      if (r.key.hex() == k.record) found = r;
      return true;
    });
    if (!read) return read.err().text();
  }
  if (!found) return "its record is missing";
  const auto* m = found->result.measured();
  if (m == nullptr) return "its newest record is no measurement";
  if (m->value != k.measured.value || !std::isfinite(m->value) || m->value < 0) return "its record has another value";
  auto identity = of.identity;
  identity.task_key = entry.task;
  if (measurement_key(identity, k.config.canonical()) != found->key)
    return "its record is of another configuration or method";
  if (!m->samples.empty()) {
    const auto [least, most] = std::minmax_element(m->samples.begin(), m->samples.end());
    if (m->value < *least || m->value > *most) return "its value is not among its samples";
  }
  return std::nullopt;
}

/// The targets that are asked for: the spec's own, those that --target means, or all.
result<std::vector<storage::task_entry>> targets_of(const storage::store& store, const task& of,
                                                    const bundle_options& options) {
  std::vector<storage::task_entry> out;
  if (!options.all_targets && options.targets.empty()) {
    auto own = store.find_task(of.identity.task_key);
    if (!own) return own.err();
    if (*own) out.push_back(std::move(**own));
    return out;
  }
  const auto read = store.tasks([&](const storage::task_entry& t, const storage::task_counts&) {
    if (t.workload != of.identity.workload_key || t.method != of.identity.method_key) return;
    const bool wanted =
        options.all_targets || std::any_of(options.targets.begin(), options.targets.end(),
                                           [&](const auto& x) { return matches_target(t.target_facts, x); });
    if (wanted) out.push_back(t);
  });
  if (!read) return read.err();
  return out;
}

storage::bundle_item item_of(const bundled& b) {
  storage::bundle_item out;
  out.workload = b.of->load.name;
  out.args = b.of->load.args;
  out.target = b.device;
  out.config = b.best->config;
  out.measured = b.best->measured.value;
  out.spread = b.best->measured.spread;
  out.unit = b.of->metric().stored_unit();
  out.direction = b.of->metric().direction;
  out.record = key128::from_hex(b.best->record).value_or(key128{});
  return out;
}

} // namespace

int run_bundle(const bundle_options& options, const std::string& folder, output& io) {
  std::vector<loaded_task> tasks;
  for (const auto& spec : options.specs) {
    auto some = load(spec);
    if (!some) return io.fail(some.err());
    for (auto& t : *some) tasks.push_back(std::move(t));
  }
  const auto store = open_to_read(folder);
  if (!store) return io.fail(store.err());

  std::vector<bundled> all;
  for (const auto& t : tasks) {
    auto made = make_task(t.spec);
    if (!made) return io.fail(made.err());
    std::vector<storage::task_entry> entries;
    if (*store) {
      auto found = targets_of(**store, **made, options);
      if (!found) return io.fail(found.err());
      entries = std::move(*found);
    }
    if (entries.empty())
      all.push_back({*made, (*made)->where.facts, (*made)->where.device(), std::nullopt, "no result is known"});
    for (const auto& entry : entries) {
      bundled b{*made, entry.target_facts, target{entry.target_facts}.device(), std::nullopt, {}};
      auto best = best_inside(**store, entry, *t.space, 1);
      if (!best) return io.fail(best.err());
      if (best->empty()) {
        b.why = "no valid result is known";
      } else if (const auto why = objection(**store, **made, entry, (*best)[0])) {
        b.why = "the best does not verify: " + *why;
      } else {
        b.best = std::move((*best)[0]);
      }
      all.push_back(std::move(b));
    }
  }

  std::vector<storage::bundle_item> items;
  for (const auto& b : all)
    if (b.best) items.push_back(item_of(b));
  const auto none = all.size() - items.size();
  std::string contents;
  if (!items.empty()) {
    auto bytes = storage::bundle_bytes(items);
    if (!bytes) return io.fail(bytes.err());
    contents = options.format == bundle_options::form::header  ? bundle_header(items, *bytes)
               : options.format == bundle_options::form::cmake ? bundle_cmake(items)
                                                               : std::move(*bytes);
    if (auto written = storage::replace_file(options.output, contents); !written)
      return io.fail({errc::invalid_spec, written.err().message, {}});
  }

  json documents = json::array();
  for (const auto& b : all) {
    if (!b.best) io.message(b.of->spec.name + " on " + b.device + ": " + b.why + "; attune tune finds one");
    json d{{"task", b.of->spec.name},
           {"key", b.of->identity.task_key.hex()},
           {"target", arguments_json(b.target)},
           {"best", nullptr}};
    if (b.best)
      d["best"] = best_json(b.best->config, b.best->measured, b.of->metric(), b.best->record);
    else
      d["why"] = b.why;
    documents.push_back(std::move(d));
  }
  if (io.json()) {
    constexpr const char* names[] = {"bundle", "header", "cmake"};
    io.document({{"file", items.empty() ? json(nullptr) : json(options.output)},
                 {"format", names[static_cast<std::size_t>(options.format)]},
                 {"bytes", count_json(contents.size())},
                 {"bundled", count_json(items.size())},
                 {"tasks", std::move(documents)}});
  } else if (!items.empty()) {
    io.out() << options.output << ": " << items.size() << (items.size() == 1 ? " configuration, " : " configurations, ")
             << human_bytes(contents.size()) << '\n';
  }
  return items.empty() ? exit_code::no_result : none == 0 ? exit_code::done : exit_code::partial;
}

command_spec bundle_command() {
  struct words {
    std::vector<std::string> specs, targets;
    std::string output, format;
    bool all_targets = false;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"bundle", "Write the best of each task into one file for applications"};
  c.places("SPEC", "...", w->specs, "Spec files").required = true;
  c.value("-o,--output", "FILE", w->output, "The file to write; an older one is replaced when all is there").required =
      true;
  c.value("--format", "F", w->format, "bundle, header or cmake (bundle)");
  c.values("--target", "T", w->targets,
           "Of another target: a device's name, or facts as in device=board1,flags=-O2; may be repeated");
  c.flag("--all-targets", w->all_targets, "Of every target on which the task was measured");
  c.more = R"(A bundle is one file with a checksum that an application maps and asks by workload and
target; its reader is the header attune/bundle.hpp, which needs nothing else of Attune:

  std::string why;
  const auto tuned = attune::bundle::open("tuned.bundle", why);
  if (const auto best = tuned.find("gemm", {{"m", 512}, {"n", 512}}, "local"))
    tile = best.entry.integer("tile_m", 16);

Each configuration is verified before it is written: its record is in the store and is a
measurement (no failure, no estimate), it is of the spec's commands and sources as they are
now, and it fulfils the spec's constraints. Nothing is measured.

The format header is the same as constants of C++ (and as a bundle without a file, where
attune/bundle.hpp is found), cmake as variables.

  attune bundle gemm.yaml conv.yaml -o tuned.bundle
  attune bundle gemm.yaml --all-targets --format header -o tuned.hpp

Exit code 1: no task has a result, nothing is written; 4: some have none.)";
  c.read = [w](const typed_line&) -> reading {
    bundle_options o;
    o.specs = w->specs;
    if (w->output.empty()) throw usage_fault{"--output is empty"};
    o.output = w->output;
    if (w->format == "header")
      o.format = bundle_options::form::header;
    else if (w->format == "cmake")
      o.format = bundle_options::form::cmake;
    else if (!w->format.empty() && w->format != "bundle")
      throw usage_fault{"--format must be bundle, header or cmake, not '" + w->format.substr(0, 60) + "'"};
    o.targets = w->targets;
    for (const auto& t : o.targets)
      if (t.empty()) throw usage_fault{"--target is empty"};
    o.all_targets = w->all_targets;
    if (o.all_targets && !o.targets.empty()) throw usage_fault{"--target and --all-targets exclude each other"};
    return o;
  };
  return c;
}

} // namespace attune::cli
