// The parameters of a space that constraints tie together, as one thing to ask; groups are independent of each other.
#pragma once

#include "search/diagram.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace attune::search {

/// The valid assignments of one group around a point, by their distance from it (space::neighbours_within). Owned by
/// the asker; the group and the point must outlive it.
class ball {
public:
  virtual ~ball() = default;
  /// How many there are at each distance from 0 on (of a searched group: how many were found).
  std::span<const uint128> counts() const noexcept { return counts_; }
  /// Draws one at this distance into the group's places of `out`. @pre counts()[distance] > 0
  virtual void draw(std::size_t distance, random_engine& rng, std::span<std::uint32_t> out) = 0;
  /// Puts each at most this far away into `out` and calls `visit` with its distance, until it returns false; false
  /// then.
  virtual bool visit(std::size_t most, std::span<std::uint32_t> out, const std::function<bool(std::size_t)>& visit) = 0;

protected:
  std::vector<uint128> counts_;
};

/// One group. All functions read and write only the group's own places in a whole point. Immutable; safe to share.
class group {
public:
  explicit group(std::vector<std::uint32_t> order) : order_(std::move(order)) {}
  virtual ~group() = default;
  group(const group&) = delete;
  group& operator=(const group&) = delete;

  /// The group's parameters, in the order in which it decides them.
  std::span<const std::uint32_t> order() const noexcept { return order_; }
  /// None where it is unknown.
  virtual std::optional<uint128> count() const = 0;
  /// The diagram behind it, or null.
  virtual const diagram* counted() const noexcept { return nullptr; }
  virtual bool contains(std::span<const std::uint32_t> p) const = 0;
  virtual void sample(random_engine& rng, std::span<std::uint32_t> p) const = 0;
  /// Changes the loose parameters alone so that the group is valid: each keeps its value if that can be, else takes
  /// `preferred`, else the first that can be. False, with `p` as it was, where nothing does.
  virtual bool complete(std::span<std::uint32_t> p, std::span<const std::uint8_t> loose,
                        std::span<const std::uint32_t> preferred) const = 0;
  /// Changes few parameters so that the group is valid; `p` may hold anything.
  virtual void repair(std::span<std::uint32_t> p, random_engine& rng) const = 0;
  /// What is valid within the distance `k` of `p`, which may hold anything.
  virtual std::unique_ptr<ball> around(std::span<const std::uint32_t> p, std::size_t k) const = 0;

private:
  std::vector<std::uint32_t> order_;
};

/// One parameter that no constraint reads: nothing is held but its size.
class free_group final : public group {
public:
  free_group(std::uint32_t parameter, std::uint32_t size) : group({parameter}), parameter_(parameter), size_(size) {}
  std::optional<uint128> count() const override { return size_; }
  bool contains(std::span<const std::uint32_t> p) const override { return p[parameter_] < size_; }
  void sample(random_engine& rng, std::span<std::uint32_t> p) const override {
    p[parameter_] = static_cast<std::uint32_t>(rng.below(size_));
  }
  bool complete(std::span<std::uint32_t> p, std::span<const std::uint8_t> loose,
                std::span<const std::uint32_t> preferred) const override;
  void repair(std::span<std::uint32_t> p, random_engine& rng) const override {
    if (p[parameter_] >= size_) sample(rng, p);
  }
  std::unique_ptr<ball> around(std::span<const std::uint32_t> p, std::size_t k) const override;

private:
  std::uint32_t parameter_, size_;
};

/// A group with its diagram: everything is exact.
class counted_group final : public group {
public:
  explicit counted_group(std::unique_ptr<const diagram> d)
      : group({d->order().begin(), d->order().end()}), diagram_(std::move(d)) {}
  std::optional<uint128> count() const override { return diagram_->count(); }
  const diagram* counted() const noexcept override { return diagram_.get(); }
  bool contains(std::span<const std::uint32_t> p) const override { return diagram_->contains(p); }
  void sample(random_engine& rng, std::span<std::uint32_t> p) const override { diagram_->sample(rng, p); }
  bool complete(std::span<std::uint32_t> p, std::span<const std::uint8_t> loose,
                std::span<const std::uint32_t> preferred) const override;
  void repair(std::span<std::uint32_t> p, random_engine& rng) const override;
  std::unique_ptr<ball> around(std::span<const std::uint32_t> p, std::size_t k) const override;

private:
  std::unique_ptr<const diagram> diagram_;
};

/// A group too big for a diagram: its constraints are evaluated and its valid assignments searched for, parameter by
/// parameter, with what cannot hold any more cut off (search/program.hpp). Not counted, and drawn not quite uniformly.
class searched_group final : public group {
public:
  /// @param p outlives the group
  explicit searched_group(std::unique_ptr<const program> p);
  /// Looks for a first valid assignment; none within the effort allowed is the answer `false` (and the group must not
  /// be used). `proven`: there is none at all.
  bool find_witness(std::size_t parameters, bool& proven);

  std::optional<uint128> count() const override { return std::nullopt; }
  bool contains(std::span<const std::uint32_t> p) const override;
  void sample(random_engine& rng, std::span<std::uint32_t> p) const override;
  bool complete(std::span<std::uint32_t> p, std::span<const std::uint8_t> loose,
                std::span<const std::uint32_t> preferred) const override;
  void repair(std::span<std::uint32_t> p, random_engine& rng) const override;
  std::unique_ptr<ball> around(std::span<const std::uint32_t> p, std::size_t k) const override;
  const program& constraints() const noexcept { return *program_; }

private:
  class finder;
  class found_ball;
  std::unique_ptr<const program> program_;
  std::vector<std::uint32_t> witness_; ///< a whole point; only the group's places matter
};

} // namespace attune::search
