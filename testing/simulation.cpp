#include "testing/simulation.hpp"

#include "testing/ledger.hpp"

#include <algorithm>
#include <cstdio>

namespace attune::testing {

using namespace actors;
using namespace std::chrono_literals;

namespace {

constexpr nanoseconds last_fault = 90s;
/// Every search must have ended by then: with all its trials hanging to their limits, one after the other, on one slot.
constexpr nanoseconds patience = 2h;

/// A number from 0 to 1 that belongs to a configuration.
double luck_of(const std::string& canonical, std::uint64_t seed, const char* what) {
  std::uint64_t h = seed * 0x9e3779b97f4a7c15u;
  for (const char c : canonical + what) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return random_engine(h).uniform();
}

class play_of {
public:
  explicit play_of(const plan& p) : plan_(p), world_(options_of(p)), books_(world_) {
    for (std::uint32_t i = 0; i < p.searches; ++i) searches_.emplace_back();
    set_up();
  }

  void run() {
    auto next = plan_.faults.begin();
    auto& at = at_;
    while (at < patience) {
      for (; next != plan_.faults.end() && next->at <= at; ++next) strike(*next, at);
      for (auto f = later_.begin(); f != later_.end();) {
        if (f->first > at) {
          ++f;
          continue;
        }
        const auto what = std::move(f->second);
        f = later_.erase(f);
        what();
        f = later_.begin();
      }
      if (next == plan_.faults.end() && later_.empty() && all_ended()) return finish();
      const auto step = at < last_fault + 30s ? nanoseconds(250ms) : nanoseconds(5s);
      world_.pass(step, 250ms);
      at += step;
    }
    world_.check(false, "broken: every loop ends: a search is still under way after two hours");
  }

private:
  struct search_book {
    tuner_actor who;
    std::uint64_t number = 0;
    std::vector<fake_store::step> past;
    std::shared_ptr<report_ptr> report;
    bool again = false; ///< it was called back, and begins again later
  };

  static world_options options_of(const plan& p) {
    world_options o;
    o.seed = p.seed;
    o.scheduling.dispatcher.admission = {p.runners, p.builders};
    o.recording.give_up_after = 10min;
    o.history = 2000;
    return o;
  }

  void set_up() {
    gone_.clear();
    lost_.clear();
    runners_.assign(plan_.runners, 0);
    builders_.assign(plan_.builders, 0);
    for (std::uint32_t i = 0; i < plan_.runners; ++i) add_runner(i);
    for (std::uint32_t i = 0; i < plan_.builders; ++i) add_builder(i);
    for (std::uint32_t i = 0; i < plan_.searches; ++i) begin(i);
  }

  act<run_report> behave(const run_order& o, std::uint32_t i) {
    const auto& c = o.what->canonical;
    const auto seed = plan_.seed;
    act<run_report> a;
    a.after = luck_of(c, seed, "slow") < plan_.slow ? nanoseconds(4s) : nanoseconds(200ms);
    double luck = luck_of(c, seed, "how");
    const auto falls_to = [&luck](double share) { return (luck -= share) < 0; };
    if (falls_to(plan_.hangs)) {
      // One that does not even hear a cancel is ended from outside in the end.
      if (luck_of(c, seed, "deaf") < 0.3) {
        a.deaf = a.dies = true;
        a.after = 60s;
        lose_runner(i, 65s);
      }
      return a;
    }
    if (falls_to(plan_.kills)) {
      a.dies = a.deaf = true;
      lose_runner(i, 5s);
      return a;
    }
    if (falls_to(plan_.crashes)) {
      a.report = run_failed(failure_kind::run_error);
      return a;
    }
    if (falls_to(plan_.fails)) {
      a.report = run_failed(failure_kind::internal);
      return a;
    }
    a.report = measured(1 + luck_of(c, seed, "value"));
    return a;
  }

