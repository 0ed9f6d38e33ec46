#include "net/store_server.hpp"

#include "net/network_error.hpp"
#include "storage/cache.hpp"
#include "storage/convert.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace attune::net {

namespace {

using wire::v1::Envelope;

nanoseconds now() { return system_time().monotonic(); }

} // namespace

store_server::store_server(asio::io_context& loop, std::shared_ptr<storage::store> store,
                           const store_server_options& options, hear own, hear_forgotten own_forgotten)
    : loop_(loop),
      store_(std::move(store)),
      options_(options),
      own_(std::move(own)),
      own_forgotten_(std::move(own_forgotten)),
      acceptor_(loop),
      expiry_(loop),
      grace_(loop),
      retry_(loop) {
  if (options_.grace.count() <= 0) return;
  in_grace_ = true;
  shared_ = true;
  grace_.expires_after(options_.grace);
  grace_.async_wait([this, alive = alive_](const asio::error_code& ec) {
    if (ec || !*alive) return;
    in_grace_ = false;
    for (auto& [who, what] : std::exchange(deferred_, {})) ask(who, std::move(what));
  });
}

store_server::~store_server() { close(); }

status store_server::listen(std::shared_ptr<socket_place> where) {
  const auto socket = where->listen();
  if (!socket) return socket.err();
  asio::error_code ec;
  acceptor_.assign(asio::local::stream_protocol(), *socket, ec);
  if (ec) {
    ::close(*socket);
    return error{errc::store_unusable, "the store cannot be shared: " + ec.message(), {}};
  }
  place_ = std::move(where);
  accept();
  return {};
}

void store_server::accept() {
  acceptor_.async_wait(asio::socket_base::wait_read, [this, alive = alive_](const asio::error_code& ec) {
    if (ec || !*alive) return;
    // Asio's own accept would let the descriptor pass on to the processes of a trial that is just being started.
    const int socket = ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket >= 0) {
      if (same_user(socket) && peers_.size() < options_.connections)
        adopt(socket);
      else
        ::close(socket);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      // Without a descriptor to spare the next one waits until one comes free.
      retry_.expires_after(std::chrono::milliseconds(100));
      retry_.async_wait([this, alive](const asio::error_code&) {
        if (*alive) accept();
      });
      return;
    }
    accept();
  });
}

void store_server::adopt(int socket) {
  asio::local::stream_protocol::socket s(loop_);
  asio::error_code ec;
  s.assign(asio::local::stream_protocol(), socket, ec);
  ec ? static_cast<void>(::close(socket)) : join(std::move(s));
}

void store_server::join(asio::local::stream_protocol::socket socket) {
  shared_ = true;
  const holder who = next_++;
  auto& p = peers_[who];
  p.wire = std::make_shared<link>(std::move(socket), options_.limits);
  p.wire->start([this, who](std::string_view body) { take(who, body); }, [this, who](const error&) { lose(who); });
}

void store_server::close() {
  *alive_ = false;
  asio::error_code ignored;
  acceptor_.close(ignored);
  expiry_.cancel();
  grace_.cancel();
  retry_.cancel();
  for (auto& [who, p] : peers_) p.wire->close();
  peers_.clear();
  if (place_) place_->remove();
  place_ = nullptr;
  {
    const std::lock_guard guard(changes_lock_);
    no_more_changes_ = true;
    changes_.clear();
  }
  changes_came_.notify_all();
  if (!changer_.joinable()) return;
  // Whoever asked for it asks the next owner.
  store_->end_compaction();
  changer_.join();
}

