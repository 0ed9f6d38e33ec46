#include "storage/cache_book.hpp"

#include "storage/convert.hpp"
#include "storage/keys.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace attune::storage {

namespace {

rocksdb::Slice book_slice(std::string_view s) { return {s.data(), s.size()}; }

std::optional<cache_book::entry> parsed(std::string_view text) {
  v1::CacheEntry m;
  if (!m.ParseFromArray(text.data(), static_cast<int>(text.size()))) return std::nullopt;
  return cache_book::entry{m.task(), m.record(), m.stamp(), m.bytes()};
}

} // namespace

status cache_book::load(std::uint64_t& stamp) {
  std::string text;
  const auto got = db_.get(family::meta, keys::tagged(keys::cache_totals), text);
  if (!got) return got.err();
  v1::CacheTotals m;
  if (*got && !m.ParseFromString(text)) return convert::damaged("the sums of the cache cannot be read");
  now_ = {m.entries(), m.bytes(), m.oldest(), m.remembered(), m.oldest_remembered(), m.stamp()};
  stamp = std::max(stamp, now_.stamp);
  auto read = db_.scan(family::meta, keys::tagged(keys::use_log), [&](std::string_view, std::string_view row) {
    for (; row.size() >= 24; row.remove_prefix(24)) {
      const auto used = keys::get<std::uint64_t>(row, 16);
      auto& last = later_[*key128::from_bytes(row.substr(0, 16))];
      last = std::max(last, used);
      stamp = std::max(stamp, used);
    }
    return true;
  });
  if (!read) return read;
  last_used_ = last_used_before_ = stamp;
  before_ = now_;
  shown_entries_ = now_.entries;
  shown_bytes_ = now_.bytes;
  return {};
}

std::optional<cache_book::entry> cache_book::find(const key128& key) const {
  std::string text;
  const auto got = db_.get(family::cache, key.view(), text);
  if (!got || !*got) return std::nullopt;
  return parsed(text);
}

std::vector<std::optional<cache_book::entry>> cache_book::find(std::span<const key128> keys) const {
  std::vector<std::optional<entry>> out(keys.size());
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  std::vector<std::string_view> sorted;
  sorted.reserve(keys.size());
  for (const auto i : order) sorted.push_back(keys[i].view());
  // What cannot be read is not there, as above.
  [[maybe_unused]] const auto read =
      db_.get_many(family::cache, sorted, [&](std::size_t i, std::string_view text) { out[order[i]] = parsed(text); });
  return out;
}

std::optional<cache_book::entry> cache_book::current(const key128& key) const {
  if (const auto at = staged_.find(key); at != staged_.end()) return at->second;
  return find(key);
}

void cache_book::begin(rocksdb::WriteBatch& into, std::uint64_t& stamp) {
  batch_ = &into;
  stamp_ = &stamp;
  staged_.clear();
  before_ = now_;
  last_used_before_ = last_used_;
}

void cache_book::put_entry(const key128& key, const entry& e) {
  entry_message_.set_task(e.task);
  entry_message_.set_record(e.record);
  entry_message_.set_stamp(e.stamp);
  entry_message_.set_bytes(e.bytes);
  value_.clear();
  entry_message_.AppendToString(&value_);
  batch_->Put(db_.handle(family::cache), book_slice(key.view()), book_slice(value_));
}

void cache_book::put_place(const key128& key, const entry& e) {
  place_message_.set_key(key.bytes.data(), key.bytes.size());
  value_.clear();
  place_message_.AppendToString(&value_);
  batch_->Put(db_.handle(family::cache),
              book_slice(keys::of_place(e.record != 0 ? keys::order : keys::evicted, e.stamp)), book_slice(value_));
}

void cache_book::write(const key128& key, const entry& e) {
  put_entry(key, e);
  put_place(key, e);
  staged_[key] = e;
}

void cache_book::adopt(const key128& key, std::uint32_t task, record_id record, std::uint64_t bytes) {
  const entry e{task, record, ++*stamp_, bytes};
  put_entry(key, e);
  put_place(key, e);
  if (now_.entries++ == 0) now_.oldest = *stamp_;
  now_.bytes += bytes;
  now_.stamp = last_used_ = *stamp_;
}

