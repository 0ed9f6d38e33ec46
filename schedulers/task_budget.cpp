#include "schedulers/task_budget.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <cmath>

namespace attune::schedulers {

namespace {

constexpr std::string_view names[] = {"gradient", "round_robin", "sequential"};

/// Who has had fewest; of equals the earlier. A task whose place has no room keeps its part of the trials: the others
/// go ahead up to theirs and no further.
class round_robin final : public task_budget {
public:
  round_robin(std::vector<shared_task> tasks, budget_options options)
      : task_budget(std::move(tasks), std::move(options)) {}

private:
  std::optional<std::size_t> choose(const std::vector<bool>& open, const std::vector<bool>& /*able*/) const override {
    // One that waits, for room or for what its first trials come to, stays among those that share.
    const auto stays = [&](std::size_t i) {
      return tasks()[i].why == leaving::none && (!members()[i].most || tasks()[i].dealt < *members()[i].most);
    };
    std::uint64_t left = options().trials.value_or(0), n = 0, ahead = 0;
    for (std::size_t i = 0; i < open.size(); ++i)
      if (stays(i))
        ++n;
      else
        left -= std::min(left, tasks()[i].dealt);
    const std::uint64_t part = left / std::max<std::uint64_t>(1, n), over = left % std::max<std::uint64_t>(1, n);
    for (std::size_t i = 0; i < open.size(); ++i) ahead += stays(i) && tasks()[i].dealt > part ? 1 : 0;
    const auto may = [&](std::size_t i) {
      const auto had = tasks()[i].dealt;
      return !options().trials || had < part || (had == part && ahead < over);
    };
    std::optional<std::size_t> out;
    for (std::size_t i = 0; i < open.size(); ++i)
      if (open[i] && may(i) && (!out || tasks()[i].dealt < tasks()[*out].dealt)) out = i;
    return out;
  }
};

/// One after the other. A task's share is what is left of the budget, divided by those that still come; what it does
/// not use is theirs.
class sequential final : public task_budget {
public:
  sequential(std::vector<shared_task> tasks, budget_options options)
      : task_budget(std::move(tasks), std::move(options)) {}

private:
  std::optional<std::size_t> choose(const std::vector<bool>& open, const std::vector<bool>& /*able*/) const override {
    const std::size_t n = open.size();
    std::uint64_t left = options().trials.value_or(0);
    for (std::size_t i = 0; i < n; ++i) {
      const auto& t = tasks()[i];
      const std::uint64_t share = options().trials ? (left + (n - i) - 1) / (n - i) : members()[i].most.value_or(0);
      if (open[i] && t.dealt < share) return i;
      // One that waits for room keeps its share; one that is at its end gives the rest away.
      left -= std::min(left, t.why == leaving::none ? std::max(t.dealt, share) : t.dealt);
    }
    const auto at = std::find(open.begin(), open.end(), true);
    return at == open.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - open.begin()));
  }
};

/// Source: the gradient scheduler of Zheng et al., "Ansor: Generating High-Performance Tensor Programs for Deep
/// Learning", OSDI 2020, section 6.2, which MetaSchedule uses as well. With f = sum of w_i g_i, it deals where
///
///   w_i · | α · (g_i(t_i) − g_i(t_i − Δt)) / Δt  +  (1 − α) · min(−g_i(t_i) / t_i, β · C_i / max_k V_k − g_i(t_i)) |
///
/// is largest: α = 0.2, Δt = 3, C_i the task's operations, V_k the rates of similar tasks. Here
///
///   gain_i = w_i · g_i · ( s_i / n^p  +  c · h_i / n^q )
///
/// n        the trials that it has had, those that are pending among them;
/// s_i      its relative gain in the last two thirds of its trials (at least `window`): a slope over three trials is
/// zero for
///          most tasks at most times. Where a search goes on as it went, its gains fall with a power of its trials, so
///          the slope is not taken to go on as it was (Δt · t_i^(p-1) in place of Δt);
/// h_i      the optimistic part: how far it is from the best of similar tasks, in (floor, 1]; its work C_i is taken to
///          be in proportion to the cost of its first configuration, so the rate of a similar task is how much better
///          its best is than its first. 0.3 where nothing is similar. That nobody can gain more than everything
///          (−g_i / t_i) is in c / n^q, which falls faster, as what is untried becomes less likely to be better.
/// A task whose results are all failures has no g_i, and is bounded by its share instead of ranked.
class gradient final : public task_budget {
public:
  gradient(std::vector<shared_task> tasks, budget_options options) : task_budget(std::move(tasks), std::move(options)) {
    warm_up_ = this->options().warm_up;
    if (this->options().trials && !members().empty())
      warm_up_ = std::min(warm_up_, std::max<std::uint64_t>(1, *this->options().trials / (2 * members().size())));
  }

private:
  static constexpr std::uint64_t window = 32;
  static constexpr double slope_power = 2, hope = 3, hope_power = 2.5, least_hope = 0.2, plain_hope = 0.3, rest = 0.2;

