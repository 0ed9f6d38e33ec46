// What sharing a store costs: a claim and its release where nobody else is there and through the owner, a turn on a
// free slot, an append of one record by the owner and by a member, and the time from an owner's end to a member's next
// acknowledged append.   sharing_bench [FOLDER]   (a folder on the disk that is meant; by default in /tmp)
#include "core/task.hpp"
#include "measure/machine_slot.hpp"
#include "net/shared_store.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

using namespace attune;

namespace {

using clock_type = std::chrono::steady_clock;

double us_since(clock_type::time_point t) {
  return std::chrono::duration<double, std::micro>(clock_type::now() - t).count();
}

void print(const char* what, std::vector<double> us) {
  std::sort(us.begin(), us.end());
  std::printf("%-44s p50 %9.2f us, p99 %9.2f us\n", what, us[us.size() / 2], us[us.size() * 99 / 100]);
}

task_ptr make() {
  task_spec spec;
  spec.name = "bench";
  spec.run.run.shell = "true";
  auto made = make_task(std::move(spec), target{{{"device", "bench"}}});
  return made ? *made : nullptr;
}

trial_ptr ask(const task_ptr& of, std::int64_t n) {
  auto t = std::make_shared<trial>();
  t->of = of;
  t->config = configuration({{"x", value(n)}});
  t->canonical = t->config.canonical();
  t->key = measurement_key(of->identity, t->canonical);
  return t;
}

status append(storage::store_port& to, const task_ptr& of, std::int64_t n) {
  measurement m;
  m.value = 1;
  m.samples = {1};
  auto o = std::make_shared<outcome>();
  o->data = m;
  storage::record_item item;
  item.what = ask(of, n);
  item.result = o;
  return to.append(std::span(&item, 1), {});
}

} // namespace

int main(int argc, char** argv) {
  std::string folder = std::string(argc > 1 ? argv[1] : "/tmp") + "/attune-sharing-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  const auto of = make();
  auto owner = net::open_shared(folder + "/store");
  if (!of || !owner) return 1;

  std::vector<double> us;
  const auto each = [&](const char* what, int times, auto run) {
    us.clear();
    for (int i = 0; i < times; ++i) {
      const auto t = clock_type::now();
      run(i);
      us.push_back(us_since(t));
    }
    print(what, us);
  };
  std::vector<trial_ptr> trials;
  for (int i = 0; i < 20000; ++i) trials.push_back(ask(of, i));
  each("claim and release, alone", 20000, [&](int i) {
    (*owner)->claim(*trials[static_cast<std::size_t>(i)], false, std::chrono::minutes(1));
    (*owner)->release(trials[static_cast<std::size_t>(i)]->key);
  });
  const auto slot = measure::machine_slot::open(folder + "/SLOTS", 0);
  if (!slot) return 1;
  each("a turn on a free slot", 20000, [&](int) {
    (*slot)->acquire([](measure::machine_slot::turn) {});
    (*slot)->release();
  });
  bool good = true;
  each("append of one record, owner", 1000, [&](int i) { good = good && append(**owner, of, i).ok(); });

  auto member = net::open_shared(folder + "/store");
  if (!member) return 1;
  std::mutex lock;
  std::condition_variable came;
  std::size_t answers = 0;
  (*member)->listen([&](const std::vector<storage::claim_answer>& a) {
    const std::lock_guard guard(lock);
    answers += a.size();
    came.notify_all();
  });
  each("claim and release, through the owner", 5000, [&](int i) {
    const auto& t = trials[static_cast<std::size_t>(i) + 10000];
    (*member)->claim(*t, false, std::chrono::minutes(1));
    {
      std::unique_lock guard(lock);
      came.wait(guard, [&] { return answers == static_cast<std::size_t>(i) + 1; });
    }
    (*member)->release(t->key);
  });
  each("append of one record, through the owner", 1000,
       [&](int i) { good = good && append(**member, of, 5000 + i).ok(); });
  (*member)->listen({});

  (*member).reset();
  (*owner).reset();

  std::vector<double> handovers;
  for (int i = 0; i < 20; ++i) {
    auto first = net::open_shared(folder + "/store");
    auto second = net::open_shared(folder + "/store");
    if (!first || !second) return 1;
    good = good && append(**second, of, 7000 + 2 * i).ok();
    const auto t = clock_type::now();
    (*first).reset();
    good = good && append(**second, of, 7001 + 2 * i).ok();
    handovers.push_back(us_since(t));
  }
  print("from an owner's end to the next append", handovers);
  std::error_code ec;
  std::filesystem::remove_all(folder, ec);
  return good ? 0 : 1;
}
