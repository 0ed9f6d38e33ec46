#include "actors/engine.hpp"

#include "actors/allocator.hpp"
#include "actors/archive.hpp"
#include "actors/cache.hpp"
#include "actors/earlier.hpp"
#include "actors/error.hpp"
#include "actors/handles.hpp"
#include "actors/model.hpp"
#include "actors/monitor.hpp"
#include "actors/recorder.hpp"
#include "actors/scheduler.hpp"
#include "actors/similar.hpp"
#include "actors/tuner.hpp"
#include "actors/turns.hpp"
#include "actors/worker.hpp"
#include "measure/callable_runner.hpp"
#include "measure/command_builder.hpp"
#include "measure/command_runner.hpp"
#include "measure/machine_slot.hpp"
#include "measure/supervisor.hpp"
#include "measure/topology.hpp"
#include "measure/validate.hpp"
#include "search/limits.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/logger.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <unordered_map>

namespace attune::actors {

namespace {

/// How long the engine's own questions to its actors may take: they answer between two messages.
constexpr auto patience = std::chrono::seconds(60);

/// The process supervisor comes with the first command: who tunes callables only never starts its thread.
class lazy_supervisor {
public:
  explicit lazy_supervisor(bool subreaper) : subreaper_(subreaper) {}
  result<std::shared_ptr<measure::supervisor>> get() {
    const std::lock_guard guard(lock_);
    if (made_) return made_;
    measure::supervisor_options options;
    options.adopt_orphans = subreaper_;
    auto made = measure::supervisor::create(options);
    if (made) made_ = *made;
    return made;
  }

private:
  std::mutex lock_;
  bool subreaper_;
  std::shared_ptr<measure::supervisor> made_;
};

/// What runs commands, made when the first is to be run; says why where that cannot be.
template <class Worker>
class lazy_worker {
public:
  lazy_worker(std::shared_ptr<lazy_supervisor> with, const std::vector<int>& cpus) : with_(std::move(with)) {
    options_.limits.cpus = cpus;
  }
  /// Calls `use` with the worker, or `refuse` with the failure.
  template <class Use, class Refuse>
  void with(Use use, Refuse refuse) {
    std::unique_lock guard(lock_);
    if (!made_) {
      const auto processes = with_->get();
      if (!processes) {
        guard.unlock();
        refuse(failure{failure_kind::internal, "no process can be run: " + processes.err().text(), {}, {}});
        return;
      }
      made_ = std::make_unique<Worker>(*processes, options_);
    }
    Worker& worker = *made_;
    guard.unlock();
    use(worker);
  }
  void cancel() {
    std::unique_lock guard(lock_);
    Worker* worker = made_.get();
    guard.unlock();
    if (worker != nullptr) worker->cancel();
  }

private:
  std::shared_ptr<lazy_supervisor> with_;
  measure::command_options options_;
  std::mutex lock_;
  std::unique_ptr<Worker> made_;
};

/// How long a run waits for its turn among processes before it goes ahead.
constexpr auto turn_patience = std::chrono::minutes(10);

/// How long the way of files to a slot elsewhere may take, beside the limits of what runs there.
constexpr auto bringing_patience = std::chrono::minutes(5);

/// A slot of this machine: commands or callables, by the task. Commands wait for their turn where `turns` is given.
class local_runner final : public measure::runner, public std::enable_shared_from_this<local_runner> {
public:
  local_runner(std::shared_ptr<lazy_supervisor> with, measure::callable_runner::calling where,
               const std::vector<int>& cpus, std::shared_ptr<measure::machine_slot> turns,
               std::function<void()> waiting)
      : callables_(where, system_time(), cpus),
        commands_(std::move(with), cpus),
        turns_(std::move(turns)),
        waiting_(std::move(waiting)) {}
  void run(trial_ptr what, measure::artifact_ptr built, callback done) override {
    if (what->of->objective) {
      callables_.run(std::move(what), std::move(built), std::move(done));
    } else if (!turns_) {
      run_command(what, built, done);
    } else {
      {
        const std::lock_guard guard(lock_);
        on_cancel_ = done;
      }
      auto begin = [self = shared_from_this(), what, built, done](measure::machine_slot::turn turn) {
        self->run_command(what, built, [self, done, turn](measure::run_result r) {
          self->turns_->release();
          if (!turn.alone) r.notes.emplace_back("timed beside another process's run: its turn did not come");
          done(std::move(r));
        });
      };
      if (!turns_->acquire(std::move(begin))) waiting_();
    }
  }
  void cancel() override {
    if (turns_ && turns_->cancel()) {
      callback done;
      {
        const std::lock_guard guard(lock_);
        done = std::exchange(on_cancel_, nullptr);
      }
      done({failure{failure_kind::cancelled, "cancelled", {}, {}}, {}, {}, {}});
      return;
    }
    callables_.cancel();
    commands_.cancel();
  }

private:
  void run_command(const trial_ptr& what, const measure::artifact_ptr& built, const callback& done) {
    commands_.with([&](measure::command_runner& how) { how.run(what, built, done); },
                   [&](failure why) {
                     done({std::move(why), {}, {}, {}});
                   });
  }

