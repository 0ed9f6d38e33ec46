#include "measure/process_tree.hpp"
#include "tests/per_element.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/resource.h>

#include <algorithm>
#include <unistd.h>

using namespace attune::measure;

namespace {

using pids = std::vector<pid_t>;

process_entry entry(pid_t pid, pid_t parent, pid_t group, pid_t session, std::uint64_t start) {
  return {pid, parent, group, session, 'S', start};
}

pids of(const std::vector<process_entry>& entries) {
  pids out;
  for (const auto& e : entries) out.push_back(e.pid);
  std::sort(out.begin(), out.end());
  return out;
}

// 10 is the tuner; 20 and 30 are roots of trials.
const std::vector<process_entry> world{
    entry(1, 0, 1, 1, 0),       entry(5, 1, 5, 5, 10),      entry(10, 5, 10, 5, 100),
    entry(20, 10, 20, 20, 200), entry(21, 20, 20, 20, 210), entry(22, 21, 22, 22, 220),
    entry(23, 10, 20, 20, 230), // an orphan in the session
    entry(24, 10, 24, 24, 240), // an orphan that left it
    entry(25, 24, 24, 24, 250), entry(30, 10, 30, 30, 205), entry(31, 30, 30, 30, 215),
    entry(40, 10, 10, 5, 300), // the host's
};

} // namespace

BOOST_AUTO_TEST_CASE(a_process_reads_itself) {
  auto self = read_process(getpid());
  BOOST_REQUIRE(self);
  BOOST_TEST(self->parent == getppid());
  BOOST_TEST(self->session == getsid(0));
  BOOST_TEST(self->group == getpgrp());
  BOOST_TEST(!self->dead());
  auto all = of(list_processes());
  BOOST_TEST(std::count(all.begin(), all.end(), getpid()) == 1);
  BOOST_TEST(!read_process(0));
}

BOOST_AUTO_TEST_CASE(who_cannot_look_says_so) {
  bool blind = false;
  BOOST_TEST(!read_process(0, &blind));
  BOOST_TEST(!blind);
  BOOST_TEST(!list_processes(&blind).empty());
  BOOST_TEST(!blind);
  rlimit before{};
  BOOST_REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  BOOST_REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  bool blind_to_one = false;
  const auto self = read_process(getpid(), &blind_to_one);
  const auto all = list_processes(&blind);
  BOOST_REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  BOOST_TEST(!self);
  BOOST_TEST(blind_to_one);
  BOOST_TEST(all.empty());
  BOOST_TEST(blind);
}

BOOST_AUTO_TEST_CASE(kin_is_what_a_trial_is_known_to_have) {
  pids others{30};
  BOOST_TEST(of(descendants(world, 20, 200, {}, others)) == (pids{20, 21, 22, 23}), per_element);
  pids adopted{24};
  BOOST_TEST(of(descendants(world, 20, 200, adopted, others)) == (pids{20, 21, 22, 23, 24, 25}), per_element);
  // A number that is used again by something older is nobody's child.
  BOOST_TEST(of(descendants(world, 20, 211, {}, others)) == (pids{23}), per_element);
}

BOOST_AUTO_TEST_CASE(orphans_are_the_reapers_children_in_other_sessions) {
  pids known{20, 30}, reapers{10};
  BOOST_TEST(of(orphans(world, reapers, 200, 5, known)) == (pids{23, 24}), per_element);
  BOOST_TEST(of(orphans(world, reapers, 235, 5, known)) == (pids{24}), per_element);
}

BOOST_AUTO_TEST_CASE(ancestors_go_up_to_the_first_process) {
  BOOST_TEST(ancestors(world, 21) == (pids{20, 10, 5, 1}), per_element);
  // A listing that was torn by reuse of numbers may go round: it ends all the same.
  BOOST_TEST(ancestors({entry(2, 3, 2, 2, 0), entry(3, 2, 3, 3, 0)}, 2).size() <= 2U);
}

BOOST_AUTO_TEST_CASE(a_signal_goes_to_the_very_process_or_to_none) {
  auto self = *read_process(getpid());
  BOOST_TEST(signal_process(self, 0));
  ++self.start;
  BOOST_TEST(!signal_process(self, 0));
}
