#include "core/random.hpp"
#include "schedulers/credits.hpp"

#include <boost/test/unit_test.hpp>

#include <map>

using namespace attune::schedulers;
using window = credit_ledger::window;
using windows = std::vector<window>;

namespace attune::schedulers {
std::ostream& boost_test_print_type(std::ostream& out, const credit_ledger::window& w) {
  return out << w.client << ':' << w.credits;
}
} // namespace attune::schedulers

namespace {

/// The rule as the header says it, credit by credit.
std::map<std::uint64_t, std::uint32_t> by_hand(const std::vector<std::pair<std::uint64_t, std::uint32_t>>& wishes,
                                               std::uint64_t total) {
  std::map<std::uint64_t, std::uint32_t> out;
  for (const auto& [client, wish] : wishes) out[client] = 1;
  std::uint64_t left = total > wishes.size() ? total - wishes.size() : 0;
  for (bool moved = true; moved && left > 0;) {
    moved = false;
    for (const auto& [client, wish] : wishes) {
      if (left == 0 || (wish != 0 && out[client] >= wish)) continue;
      ++out[client];
      --left;
      moved = true;
    }
  }
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(credits)

BOOST_AUTO_TEST_CASE(one_client_has_the_total_or_its_wish) {
  credit_ledger l;
  BOOST_TEST(l.set_total(4).empty());
  BOOST_TEST((l.attach(7) == windows{{7, 4}}));
  BOOST_TEST((l.attach(7, 3) == windows{{7, 3}}));
  BOOST_TEST(l.attach(7, 3).empty());
  BOOST_TEST(l.clients() == 1u);
  BOOST_TEST(l.of(7) == 3u);
  BOOST_TEST(l.of(8) == 0u);
}

BOOST_AUTO_TEST_CASE(those_of_one_party_have_one_window_each_the_whole_of_it) {
  credit_ledger l;
  l.set_total(9);
  BOOST_TEST((l.attach(1, 0, 100) == windows{{1, 9}}));
  BOOST_TEST((l.attach(2, 0, 100) == windows{{2, 9}}));
  BOOST_TEST((l.attach(3) == windows{{1, 5}, {2, 5}, {3, 4}}));
  BOOST_TEST((l.attach(4, 0, 100) == windows{{4, 5}}));
  BOOST_TEST(l.detach(1).empty());
  BOOST_TEST((l.detach(3) == windows{{2, 9}, {4, 9}}));
}

BOOST_AUTO_TEST_CASE(the_odd_credit_goes_to_who_came_first) {
  credit_ledger l;
  l.set_total(5);
  l.attach(1);
  BOOST_TEST((l.attach(2) == windows{{1, 3}, {2, 2}}));
  BOOST_TEST((l.attach(3) == windows{{1, 2}, {3, 1}}));
}

BOOST_AUTO_TEST_CASE(what_one_does_not_wish_the_others_get) {
  credit_ledger l;
  l.set_total(10);
  l.attach(1, 2);
  l.attach(2);
  BOOST_TEST(l.of(1) == 2u);
  BOOST_TEST(l.of(2) == 8u);
}

BOOST_AUTO_TEST_CASE(everybody_has_one_at_least) {
  credit_ledger l;
  l.set_total(0);
  for (std::uint64_t c = 1; c <= 5; ++c) l.attach(c, 1);
  for (std::uint64_t c = 1; c <= 5; ++c) BOOST_TEST(l.of(c) == 1u);
}

BOOST_AUTO_TEST_CASE(the_share_of_one_who_goes_is_shared) {
  credit_ledger l;
  l.set_total(4);
  l.attach(1);
  l.attach(2);
  BOOST_TEST((l.detach(1) == windows{{2, 4}}));
  BOOST_TEST(l.of(1) == 0u);
  BOOST_TEST(l.detach(1).empty());
  BOOST_TEST((l.set_total(6) == windows{{2, 6}}));
}

BOOST_AUTO_TEST_CASE(large_totals_are_shared_at_once) {
  credit_ledger l;
  l.set_total(0xffffffffu);
  l.attach(1);
  l.attach(2, 1000000);
  BOOST_TEST(l.of(1) == 0xffffffffu - 1000000u);
  BOOST_TEST(l.of(2) == 1000000u);
}

BOOST_AUTO_TEST_CASE(weights_parts_and_limits_share_the_total) {
  credit_ledger l;
  l.set_total(40);
  l.attach(1, 0, 0, {.owner = 1, .weight = 3});
  l.attach(2, 0, 0, {.owner = 2, .weight = 1});
  BOOST_TEST(l.of(1) == 30u);
  BOOST_TEST(l.of(2) == 10u);
  // A second search of one owner takes from the first, by its part.
  l.attach(3, 0, 0, {.owner = 1, .weight = 3, .part = 2});
  BOOST_TEST(l.of(1) == 10u);
  BOOST_TEST(l.of(3) == 20u);
  BOOST_TEST(l.of(2) == 10u);
  // A limit is the owner's; what it leaves the others get; everybody has one at least.
  l.change(1, {.owner = 1, .weight = 3, .limit = 6});
  l.change(3, {.owner = 1, .weight = 3, .part = 2, .limit = 6});
  BOOST_TEST(l.of(1) + l.of(3) == 6u);
  BOOST_TEST(l.of(2) == 34u);
  l.change(1, {.owner = 1, .weight = 3, .limit = 1});
  l.change(3, {.owner = 1, .weight = 3, .part = 2, .limit = 1});
  BOOST_TEST(l.of(1) == 1u);
  BOOST_TEST(l.of(3) == 1u);
  BOOST_TEST(l.of(2) == 38u);
}

BOOST_AUTO_TEST_CASE(any_history_gives_what_the_rule_gives_and_names_exactly_the_changes) {
  const std::uint64_t seed = 20261129;
  BOOST_TEST_MESSAGE("seed " << seed);
  attune::random_engine r(seed);
  for (int round = 0; round < 300; ++round) {
    credit_ledger l;
    std::uint32_t total = 1;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> wishes;
    std::map<std::uint64_t, std::uint32_t> told;
    for (int step = 0; step < 20; ++step) {
      windows changed;
      const std::uint64_t client = 1 + r.below(6);
      const auto at = std::find_if(wishes.begin(), wishes.end(), [&](const auto& w) { return w.first == client; });
      switch (r.below(3)) {
      case 0:
        changed = l.set_total(total = static_cast<std::uint32_t>(r.below(40)));
        break;
      case 1: {
        const auto wish = static_cast<std::uint32_t>(r.below(9));
        if (at == wishes.end())
          wishes.emplace_back(client, wish);
        else
          at->second = wish;
        changed = l.attach(client, wish);
        break;
      }
      default:
        if (at != wishes.end()) wishes.erase(at);
        told.erase(client);
        changed = l.detach(client);
      }
      for (const auto& w : changed) {
        BOOST_TEST(told[w.client] != w.credits);
        told[w.client] = w.credits;
      }
      BOOST_TEST((told == by_hand(wishes, total)), "round " << round << " step " << step);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
