#include "actors/engine.hpp"

#include "actors/allocator.hpp"
#include "actors/archive.hpp"
#include "actors/cache.hpp"
#include "actors/engine_state.hpp"
#include "actors/error.hpp"
#include "actors/handles.hpp"
#include "actors/model.hpp"
#include "actors/monitor.hpp"
#include "actors/recorder.hpp"
#include "actors/scheduler.hpp"
#include "actors/tuner.hpp"
#include "actors/turns.hpp"
#include "actors/worker.hpp"
#include "measure/machine_slot.hpp"
#include "measure/topology.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/logger.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <latch>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace attune::actors {

namespace {

/// Whoever watches is told of trials' steps no more often than so.
constexpr nanoseconds event_pace = std::chrono::milliseconds(10);

/// How long the way of files to a slot elsewhere may take, beside the limits of what runs there.
constexpr auto bringing_patience = std::chrono::minutes(5);

/// How long another process's flight is waited for: twice what a trial can take by its limits, and a queue.
nanoseconds flight_limit(const task& of) {
  const auto build = build_limit_of(of.spec, nanoseconds(0)), run = run_limit_of(of, nanoseconds(0));
  const bool bounded = run.count() > 0 && (!of.spec.build || build.count() > 0);
  return bounded ? 2 * (build + run) + std::chrono::minutes(1) : nanoseconds(std::chrono::hours(1));
}

struct quiet_config : caf::actor_system_config {
  quiet_config() {
    // CAF's default scheduler polls: beside a timed run that costs the measured program more than half its speed.
    set("scheduler.policy", caf::atom("sharing"));
    // The work of an event takes microseconds; a second worker would only add wake-ups.
    set("scheduler.max-threads", 1u);
    add_error_category(caf::atom("attune"), [](std::uint8_t code, caf::atom_value, const caf::message&) {
      return std::string(to_string(static_cast<ec>(code)));
    });
  }
};

/// Throws std::system_error where so many threads cannot be had as an actor system begins: CAF 0.17.6 does not survive
/// that one of its own is refused, for what it has made by then cannot be destroyed.
void need_threads() {
  constexpr int of_an_actor_system = 6;
  std::latch over(1);
  std::vector<std::jthread> all;
  const std::shared_ptr<void> at_the_end(nullptr, [&](void*) { over.count_down(); });
  for (int i = 0; i < of_an_actor_system; ++i) all.emplace_back([&] { over.wait(); });
}

watcher_actor::behavior_type watcher(watcher_actor::pointer, std::function<void(const event_batch&)> watch) {
  return {[watch = std::move(watch)](atom::note, const event_batch& batch) { watch(batch); }};
}

} // namespace

