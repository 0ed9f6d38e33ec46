#pragma once

#include "core/configuration.hpp"
#include "core/measurement.hpp"
#include "core/spec.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace attune::actors {
struct event;
}

namespace attune::web {

/// The version of the event's JSON form (docs/events.md). Fields may be added to a version; a field that goes or
/// changes its meaning makes the next one.
inline constexpr int event_version = 1;

/// The most of a text (in bytes) and of the samples that an event carries.
inline constexpr std::size_t event_text_most = 2000, event_samples_most = 64;

/// How loud an event is.
enum class log_level : std::uint8_t { debug, info, warning, error };
const char* to_string(log_level l) noexcept;
log_level level_of(const actors::event& e) noexcept;

/// One event as a JSON object of bounded size, on one line. `with_wall` is the wall clock's time of the event since the
/// epoch; negative: left out.
std::string event_json(const actors::event& e, nanoseconds with_wall = nanoseconds(-1));
/// The same as a log's line: `time`, `level` and `event` come first.
std::string event_log_line(const actors::event& e, nanoseconds wall);

// Its parts, for the other documents, as storage/json_value.hpp has them, texts bounded as an event's.
nlohmann::ordered_json value_json(const value& v);
nlohmann::ordered_json config_json(const configuration& c);
nlohmann::ordered_json arguments_json(const arguments& a);
/// An outcome with its phases (seconds), samples, conditions and notes, bounded as an event is.
nlohmann::ordered_json outcome_json(const outcome& o, goal direction);
/// One line; bytes that are not UTF-8 are replaced.
std::string dump(const nlohmann::ordered_json& what);
/// At most `most` bytes of it, the cut marked.
std::string shortened(std::string_view text, std::size_t most = event_text_most);

} // namespace attune::web
