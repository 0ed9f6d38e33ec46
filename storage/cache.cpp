#include "storage/cache.hpp"

#include <algorithm>
#include <cstring>

namespace attune::storage {

const char* to_string(miss_cause c) noexcept {
  switch (c) {
  case miss_cause::unseen:
    return "new";
  case miss_cause::other_target:
    return "target";
  case miss_cause::other_source:
    return "source";
  case miss_cause::other_method:
    return "method";
  case miss_cause::evicted_before:
    return "evicted";
  case miss_cause::stopped_early:
    return "stopped_early";
  }
  return "new";
}

std::uint64_t cache_cost(std::size_t canonical, const outcome& o) noexcept {
  std::uint64_t sum = sizeof(cached) + canonical + sizeof(outcome) + o.runner.size();
  for (const auto& note : o.notes) sum += sizeof(std::string) + note.size();
  if (const auto* m = o.measured()) {
    sum += m->samples.size() * sizeof(double);
    for (const auto& [name, value] : m->metrics) sum += sizeof(std::string) + sizeof(double) + name.size();
  } else if (const auto* f = o.failed()) {
    sum += f->message.size();
  } else if (const auto* b = o.bounded()) {
    sum += b->samples.size() * sizeof(double);
  }
  return sum;
}

std::uint64_t cached::bytes() const noexcept {
  return result ? cache_cost(canonical.size(), *result) : sizeof(cached) + canonical.size();
}

namespace {

constexpr std::size_t first_slots = 64;
constexpr std::size_t most_memories = std::size_t{1} << 20;

std::uint64_t word(const digest& d) noexcept {
  std::uint64_t w = 0;
  std::memcpy(&w, d.bytes.data(), sizeof w);
  return w;
}

/// The `source.*` fields of a method's canonical form (core/task.cpp: `name=length:text;`), and the rest.
std::pair<std::uint64_t, std::uint64_t> method_parts(std::string_view form) {
  std::string sources, rest;
  const auto start = form.find(':');
  std::size_t at = start == form.npos ? form.size() : start + 1;
  while (at < form.size()) {
    const auto equals = form.find('=', at);
    const auto colon = equals == form.npos ? form.npos : form.find(':', equals);
    if (colon == form.npos) break;
    std::size_t length = 0;
    for (auto i = equals + 1; i < colon; ++i) {
      if (form[i] < '0' || form[i] > '9' || length > form.size()) return {0, hash64(form)};
      length = 10 * length + static_cast<std::size_t>(form[i] - '0');
    }
    const auto end = std::min(form.size(), colon + 1 + length + 1);
    (form.substr(at).starts_with("source.") ? sources : rest) += form.substr(at, end - at);
    at = end;
  }
  return {hash64(sources), hash64(rest)};
}

} // namespace

miss_cause difference(bool same_target, std::string_view method_form_a, std::string_view method_form_b) {
  if (!same_target) return miss_cause::other_target;
  return method_parts(method_form_a).first != method_parts(method_form_b).first ? miss_cause::other_source
                                                                                : miss_cause::other_method;
}

lru_cache::lru_cache(cache_limits limits, bool above_store)
    : limits_(limits), above_store_(above_store), slots_(first_slots, none), memories_(first_slots) {}

lru_cache::index lru_cache::relation_of(const task_identity& id) {
  if (last_relation_ != none && relations_[last_relation_].task == id.task_key) return last_relation_;
  if (relations_.size() >= forgets_at_ && !relation_by_task_.contains(std::string(id.task_key.view()))) forget_tasks();
  const auto [at, fresh] =
      relation_by_task_.try_emplace(std::string(id.task_key.view()), static_cast<index>(relations_.size()));
  if (fresh) {
    const auto [sources, method] = method_parts(id.method_form);
    relations_.push_back({id.task_key, word(id.workload_key), word(id.target_key), sources, method, 0, 0, false});
  }
  return last_relation_ = at->second;
}

/// Those that no entry is of, and of which there is nothing to be told.
void lru_cache::forget_tasks() {
  std::vector<index> place(relations_.size(), none); ///< the new one of each that stays
  std::vector<relation> stay;
  const auto keep = [&](index& n) {
    if (place[n] == none) {
      place[n] = static_cast<index>(stay.size());
      stay.push_back(relations_[n]);
    }
    n = place[n];
  };
  for (index n = oldest_; n != none; n = nodes_[n].newer) keep(nodes_[n].task);
  for (auto& n : asked_tasks_) keep(n);
  for (auto& m : memories_)
    if (m.task != none) m.task = place[m.task];
  relations_ = std::move(stay);
  relation_by_task_.clear();
  for (index n = 0; n < relations_.size(); ++n) relation_by_task_.emplace(relations_[n].task.view(), n);
  last_relation_ = none;
  forgot_ = true;
  forgets_at_ = std::max(most_relations, 2 * relations_.size());
}

std::size_t lru_cache::slot_of(const key128& key) const noexcept {
  // The slot that holds the key, or the empty one where it belongs. The table is never full.
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = std::hash<key128>()(key) & mask;
  while (slots_[at] != none && nodes_[slots_[at]].entry.key != key) at = (at + 1) & mask;
  return at;
}

lru_cache::index lru_cache::find(const key128& key) const noexcept { return slots_[slot_of(key)]; }

void lru_cache::unlink(index n) noexcept {
  node& x = nodes_[n];
  (x.newer == none ? newest_ : nodes_[x.newer].older) = x.older;
  (x.older == none ? oldest_ : nodes_[x.older].newer) = x.newer;
}

void lru_cache::link_newest(index n) noexcept {
  node& x = nodes_[n];
  x.newer = none;
  x.older = newest_;
  (newest_ == none ? oldest_ : nodes_[newest_].newer) = n;
  newest_ = n;
}

void lru_cache::use(index n, bool fresh) noexcept {
  node& x = nodes_[n];
  x.fresh = fresh;
  if (n != newest_) {
    unlink(n);
    link_newest(n);
  }
  if (!above_store_ || !x.below || x.used_in == epoch_) return;
  x.used_in = epoch_;
  ++recent_;
}

const cached* lru_cache::lookup(const trial& t, miss_cause otherwise) {
  const index n = find(t.key);
  relation& of = relations_[relation_of(t.of->identity)];
  if (of.hits + of.misses == 0) asked_tasks_.push_back(last_relation_);
  if (n != none) {
    node& x = nodes_[n];
    if (x.entry.canonical == t.canonical && x.entry.task == t.of->identity.task_key) {
      if (x.entry.result && !answers(*x.entry.result, t)) {
        ++counted_.misses;
        ++of.misses;
        ++counted_.causes[static_cast<std::size_t>(miss_cause::stopped_early)];
        return nullptr;
      }
      use(n, false);
      ++counted_.hits;
      ++of.hits;
      if (x.entry.result) counted_.saved += x.entry.result->phases.build + x.entry.result->phases.run;
      return &x.entry;
    }
  }
  ++counted_.misses;
  ++of.misses;
  const auto cause = cause_of(t);
  ++counted_.causes[static_cast<std::size_t>(cause == miss_cause::unseen ? otherwise : cause)];
  return nullptr;
}

void lru_cache::remove(index n) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t hole = slot_of(nodes_[n].entry.key);
  // Linear probing without tombstones: what follows is moved up where its own place allows.
  for (std::size_t at = (hole + 1) & mask; slots_[at] != none; at = (at + 1) & mask) {
    const std::size_t home = std::hash<key128>()(nodes_[slots_[at]].entry.key) & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    slots_[hole] = slots_[at];
    hole = at;
  }
  slots_[hole] = none;
  unlink(n);
  if (above_store_ && nodes_[n].below && nodes_[n].used_in == epoch_) --recent_;
  bytes_ -= nodes_[n].entry.bytes();
  nodes_[n].entry = {};
  free_.push_back(n);
  --used_;
}

