#pragma once

#include "actors/messages.hpp"
#include "core/error.hpp"
#include "web/guard.hpp"
#include "web/model.hpp"

#include <functional>
#include <memory>
#include <string>

namespace attune::storage {
class store;
}

namespace attune::web {

struct dashboard_options {
  listen_address at{"127.0.0.1", 0};
  std::string token; ///< empty: one is made where others can reach the address, else none is wanted
  model_options limits;
  nanoseconds every = std::chrono::milliseconds(250); ///< how often those who watch are told at most
  std::size_t waiting_most = 200'000; ///< events that wait to be taken in; further ones are counted as lost
  std::size_t watchers_most = 16;
};

/// The store as it is now, to be read; null where there is none.
using store_reader = std::function<std::shared_ptr<const storage::store>()>;

/// A hub's devices and jobs as JSON (docs/dashboard.md); called on the server's threads.
using fleet_reader = std::function<std::string()>;

/// A model, the thread that feeds it, and the server that shows it. It works beside any engine: what that tells goes
/// into take(). With nobody watching, events are counted and kept, and nothing is written. Threads: all functions from
/// any thread.
class dashboard {
public:
  /// `read` is called now and then, on a thread of the dashboard's or the server's; empty: there is no store. Errors:
  /// as server::start. `fleet`: of the dashboard of a hub.
  static result<std::unique_ptr<dashboard>> start(const dashboard_options& options, store_reader read,
                                                  fleet_reader fleet = {});
  ~dashboard();
  dashboard(const dashboard&) = delete;
  dashboard& operator=(const dashboard&) = delete;

  /// What happens in an engine: engine::subscribe. Returns at once.
  void take(const actors::event_batch& batch);
  /// The sessions that the store has go into the view, the last `most`. Errors: the store's.
  status add_stored_sessions(std::size_t most);
  /// Where a session's tuner stands.
  void note_window(actors::session_number number, std::size_t in_flight, std::uint32_t window);

  std::string url() const;
  std::uint16_t port() const noexcept;

private:
  struct impl;
  explicit dashboard(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

} // namespace attune::web