  measure::callable_runner callables_;
  lazy_worker<measure::command_runner> commands_;
  std::shared_ptr<measure::machine_slot> turns_;
  std::function<void()> waiting_;
  std::mutex lock_;
  callback on_cancel_; ///< who hears of a run that is called back while it waits
};

class local_builder final : public measure::builder {
public:
  local_builder(std::shared_ptr<lazy_supervisor> with, const std::vector<int>& cpus)
      : commands_(std::move(with), cpus) {}
  void build(trial_ptr what, callback done) override {
    commands_.with([&](measure::command_builder& how) { how.build(what, done); },
                   [&](failure why) {
                     done({std::move(why), {}, {}, {}});
                   });
  }
  void cancel() override { commands_.cancel(); }

private:
  lazy_worker<measure::command_builder> commands_;
};

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

watcher_actor::behavior_type watcher(watcher_actor::pointer, std::function<void(const event_batch&)> watch) {
  return {[watch = std::move(watch)](atom::note, const event_batch& batch) { watch(batch); }};
}

} // namespace

std::string session_id(const task& of, bool shared) {
  std::string form = "session/1:";
  form += of.identity.task_key.view();
  form += sha256(space_form(of.spec)).view();
  form += std::to_string(of.spec.search.seed) + ":" + of.spec.search.strategy;
  if (of.spec.search.near) form += ":near";
  if (shared) form += ":shared";
  return truncate(sha256(form)).hex();
}

struct session::impl {
  caf::actor_system* system = nullptr;
  std::function<void()> turn; ///< engine_options::turn
  tuner_actor tuner;
  std::mutex lock;
  report_ptr report;
  bool gone = false;   ///< the tuner ended without a report: the engine was destroyed
  bool closed = false; ///< let go by its owner
  std::atomic<bool> called_back{false};
  std::vector<caf::actor> hearers;
};

std::shared_ptr<const tuning_report> session::wait() {
  for (;;) {
    if (auto report = wait_for(std::chrono::hours(1))) return report;
    const std::lock_guard guard(impl_->lock);
    if (impl_->gone || impl_->turn) return nullptr;
  }
}

std::shared_ptr<const tuning_report> session::wait_for(nanoseconds limit) {
  {
    const std::lock_guard guard(impl_->lock);
    if (impl_->report) return impl_->report;
  }
  caf::scoped_actor self{*impl_->system};
  report_ptr got;
  auto asked =
      self->request(impl_->tuner, std::chrono::duration_cast<std::chrono::milliseconds>(limit), atom::report::value);
  if (may_receive(self, impl_->turn))
    asked.receive([&](const report_ptr& r) { got = r; },
                  [&](const caf::error& e) {
                    const std::lock_guard guard(impl_->lock);
                    impl_->gone = e != caf::sec::request_timeout;
                  });
  const std::lock_guard guard(impl_->lock);
  if (got) impl_->report = got;
  return got;
}

void session::when_done(std::function<void(std::shared_ptr<const tuning_report>)> hear) {
  auto waits = [to = impl_->tuner, keep = impl_, hear = std::move(hear)](caf::event_based_actor* self) {
    // It is the search's own limits that end it.
    self->request(to, caf::infinite, atom::report::value)
        .then(
            [keep, hear](const report_ptr& r) {
              {
                const std::lock_guard guard(keep->lock);
                keep->report = r;
              }
              hear(r);
            },
            [hear](const caf::error&) { hear(nullptr); });
  };
  const std::lock_guard guard(impl_->lock);
  impl_->hearers.push_back(impl_->system->spawn(std::move(waits)));
}

void session::close() {
  {
    const std::lock_guard guard(impl_->lock);
    impl_->closed = true;
  }
  caf::anon_send_exit(impl_->tuner, caf::exit_reason::user_shutdown);
}

session_handle session::handle() const { return {impl_->tuner}; }

namespace {

outcome_ptr cancelled_outcome() {
  return std::make_shared<const outcome>(
      outcome{failure{failure_kind::cancelled, "cancelled", {}, {}}, {}, {}, {}, {}, {}});
}

} // namespace

void session::cancel() {
  impl_->called_back = true;
  caf::anon_send(impl_->tuner, atom::cancel::value);
}
void session::pause() { caf::anon_send(impl_->tuner, atom::pause::value); }
void session::resume() { caf::anon_send(impl_->tuner, atom::resume::value); }

tuner_status session::progress() {
  tuner_status out;
  caf::scoped_actor self{*impl_->system};
  auto asked = self->request(impl_->tuner, patience, atom::status::value);
  if (may_receive(self, impl_->turn))
    asked.receive([&](const tuner_status& s) { out = s; }, [&](const caf::error&) { out.finished = true; });
  return out;
}

trial_ptr session::ask() {
  trial_ptr out;
  caf::scoped_actor self{*impl_->system};
  // The answer comes when a trial in flight is told, which is the caller's own doing: no limit would be the right one.
  self->request(impl_->tuner, caf::infinite, atom::ask::value)
      .receive([&](const trial_ptr& t) { out = t; }, [](const caf::error&) {});
  if (out && impl_->called_back) {
    self->request(impl_->tuner, caf::infinite, atom::tell::value, out->number, cancelled_outcome())
        .receive([](caf::ok_atom) {}, [](const caf::error&) {});
    return nullptr;
  }
  return out;
}

attune::status session::tell(const trial& which, outcome result) {
  if (const auto* m = result.measured(); m != nullptr && !which.of->spec.run.limits.empty()) {
    const auto limits = search::run_limits::compile(which.of->spec);
    if (!limits) return limits.err();
    if (auto why = limits->judge(*m)) result.data = std::move(*why);
  }
  attune::status out;
  caf::scoped_actor self{*impl_->system};
  self->request(impl_->tuner, caf::infinite, atom::tell::value, which.number,
                outcome_ptr(std::make_shared<const outcome>(std::move(result))))
      .receive([](caf::ok_atom) {},
               [&](const caf::error& e) {
                 out = error{e == ec::unknown_trial ? errc::not_found : errc::cancelled,
                             e == ec::unknown_trial ? "no such trial is in flight" : "the search has ended",
                             {}};
               });
  return out;
}

struct engine::impl {
  engine_options options;
  measure::slot_plan places;
  std::unique_ptr<storage::store_port> store;
  std::unique_ptr<quiet_config> config;
  std::unique_ptr<caf::actor_system> own;
  caf::actor_system* system = nullptr;
  std::shared_ptr<lazy_supervisor> processes;
  monitor_port watch;
  cache_actor cache;
  scheduler_actor scheduler;
  recorder_actor recorder;
  archive_actor archive; ///< null without a store
  model_actor model;
  std::vector<builder_actor> builders;
  std::vector<runner_actor> runners;
  std::vector<watcher_actor> watchers;
  std::mutex lock;
  std::vector<std::shared_ptr<session::impl>> sessions;
  std::vector<std::shared_ptr<joint_session::impl>> joints;
  std::atomic<session_number> next{1};
  std::unordered_map<std::uint64_t, runner_actor> apart; ///< by number; guarded by `lock`
  std::uint64_t next_slot = 1;