  void add_runner(std::uint32_t i) {
    world_.add_runner("slot" + std::to_string(i) + life(runners_[i]),
                      [this, i](const run_order& o) { return behave(o, i); });
    slots_.push_back({world_.runners.size() - 1, i});
  }
  /// It is gone, or will be with the order that it gets; and comes back.
  void lose_runner(std::uint32_t i, nanoseconds lasts) {
    gone_.insert(i);
    ++runners_[i];
    after(at_ + lasts, [this, i, cut = cuts_] {
      if (cut != cuts_) return;
      gone_.erase(i);
      add_runner(i);
    });
  }
  void add_builder(std::uint32_t i) {
    world_.add_builder("builder" + std::to_string(i) + life(builders_[i]), [this](const build_order& o) {
      act<build_report> a;
      a.after = 100ms;
      a.report = luck_of(o.what->canonical, plan_.seed, "build") < plan_.crashes
                     ? build_failed(failure_kind::build_error)
                     : built();
      return a;
    });
    makers_.push_back({world_.builders.size() - 1, i});
  }
  /// A place that comes back is another one to the scheduler, and has another name in the books.
  static std::string life(int n) { return n == 0 ? "" : "." + std::to_string(n); }

  void begin(std::uint32_t i) {
    auto& s = searches_[i];
    tuner_options o;
    o.name = plan_.shared ? "task" : "task" + std::to_string(i);
    o.size = static_cast<int>(plan_.size);
    o.build = plan_.builds;
    o.strategy = i % 2 == 0 ? "random" : "genetic";
    o.seed = plan_.seed + i;
    o.session = "search" + std::to_string(i);
    s.past = world_.store.steps_of(o.session);
    o.past = s.past;
    s.report = std::make_shared<report_ptr>();
    s.again = false;
    s.who = world_.begin(o);
    s.number = world_.tuners.size();
    // It waits for the report from the beginning: what comes at any moment reaches it.
    caf::scoped_actor nobody(world_.system);
    world_.system.spawn([to = s.report, who = s.who](caf::event_based_actor* self) {
      self->request(who, caf::infinite, atom::report::value)
          .then([to](const report_ptr& r) { *to = r; }, [](const caf::error&) {});
    });
    world_.drain();
  }

  bool all_ended() const {
    return std::all_of(searches_.begin(), searches_.end(),
                       [](const auto& s) { return *s.report != nullptr && !s.again; });
  }

  void after(nanoseconds when, std::function<void()> what) { later_.emplace_back(when, std::move(what)); }

  void strike(const fault& f, nanoseconds now) {
    switch (f.what) {
    case fault::kind::runner_dies: {
      const auto i = f.which % plan_.runners;
      if (gone_.contains(i)) break;
      lose_runner(i, f.lasts);
      for (auto& [at, slot] : slots_)
        if (slot == i) world_.kill_runner(at);
      break;
    }
    case fault::kind::builder_dies: {
      const auto i = f.which % plan_.builders;
      if (lost_.contains(i)) break;
      lost_.insert(i);
      for (auto& [at, builder] : makers_)
        if (builder == i) world_.kill_builder(at);
      ++builders_[i];
      after(now + f.lasts, [this, i, cut = cuts_] {
        if (cut != cuts_) return;
        lost_.erase(i);
        add_builder(i);
      });
      break;
    }
    case fault::kind::store_fails:
      world_.store.trouble = error{errc::store_unusable, "no space left", {}};
      after(now + f.lasts, [this] { world_.store.trouble.reset(); });
      break;
    case fault::kind::power_cut:
      ++cuts_;
      slots_.clear();
      makers_.clear();
      world_.power_cut();
      books_.power_cut();
      for (auto& s : searches_) s.again = false;
      set_up();
      break;
    case fault::kind::search_stopped: {
      const auto i = f.which % plan_.searches;
      auto& s = searches_[i];
      if (*s.report || s.again) break;
      caf::anon_send(s.who, atom::cancel::value);
      s.again = true;
      again_when_ended(i, now + f.lasts, cuts_);
      break;
    }
    case fault::kind::search_pauses: {
      const auto i = f.which % plan_.searches;
      caf::anon_send(searches_[i].who, atom::pause::value);
      after(now + f.lasts, [who = searches_[i].who] { caf::anon_send(who, atom::resume::value); });
      break;
    }
    }
    world_.drain();
  }

  /// What it had in hand may take its time to stop.
  void again_when_ended(std::uint32_t i, nanoseconds when, int cut) {
    after(when, [this, i, cut] {
      if (cut != cuts_) return;
      if (!*searches_[i].report) return again_when_ended(i, at_ + 1s, cut);
      look(searches_[i]);
      begin(i);
    });
  }

  void look(const search_book& s) { books_.ended(s.number, **s.report, s.past); }

