// Several ports on one store, in one process: each is an owner or a member of its own, as separate processes are.
#include "net/frame.hpp"
#include "net/shared_store.hpp"
#include "net/socket_place.hpp"
#include "net/store_messages.hpp"
#include "storage/cache.hpp"
#include "tests/storage/samples.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <poll.h>
#include <thread>
#include <unistd.h>

using namespace attune;
using namespace attune::net;
using namespace attune::storage::samples;
using namespace std::chrono_literals;

namespace {

outcome_ptr value_of(double v) {
  outcome o;
  measurement m;
  m.value = v;
  m.samples = {v};
  o.data = m;
  return std::make_shared<const outcome>(std::move(o));
}

std::vector<storage::record_item> items(const task_ptr& of, std::int64_t from, std::int64_t to) {
  std::vector<storage::record_item> out;
  for (auto n = from; n < to; ++n) {
    storage::record_item r;
    r.what = ask(of, n);
    r.result = value_of(static_cast<double>(n));
    out.push_back(r);
  }
  return out;
}

std::unique_ptr<storage::store_port> port(const std::string& folder) {
  auto p = open_shared(folder);
  BOOST_REQUIRE_MESSAGE(p.ok(), (p.ok() ? "" : p.err().text()));
  return std::move(*p);
}

/// Hears the answers to a port's claims.
struct ear {
  std::mutex lock;
  std::condition_variable came;
  std::vector<storage::claim_answer> heard;
  explicit ear(storage::store_port& p) {
    p.listen([this](std::vector<storage::claim_answer> a) {
      {
        const std::lock_guard guard(lock);
        heard.insert(heard.end(), a.begin(), a.end());
      }
      came.notify_all();
    });
  }
  storage::claim_answer wait(std::size_t n = 1) {
    std::unique_lock guard(lock);
    BOOST_REQUIRE(came.wait_for(guard, 20s, [&] { return heard.size() >= n; }));
    return heard[n - 1];
  }
};

std::uint64_t count_in(const std::string& folder) {
  auto s = storage::store::open(folder, {.read_only = true, .create = false});
  BOOST_REQUIRE(s.ok());
  BOOST_TEST((*s)->verify()->ok());
  return (*s)->statistics()->records;
}

} // namespace

BOOST_AUTO_TEST_SUITE(shared_stores)

BOOST_AUTO_TEST_CASE(a_second_and_a_third_work_through_the_first) {
  const scratch_folder scratch;
  const auto of = make();
  auto first = port(scratch.store());
  auto second = port(scratch.store());
  auto third = port(scratch.store());
  std::int64_t n = 0;
  for (auto* p : {second.get(), first.get(), third.get(), second.get()}) {
    auto some = items(of, n, n + 3);
    BOOST_REQUIRE(p->append(some, {}).ok());
    BOOST_TEST(some[0].record == static_cast<std::uint64_t>(n) + 1);
    n += 3;
    // What was acknowledged is there for whoever looks.
    for (auto* q : {first.get(), second.get(), third.get()}) {
      const auto v = q->view();
      BOOST_REQUIRE(v.ok());
      BOOST_TEST((*v)->newest() == static_cast<std::uint64_t>(n));
    }
  }
  BOOST_TEST(count_in(scratch.store()) == 12u);
  BOOST_TEST(third->knows_workload(of->identity.workload_key));
}

BOOST_AUTO_TEST_CASE(when_the_owner_ends_another_takes_over_and_the_rest_finds_it) {
  const scratch_folder scratch;
  const auto of = make();
  std::vector<std::unique_ptr<storage::store_port>> all;
  for (int i = 0; i < 4; ++i) all.push_back(port(scratch.store()));
  std::int64_t n = 0;
  while (!all.empty()) {
    for (auto& p : all) {
      auto some = items(of, n, n + 2);
      const auto done = p->append(some, {});
      BOOST_REQUIRE_MESSAGE(done.ok(), (done.ok() ? "" : done.err().text()));
      n += 2;
    }
    all.erase(all.begin()); // whoever is the owner then
  }
  BOOST_TEST(count_in(scratch.store()) == static_cast<std::uint64_t>(n));
  BOOST_TEST(!std::filesystem::exists(scratch.store() + "/SOCKET"));
}

