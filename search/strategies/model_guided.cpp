#include "search/strategies/model_guided.hpp"

#include "search/models/model_plan.hpp"
#include "search/rank_quality.hpp"
#include "search/strategies/moves.hpp"
#include "search/strategies/proposer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <map>

namespace attune::search {
namespace {

constexpr std::size_t model_rows = 256, known_at_most = 8192, notes_at_most = 32;
/// A training that the result n has brought up is used from the result n + lag on.
constexpr std::size_t lag = 2;
/// The results by which a model is judged, and how many there must be.
constexpr std::size_t judged_by = 24, judged_from = 12;

class model_guided final : public proposer {
public:
  model_guided(const space_ptr& over, const strategy_options& o)
      : over_(over),
        features_(std::make_shared<const rank_features>(*over)),
        prior_(o.prior.empty() ? nullptr : std::make_shared<const prior_model>(*over, *features_, o.prior)),
        seed_(random_engine(o.seed).fork("training")()) {
    for (const auto& info : over->parameters()) starts_ += info.size > 1 ? 1 : 0;
    starts_ = std::clamp<std::size_t>(starts_ + 4, 8, 20);
    if (o.budget) starts_ = std::min<std::size_t>(starts_, std::max<std::size_t>(4, *o.budget / 4));
    if (prior_) seeds_ = prior_->seeds(6);
  }

  std::optional<point> propose(const ledger& all, random_engine& rng) override {
    said_of_last_.reset();
    if (next_seed_ < seeds_.size()) return seeds_[next_seed_++];
    adopt();
    bool by_model = false;
    auto p = choose(all, rng, by_model);
    if (p && !all.known(*p)) {
      if (model_) {
        const double image = model_->expected_image(*p);
        expected_[*p] = image;
        said_of_last_ = forecast{images_.cost(image), by_model};
      }
      since_.push_back(*p);
    }
    return p;
  }
  std::optional<forecast> last_forecast() const override { return said_of_last_; }

  void learn(const ledger& all, random_engine& rng) override {
    const auto& t = all.told().back();
    data_.take(t, rng);
    elite_.take(t);
    if (t.what != observation::status::failed) images_.add(t.cost);
    known_.push_back(all.key(t.at));
    if (known_.size() > known_at_most) known_.pop_front();
    if (const auto at = expected_.find(t.at); at != expected_.end()) {
      if (t.what == observation::status::measured) quality_.add(at->second, images_(t.cost));
      expected_.erase(at);
    }
    const std::size_t n = all.told().size();
    due_ = job_ && n >= begun_ + lag;
    if (job_ || n + lag < starts_ || (begun_ > 0 && n < begun_ + interval(n))) return;
    begin(all);
  }

  std::shared_ptr<training> wanted() override { return std::exchange(offered_, nullptr); }
  std::shared_ptr<training> needed() const override { return due_ ? job_ : nullptr; }
  std::vector<std::string> take_notes() override {
    std::vector<std::string> out(notes_.begin(), notes_.end());
    notes_.clear();
    return out;
  }

private:
  static std::size_t interval(std::size_t results) { return std::clamp<std::size_t>(results / 24, 3, 16); }

  void begin(const ledger& all) {
    plan_request r;
    r.over = over_;
    r.features = features_;
    r.model = std::string(cost_models().front());
    r.seed = seed_ + all.told().size();
    r.images = images_;
    r.results.assign(data_.items().begin(), data_.items().end());
    r.elite.assign(elite_.items().begin(), elite_.items().end());
    r.known.assign(known_.begin(), known_.end());
    for (const auto& p : all.pending()) r.known.push_back(all.key(p));
    r.prior = prior_;
    job_ = std::make_shared<plan_training>(std::move(r));
    offered_ = job_;
    begun_ = all.told().size();
    since_.assign(all.pending().begin(), all.pending().end());
  }

  void adopt() {
    if (!due_) return;
    job_->run();
    auto done = std::move(job_);
    job_ = nullptr;
    offered_ = nullptr;
    due_ = false;
    if (done->learned()) {
      model_ = std::move(done);
      judge();
    } else {
      say_why(done->learned().err().message);
    }
  }