void engine::impl::spawn_all() {
  watch = spawn_monitor(*system, event_pace);

  auto bounds = options.cache;
  if (store) bounds.bytes = std::min(bounds.bytes, bounds.hot_bytes);
  auto known = std::make_shared<std::unique_ptr<storage::lru_cache>>(
      std::make_unique<storage::lru_cache>(bounds, store != nullptr));
  cache = system->spawn(actors::cache, known, watch);

  record_sink sink;
  if (store) {
    store->listen([to = cache](std::vector<storage::claim_answer> heard) {
      caf::anon_send(to, atom::claim::value, claim_batch{std::move(heard)});
    });
    store->on_forgotten([to = cache](std::vector<digest> tasks) {
      caf::anon_send(to, atom::invalidate::value, task_list{std::move(tasks)});
    });
    claim_desk desk;
    desk.claim = [s = store.get()](const trial& what, bool anew) {
      return s->claim(what, anew, flight_limit(*what.of));
    };
    desk.release = [s = store.get()](const key128& key) { s->release(key); };
    caf::anon_send(cache, atom::wire::value, std::move(desk));
    sink.append = [s = store.get()](std::span<storage::record_item> records,
                                    std::span<const storage::step_item> steps) { return s->append(records, steps); };
    sink.recency = [s = store.get()](const recency_batch& batch) {
      s->touch(batch.used);
      s->drop_cached(batch.evicted);
      s->count(batch.counted, batch.by_task);
    };
    sink.invalidate = [s = store.get()](const std::string& task) -> result<std::uint64_t> {
      digest key;
      const auto view = s->view();
      if (!view) return view.err();
      const auto found = (*view)->tasks([&](const storage::task_entry& t, const storage::task_counts&) {
        if (t.task.hex() == task || t.task.view() == task) key = t.task;
      });
      if (!found) return found.err();
      return s->drop_cached(key);
    };
    sink.spent = [s = store.get()](const std::string& id, nanoseconds took) { s->end_session(id, took); };
  } else {
    sink.append = [](std::span<storage::record_item>, std::span<const storage::step_item>) { return attune::status{}; };
  }
  recorder_options recording;
  recording.give_up_after = options.store_patience;
  // The actors with threads of their own: two wait for a disk, one trains.
  const bool threads = !options.turn;
  recorder = store && threads ? system->spawn<caf::detached>(actors::recorder, std::move(sink), cache, watch, recording)
                              : system->spawn(actors::recorder, std::move(sink), cache, watch, recording);

  if (store) {
    const auto source = [s = store.get()](std::span<const trial_ptr> asked) { return s->recall(asked); };
    archive = threads ? system->spawn<caf::detached>(actors::archive, source) : system->spawn(actors::archive, source);
  }

  scheduler_options scheduling;
  const auto slots = options.apart ? 0 : static_cast<std::uint32_t>(places.slots.size());
  const auto cpus = places.home.empty() ? std::max(1u, std::thread::hardware_concurrency())
                                        : static_cast<std::uint32_t>(places.home.size());
  const std::uint32_t most_builders = std::max(1u, options.builders.count.value_or(cpus));
  scheduling.watch.ladder = schedulers::admission_ladder(std::max(1u, slots), options.slots.automatic, most_builders,
                                                         options.builders.automatic);
  // Until the noise is known it begins with the quiet rung.
  scheduling.dispatcher.admission = scheduling.watch.ladder.front();
  scheduling.in_flight = options.in_flight;
  if (options.apart) {
    scheduling.apart = true;
    // What is to be run is brought there first, under a limit of its own.
    scheduling.margin += bringing_patience;
    scheduling.dispatcher.admission = {1, most_builders, most_builders};
    scheduling.dispatcher.no_place_wait = options.no_slot_wait;
    scheduling.dispatcher.by_time = options.share_time;
  }
  const bool turns = store && options.take_turns;
  // The commands' own limits are the supervisor's; this one, behind them, must not count the waiting.
  if (turns) scheduling.margin += turn_patience;
  scheduler = system->spawn(actors::scheduler, recorder, watch, scheduling);
  caf::anon_send(cache, atom::wire::value, scheduler, recorder, archive);
  // An objective that is called between two messages is over before anything else begins.
  const auto asks = options.inline_callables ? scheduler_actor() : scheduler;
  model = threads ? system->spawn<caf::detached>(actors::model, true, asks) : system->spawn(actors::model, false, asks);

  processes = std::make_shared<lazy_supervisor>(options.subreaper);
  using calling = measure::callable_runner::calling;
  const auto where = options.inline_callables ? calling::inside_run : calling::own_thread;
  const auto waiting = [said = std::make_shared<std::once_flag>(), port = watch] {
    std::call_once(*said, [&] {
      caf::anon_send(port.to, atom::note::value,
                     event_batch{{{event_kind::decided,
                                   0,
                                   nullptr,
                                   nullptr,
                                   "another process times runs with this store: they take turns",
                                   {}}}});
    });
  };
  for (std::uint32_t i = 0; i < slots; ++i) {
    std::shared_ptr<measure::machine_slot> turn;
    if (turns)
      if (auto opened = measure::machine_slot::open(store->path() + "/SLOTS", i, turn_patience)) turn = *opened;
    runners.push_back(
        system->spawn(runner, make_local_runner(processes, where, places.slots[i], std::move(turn), waiting)));
    caf::anon_send(scheduler, atom::join::value, place_info{"local/slot" + std::to_string(i)}, runners.back());
  }
  for (std::uint32_t i = 0; i < most_builders; ++i) {
    builders.push_back(system->spawn(builder, options.make_builder ? options.make_builder(i)
                                                                   : make_local_builder(processes, places.home)));
    caf::anon_send(scheduler, atom::join::value, place_info{"local/builder" + std::to_string(i)}, builders.back());
  }
}

