// Reads any bytes as each format, and what `auto` makes of them; what was read is written in every format, read again
// and must be the same. ATTUNE_FUZZ_FORMAT is the format that the bytes are read as.
#include "storage/formats/common.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::formats;

namespace {

void must(bool holds) {
  if (!holds) __builtin_trap();
}

std::vector<entry> read_all(std::string_view text, const format& as) {
  const auto from = source::of(text, "fuzz.x");
  const auto reading = as.read(*from, {});
  std::vector<entry> out;
  entry e;
  damage d;
  std::uint64_t steps = 0;
  for (auto s = reading->next(e, d); s != reader::step::end; s = reading->next(e, d)) {
    must(++steps <= text.size() + 2); // it ends
    if (s == reader::step::damaged) {
      must(!d.why.empty());
      continue;
    }
    must(e.task != nullptr);
    if (const auto* m = e.result.measured()) must(std::isfinite(m->value));
    if (out.size() < 50) out.push_back(e);
  }
  must(reading->next(e, d) == reader::step::end);
  return out;
}

std::string write_all(const std::vector<entry>& entries, const format& as, losses& lost, bool& good) {
  std::string text;
  sink to([&](std::string_view t) {
    text += t;
    return true;
  });
  good = as.write({[&](const std::function<bool(const entry&)>& visit) -> status {
                    for (const auto& e : entries)
                      if (!visit(e)) break;
                    return {};
                  }},
                  to, lost)
             .ok();
  to.flush();
  return text;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  {
    const auto from = source::of(text, "fuzz.x");
    const auto found = recognise(*from);
    must(found.ok() || !found.err().message.empty());
  }
  const auto& as = *find_format(ATTUNE_FUZZ_FORMAT);
  const auto entries = read_all(text, as);
  if (entries.empty()) return 0;
  for (const auto& other : all_formats()) {
    if (other.write == nullptr) continue;
    losses lost;
    bool good = false;
    const auto out = write_all(entries, other, lost, good);
    if (!good) continue;
    const auto again = read_all(out, other);
    // Our own lines lose nothing, whatever came in.
    if (std::string_view(other.name) != "attune") continue;
    must(lost.counts().empty() && again.size() == entries.size());
    for (std::size_t i = 0; i < again.size(); ++i) {
      must(again[i].task->task == entries[i].task->task);
      must(again[i].config.canonical() == entries[i].config.canonical());
    }
    bool once_more = false;
    must(write_all(again, other, lost, once_more) == out && once_more);
  }
  return 0;
}