  void finish() {
    for (const auto& s : searches_) {
      look(s);
      const auto& r = **s.report;
      const bool all = r.reason == search::stop_reason::exhausted ||
                       (r.reason == search::stop_reason::no_valid && !r.best.has_value());
      if (!all && r.reason != search::stop_reason::error)
        world_.check(false, std::string("broken: every loop ends: a search ended because of ") + to_string(r.reason));
      if (all && r.counts.proposed != plan_.size)
        world_.check(false, "broken: each configuration once: " + std::to_string(r.counts.proposed) + " were told");
    }
    books_.look_at_store();
  }

  plan plan_;
  world world_;
  ledger books_;
  std::vector<search_book> searches_;
  std::vector<int> runners_, builders_;                      ///< how often each has died
  std::vector<std::pair<std::size_t, std::uint32_t>> slots_; ///< the world's number of each life of each runner
  std::vector<std::pair<std::size_t, std::uint32_t>> makers_;
  std::vector<std::pair<nanoseconds, std::function<void()>>> later_;
  std::set<std::uint32_t> gone_, lost_; ///< runners and builders that are not there just now
  int cuts_ = 0;
  nanoseconds at_{0};
};

} // namespace

const char* to_string(fault::kind k) noexcept {
  switch (k) {
  case fault::kind::runner_dies:
    return "runner dies";
  case fault::kind::builder_dies:
    return "builder dies";
  case fault::kind::store_fails:
    return "store fails";
  case fault::kind::power_cut:
    return "power cut";
  case fault::kind::search_stopped:
    return "search stopped";
  case fault::kind::search_pauses:
    return "search pauses";
  }
  return "?";
}

std::string plan::text() const {
  char line[256];
  std::snprintf(line, sizeof line,
                "seed %llu: %u runners, %u builders, %u searches of %u configurations%s%s; of the candidates %.0f %% "
                "hang, %.0f %% crash, %.0f %% meet a fault, %.0f %% kill their device, %.0f %% are slow\n",
                static_cast<unsigned long long>(seed), runners, builders, searches, size, builds ? ", built" : "",
                shared ? ", of one task" : "", 100 * hangs, 100 * crashes, 100 * fails, 100 * kills, 100 * slow);
  std::string out = line;
  for (const auto& f : faults) {
    std::snprintf(line, sizeof line, "  at %7.2f s for %6.2f s: %s %u\n", seconds(f.at), seconds(f.lasts),
                  to_string(f.what), f.which);
    out += line;
  }
  return out;
}

plan plan_of(std::uint64_t seed) {
  random_engine rng(seed);
  plan p;
  p.seed = seed;
  p.runners = 1 + static_cast<std::uint32_t>(rng.below(3));
  p.builders = 1 + static_cast<std::uint32_t>(rng.below(2));
  p.searches = 1 + static_cast<std::uint32_t>(rng.below(3));
  p.size = 4 + static_cast<std::uint32_t>(rng.below(20));
  p.builds = rng.chance(0.5);
  p.shared = rng.chance(0.5);
  const auto some = [&](double most) { return rng.chance(0.5) ? most * rng.uniform() : 0; };
  p.hangs = some(0.15);
  p.crashes = some(0.3);
  p.fails = some(0.2);
  p.kills = some(0.1);
  p.slow = some(0.5);
  for (auto n = rng.below(8); n > 0; --n) {
    fault f;
    f.what = static_cast<fault::kind>(rng.below(6));
    f.at = nanoseconds(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(last_fault.count()))));
    f.lasts = nanoseconds(static_cast<std::int64_t>(rng.below(20'000'000'000)));
    f.which = static_cast<std::uint32_t>(rng.below(4));
    p.faults.push_back(f);
  }
  std::sort(p.faults.begin(), p.faults.end(), [](const fault& a, const fault& b) { return a.at < b.at; });
  return p;
}

std::optional<std::string> play(const plan& p) {
  try {
    play_of(p).run();
    return std::nullopt;
  } catch (const failed& f) {
    return f.what();
  }
}

plan shrunk(plan p) {
  for (std::size_t i = p.faults.size(); i-- > 0;) {
    auto less = p;
    less.faults.erase(less.faults.begin() + static_cast<std::ptrdiff_t>(i));
    if (play(less)) p = std::move(less);
  }
  for (const auto share : {&plan::hangs, &plan::crashes, &plan::fails, &plan::kills, &plan::slow}) {
    if (p.*share == 0) continue;
    auto less = p;
    less.*share = 0;
    if (play(less)) p = std::move(less);
  }
  return p;
}

} // namespace attune::testing