  std::optional<std::size_t> choose(const std::vector<bool>& open, const std::vector<bool>& able) const override {
    for (const std::uint64_t each : {options().hurried ? std::min<std::uint64_t>(2, warm_up_) : warm_up_, warm_up_})
      for (std::size_t i = 0; i < open.size(); ++i)
        if (open[i] && tasks()[i].dealt < each) return i;
    std::optional<std::size_t> out;
    double most = 0, elsewhere = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (!able[i]) continue;
      const double g = gain(i);
      if (!open[i]) {
        elsewhere = std::max(elsewhere, g);
      } else if (!out || g > most) {
        out = i;
        most = g;
      }
    }
    // Where trials are what is short, a device may rather rest than use them up for next to nothing.
    if (options().trials && most < rest * elsewhere) return std::nullopt;
    return out;
  }

  double gain(std::size_t i) const {
    const auto& t = tasks()[i];
    if (!t.best) return 0;
    const double n = static_cast<double>(std::max<std::uint64_t>(t.dealt, 1));
    const double cost = members()[i].weight * *t.best / (options().relative ? *t.first : 1.0);
    const std::uint64_t back = std::min(t.told, std::max(window, 2 * t.told / 3));
    const double before = best_after(i, t.told - back).value_or(*t.first);
    const double slope = before > 0 ? (before - *t.best) / before : 0;
    return cost * (slope / std::pow(n, slope_power) + hope * distance(i) / std::pow(n, hope_power));
  }

  double distance(std::size_t i) const {
    const auto& t = tasks()[i];
    std::optional<double> rate; // of the best similar task: its best as a part of its first
    for (std::size_t k = 0; k < tasks().size(); ++k)
      if (const auto& other = tasks()[k]; k != i && members()[k].kind == members()[i].kind && other.best)
        rate = std::min(rate.value_or(1), *other.best / *other.first);
    if (!rate) return plain_hope;
    return std::clamp(1 - *t.first * *rate / *t.best, least_hope, 1.0);
  }

  std::uint64_t warm_up_ = 0;
};

} // namespace

task_budget::task_budget(std::vector<shared_task> tasks, budget_options options)
    : tasks_(std::move(tasks)), options_(std::move(options)), standings_(tasks_.size()), gains_(tasks_.size()) {
  std::uint32_t places = 1;
  for (const auto& t : tasks_) places = std::max(places, t.place + 1);
  room_.assign(places, 1);
  in_flight_.assign(places, 0);
  for (std::size_t i = 0; i < tasks_.size(); ++i) look_at_end(i);
}

std::uint64_t task_budget::dead_limit() const {
  const double share = options_.dead_share * static_cast<double>(options_.trials.value_or(dealt_));
  const auto floored = static_cast<std::uint64_t>(share);
  return std::max<std::uint64_t>(1, options_.trials ? floored : std::max(floored, options_.warm_up));
}

bool task_budget::can_take(std::size_t task) const {
  const auto& s = standings_[task];
  if (s.why != leaving::none) return false;
  if (tasks_[task].most && s.dealt >= *tasks_[task].most) return false;
  return s.best || s.dealt < dead_limit();
}