  /// What one of several tasks with one budget has beside its request.
  struct shared_part {
    allocator_actor dealer;
    std::size_t member = 0;
    session_number party = 0;
    std::optional<std::uint64_t> trials_each; ///< about, for the strategies' schedules
    storage::record_id up_to = 0;             ///< experience that it may have
    nanoseconds spent{0};                     ///< by the whole before it began
    std::vector<budget_step>* past = nullptr; ///< out: its steps in earlier processes
  };

  void spawn_all();
  /// Makes the session's tuner, which has not begun. From any thread that is not an actor's own worker.
  result<std::shared_ptr<session::impl>> open(const tuning_request& request, const shared_part* part);
  /// Tells the cache what was measured before parameters with a default were added to the spec.
  attune::status fill_from_earlier(const task_ptr& of, const search::space& over);
  void stop_all();
};

void engine::impl::spawn_all() {
  watch.watched = std::make_shared<std::atomic<bool>>(false);
  watch.to = system->spawn(monitor, watch.watched);

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
    const std::shared_ptr<measure::runner> how =
        std::make_shared<local_runner>(processes, where, places.slots[i], turn, waiting);
    runners.push_back(system->spawn(runner, how));
    caf::anon_send(scheduler, atom::join::value, place_info{"local/slot" + std::to_string(i)}, runners.back());
  }
  for (std::uint32_t i = 0; i < most_builders; ++i) {
    const std::shared_ptr<measure::builder> how = std::make_shared<local_builder>(processes, places.home);
    builders.push_back(system->spawn(builder, how));
    caf::anon_send(scheduler, atom::join::value, place_info{"local/builder" + std::to_string(i)}, builders.back());
  }
}

