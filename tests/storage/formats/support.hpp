// What the tests of the interchange formats share.
#pragma once

#include "storage/formats/common.hpp"
#include "storage/formats/import.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace attune::storage::formats::testing {

struct everything {
  std::vector<entry> entries;
  std::vector<damage> damages;
  std::uint64_t comments = 0;
  std::vector<std::string> warnings;
  std::string format;
  bool whole = true; ///< the file could be read to its end
};

inline everything read_all(source& from, const formats::format& as, const read_options& options = {}) {
  everything out;
  const auto reading = as.read(from, options);
  entry e;
  damage d;
  for (auto s = reading->next(e, d); s != reader::step::end; s = reading->next(e, d)) {
    if (s == reader::step::record)
      out.entries.push_back(e);
    else
      out.damages.push_back(d);
  }
  out.comments = reading->comments();
  out.warnings = reading->warnings();
  out.format = reading->format();
  out.whole = reading->error().ok();
  return out;
}

/// As `--format auto` reads it.
inline everything read_text(const std::string& text, const read_options& options = {}) {
  const auto from = source::of(text, "folder/some.file");
  const auto as = recognise(*from);
  BOOST_REQUIRE_MESSAGE(as.ok(), (as.ok() ? "" : as.err().text()));
  return read_all(*from, **as, options);
}

inline everything read_file(const std::string& path, const read_options& options = {}) {
  const auto from = source::open(path);
  BOOST_REQUIRE_MESSAGE(from.ok(), (from.ok() ? "" : from.err().text()));
  const auto as = recognise(**from);
  BOOST_REQUIRE_MESSAGE(as.ok(), (as.ok() ? "" : as.err().text()));
  return read_all(**from, **as, options);
}

struct written {
  std::string text;
  losses lost;
  status good;
};

inline written write_all(const std::vector<entry>& entries, const char* format) {
  written out;
  sink to([&](std::string_view t) {
    out.text += t;
    return true;
  });
  const selection from{[&](const std::function<bool(const entry&)>& visit) -> status {
    for (const auto& e : entries)
      if (!visit(e)) break;
    return {};
  }};
  out.good = find_format(format)->write(from, to, out.lost);
  to.flush();
  return out;
}

/// Whether two entries are the same to every bit that is kept; what differs is told.
inline bool same(const entry& a, const entry& b) {
  bool out = true;
  const auto differ = [&](bool equal, const char* what) {
    if (!equal) BOOST_TEST_MESSAGE("differs: " << what);
    out &= equal;
  };
  differ(a.task->workload_form == b.task->workload_form, "workload");
  differ(a.task->target_form == b.task->target_form, "target");
  differ(a.task->method_form == b.task->method_form, "method");
  differ(a.task->task == b.task->task, "task");
  differ(a.task->metric == b.task->metric && a.task->unit == b.task->unit && a.task->direction == b.task->direction,
         "metric");
  differ(a.config.canonical() == b.config.canonical(), "configuration");
  differ(a.result.data == b.result.data, "result");
  differ(a.result.phases == b.result.phases, "phases");
  differ(a.result.used == b.result.used, "resources");
  differ(a.result.runner == b.result.runner, "runner");
  differ(a.result.at == b.result.at, "time of day");
  differ(a.result.notes == b.result.notes, "notes");
  differ(a.session == b.session, "session");
  if (!out) BOOST_TEST_MESSAGE("  " << a.config.text() << "\n  " << b.config.text());
  return out;
}

} // namespace attune::storage::formats::testing
