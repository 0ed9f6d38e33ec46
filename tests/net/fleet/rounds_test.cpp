// The dispatcher over the wire: agents that answer, fail, are cut off and come again at random, over socket pairs;
// every trial ends once, no run overlaps another on a slot, and what is told is what was measured.
#include "core/random.hpp"
#include "schedulers/dispatcher.hpp"
#include "tests/net/fleet/pairs.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <set>

using namespace attune;
using namespace attune::tests;
using schedulers::job_id;
using schedulers::place_id;

namespace {

struct rounds : pairs {
  /// The clock is the test's: nobody is silent by the machine's.
  static fleet_server_options patient() {
    fleet_server_options o;
    o.lease = std::chrono::hours(24 * 365);
    return o;
  }
  explicit rounds(std::uint64_t seed) : pairs(patient()), random(seed) {

    schedulers::dispatcher_options options;
    options.admission = {64, 1, 1};
    options.ahead_below = std::chrono::hours(1);
    d = std::make_unique<schedulers::dispatcher>(options);
    const auto count = 1 + random.below(4);
    for (std::uint64_t i = 0; i < count; ++i) {
      auto& s = make("a" + std::to_string(i), 1 + static_cast<std::uint32_t>(random.below(3)));
      kind_of[&s] = static_cast<std::uint32_t>(random.below(2));
      connect(s);
    }
  }

  /// What the hub does when agents come and go.
  void look() {
    for (const auto& [name, who] : there) {
      if (places.contains(who)) continue;
      auto& s = agents[static_cast<std::size_t>(std::stoi(name.substr(1)))];
      schedulers::slot_traits what;
      what.device = 1 + static_cast<std::uint32_t>(std::stoi(name.substr(1)));
      what.kinds = {kind_of[&s]};
      what.ahead = true;
      for (std::uint32_t i = 0; i < s.slots.size(); ++i) {
        where[next_place] = {who, i};
        devices[next_place] = what.device;
        places[who].push_back(next_place);
        d->add_slot(next_place++, now(), out, what);
      }
    }
    for (auto at = places.begin(); at != places.end();) {
      const auto gone = std::none_of(there.begin(), there.end(), [&](const auto& t) { return t.second == at->first; });
      if (!gone) {
        ++at;
        continue;
      }
      for (const auto p : at->second) {
        d->remove_place(p, now(), out);
        act(); // what follows may go to a place that is the next to be taken away
        where.erase(p);
      }
      at = places.erase(at);
    }
    act();
  }

  void act() {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto next = out[i];
      if (const auto* run = std::get_if<schedulers::start_run>(&next)) {
        const auto at = where.at(run->slot);
        BOOST_REQUIRE(kind_of_job.at(run->job) == kind_of.at(&agent_at(at.first)));
        // Never again on a device that was lost under it.
        BOOST_REQUIRE((!lost_on.contains({run->job, devices.at(run->slot)})));
        if (run->ahead)
          ++aheads;
        else
          busy[run->slot] = run->job;
        const auto what = trials[run->job] = some_trial(run->job);
        server->order(at.first, at.second, what, nullptr,
                      [this, slot = run->slot, job = run->job](const measure::run_result& r) {
                        std::optional<failure> why;
                        if (const auto* f = std::get_if<failure>(&r.data)) why = *f;
                        if (const auto* m = std::get_if<measurement>(&r.data)) values[job] = m->value;
                        if (busy[slot] == job) busy.erase(slot);
                        d->ran(slot, job, why, now(), out);
                      });
      } else if (const auto* stop = std::get_if<schedulers::stop_place>(&next)) {
        if (const auto at = where.find(stop->place); at != where.end())
          server->stop(at->second.first, at->second.second, trials.at(stop->job));
      } else if (const auto* back = std::get_if<schedulers::stop_ahead>(&next)) {
        if (const auto at = where.find(back->place); at != where.end())
          server->stop(at->second.first, at->second.second, trials.at(back->job));
      } else if (const auto* begun = std::get_if<schedulers::begin_run>(&next)) {
        busy[begun->slot] = begun->job;
      } else if (const auto* done = std::get_if<schedulers::finish_answered>(&next)) {
        BOOST_REQUIRE(ended.insert(done->job).second);
        BOOST_REQUIRE(values.at(done->job) == static_cast<double>(done->job));
      } else if (const auto* failed = std::get_if<schedulers::finish_failed>(&next)) {
        BOOST_REQUIRE(ended.insert(failed->job).second);
      } else if (const auto* again = std::get_if<schedulers::retry_later>(&next)) {
        if (again->why.kind == failure_kind::device_lost) lost_on.insert({again->job, devices.at(again->failed_at)});
      }
    }
    out.clear();
  }

