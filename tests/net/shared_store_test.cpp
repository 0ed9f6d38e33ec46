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

#include <algorithm>
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
      // Who waits may end this as soon as it can.
      const std::lock_guard guard(lock);
      heard.insert(heard.end(), a.begin(), a.end());
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

namespace {

/// Records from elsewhere, with what they point to.
struct foreign {
  foreign(const task_ptr& of, std::int64_t from, std::int64_t to) : entry(storage::entry_of(*of)) {
    for (auto n = from; n < to; ++n) {
      trials.push_back(ask(of, n));
      results.push_back(value_of(static_cast<double>(n) + 0.5));
    }
    for (std::size_t i = 0; i < trials.size(); ++i)
      records.push_back({&entry, trials[i]->key, &trials[i]->config, results[i].get(), "elsewhere"});
  }
  std::size_t added() const {
    return static_cast<std::size_t>(
        std::count_if(records.begin(), records.end(), [](const auto& r) { return r.added; }));
  }
  storage::task_entry entry;
  std::vector<trial_ptr> trials;
  std::vector<outcome_ptr> results;
  std::vector<storage::foreign_record> records;
};

/// Hears what is forgotten.
struct mourner {
  std::mutex lock;
  std::condition_variable came;
  std::vector<digest> heard;
  explicit mourner(storage::store_port& p) {
    p.on_forgotten([this](std::vector<digest> tasks) {
      // Who waits may end this as soon as it can.
      const std::lock_guard guard(lock);
      heard.insert(heard.end(), tasks.begin(), tasks.end());
      came.notify_all();
    });
  }
  bool hears(const digest& task) {
    std::unique_lock guard(lock);
    return came.wait_for(guard, 20s, [&] { return std::find(heard.begin(), heard.end(), task) != heard.end(); });
  }
};

} // namespace

BOOST_AUTO_TEST_CASE(an_import_goes_through_the_owner_and_adds_nothing_twice) {
  const scratch_folder scratch;
  const auto of = make();
  auto owner = port(scratch.store()), member = port(scratch.store());
  foreign all(of, 0, 3000);
  BOOST_REQUIRE(member->append_new(all.records).ok());
  BOOST_TEST(all.added() == 3000u);
  BOOST_REQUIRE(member->append_new(all.records).ok());
  BOOST_TEST(all.added() == 0u);
  BOOST_REQUIRE(owner->append_new(all.records).ok());
  BOOST_TEST(all.added() == 0u);
  foreign more(of, 2990, 3010);
  BOOST_REQUIRE(owner->append_new(more.records).ok());
  BOOST_TEST(more.added() == 10u);
  const auto best = (*member->view())->best(of->identity.task_key);
  BOOST_REQUIRE(best.ok());
  BOOST_TEST(best->at(0).result.measured()->value == 0.5);
  BOOST_TEST(count_in(scratch.store()) == 3010u);
}

BOOST_AUTO_TEST_CASE(what_is_forgotten_through_the_owner_is_heard_of_by_all) {
  const scratch_folder scratch;
  const auto of = make(), other = make({.name = "other"});
  auto owner = port(scratch.store()), member = port(scratch.store()), third = port(scratch.store());
  mourner first(*owner), second(*member), last(*third);
  auto some = items(of, 0, 20), rest = items(other, 0, 5);
  BOOST_REQUIRE(owner->append(some, {}).ok());
  BOOST_REQUIRE(owner->append(rest, {}).ok());
  std::vector<trial_ptr> asked{some[3].what};
  BOOST_REQUIRE(third->recall(asked)[0].entry.has_value());

  const auto dropped = member->drop_cached(of->identity.task_key);
  BOOST_REQUIRE(dropped.ok());
  BOOST_TEST(*dropped == 20u);
  for (auto* m : {&first, &second, &last}) BOOST_TEST(m->hears(of->identity.task_key));
  // One that looked before looks anew.
  BOOST_TEST(!third->recall(asked)[0].entry.has_value());
  BOOST_TEST(count_in(scratch.store()) == 25u);

  storage::retention how;
  how.keep_best = 2;
  const std::vector<digest> tasks{other->identity.task_key};
  const auto gone = member->forget(tasks, how);
  BOOST_REQUIRE(gone.ok());
  BOOST_REQUIRE(gone->size() == 1u);
  BOOST_TEST(gone->front().records == 3u);
  BOOST_TEST(gone->front().best == 2u);
  for (auto* m : {&first, &second, &last}) BOOST_TEST(m->hears(other->identity.task_key));
  BOOST_TEST(member->compact().ok());
  BOOST_TEST(owner->compact().ok());
  BOOST_TEST(count_in(scratch.store()) == 22u);
}

