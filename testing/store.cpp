#include "testing/store.hpp"

#include <algorithm>
#include <iterator>

namespace attune::testing {

actors::record_sink fake_store::sink() {
  actors::record_sink out;
  out.append = [this](std::span<storage::record_item> items, std::span<const storage::step_item> more) -> status {
    ++writes;
    if (trouble) return *trouble;
    if (fails)
      if (const auto why = fails(writes)) return *why;
    for (auto& i : items) {
      i.record = records.size() + 1;
      records.push_back({i.what, i.result, std::string(i.session), i.cacheable, i.record});
    }
    for (const auto& s : more)
      steps.push_back(
          {std::string(s.session), s.what, s.result, s.asked_before, s.from_cache, s.record, s.amends, s.guess});
    return {};
  };
  out.recency = [this](const actors::recency_batch& b) {
    used.insert(used.end(), b.used.begin(), b.used.end());
    dropped.insert(dropped.end(), b.evicted.begin(), b.evicted.end());
  };
  out.invalidate = [this](const std::string& task) -> result<std::uint64_t> {
    invalidated.push_back(task);
    return entries_forgotten;
  };
  return out;
}

const fake_store::record* fake_store::find(storage::record_id id) const noexcept {
  return id == 0 || id > records.size() ? nullptr : &records[id - 1];
}

std::vector<fake_store::step> fake_store::steps_of(const std::string& session) const {
  std::vector<step> out;
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(out),
               [&](const step& s) { return s.session == session; });
  return out;
}

} // namespace attune::testing
