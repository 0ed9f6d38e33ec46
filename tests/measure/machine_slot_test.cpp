#include "measure/machine_slot.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/wait.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <unistd.h>

using namespace attune;
using namespace attune::measure;
using namespace std::chrono_literals;

namespace {

struct folder {
  std::string path = (std::filesystem::temp_directory_path() / "attune-slot-XXXXXX").string();
  folder() { BOOST_REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~folder() {
    std::error_code ec;
    std::filesystem::remove_all(path, ec);
  }
  std::shared_ptr<machine_slot> slot(std::uint32_t n, nanoseconds patience = 1h) const {
    auto s = machine_slot::open(path + "/SLOTS", n, patience);
    BOOST_REQUIRE(s.ok());
    return *s;
  }
};

/// Waits for a turn.
struct gate {
  std::mutex lock;
  std::condition_variable came;
  std::optional<machine_slot::turn> turn;
  machine_slot::callback opener() {
    return [this](machine_slot::turn t) {
      // Who waits may end the gate as soon as it can.
      const std::lock_guard guard(lock);
      turn = t;
      came.notify_all();
    };
  }
  machine_slot::turn wait() {
    std::unique_lock guard(lock);
    BOOST_REQUIRE(came.wait_for(guard, 20s, [&] { return turn.has_value(); }));
    return *turn;
  }
  bool open() {
    const std::lock_guard guard(lock);
    return turn.has_value();
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(turns_on_a_slot)

BOOST_AUTO_TEST_CASE(a_free_slot_is_had_at_once_and_another_number_is_another_slot) {
  const folder f;
  const auto a = f.slot(0), b = f.slot(1);
  gate x, y;
  BOOST_TEST(a->acquire(x.opener()));
  BOOST_TEST(b->acquire(y.opener()));
  BOOST_TEST(x.wait().alone);
  a->release();
  a->release();
  gate again;
  BOOST_TEST(a->acquire(again.opener()));
}

BOOST_AUTO_TEST_CASE(who_waits_gets_it_next_even_if_the_one_before_asks_at_once) {
  const folder f;
  const auto a = f.slot(0), b = f.slot(0);
  gate first, second, third;
  BOOST_TEST(a->acquire(first.opener()));
  BOOST_TEST(!b->acquire(second.opener()));
  BOOST_TEST(!second.open());
  a->release();
  const bool at_once = a->acquire(third.opener());
  // Either b has it by now or waits at the gate before a; a can have it first only where b has not begun to wait.
  if (!at_once) {
    second.wait();
    BOOST_TEST(!third.open());
    b->release();
    third.wait();
  } else {
    a->release();
    second.wait();
  }
}

BOOST_AUTO_TEST_CASE(a_wait_can_be_given_up_and_begun_again) {
  const folder f;
  const auto a = f.slot(0), b = f.slot(0);
  gate first, lost, later;
  a->acquire(first.opener());
  b->acquire(lost.opener());
  BOOST_TEST(b->cancel());
  BOOST_TEST(!b->cancel());
  BOOST_TEST(!b->acquire(later.opener()));
  a->release();
  BOOST_TEST(later.wait().alone);
  BOOST_TEST(!lost.open());
  BOOST_TEST(!b->cancel());
}

BOOST_AUTO_TEST_CASE(a_slot_that_is_never_given_back_is_not_waited_for_for_ever) {
  const folder f;
  const auto a = f.slot(0), b = f.slot(0, 1ms);
  gate first, second;
  a->acquire(first.opener());
  b->acquire(second.opener());
  BOOST_TEST(!second.wait().alone);
  b->release();
  gate third;
  a->release();
  b->acquire(third.opener());
  third.wait();
}

BOOST_AUTO_TEST_CASE(a_process_that_is_killed_gives_its_slot_back) {
  const folder f;
  int said[2];
  BOOST_REQUIRE(::pipe(said) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto s = machine_slot::open(f.path + "/SLOTS", 0);
    const bool have = s.ok() && (*s)->acquire([](machine_slot::turn) {});
    if (::write(said[1], have ? "y" : "n", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char answer = 0;
  BOOST_REQUIRE(::read(said[0], &answer, 1) == 1);
  BOOST_TEST(answer == 'y');
  const auto b = f.slot(0);
  gate g;
  BOOST_TEST(!b->acquire(g.opener()));
  ::kill(child, SIGKILL);
  BOOST_TEST(g.wait().alone);
  ::waitpid(child, nullptr, 0);
  ::close(said[0]);
  ::close(said[1]);
}

BOOST_AUTO_TEST_SUITE_END()