status store_server::change(holder who, peer& p, std::uint64_t request, std::function<result<Envelope>()> what) {
  constexpr std::size_t most = 4;
  if (++p.changes > most) return network_error("too many changes at one time");
  {
    const std::lock_guard guard(changes_lock_);
    changes_.emplace_back([this, who, request, what = std::move(what), alive = alive_] {
      auto done = std::make_shared<result<Envelope>>(what());
      asio::post(loop_, [this, who, request, done, alive] {
        if (!*alive) return;
        const auto at = peers_.find(who);
        if (at == peers_.end()) return;
        --at->second.changes;
        if (*done)
          answer(at->second, request, **done);
        else
          fail(at->second, request, done->err());
      });
    });
  }
  changes_came_.notify_all();
  if (changer_.joinable()) return {};
  changer_ = std::thread([this] {
    for (;;) {
      std::function<void()> next;
      {
        std::unique_lock guard(changes_lock_);
        changes_came_.wait(guard, [&] { return no_more_changes_ || !changes_.empty(); });
        if (no_more_changes_) return;
        next = std::move(changes_.front());
        changes_.pop_front();
      }
      next();
    }
  });
  return {};
}

std::vector<std::string> store_server::under_way() {
  const std::lock_guard guard(lock_);
  std::vector<std::string> out;
  for (const auto& [id, who] : sessions_) out.push_back(id);
  return out;
}

void store_server::forgotten(std::vector<digest> tasks) {
  asio::post(loop_, [this, alive = alive_, tasks = std::move(tasks)] {
    if (!*alive) return;
    Envelope out;
    to(tasks, *out.mutable_forgotten_tasks()->mutable_tasks());
    const auto text = out.SerializeAsString();
    for (auto& [who, p] : peers_)
      if (p.greeted && p.hears_changes) p.wire->send(text);
    if (own_forgotten_) own_forgotten_(tasks);
  });
}

result<Envelope> store_server::forget(const wire::v1::Forget& message) {
  std::vector<digest> tasks;
  if (auto good = from(message.tasks(), tasks); !good) return good.err();
  std::vector<storage::forgotten> all;
  if (message.cache_only()) {
    for (const auto& t : tasks) {
      const auto dropped = store_->drop_cached(t);
      if (!dropped) return dropped.err();
      all.emplace_back().task = t;
      all.back().cache_entries = *dropped;
    }
  } else {
    auto done = store_->forget(tasks, retention_of(message), false, under_way());
    if (!done) return done.err();
    all = *std::move(done);
  }
  forgotten(std::move(tasks));
  Envelope out;
  to(all, *out.mutable_forgotten());
  return out;
}

void store_server::lose(holder who) {
  const auto at = peers_.find(who);
  if (at == peers_.end()) return;
  at->second.wire->close();
  peers_.erase(at);
  std::erase_if(deferred_, [who](const auto& d) { return d.first == who; });
  std::erase_if(asks_, [who](const auto& a) { return a.first.first == who; });
  std::vector<flight_table::waiter> waiters;
  {
    const std::lock_guard guard(lock_);
    waiters = table_.leave(who);
    std::erase_if(sessions_, [who](const auto& s) { return s.second == who; });
  }
  resolve(waiters);
}

void store_server::take(holder who, std::string_view body) {
  const auto at = peers_.find(who);
  if (at == peers_.end()) return;
  Envelope message;
  status done;
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size())))
    done = network_error("a message cannot be read");
  else if (!at->second.greeted)
    done = message.has_hello() ? greet(at->second, message.hello(), message.request())
                               : status(network_error("the first message is no greeting"));
  else
    done = handle(who, at->second, message);
  if (done) return;
  // It may have gone meanwhile.
  if (const auto still = peers_.find(who); still != peers_.end()) refuse(still->second, done.err());
  lose(who);
}

void store_server::refuse(peer& p, const error& why) {
  Envelope out;
  to(why, *out.mutable_failed());
  p.wire->send(out.SerializeAsString());
}

void store_server::answer(peer& p, std::uint64_t request, Envelope& with) {
  with.set_request(request);
  p.wire->send(with.SerializeAsString());
}

void store_server::fail(peer& p, std::uint64_t request, const error& why) {
  Envelope out;
  to(why, *out.mutable_failed());
  answer(p, request, out);
}

