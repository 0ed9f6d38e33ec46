// What is valid near a point, group by group.
#include "search/group.hpp"

#include <algorithm>
#include <unordered_map>

namespace attune::search {

namespace {

/// What a label counts for, where the point has `kept`.
std::size_t cost(std::uint32_t label, std::uint32_t kept) noexcept {
  return label != kept && label != inactive && kept != inactive ? 1 : 0;
}

class free_ball final : public ball {
public:
  free_ball(std::uint32_t parameter, std::uint32_t size, std::uint32_t kept)
      : parameter_(parameter), size_(size), kept_(kept) {
    const bool valid = kept < size;
    if (kept == inactive)
      counts_ = {size}; // not to be found in a valid point; all are equally near
    else
      counts_ = {valid ? 1u : 0u, size - (valid ? 1u : 0u)};
  }
  void draw(std::size_t distance, random_engine& rng, std::span<std::uint32_t> out) override {
    auto& v = out[parameter_];
    if (distance == 0 && kept_ != inactive) {
      v = kept_;
      return;
    }
    v = static_cast<std::uint32_t>(rng.below(static_cast<std::uint64_t>(counts_[distance])));
    if (distance == 1 && v >= kept_) ++v;
  }
  bool visit(std::size_t most, std::span<std::uint32_t> out, const std::function<bool(std::size_t)>& visitor) override {
    for (std::uint32_t v = 0; v < size_; ++v) {
      const auto d = cost(v, kept_);
      if (d > most) continue;
      out[parameter_] = v;
      if (!visitor(d)) return false;
    }
    return true;
  }

private:
  std::uint32_t parameter_, size_, kept_;
};

/// Counts the paths from each node that it comes to, by their distance.
class diagram_ball final : public ball {
public:
  diagram_ball(const diagram& d, std::span<const std::uint32_t> p, std::size_t k) : d_(d), k_(k) {
    for (const auto parameter : d.order()) kept_.push_back(p[parameter]);
    end_.resize(k + 1);
    end_[0] = 1;
    counts_ = from(d.root(), 0);
  }

  void draw(std::size_t distance, random_engine& rng, std::span<std::uint32_t> out) override {
    auto i = rng.below128(counts_[distance]);
    auto at = d_.root();
    for (std::size_t l = 0; l < kept_.size(); ++l)
      for (auto e = d_.begin_edge(at); e < d_.end_edge(at); ++e) {
        const auto c = cost(d_.label(e), kept_[l]);
        if (c > distance) continue;
        const auto some = from(d_.target(e), l + 1)[distance - c];
        if (i >= some) {
          i -= some;
          continue;
        }
        out[d_.order()[l]] = d_.label(e);
        distance -= c;
        at = d_.target(e);
        break;
      }
  }

  bool visit(std::size_t most, std::span<std::uint32_t> out, const std::function<bool(std::size_t)>& visitor) override {
    return follow(d_.root(), 0, 0, most, out, visitor);
  }

private:
  /// By distance up to k. @pre `node` is of this layer (the end: of the last)
  const std::vector<uint128>& from(std::uint32_t node, std::size_t layer) {
    if (layer == kept_.size()) return end_;
    if (const auto known = known_.find(node); known != known_.end()) return known->second;
    std::vector<uint128> mine(k_ + 1);
    for (auto e = d_.begin_edge(node); e < d_.end_edge(node); ++e) {
      const auto c = cost(d_.label(e), kept_[layer]);
      const auto& theirs = from(d_.target(e), layer + 1);
      for (std::size_t d = 0; d + c <= k_; ++d) mine[d + c] += theirs[d];
    }
    return known_.emplace(node, std::move(mine)).first->second;
  }

  bool follow(std::uint32_t node, std::size_t layer, std::size_t distance, std::size_t most,
              std::span<std::uint32_t> out, const std::function<bool(std::size_t)>& visitor) {
    if (layer == kept_.size()) return visitor(distance);
    const auto& mine = from(node, layer);
    if (std::all_of(mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(most - distance + 1),
                    [](uint128 n) { return n == 0; }))
      return true;
    for (auto e = d_.begin_edge(node); e < d_.end_edge(node); ++e) {
      const auto d = distance + cost(d_.label(e), kept_[layer]);
      if (d > most) continue;
      out[d_.order()[layer]] = d_.label(e);
      if (!follow(d_.target(e), layer + 1, d, most, out, visitor)) return false;
    }
    return true;
  }

  const diagram& d_;
  std::size_t k_;
  std::vector<std::uint32_t> kept_; ///< by layer
  std::unordered_map<std::uint32_t, std::vector<uint128>> known_;
  std::vector<uint128> end_;
};

} // namespace

std::unique_ptr<ball> free_group::around(std::span<const std::uint32_t> p, std::size_t) const {
  return std::make_unique<free_ball>(parameter_, size_, p[parameter_]);
}

std::unique_ptr<ball> counted_group::around(std::span<const std::uint32_t> p, std::size_t k) const {
  return std::make_unique<diagram_ball>(*diagram_, p, k);
}

} // namespace attune::search
