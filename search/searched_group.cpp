#include "search/group.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace attune::search {

/// Depth first over the program's layers, cutting off what is broken.
class searched_group::finder {
public:
  /// Calls `next` for the choices of a layer, in the order to try, until it returns true.
  using choices = std::function<bool(std::size_t layer, const std::function<bool(std::uint64_t)>& next)>;

  finder(const program& p, std::uint64_t effort) : program_(p), frame_(p), effort_(effort) {}

  bool exhausted() const noexcept { return effort_ == 0; }

  /// The labels found, by layer, in `out`.
  bool find(const choices& offer, std::vector<std::uint32_t>& out) {
    out.resize(program_.layers());
    if (program_.broken()) return false;
    return from(0, program_.all_open(), offer, out, [] { return true; });
  }
  /// Calls `visit` at each valid assignment until it returns false.
  void each(const choices& offer, const std::function<bool()>& visit) {
    std::vector<std::uint32_t> labels(program_.layers());
    if (!program_.broken()) from(0, program_.all_open(), offer, labels, [&] { return !visit(); });
  }
  /// The effort that is left.
  std::uint64_t left() const noexcept { return effort_; }

  /// Whether these labels, by layer, are valid.
  bool holds(std::span<const std::uint32_t> labels) {
    auto open = program_.all_open();
    for (std::size_t l = 0; l < labels.size(); ++l) {
      const auto& v = program_.variable_at(l);
      std::uint64_t choice = labels[l];
      if (labels[l] == inactive) {
        if (!v.conditional) return false;
        choice = v.values->size();
      } else if (choice >= v.values->size()) {
        return false;
      }
      if (!program_.assign(frame_, l, choice, open)) return false;
    }
    return !program_.broken();
  }

private:
  /// True once `ends` says so of a valid assignment.
  bool from(std::size_t layer, const open_parts& open, const choices& offer, std::vector<std::uint32_t>& out,
            const std::function<bool()>& ends) {
    if (layer == program_.layers()) return ends();
    const auto& v = program_.variable_at(layer);
    return offer(layer, [&](std::uint64_t c) {
      if (effort_ == 0) return false;
      --effort_;
      auto after = open;
      if (!program_.assign(frame_, layer, c, after) || !program_.look_ahead(frame_, layer, after, true)) return false;
      out[layer] = c < v.values->size() ? static_cast<std::uint32_t>(c) : inactive;
      return from(layer + 1, after, offer, out, ends);
    });
  }

  const program& program_;
  program::frame frame_;
  std::uint64_t effort_;
};

namespace {

constexpr std::uint64_t shuffled_max = 4096;

/// All choices in random order; of very many a few at random, then all from a random one on.
bool at_random(std::uint64_t n, random_engine& rng, const std::function<bool(std::uint64_t)>& next) {
  if (n <= shuffled_max) {
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    rng.shuffle(std::span(order));
    return std::ranges::any_of(order, next);
  }
  for (int i = 0; i < 64; ++i)
    if (next(rng.below(n))) return true;
  const auto start = rng.below(n);
  for (std::uint64_t i = 0; i < n; ++i)
    if (next((start + i) % n)) return true;
  return false;
}

} // namespace

searched_group::searched_group(std::unique_ptr<const program> p)
    : group({p->order().begin(), p->order().end()}), program_(std::move(p)) {}