void cache_book::take_out(const key128& key, const entry& e) {
  const bool there = e.record != 0;
  batch_->Delete(db_.handle(family::cache), book_slice(keys::of_place(there ? keys::order : keys::evicted, e.stamp)));
  staged_[key] = std::nullopt;
  if (there) {
    now_.entries -= std::min<std::uint64_t>(now_.entries, 1);
    now_.bytes -= std::min(now_.bytes, e.bytes);
  } else {
    now_.remembered -= std::min<std::uint64_t>(now_.remembered, 1);
  }
}

void cache_book::put(const key128& key, std::uint32_t task, record_id record, std::uint64_t bytes,
                     const std::optional<entry>* on_disk) {
  const auto staged = staged_.find(key);
  const auto old = staged != staged_.end() ? staged->second : on_disk != nullptr ? *on_disk : find(key);
  if (old) take_out(key, *old);
  write(key, {task, record, ++*stamp_, bytes});
  if (now_.entries++ == 0) now_.oldest = *stamp_;
  now_.bytes += bytes;
}

bool cache_book::at_ease(const cache_limits& limits, std::uint64_t more) const noexcept {
  const auto near = [](std::uint64_t is, std::uint64_t most) { return most / 10 * 9 <= is; };
  return now_.remembered == 0 && !near(now_.entries + more, limits.entries) && !near(now_.bytes, limits.bytes);
}

std::vector<std::pair<std::uint64_t, key128>> cache_book::log() const {
  std::vector<std::pair<std::uint64_t, key128>> out;
  {
    const std::lock_guard guard(later_lock_);
    out.reserve(later_.size());
    for (const auto& [key, stamp] : later_) out.emplace_back(stamp, key);
  }
  std::sort(out.begin(), out.end());
  return out;
}

void cache_book::fold() {
  if (later_.empty()) return;
  for (const auto& [stamp, key] : log()) {
    auto e = current(key);
    if (!e || e->record == 0 || e->stamp >= stamp) continue;
    batch_->Delete(db_.handle(family::cache), book_slice(keys::of_place(keys::order, e->stamp)));
    e->stamp = stamp;
    write(key, *e);
  }
  std::string behind(1, static_cast<char>(keys::use_log + 1));
  batch_->DeleteRange(db_.handle(family::meta), book_slice(keys::tagged(keys::use_log)), book_slice(behind));
  const std::lock_guard guard(later_lock_);
  before_fold_.swap(later_);
  later_.clear();
  folded_ = true;
}

bool cache_book::use(const key128& key, bool fresh) {
  if (logging_ && !fresh) {
    last_used_ = ++*stamp_;
    if (log_row_.empty()) log_first_ = *stamp_;
    log_row_ += key.view();
    keys::put(log_row_, *stamp_);
    const std::lock_guard guard(later_lock_);
    auto [at, added] = later_.try_emplace(key, *stamp_);
    undo_.emplace_back(key, added ? std::nullopt : std::optional(at->second));
    at->second = *stamp_;
    return true;
  }
  auto e = current(key);
  if (!e || e->record == 0) return false;
  if (fresh && e->stamp > last_used_) {
    last_used_ = e->stamp;
    return true;
  }
  batch_->Delete(db_.handle(family::cache), book_slice(keys::of_place(keys::order, e->stamp)));
  last_used_ = e->stamp = ++*stamp_;
  if (!together_) {
    write(key, *e);
    return true;
  }
  put_place(key, *e);
  rows_.emplace_back(key, *e);
  staged_[key] = e;
  return true;
}

void cache_book::end_uses() {
  together_ = logging_ = false;
  if (!log_row_.empty()) {
    batch_->Put(db_.handle(family::meta), book_slice(keys::of_log(log_first_)), book_slice(log_row_));
    log_row_.clear();
  }
  std::sort(rows_.begin(), rows_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, e] : rows_)
    if (const auto at = staged_.find(key); at != staged_.end() && at->second == e) put_entry(key, e);
  rows_.clear();
}

bool cache_book::drop(const key128& key) {
  const auto e = current(key);
  if (!e) return false;
  take_out(key, *e);
  batch_->Delete(db_.handle(family::cache), book_slice(key.view()));
  return e->record != 0;
}

void cache_book::evict(const key128& key, const entry& e) {
  take_out(key, e);
  if (now_.remembered++ == 0) now_.oldest_remembered = *stamp_ + 1;
  write(key, {e.task, 0, ++*stamp_, 0});
}

