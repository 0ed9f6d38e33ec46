#include "core/random.hpp"
#include "net/fleet/lease_table.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <set>

using namespace attune;
using namespace attune::net::fleet;

BOOST_AUTO_TEST_SUITE(lease_table_suite)

BOOST_AUTO_TEST_CASE(a_slot_has_a_lease_and_one_behind_it) {
  lease_table t;
  const auto a = t.grant(1, 0, {}), b = t.grant(1, 0, {});
  BOOST_REQUIRE((a && b));
  BOOST_TEST(!t.grant(1, 0, {}));
  BOOST_TEST((t.of(1, 0) == std::vector<lease_id>{*a, *b}));
  BOOST_TEST(t.of(1, 7).empty());
  BOOST_TEST(t.grant(1, 1, {}).has_value());
  BOOST_TEST(t.grant(2, 0, {}).has_value());
  BOOST_TEST((t.end(*a, 1) == lease_table::answer::good));
  BOOST_TEST(t.grant(1, 0, {}).has_value());
}

BOOST_AUTO_TEST_CASE(an_answer_counts_once_and_only_from_the_holder) {
  lease_table t;
  const auto a = *t.grant(1, 0, {});
  BOOST_TEST((t.end(a, 2) == lease_table::answer::late));
  BOOST_TEST((t.end(a, 1) == lease_table::answer::good));
  BOOST_TEST((t.end(a, 1) == lease_table::answer::late));
  BOOST_TEST((t.end(a + 1, 1) == lease_table::answer::unknown));
  BOOST_TEST((t.end(0, 1) == lease_table::answer::unknown));
}

BOOST_AUTO_TEST_CASE(what_a_lost_agent_held_is_lost_and_its_answers_come_too_late) {
  lease_table t;
  const auto a = *t.grant(1, 3, {}), b = *t.grant(1, 1, {});
  const auto other = *t.grant(2, 1, {});
  const auto lost = t.lose(1);
  BOOST_REQUIRE_EQUAL(lost.size(), 2u);
  BOOST_TEST(lost[0].id == a);
  BOOST_TEST(lost[1].id == b);
  BOOST_TEST((t.end(a, 1) == lease_table::answer::late));
  BOOST_TEST((t.end(other, 2) == lease_table::answer::good));
  BOOST_TEST(t.lose(1).empty());
}

// Against books of the test's own: agents that come, go, answer, answer twice and answer late, in any order.
BOOST_AUTO_TEST_CASE(no_run_overlaps_another_and_each_lease_ends_once_over_many_rounds) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      random_engine random(seed);
      lease_table t;
      std::multimap<std::pair<agent_id, std::uint32_t>, lease_id> busy;
      std::map<lease_id, agent_id> given;
      std::set<lease_id> over;
      std::uint64_t ended = 0, lost = 0;
      for (int step = 0; step < 400; ++step) {
        const agent_id agent = 1 + random.below(4);
        const auto slot = static_cast<std::uint32_t>(random.below(3));
        switch (random.below(5)) {
        case 0:
        case 1: {
          const auto got = t.grant(agent, slot, {});
          BOOST_REQUIRE(got.has_value() == (busy.count({agent, slot}) < lease_table::per_slot));
          if (!got) break;
          BOOST_REQUIRE(given.emplace(*got, agent).second);
          busy.emplace(std::pair(agent, slot), *got);
          break;
        }
        case 2:
        case 3: {
          const lease_id which = random.below(given.size() + 3);
          const auto how = t.end(which, agent);
          const auto at = given.find(which);
          if (at == given.end()) {
            BOOST_REQUIRE((how == lease_table::answer::unknown));
          } else if (over.contains(which) || at->second != agent) {
            BOOST_REQUIRE((how == lease_table::answer::late));
          } else {
            BOOST_REQUIRE((how == lease_table::answer::good));
            over.insert(which);
            std::erase_if(busy, [&](const auto& b) { return b.second == which; });
            ++ended;
          }
          break;
        }
        default:
          if (!random.chance(0.2)) break;
          for (const auto& l : t.lose(agent)) {
            BOOST_REQUIRE(l.agent == agent);
            BOOST_REQUIRE(over.insert(l.id).second);
            BOOST_REQUIRE(std::erase_if(busy, [&](const auto& b) {
                            return b.second == l.id && b.first == std::pair(l.agent, l.slot);
                          }) == 1u);
            ++lost;
          }
          for (const auto& [place, id] : busy) BOOST_REQUIRE(place.first != agent);
        }
        BOOST_REQUIRE_EQUAL(t.size(), busy.size());
      }
      BOOST_TEST(t.counted().ended == ended);
      BOOST_TEST(t.counted().lost == lost);
      BOOST_TEST(t.counted().granted == ended + lost + busy.size());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