bool searched_group::find_witness(std::size_t parameters, bool& proven) {
  std::vector<std::uint32_t> found;
  proven = false;
  // In order first: where that comes to an end by itself, there is nothing.
  finder ordered(*program_, 2'000'000);
  bool there = ordered.find(
      [&](std::size_t layer, const auto& next) {
        const auto n = program_->variable_at(layer).choices();
        for (std::uint64_t c = 0; c < n && !ordered.exhausted(); ++c)
          if (next(c)) return true;
        return false;
      },
      found);
  proven = !there && !ordered.exhausted();
  random_engine rng(1);
  for (int round = 0; round < 40 && !there && !proven; ++round) {
    finder random(*program_, 100'000);
    there = random.find(
        [&](std::size_t layer, const auto& next) {
          return !random.exhausted() && at_random(program_->variable_at(layer).choices(), rng, next);
        },
        found);
  }
  if (!there) return false;
  witness_.assign(parameters, inactive);
  for (std::size_t l = 0; l < found.size(); ++l) witness_[order()[l]] = found[l];
  return true;
}

/// Holds what was found within a bounded effort, by distance.
class searched_group::found_ball final : public ball {
public:
  static constexpr std::size_t held_max = 50'000;
  static constexpr std::uint64_t effort_max = 1'000'000;

  found_ball(const searched_group& of, std::span<const std::uint32_t> p, std::size_t k) : of_(of) {
    for (const auto parameter : of.order()) kept_.push_back(p[parameter]);
    found_.resize(std::min(k, kept_.size()) + 1);
    // The nearest first, each distance with the effort that the nearer ones left.
    std::uint64_t effort = effort_max;
    for (std::size_t d = 0; d < found_.size() && effort > 0; ++d) {
      finder f(*of.program_, effort);
      std::vector<std::size_t> so_far(kept_.size() + 1);
      std::vector<std::uint32_t> labels;
      const auto offer = [&](std::size_t layer, const std::function<bool(std::uint64_t)>& next) {
        const auto& v = of.program_->variable_at(layer);
        for (std::uint64_t c = 0; c < v.choices() && !f.exhausted(); ++c) {
          const auto label = c < v.values->size() ? static_cast<std::uint32_t>(c) : inactive;
          const bool differs = label != kept_[layer] && label != inactive && kept_[layer] != inactive;
          so_far[layer + 1] = so_far[layer] + (differs ? 1 : 0);
          if (so_far[layer + 1] > d) continue;
          labels.resize(layer + 1);
          labels[layer] = label;
          if (next(c)) return true;
        }
        return false;
      };
      f.each(offer, [&] {
        if (so_far.back() == d) found_[d].push_back(labels);
        return ++held_ < held_max;
      });
      effort = held_ < held_max ? f.left() : 0;
    }
    for (const auto& f : found_) counts_.push_back(f.size());
  }

  void draw(std::size_t distance, random_engine& rng, std::span<std::uint32_t> out) override {
    put(found_[distance][rng.below(found_[distance].size())], out);
  }
  bool visit(std::size_t most, std::span<std::uint32_t> out, const std::function<bool(std::size_t)>& visitor) override {
    for (std::size_t d = 0; d < found_.size() && d <= most; ++d)
      for (const auto& labels : found_[d]) {
        put(labels, out);
        if (!visitor(d)) return false;
      }
    return true;
  }

private:
  void put(const std::vector<std::uint32_t>& labels, std::span<std::uint32_t> out) const {
    for (std::size_t l = 0; l < labels.size(); ++l) out[of_.order()[l]] = labels[l];
  }

  const searched_group& of_;
  std::vector<std::uint32_t> kept_;
  std::vector<std::vector<std::vector<std::uint32_t>>> found_; ///< labels by layer, by distance
  std::size_t held_ = 0;
};

std::unique_ptr<ball> searched_group::around(std::span<const std::uint32_t> p, std::size_t k) const {
  return std::make_unique<found_ball>(*this, p, k);
}

bool searched_group::contains(std::span<const std::uint32_t> p) const {
  std::vector<std::uint32_t> labels;
  for (const auto parameter : order()) labels.push_back(p[parameter]);
  return finder(*program_, 0).holds(labels);
}

void searched_group::sample(random_engine& rng, std::span<std::uint32_t> p) const {
  std::vector<std::uint32_t> found;
  // Short tries with a new order each: a bad first choice is left behind rather than searched out.
  for (std::uint64_t effort = 2'000; effort <= 64'000; effort *= 2) {
    finder f(*program_, effort);
    const bool there = f.find(
        [&](std::size_t layer, const auto& next) {
          return !f.exhausted() && at_random(program_->variable_at(layer).choices(), rng, next);
        },
        found);
    if (!there) continue;
    for (std::size_t l = 0; l < found.size(); ++l) p[order()[l]] = found[l];
    return;
  }
  // Valid points are rare: walk at random from the one that is known.
  for (const auto parameter : order()) p[parameter] = witness_[parameter];
  std::vector<std::uint32_t> labels;
  for (const auto parameter : order()) labels.push_back(p[parameter]);
  finder f(*program_, 0);
  for (int i = 0; i < 2'000; ++i) {
    const auto l = static_cast<std::size_t>(rng.below(labels.size()));
    const auto kept = labels[l];
    const auto c = rng.below(program_->variable_at(l).choices());
    labels[l] = c < program_->variable_at(l).values->size() ? static_cast<std::uint32_t>(c) : inactive;
    if (!f.holds(labels)) labels[l] = kept;
  }
  for (std::size_t l = 0; l < labels.size(); ++l) p[order()[l]] = labels[l];
}

bool searched_group::complete(std::span<std::uint32_t> p, std::span<const std::uint8_t> loose,
                              std::span<const std::uint32_t> preferred) const {
  finder f(*program_, 20'000);
  std::vector<std::uint32_t> found;
  const bool there = f.find(
      [&](std::size_t layer, const auto& next) {
        const auto parameter = order()[layer];
        const auto& v = program_->variable_at(layer);
        const auto choice = [&](std::uint32_t label) {
          return label == inactive ? (v.conditional ? std::uint64_t{v.values->size()} : v.choices()) : label;
        };
        const auto mine = choice(p[parameter]), usual = choice(preferred[parameter]);
        if (mine < v.choices() && next(mine)) return true;
        if (!loose[parameter]) return false;
        if (usual < v.choices() && usual != mine && next(usual)) return true;
        for (std::uint64_t c = 0; c < v.choices() && !f.exhausted(); ++c)
          if (c != mine && c != usual && next(c)) return true;
        return false;
      },
      found);
  if (there)
    for (std::size_t l = 0; l < found.size(); ++l) p[order()[l]] = found[l];
  return there;
}

void searched_group::repair(std::span<std::uint32_t> p, random_engine& rng) const {
  if (contains(p)) return;
  // More and more parameters, drawn at random, are let loose.
  std::vector<std::uint8_t> loose(p.size());
  std::vector<std::uint32_t> preferred(p.size());
  std::vector<std::uint32_t> which(order().begin(), order().end());
  for (std::size_t n = 1; n <= which.size(); n = n < 4 ? n + 1 : n * 2) {
    for (int tries = 0; tries < 4; ++tries) {
      rng.shuffle(std::span(which));
      std::ranges::fill(loose, std::uint8_t{0});
      for (std::size_t i = 0; i < n; ++i) {
        loose[which[i]] = 1;
        preferred[which[i]] = witness_[which[i]];
      }
      // What depends on a condition follows it.
      for (std::size_t l = 0; l < order().size(); ++l)
        if (program_->variable_at(l).conditional) loose[order()[l]] = 1;
      if (complete(p, loose, preferred)) return;
    }
  }
  sample(rng, p);
}

} // namespace attune::search
