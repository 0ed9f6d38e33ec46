#include "cli/tune_watch.hpp"

#include "actors/engine.hpp"
#include "actors/messages.hpp"
#include "cli/secret.hpp"
#include "storage/store_port.hpp"
#include "web/dashboard.hpp"
#include "web/event_json.hpp"

#include <mutex>
#include <ostream>
#include <utility>

namespace attune::cli {

namespace {

/// Lines that wait to be written; what comes while there are so many is counted.
constexpr std::size_t lines_most = 100'000;

web::log_level level_named(const std::string& name) {
  for (const auto l : {web::log_level::debug, web::log_level::warning, web::log_level::error})
    if (name == web::to_string(l)) return l;
  return web::log_level::info;
}

} // namespace

struct tune_watch::impl {
  const tune_options& options;
  output& io;
  web::log_level least;
  std::unique_ptr<web::dashboard> board;

  std::mutex store_lock;
  storage::store_port* store = nullptr;

  std::mutex lines_lock;
  std::vector<std::string> lines;
  std::uint64_t lost = 0;

  std::shared_ptr<const storage::store> read() {
    const std::lock_guard guard(store_lock);
    if (store == nullptr) return nullptr;
    auto view = store->view();
    return view ? *view : nullptr;
  }

  void take(const actors::event_batch& batch) {
    if (board) board->take(batch);
    if (!options.json_log) return;
    const auto& clock = system_time();
    const auto now = clock.monotonic(), wall = clock.wall();
    const std::lock_guard guard(lines_lock);
    for (const auto& e : batch.items) {
      if (web::level_of(e) < least) continue;
      if (lines.size() < lines_most)
        lines.push_back(web::event_log_line(e, wall - (now - e.at)));
      else
        ++lost;
    }
  }
};

tune_watch::tune_watch(const tune_options& options, output& io)
    : impl_(new impl{options, io, level_named(options.log_level), nullptr, {}, nullptr, {}, {}, 0}) {}
tune_watch::~tune_watch() = default;

status tune_watch::start() {
  if (!impl_->options.dashboard) return {};
  web::dashboard_options how;
  auto at = web::parse_listen(*impl_->options.dashboard);
  if (!at) return at.err();
  how.at = *at;
  if (auto token = take_secret("ATTUNE_DASHBOARD_TOKEN")) how.token = std::move(*token);
  auto made = web::dashboard::start(how, [this] { return impl_->read(); });
  if (!made) return made.err();
  impl_->board = std::move(*made);
  impl_->io.message("dashboard: " + impl_->board->url());
  return {};
}

std::shared_ptr<void> tune_watch::attach(actors::engine& to) {
  if (!impl_->board && !impl_->options.json_log) return nullptr;
  {
    const std::lock_guard guard(impl_->store_lock);
    impl_->store = to.store();
  }
  to.subscribe([this](const actors::event_batch& batch) { impl_->take(batch); });
  return {nullptr, [this](void*) {
            const std::lock_guard guard(impl_->store_lock);
            impl_->store = nullptr;
          }};
}

void tune_watch::note_window(std::size_t index, const actors::tuner_status& now) {
  if (impl_->board) impl_->board->note_window(index + 1, now.in_flight, now.window);
}

bool tune_watch::write_log() {
  if (!impl_->options.json_log) return false;
  std::vector<std::string> lines;
  std::uint64_t lost = 0;
  {
    const std::lock_guard guard(impl_->lines_lock);
    lines.swap(impl_->lines);
    lost = std::exchange(impl_->lost, 0);
  }
  for (const auto& line : lines) impl_->io.err() << line << '\n';
  if (lost > 0) impl_->io.message(std::to_string(lost) + " events came faster than they could be written");
  impl_->io.err().flush();
  return true;
}

} // namespace attune::cli
