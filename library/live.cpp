#include "attune/live.hpp"

#include "library/access.hpp"
#include "search/live_policy.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace attune::detail {

namespace {

constexpr std::size_t most_arms = 4096;
/// Of the store's best, how many are tried first.
constexpr std::size_t recalled = 8;

std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::uint64_t pack(search::live_policy::probe p) noexcept { return std::uint64_t{p.which} << 32 | p.count; }

attune::status check(const live_options& how) {
  const auto fraction = [](double v) { return v > 0 && v <= 1; };
  if (!fraction(how.explore)) return error{errc::invalid_spec, "live_options::explore is not in (0, 1]", {}};
  if (!(how.worse >= 0)) return error{errc::invalid_spec, "live_options::worse is negative", {}};
  if (!fraction(how.regret)) return error{errc::invalid_spec, "live_options::regret is not in (0, 1]", {}};
  if (!(how.gain >= 0 && how.gain < 1)) return error{errc::invalid_spec, "live_options::gain is not in [0, 1)", {}};
  if (how.candidates == 0) return error{errc::invalid_spec, "live_options::candidates is 0", {}};
  return {};
}

search::live_limits limits_of(const live_options& how) {
  search::live_limits out;
  out.explore = how.explore;
  out.worse = how.worse;
  out.regret = how.regret;
  out.gain = how.gain;
  return out;
}

nanoseconds now() { return system_time().monotonic(); }

} // namespace

struct live_core::impl {
  struct arm {
    configuration config;
    std::shared_ptr<const void> value;
    std::optional<asked> trial; ///< whom its result is told to
  };

  impl(engine::impl& e, space s, const live_options& o, maker m, prepared p)
      : with(e),
        over(std::move(s)),
        how(o),
        make(std::move(m)),
        what(std::move(p)),
        policy(limits_of(o)),
        values(most_arms, nullptr) {}

  /// Makes the arm's value; what `make` throws is the failure. Without the lock.
  std::variant<std::shared_ptr<const void>, failure> made(const configuration& config) {
    try {
      return make(config_view(config));
    } catch (const std::exception& e) {
      return failed(failure_kind::invalid_config, e.what());
    } catch (...) {
      return failed(failure_kind::invalid_config, "the configuration was refused");
    }
  }
  void enter(configuration config, std::shared_ptr<const void> value) {
    by_name.emplace(config.canonical(), static_cast<std::uint32_t>(arms.size()));
    values[arms.size()] = value.get();
    arms.push_back({std::move(config), std::move(value), {}});
  }
  /// What a ratio to the default's latency is in the store's seconds, which do not follow the workload.
  double stored(double ratio) {
    if (default_seconds <= 0) default_seconds = policy.default_level();
    return ratio * default_seconds;
  }
  bool wants() const { return source && open && policy.idle() && arms.size() < most_arms; }

  search_options search(std::uint64_t number) const {
    search_options out;
    out.in_hand = 1;
    out.method = how.method;
    out.strategy = how.strategy;
    out.trials = how.candidates;
    out.seed = how.seed + number;
    out.remeasure = number > 0;
    return out;
  }
  result<ask_tell> opened(std::uint64_t number) {
    const auto options = search(number);
    auto p = prepare(over, options, {});
    if (!p) return p.err();
    auto begun = with.begin(std::move(*p), options, true);
    if (!begun) return begun.err();
    return ask_tell(std::move(*begun));
  }
  void take(asked next, std::unique_lock<std::mutex>& guard);
  void work();
  /// After the policy has learned something. With the lock.
  void publish(live_core& to);

  engine::impl& with;
  space over;
  live_options how;
  maker make;
  prepared what;

  std::mutex lock; ///< of everything below, but the probe
  std::condition_variable wake, done;
  search::live_policy policy;
  std::uint64_t generation = 0, round = 0, seen_changes = 0, tried = 0;
  std::vector<arm> arms;
  std::unordered_map<std::string, std::uint32_t> by_name;
  std::vector<const void*> values;
  std::vector<std::pair<asked, answer>> to_tell;
  std::optional<ask_tell> source;
  bool open = false, busy = false, stop = false;
  double default_seconds = 0;
  std::atomic<std::uint64_t> probe{0};

  std::mutex lanes_lock;
  std::unordered_map<std::thread::id, std::unique_ptr<live_lane>> lanes;
  std::thread helper;
  live_core* owner = nullptr;
};

