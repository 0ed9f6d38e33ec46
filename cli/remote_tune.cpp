#include "cli/commands.hpp"
#include "cli/hub_call.hpp"
#include "cli/interrupts.hpp"
#include "cli/json.hpp"
#include "cli/load.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "core/text.hpp"
#include "net/backoff.hpp"
#include "net/fleet/client.hpp"
#include "net/store_messages.hpp"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include <array>
#include <csignal>
#include <cstdlib>
#include <ostream>
#include <random>
#include <unistd.h>

namespace attune::cli {

namespace {

using namespace std::chrono_literals;
using wire::v1::Envelope;

/// How long a hub that has gone is called again.
constexpr nanoseconds hub_patience = 2min;

/// One job at a hub, as its client sees it.
class remote_job {
public:
  remote_job(asio::io_context& loop, hub_way hub, const tune_options& options, output& io)
      : loop_(loop),
        hub_(std::move(hub)),
        options_(options),
        io_(io),
        job_(options.attach),
        display_(io.err(), traits_of(::isatty(STDERR_FILENO) == 1, [](const char* name) { return std::getenv(name); })),
        pause_(200ms, 5s, std::random_device{}()),
        wait_(loop),
        redraw_(loop),
        work_(asio::make_work_guard(loop)) {
    net::fleet::client::events tell;
    tell.ready = [this] { ready(); };
    tell.said = [this](const Envelope& e) { said(e); };
    tell.lost = [this](const error& why) { again(why); };
    client_ = std::make_shared<net::fleet::client>(tell, hub_.shown);
  }

  void submit(net::fleet::submission what) {
    for (const auto& [file, path] : what.files) client_->offer(file, path);
    submission_ = std::move(what.message);
  }

  void dial() {
    attempt_ = net::dial(loop_, hub_.dial, [this](result<net::link_ptr> link) {
      if (over_) return;
      if (link)
        client_->attach(std::move(*link));
      else
        again(link.err());
    });
    tick();
  }

  /// The client goes, the job stays.
  void detach(int signal) {
    if (over_) return;
    if (job_.empty())
      finish(128 + signal);
    else
      finish(128 + signal,
             "detached; the hub goes on with the job: attune tune --attach " + job_ + typed_again(options_.hub));
  }

  int code() const noexcept { return code_; }
  const std::string& json() const noexcept { return json_; }

private:
  void ready() {
    lost_since_.reset();
    pause_.reset();
    Envelope out;
    if (job_.empty()) {
      *out.mutable_submit() = submission_;
    } else {
      out.mutable_follow()->set_job(job_);
    }
    client_->ask(std::move(out));
  }

  void said(const Envelope& message) {
    if (over_) return;
    if (message.has_failed()) {
      const auto why = net::error_of(message.failed());
      display_.clear();
      finish(io_.fail(why.code == errc::not_found ? error{errc::network, why.message, why.where} : why));
    } else if (message.has_submitted()) {
      if (std::exchange(job_, message.submitted().job()).empty()) display_.line("attune: the hub has the job " + job_);
    } else if (message.has_progress()) {
      take(message.progress());
    } else if (message.has_ended()) {
      end(message.ended());
    }
  }

  void take(const wire::v1::Progress& p) {
    for (const auto& m : p.messages()) display_.line("attune: " + std::string(m));
    view_ = progress_view{};
    view_->name = p.name();
    view_->done = p.done();
    if (p.has_budget()) view_->budget = p.budget();
    if (p.has_time_limit_ns()) view_->time_limit = nanoseconds(p.time_limit_ns());
    view_->cached = p.cached();
    for (int i = 0; i < p.failed_size() && i < static_cast<int>(view_->failed.size()); ++i)
      view_->failed[static_cast<std::size_t>(i)] = p.failed(i);
    if (p.has_best()) view_->best = p.best();
    view_->unit = p.unit();
    view_->best_config = p.best_config();
    view_->tasks = p.tasks();
    view_->tasks_with_best = p.with_best();
    view_->tasks_ended = p.ended();
    view_->note = p.note();
    const auto now = system_time().monotonic();
    if (begun_.count() == 0) begun_ = now - nanoseconds(p.elapsed_ns());
    rate_.add(now - begun_, p.done());
    show(false);
  }

