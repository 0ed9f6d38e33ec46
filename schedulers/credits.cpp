#include "schedulers/credits.hpp"

#include <algorithm>
#include <map>
#include <queue>

namespace attune::schedulers {

std::vector<credit_ledger::window> credit_ledger::set_total(std::uint32_t total) {
  total_ = total;
  return share();
}

std::vector<credit_ledger::window> credit_ledger::attach(std::uint64_t client, std::uint32_t wish, std::uint64_t party,
                                                         const share_terms& terms) {
  for (auto& e : entries_) {
    if (e.client != client) continue;
    e.wish = wish;
    e.terms = terms;
    return share();
  }
  entries_.push_back({client, wish, 0, party, terms});
  return share();
}

std::vector<credit_ledger::window> credit_ledger::change(std::uint64_t client, const share_terms& terms) {
  for (auto& e : entries_)
    if (e.client == client) e.terms = terms;
  return share();
}

std::vector<credit_ledger::window> credit_ledger::detach(std::uint64_t client) {
  std::erase_if(entries_, [&](const entry& e) { return e.client == client; });
  return share();
}

std::uint32_t credit_ledger::of(std::uint64_t client) const noexcept {
  for (const auto& e : entries_)
    if (e.client == client) return e.now;
  return 0;
}

/// Round after round in the order of arrival: whole rounds at once where everybody takes part keep this short for large
/// totals.
void credit_ledger::share_rounds(std::vector<std::uint32_t>& next, const std::vector<std::size_t>& stands_for,
                                 std::uint64_t left) const {
  for (bool moved = true; left > 0 && moved;) {
    moved = false;
    std::uint64_t wanting = 0, room = left;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (stands_for[i] != i || (entries_[i].wish != 0 && next[i] >= entries_[i].wish)) continue;
      ++wanting;
      if (entries_[i].wish != 0) room = std::min<std::uint64_t>(room, entries_[i].wish - next[i]);
    }
    if (wanting == 0) break;
    const auto rounds = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, std::min(room, left / wanting)));
    for (std::size_t i = 0; i < entries_.size() && left > 0; ++i) {
      if (stands_for[i] != i || (entries_[i].wish != 0 && next[i] >= entries_[i].wish)) continue;
      const auto take = static_cast<std::uint32_t>(std::min<std::uint64_t>(rounds, left));
      next[i] += take;
      left -= take;
      moved = true;
    }
  }
}

void credit_ledger::share_by_weight(std::vector<std::uint32_t>& next, const std::vector<std::size_t>& stands_for,
                                    std::uint64_t left) const {
  struct of_owner {
    double parts = 0;
    std::uint64_t have = 0;
  };
  std::map<std::uint64_t, of_owner> owners;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (stands_for[i] != i) continue;
    auto& o = owners[entries_[i].terms.owner];
    o.parts += entries_[i].terms.part;
    ++o.have;
  }
  struct claim {
    double strength = 0;
    std::size_t who = 0;
    bool operator<(const claim& o) const { return strength != o.strength ? strength < o.strength : who > o.who; }
  };
  std::priority_queue<claim> claims;
  const auto weight = [&](std::size_t i) {
    const auto& t = entries_[i].terms;
    return t.owner == 0 ? t.weight : t.weight * t.part / owners.at(t.owner).parts;
  };
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (stands_for[i] == i) claims.push({weight(i) / (next[i] + 1.0), i});
  while (left > 0 && !claims.empty()) {
    const auto i = claims.top().who;
    claims.pop();
    const auto& e = entries_[i];
    auto& o = owners.at(e.terms.owner);
    if ((e.wish != 0 && next[i] >= e.wish) || (e.terms.owner != 0 && e.terms.limit != 0 && o.have >= e.terms.limit))
      continue;
    ++next[i];
    ++o.have;
    --left;
    claims.push({weight(i) / (next[i] + 1.0), i});
  }
}

std::vector<credit_ledger::window> credit_ledger::share() {
  // One credit each at least. The first of a party stands for it.
  std::vector<std::uint32_t> next(entries_.size(), 1);
  std::vector<std::size_t> stands_for(entries_.size());
  std::size_t alone = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto same = [&](const entry& e) { return e.party != 0 && e.party == entries_[i].party; };
    const auto first = std::find_if(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(i), same);
    stands_for[i] = static_cast<std::size_t>(first - entries_.begin());
    if (stands_for[i] == i) ++alone;
  }
  const std::uint64_t left = total_ > alone ? total_ - alone : 0;
  if (std::all_of(entries_.begin(), entries_.end(), [](const entry& e) { return e.terms == share_terms{}; }))
    share_rounds(next, stands_for, left);
  else
    share_by_weight(next, stands_for, left);
  std::vector<window> changed;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    next[i] = next[stands_for[i]];
    if (entries_[i].now == next[i]) continue;
    entries_[i].now = next[i];
    changed.push_back({entries_[i].client, next[i]});
  }
  return changed;
}

} // namespace attune::schedulers
