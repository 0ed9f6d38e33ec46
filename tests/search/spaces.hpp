// Spaces for the tests of the strategies.
#pragma once

#include "search/enumerated_space.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace attune::search {

/// A space of the given domain sizes: all points that `valid` accepts.
inline std::shared_ptr<const enumerated_space> grid_space(const std::vector<std::uint32_t>& sizes,
                                                          const std::function<bool(const point&)>& valid = {},
                                                          bool ordinal = true) {
  std::vector<enumerated_space::axis> axes;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    enumerated_space::axis a;
    a.name = "p" + std::to_string(d);
    for (std::uint32_t v = 0; v < sizes[d]; ++v)
      a.values.push_back(ordinal ? value(static_cast<std::int64_t>(v + 1)) : value("v" + std::to_string(v)));
    a.ordinal = ordinal;
    axes.push_back(std::move(a));
  }
  std::vector<point> points;
  point p(sizes.size(), 0);
  for (bool more = true; more;) {
    if (!valid || valid(p)) points.push_back(p);
    more = false;
    for (std::size_t d = p.size(); d-- > 0;) {
      if (++p[d] < sizes[d]) {
        more = true;
        break;
      }
      p[d] = 0;
    }
  }
  auto made = enumerated_space::make(std::move(axes), std::move(points));
  return made ? *made : nullptr;
}

/// The same points, but as a space that says that it cannot be counted.
class uncounted_space final : public space {
public:
  explicit uncounted_space(std::shared_ptr<const enumerated_space> of) : of_(std::move(of)) {}
  std::span<const parameter_info> parameters() const override { return of_->parameters(); }
  value value_at(std::size_t parameter, std::uint32_t index) const override { return of_->value_at(parameter, index); }
  uint128 cartesian() const override { return of_->cartesian(); }
  std::optional<uint128> count() const override { return std::nullopt; }
  point at(uint128) const override { return {}; }
  std::optional<uint128> index_of(std::span<const std::uint32_t>) const override { return std::nullopt; }
  bool contains(std::span<const std::uint32_t> p) const override { return of_->contains(p); }
  point sample(random_engine& rng) const override { return of_->sample(rng); }
  std::vector<point> neighbours(std::span<const std::uint32_t> p, neighbourhood kind) const override {
    return of_->neighbours(p, kind);
  }
  std::optional<point> neighbour(std::span<const std::uint32_t> p, neighbourhood kind,
                                 random_engine& rng) const override {
    return of_->neighbour(p, kind, rng);
  }
  point repair(std::span<const std::uint32_t> p, random_engine& rng) const override { return of_->repair(p, rng); }
  void for_each(const std::function<bool(std::span<const std::uint32_t>)>& visit) const override {
    of_->for_each(visit);
  }
  double distance(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) const override {
    return of_->distance(a, b);
  }
  std::size_t features() const override { return of_->features(); }
  void encode(std::span<const std::uint32_t> p, std::span<float> out) const override { of_->encode(p, out); }
  std::span<const std::string> remarks() const override { return {}; }
  point standard() const override { return of_->standard(); }

private:
  std::shared_ptr<const enumerated_space> of_;
};

} // namespace attune::search
