#include "cli/commands.hpp"
#include "cli/interrupts.hpp"
#include "cli/json.hpp"
#include "cli/secret.hpp"
#include "cli/store_access.hpp"
#include "web/dashboard.hpp"

#include <condition_variable>
#include <mutex>
#include <ostream>
#include <utility>

namespace attune::cli {

namespace {

/// The last sessions that are shown; a store may hold any number.
constexpr std::size_t sessions_shown = 200;

} // namespace

int run_dashboard(const dashboard_options& options, const std::string& folder, output& io) {
  std::mutex lock;
  std::condition_variable changed;
  bool over = false;
  interrupts signals([&](int) {
    const std::lock_guard guard(lock);
    over = true;
    changed.notify_all();
  });

  auto store = open_to_read(folder);
  if (!store) return io.fail(store.err());
  if (!*store) {
    io.message("there is no store in '" + folder + "' yet; attune tune makes one");
    return exit_code::store;
  }
  const std::shared_ptr<const storage::store> shown = std::move(*store);
  web::dashboard_options how;
  const auto at = web::parse_listen(options.listen);
  if (!at) return io.fail(at.err());
  how.at = *at;
  if (auto token = take_secret("ATTUNE_DASHBOARD_TOKEN")) how.token = std::move(*token);
  auto made = web::dashboard::start(how, [store = shown]() -> std::shared_ptr<const storage::store> { return store; });
  if (!made) return io.fail(made.err());
  if (auto added = (*made)->add_stored_sessions(sessions_shown); !added) return io.fail(added.err());
  if (io.json())
    io.document({{"url", (*made)->url()}});
  else
    io.out() << (*made)->url() << '\n';
  io.out().flush();
  io.message("serving '" + folder + "' as it is now; Ctrl-C ends it");
  std::unique_lock guard(lock);
  changed.wait(guard, [&] { return over; });
  return exit_code::done;
}

} // namespace attune::cli
