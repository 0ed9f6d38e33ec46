#pragma once

#include "schedulers/share_terms.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace attune::schedulers {

/// A first-in first-out queue for each client, served in proportion to weights: first among owners, then among the
/// clients of the owner whose turn it is. Stride scheduling (Waldspurger, Weihl, Stride Scheduling: Deterministic
/// Proportional-Share Resource Management, 1995): each owner, and each client within it, has a pass; the lowest is
/// served and moves on by the item's cost over its weight. With equal weights and costs that is round robin: a client
/// with a thousand waiting items delays another's first item by one turn.
///
/// What an item costs is known at its end (settle()); until then it counts as what its client's items cost lately, so
/// that many at once do not all go to one (their Section 3.2, nonuniform quanta), and before one of them is settled as
/// what the others' cost. Costs are counted in units of the first that was settled: before, and where nothing is
/// settled, each costs one. A new owner begins one such turn behind.
///
/// Nobody starves: every weight is above zero, so every pass is the lowest after finitely many turns of the others.
/// Nobody saves up: who had nothing queued, or nothing that fitted, goes on from where the others are, and is the next
/// one looked at. Thread-safety: one owner. push is O(clients), pop_if O(clients · those that it asks), remove_if
/// O(size).
template <class T>
class fair_queue {
public:
  /// From now on; before, a client is its own owner with weight 1. @pre weight and part are above 0
  void terms(std::uint64_t client, const share_terms& what) {
    auto& l = lane_of(client);
    const bool moves = what.owner != l.terms.owner;
    l.terms = what;
    if (moves) {
      l.party = party_of(client, what);
      const auto same = std::find_if(lanes_.begin(), lanes_.end(),
                                     [&](const lane& o) { return o.client != client && o.party == l.party; });
      l.pass = same == lanes_.end() ? 0 : party(l).now;
      drop_parties();
    }
    party(l).weight = what.weight;
  }
  /// Adds at the end of the client's queue.
  void push(std::uint64_t client, T item) {
    active(client).items.push_back(std::move(item));
    ++size_;
  }
  /// Adds at the front of the client's queue: what was taken and must be done again goes first.
  void push_front(std::uint64_t client, T item) {
    active(client).items.push_front(std::move(item));
    ++size_;
  }
  /// Takes the first item that `fits`, looking at the front of each client's queue in turn (of equal passes: who has
  /// not been served for the longest time first, a new one last), and charges what it is expected to cost; none if no
  /// front fits. `fits` is called at most once for each client, and no more after it has said yes.
  template <class Predicate>
  std::optional<T> pop_if(Predicate fits) {
    ++round_;
    for (;;) {
      lane* best = nullptr;
      for (auto& l : lanes_)
        if (!l.items.empty() && l.round != round_ && (best == nullptr || before(l, *best))) best = &l;
      if (best == nullptr) return std::nullopt;
      best->round = round_;
      if (!fits(best->items.front())) continue;
      return serve(*best);
    }
  }
  /// What an item of the client is taken to cost now, in the queue's units.
  double expected(std::uint64_t client) const {
    for (const auto& l : lanes_)
      if (l.client == client) return l.typical;
    return 1;
  }
  /// An item of the client for which expected() was charged has cost `cost` (in the caller's units, all of them the
  /// same), at least 0. Unknown clients are ignored.
  void settle(std::uint64_t client, double charged, double cost) {
    if (unit_ == 0) unit_ = cost;
    if (unit_ > 0) cost /= unit_;
    for (auto& l : lanes_) {
      if (l.client != client) continue;
      charge(l, cost - charged);
      l.typical = l.settled ? l.typical + (cost - l.typical) / 8 : cost;
      l.settled = true;
    }
  }
  /// It was not done: what was charged for it is given back.
  void refund(std::uint64_t client, double charged) {
    for (auto& l : lanes_)
      if (l.client == client) charge(l, -charged);
  }
  /// Removes every item that `doomed` accepts and hands it over. Turns stay as they are.
  void remove_if(const std::function<bool(const T&)>& doomed, const std::function<void(T)>& removed) {
    for (auto& l : lanes_) {
      std::deque<T> kept;
      for (auto& item : l.items) {
        if (doomed(item)) {
          --size_;
          removed(std::move(item));
        } else {
          kept.push_back(std::move(item));
        }
      }
      l.items.swap(kept);
    }
  }
  /// Forgets a client that has nothing queued; with items queued it stays.
  void forget(std::uint64_t client) {
    std::erase_if(lanes_, [client](const lane& l) { return l.client == client && l.items.empty(); });
    drop_parties();
  }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

private:
  struct owner {
    std::uint64_t id = 0; ///< odd for owners, even for clients that are their own
    double weight = 1, pass = 0;
    double now = 0; ///< where its own clients are: the pass of the last one served
  };
  struct lane {
    std::uint64_t client = 0, party = 0;
    share_terms terms;
    double pass = 0, typical = 1;
    bool settled = false;
    std::uint64_t round = 0;
    std::deque<T> items;
  };

