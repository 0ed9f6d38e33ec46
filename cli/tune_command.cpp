#include "actors/engine.hpp"
#include "actors/messages.hpp"
#include "cli/commands.hpp"
#include "cli/interrupts.hpp"
#include "cli/joint_report.hpp"
#include "cli/json.hpp"
#include "cli/offline_command.hpp"
#include "cli/plan.hpp"
#include "cli/progress.hpp"
#include "cli/render.hpp"
#include "cli/terminal.hpp"
#include "cli/tune_end.hpp"
#include "cli/tune_watch.hpp"
#include "core/text.hpp"
#include "measure/scratch.hpp"
#include "net/shared_store.hpp"
#include "storage/store_port.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <mutex>
#include <ostream>
#include <set>
#include <thread>
#include <unistd.h>

namespace attune::cli {

namespace {

/// What the engine's events tell the display: written on the engine's thread, read on the main one.
class board {
public:
  void take(const actors::event_batch& batch) {
    const std::lock_guard guard(lock_);
    for (const auto& e : batch.items) {
      using kind = actors::event_kind;
      switch (e.kind) {
      case kind::estimated:
        news_ = true;
        break;
      case kind::told:
      case kind::session_ended:
        news_ = true;
        if (e.result && e.text != "cache")
          for (const auto& note : e.result->notes) add_message(e.what, note);
        break;
      case kind::store_trouble:
        trouble_ = "the store cannot be written: " + e.text + "; waiting for it";
        messages_.push_back(trouble_);
        news_ = true;
        break;
      case kind::store_recovered:
        trouble_.clear();
        messages_.push_back(e.text);
        news_ = true;
        break;
      case kind::quarantined:
        messages_.push_back("not tried again: " + (e.what ? e.what->config.text() : std::string()) + ": " + e.text);
        news_ = true;
        break;
      case kind::decided:
      case kind::finals:
        messages_.push_back(e.text);
        news_ = true;
        break;
      case kind::place_stuck:
        messages_.push_back(e.text + " does not answer; what it had in hand goes elsewhere");
        news_ = true;
        break;
      default:
        break;
      }
    }
    if (news_) changed_.notify_all();
  }

  /// Waits for news, at most so long.
  void wait(std::chrono::milliseconds most) {
    std::unique_lock guard(lock_);
    changed_.wait_for(guard, most, [&] { return news_; });
    news_ = false;
  }
  std::vector<std::string> messages() {
    const std::lock_guard guard(lock_);
    return std::exchange(messages_, {});
  }
  std::string trouble() const {
    const std::lock_guard guard(lock_);
    return trouble_;
  }

private:
  /// The same note comes with many trials; it is said once.
  void add_message(const trial_ptr& what, const std::string& note) {
    if (said_.size() < 100 && said_.insert(note).second)
      messages_.push_back((what ? what->config.text() + ": " : "") + note);
  }