void live_core::impl::publish(live_core& to) {
  for (const auto& v : policy.take_verdicts()) {
    using kind = search::live_policy::verdict_kind;
    auto& a = arms[v.which];
    if (v.what != kind::fell) ++tried;
    if (v.what == kind::won || v.what == kind::fell)
      with.log(log_level::debug, over.name() + (v.what == kind::won ? ": taken, " : ": given up, ") +
                                     std::to_string(v.ratio) + " of the default's latency: " + a.config.text());
    if (!a.trial) continue;
    to_tell.emplace_back(*std::exchange(a.trial, std::nullopt),
                         v.what == kind::failed
                             ? answer(failed(failure_kind::run_error, "a request failed with this configuration"))
                             : answer(stored(v.ratio)));
  }
  to.incumbent_.store(policy.incumbent(), std::memory_order_release);
  if (std::exchange(generation, policy.generation()) != policy.generation()) probe.store(0, std::memory_order_release);
  if ((probe.load(std::memory_order_relaxed) & 0xffffffffu) == 0)
    if (const auto next = policy.next(now())) probe.store(pack(*next), std::memory_order_release);
  if (!to_tell.empty() || wants() || policy.changes() != seen_changes) wake.notify_one();
}

void live_core::impl::take(asked next, std::unique_lock<std::mutex>& guard) {
  const configuration config = next.config().all();
  const auto known = by_name.find(config.canonical());
  if (known != by_name.end()) {
    const auto which = known->second;
    if (which == 0) {
      to_tell.emplace_back(std::move(next), answer(stored(1)));
    } else if (which == policy.incumbent()) {
      const double standard = policy.default_level();
      to_tell.emplace_back(std::move(next), answer(stored(standard > 0 ? policy.level() / standard : 1)));
    } else {
      arms[which].trial = std::move(next);
      policy.again(which);
    }
    return;
  }
  guard.unlock();
  auto value = made(config);
  guard.lock();
  if (auto* why = std::get_if<failure>(&value)) {
    to_tell.emplace_back(std::move(next), answer(std::move(*why)));
    return;
  }
  enter(config, std::move(std::get<0>(value)));
  arms.back().trial = std::move(next);
  policy.add();
  publish(*owner);
}

void live_core::impl::work() {
  std::unique_lock guard(lock);
  for (;;) {
    wake.wait(guard, [&] { return stop || !to_tell.empty() || policy.changes() != seen_changes || wants(); });
    if (stop) return;
    busy = true;
    if (!to_tell.empty()) {
      const auto told = std::exchange(to_tell, {});
      auto to = *source;
      guard.unlock();
      for (const auto& [which, result] : told)
        if (const auto good = to.tell(which, result); !good && good.err().code != errc::cancelled)
          with.log(log_level::warning, good.err().text());
      guard.lock();
    } else if (policy.changes() != seen_changes) {
      seen_changes = policy.changes();
      with.log(log_level::info, over.name() + ": the workload has changed");
      // A round that is not over goes on: its results are ratios to the default's.
      if (!open) {
        ++round;
        for (auto& a : arms) a.trial.reset();
        guard.unlock();
        auto next = opened(round);
        guard.lock();
        if (next) {
          source = std::move(*next);
          open = true;
          if (stop) source->cancel();
        } else {
          with.log(log_level::warning, next.err().text());
        }
      }
    } else {
      auto from = *source;
      guard.unlock();
      auto next = from.ask();
      guard.lock();
      if (stop) return;
      if (next)
        take(std::move(*next), guard);
      else
        open = false;
    }
    busy = false;
    done.notify_all();
  }
}

live_core::live_core(std::unique_ptr<impl> i, std::uint64_t number) : number_(number), impl_(std::move(i)) {
  values_ = impl_->values.data();
  impl_->owner = this;
}

