#pragma once

#include "core/configuration.hpp"
#include "core/error.hpp"
#include "core/measurement.hpp"
#include "core/task.hpp"
#include "search/space.hpp"
#include "storage/json_value.hpp"
#include "storage/store.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attune::actors {
struct cache_statistics;
struct tuning_report;
} // namespace attune::actors

namespace attune::cli {

// The contract's JSON shapes, as functions of plain values. None of them ever holds a NaN or an infinity (null stands
// there), and none looks at the locale.
using json = nlohmann::ordered_json;

using storage::arguments_json;
using storage::config_json;
using storage::dump;
using storage::number_json;
using storage::value_json;

/// A count: a number up to 2^53, its decimal text beyond (JavaScript would round it).
json count_json(search::uint128 n);
/// `{"error": {"kind": …, "message": …, "where": …}}`
json error_json(const error& e);

/// The `best` of `tune --json`; null where there is none. `record` is the measurement's key.
json best_json(const configuration& config, const measurement& m, const metric_spec& metric, const std::string& record);

/// One task of `tune --json`.
json report_json(const actors::tuning_report& report);
/// Several, or one with `as_list`: `{"tasks": […], "total": {…}}`; one: itself.
/// With `asked`: what the cache was asked, with the causes of its misses.
json reports_json(std::span<const std::shared_ptr<const actors::tuning_report>> reports,
                  const actors::cache_statistics* asked = nullptr, bool as_list = false);

/// `space --count --json`; `valid` is null where it is unknown.
json space_count_json(std::size_t parameters, search::uint128 cartesian, std::optional<search::uint128> valid,
                      double build_ms);

/// One entry of `history --json` under `estimates`: what was taken for a configuration that was not measured.
json estimate_json(const configuration& config, const estimate& guess, const std::string& unit);

/// One entry of `history --json`. `unit` is the task's as stored. What was stopped early has neither value nor failure,
/// but `at_least` (`at_most`, where the goal is to maximize).
json record_json(const configuration& config, const outcome& result, const std::string& unit, const std::string& record,
                 goal direction);

/// `db stats --json`.
json statistics_json(const storage::store_statistics& s);
/// `by_target` and `by_task` beside it.
json statistics_by_task_json(std::span<const storage::task_statistics> tasks);

} // namespace attune::cli