attune::status engine::impl::fill_from_earlier(const task_ptr& of, const search::space& over) {
  const auto known = store->view();
  if (!known) return known.err();
  auto earlier = earlier_results(**known, *of, over);
  if (!earlier) return earlier.err();
  finished_batch batch;
  for (auto& e : *earlier) {
    auto t = std::make_shared<trial>();
    t->of = of;
    t->canonical = e.config.canonical();
    t->config = std::move(e.config);
    t->key = e.key;
    batch.items.push_back({std::move(t), std::make_shared<const outcome>(std::move(e.from.result)), true});
  }
  if (!batch.items.empty()) caf::anon_send(cache, atom::fill::value, std::move(batch));
  return {};
}

void engine::impl::stop_all() {
  // First the searches, then what serves them: nothing that was measured is dropped on the way.
  std::vector<std::shared_ptr<joint_session::impl>> together;
  {
    const std::lock_guard guard(lock);
    together.swap(joints);
  }
  for (const auto& j : together) caf::anon_send(j->dealer, atom::cancel::value);
  for (const auto& j : together) {
    caf::scoped_actor self{*system};
    // Once it has reported, its opener opens nothing any more.
    auto asked = self->request(j->dealer, patience, atom::report::value);
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
  for (const auto& s : open) session(s).wait_for(patience);
  {
    caf::scoped_actor self{*system};
    self->send(cache, atom::flush::value);
    // Through the cache first, whose write-behind must reach the recorder before it is asked to flush.
    auto through = self->request(cache, patience, atom::statistic::value);
    if (may_receive(self, options.turn)) through.receive([](const cache_statistics&) {}, [](const caf::error&) {});
    auto written = self->request(recorder, patience, atom::flush::value);
    if (may_receive(self, options.turn)) written.receive([](caf::ok_atom) {}, [](const caf::error&) {});
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
  for (const auto& s : open) s->tuner = nullptr;
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

namespace {

/// A step of a session's past, for whoever deals.
budget_step past_step(const storage::session_step& s) {
  if (!s.result) return {}; // an estimate
  const auto* m = s.result->measured();
  return {m != nullptr ? std::optional(m->value) : std::nullopt, 0, s.result->at,
          s.from_cache ? nanoseconds(0) : s.result->phases.run};
}

} // namespace

result<std::shared_ptr<session::impl>> engine::impl::open(const tuning_request& request, const shared_part* part) {
  const auto& spec = request.of->spec;
  const auto number = next.fetch_add(1);
  search::tuning_limits limits;
  limits.trials = spec.search.trials;
  limits.time = spec.search.time;
  limits.kept_for_finals = limits.time && !request.by_caller && spec.finals() > 0 ? *limits.time / 20 : nanoseconds(0);
  const auto count = request.over->count();
  if (spec.search.fraction && count)
    limits.trials = trials_of_fraction(*spec.search.fraction, static_cast<double>(*count));
  if (spec.search.fraction && !count)
    return error{errc::invalid_spec, "search.fraction needs a space that can be counted; give search.trials",
                 spec.file};
  if (!limits.trials && !limits.time && part == nullptr) limits.trials = default_trials;
  limits.always_default = part != nullptr;

  const std::string id = session_id(*request.of, part != nullptr);
  search::strategy_options how;
  how.seed = spec.search.seed;
  how.budget = limits.trials ? limits.trials : part != nullptr ? part->trials_each : std::nullopt;
  bool known = false;
  std::shared_ptr<const storage::store> view;
  storage::record_id records_before = 0;
  if (store) {
    if (request.remeasure && part == nullptr)
      if (const auto erased = store->erase_session(id); !erased) return erased.err();
    const auto now = store->view();
    if (!now) return now.err();
    view = *now;
    auto past = view->load_session(id);
    if (!past) return past.err();
    known = past->has_value();
    // The strategy is made as it was at the session's beginning: its past is played back to it.
    records_before = known             ? (*past)->records_before
                     : part == nullptr ? view->newest()
                                       : std::min(view->newest(), part->up_to);
    if (known) how.budget = (*past)->budget;
    if (known) limits.spent = (*past)->spent;
    auto similar = find_similar(*view, *request.of, *request.over, {.up_to = records_before});
    if (!similar) return similar.err();
    how.prior = std::move(similar->records);
  }
  // What the user calls the default is measured first, so that there is something to compare with.
  const bool named =
      std::any_of(spec.parameters.begin(), spec.parameters.end(), [](const auto& p) { return p.standard.has_value(); });
  if (named || part != nullptr) how.first.push_back(request.over->standard());
  auto strategy = search::make_strategy(spec.search.strategy, request.over, how);
  if (!strategy) return error{errc::invalid_spec, strategy.err().message, spec.file};

  auto setup = std::make_shared<tuner_setup>();
  setup->session = {number, request.by_caller ? measuring::by_caller : measuring::by_runners, request.remeasure,
                    store && store->knows_workload(request.of->identity.workload_key), spec.search.near};
  setup->search = std::make_unique<search::tuning>(request.of, request.over, std::move(*strategy), limits, number);
  if (spec.search.near) setup->search->estimate_near(spec.measure.accepted_noise());
  if (spec.search.near && view && !request.remeasure) {
    // What other sessions had measured when this one began, and no more: it comes to the same each time.
    const auto read = view->records_of(request.of->identity.task_key, [&](const storage::record& r) {
      if (r.id <= records_before) setup->search->known_near(r.config, r.key, r.result);
      return r.id < records_before;
    });
    if (!read) return read.err();
  }
  setup->model = model;
  setup->wish = request.in_flight;
  if (limits.time) setup->finals_until = *limits.time - std::min(limits.spent, *limits.time);
  if (part != nullptr) {
    setup->dealer = part->dealer;
    setup->member = part->member;
    setup->party = part->party;
  }
  if (store) {
    setup->session_id = id;
    storage::session_entry entry;
    entry.id = id;
    entry.task_name = spec.name;
    entry.strategy = spec.search.strategy;
    entry.seed = spec.search.seed;
    entry.budget = how.budget;
    entry.started = system_time().wall();
    entry.records_before = records_before;
    entry.estimates = spec.search.near;
    if (part != nullptr) entry.spent = part->spent;
    const auto begun = store->begin_session(entry);
    if (!begun) return begun.err();
    if (!*begun)
      caf::anon_send(
          watch.to, atom::note::value,
          event_batch{{{event_kind::decided,
                        number,
                        nullptr,
                        nullptr,
                        spec.name + ": the same session is under way in another process: results are shared, "
                                    "and that process keeps the session's steps",
                        {}}}});
    if (known) {
      const auto read = view->session_steps(id, [&](const storage::session_step& s) {
        const search::told_step step{s.number, s.asked_before};
        if (s.guess)
          setup->search->replay_estimate(step, s.config, *s.guess);
        else if (s.amends)
          setup->search->replay_amendment(step, s.config, s.key, s.result, *s.amends);
        else
          setup->search->replay(step, s.config, s.key, s.result);
        const auto* failed = s.result ? s.result->failed() : nullptr;
        const bool counts = failed == nullptr || failed->kind != failure_kind::internal;
        if (part != nullptr && part->past != nullptr && !s.amends && counts) part->past->push_back(past_step(s));
      });
      if (!read) return read.err();
    }
  }
  if (store && !request.remeasure)
    if (const auto filled = fill_from_earlier(request.of, *request.over); !filled) return filled.err();
  auto open = std::make_shared<session::impl>();
  open->system = system;
  open->turn = options.turn;
  open->tuner = system->spawn(tuner, setup, cache, scheduler, recorder, watch);
  {
    const std::lock_guard guard(lock);
    // Those that were let go are gone when their hearers are.
    std::erase_if(sessions, [](const std::shared_ptr<session::impl>& s) {
      const std::lock_guard one(s->lock);
      return s->closed && s->report;
    });
    sessions.push_back(open);
  }
  return open;
}

namespace {

attune::status validate(const tuning_request& request) {
  const auto& spec = request.of->spec;
  if (!request.by_caller && !request.of->objective)
    if (auto good = measure::validate(spec); !good) return good;
  if (const auto good = search::run_limits::compile(spec); !good) return good.err();
  return {};
}

/// How many results of a task are known up to that record, and its report where that is enough: its best without a
/// search. None where it is not.
result<std::optional<std::pair<std::uint64_t, report_ptr>>> known_before(const storage::store& view,
                                                                         const tuning_request& request,
                                                                         storage::record_id up_to, std::uint64_t enough,
                                                                         const std::string& id) {
  std::set<key128> keys;
  const auto standard = request.over->to_configuration(request.over->standard());
  auto out = std::make_shared<tuning_report>();
  const auto read = view.records_of(request.of->identity.task_key, [&](const storage::record& r) {
    if (r.id > up_to) return false;
    const auto p = request.over->to_point(r.config);
    if (!p || !request.over->contains(*p) || !conclusive(r.result)) return true;
    keys.insert(r.key);
    const auto* m = r.result.measured();
    if (m == nullptr) return true;
    const search::best_so_far one{r.config, std::make_shared<const outcome>(r.result), r.key, 0};
    if (r.config == standard) out->standard = one;
    if (!out->best || request.of->better(m->value, out->best->result->measured()->value)) out->best = one;
    return true;
  });
  if (!read) return read.err();
  if (keys.size() < enough || !out->best) return std::optional<std::pair<std::uint64_t, report_ptr>>();
  out->of = request.of;
  out->session = id;
  out->reason = search::stop_reason::trials;
  return std::optional(std::pair<std::uint64_t, report_ptr>(keys.size(), std::move(out)));
}

} // namespace

result<session> engine::tune(const tuning_request& request) {
  if (const auto good = validate(request); !good) return good.err();
  auto open = impl_->open(request, nullptr);
  if (!open) return open.err();
  caf::anon_send((*open)->tuner, atom::begin::value);
  return session(*open);
}

result<joint_session> engine::tune_together(const joint_request& request) {
  const auto& i = *impl_;
  const auto& budget = request.budget;
  auto setup = std::make_shared<allocator_setup>();
  auto joint = std::make_shared<joint_session::impl>();
  joint->system = i.system;
  joint->turn = i.options.turn;
  joint->sessions.resize(request.tasks.size());
  std::vector<task_ptr> tasks;
  std::map<std::pair<std::string, std::string>, std::uint32_t> kinds;
  std::shared_ptr<const storage::store> view;
  if (i.store) {
    const auto now = i.store->view();
    if (!now) return now.err();
    view = *now;
    setup->newest = view->newest();
  }
  setup->since = system_time().wall();
  nanoseconds spent{0};
  std::vector<bool> known;
  for (const auto& one : request.tasks) {
    if (const auto good = validate(one); !good) return good.err();
    allocator_member m;
    m.of = one.of;
    m.session = session_id(*one.of, true);
    for (const auto& other : setup->members)
      if (other.session == m.session)
        return error{errc::invalid_spec, "task '" + one.of->spec.name + "' is given twice", one.of->spec.file};
    schedulers::shared_task share;
    share.weight = one.of->spec.weight;
    const auto& metric = one.of->metric();
    share.kind = kinds
                     .try_emplace({one.of->spec.name, metric.name + ' ' + to_string(metric.direction)},
                                  static_cast<std::uint32_t>(kinds.size()))
                     .first->second;
    share.most = one.of->spec.search.trials;
    if (const auto count = one.over->count(); count && *count < (search::uint128{1} << 62)) {
      m.configurations = static_cast<std::uint64_t>(*count);
      if (one.of->spec.search.fraction)
        share.most = trials_of_fraction(*one.of->spec.search.fraction, static_cast<double>(*count));
      share.most = std::min(share.most.value_or(*m.configurations), *m.configurations);
    }
    known.push_back(false);
    if (i.store) {
      if (one.remeasure)
        if (const auto erased = i.store->erase_session(m.session); !erased) return erased.err();
      const auto past =
          one.remeasure ? result<std::optional<storage::session_entry>>(std::nullopt) : view->load_session(m.session);
      if (!past) return past.err();
      known.back() = past->has_value();
      if (known.back()) {
        spent = std::max(spent, (*past)->spent);
        setup->since = std::min(setup->since, (*past)->started);
      }
      if (budget.sufficient && !one.remeasure) {
        auto before = known_before(*view, one, known.back() ? (*past)->records_before : view->newest(),
                                   *budget.sufficient, m.session);
        if (!before) return before.err();
        if (*before) {
          m.known = (*before)->first;
          m.report = (*before)->second;
        }
      }
    }
    tasks.push_back(one.of);
    setup->shares.push_back(share);
    setup->members.push_back(std::move(m));
  }
  schedulers::budget_options how;
  how.policy = budget.policy;
  how.trials = budget.trials;
  how.patience = budget.patience;
  how.hurried = budget.time.has_value();
  how.relative = setup->relative = must_be_relative(tasks);
  auto made = schedulers::make_task_budget(setup->shares, how);
  if (!made) return made.err();
  setup->budget = std::move(*made);
  if (budget.time) {
    setup->time = *budget.time - std::min(spent, *budget.time);
    const bool finals = std::any_of(tasks.begin(), tasks.end(), [](const auto& t) { return t->spec.finals() > 0; });
    if (finals) setup->kept_for_finals = *budget.time / 20;
  }

  impl::shared_part part;
  part.party = impl_->next.fetch_add(1);
  part.spent = spent;
  if (budget.trials) part.trials_each = std::max<std::uint64_t>(1, *budget.trials / request.tasks.size());
  const auto open = [engine = impl_.get(), common = part, all = request.tasks, weak = std::weak_ptr(joint)](
                        const allocator_actor& dealer, std::size_t member, storage::record_id up_to,
                        std::vector<budget_step>* past) -> opened_task {
    const auto whole = weak.lock();
    if (!whole) return {nullptr, error{errc::cancelled, "nobody waits for it any more", {}}};
    auto own = common;
    own.dealer = dealer;
    own.member = member;
    own.up_to = up_to;
    own.past = past;
    auto got = engine->open(all[member], &own);
    if (!got) return {nullptr, got.err()};
    const std::lock_guard guard(whole->lock);
    whole->sessions[member] = session(*got);
    return {caf::actor_cast<caf::strong_actor_ptr>((*got)->tuner), std::nullopt};
  };
  const open_task opens([open](const allocator_actor& dealer, std::size_t member, storage::record_id up_to) {
    return open(dealer, member, up_to, nullptr);
  });
  joint->opens = i.options.turn ? i.system->spawn(opener, opens) : i.system->spawn<caf::detached>(opener, opens);
  joint->dealer = i.system->spawn(allocator, joint->opens, i.watch);
  {
    const std::lock_guard guard(impl_->lock);
    impl_->joints.push_back(joint);
  }
  // What was begun before says by its results where the budget stands.
  std::optional<error> trouble;
  for (std::size_t k = 0; k < setup->members.size() && !trouble; ++k) {
    auto& m = setup->members[k];
    if (!known[k] || m.report) continue;
    const auto opened = open(joint->dealer, k, setup->newest, &m.past);
    if (opened.trouble) trouble = opened.trouble;
    if (opened.tuner) m.tuner = caf::actor_cast<tuner_actor>(opened.tuner);
  }
  caf::anon_send(joint->dealer, atom::begin::value, allocator_setup_ptr(setup));
  if (trouble) {
    caf::anon_send(joint->dealer, atom::cancel::value);
    return *trouble;
  }
  return joint_session(joint);
}

void engine::subscribe(std::function<void(const event_batch&)> watch) {
  auto w = impl_->system->spawn(watcher, std::move(watch));
  caf::scoped_actor self{*impl_->system};
  auto asked = self->request(impl_->watch.to, patience, atom::subscribe::value, w);
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

const std::string& engine::remark() const noexcept { return impl_->places.remark; }
cache_statistics engine::cache_counts() {
  cache_statistics out;
  caf::scoped_actor self{*impl_->system};
  auto asked = self->request(impl_->cache, patience, atom::statistic::value);
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