  void show(bool over) {
    if (!view_ || options_.quiet) return;
    const auto now = system_time().monotonic();
    view_->elapsed = now - begun_;
    view_->rate = rate_.per_second();
    if (display_.bar()) return display_.draw(*view_, terminal_width(STDERR_FILENO));
    const bool better = view_->best != said_best_ || view_->note != said_note_;
    if (!over && now - last_line_ < (better ? nanoseconds(1s) : nanoseconds(10s))) return;
    if (view_->done == said_done_ && view_->note == said_note_) return;
    display_.line(render_line(*view_));
    last_line_ = now;
    said_best_ = view_->best;
    said_done_ = view_->done;
    said_note_ = view_->note;
  }

  /// A bar's clock moves by itself.
  void tick() {
    if (!display_.bar() || options_.quiet) return;
    redraw_.expires_after(1s);
    redraw_.async_wait([this](const asio::error_code& ec) {
      if (ec || over_) return;
      show(false);
      tick();
    });
  }

  void end(const wire::v1::Ended& e) {
    show(true);
    display_.clear();
    for (const auto& m : e.messages()) io_.message(std::string(m));
    if (!io_.json()) io_.out() << e.text() << std::flush;
    json_ = e.json();
    finish(static_cast<int>(e.code()));
  }

  /// The connection is lost, or was not made.
  void again(const error& why) {
    if (over_) return;
    const auto now = system_time().monotonic();
    if (!lost_since_) lost_since_ = now;
    // A hub that was never reached is more likely a wrong address than one that comes back.
    if (job_.empty() || (now - *lost_since_ > hub_patience)) {
      display_.clear();
      finish(io_.fail(why));
      if (!job_.empty()) io_.message("to come back to it: attune tune --attach " + job_ + typed_again(options_.hub));
      return;
    }
    if (now == *lost_since_) display_.line("attune: " + why.text() + "; calling the hub again");
    wait_.expires_after(pause_.next());
    wait_.async_wait([this](const asio::error_code& ec) {
      if (!ec && !over_) dial();
    });
  }

  void finish(int code, const std::string& message = {}) {
    over_ = true;
    code_ = code;
    display_.clear();
    if (!message.empty()) io_.message(message);
    if (attempt_) attempt_->cancel();
    wait_.cancel();
    redraw_.cancel();
    client_->close();
    work_.reset();
  }

  asio::io_context& loop_;
  hub_way hub_;
  const tune_options& options_;
  output& io_;
  std::string job_, json_;
  wire::v1::Submit submission_;
  progress_display display_;
  net::backoff pause_;
  asio::steady_timer wait_, redraw_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::shared_ptr<net::fleet::client> client_;
  std::shared_ptr<net::dialing> attempt_;
  std::optional<progress_view> view_;
  rate_meter rate_;
  nanoseconds begun_{0}, last_line_{-10s};
  std::optional<double> said_best_;
  std::optional<std::uint64_t> said_done_;
  std::string said_note_;
  std::optional<nanoseconds> lost_since_;
  int code_ = exit_code::network;
  bool over_ = false;
};

} // namespace

int run_remote_tune(const tune_options& options, output& io) {
  auto hub = way_to(options.hub);
  if (!hub) return io.fail(hub.err());
  asio::io_context loop{1};
  remote_job job(loop, *hub, options, io);
  if (options.attach.empty()) {
    // What is wrong is told before anything is sent.
    auto tasks = load(options.specs.front());
    if (!tasks) return io.fail(tasks.err());
    std::vector<task_spec> specs;
    for (auto& t : *tasks) {
      for (const auto& w : t.spec.warnings) io.message(w);
      specs.push_back(std::move(t.spec));
    }
    auto what = net::fleet::submission_of(options.specs.front(), specs);
    if (!what) return io.fail(what.err());
    auto& o = *what->message.mutable_options();
    if (options.trials) o.set_trials(*options.trials);
    if (options.time) o.set_time_ns(options.time->count());
    if (options.strategy) o.set_strategy(*options.strategy);
    if (options.seed) o.set_seed(*options.seed);
    if (options.near) o.set_near(*options.near);
    o.set_remeasure(options.remeasure);
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) == 0)
      what->message.set_client(std::string(name.data()) + "/" + std::to_string(::getuid()));
    job.submit(std::move(*what));
  }
  interrupts signals([&](int signal) { asio::post(loop, [&job, signal] { job.detach(signal); }); });
  asio::post(loop, [&job] { job.dial(); });
  loop.run();
  if (io.json() && !job.json().empty()) {
    io.out() << job.json() << '\n' << std::flush;
  } else if (io.json() && signals.caught() != 0) {
    io.document(error_json({errc::cancelled, "detached; the hub goes on with the job", {}}));
  }
  return job.code();
}

} // namespace attune::cli