  side& agent_at(agent_id who) {
    for (const auto& [name, id] : there)
      if (id == who) return agents[static_cast<std::size_t>(std::stoi(name.substr(1)))];
    for (auto& [place, at] : where)
      if (at.first == who) return agents[devices.at(place) - 1];
    throw std::runtime_error("no such agent");
  }

  void step() {
    auto& s = agents[random.below(agents.size())];
    switch (random.below(10)) {
    case 0:
    case 1:
    case 2:
      if (submitted < 40) {
        const job_id id = ++submitted;
        kind_of_job[id] = static_cast<std::uint32_t>(random.below(2));
        schedulers::job j{id, 1 + random.below(3), false, false, {}, {}, kind_of_job[id]};
        BOOST_REQUIRE(d->submit(j, now(), out));
      }
      break;
    case 3:
      if (random.chance(0.3) && s.wire) s.wire->break_off("cut");
      break;
    case 4:
      if (random.chance(0.1)) d->cancel(1 + random.below(3), now(), out);
      break;
    case 5:
      time.advance(std::chrono::milliseconds(random.below(3000)));
      d->tick(now(), out);
      break;
    default:
      answer(s);
    }
    settle();
  }

  void answer(side& s) {
    auto& slot = *s.slots[random.below(s.slots.size())];
    if (!slot.in_hand) return;
    if (random.chance(0.1))
      slot.end(
          {failure{random.chance(0.5) ? failure_kind::internal : failure_kind::run_error, "no", {}, {}}, {}, {}, {}});
    else
      slot.measured(static_cast<double>(slot.in_hand->number));
  }

  /// Everything that is on its way arrives; who is cut off and has nothing more in hand dials again.
  void settle() {
    turn();
    for (auto& s : agents)
      if (s.lost > 0) {
        s.lost = 0;
        if (random.chance(0.9))
          connect(s);
        else
          away.push_back(&s);
      }
    turn();
    act();
    look();
    turn();
    act();
  }

  nanoseconds now() const { return time.monotonic(); }

  random_engine random;
  std::unique_ptr<schedulers::dispatcher> d;
  std::vector<schedulers::action> out;
  std::map<const side*, std::uint32_t> kind_of;
  std::map<agent_id, std::vector<place_id>> places;
  std::map<place_id, std::pair<agent_id, std::uint32_t>> where;
  std::map<place_id, std::uint32_t> devices;
  std::map<place_id, job_id> busy;
  std::map<job_id, std::uint32_t> kind_of_job;
  std::map<job_id, double> values;
  std::map<job_id, trial_ptr> trials;
  std::size_t aheads = 0;
  std::set<std::pair<job_id, std::uint32_t>> lost_on;
  std::set<job_id> ended;
  std::vector<side*> away;
  place_id next_place = 1;
  job_id submitted = 0;
};

} // namespace

BOOST_AUTO_TEST_SUITE(rounds_suite)

BOOST_AUTO_TEST_CASE(every_trial_ends_once_and_no_run_overlaps_over_many_rounds) {
  const char* more = std::getenv("ATTUNE_FLEET_ROUNDS");
  const int seeds = more != nullptr ? std::atoi(more) : 60;
  std::size_t aheads = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      rounds w(static_cast<std::uint64_t>(seed));
      w.settle();
      for (int i = 0; i < 250; ++i) w.step();
      // Whoever is away comes back, and all that is left is answered; what nobody serves ends by the clock.
      for (auto* s : std::exchange(w.away, {})) w.connect(*s);
      for (int i = 0; i < 2000 && w.ended.size() < w.submitted; ++i) {
        for (auto& s : w.agents) w.answer(s);
        w.time.advance(std::chrono::seconds(1));
        // Those that are alive are heard of.
        w.d->tick(w.now(), w.out);
        w.settle();
        for (auto* s : std::exchange(w.away, {})) w.connect(*s);
      }
      BOOST_TEST(w.ended.size() == w.submitted);
      for (auto& s : w.agents)
        for (auto& slot : s.slots) BOOST_TEST(!slot->overlapped);
      BOOST_TEST(w.server->leases().size() == 0u);
      aheads += w.aheads;
    }
  }
  BOOST_TEST(aheads > 0u); // they were there to be lost, stopped and taken back
}

BOOST_AUTO_TEST_SUITE_END()