result<std::unique_ptr<live_core>> live_core::start(engine& with, const space& over, const live_options& how,
                                                    maker make) {
  if (const auto good = check(how); !good) return good.err();
  space copy = over;
  auto first = prepare(copy, {}, {});
  if (!first) return first.err();
  const auto standard = first->over->to_configuration(first->over->standard());
  // The search measures the default first where one is named.
  auto& parameters = space_access::spec(copy).parameters;
  if (std::none_of(parameters.begin(), parameters.end(), [](const parameter& p) { return p.standard.has_value(); }))
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (!standard[i].is_absent()) {
        parameters[i].standard = standard[i];
        break;
      }
  search_options searching;
  searching.method = how.method;
  auto what = prepare(copy, searching, {});
  if (!what) return what.err();
  auto i = std::make_unique<impl>(with.get(), std::move(copy), how, std::move(make), std::move(*what));

  auto value = i->made(standard);
  if (const auto* why = std::get_if<failure>(&value))
    return error{errc::invalid_spec, "the default configuration cannot be made: " + why->message, {}};
  i->enter(standard, std::move(std::get<0>(value)));
  const auto best = i->with.best(i->what, recalled);
  if (!best) return best.err();
  const auto before = i->with.known(i->what, standard);
  i->default_seconds = before.value_or(0);
  for (const auto& b : *best) {
    if (i->by_name.contains(b.config.canonical())) continue;
    auto one = i->made(b.config);
    if (std::holds_alternative<failure>(one)) continue;
    i->enter(b.config, std::move(std::get<0>(one)));
    const auto ratio = before && *before > 0 ? std::optional(b.value / *before) : std::nullopt;
    const auto which = i->policy.add(ratio);
    if (which == 1 && ratio && *ratio < 1 - how.gain) i->policy.start_with(which, *ratio);
  }
  auto source = i->opened(0);
  if (!source) return source.err();
  i->source = std::move(*source);
  i->open = true;

  auto out = std::unique_ptr<live_core>(new live_core(std::move(i), next_number()));
  {
    const std::lock_guard guard(out->impl_->lock);
    out->impl_->publish(*out);
  }
  out->impl_->helper = std::thread([of = out->impl_.get()] { of->work(); });
  return out;
}

live_core::~live_core() {
  {
    const std::lock_guard guard(impl_->lock);
    impl_->stop = true;
    impl_->source->cancel();
  }
  impl_->wake.notify_all();
  impl_->helper.join();
  impl_->source->wait();
}

live_lane& live_core::find_lane() noexcept {
  const std::lock_guard guard(impl_->lanes_lock);
  auto& mine = impl_->lanes[std::this_thread::get_id()];
  if (!mine) {
    mine = std::make_unique<live_lane>();
    mine->until = impl_->policy.spacing();
    mine->random = (number_ * 0x9e3779b97f4a7c15u) ^ (impl_->lanes.size() * 0xbf58476d1ce4e5b9u) ^ impl_->how.seed;
    mine->random |= 1;
  }
  live_lanes[number_ % live_lanes.size()] = {number_, mine.get()};
  return *mine;
}

std::uint32_t live_core::turn(live_lane& lane) noexcept {
  // Marsaglia's xorshift: the turns must not keep step with anything in the workload.
  lane.random ^= lane.random << 13;
  lane.random ^= lane.random >> 7;
  lane.random ^= lane.random << 17;
  const auto spacing = impl_->policy.spacing();
  lane.until = spacing + static_cast<std::uint32_t>(lane.random % (spacing / 2 + 1));
  auto word = impl_->probe.load(std::memory_order_acquire);
  while ((word & 0xffffffffu) != 0)
    if (impl_->probe.compare_exchange_weak(word, word - 1, std::memory_order_acq_rel, std::memory_order_acquire))
      return static_cast<std::uint32_t>(word >> 32);
  return incumbent_.load(std::memory_order_acquire);
}

void live_core::hand_over(live_lane& lane, bool at_once) noexcept {
  std::unique_lock guard(impl_->lock, std::defer_lock);
  if (at_once || lane.filled == live_lane::room)
    guard.lock();
  else if (!guard.try_lock())
    return; // somebody else hands over: these wait for the next time
  const auto at = now();
  for (std::uint32_t n = 0; n < lane.filled; ++n)
    impl_->policy.record(lane.samples[n].first, lane.samples[n].second, at);
  lane.filled = 0;
  impl_->publish(*this);
}

void live_core::fail(std::uint32_t arm) noexcept {
  const std::lock_guard guard(impl_->lock);
  impl_->policy.fail(arm);
  impl_->publish(*this);
}

live_status live_core::status() const {
  const std::lock_guard guard(impl_->lock);
  live_status out;
  out.best = impl_->arms[impl_->policy.incumbent()].config;
  out.level = impl_->policy.level();
  out.default_level = impl_->policy.default_level();
  out.tried = impl_->tried;
  out.changes = impl_->policy.changes();
  out.searching = impl_->open || !impl_->policy.idle();
  return out;
}

void live_core::flush() {
  live_lane& lane = own_lane();
  hand_over(lane, true);
  std::unique_lock guard(impl_->lock);
  impl_->done.wait(guard, [&] { return impl_->to_tell.empty() && !impl_->busy && !impl_->wants(); });
}

} // namespace attune::detail
