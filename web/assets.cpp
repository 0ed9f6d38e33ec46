#include "web/assets.hpp"

#include <array>
#include <utility>

// The bytes of a file, between two symbols.
#define ATTUNE_ASSET(symbol, file)                                                                  \
  asm(".pushsection .rodata\n" #symbol "_begin:\n.incbin \"" ATTUNE_APP_DIR "/" file "\"\n" #symbol \
      "_end:\n.byte 0\n.popsection\n");                                                             \
  extern "C" __attribute__((visibility("hidden"))) const char symbol##_begin[];                     \
  extern "C" __attribute__((visibility("hidden"))) const char symbol##_end[]

ATTUNE_ASSET(attune_asset_index, "index.html");
ATTUNE_ASSET(attune_asset_style, "app.css");
ATTUNE_ASSET(attune_asset_format, "format.js");
ATTUNE_ASSET(attune_asset_stats, "stats.js");
ATTUNE_ASSET(attune_asset_forest, "forest.js");
ATTUNE_ASSET(attune_asset_store, "data.js");
ATTUNE_ASSET(attune_asset_dom, "dom.js");
ATTUNE_ASSET(attune_asset_plot, "plot.js");
ATTUNE_ASSET(attune_asset_charts, "charts.js");
ATTUNE_ASSET(attune_asset_trial, "trial.js");
ATTUNE_ASSET(attune_asset_pipeline, "pipeline.js");
ATTUNE_ASSET(attune_asset_cache, "cache.js");
ATTUNE_ASSET(attune_asset_parallel, "parallel.js");
ATTUNE_ASSET(attune_asset_search, "search.js");
ATTUNE_ASSET(attune_asset_devices, "devices.js");
ATTUNE_ASSET(attune_asset_tasks, "tasks.js");
ATTUNE_ASSET(attune_asset_compare, "compare.js");
ATTUNE_ASSET(attune_asset_main, "main.js");

namespace attune::web {

namespace {

#define ATTUNE_TEXT(symbol) std::string_view(symbol##_begin, static_cast<std::size_t>(symbol##_end - symbol##_begin))

using named = std::pair<std::string_view, std::string_view>;

/// The modules, each behind those that it needs.
std::array<named, 16> modules() {
  return {{{"format.js", ATTUNE_TEXT(attune_asset_format)},
           {"stats.js", ATTUNE_TEXT(attune_asset_stats)},
           {"forest.js", ATTUNE_TEXT(attune_asset_forest)},
           {"data.js", ATTUNE_TEXT(attune_asset_store)},
           {"dom.js", ATTUNE_TEXT(attune_asset_dom)},
           {"plot.js", ATTUNE_TEXT(attune_asset_plot)},
           {"charts.js", ATTUNE_TEXT(attune_asset_charts)},
           {"trial.js", ATTUNE_TEXT(attune_asset_trial)},
           {"pipeline.js", ATTUNE_TEXT(attune_asset_pipeline)},
           {"cache.js", ATTUNE_TEXT(attune_asset_cache)},
           {"parallel.js", ATTUNE_TEXT(attune_asset_parallel)},
           {"search.js", ATTUNE_TEXT(attune_asset_search)},
           {"devices.js", ATTUNE_TEXT(attune_asset_devices)},
           {"tasks.js", ATTUNE_TEXT(attune_asset_tasks)},
           {"compare.js", ATTUNE_TEXT(attune_asset_compare)},
           {"main.js", ATTUNE_TEXT(attune_asset_main)}}};
}

} // namespace

std::string_view asset(std::string_view name) {
  if (name == "index.html") return ATTUNE_TEXT(attune_asset_index);
  if (name == "app.css") return ATTUNE_TEXT(attune_asset_style);
  for (const auto& [known, text] : modules())
    if (known == name) return text;
  return {};
}

const std::string& app_script() {
  static const std::string script = [] {
    std::string out;
    for (const auto& [name, text] : modules()) {
      std::string_view rest = text;
      while (!rest.empty()) {
        const auto end = rest.find('\n');
        auto line = rest.substr(0, end);
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        if (line.starts_with("import ")) continue;
        if (line.starts_with("export ")) line.remove_prefix(7);
        out += line;
        out += '\n';
      }
    }
    return out;
  }();
  return script;
}

} // namespace attune::web