status store_server::greet(peer& p, const wire::v1::Hello& hello, std::uint64_t request) {
  const auto mine = store_abilities();
  const auto agreed = agree(mine, hello);
  if (!agreed) return agreed.err();
  std::memcpy(p.id.bytes.data(), hello.peer().data(), p.id.bytes.size());
  p.greeted = true;
  p.hears_changes = agreed->has(changes_feature);
  p.wire->established();
  Envelope out;
  *out.mutable_welcome() = welcome_of(mine, *agreed);
  out.mutable_welcome()->set_frame_bytes(options_.limits.frame_bytes);
  out.mutable_welcome()->set_claims(claims_most);
  answer(p, request, out);
  return {};
}

status store_server::handle(holder who, peer& p, const Envelope& message) {
  const auto request = message.request();
  Envelope out;
  switch (message.body_case()) {
  case Envelope::kAppend:
    return append(who, p, message.append(), request);
  case Envelope::kClaim:
    return claims(who, p, message.claim());
  case Envelope::kRelease:
    for (const auto& text : message.release().keys()) {
      const auto key = text.size() == 16 ? key128::from_bytes(text) : std::nullopt;
      if (!key) return network_error("a key is not one");
      if (asks_.erase({who, *key}) > 0 && p.claims > 0) --p.claims;
      std::erase_if(deferred_, [&](const auto& d) { return d.first == who && d.second.key == *key; });
      std::vector<flight_table::waiter> waiters;
      {
        const std::lock_guard guard(lock_);
        waiters = table_.release(*key, who);
      }
      resolve(waiters);
    }
    return {};
  case Envelope::kBeginSession: {
    storage::session_entry entry;
    if (auto good = storage::convert::from(message.begin_session().session(), entry); !good) return good;
    entry.id = message.begin_session().id();
    if (entry.id.empty() || entry.id.find('\0') != std::string::npos) return network_error("a session has no name");
    if (auto begun = store_->begin_session(entry); !begun) {
      fail(p, request, begun.err());
      return {};
    }
    {
      const std::lock_guard guard(lock_);
      out.mutable_session_begun()->set_writes(sessions_.try_emplace(entry.id, who).first->second == who);
    }
    answer(p, request, out);
    return {};
  }
  case Envelope::kEraseSession:
    if (auto erased = store_->erase_session(message.erase_session().id()); !erased) {
      fail(p, request, erased.err());
      return {};
    }
    out.mutable_done();
    answer(p, request, out);
    return {};
  case Envelope::kEndSession: {
    const auto& id = message.end_session().id();
    [[maybe_unused]] const auto done =
        store_->add_spent(id, nanoseconds(std::max<std::int64_t>(0, message.end_session().spent_ns())));
    const std::lock_guard guard(lock_);
    if (const auto at = sessions_.find(id); at != sessions_.end() && at->second == who) sessions_.erase(at);
    return {};
  }
  case Envelope::kUses: {
    std::vector<storage::cache_use> used;
    for (const auto& u : message.uses().use()) {
      const auto key = key128::from_bytes(u.key());
      if (!key) return network_error("a key is not one");
      used.push_back({*key, u.record(), u.fresh()});
    }
    store_->touch(used);
    return {};
  }
  case Envelope::kFigures: {
    storage::cache_figures figures;
    figures.hits = message.figures().hits();
    figures.evicted = message.figures().evicted();
    figures.saved = nanoseconds(message.figures().saved_ns());
    figures.spent = nanoseconds(message.figures().spent_ns());
    for (int c = 0; c < message.figures().causes_size() && c < static_cast<int>(figures.causes.size()); ++c)
      figures.causes[static_cast<std::size_t>(c)] = message.figures().causes(c);
    std::vector<storage::task_uses> by_task;
    for (const auto& t : message.figures().by_task()) {
      digest task;
      if (t.task().size() != task.bytes.size()) return network_error("a task is not one");
      std::copy(t.task().begin(), t.task().end(), task.bytes.begin());
      by_task.push_back({task, t.hits(), t.misses()});
    }
    store_->count(figures, by_task);
    return {};
  }
  case Envelope::kImport:
    return change(who, p, request, [this, body = message.import()]() -> result<Envelope> {
      import_group group;
      if (auto good = from(body, group); !good) return good.err();
      if (auto done = store_->append_new(group.records); !done) return done.err();
      Envelope done;
      for (const auto& r : group.records) done.mutable_imported()->add_added(r.added);
      return done;
    });
  case Envelope::kForget:
    return change(who, p, request, [this, body = message.forget()] { return forget(body); });
  case Envelope::kCompact:
    return change(who, p, request, [this]() -> result<Envelope> {
      if (auto done = store_->compact(); !done) return done.err();
      Envelope done;
      done.mutable_done();
      return done;
    });
  case Envelope::kPing:
    out.mutable_done();
    answer(p, request, out);
    return {};
  case Envelope::kGoodbye: {
    [[maybe_unused]] const auto forgotten = store_->forget_sender(p.id);
    lose(who);
    return {};
  }
  default:
    return network_error("a message that is not expected");
  }
}