BOOST_AUTO_TEST_CASE(flights_survive_a_handover) {
  const scratch_folder scratch;
  const auto of = make();
  auto owner = port(scratch.store());
  auto flies = port(scratch.store());
  auto waits = port(scratch.store());
  ear flier(*flies), waiter(*waits);
  const auto x = ask(of, 1);
  BOOST_TEST(!flies->claim(*x, false, 1h));
  BOOST_TEST(!flier.wait().known);
  BOOST_TEST(!waits->claim(*x, false, 1h));
  owner.reset();
  auto some = items(of, 1, 2);
  BOOST_REQUIRE(flies->append(some, {}).ok());
  flies->release(x->key);
  const auto answer = waiter.wait();
  BOOST_REQUIRE(answer.known);
  BOOST_TEST(answer.known->measured()->value == 1.0);
  waits->listen({});
  flies->listen({});
}

BOOST_AUTO_TEST_CASE(a_large_append_goes_in_parts) {
  const scratch_folder scratch;
  const auto of = make();
  auto owner = port(scratch.store());
  shared_store_options options;
  options.chunk_bytes = 2000;
  auto member = open_shared(scratch.store(), options);
  BOOST_REQUIRE(member.ok());
  auto some = items(of, 0, 100);
  std::vector<storage::step_item> steps;
  for (const auto& r : some) steps.push_back({"s", r.what, r.result, 1, true, 0});
  storage::session_entry s;
  s.id = "s";
  BOOST_TEST(*(*member)->begin_session(s));
  BOOST_TEST(!*owner->begin_session(s));
  BOOST_REQUIRE((*member)->append(some, steps).ok());
  for (std::size_t i = 0; i < some.size(); ++i) BOOST_REQUIRE(some[i].record == i + 1);
  std::size_t n = 0;
  BOOST_REQUIRE(
      (*owner->view())->session_steps("s", [&](const auto& step) { BOOST_REQUIRE(step.number == n++); }).ok());
  BOOST_TEST(n == 100u);
  (*member)->end_session("s", 1s);
  BOOST_REQUIRE((*member)->erase_session("s").ok());
  BOOST_TEST(!(*(*owner->view())->load_session("s")).has_value());
  BOOST_TEST(*owner->begin_session(s));
}

BOOST_AUTO_TEST_CASE(many_threads_and_handovers_lose_and_double_nothing) {
  const scratch_folder scratch;
  const auto of = make();
  constexpr int ports = 4, groups = 60;
  std::vector<std::thread> threads;
  std::mutex start;
  std::vector<std::string> wrong;
  for (int p = 0; p < ports; ++p)
    threads.emplace_back([&, p] {
      // The first to end takes the ownership away from under the others.
      auto mine = open_shared(scratch.store());
      for (int g = 0; mine.ok() && g < groups * (p + 1) / ports; ++g) {
        auto some = items(of, p * 1000 + g * 3, p * 1000 + g * 3 + 3);
        if (const auto done = (*mine)->append(some, {}); !done) {
          const std::lock_guard guard(start);
          wrong.push_back(done.err().text());
        }
      }
      if (!mine.ok()) {
        const std::lock_guard guard(start);
        wrong.push_back(mine.err().text());
      }
    });
  for (auto& t : threads) t.join();
  for (const auto& w : wrong) BOOST_ERROR(w);
  std::uint64_t expected = 0;
  for (int p = 0; p < ports; ++p) expected += 3u * static_cast<std::uint64_t>(groups * (p + 1) / ports);
  BOOST_TEST(count_in(scratch.store()) == expected);
}

BOOST_AUTO_TEST_CASE(an_owner_that_does_not_share_is_named) {
  const scratch_folder scratch;
  auto alone = storage::open_exclusive(scratch.store());
  BOOST_REQUIRE(alone.ok());
  shared_store_options options;
  options.start = 50ms;
  const auto second = open_shared(scratch.store(), options);
  BOOST_REQUIRE(!second.ok());
  BOOST_TEST(bool(second.err().code == errc::store_busy));
  BOOST_TEST(second.err().message.find("in use by process " + std::to_string(::getpid())) != std::string::npos);
}