void engine::impl::stop_all() {
  // First the searches, then what serves them: nothing that was measured is dropped on the way.
  std::vector<std::shared_ptr<joint_session::impl>> together;
  {
    const std::lock_guard guard(lock);
    together.swap(joints);
  }
  std::erase_if(together, [](const auto& j) {
    const std::lock_guard guard(j->lock);
    return j->closed;
  });
  for (const auto& j : together) caf::anon_send(j->dealer, atom::cancel::value);
  for (const auto& j : together) {
    caf::scoped_actor self{*system};
    // Once it has reported, its opener opens nothing any more.
    auto asked = self->request(j->dealer, answer_patience, atom::report::value);
    if (may_receive(self, options.turn))
      asked.receive([&](const joint_report_ptr& r) { j->report = r; }, [](const caf::error&) {});
    for (const auto& who : {caf::actor_cast<caf::actor>(j->dealer), caf::actor_cast<caf::actor>(j->opens)}) {
      caf::anon_send_exit(who, caf::exit_reason::user_shutdown);
      if (options.turn) options.turn();
      self->wait_for(who);
    }
  }
  std::vector<std::shared_ptr<session::impl>> open;
  {
    const std::lock_guard guard(lock);
    open.swap(sessions);
  }
  for (const auto& s : open) session(s).cancel();
  for (const auto& s : open) session(s).wait_for(answer_patience);
  {
    caf::scoped_actor self{*system};
    self->send(cache, atom::flush::value);
    // Through the cache first, whose write-behind must reach the recorder before it is asked to flush.
    auto through = self->request(cache, answer_patience, atom::statistic::value);
    if (may_receive(self, options.turn)) through.receive([](const cache_statistics&) {}, [](const caf::error&) {});
    auto written = self->request(recorder, answer_patience, atom::flush::value);
    if (may_receive(self, options.turn)) written.receive([](caf::ok_atom) {}, [](const caf::error&) {});
    // What was told of the last trials goes to whoever watches, too.
    self->send(watch.to, atom::flush::value);
    auto passed = self->request(watch.to, answer_patience, atom::snapshot::value);
    if (may_receive(self, options.turn)) passed.receive([](const monitor_snapshot&) {}, [](const caf::error&) {});
    std::vector<caf::strong_actor_ptr> all;
    const auto end = [&](const auto& who) {
      if (who) all.push_back(caf::actor_cast<caf::strong_actor_ptr>(who));
    };
    for (const auto& s : open) end(s->tuner);
    for (const auto& w : watchers) end(w);
    for (const auto& b : builders) end(b);
    for (const auto& r : runners) end(r);
    {
      const std::lock_guard guard(lock);
      for (const auto& [number, r] : apart) end(r);
      apart.clear();
    }
    end(scheduler);
    end(cache);
    end(recorder);
    end(archive);
    end(model);
    end(watch.to);
    for (const auto& who : all) caf::anon_send_exit(who, caf::exit_reason::user_shutdown);
    if (options.turn) options.turn();
    for (const auto& who : all) self->wait_for(caf::actor_cast<caf::actor>(who));
    for (const auto& s : open) {
      const std::lock_guard guard(s->lock);
      for (const auto& h : s->hearers) self->wait_for(h);
      s->hearers.clear();
    }
  }
  for (const auto& s : open) {
    s->tuner = nullptr;
    s->scheduler = nullptr;
  }
  for (const auto& j : together) {
    const std::lock_guard guard(j->lock);
    j->dealer = nullptr;
    j->opens = nullptr;
  }
  builders.clear();
  runners.clear();
  watchers.clear();
  scheduler = nullptr;
  cache = nullptr;
  recorder = nullptr;
  archive = nullptr;
  model = nullptr;
  watch.to = nullptr;
}

engine::engine(std::unique_ptr<impl> i) : impl_(std::move(i)) {}

result<std::unique_ptr<engine>> engine::start(engine_options options) {
  auto i = std::make_unique<impl>();
  i->options = std::move(options);
  if (i->options.slots != how_many(1))
    i->places = measure::plan_slots(measure::this_machine(), i->options.slots, i->options.cores_each);
  else
    i->places.slots.resize(1);
  const measure::confined at_home(i->places.home);
  if (!i->options.store.empty()) {
    auto opened = i->options.open_store ? i->options.open_store(i->options.store)
                                        : storage::open_exclusive(i->options.store, i->options.cache);
    if (!opened) return opened.err();
    i->store = std::move(*opened);
  }
  try {
    if (i->options.host != nullptr) {
      i->system = i->options.host;
    } else {
      i->config = std::make_unique<quiet_config>();
      need_threads();
      i->own = std::make_unique<caf::actor_system>(*i->config);
      i->system = i->own.get();
    }
    i->spawn_all();
  } catch (const std::system_error& e) {
    // CAF counts a thread before it starts it, and would wait for its end: what was begun is left as it is.
    static_cast<void>(i.release());
    return error{errc::internal,
                 "no thread can be started: " + e.code().message() +
                     ": the limit of processes (ulimit -u) or of memory is reached",
                 {}};
  }
  return std::unique_ptr<engine>(new engine(std::move(i)));
}

