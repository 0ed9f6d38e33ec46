#include "search/enumerated_space.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace attune::search {
namespace {

error refuse_space(std::string why) { return {errc::invalid_spec, std::move(why), {}}; }

/// The features of an ordinal's values: the numbers themselves, their logarithms where each is a fixed multiple of the
/// one before it, the ranks where they are no numbers.
std::vector<float> numeric_features(const std::vector<value>& values) {
  std::vector<float> out(values.size());
  const bool numbers = std::all_of(values.begin(), values.end(), [](const value& v) { return v.is_number(); });
  if (!numbers) {
    std::iota(out.begin(), out.end(), 0.0f);
    return out;
  }
  bool geometric = values.size() >= 3;
  for (std::size_t i = 0; i < values.size(); ++i) geometric = geometric && values[i].to_double() > 0;
  for (std::size_t i = 2; geometric && i < values.size(); ++i) {
    const double a = values[i - 2].to_double(), b = values[i - 1].to_double(), c = values[i].to_double();
    geometric = a != b && std::abs(b * b - a * c) <= 1e-9 * std::abs(b * b);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = values[i].to_double();
    out[i] = static_cast<float>(geometric ? std::log2(v) : v);
  }
  return out;
}

} // namespace

result<std::shared_ptr<const enumerated_space>> enumerated_space::make(std::vector<axis> axes,
                                                                       std::vector<point> points) {
  if (axes.empty()) return refuse_space("a space needs at least one parameter");
  if (points.empty()) return refuse_space("no valid configuration");
  if (points.size() >= std::numeric_limits<std::uint32_t>::max())
    return refuse_space("too many configurations to be listed");
  const std::shared_ptr<enumerated_space> made(new enumerated_space);
  auto& s = *made;
  s.parameters_ = axes.size();
  std::set<std::string> seen;
  std::vector<std::string> names;
  uint128 product = 1;
  for (const auto& a : axes) {
    if (a.name.empty()) return refuse_space("a parameter without a name");
    if (!seen.insert(a.name).second) return refuse_space("the parameter '" + a.name + "' is given twice");
    if (a.values.empty()) return refuse_space("the parameter '" + a.name + "' has no value");
    // One code more than values: where the parameter is inactive.
    if (product > (uint128{1} << 127) / (a.values.size() + 1))
      return refuse_space("the product of the domains passes 2^127");
    s.strides_.push_back(product);
    product *= a.values.size() + 1;
    s.cartesian_ *= a.values.size();
    s.infos_.push_back({a.name, static_cast<std::uint32_t>(a.values.size()), a.ordinal, false});
    s.numbers_.push_back(a.ordinal ? numeric_features(a.values) : std::vector<float>{});
    s.features_ += a.ordinal ? 1 : a.values.size();
    names.push_back(a.name);
  }
  for (const auto& p : points) {
    if (p.size() != axes.size()) return refuse_space("a configuration does not have a value for each parameter");
    for (std::size_t d = 0; d < p.size(); ++d) {
      if (p[d] == inactive)
        s.infos_[d].conditional = true;
      else if (p[d] >= axes[d].values.size())
        return refuse_space("a value of '" + axes[d].name + "' is not in its domain");
    }
  }
  s.axes_ = std::move(axes);
  std::sort(points.begin(), points.end());
  s.points_.reserve(points.size() * s.parameters_);
  s.index_.reserve(points.size());
  for (const auto& p : points) {
    if (!s.index_.emplace(*s.code(p), static_cast<std::uint32_t>(s.index_.size())).second)
      return refuse_space("a configuration is listed twice");
    s.points_.insert(s.points_.end(), p.begin(), p.end());
  }
  s.names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
  return std::shared_ptr<const enumerated_space>(made);
}

std::optional<uint128> enumerated_space::code(std::span<const std::uint32_t> p) const {
  if (p.size() != parameters_) return std::nullopt;
  uint128 out = 0;
  for (std::size_t d = 0; d < parameters_; ++d) {
    const std::uint32_t size = infos_[d].size;
    if (p[d] >= size && p[d] != inactive) return std::nullopt;
    out += strides_[d] * std::min(p[d], size);
  }
  return out;
}

std::size_t enumerated_space::find(std::span<const std::uint32_t> p) const {
  const auto c = code(p);
  if (!c) return none;
  const auto found = index_.find(*c);
  return found == index_.end() ? none : found->second;
}

value enumerated_space::value_at(std::size_t parameter, std::uint32_t index) const {
  return index == inactive ? value{} : axes_[parameter].values[index];
}

point enumerated_space::at(uint128 i) const {
  const auto r = row(static_cast<std::size_t>(i));
  return {r.begin(), r.end()};
}

std::optional<uint128> enumerated_space::index_of(std::span<const std::uint32_t> p) const {
  const auto i = find(p);
  if (i == none) return std::nullopt;
  return i;
}

point enumerated_space::sample(random_engine& rng) const { return at(rng.below(size())); }