  std::optional<point> choose(const ledger& all, random_engine& rng, bool& by_model) {
    if (all.told().size() + all.pending().size() < starts_) return farthest(all, rng);
    if (!model_ || rng.chance(explored_)) return explore(rng);
    auto& plan = model_->plan();
    std::erase_if(plan, [&](const candidate& p) { return all.known(p.at); });
    if (plan.empty()) return explore(rng);
    // Of equals the first; what resembles something that the model does not know the result of yet is worth less.
    const double near = 0.25 / static_cast<double>(over_->parameters().size());
    std::size_t chosen = 0;
    double top = -1;
    for (std::size_t i = 0; i < std::min<std::size_t>(plan.size(), looked_through); ++i) {
      double distance = 1;
      for (const auto& p : since_) distance = std::min(distance, over_->distance(p, plan[i].at));
      const double worth = plan[i].promise * distance / (distance + near);
      if (worth <= top) continue;
      top = worth;
      chosen = i;
    }
    by_model = true;
    point out = std::move(plan[chosen].at);
    plan.erase(plan.begin() + static_cast<std::ptrdiff_t>(chosen));
    return out;
  }

  std::optional<point> explore(random_engine& rng) {
    if (elite_.empty() || rng.chance(0.5)) return over_->sample(rng);
    return over_->neighbour(elite_.pick(rng).at, rng.chance(0.5) ? neighbourhood::hamming : neighbourhood::adjacent,
                            rng);
  }

  void judge() {
    if (quality_.size() < judged_from) return;
    const auto tau = quality_.tau();
    // All equal: nothing speaks against the model.
    if (!tau) return;
    explored_ = std::clamp(0.05 + (0.2 - *tau), 0.05, 0.5);
    const int now = explored_ <= 0.1 ? 2 : explored_ <= 0.3 ? 1 : 0;
    if (now == trust_) return;
    static const char* const words[] = {"the model is distrusted", "the model is doubted", "the model is trusted"};
    char text[160];
    std::snprintf(
        text, sizeof text,
        "%s: Kendall's tau %.2f, recall of the best quarter %.2f over %zu results that it had not seen; %.0f %% "
        "of the trials explore",
        words[now], *tau, quality_.recall(quality_.size() / 4).value_or(0), quality_.size(), explored_ * 100);
    trust_ = now;
    note(text);
  }

  void say_why(const std::string& why) {
    if (why == said_) return;
    said_ = why;
    note("no model yet, so the trials explore: " + why);
  }

  void note(std::string text) {
    notes_.push_back(std::move(text));
    if (notes_.size() > notes_at_most) notes_.pop_front();
  }

  static constexpr std::size_t looked_through = 24;

  space_ptr over_;
  std::shared_ptr<const rank_features> features_;
  std::shared_ptr<const prior_model> prior_;
  std::uint64_t seed_;
  std::size_t starts_ = 0;
  std::vector<point> seeds_; ///< what was best for similar tasks
  std::size_t next_seed_ = 0;

  training_set data_{model_rows};
  elite_set elite_{8};
  cost_scale images_;
  std::deque<uint128> known_;

  std::shared_ptr<plan_training> job_, model_; ///< under way, in use
  std::shared_ptr<training> offered_;
  std::size_t begun_ = 0; ///< results when the last training was begun
  bool due_ = false;
  std::vector<point> since_; ///< proposed, and not among what the model in use has learned from

  std::map<point, double> expected_; ///< of what is pending: the image that was expected
  std::optional<forecast> said_of_last_;
  rank_window quality_{judged_by};
  double explored_ = 0.15;
  int trust_ = 1;
  std::string said_;
  std::deque<std::string> notes_;
};

} // namespace

std::unique_ptr<strategy> make_model(space_ptr over, strategy_options options) {
  auto idea = std::make_unique<model_guided>(over, options);
  return make_seeking("model", std::move(over), std::move(options), std::move(idea));
}

} // namespace attune::search
