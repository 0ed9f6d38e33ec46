#include "storage/cache_migration.hpp"

#include "storage/keys.hpp"
#include "storage/store_impl.hpp"

#include <algorithm>

namespace attune::storage {

namespace {

/// When an entry was used last: by the write, and in it.
struct moment {
  std::uint64_t stamp = 0;
  std::uint32_t position = 0;
  friend auto operator<=>(const moment&, const moment&) = default;
};

struct dated {
  moment used;
  old_cache_entry entry;
};

/// The last use of each key that was noted. What cannot be read is another order.
std::unordered_map<key128, moment> uses_of(const database& db) {
  std::unordered_map<key128, moment> out;
  v1::Uses message;
  [[maybe_unused]] const auto read =
      db.scan(family::meta, keys::tagged(keys::uses), [&](std::string_view key, std::string_view value) {
        if (key.size() != 9 || !message.ParseFromArray(value.data(), static_cast<int>(value.size()))) return true;
        const std::string_view all = message.keys();
        moment at{keys::get<std::uint64_t>(key, 1), 0};
        for (std::size_t k = 0; k + 16 <= all.size(); k += 16, ++at.position)
          out[*key128::from_bytes(all.substr(k, 16))] = at;
        return true;
      });
  return out;
}

} // namespace

result<std::vector<old_cache_entry>> old_cache_order(const database& db) {
  std::vector<dated> all;
  v1::CacheEntry entry;
  v1::Recency recency;
  const auto read = db.scan(family::cache, {}, [&](std::string_view key, std::string_view value) {
    if (key.size() != 16 && key.size() != 17) return true;
    const auto k = *key128::from_bytes(key.substr(0, 16));
    if (key.size() == 16 && entry.ParseFromArray(value.data(), static_cast<int>(value.size())) && entry.record() != 0)
      all.push_back({{entry.stamp(), 0}, {k, entry.task(), entry.record()}});
    else if (key.size() == 17 && !all.empty() && all.back().entry.key == k &&
             recency.ParseFromArray(value.data(), static_cast<int>(value.size())))
      // An older use belongs to a result that has been replaced since.
      all.back().used = std::max(all.back().used, moment{recency.stamp(), 0});
    return true;
  });
  if (!read) return read.err();
  const auto uses = uses_of(db);
  for (auto& e : all)
    if (const auto at = uses.find(e.entry.key); at != uses.end()) e.used = std::max(e.used, at->second);
  std::sort(all.begin(), all.end(), [](const dated& a, const dated& b) {
    return a.used != b.used ? a.used < b.used : a.entry.record < b.entry.record;
  });
  std::vector<old_cache_entry> out;
  out.reserve(all.size());
  for (const auto& e : all) out.push_back(e.entry);
  return out;
}

} // namespace attune::storage
