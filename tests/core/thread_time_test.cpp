#include "core/thread_time.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

using namespace attune;

BOOST_AUTO_TEST_CASE(the_time_of_a_thread_is_its_own_work_alone) {
  const auto spend = [](nanoseconds d) {
    const auto until = thread_time().monotonic() + d;
    while (thread_time().monotonic() < until) {
    }
  };
  const auto before = thread_time().monotonic();
  spend(std::chrono::milliseconds(2));
  const auto own = thread_time().monotonic();
  BOOST_TEST((own - before >= std::chrono::milliseconds(2)));
  nanoseconds other{0};
  std::thread([&] {
    spend(own);
    other = thread_time().monotonic();
  }).join();
  // The other thread worked for at least as long as this one ever did; waiting for it is not counted here.
  BOOST_TEST((other >= own));
  BOOST_TEST((thread_time().monotonic() - own < other));
}
