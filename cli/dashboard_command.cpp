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

command_spec dashboard_command() {
  struct words {
    std::string listen;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"dashboard", "Show the store's sessions in a browser, until Ctrl-C"};
  c.value("--listen", "ADDR:PORT", w->listen, "Where it is served: ADDR:PORT or PORT (a free port of 127.0.0.1)");
  c.more = R"help(Nothing is tuned and nothing is changed. The page asks nothing of other hosts. Served at
an address that others can reach, it wants the token of the printed URL;
$ATTUNE_DASHBOARD_TOKEN, where it is set, is the token. Prometheus reads /metrics there
(with the token as its bearer).

  attune dashboard
  attune dashboard --listen 0.0.0.0:8080
  attune tune gemm.yaml --dashboard)help";
  c.read = [w](const typed_line&) -> reading {
    if (const auto good = web::parse_listen(w->listen); !good) throw usage_fault{"--listen: " + good.err().message};
    return dashboard_options{w->listen};
  };
  return c;
}

} // namespace attune::cli