void lru_cache::grow_slots() {
  std::vector<index> old(slots_.size() * 2, none);
  old.swap(slots_);
  for (const index n : old)
    if (n != none) slots_[slot_of(nodes_[n].entry.key)] = n;
}

void lru_cache::pass_down(index n) {
  const node& x = nodes_[n];
  if (!x.below) return;
  relations_[x.task].below = true;
  if (x.used_in == epoch_) passed_.push_back({x.entry.key, x.entry.record, x.fresh});
}

std::vector<key128> lru_cache::put(cached entry, index task, bool below) {
  std::vector<key128> gone;
  if (const index old = find(entry.key); old != none) remove(old);
  if (2 * (used_ + 1) > slots_.size()) grow_slots();
  remember(hash64(entry.canonical, relations_[task].workload), task);
  index n = none;
  if (free_.empty()) {
    n = static_cast<index>(nodes_.size());
    nodes_.emplace_back();
  } else {
    n = free_.back();
    free_.pop_back();
  }
  node& x = nodes_[n];
  x.entry = std::move(entry);
  x.task = task;
  x.below = below;
  x.used_in = 0;
  slots_[slot_of(x.entry.key)] = n;
  ++used_;
  bytes_ += x.entry.bytes();
  link_newest(n);
  // The newest stays above a store, whatever its size: it is about to be used.
  while (used_ > (above_store_ ? 1u : 0u) && (used_ > limits_.entries || bytes_ > limits_.bytes)) {
    above_store_ ? pass_down(oldest_) : gone.push_back(nodes_[oldest_].entry.key);
    remove(oldest_);
  }
  return gone;
}

