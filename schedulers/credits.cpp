#include "schedulers/credits.hpp"

#include <algorithm>

namespace attune::schedulers {

std::vector<credit_ledger::window> credit_ledger::set_total(std::uint32_t total) {
  total_ = total;
  return share();
}

std::vector<credit_ledger::window> credit_ledger::attach(std::uint64_t client, std::uint32_t wish,
                                                         std::uint64_t party) {
  for (auto& e : entries_) {
    if (e.client != client) continue;
    e.wish = wish;
    return share();
  }
  entries_.push_back({client, wish, 0, party});
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

std::vector<credit_ledger::window> credit_ledger::share() {
  // One credit each, then round after round in the order of arrival until the total or every wish is met. The first of
  // a party stands for it.
  std::vector<std::uint32_t> next(entries_.size(), 1);
  std::vector<std::size_t> stands_for(entries_.size());
  std::size_t alone = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto same = [&](const entry& e) { return e.party != 0 && e.party == entries_[i].party; };
    const auto first = std::find_if(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(i), same);
    stands_for[i] = static_cast<std::size_t>(first - entries_.begin());
    if (stands_for[i] == i) ++alone;
  }
  std::uint64_t left = total_ > alone ? total_ - alone : 0;
  for (bool moved = true; left > 0 && moved;) {
    moved = false;
    // Whole rounds at once where everybody takes part keep this short for large totals.
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