engine::~engine() {
  impl_->stop_all();
  if (impl_->store) impl_->store->listen({});
  if (impl_->store) impl_->store->on_forgotten({});
  // The store outlives the actors that write it.
  impl_->own.reset();
  impl_->store.reset();
}

void engine::note(event e) {
  const auto& watch = impl_->watch;
  if (!watch.open()) return;
  using when = event_queue::notice::when;
  const auto how = watch.queue->put(std::move(e));
  if (how.tell == when::now) caf::anon_send(watch.to, atom::flush::value);
  if (how.tell == when::later) caf::delayed_anon_send(watch.to, how.wait, atom::flush::value);
}

void engine::subscribe(std::function<void(const event_batch&)> watch) {
  auto w = impl_->system->spawn(watcher, std::move(watch));
  caf::scoped_actor self{*impl_->system};
  auto asked = self->request(impl_->watch.to, answer_patience, atom::subscribe::value, w);
  if (may_receive(self, impl_->options.turn)) asked.receive([](caf::ok_atom) {}, [](const caf::error&) {});
  const std::lock_guard guard(impl_->lock);
  impl_->watchers.push_back(std::move(w));
}

std::uint64_t engine::add_slot(const place_info& what, std::shared_ptr<measure::runner> how) {
  auto made = impl_->system->spawn(runner, std::move(how));
  caf::anon_send(impl_->scheduler, atom::join::value, what, made);
  // A thread that has spawned holds the system's logger until it ends, and the system's end waits for that.
  caf::logger::set_current_actor_system(nullptr);
  const std::lock_guard guard(impl_->lock);
  const auto number = impl_->next_slot++;
  impl_->apart.emplace(number, std::move(made));
  return number;
}

void engine::remove_slot(std::uint64_t number) {
  const std::lock_guard guard(impl_->lock);
  const auto at = impl_->apart.find(number);
  if (at == impl_->apart.end()) return;
  caf::anon_send_exit(at->second, caf::exit_reason::user_shutdown);
  impl_->apart.erase(at);
}

void engine::rest_slot(std::uint64_t number, bool on) {
  const std::lock_guard guard(impl_->lock);
  const auto at = impl_->apart.find(number);
  if (at == impl_->apart.end()) return;
  if (on)
    caf::anon_send(impl_->scheduler, atom::pause::value, at->second);
  else
    caf::anon_send(impl_->scheduler, atom::resume::value, at->second);
}

void engine::refuse(std::function<std::optional<failure>(const trial&)> which) {
  caf::anon_send(impl_->scheduler, atom::refuse::value, refusal{std::move(which)});
}

std::vector<schedulers::share_view> engine::shares() {
  std::vector<schedulers::share_view> out;
  caf::scoped_actor self{*impl_->system};
  auto asked = self->request(impl_->scheduler, answer_patience, atom::share::value);
  if (may_receive(self, impl_->options.turn))
    asked.receive([&](const share_list& l) { out = l.items; }, [](const caf::error&) {});
  return out;
}

std::size_t engine::waiting() {
  std::size_t out = 0;
  caf::scoped_actor self{*impl_->system};
  auto asked = self->request(impl_->scheduler, answer_patience, atom::status::value);
  if (may_receive(self, impl_->options.turn))
    asked.receive([&](const scheduler_status& s) { out = s.waiting; }, [](const caf::error&) {});
  return out;
}

const std::string& engine::remark() const noexcept { return impl_->places.remark; }
cache_statistics engine::cache_counts() {
  cache_statistics out;
  caf::scoped_actor self{*impl_->system};
  auto asked = self->request(impl_->cache, answer_patience, atom::statistic::value);
  if (may_receive(self, impl_->options.turn))
    asked.receive([&](const cache_statistics& s) { out = s; }, [](const caf::error&) {});
  return out;
}

storage::store_port* engine::store() noexcept { return impl_->store.get(); }
caf::actor_system& engine::system() noexcept { return *impl_->system; }

graph_handles engine::handles() const {
  return {impl_->cache, impl_->scheduler, impl_->recorder, impl_->watch.to, impl_->model};
}

} // namespace attune::actors