BOOST_AUTO_TEST_CASE(a_session_under_way_keeps_what_it_rests_on) {
  const scratch_folder scratch;
  const auto of = make();
  auto owner = port(scratch.store()), member = port(scratch.store());
  storage::session_entry entry;
  entry.id = "mine";
  entry.task_name = "gemm";
  for (const bool by_owner : {true, false}) {
    auto& tuner = by_owner ? *owner : *member;
    auto& forgetter = by_owner ? *member : *owner;
    entry.id = by_owner ? "owners" : "members";
    const std::int64_t base = by_owner ? 0 : 1000;
    BOOST_REQUIRE(*tuner.begin_session(entry));
    auto old = items(of, base, base + 10), made = items(of, base + 10, base + 20);
    for (auto& r : made) r.session = entry.id;
    BOOST_REQUIRE(tuner.append(old, {}).ok());
    BOOST_REQUIRE(tuner.append(made, {}).ok());
    // A hit of the cache, told; the rest of what it has made is not told yet.
    storage::step_item step;
    step.session = entry.id;
    step.what = old[2].what;
    step.result = old[2].result;
    step.from_cache = true;
    step.record = old[2].record;
    BOOST_REQUIRE(tuner.append({}, std::span(&step, 1)).ok());
    const std::vector<digest> tasks{of->identity.task_key};
    const auto gone = forgetter.forget(tasks, {});
    BOOST_REQUIRE(gone.ok());
    BOOST_TEST(gone->front().held == 11u);
    BOOST_TEST(gone->front().records == 9u);
    // One that it had from before and tells only now, of which the record is gone.
    step.what = old[5].what;
    step.result = old[5].result;
    step.record = old[5].record;
    BOOST_REQUIRE(tuner.append({}, std::span(&step, 1)).ok());
    std::size_t told = 0;
    BOOST_REQUIRE((*tuner.view())->session_steps(entry.id, [&](const auto&) { ++told; }).ok());
    BOOST_TEST(told == (by_owner ? 2u : 1u)); // a member's is as if it had not been told: it is asked for again
    BOOST_TEST(count_in(scratch.store()) == 11u);
    tuner.end_session(entry.id, 1s);
    // Now nothing is held.
    BOOST_REQUIRE((*owner->view())->newest() > 0);
    for (int i = 0; i < 200 && count_in(scratch.store()) > 0; ++i) BOOST_REQUIRE(owner->forget(tasks, {}).ok());
    BOOST_TEST(count_in(scratch.store()) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(an_owner_that_ends_amid_an_import_leaves_it_to_the_next) {
  const scratch_folder scratch;
  const auto of = make();
  auto owner = port(scratch.store()), member = port(scratch.store());
  foreign all(of, 0, 6000);
  std::atomic<bool> begun{false};
  std::thread ending([&] {
    while (!begun) std::this_thread::yield();
    owner = nullptr;
  });
  begun = true;
  const auto done = member->append_new(all.records);
  ending.join();
  BOOST_REQUIRE_MESSAGE(done.ok(), (done.ok() ? "" : done.err().text()));
  member = nullptr;
  BOOST_TEST(count_in(scratch.store()) == 6000u);
}

BOOST_AUTO_TEST_SUITE_END()
