#pragma once

#include "net/connection.hpp"
#include "net/flight_table.hpp"
#include "net/socket_place.hpp"
#include "net/store_messages.hpp"

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace attune::net {

struct store_server_options {
  connection_limits limits;
  std::size_t connections = 256; ///< at one time
  /// How long after its beginning nothing is granted, so that processes that measured under an owner that is gone can
  /// say so first.
  nanoseconds grace{0};
};

/// What the owner of a store does for the other processes: it writes what they send, and keeps the table of flights,
/// in which its own process has a place too. An append is answered when it is on the disk. A peer that sends what
/// cannot be understood, or too much, loses its connection, its flights and its waiting, and nothing else happens.
///
/// Threads: on that of `loop`, but for claim(), release(), begin_session() and end_session(), which are the own
/// process's and may be called from any. What changes the store as a whole (imports, forgetting, compaction) is done on
/// a thread of its own, one after the other, which lives from the first of it on. Where no other process has ever come,
/// they take a lock and nothing more.
class store_server {
public:
  using hear = std::function<void(std::vector<storage::claim_answer>)>;
  using hear_forgotten = std::function<void(std::vector<digest>)>;

  store_server(asio::io_context& loop, std::shared_ptr<storage::store> store, const store_server_options& options,
               hear own, hear_forgotten own_forgotten = {});
  ~store_server();
  store_server(const store_server&) = delete;
  store_server& operator=(const store_server&) = delete;

  /// Listens in the store's folder. Errors: store_unusable.
  status listen(std::shared_ptr<socket_place> where);
  /// A connection that has been made already. Takes the descriptor.
  void adopt(int socket);
  /// Hangs up on all, and takes the socket away.
  void close();

  /// True: granted. False: `own` hears the answer.
  bool claim(claim_ask ask);
  void release(const key128& key);
  bool begin_session(const std::string& id);
  void end_session(const std::string& id);
  /// The sessions whose steps are being written, by whomever. From any thread.
  std::vector<std::string> under_way();
  /// Tells every process, its own too, that something of these tasks was forgotten. From any thread.
  void forgotten(std::vector<digest> tasks);
  /// What the own process had under the owner before: flights, questions, sessions whose steps it writes.
  void inherit(const std::vector<key128>& held, std::vector<claim_ask> asked, const std::vector<std::string>& sessions);

  std::size_t connections() const noexcept { return peers_.size(); }

private:
  using holder = flight_table::holder;
  using link = connection<asio::local::stream_protocol::socket>;
  static constexpr holder self = 0;

  struct peer {
    std::shared_ptr<link> wire;
    bool greeted = false, hears_changes = false;
    key128 id;
    known_tasks tasks;
    std::size_t claims = 0;  ///< asked and not answered
    std::size_t changes = 0; ///< the same
  };

  void accept();
  void join(asio::local::stream_protocol::socket socket);
  void lose(holder who);
  void take(holder who, std::string_view body);
  void refuse(peer& p, const error& why);
  void answer(peer& p, std::uint64_t request, wire::v1::Envelope& with);
  void fail(peer& p, std::uint64_t request, const error& why);
  status greet(peer& p, const wire::v1::Hello& hello, std::uint64_t request);
  status handle(holder who, peer& p, const wire::v1::Envelope& message);
  status append(holder who, peer& p, const wire::v1::Append& message, std::uint64_t request);
  status claims(holder who, peer& p, const wire::v1::Claim& message);

  /// On the thread for changes; what it answers goes to `who`.
  status change(holder who, peer& p, std::uint64_t request, std::function<result<wire::v1::Envelope>()> what);
  result<wire::v1::Envelope> forget(const wire::v1::Forget& message);

  void ask(holder who, claim_ask what);
  std::optional<storage::claim_answer> known(const claim_ask& what, std::uint64_t since) const;
  void resolve(const std::vector<flight_table::waiter>& waiters);
  void tell(holder who, storage::claim_answer what);
  void arm();

  asio::io_context& loop_;
  std::shared_ptr<storage::store> store_;
  store_server_options options_;
  hear own_;
  hear_forgotten own_forgotten_;
  std::shared_ptr<socket_place> place_;
  asio::local::stream_protocol::acceptor acceptor_;
  asio::steady_timer expiry_, grace_, retry_;
  bool in_grace_ = false;
  std::vector<std::pair<holder, claim_ask>> deferred_;
  std::unordered_map<holder, peer> peers_;
  holder next_ = 1;
  std::map<std::pair<holder, key128>, claim_ask> asks_; ///< of those that wait
  /// True from the first connection on: then the own process's claims go through the loop as well.
  std::atomic<bool> shared_{false};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); ///< for what was posted

  std::mutex lock_; ///< guards the table and the sessions
  flight_table table_;
  std::unordered_map<std::string, holder> sessions_; ///< who writes their steps

  std::mutex changes_lock_;
  std::condition_variable changes_came_;
  std::deque<std::function<void()>> changes_;
  bool no_more_changes_ = false;
  std::thread changer_;
};

} // namespace attune::net
