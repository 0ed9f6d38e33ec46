#include "search/compiled_space.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

namespace attune::search {

namespace {

/// The quotient, by the short division where the numbers are short.
uint128 quotient(uint128 a, uint128 b) noexcept {
  const auto high = static_cast<std::uint64_t>(a >> 64) | static_cast<std::uint64_t>(b >> 64);
  if (high == 0) return static_cast<std::uint64_t>(a) / static_cast<std::uint64_t>(b);
  return a / b;
}

bool multiply_into(uint128& a, uint128 b) noexcept { return __builtin_mul_overflow(a, b, &a); }

constexpr std::size_t orders_max = 12;

} // namespace

compiled_space::compiled_space(std::unique_ptr<space_parts> made) : parts_(std::move(made)) {
  const auto n = parts_->declared.size();
  auto names = std::make_shared<std::vector<std::string>>();
  bool saturated = false;
  for (std::size_t i = 0; i < n; ++i) {
    const auto& d = parts_->domains[i];
    names->push_back(parts_->declared[i].name);
    infos_.push_back({parts_->declared[i].name, d.size(), d.ordinal(), !parts_->declared[i].when.empty()});
    saturated = multiply_into(cartesian_, d.size()) || saturated;
    if (d.size() > 1) movable_.push_back(static_cast<std::uint32_t>(i));
    const auto& usual = parts_->declared[i].standard;
    const auto index = usual ? d.find(*usual) : std::nullopt;
    standard_index_.push_back(index.value_or(0));
    feature_at_.push_back(features_);
    if (d.size() == 1 && !infos_[i].conditional) continue;
    features_ += d.permutes() ? d.at(0).as_order().order.size() : d.ordinal() ? 1 : d.size();
  }
  names_ = std::move(names);
  if (saturated) cartesian_ = ~uint128{0};

  group_of_.resize(n);
  places_.resize(n);
  for (std::uint32_t g = 0; g < parts_->groups.size(); ++g) {
    const auto& group = *parts_->groups[g];
    const auto c = group.count();
    if (!c || (count_ && multiply_into(*count_, *c))) count_.reset();
    auto positions = std::vector<std::uint32_t>(group.order().begin(), group.order().end());
    std::ranges::sort(positions);
    for (std::size_t k = 0; k < positions.size(); ++k) {
      auto& at = places_[positions[k]];
      at.parameter = group.order()[k];
      at.group = g;
      at.counted = group.counted();
      at.size = parts_->domains[at.parameter].size();
      at.first = k == 0;
      group_of_[at.parameter] = g;
    }
  }
  if (count_) {
    // How many groups are half decided at each place, and what is still to begin behind it.
    std::vector<std::size_t> left(parts_->groups.size());
    std::size_t open = 0;
    for (std::size_t g = 0; g < left.size(); ++g) left[g] = parts_->groups[g]->order().size();
    uint128 later = *count_;
    for (auto& at : places_) {
      if (at.first) later = later / *parts_->groups[at.group]->count();
      at.later = later;
      const bool mine_open = left[at.group] != parts_->groups[at.group]->order().size();
      at.alone = open - (mine_open ? 1 : 0) == 0;
      if (!mine_open) ++open;
      if (--left[at.group] == 0) --open;
    }
  }

  dependents_.resize(n);
  for (std::uint32_t p = 0; p < n; ++p) {
    std::vector<std::uint8_t> follows(n);
    bool any = false, grew = true;
    while (grew) {
      grew = false;
      for (std::uint32_t q = 0; q < n; ++q)
        if (!follows[q] && q != p &&
            std::ranges::any_of(parts_->condition_reads[q], [&](auto r) { return r == p || follows[r] != 0; }))
          follows[q] = any = grew = true;
    }
    if (any) dependents_[p] = std::move(follows);
  }

  random_engine fixed(0);
  standard_ = repair(standard_index_, fixed);
}

value compiled_space::value_at(std::size_t parameter, std::uint32_t index) const {
  return index == inactive ? value() : parts_->domains[parameter].at(index);
}

point compiled_space::at(uint128 i) const {
  point out(places_.size());
  std::array<std::uint32_t, 64> few;
  std::vector<std::uint32_t> many;
  std::uint32_t* node = few.data();
  if (parts_->groups.size() > few.size()) {
    many.resize(parts_->groups.size());
    node = many.data();
  }
  uint128 left = *count_; // completions of what is decided so far
  for (const auto& at : places_) {
    if (!at.counted) {
      if (at.size == 1) {
        out[at.parameter] = 0;
        continue;
      }
      const uint128 unit = at.alone ? at.later : quotient(left, at.size);
      const auto v = quotient(i, unit);
      out[at.parameter] = static_cast<std::uint32_t>(v);
      i -= v * unit;
      left = unit;
      continue;
    }
    const auto& d = *at.counted;
    const auto here = at.first ? d.root() : node[at.group];
    const uint128 unit = at.alone ? at.later : quotient(left, d.count(here));
    const auto e = d.end_edge(here) - d.begin_edge(here) == 1 ? d.begin_edge(here) : d.edge_of(here, quotient(i, unit));
    out[at.parameter] = d.label(e);
    i -= d.before(e) * unit;
    node[at.group] = d.target(e);
    left = d.count(d.target(e)) * unit;
  }
  return out;
}

std::optional<uint128> compiled_space::index_of(std::span<const std::uint32_t> p) const {
  if (p.size() != places_.size()) return std::nullopt;
  std::array<std::uint32_t, 64> few;
  std::vector<std::uint32_t> many;
  std::uint32_t* node = few.data();
  if (parts_->groups.size() > few.size()) {
    many.resize(parts_->groups.size());
    node = many.data();
  }
  uint128 left = *count_, index = 0;
  for (const auto& at : places_) {
    const auto v = p[at.parameter];
    if (!at.counted) {
      if (v >= at.size) return std::nullopt;
      if (at.size == 1) continue;
      const uint128 unit = at.alone ? at.later : quotient(left, at.size);
      index += v * unit;
      left = unit;
      continue;
    }
    const auto& d = *at.counted;
    const auto here = at.first ? d.root() : node[at.group];
    const auto e = d.edge(here, v);
    if (e == diagram::none) return std::nullopt;
    const uint128 unit = at.alone ? at.later : quotient(left, d.count(here));
    index += d.before(e) * unit;
    node[at.group] = d.target(e);
    left = d.count(d.target(e)) * unit;
  }
  return index;
}

bool compiled_space::in_range(std::span<const std::uint32_t> p) const { return p.size() == places_.size(); }

bool compiled_space::contains(std::span<const std::uint32_t> p) const {
  return in_range(p) && std::ranges::all_of(parts_->groups, [&](const auto& g) { return g->contains(p); });
}

point compiled_space::sample(random_engine& rng) const {
  point out(places_.size());
  for (const auto& g : parts_->groups) g->sample(rng, out);
  return out;
}

bool compiled_space::move(std::span<std::uint32_t> p, std::uint32_t which, std::uint32_t to) const {
  const auto& g = *parts_->groups[group_of_[which]];
  const auto from = p[which];
  p[which] = to;
  if (dependents_[which].empty() ? g.contains(p) : g.complete(p, dependents_[which], standard_index_)) return true;
  p[which] = from;
  return false;
}

bool compiled_space::step(std::span<std::uint32_t> p, std::uint32_t which, bool up) const {
  const auto& d = parts_->domains[which];
  for (auto r = d.rank(p[which]); up ? r + 1 < d.size() : r > 0;) {
    r = up ? r + 1 : r - 1;
    if (move(p, which, d.at_rank(r))) return true;
  }
  return false;
}

std::vector<point> compiled_space::neighbours(std::span<const std::uint32_t> p, neighbourhood kind) const {
  std::vector<point> out;
  point q(p.begin(), p.end());
  for (const auto which : movable_) {
    if (q[which] == inactive) continue;
    const bool dependent = !dependents_[which].empty();
    const auto keep = [&] {
      out.push_back(q);
      if (dependent)
        q.assign(p.begin(), p.end());
      else
        q[which] = p[which];
    };
    if (kind == neighbourhood::adjacent && infos_[which].ordinal) {
      for (const bool up : {false, true})
        if (step(q, which, up)) keep();
      continue;
    }
    for (std::uint32_t v = 0; v < infos_[which].size; ++v)
      if (v != p[which] && move(q, which, v)) keep();
  }
  return out;
}

std::optional<point> compiled_space::neighbour(std::span<const std::uint32_t> p, neighbourhood kind,
                                               random_engine& rng) const {
  if (movable_.empty()) return std::nullopt;
  point q(p.begin(), p.end());
  for (std::size_t tries = 0; tries < 8 * movable_.size() + 32; ++tries) {
    const auto which = movable_[rng.below(movable_.size())];
    if (q[which] == inactive) continue;
    if (kind == neighbourhood::adjacent && infos_[which].ordinal) {
      if (step(q, which, rng.below(2) == 1)) return q;
      continue;
    }
    auto v = static_cast<std::uint32_t>(rng.below(infos_[which].size - 1));
    if (v >= q[which]) ++v;
    if (move(q, which, v)) return q;
  }
  const auto all = neighbours(p, kind);
  if (all.empty()) return std::nullopt;
  return all[rng.below(all.size())];
}

std::vector<point> compiled_space::neighbours_within(std::span<const std::uint32_t> p, std::size_t k,
                                                     std::size_t most) const {
  std::vector<point> out;
  if (!in_range(p)) return out;
  k = std::min(k, places_.size());
  std::vector<std::unique_ptr<ball>> balls;
  for (const auto& g : parts_->groups) balls.push_back(g->around(p, k));
  point q(p.begin(), p.end());
  const std::function<bool(std::size_t, std::size_t)> from = [&](std::size_t g, std::size_t left) {
    if (out.size() >= most) return false;
    if (g < balls.size())
      return balls[g]->visit(left, q, [&](std::size_t distance) { return from(g + 1, left - distance); });
    if (left < k) out.push_back(q);
    return true;
  };
  from(0, k);
  return out;
}

std::optional<point> compiled_space::neighbour_within(std::span<const std::uint32_t> p, std::size_t k,
                                                      random_engine& rng) const {
  if (!in_range(p)) return std::nullopt;
  k = std::min(k, places_.size());
  const auto n = parts_->groups.size();
  std::vector<std::unique_ptr<ball>> balls;
  for (const auto& g : parts_->groups) balls.push_back(g->around(p, k));
  // By group and distance left: how many ways the groups from this one on have.
  std::vector<std::vector<uint128>> ways(n + 1, std::vector<uint128>(k + 1, 1));
  for (std::size_t g = n; g-- > 0;) {
    const auto counts = balls[g]->counts();
    for (std::size_t left = 0; left <= k; ++left) {
      uint128 total = 0;
      for (std::size_t d = 0; d < counts.size() && d <= left; ++d) {
        uint128 some = counts[d];
        if (multiply_into(some, ways[g + 1][left - d]) || __builtin_add_overflow(total, some, &total))
          total = ~uint128{0};
      }
      ways[g][left] = total;
    }
  }
  // Those at distance 0 (the point itself, where it is valid) come first in the order below.
  uint128 near = 1;
  for (const auto& b : balls) near *= b->counts()[0];
  if (ways[0][k] <= near) return std::nullopt;
  auto i = near + rng.below128(ways[0][k] - near);
  point out(p.begin(), p.end());
  std::size_t left = k;
  for (std::size_t g = 0; g < n; ++g) {
    const auto counts = balls[g]->counts();
    for (std::size_t d = 0; d < counts.size() && d <= left; ++d) {
      const auto rest = ways[g + 1][left - d];
      uint128 some = counts[d];
      if (!multiply_into(some, rest) && i >= some) {
        i -= some;
        continue;
      }
      balls[g]->draw(d, rng, out);
      i /= counts[d];
      left -= d;
      break;
    }
  }
  return out;
}

point compiled_space::repair(std::span<const std::uint32_t> p, random_engine& rng) const {
  point out(p.begin(), p.end());
  out.resize(places_.size(), inactive);
  for (const auto& g : parts_->groups) g->repair(out, rng);
  return out;
}

double compiled_space::distance(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) const {
  if (infos_.empty()) return 0;
  double total = 0;
  for (std::size_t i = 0; i < infos_.size(); ++i) {
    if (a[i] == b[i]) continue;
    const auto& d = parts_->domains[i];
    if (a[i] == inactive || b[i] == inactive || !d.ordinal()) {
      total += 1;
    } else {
      const auto x = d.rank(a[i]), y = d.rank(b[i]);
      total += static_cast<double>(x > y ? x - y : y - x) / (d.size() - 1);
    }
  }
  return total / static_cast<double>(infos_.size());
}

void compiled_space::encode(std::span<const std::uint32_t> p, std::span<float> out) const {
  for (std::size_t i = 0; i < infos_.size(); ++i) {
    const auto& d = parts_->domains[i];
    const auto end = i + 1 < infos_.size() ? feature_at_[i + 1] : features_;
    const auto mine = out.subspan(feature_at_[i], end - feature_at_[i]);
    if (mine.empty()) continue;
    if (d.permutes()) {
      // Where each item stands in the order.
      std::ranges::fill(mine, std::numeric_limits<float>::quiet_NaN());
      if (p[i] == inactive) continue;
      const auto items = d.at(0).as_order().order, order = d.at(p[i]).as_order().order;
      static_assert(orders_max <= 64);
      for (std::size_t k = 0; k < items.size(); ++k)
        mine[k] = static_cast<float>(std::ranges::find(order, items[k]) - order.begin());
    } else if (!d.ordinal()) {
      std::ranges::fill(mine, 0.0f);
      if (p[i] != inactive) mine[p[i]] = 1;
    } else if (p[i] == inactive) {
      mine[0] = std::numeric_limits<float>::quiet_NaN();
    } else {
      const double v = d.at(p[i]).to_double();
      mine[0] = static_cast<float>(d.geometric() ? std::log2(v) : v);
    }
  }
}

/// Depth first over all places; each group goes on from its own node.
class compiled_space::enumeration {
public:
  enumeration(const compiled_space& s, const std::function<bool(std::span<const std::uint32_t>)>& visit)
      : space_(s), visit_(visit), point_(s.places_.size()), node_(s.parts_->groups.size()) {
    for (const auto& g : s.parts_->groups) {
      const auto* searched = dynamic_cast<const searched_group*>(g.get());
      searched_.push_back(searched ? std::make_unique<search>(searched->constraints()) : nullptr);
    }
  }