std::vector<point> enumerated_space::neighbours(std::span<const std::uint32_t> p, neighbourhood kind) const {
  std::vector<point> out;
  const auto start = code(p);
  if (!start) return out;
  const auto take = [&](std::size_t d, std::uint32_t to) {
    const auto found = index_.find(*start - strides_[d] * std::min(p[d], infos_[d].size) + strides_[d] * to);
    if (found != index_.end()) out.push_back(at(found->second));
    return found != index_.end();
  };
  for (std::size_t d = 0; d < parameters_; ++d) {
    // `size` is the code of inactive: reached as the value after the last one.
    const std::uint32_t ends = infos_[d].size + (infos_[d].conditional ? 1 : 0);
    const std::uint32_t here = std::min(p[d], infos_[d].size);
    if (kind == neighbourhood::hamming) {
      for (std::uint32_t v = 0; v < ends; ++v)
        if (v != here) take(d, v);
      continue;
    }
    for (std::uint32_t v = here; v > 0;)
      if (take(d, --v)) break;
    for (std::uint32_t v = here + 1; v < ends; ++v)
      if (take(d, v)) break;
  }
  return out;
}

std::optional<point> enumerated_space::neighbour(std::span<const std::uint32_t> p, neighbourhood kind,
                                                 random_engine& rng) const {
  const auto start = code(p);
  if (!start) return std::nullopt;
  const auto found = [&](std::size_t d, std::uint32_t to) -> std::optional<point> {
    const auto at_index = index_.find(*start - strides_[d] * std::min(p[d], infos_[d].size) + strides_[d] * to);
    if (at_index == index_.end()) return std::nullopt;
    return at(at_index->second);
  };
  // A random parameter first, the others after it in turn, so that one with no neighbour does not end the search.
  const std::size_t first = rng.below(parameters_);
  for (std::size_t k = 0; k < parameters_; ++k) {
    const std::size_t d = (first + k) % parameters_;
    const std::uint32_t ends = infos_[d].size + (infos_[d].conditional ? 1 : 0);
    const std::uint32_t here = std::min(p[d], infos_[d].size);
    if (kind == neighbourhood::hamming) {
      if (ends < 2) continue;
      const auto from = static_cast<std::uint32_t>(rng.below(ends));
      for (std::uint32_t j = 0; j < ends; ++j) {
        const std::uint32_t v = (from + j) % ends;
        if (v == here) continue;
        if (auto q = found(d, v)) return q;
      }
      continue;
    }
    std::optional<point> down, up;
    for (std::uint32_t v = here; v > 0 && !down;) down = found(d, --v);
    for (std::uint32_t v = here + 1; v < ends && !up; ++v) up = found(d, v);
    if (down && up) return rng.chance(0.5) ? down : up;
    if (down) return down;
    if (up) return up;
  }
  return std::nullopt;
}

point enumerated_space::repair(std::span<const std::uint32_t> p, random_engine& rng) const {
  if (p.size() != parameters_) return sample(rng);
  point q(p.begin(), p.end());
  for (std::size_t d = 0; d < parameters_; ++d)
    if (q[d] != inactive && q[d] >= infos_[d].size) q[d] = infos_[d].size - 1;
  if (contains(q)) return q;
  // One parameter changed, then two drawn at random, then whatever drawn configuration agrees in most parameters.
  std::vector<point> near = neighbours(q, neighbourhood::adjacent);
  if (near.empty()) near = neighbours(q, neighbourhood::hamming);
  if (!near.empty()) return near[rng.below(near.size())];
  for (int tries = 0; tries < 64 && parameters_ > 1; ++tries) {
    point r = q;
    for (int k = 0; k < 2; ++k) {
      const std::size_t d = rng.below(parameters_);
      r[d] = static_cast<std::uint32_t>(rng.below(infos_[d].size));
    }
    if (contains(r)) return r;
  }
  std::size_t best = none, best_same = 0;
  for (int tries = 0; tries < 64; ++tries) {
    const std::size_t i = rng.below(size());
    const auto r = row(i);
    std::size_t same = 0;
    for (std::size_t d = 0; d < parameters_; ++d) same += r[d] == q[d] ? 1 : 0;
    if (best == none || same > best_same) {
      best = i;
      best_same = same;
    }
  }
  return at(best);
}

void enumerated_space::for_each(const std::function<bool(std::span<const std::uint32_t>)>& visit) const {
  for (std::size_t i = 0; i < size(); ++i)
    if (!visit(row(i))) return;
}

double enumerated_space::distance(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) const {
  double sum = 0;
  for (std::size_t d = 0; d < parameters_; ++d) {
    if (a[d] == b[d]) continue;
    if (!infos_[d].ordinal || a[d] == inactive || b[d] == inactive)
      sum += 1;
    else
      sum += std::abs(static_cast<double>(a[d]) - static_cast<double>(b[d])) / (infos_[d].size - 1);
  }
  return sum / static_cast<double>(parameters_);
}

void enumerated_space::encode(std::span<const std::uint32_t> p, std::span<float> out) const {
  std::size_t at_feature = 0;
  for (std::size_t d = 0; d < parameters_; ++d) {
    if (infos_[d].ordinal) {
      out[at_feature++] = p[d] == inactive ? std::numeric_limits<float>::quiet_NaN() : numbers_[d][p[d]];
      continue;
    }
    for (std::uint32_t v = 0; v < infos_[d].size; ++v) out[at_feature++] = p[d] == v ? 1.0f : 0.0f;
  }
}

} // namespace attune::search
