#include "search/models/target_scale.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace attune::search {

target_scale::target_scale(const cost_scale& images, std::span<const told_trial> results) : images_(images) {
  std::vector<double> measured;
  for (const auto& r : results)
    if (r.what == observation::status::measured) measured.push_back(images_(r.cost));
  std::sort(measured.begin(), measured.end());
  middle_ = measured[measured.size() / 2];
  span_ = std::max({middle_ - measured.front(), 1e-9 * std::abs(middle_), 1e-300});
}

double target_scale::target(double cost) const {
  const double z = (images_(cost) - middle_) / span_;
  return z > 0 ? std::log1p(z) : z;
}

double target_scale::image(double target) const { return middle_ + span_ * (target > 0 ? std::expm1(target) : target); }

} // namespace attune::search