  mutable std::mutex lock_;
  std::condition_variable changed_;
  bool news_ = false;
  std::string trouble_;
  std::vector<std::string> messages_;
  std::set<std::string> said_;
};

/// A task under way and what is known of it.
struct running {
  const planned_task* plan;
  std::function<actors::tuner_status()> look;
  actors::tuner_status last;
};

progress_view look(const std::vector<running>& all, const std::optional<budget_spec>& budget, nanoseconds elapsed,
                   const rate_meter& rate, std::string note) {
  progress_view v;
  v.tasks = all.size();
  v.name = all.size() == 1 ? all[0].plan->of->spec.name : std::to_string(all.size()) + " tasks";
  v.elapsed = elapsed;
  v.rate = rate.per_second();
  v.note = std::move(note);
  v.budget = 0;
  v.time_limit = nanoseconds(0);
  for (const auto& r : all) {
    v.done += r.last.counts.proposed;
    v.cached += r.last.counts.cached;
    for (std::size_t i = 0; i < v.failed.size(); ++i) v.failed[i] += r.last.counts.failed[i];
    v.budget = v.budget && r.plan->trials ? std::optional(*v.budget + *r.plan->trials) : std::nullopt;
    const auto& limit = r.plan->of->spec.search.time;
    v.time_limit = v.time_limit && limit ? std::optional(std::max(*v.time_limit, *limit)) : std::nullopt;
    if (r.last.best) ++v.tasks_with_best;
    if (r.last.finished) ++v.tasks_ended;
    if (all.size() == 1 && r.last.best) {
      v.best = r.last.best->result->measured()->value;
      v.unit = r.plan->of->metric().stored_unit();
      v.best_config = r.last.best->config.text();
    }
  }
  if (budget) {
    v.budget = budget->trials;
    v.time_limit = budget->time;
  }
  return v;
}

/// Shows how it goes until all tasks have ended. `ended` says so where they share a budget.
void watch(std::vector<running>& all, const std::optional<budget_spec>& budget, const std::function<bool()>& ended,
           board& news, progress_display& display, bool quiet, tune_watch& beside) {
  using namespace std::chrono_literals;
  const auto& clock = system_time();
  const auto begin = clock.monotonic();
  rate_meter rate;
  nanoseconds last_line{-1};
  std::optional<double> said_best;
  std::size_t said_tasks = 0;
  std::uint64_t said_done = 0;
  for (;;) {
    bool over = true;
    std::uint64_t done = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto& r = all[i];
      if (!r.last.finished) r.last = r.look();
      over = over && r.last.finished;
      done += r.last.counts.proposed;
      beside.note_window(i, r.last);
    }
    if (budget) over = ended();
    // As JSON these are events among the others.
    const auto messages = news.messages();
    if (!beside.write_log())
      for (const auto& m : messages) display.line("attune: " + m);
    const auto now = clock.monotonic();
    rate.add(now - begin, done);
    if (!quiet) {
      const auto v = look(all, budget, now - begin, rate, news.trouble());
      if (display.bar()) {
        display.draw(v, terminal_width(STDERR_FILENO));
      } else {
        const bool better = v.best != said_best || v.tasks_with_best != said_tasks;
        const bool due =
            over || last_line.count() < 0 || now - last_line >= (better ? nanoseconds(1s) : nanoseconds(10s));
        if (due && done != said_done) {
          display.line(render_line(v));
          last_line = now;
          said_best = v.best;
          said_tasks = v.tasks_with_best;
          said_done = done;
        }
      }
    }
    if (over) break;
    // A bar's clock moves by itself; plain lines wait for something to say. A timed run is not disturbed by more.
    news.wait(display.bar() && !quiet ? 1000ms : 10'000ms);
    // At most some twenty looks a second, however fast trials come.
    std::this_thread::sleep_for(50ms);
  }
  display.clear();
}

} // namespace

int run_tune(const tune_options& options, const std::string& store, const std::string& typed, output& io) {
  if (!options.hub.address.empty()) return run_remote_tune(options, io);
  if (options.json_log) io.log_as_json();
  auto planned = make_plan(options);
  if (!planned) return io.fail(planned.err());
  for (const auto& m : planned->messages) io.message(m);
  if (store.empty())
    return io.fail(
        {errc::store_unusable, "no folder for the store is known: give --store DIR or set ATTUNE_STORE", {}});
  if (options.offline) return run_offline(*planned, store, io);
  if (options.dry_run) {
    if (io.json())
      io.document(plan_json(*planned, store));
    else
      io.out() << render_plan(*planned, store);
    return exit_code::done;
  }

  // A machine on which nothing can be run is told before anything is begun.
  if (const auto room = measure::scratch::open({}); !room) return io.fail(room.err());

  std::ofstream drawing;
  if (!options.svg.empty()) {
    drawing.open(options.svg);
    if (!drawing) return io.fail({errc::invalid_spec, "cannot be written", options.svg});
  }

  // Signals first: one that comes while the store is opened must not be lost.
  board news;
  std::vector<actors::session> sessions;
  std::optional<actors::joint_session> whole;
  std::mutex all_lock;
  std::atomic<bool> cancelled{false};
  interrupts signals([&](int) {
    cancelled = true;
    const std::lock_guard guard(all_lock);
    for (auto& s : sessions) s.cancel();
    if (whole) whole->cancel();
  });

  actors::engine_options how;
  how.store = store;
  how.open_store = [](const std::string& folder) { return net::open_shared(folder); };
  how.take_turns = true;
  how.slots = planned->slots;
  how.builders = planned->builders;
  how.cores_each = planned->cores;
  tune_watch beside(options, io);
  if (auto served = beside.start(); !served) return io.fail(served.err());
  auto engine = actors::engine::start(how);
  if (!engine) return io.fail(engine.err());
  const auto attached = beside.attach(**engine);
  if (const auto* opened = (*engine)->store(); opened != nullptr)
    for (const auto& notice : opened->notices()) io.message(notice);
  if (!(*engine)->remark().empty()) io.message((*engine)->remark());
  (*engine)->subscribe([&news](const actors::event_batch& batch) { news.take(batch); });

  std::vector<running> all;
  if (planned->budget) {
    actors::joint_request request;
    request.budget = *planned->budget;
    for (const auto& t : planned->tasks) request.tasks.push_back({t.of, t.over, options.remeasure, false});
    auto begun = (*engine)->tune_together(request);
    if (!begun) return io.fail(begun.err());
    for (std::size_t i = 0; i < planned->tasks.size(); ++i)
      all.push_back({&planned->tasks[i], [s = *begun, i]() mutable { return s.progress(i); }, {}});
    const std::lock_guard guard(all_lock);
    whole = std::move(*begun);
    if (cancelled) whole->cancel();
  } else {
    for (const auto& t : planned->tasks) {
      auto begun = (*engine)->tune({t.of, t.over, options.remeasure, false});
      if (!begun) return io.fail(begun.err());
      all.push_back({&t, [s = *begun]() mutable { return s.progress(); }, {}});
      const std::lock_guard guard(all_lock);
      sessions.push_back(std::move(*begun));
      if (cancelled) sessions.back().cancel();
    }
  }
  {
    progress_display display(
        io.err(), traits_of(::isatty(STDERR_FILENO) == 1, [](const char* name) { return std::getenv(name); }));
    watch(
        all, planned->budget, [&] { return whole->ended(); }, news, display, options.quiet || options.json_log, beside);
  }
  std::vector<actors::report_ptr> reports;
  reports.reserve(all.size());
  std::shared_ptr<const actors::joint_report> joint;
  if (whole) {
    joint = whole->wait();
    for (const auto& t : joint->tasks) reports.push_back(t.report);
  } else {
    for (auto& s : sessions) reports.push_back(s.wait());
  }
  const int signal = signals.caught();
  beside.write_log();

  for (const auto& r : reports) {
    if (r->trouble) io.message(r->of->spec.name + ": " + r->trouble->text());
    if (const auto text = no_best_text(*r); !text.empty()) io.message(text);
  }
  const auto asked = (*engine)->cache_counts();
  if (drawing.is_open()) {
    drawing << draw_total(*joint);
    drawing.close();
    if (!drawing) io.message(options.svg + " cannot be written");
  }
  if (io.json()) {
    io.document(joint ? joint_json(*joint, *planned->budget) : reports_json(reports, &asked));
  } else if (joint) {
    for (const auto& r : reports)
      if (r->best) io.out() << task_title(*r->of) << "\n  " << r->best->config.text() << '\n';
    io.out() << '\n' << render_joint(*joint) << std::flush;
  } else {
    for (const auto& r : reports) io.out() << render_report(*r);
    io.out() << render_misses(asked);
    io.out() << std::flush;
  }
  if (signal != 0)
    io.message(std::string(signal == SIGINT ? "interrupted" : "terminated") +
               "; what was measured is kept, and this goes on with the rest: " + typed);
  return code_of(reports, signal);
}

} // namespace attune::cli
