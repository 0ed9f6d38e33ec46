#include "search/strategies/scale.hpp"

#include <cmath>

namespace attune::search {

double cost_scale::operator()(double cost) const noexcept {
  if (positive_) return std::log(cost);
  if (negative_) return -std::log(-cost);
  return cost;
}

double cost_scale::cost(double image) const noexcept {
  if (positive_) return std::exp(image);
  if (negative_) return -std::exp(-image);
  return image;
}

} // namespace attune::search
