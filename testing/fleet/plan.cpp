#include "testing/fleet/plan.hpp"

#include "core/random.hpp"

#include <algorithm>
#include <cstdio>

namespace attune::testing {

namespace {

constexpr nanoseconds last_fleet_fault = std::chrono::seconds(40);

}

const char* to_string(fleet_fault::kind k) noexcept {
  using kind = fleet_fault::kind;
  switch (k) {
  case kind::agent_killed:
    return "agent killed";
  case kind::agent_stalls:
    return "agent stalls";
  case kind::agent_leaves:
    return "agent leaves";
  case kind::twin_comes:
    return "twin comes";
  case kind::link_cut:
    return "link cut";
  case kind::link_half_closed:
    return "link half closed";
  case kind::link_freezes:
    return "link freezes";
  case kind::link_slows:
    return "link slows";
  case kind::link_not_read:
    return "link not read";
  case kind::frame_doubled:
    return "frame doubled";
  case kind::frame_truncated:
    return "frame truncated";
  case kind::hub_killed:
    return "hub killed";
  case kind::hub_killed_at_write:
    return "hub killed at its next write";
  case kind::hub_torn_at_write:
    return "hub's power goes in its next write";
  case kind::hub_power_cut:
    return "hub's power goes";
  case kind::hub_stalls:
    return "hub stalls";
  case kind::store_fails:
    return "store fails";
  case kind::client_goes:
    return "client goes";
  case kind::client_asks_again:
    return "client asks again";
  case kind::device_drained:
    return "device drained";
  case kind::device_banned:
    return "device banned";
  case kind::stranger_comes:
    return "stranger comes";
  case kind::careless_comes:
    return "careless client comes";
  case kind::disk_spoils:
    return "agent's disk spoils a file";
  case kind::wall_steps:
    return "wall clock steps";
  }
  return "?";
}

std::string fleet_plan::text() const {
  constexpr const char* others[] = {"",
                                    ", of other commands",
                                    ", with other files",
                                    ", of other workloads",
                                    ", with other limits",
                                    ", with other repeats",
                                    ", of other metrics",
                                    ", on other targets"};
  char line[600];
  std::snprintf(
      line, sizeof line,
      "fleet seed %llu: %u agents of %u slots, %u jobs of %u configurations%s%s%s%s%s, files of %u bytes, %u "
      "finalists, frames take up to %.3f s; of the candidates %.0f %% hang, %.0f %% hang deaf, %.0f %% crash, "
      "%.0f %% meet a fault, %.0f %% kill their machine, %.0f %% are slow, %.0f %% lie, %.0f %% flood\n",
      static_cast<unsigned long long>(seed), agents, slots, jobs, size, shared ? ", of one task" : "",
      others[static_cast<std::size_t>(differ)], same ? ", all the same" : "", brief ? ", soon run" : "",
      builds       ? ", built where they run"
      : hub_builds ? ", built at the hub"
                   : "",
      file_bytes, finals, seconds(slowest), 100 * hangs, 100 * deaf, 100 * crashes, 100 * fails, 100 * kills,
      100 * slow, 100 * lies, 100 * floods);
  std::string out = line;
  for (const auto& f : faults) {
    std::snprintf(line, sizeof line, "  at %7.2f s for %6.2f s: %s %u\n", seconds(f.at), seconds(f.lasts),
                  to_string(f.what), f.which);
    out += line;
  }
  return out;
}

fleet_plan fleet_plan_of(std::uint64_t seed) {
  random_engine rng(seed ^ 0xf1ee7);
  fleet_plan p;
  p.seed = seed;
  p.agents = 1 + static_cast<std::uint32_t>(rng.below(4));
  p.slots = 1 + static_cast<std::uint32_t>(rng.below(2));
  p.jobs = 1 + static_cast<std::uint32_t>(rng.below(3));
  p.size = 4 + static_cast<std::uint32_t>(rng.below(14));
  p.finals = rng.chance(0.2) ? 2 : 0;
  p.shared = rng.chance(0.4);
  p.same = !p.shared && rng.chance(0.2);
  p.slowest = rng.chance(0.3) ? std::chrono::milliseconds(800) : std::chrono::milliseconds(5);
  const auto some = [&](double chance, double most) { return rng.chance(chance) ? most * rng.uniform() : 0; };
  p.brief = random_engine(seed ^ 0xb21ef).chance(0.4);
  if (p.brief) p.size *= 3;
  random_engine more(seed ^ 0xf11e5);
  if (p.shared && more.chance(0.6)) p.differ = static_cast<fleet_plan::part>(more.below(fleet_plan::parts));
  p.builds = more.chance(0.3);
  p.hub_builds = !p.builds && random_engine(seed ^ 0xb011d5).chance(0.3);
  if (p.builds || p.differ == fleet_plan::part::contents || more.chance(0.3))
    p.file_bytes = 1 + static_cast<std::uint32_t>(more.below(more.chance(0.15) ? 600'000 : 3000));
  p.reopened = more.chance(0.3);
  p.hangs = some(0.4, 0.15);
  p.deaf = some(0.1, 0.1);
  p.crashes = some(0.5, 0.3);
  p.fails = some(0.4, 0.2);
  p.kills = some(0.3, 0.15);
  p.slow = some(0.5, 0.5);
  p.lies = some(0.1, 0.1);
  p.floods = some(0.1, 0.3);
  for (auto n = rng.below(9); n > 0; --n) {
    fleet_fault f;
    f.what = static_cast<fleet_fault::kind>(rng.below(fleet_fault::kinds));
    f.at = nanoseconds(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(last_fleet_fault.count()))));
    f.lasts = nanoseconds(static_cast<std::int64_t>(rng.below(15'000'000'000)));
    f.which = static_cast<std::uint32_t>(rng.below(8));
    p.faults.push_back(f);
  }
  std::sort(p.faults.begin(), p.faults.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return p;
}

} // namespace attune::testing