  /// What an item costs of whose one is settled, on average.
  double usual() const {
    double sum = 0;
    std::size_t n = 0;
    for (const auto& l : lanes_)
      if (l.settled) sum += l.typical, ++n;
    return n == 0 ? 1 : sum / static_cast<double>(n);
  }
  static std::uint64_t party_id(std::uint64_t client, const share_terms& t) {
    return t.owner == 0 ? client * 2 : t.owner * 2 + 1;
  }
  std::size_t rank(std::uint64_t id) const {
    std::size_t i = 0;
    while (owners_[i].id != id) ++i;
    return i;
  }
  owner& party(const lane& l) { return owners_[rank(l.party)]; }
  const owner& party(const lane& l) const { return owners_[rank(l.party)]; }
  std::uint64_t party_of(std::uint64_t client, const share_terms& t) {
    const auto id = party_id(client, t);
    if (std::none_of(owners_.begin(), owners_.end(), [id](const owner& o) { return o.id == id; }))
      owners_.push_back({id, t.weight, now_ + usual() / t.weight, 0});
    return id;
  }
  void drop_parties() {
    std::erase_if(owners_, [this](const owner& o) {
      return std::none_of(lanes_.begin(), lanes_.end(), [&](const lane& l) { return l.party == o.id; });
    });
  }
  lane& lane_of(std::uint64_t client) {
    for (auto& l : lanes_)
      if (l.client == client) return l;
    lane made;
    made.client = client;
    made.party = party_of(client, made.terms);
    made.typical = usual();
    lanes_.push_back(std::move(made));
    return lanes_.back();
  }
  /// The client's lane, which is about to have something: who had nothing has not saved up.
  lane& active(std::uint64_t client) {
    auto& l = lane_of(client);
    if (!l.items.empty()) return l;
    auto& o = party(l);
    const bool idle = std::none_of(lanes_.begin(), lanes_.end(),
                                   [&](const lane& other) { return other.party == o.id && !other.items.empty(); });
    if (idle) o.pass = std::max(o.pass, now_);
    l.pass = std::max(l.pass, o.now);
    return l;
  }
  /// Lanes stand in the order of their last turns, and so do owners.
  bool before(const lane& a, const lane& b) const {
    if (a.party != b.party) {
      const auto ra = rank(a.party), rb = rank(b.party);
      const double pa = owners_[ra].pass, pb = owners_[rb].pass;
      return pa != pb ? pa < pb : ra < rb;
    }
    return a.pass < b.pass; // of equal ones the first in the order is looked at first
  }
  void charge(lane& l, double cost) {
    auto& o = party(l);
    o.pass += cost / o.weight;
    l.pass += cost * l.terms.among / l.terms.part;
  }
  std::optional<T> serve(lane& l) {
    std::optional<T> out(std::move(l.items.front()));
    l.items.pop_front();
    --size_;
    auto& mine = party(l);
    now_ = std::max(now_, mine.pass);
    mine.now = std::max(mine.now, l.pass);
    // Who was asked and had nothing that fitted has not saved up either.
    for (auto& other : lanes_) {
      if (other.round != round_ || other.client == l.client) continue;
      if (other.party == l.party)
        other.pass = std::max(other.pass, l.pass);
      else
        party(other).pass = std::max(party(other).pass, mine.pass);
    }
    charge(l, l.typical);
    const auto at = rank(l.party);
    std::rotate(owners_.begin() + static_cast<std::ptrdiff_t>(at),
                owners_.begin() + static_cast<std::ptrdiff_t>(at) + 1, owners_.end());
    const auto lane_at = &l - lanes_.data();
    std::rotate(lanes_.begin() + lane_at, lanes_.begin() + lane_at + 1, lanes_.end());
    return out;
  }

  std::vector<lane> lanes_;
  std::vector<owner> owners_;
  std::size_t size_ = 0;
  double unit_ = 0; ///< 0: nothing is settled
  double now_ = 0;  ///< the pass of the last owner served: where the others are
  std::uint64_t round_ = 0;
};

} // namespace attune::schedulers
