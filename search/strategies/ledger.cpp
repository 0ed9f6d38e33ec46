#include "search/strategies/ledger.hpp"

#include "core/hash.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace attune::search {

uint128 ledger::key(std::span<const std::uint32_t> p) const {
  if (space_->count())
    if (const auto i = space_->index_of(p)) return *i;
  const std::string_view bytes(reinterpret_cast<const char*>(p.data()), p.size_bytes());
  // Bit 127 keeps the hashes apart from the indices.
  return static_cast<uint128>(hash64(bytes, 1) | std::uint64_t{1} << 63) << 64 | hash64(bytes, 2);
}

void ledger::propose(std::span<const std::uint32_t> p) {
  known_.insert(key(p));
  pending_.emplace_back(p.begin(), p.end());
}

bool ledger::tell(std::span<const std::uint32_t> p, const observation& o) {
  const auto at = std::find_if(pending_.begin(), pending_.end(),
                               [p](const point& q) { return std::equal(q.begin(), q.end(), p.begin(), p.end()); });
  const bool foreign = at == pending_.end();
  if (!foreign) pending_.erase(at);
  if (o.what == observation::status::dropped) return false;
  known_.insert(key(p));
  told_trial t{point(p.begin(), p.end()), o.what, o.cost, foreign};
  if (t.what != observation::status::failed && !std::isfinite(t.cost)) t.what = observation::status::failed;
  if (t.what == observation::status::failed) {
    t.cost = 0;
    ++failures_;
  }
  told_.push_back(std::move(t));
  if (told_.back().what == observation::status::measured) {
    ++measured_;
    if (best_ == none || told_.back().cost < told_[best_].cost) best_ = told_.size() - 1;
  }
  return true;
}

} // namespace attune::search