std::vector<key128> lru_cache::insert(const trial& t, outcome_ptr result, record_id record, bool below) {
  const auto& id = t.of->identity;
  if (result && below) counted_.spent += result->phases.build + result->phases.run;
  auto gone = put({t.key, id.task_key, t.canonical, record, std::move(result)}, relation_of(id), below);
  if (above_store_) use(newest_, true);
  counted_.evicted += gone.size();
  return gone;
}

void lru_cache::restore(const trial& t, cached entry) { put(std::move(entry), relation_of(t.of->identity), true); }

std::vector<cache_use> lru_cache::take_used() {
  std::vector<cache_use> recent;
  recent.reserve(recent_ + passed_.size());
  // What was restored and not used may lie between.
  for (index n = newest_; n != none && recent_ > 0; n = nodes_[n].older) {
    const node& x = nodes_[n];
    if (!x.below || x.used_in != epoch_) continue;
    recent.push_back({x.entry.key, x.entry.record, x.fresh});
    --recent_;
  }
  std::reverse(recent.begin(), recent.end());
  ++epoch_;
  recent_ = 0;
  if (passed_.empty()) return recent;
  passed_.insert(passed_.end(), recent.begin(), recent.end());
  return std::exchange(passed_, {});
}

std::vector<task_uses> lru_cache::take_task_uses() {
  std::vector<task_uses> out;
  out.reserve(asked_tasks_.size());
  for (const auto n : asked_tasks_)
    out.push_back({relations_[n].task, std::exchange(relations_[n].hits, 0), std::exchange(relations_[n].misses, 0)});
  asked_tasks_.clear();
  return out;
}

bool lru_cache::below(const digest& task) const {
  const auto at = relation_by_task_.find(std::string(task.view()));
  return at == relation_by_task_.end() ? above_store_ && forgot_ : relations_[at->second].below;
}

std::uint64_t lru_cache::invalidate(std::string_view task) {
  std::uint64_t count = 0;
  for (index n = oldest_; n != none;) {
    const index next = nodes_[n].newer;
    const auto& of = nodes_[n].entry.task;
    if (of.view() == task || (task.size() == 64 && of.hex() == task)) {
      remove(n);
      ++count;
    }
    n = next;
  }
  return count;
}

void lru_cache::visit(const std::function<void(const cached&)>& each) const {
  for (index n = oldest_; n != none; n = nodes_[n].newer) each(nodes_[n].entry);
}

void lru_cache::remember(std::uint64_t hash, index task) {
  if (used_ > memories_.size() && memories_.size() < most_memories) {
    std::vector<memory> old(memories_.size() * 2);
    old.swap(memories_);
    for (const auto& m : old)
      if (m.task != none) memories_[m.hash & (memories_.size() - 1)] = m;
  }
  memories_[hash & (memories_.size() - 1)] = {hash, task};
}

miss_cause lru_cache::cause_of(const trial& t) {
  const auto& id = t.of->identity;
  const auto hash = hash64(t.canonical, word(id.workload_key));
  const memory& m = memories_[hash & (memories_.size() - 1)];
  if (m.task == none || m.hash != hash) return miss_cause::unseen;
  const relation& was = relations_[m.task];
  if (was.task == id.task_key) return miss_cause::evicted_before;
  const relation& now = relations_[relation_of(id)];
  if (relations_[m.task].target != now.target) return miss_cause::other_target;
  if (relations_[m.task].sources != now.sources) return miss_cause::other_source;
  return miss_cause::other_method;
}

cache_figures lru_cache::statistics() const noexcept {
  cache_figures out = counted_;
  out.entries = used_;
  out.bytes = bytes_;
  return out;
}

} // namespace attune::storage
