#pragma once

#include "core/clock.hpp"
#include "core/error.hpp"
#include "web/guard.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace attune::web {

class feed;

/// What a server shows. The functions are called on its threads, several at a time.
struct served {
  /// The whole view as JSON, and the number of the last text of `view_feed` that is in it. `apart`: the trials are not
  /// in it, but how many there are.
  std::function<std::pair<std::string, std::uint64_t>(bool apart)> view;
  /// The first `count` trials of a session as bytes (model::rows); none: there are not so many.
  std::function<std::optional<std::string>(std::uint64_t session, std::uint64_t count)> rows;
  /// One trial's life as JSON; none where nothing is known of it.
  std::function<std::optional<std::string>(std::uint64_t session, std::uint64_t trial)> trial;
  std::function<std::string()> store;   ///< figures of the store as JSON, or `null`
  std::function<std::string()> fleet;   ///< a hub's devices and jobs as JSON, or `null`
  std::function<std::string()> metrics; ///< in Prometheus' text format
  std::shared_ptr<feed> view_feed;      ///< what changes in the view
  std::shared_ptr<feed> event_feed;     ///< events as JSON
};

struct server_options {
  listen_address at;
  std::string token;                                    ///< wanted of every request; empty: of none
  std::size_t watchers_most = 16;                       ///< streams at once; a further one is told to come later
  nanoseconds write_patience = std::chrono::seconds(5); ///< a watcher that takes nothing for so long is dropped
  nanoseconds beat = std::chrono::seconds(15);          ///< a stream says at least so often that it lives
};

/// A web server on threads of its own that shows and changes nothing: GET and HEAD alone, no file of the disk, bounded
/// in threads and memory. Paths, headers and who may read: docs/dashboard.md. It sets SIGPIPE to be ignored.
class server {
public:
  /// Errors: io, where it cannot listen there; invalid_spec, where others could reach it and it has no token.
  static result<std::unique_ptr<server>> start(const server_options& options, served what);
  /// Ends the streams and waits for its threads.
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  std::uint16_t port() const noexcept;
  /// What a person opens, the token in it.
  std::string url() const;
  /// Streams at this moment, and how many were dropped because they did not keep up.
  std::size_t watchers() const noexcept;
  std::size_t event_watchers() const noexcept; ///< of them, those of served::event_feed
  std::uint64_t dropped() const noexcept;

private:
  struct impl;
  explicit server(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

} // namespace attune::web