/// An owner that greets, answers `pings` questions, and then nothing any more, as one that was stopped.
class stopped_owner {
public:
  explicit stopped_owner(const std::string& folder)
      : store_(*storage::store::open(folder, {})), place_(*socket_place::open(folder)), listening_(*place_->listen()) {
    thread_ = std::thread([this] { serve(); });
  }
  ~stopped_owner() {
    stop_ = true;
    thread_.join();
    for (const int s : open_) ::close(s);
    ::close(listening_);
  }

private:
  void serve() {
    bool greeted = false;
    while (!stop_) {
      pollfd p{listening_, POLLIN, 0};
      if (::poll(&p, 1, 20) != 1) continue;
      const int s = ::accept(listening_, nullptr, nullptr);
      if (s < 0) continue;
      open_.push_back(s);
      if (std::exchange(greeted, true)) continue;
      char hello[4096];
      pollfd q{s, POLLIN, 0};
      ::poll(&q, 1, 5000);
      if (::read(s, hello, sizeof hello) <= 0) continue;
      wire::v1::Envelope out;
      *out.mutable_welcome() = welcome_of(store_abilities(), {1, {}});
      std::string frame;
      append_frame(frame, out.SerializeAsString());
      [[maybe_unused]] const auto n = ::write(s, frame.data(), frame.size());
    }
  }
  std::unique_ptr<storage::store> store_;
  std::shared_ptr<socket_place> place_;
  int listening_;
  std::vector<int> open_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

BOOST_AUTO_TEST_CASE(an_owner_that_answers_nothing_holds_nobody_for_ever) {
  const scratch_folder scratch;
  const stopped_owner owner(scratch.store());
  shared_store_options options;
  options.ping = 5ms;
  options.call = 50ms;
  auto member = open_shared(scratch.store(), options);
  BOOST_REQUIRE(member.ok());
  ear heard(**member);
  BOOST_TEST(!(*member)->claim(*ask(make(), 1), false, 1h));
  BOOST_TEST(!heard.wait().known);
  auto some = items(make(), 1, 2);
  const auto done = (*member)->append(some, {});
  BOOST_REQUIRE(!done.ok());
  BOOST_TEST(bool(done.err().code == errc::store_busy));
  (*member)->listen({});
}

BOOST_AUTO_TEST_CASE(the_socket_is_the_users_alone_however_deep_and_under_any_umask) {
  const scratch_folder scratch;
  std::string deep = scratch.path();
  while (deep.size() < 400) deep += "/a-folder-with-a-long-name";
  const auto umask_before = ::umask(0);
  auto first = port(deep);
  ::umask(umask_before);
  struct stat s {};
  BOOST_REQUIRE(::stat((deep + "/SOCKET").c_str(), &s) == 0);
  BOOST_TEST((s.st_mode & 07777) == 0600u);
  auto second = port(deep);
  auto some = items(make(), 0, 1);
  BOOST_TEST(second->append(some, {}).ok());
  // A socket that nobody listens on any more is no obstacle.
  second.reset();
  first.reset();
  {
    const auto place = *socket_place::open(deep);
    const auto left = place->listen();
    BOOST_REQUIRE(left.ok());
    ::close(*left);
  }
  BOOST_TEST(std::filesystem::exists(deep + "/SOCKET"));
  first = port(deep);
  second = port(deep);
  BOOST_TEST(second->append(some, {}).ok());
}

BOOST_AUTO_TEST_CASE(others_are_seen_while_they_live) {
  const scratch_folder scratch;
  const auto a = *socket_place::open(scratch.path()), b = *socket_place::open(scratch.path());
  BOOST_TEST(!a->others());
  b->join();
  BOOST_TEST(a->others());
  a->join();
  b->part();
  BOOST_TEST(!a->others());
  {
    const auto c = *socket_place::open(scratch.path());
    c->join();
    BOOST_TEST(a->others());
  }
  BOOST_TEST(!a->others());
}

BOOST_AUTO_TEST_SUITE_END()