status store_server::append(holder who, peer& p, const wire::v1::Append& message, std::uint64_t request) {
  for (const auto& t : message.tasks())
    if (auto taken = p.tasks.take(t); !taken) return taken;
  if (message.first_record() == 0 || message.first_step() == 0) return network_error("an append without numbers");
  std::vector<storage::record_item> records(static_cast<std::size_t>(message.records_size()));
  for (int i = 0; i < message.records_size(); ++i)
    if (auto good = from(message.records(i), p.tasks, records[static_cast<std::size_t>(i)]); !good) return good;
  std::vector<storage::step_item> steps;
  for (const auto& s : message.steps()) {
    {
      const std::lock_guard guard(lock_);
      const auto at = sessions_.find(s.session());
      if (at == sessions_.end() || at->second != who) continue;
    }
    if (auto good = from(s, p.tasks, steps.emplace_back()); !good) return good;
  }
  const storage::append_origin origin{p.id, message.first_record(), message.first_step()};
  if (auto done = store_->append(records, steps, &origin); !done) {
    fail(p, request, done.err());
    return {};
  }
  Envelope out;
  auto& appended = *out.mutable_appended();
  for (const auto& r : records) appended.add_records(r.record);
  answer(p, request, out);
  return {};
}

status store_server::claims(holder who, peer& p, const wire::v1::Claim& message) {
  for (const auto& item : message.items()) {
    claim_ask what;
    if (auto good = from(item, what); !good) return good;
    if (item.held()) {
      const std::lock_guard guard(lock_);
      if (table_.flights() > 16 * claims_most) return network_error("too many claims");
      table_.hold(what.key, who);
      continue;
    }
    if (++p.claims > claims_most) return network_error("too many claims");
    ask(who, std::move(what));
    if (!peers_.contains(who)) return {};
  }
  return {};
}

std::optional<storage::claim_answer> store_server::known(const claim_ask& what, std::uint64_t since) const {
  auto found = store_->cached_record(what.key);
  // What cannot be read is measured again.
  if (!found || !*found) return std::nullopt;
  auto& r = **found;
  if (what.anew && r.id <= since) return std::nullopt;
  if (r.task != what.task || r.config.canonical() != what.canonical || !conclusive(r.result)) return std::nullopt;
  return storage::claim_answer{what.key, std::make_shared<const outcome>(std::move(r.result)), r.id};
}