  /// False once the visitor has had enough.
  bool from(std::size_t place) {
    if (place == space_.places_.size()) return visit_(point_);
    const auto& at = space_.places_[place];
    auto& label = point_[at.parameter];
    if (at.counted) {
      const auto& d = *at.counted;
      const auto here = at.first ? d.root() : node_[at.group];
      const auto end = d.end_edge(here);
      for (auto e = d.begin_edge(here); e < end; ++e) {
        label = d.label(e);
        node_[at.group] = d.target(e);
        if (!from(place + 1)) return false;
      }
      node_[at.group] = here; // another group's place above may come here again
      return true;
    }
    if (auto* s = searched_[at.group].get()) return search_on(*s, at, place);
    for (std::uint32_t v = 0; v < at.size; ++v) {
      label = v;
      if (!from(place + 1)) return false;
    }
    return true;
  }

private:
  struct search {
    explicit search(const program& p) : constraints(p), frame(p), open(p.layers() + 1, p.all_open()) {}
    const program& constraints;
    program::frame frame;
    std::vector<open_parts> open; ///< before each layer
    std::size_t layer = 0;
  };

  bool search_on(search& s, const place& at, std::size_t place_number) {
    const auto l = s.layer;
    const auto& v = s.constraints.variable_at(l);
    const auto n = v.choices();
    for (std::uint64_t c = 0; c < n; ++c) {
      s.open[l + 1] = s.open[l];
      if (!s.constraints.assign(s.frame, l, c, s.open[l + 1]) ||
          !s.constraints.look_ahead(s.frame, l, s.open[l + 1], true))
        continue;
      point_[at.parameter] = c < v.values->size() ? static_cast<std::uint32_t>(c) : inactive;
      s.layer = l + 1;
      const bool more = from(place_number + 1);
      s.layer = l;
      if (!more) return false;
    }
    return true;
  }

  const compiled_space& space_;
  const std::function<bool(std::span<const std::uint32_t>)>& visit_;
  point point_;
  std::vector<std::uint32_t> node_;
  std::vector<std::unique_ptr<search>> searched_;
};

void compiled_space::for_each(const std::function<bool(std::span<const std::uint32_t>)>& visit) const {
  enumeration(*this, visit).from(0);
}

} // namespace attune::search
