#pragma once

#include "schedulers/share_terms.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attune::schedulers {

/// How many trials each client may have in flight (proposed, not told): the end of the back pressure that the tuners
/// feel.
///
/// The window of a client is constant while clients and slots are, so that its sequence of asks and tells depends on
/// nothing but the order of its results (DESIGN.md, rule 9): a result brings its own credit back. Windows change only
/// when a client comes or goes, or when the slots change; then the ledger says whose. Thread-safety: one owner.
class credit_ledger {
public:
  struct window {
    std::uint64_t client = 0;
    std::uint32_t credits = 0;
    friend bool operator==(const window&, const window&) = default;
  };

  /// The total to be shared, at least one for each client whatever it is: one each, then one by one to the client whose
  /// weight over its credits and one more is the largest (D'Hondt's method; with equal weights round after round in the
  /// order of arrival), nobody beyond its wish, nor an owner beyond its limit; what nobody may have stays unused. An
  /// owner's weight is its clients' together, by their parts. Returns the windows that changed.
  std::vector<window> set_total(std::uint32_t total);
  /// A client comes; `wish` is the most that it can use (0: no limit of its own). One that is here already changes its
  /// wish and keeps its place in the order. Clients of one `party` (0: none) count as one and have one window, each the
  /// whole of it: who of them uses it is theirs to agree on. Returns the windows that changed.
  std::vector<window> attach(std::uint64_t client, std::uint32_t wish = 0, std::uint64_t party = 0,
                             const share_terms& terms = {});
  /// Other terms for a client that is here. Returns the windows that changed.
  std::vector<window> change(std::uint64_t client, const share_terms& terms);
  /// A client goes. Returns the windows that changed.
  std::vector<window> detach(std::uint64_t client);
  /// The window of a client; 0 for an unknown one.
  std::uint32_t of(std::uint64_t client) const noexcept;
  std::size_t clients() const noexcept { return entries_.size(); }

private:
  struct entry {
    std::uint64_t client = 0;
    std::uint32_t wish = 0, now = 0;
    std::uint64_t party = 0;
    share_terms terms{};
  };
  std::vector<window> share();
  void share_rounds(std::vector<std::uint32_t>& next, const std::vector<std::size_t>& stands_for,
                    std::uint64_t left) const;
  void share_by_weight(std::vector<std::uint32_t>& next, const std::vector<std::size_t>& stands_for,
                       std::uint64_t left) const;
  std::vector<entry> entries_;
  std::uint32_t total_ = 1;
};

} // namespace attune::schedulers