/// Each place that still holds, oldest first, until `visit` answers false; a place that nothing has is taken out. Those
/// on the disk, then those of the write that is being made.
template <class Visit>
void cache_book::walk(char tag, std::uint64_t from, const Visit& visit) {
  const auto holds = [&](const std::optional<entry>& e, std::uint64_t stamp) {
    return e && e->stamp == stamp && (e->record != 0) == (tag == keys::order);
  };
  const auto it = db_.iterate(family::cache);
  for (it->Seek(book_slice(keys::of_place(tag, from))); it->Valid() && it->key()[0] == tag; it->Next()) {
    if (it->key().size() != keys::place_size) continue;
    const auto stamp = keys::get<std::uint64_t>({it->key().data(), it->key().size()}, 1);
    key128 key;
    const bool read = place_message_.ParseFromArray(it->value().data(), static_cast<int>(it->value().size())) &&
                      convert::from(place_message_.key(), key).ok();
    const auto e = read ? current(key) : std::nullopt;
    if (!holds(e, stamp)) {
      batch_->Delete(db_.handle(family::cache), it->key());
      continue;
    }
    if (!visit(key, *e)) return;
  }
  std::vector<std::pair<std::uint64_t, key128>> rest;
  for (const auto& [key, e] : staged_)
    if (e && holds(e, e->stamp)) rest.emplace_back(e->stamp, key);
  std::sort(rest.begin(), rest.end());
  for (const auto& [stamp, key] : rest)
    if (const auto e = current(key); holds(e, stamp) && !visit(key, *e)) return;
}

void cache_book::forget_evicted(std::uint64_t most) {
  if (now_.remembered <= most) return;
  std::vector<std::pair<key128, entry>> gone;
  walk(keys::evicted, now_.oldest_remembered, [&](const key128& key, const entry& e) {
    now_.oldest_remembered = e.stamp;
    if (now_.remembered - gone.size() <= most) return false;
    gone.emplace_back(key, e);
    return true;
  });
  for (const auto& [key, e] : gone) {
    take_out(key, e);
    batch_->Delete(db_.handle(family::cache), book_slice(key.view()));
  }
}

std::uint64_t cache_book::trim(const cache_limits& limits) {
  if (!over(limits)) return 0;
  // Places that are made in this write come last in walk(): the next write evicts.
  fold();
  if (folded_) return 0;
  std::vector<std::pair<key128, entry>> gone;
  std::uint64_t entries = now_.entries, bytes = now_.bytes;
  walk(keys::order, now_.oldest, [&](const key128& key, const entry& e) {
    now_.oldest = e.stamp;
    if (entries <= limits.entries && bytes <= limits.bytes) return false;
    --entries;
    bytes -= std::min(bytes, e.bytes);
    gone.emplace_back(key, e);
    return true;
  });
  for (const auto& [key, e] : gone) evict(key, e);
  forget_evicted(limits.entries);
  return gone.size();
}

void cache_book::finish() {
  if (!staged_.empty()) now_.stamp = *stamp_;
  if (now_ == before_) return;
  v1::CacheTotals m;
  m.set_entries(now_.entries);
  m.set_bytes(now_.bytes);
  m.set_oldest(now_.oldest);
  m.set_remembered(now_.remembered);
  m.set_oldest_remembered(now_.oldest_remembered);
  m.set_stamp(now_.stamp);
  batch_->Put(db_.handle(family::meta), book_slice(keys::tagged(keys::cache_totals)),
              book_slice(m.SerializeAsString()));
}

void cache_book::committed() {
  undo_.clear();
  folded_ = false;
  before_fold_.clear();
  shown_entries_ = now_.entries;
  shown_bytes_ = now_.bytes;
  before_ = now_;
  last_used_before_ = last_used_;
  staged_.clear();
}

void cache_book::abandoned() {
  together_ = logging_ = false;
  log_row_.clear();
  {
    const std::lock_guard guard(later_lock_);
    if (std::exchange(folded_, false)) later_.swap(before_fold_);
    before_fold_.clear();
    for (auto u = undo_.rbegin(); u != undo_.rend(); ++u) {
      if (u->second)
        later_[u->first] = *u->second;
      else
        later_.erase(u->first);
    }
    undo_.clear();
  }
  rows_.clear();
  now_ = before_;
  last_used_ = last_used_before_;
  staged_.clear();
}

} // namespace attune::storage
