// What `attune history --json` prints: {"records": [{"config": {…}, "value": v or null, "unit": …, "failure": kind or
// null, "message": …, "samples": […]}, …]}, or one such record a line. It does not say of which workload and target it
// is, so it can be replayed and not imported (`attune db export` writes what can be).
//
// Units: values in the record's own stored unit, which is seconds for times. A record that has neither a value nor a
// failure (a run that was stopped early) is bad_metric.
#include "core/text.hpp"
#include "storage/formats/common.hpp"
#include "storage/formats/document.hpp"

#include <cmath>

namespace attune::storage::formats {
namespace {

class history_reader final : public reader {
public:
  explicit history_reader(source& from) : from_(from), walk_(from, {"records"}), lines_(from) {}

  std::string format() const override { return "attune"; }
  std::string unit() const override { return unit_; }
  std::vector<std::string> warnings() const override { return warnings_; }
  status error() const override { return document_ ? walk_.error() : lines_.error(); }

  step next(entry& out, damage& what) override {
    if (!looked_) {
      looked_ = true;
      // A document names its list first; a line is a record by itself.
      document_walker look(from_, {"records"});
      look.next();
      document_ = !look.list().empty();
      if (!from_.rewind()) return step::end;
    }
    return document_ ? from_document(out, what) : from_lines(out, what);
  }

private:
  step from_document(entry& out, damage& what) {
    for (;;) {
      switch (walk_.next()) {
      case document_walker::step::member:
        continue;
      case document_walker::step::damaged:
        what = {walk_.line(), walk_.why()};
        return step::damaged;
      case document_walker::step::end:
        if (walk_.unterminated() && warnings_.empty())
          warnings_.emplace_back("the file is unterminated (its writer was cut off); what is complete was read");
        return step::end;
      case document_walker::step::element:
        break;
      }
      if (parsed_.parse(walk_.data(), walk_.size()) && take(parsed_.root(), out)) return step::record;
      what = {walk_.line(), "is no record"};
      return step::damaged;
    }
  }

  step from_lines(entry& out, damage& what) {
    while (lines_.next()) {
      const auto text = trim(lines_.text());
      if (text.empty() || text.front() == '#') continue;
      if (parsed_.parse(lines_.data(), lines_.text().size()) && take(parsed_.root(), out)) return step::record;
      what = {lines_.number(), "is no record"};
      return step::damaged;
    }
    return step::end;
  }

  bool take(const json_ref& root, entry& out) {
    const auto config = root.find("config"), v = root.find("value");
    if (!config.is_object() || !v) return false;
    out.clear();
    std::vector<value> values;
    names_.clear();
    for (auto it = config.begin(), stop = config.end(); it != stop; ++it) {
      auto typed = to_value(*it);
      if ((*it).is_null() || !typed) continue;
      names_.emplace_back(it.key());
      values.push_back(std::move(*typed));
    }
    auto names = pool_.of(names_);
    if (values.empty() || !names) return false;
    out.config = {std::move(names), std::move(values)};
    if (const auto unit = root.find("unit"); unit.is_string()) unit_ = unit.text();
    out.task = tasks_
                   .of(unit_,
                       [&] {
                         return foreign({}, {}, {"history", {}, {}}, "time", unit_,
                                        is_rate(unit_) ? goal::maximize : goal::minimize);
                       })
                   .stated;
    auto& o = out.result;
    if (const auto number = v.number(); number && std::isfinite(*number)) {
      // Values that are no times may be negative.
      measurement m;
      out.written = m.value = *number;
      o.data = std::move(m);
      take_samples(out, root.find("samples"), 0);
    } else {
      const auto kind = failure_kind_of(root.find("failure").text());
      fail(o, kind.value_or(failure_kind::bad_metric), std::string(root.find("message").text()));
    }
    return true;
  }

  source& from_;
  document_walker walk_;
  line_reader lines_;
  json_document parsed_;
  std::string unit_ = "s";
  std::vector<std::string> names_;
  names_pool pool_;
  task_pool tasks_;
  bool looked_ = false, document_ = false;
  std::vector<std::string> warnings_;
};

} // namespace

bool is_history(const json_ref& line) { return line.find("config").is_object() && line.find("value"); }

std::unique_ptr<reader> read_history(source& from, const read_options&) {
  return std::make_unique<history_reader>(from);
}

} // namespace attune::storage::formats