void store_server::ask(holder who, claim_ask what) {
  if (in_grace_) {
    deferred_.emplace_back(who, std::move(what));
    return;
  }
  const auto since = store_->newest();
  bool granted = false;
  {
    const std::lock_guard guard(lock_);
    granted = table_.claim(what.key, who, now() + what.limit, since);
  }
  if (!granted) {
    asks_[{who, what.key}] = std::move(what);
    arm();
    return;
  }
  // Looked up with the flight in hand: whoever had it before has released it after its record was there.
  auto answer = what.anew ? std::nullopt : known(what, 0);
  if (!answer) {
    tell(who, {what.key, nullptr, 0});
    return;
  }
  std::vector<flight_table::waiter> waiters;
  {
    const std::lock_guard guard(lock_);
    waiters = table_.release(what.key, who);
  }
  tell(who, std::move(*answer));
  resolve(waiters);
}

/// Those that waited get what there is now; where there is nothing, the first of them flies for the rest.
void store_server::resolve(const std::vector<flight_table::waiter>& waiters) {
  for (const auto& w : waiters) {
    const auto at = asks_.find({w.who, w.key});
    if (at == asks_.end()) continue;
    auto answer = known(at->second, w.since);
    if (!answer) {
      const std::lock_guard guard(lock_);
      if (!table_.claim(w.key, w.who, w.until, w.since)) continue;
      answer = storage::claim_answer{w.key, nullptr, 0};
    }
    asks_.erase(at);
    tell(w.who, std::move(*answer));
  }
  arm();
}

void store_server::tell(holder who, storage::claim_answer what) {
  if (who == self) {
    own_({std::move(what)});
    return;
  }
  const auto at = peers_.find(who);
  if (at == peers_.end()) return;
  if (at->second.claims > 0) --at->second.claims;
  Envelope out;
  to(what, *out.mutable_claimed()->add_items());
  at->second.wire->send(out.SerializeAsString());
}

void store_server::arm() {
  std::optional<nanoseconds> next;
  {
    const std::lock_guard guard(lock_);
    next = table_.next_expiry();
  }
  if (!next || !*alive_) return;
  expiry_.expires_after(std::max(nanoseconds(0), *next - now()));
  expiry_.async_wait([this, alive = alive_](const asio::error_code& ec) {
    if (ec || !*alive) return;
    std::vector<flight_table::waiter> due;
    {
      const std::lock_guard guard(lock_);
      due = table_.expire(now());
    }
    for (const auto& w : due) {
      asks_.erase({w.who, w.key});
      tell(w.who, {w.key, nullptr, 0});
    }
    arm();
  });
}

bool store_server::claim(claim_ask what) {
  if (!shared_) {
    const std::lock_guard guard(lock_);
    return table_.claim(what.key, self, now() + what.limit, 0);
  }
  asio::post(loop_, [this, alive = alive_, what = std::move(what)]() mutable {
    if (*alive) ask(self, std::move(what));
  });
  return false;
}

void store_server::release(const key128& key) {
  std::vector<flight_table::waiter> waiters;
  {
    const std::lock_guard guard(lock_);
    waiters = table_.release(key, self);
  }
  if (!shared_ && waiters.empty()) return;
  asio::post(loop_, [this, alive = alive_, key, waiters = std::move(waiters)] {
    if (!*alive) return;
    asks_.erase({self, key});
    std::erase_if(deferred_, [&](const auto& d) { return d.first == self && d.second.key == key; });
    resolve(waiters);
  });
}

bool store_server::begin_session(const std::string& id) {
  const std::lock_guard guard(lock_);
  return sessions_.try_emplace(id, self).first->second == self;
}

void store_server::end_session(const std::string& id) {
  const std::lock_guard guard(lock_);
  if (const auto at = sessions_.find(id); at != sessions_.end() && at->second == self) sessions_.erase(at);
}

void store_server::inherit(const std::vector<key128>& held, std::vector<claim_ask> asked,
                           const std::vector<std::string>& sessions) {
  shared_ = true;
  {
    const std::lock_guard guard(lock_);
    for (const auto& key : held) table_.hold(key, self);
    for (const auto& id : sessions) sessions_.try_emplace(id, self);
  }
  for (auto& a : asked) ask(self, std::move(a));
}

} // namespace attune::net