std::optional<std::size_t> task_budget::next() {
  if (spent()) return std::nullopt;
  std::vector<bool> open(tasks_.size()), able(tasks_.size());
  bool any = false;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    able[i] = can_take(i);
    open[i] = able[i] && in_flight_[tasks_[i].place] < room_[tasks_[i].place];
    any = any || open[i];
  }
  const auto who = any ? choose(open, able) : std::nullopt;
  if (!who) return who;
  ++standings_[*who].dealt;
  ++in_flight_[tasks_[*who].place];
  ++dealt_;
  return who;
}

void task_budget::take(std::size_t task, std::optional<double> cost) {
  auto& s = standings_[task];
  ++s.told;
  if (cost && std::isfinite(*cost) && *cost > 0) {
    if (!s.first) s.first = cost;
    if (!s.best || *cost < *s.best) {
      s.best = cost;
      s.gained_at = s.told;
      gains_[task].push_back({s.told, *cost});
    }
  }
  look_at_end(task);
}

void task_budget::look_at_end(std::size_t task) {
  auto& s = standings_[task];
  if (s.why != leaving::none) return;
  if (tasks_[task].most && s.told >= *tasks_[task].most)
    s.why = leaving::limit;
  else if (!s.best && options_.trials && s.told >= dead_limit())
    s.why = leaving::dead;
  else if (s.best && options_.patience && s.told - s.gained_at >= *options_.patience)
    s.why = leaving::converged;
}

void task_budget::told(std::size_t task, std::optional<double> cost) {
  if (standings_[task].pending() == 0) return;
  --in_flight_[tasks_[task].place];
  take(task, cost);
}

void task_budget::restore(std::size_t task, std::optional<double> cost) {
  ++standings_[task].dealt;
  ++dealt_;
  take(task, cost);
}

void task_budget::leave(std::size_t task) {
  auto& s = standings_[task];
  in_flight_[tasks_[task].place] -= s.pending();
  dealt_ -= s.pending();
  s.dealt = s.told;
  if (s.why == leaving::none) s.why = leaving::left;
}

void task_budget::set_room(std::uint32_t place, std::uint32_t most) { room_[place] = most; }

bool task_budget::over() const {
  bool more = false;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (standings_[i].pending() > 0) return false;
    more = more || can_take(i);
  }
  return spent() || !more;
}

std::optional<double> task_budget::best_after(std::size_t task, std::uint64_t told) const {
  const auto& all = gains_[task];
  const auto after =
      std::upper_bound(all.begin(), all.end(), told, [](std::uint64_t n, const gain& g) { return n < g.at; });
  return after == all.begin() ? std::nullopt : std::optional(std::prev(after)->cost);
}

std::span<const std::string_view> budget_policies() noexcept { return names; }

result<std::unique_ptr<task_budget>> make_task_budget(std::vector<shared_task> tasks, budget_options options) {
  if (options.policy == "gradient")
    return std::unique_ptr<task_budget>(std::make_unique<gradient>(std::move(tasks), std::move(options)));
  if (options.policy == "round_robin")
    return std::unique_ptr<task_budget>(std::make_unique<round_robin>(std::move(tasks), std::move(options)));
  if (options.policy == "sequential") {
    const bool bounded =
        std::all_of(tasks.begin(), tasks.end(), [](const shared_task& t) { return t.most.has_value(); });
    if (!options.trials && !bounded)
      return error{errc::invalid_spec,
                   "the policy sequential needs a number of trials: without one its first task would use all the time",
                   {}};
    return std::unique_ptr<task_budget>(std::make_unique<sequential>(std::move(tasks), std::move(options)));
  }
  const std::vector<std::string> words(std::begin(names), std::end(names));
  std::string message = "unknown policy '" + options.policy + "'";
  if (const auto near = nearest_word(options.policy, words))
    message += "; did you mean '" + *near + "'?";
  else
    message += "; known are gradient, round_robin and sequential";
  return error{errc::invalid_spec, std::move(message), {}};
}

} // namespace attune::schedulers
