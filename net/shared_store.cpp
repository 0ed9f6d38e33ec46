#include "net/shared_store.hpp"

#include "net/backoff.hpp"
#include "net/socket_place.hpp"
#include "net/store_client.hpp"
#include "net/store_server.hpp"
#include "storage/cache.hpp"
#include "storage/convert.hpp"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace attune::net {

namespace {

using wire::v1::Envelope;

/// How many killed processes' marks are kept, in case that they are not dead but stopped.
constexpr std::size_t senders_kept = 256;

key128 drawn_key() {
  key128 out;
  // So few bytes come whole.
  if (::getrandom(out.bytes.data(), out.bytes.size(), 0) != static_cast<ssize_t>(out.bytes.size()))
    std::memcpy(out.bytes.data(), sha256(std::to_string(system_time().monotonic().count())).bytes.data(), 16);
  return out;
}

std::uint64_t seed_of(const key128& k) { return hash64(k.view()); }

class shared_store final : public storage::store_port {
public:
  shared_store(std::string folder, const shared_store_options& options);
  ~shared_store() override;

  /// Waits until it is the owner's or a member's, or cannot be.
  status begin();

  const std::string& path() const override { return folder_; }
  std::vector<std::string> notices() const override;
  result<std::shared_ptr<const storage::store>> view() const override;
  std::vector<storage::recalled> recall(std::span<const trial_ptr> asked) override;
  bool knows_workload(const digest& workload) override;
  status append(std::span<storage::record_item> records, std::span<const storage::step_item> steps) override;
  result<bool> begin_session(const storage::session_entry& session) override;
  status erase_session(std::string_view id) override;
  void end_session(std::string_view id, nanoseconds spent) override;
  void touch(std::span<const storage::cache_use> used) override;
  void drop_cached(std::span<const key128> gone) override;
  void count(const storage::cache_figures& since_last, std::span<const storage::task_uses> by_task) override;
  result<std::uint64_t> drop_cached(const digest& task) override;
  status append_new(std::span<storage::foreign_record> records) override;
  result<std::vector<storage::forgotten>> forget(std::span<const digest> tasks, const storage::retention& how) override;
  status compact() override;
  bool claim(const trial& what, bool anew, nanoseconds limit) override;
  void release(const key128& key) override;
  void listen(std::function<void(std::vector<storage::claim_answer>)> hear) override;
  void on_forgotten(std::function<void(std::vector<digest>)> hear) override;

private:
  /// What of an append has been sent, and may have to be sent again.
  struct progress {
    outcome_ptr first_record; ///< by which the repetition of a failed call is known
    trial_ptr first_step;
    std::vector<storage::record_id> done; ///< of its records, those that are written
    std::size_t steps_done = 0;
    std::size_t records_out = 0, steps_out = 0; ///< behind them: sent, and their fate unknown
    bool begun() const noexcept { return !done.empty() || steps_done + records_out + steps_out > 0; }
  };

  // On the loop's thread.
  void seek();
  void seek_later(const error& why);
  void give_up(const error& why);
  void become_owner(std::unique_ptr<storage::store> opened);
  void become_member(int socket);
  void welcomed();
  void lost(const error& why, bool refused);
  void heard(std::vector<storage::claim_answer> answers);
  void hear(std::vector<storage::claim_answer> answers);
  void begin_at_owner(const storage::session_entry& session, store_client::reply answer);
  void watch_owner();
  void member_claim(claim_ask what);
  void member_release(const key128& key);

  // On any other.
  std::shared_ptr<storage::store> own() const;
  std::shared_ptr<const storage::store> old_view();
  result<std::unique_ptr<storage::store>> look() const;
  /// Waits for an owner or for being it. Errors: why there is none.
  status settled();
  /// With `patiently` it waits for as long as the owner is there at all.
  /// Of an owner that is there and says nothing.
  error silent() const;
  result<Envelope> call(std::function<Envelope(store_client&)> make, bool patiently = false);
  /// What changes the store as a whole, by the owner, whoever that is by then. Null: this process is the owner.
  result<std::optional<Envelope>> change(const std::function<Envelope()>& make);
  void heard_forgotten(std::vector<digest> tasks);
  void post_to_owner(std::function<Envelope()> make);
  status append_part(std::span<storage::record_item> records, std::span<const storage::step_item> steps,
                     const storage::append_origin& origin);

  const std::string folder_;
  const shared_store_options options_;
  const key128 me_;

  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.get_executor()};

  mutable std::mutex lock_;
  std::condition_variable changed_;
  enum class role : std::uint8_t { seeking, owner, member } role_ = role::seeking;
  std::optional<error> failed_;  ///< it cannot be begun
  std::optional<error> trouble_; ///< why it is still seeking
  std::string held_by_;          ///< who had the store when it was last asked for: a sentence that names it
  std::vector<std::string> notices_;
  std::shared_ptr<storage::store> store_;       ///< the owner's; set once
  std::atomic<store_server*> serving_{nullptr}; ///< the same
  std::set<std::string, std::less<>> muted_;    ///< sessions whose steps another process writes

  std::mutex view_lock_;
  std::shared_ptr<const storage::store> old_view_; ///< while it is a member

  std::mutex hear_lock_;
  std::function<void(std::vector<storage::claim_answer>)> hear_;
  std::function<void(std::vector<digest>)> hear_forgotten_;

  // The loop's.
  std::shared_ptr<socket_place> place_;
  std::unique_ptr<store_server> server_;
  std::shared_ptr<store_client> client_;
  bool ready_ = false;   ///< the client has been greeted
  bool changes_ = false; ///< the owner takes changes
  bool ever_ = false, stopping_ = false, was_member_ = false;
  nanoseconds begun_at_{0};
  backoff pauses_;
  nanoseconds lost_at_{0};
  asio::steady_timer again_{loop_}, ping_{loop_};
  bool pinging_ = false;
  int unanswered_ = 0;
  std::set<key128> held_;
  std::map<key128, claim_ask> asked_;
  std::map<std::string, storage::session_entry, std::less<>> sessions_; ///< those whose steps this process writes

  // The appending thread's.
  std::mutex append_lock_;
  progress sent_;
  std::uint64_t next_record_ = 1, next_step_ = 1;

  std::thread thread_;
};

shared_store::shared_store(std::string folder, const shared_store_options& options)
    : folder_(std::move(folder)),
      options_(options),
      me_(drawn_key()),
      pauses_(std::chrono::milliseconds(4), std::chrono::milliseconds(100), seed_of(me_)) {
  thread_ = std::thread([this] { loop_.run(); });
}

shared_store::~shared_store() {
  asio::post(loop_, [this] {
    stopping_ = true;
    again_.cancel();
    ping_.cancel();
    if (client_) client_->leave();
    if (server_) server_->close();
    client_ = nullptr;
    work_.reset();
    loop_.stop();
  });
  thread_.join();
  // What was still on its way lets go of what it holds.
  loop_.restart();
  loop_.poll();
  server_.reset();
}

status shared_store::begin() {
  asio::post(loop_, [this] {
    begun_at_ = system_time().monotonic();
    seek();
  });
  std::unique_lock guard(lock_);
  changed_.wait(guard, [&] { return role_ != role::seeking || failed_; });
  return failed_ ? status(*failed_) : status();
}

// --- who owns it ---

void shared_store::seek() {
  if (stopping_) return;
  auto opened = storage::store::open(folder_, {.patience = nanoseconds(0)});
  if (opened) return become_owner(std::move(*opened));
  if (opened.err().code != errc::store_busy) {
    // While it was the owner's to say so, it was good: perhaps it becomes so again.
    return ever_ ? seek_later(opened.err()) : give_up(opened.err());
  }
  {
    const std::lock_guard guard(lock_);
    held_by_ = opened.err().message;
  }
  if (!place_) {
    auto place = socket_place::open(folder_);
    if (!place) return seek_later(opened.err());
    place_ = *place;
  }
  const auto socket = place_->connect();
  if (!socket) return seek_later(opened.err());
  become_member(*socket);
}

void shared_store::seek_later(const error& why) {
  {
    const std::lock_guard guard(lock_);
    trouble_ = why;
  }
  const auto now = system_time().monotonic();
  if (!ever_ && now - begun_at_ >= options_.start) return give_up(why);
  if (ever_ && now - lost_at_ >= options_.call && !asked_.empty()) {
    // Nobody can say who measures what: better twice than never.
    std::vector<storage::claim_answer> granted;
    for (const auto& [key, a] : std::exchange(asked_, {})) {
      held_.insert(key);
      granted.push_back({key, nullptr, 0});
    }
    hear(std::move(granted));
  }
  again_.expires_after(pauses_.next());
  again_.async_wait([this](const asio::error_code& ec) {
    if (!ec) seek();
  });
}

void shared_store::give_up(const error& why) {
  {
    const std::lock_guard guard(lock_);
    failed_ = why;
  }
  changed_.notify_all();
}

void shared_store::become_owner(std::unique_ptr<storage::store> opened) {
  std::shared_ptr<storage::store> store = std::move(opened);
  std::vector<std::string> notices = store->notices();
  if (!place_)
    if (auto place = socket_place::open(folder_)) place_ = *place;
  store_server_options serving;
  if (place_ && place_->others()) serving.grace = options_.grace;
  server_ = std::make_unique<store_server>(
      loop_, store, serving, [this](std::vector<storage::claim_answer> a) { hear(std::move(a)); },
      [this](std::vector<digest> t) { heard_forgotten(std::move(t)); });
  [[maybe_unused]] const auto trimmed = store->trim_senders(senders_kept);
  if (was_member_) {
    std::vector<claim_ask> asked;
    for (auto& [key, a] : asked_) asked.push_back(std::move(a));
    std::vector<std::string> sessions;
    for (const auto& [id, s] : sessions_) {
      [[maybe_unused]] const auto known = store->begin_session(s);
      sessions.push_back(id);
    }
    server_->inherit({held_.begin(), held_.end()}, std::move(asked), sessions);
    held_.clear();
    asked_.clear();
  }
  if (place_)
    if (auto listening = server_->listen(place_); !listening) notices.push_back(listening.err().message);
  ever_ = true;
  {
    const std::lock_guard guard(lock_);
    store_ = std::move(store);
    serving_ = server_.get();
    notices_.insert(notices_.end(), notices.begin(), notices.end());
    trouble_.reset();
    role_ = role::owner;
  }
  changed_.notify_all();
}

void shared_store::become_member(int socket) {
  store_client::events tell;
  tell.ready = [this](const agreement& agreed) {
    changes_ = agreed.has(changes_feature);
    welcomed();
  };
  tell.forgotten = [this](std::vector<digest> t) { heard_forgotten(std::move(t)); };
  tell.claimed = [this](std::vector<storage::claim_answer> a) { heard(std::move(a)); };
  tell.lost = [this](const error& why, bool refused) { lost(why, refused); };
  ready_ = false;
  connection_limits limits;
  limits.handshake = std::min(limits.handshake, options_.call);
  client_ = store_client::over(loop_, socket, limits, std::move(tell));
  client_->start(me_);
}

void shared_store::welcomed() {
  ready_ = ever_ = was_member_ = true;
  // Before it asks for anything: a new owner that looks for others shall see it.
  place_->join();
  pauses_.reset();
  unanswered_ = 0;
  watch_owner();
  if (!held_.empty() || !asked_.empty()) {
    Envelope out;
    for (const auto& key : held_) {
      auto& item = *out.mutable_claim()->add_items();
      to(claim_ask{key, {}, {}, false, {}}, item);
      item.set_held(true);
    }
    for (const auto& [key, a] : asked_) to(a, *out.mutable_claim()->add_items());
    client_->notify(out);
  }
  for (const auto& [id, s] : sessions_)
    begin_at_owner(s, [this, id = id](result<Envelope> answer) {
      // Another process was quicker: it writes the steps from now on.
      if (!answer || answer->session_begun().writes()) return;
      sessions_.erase(id);
      const std::lock_guard guard(lock_);
      muted_.insert(id);
    });
  {
    const std::lock_guard guard(lock_);
    trouble_.reset();
    role_ = role::member;
  }
  changed_.notify_all();
}

void shared_store::lost(const error& why, bool refused) {
  client_ = nullptr;
  const bool was_ready = std::exchange(ready_, false);
  {
    const std::lock_guard guard(lock_);
    role_ = role::seeking;
  }
  if (stopping_) return;
  if (was_ready) lost_at_ = system_time().monotonic();
  if (refused && !ever_) return give_up({errc::store_busy, "the store '" + folder_ + "': " + why.message, {}});
  // One that never greeted is there, and stopped perhaps.
  seek_later(was_ready ? error{errc::store_busy, "the store '" + folder_ + "' has lost its owner: " + why.message, {}}
                       : silent());
}

// --- claims ---

void shared_store::hear(std::vector<storage::claim_answer> answers) {
  const std::lock_guard guard(hear_lock_);
  if (hear_) hear_(std::move(answers));
}

void shared_store::heard_forgotten(std::vector<digest> tasks) {
  {
    // What it was opened for is not there any more.
    const std::lock_guard guard(view_lock_);
    old_view_ = nullptr;
  }
  const std::lock_guard guard(hear_lock_);
  if (hear_forgotten_) hear_forgotten_(std::move(tasks));
}

void shared_store::on_forgotten(std::function<void(std::vector<digest>)> hear) {
  const std::lock_guard guard(hear_lock_);
  hear_forgotten_ = std::move(hear);
}

void shared_store::heard(std::vector<storage::claim_answer> answers) {
  std::vector<storage::claim_answer> wanted;
  for (auto& a : answers) {
    if (asked_.erase(a.key) == 0) {
      if (!a.known && !held_.contains(a.key)) member_release(a.key);
      continue;
    }
    if (!a.known) held_.insert(a.key);
    wanted.push_back(std::move(a));
  }
  if (!wanted.empty()) hear(std::move(wanted));
}

/// While something waits for the owner: one that is stopped hangs up on nobody.
void shared_store::watch_owner() {
  if (pinging_ || !ready_ || asked_.empty()) return;
  pinging_ = true;
  ping_.expires_after(options_.ping);
  ping_.async_wait([this](const asio::error_code& ec) {
    pinging_ = false;
    if (ec || !ready_ || asked_.empty()) return;
    if (++unanswered_ > 3) {
      client_->close();
      return lost({errc::network, "it does not answer", {}}, false);
    }
    Envelope out;
    out.mutable_ping();
    client_->request(std::move(out), [this](const result<Envelope>& answer) {
      if (answer) unanswered_ = 0;
    });
    watch_owner();
  });
}

void shared_store::member_claim(claim_ask what) {
  if (server_) {
    server_->inherit({}, {std::move(what)}, {});
    return;
  }
  if (ready_) {
    Envelope out;
    to(what, *out.mutable_claim()->add_items());
    client_->notify(out);
  }
  asked_[what.key] = std::move(what);
  watch_owner();
}

void shared_store::member_release(const key128& key) {
  if (server_) return server_->release(key);
  held_.erase(key);
  asked_.erase(key);
  if (!ready_) return;
  Envelope out;
  out.mutable_release()->add_keys(key.bytes.data(), key.bytes.size());
  client_->notify(out);
}

bool shared_store::claim(const trial& what, bool anew, nanoseconds limit) {
  if (auto* server = serving_.load()) return server->claim(ask_of(what, anew, limit));
  asio::post(loop_, [this, a = ask_of(what, anew, limit)]() mutable { member_claim(std::move(a)); });
  return false;
}

void shared_store::release(const key128& key) {
  if (auto* server = serving_.load()) return server->release(key);
  asio::post(loop_, [this, key] { member_release(key); });
}

void shared_store::listen(std::function<void(std::vector<storage::claim_answer>)> hear) {
  const std::lock_guard guard(hear_lock_);
  hear_ = std::move(hear);
}

// --- calls ---

std::vector<std::string> shared_store::notices() const {
  const std::lock_guard guard(lock_);
  return notices_;
}

std::shared_ptr<storage::store> shared_store::own() const {
  const std::lock_guard guard(lock_);
  return store_;
}

status shared_store::settled() {
  std::unique_lock guard(lock_);
  if (changed_.wait_for(guard, options_.call, [&] { return role_ != role::seeking; })) return {};
  return trouble_ ? *trouble_ : error{errc::store_busy, "the store '" + folder_ + "' has no owner", {}};
}

error shared_store::silent() const {
  const std::lock_guard guard(lock_);
  return {errc::store_busy,
          (held_by_.empty() ? "the store '" + folder_ + "' is in use" : held_by_) +
              ", which does not answer; if it is stopped, let it go on (kill -CONT) or end it: until then what is "
              "measured cannot be kept, and the search waits",
          {}};
}

result<Envelope> shared_store::call(std::function<Envelope(store_client&)> make, bool patiently) {
  struct waiting {
    std::mutex lock;
    std::condition_variable came;
    std::optional<result<Envelope>> answer;
    std::weak_ptr<store_client> asked; // the loop's
  };
  auto w = std::make_shared<waiting>();
  const auto give = [w](result<Envelope> answer) {
    {
      const std::lock_guard guard(w->lock);
      if (!w->answer) w->answer = std::move(answer);
    }
    w->came.notify_all();
  };
  asio::post(loop_, [this, make = std::move(make), give, w] {
    if (!ready_) return give(error{errc::network, "the connection is lost", {}});
    w->asked = client_;
    client_->request(make(*client_), give);
  });
  std::unique_lock guard(w->lock);
  const auto answered = [&] { return w->came.wait_for(guard, options_.call, [&] { return w->answer.has_value(); }); };
  if (answered()) return *std::move(w->answer);
  for (auto there = std::make_shared<std::atomic<bool>>(true); patiently && there->exchange(false);) {
    asio::post(loop_, [this, w, there] {
      if (!ready_ || client_ != w->asked.lock()) return;
      Envelope ping;
      ping.mutable_ping();
      client_->request(std::move(ping), [there](const result<Envelope>& a) { *there = a.ok(); });
    });
    if (answered()) return *std::move(w->answer);
  }
  // A stopped owner: perhaps there will be another.
  asio::post(loop_, [this, w] {
    if (!client_ || client_ != w->asked.lock()) return;
    client_->close();
    lost({errc::network, "it does not answer", {}}, false);
  });
  return silent();
}

void shared_store::post_to_owner(std::function<Envelope()> make) {
  asio::post(loop_, [this, make = std::move(make)] {
    if (ready_) client_->notify(make());
  });
}

result<std::unique_ptr<storage::store>> shared_store::look() const {
  // While an owner comes or goes its files change under the reader.
  constexpr int attempts = 10;
  for (int n = 0;; ++n) {
    auto opened = storage::store::open(folder_, {.read_only = true, .create = false});
    if (opened || n == attempts) return opened;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

result<std::shared_ptr<const storage::store>> shared_store::view() const {
  if (auto mine = own()) return std::shared_ptr<const storage::store>(std::move(mine));
  auto opened = look();
  if (!opened) return opened.err();
  return std::shared_ptr<const storage::store>(std::move(*opened));
}

/// A member's own look at the store, for the cache: what is written later it hears of by its claims.
std::shared_ptr<const storage::store> shared_store::old_view() {
  if (auto mine = own()) return mine;
  const std::lock_guard guard(view_lock_);
  if (!old_view_)
    if (auto opened = look()) old_view_ = std::move(*opened);
  return old_view_;
}

std::vector<storage::recalled> shared_store::recall(std::span<const trial_ptr> asked) {
  const auto from = old_view();
  return from ? from->recall(asked) : std::vector<storage::recalled>(asked.size());
}

bool shared_store::knows_workload(const digest& workload) {
  const auto from = old_view();
  return from && from->knows_workload(workload);
}

status shared_store::append_part(std::span<storage::record_item> records, std::span<const storage::step_item> steps,
                                 const storage::append_origin& origin) {
  const auto answer = call([&](store_client& to_owner) {
    Envelope out;
    auto& a = *out.mutable_append();
    a.set_first_record(origin.first_record);
    a.set_first_step(origin.first_step);
    for (const auto& r : records) add(r, to_owner.tasks(), a);
    for (const auto& s : steps) add(s, to_owner.tasks(), a);
    return out;
  });
  if (!answer) return answer.err();
  const auto& ids = answer->appended().records();
  if (static_cast<std::size_t>(ids.size()) != records.size())
    return error{errc::internal, "the owner of the store has answered something else", {}};
  for (std::size_t i = 0; i < records.size(); ++i) records[i].record = ids[static_cast<int>(i)];
  return {};
}

status shared_store::append(std::span<storage::record_item> records, std::span<const storage::step_item> steps) {
  const std::lock_guard appending(append_lock_);
  if (records.empty() && steps.empty()) return {};
  std::vector<storage::step_item> written;
  {
    const std::lock_guard guard(lock_);
    if (!muted_.empty() && store_ && !sent_.begun()) {
      for (const auto& s : steps)
        if (!muted_.contains(s.session)) written.push_back(s);
      steps = written;
    }
  }
  if (const auto mine = own(); mine && !sent_.begun()) return mine->append(records, steps);

  // A call that has failed is repeated, or its records were given up.
  const bool same = (!sent_.first_record || (!records.empty() && records[0].result == sent_.first_record)) &&
                    (!sent_.first_step || (!steps.empty() && steps[0].what == sent_.first_step));
  if (sent_.begun() && !same) {
    next_record_ += sent_.done.size() + sent_.records_out;
    next_step_ += sent_.steps_done + sent_.steps_out;
    sent_ = {};
  }
  sent_.first_record = records.empty() ? nullptr : records[0].result;
  sent_.first_step = steps.empty() ? nullptr : steps[0].what;
  for (std::size_t i = 0; i < sent_.done.size(); ++i) records[i].record = sent_.done[i];

  while (sent_.done.size() < records.size() || sent_.steps_done < steps.size()) {
    if (sent_.records_out + sent_.steps_out == 0) {
      // As many as make a message of a good size; what a record weighs is guessed from its largest parts.
      std::size_t bytes = 0;
      for (auto i = sent_.done.size(); i < records.size() && bytes < options_.chunk_bytes; ++i, ++sent_.records_out) {
        bytes += 256 + records[i].what->canonical.size();
        if (const auto* f = records[i].result->failed()) bytes += f->message.size();
        if (const auto* m = records[i].result->measured()) bytes += 8 * m->samples.size();
        for (const auto& n : records[i].result->notes) bytes += n.size();
      }
      for (auto i = sent_.steps_done; i < steps.size() && bytes < options_.chunk_bytes; ++i, ++sent_.steps_out)
        bytes += 512 + steps[i].what->canonical.size();
    }
    const storage::append_origin origin{me_, next_record_ + sent_.done.size(), next_step_ + sent_.steps_done};
    const auto part = records.subspan(sent_.done.size(), sent_.records_out);
    const auto step_part = steps.subspan(sent_.steps_done, sent_.steps_out);
    if (auto ready = settled(); !ready) return ready;
    const auto mine = own();
    auto done = mine ? mine->append(part, step_part, &origin) : append_part(part, step_part, origin);
    if (!done && done.err().code == errc::network) continue; // lost: by whoever owns it next
    if (!done) {
      // What the owner refused is not written; one that did not answer may have written it.
      if (done.err().code != errc::store_busy) sent_.records_out = sent_.steps_out = 0;
      return done;
    }
    for (const auto& r : part) sent_.done.push_back(r.record);
    sent_.steps_done += sent_.steps_out;
    sent_.records_out = sent_.steps_out = 0;
  }
  next_record_ += records.size();
  next_step_ += steps.size();
  sent_ = {};
  return {};
}

void shared_store::begin_at_owner(const storage::session_entry& session, store_client::reply answer) {
  Envelope out;
  out.mutable_begin_session()->set_id(session.id);
  storage::convert::to(session, *out.mutable_begin_session()->mutable_session());
  client_->request(std::move(out), std::move(answer));
}

result<bool> shared_store::begin_session(const storage::session_entry& session) {
  for (;;) {
    if (const auto ready = settled(); !ready) return ready.err();
    bool writes = true;
    if (const auto mine = own()) {
      if (auto begun = mine->begin_session(session); !begun) return begun.err();
      writes = serving_.load()->begin_session(session.id);
    } else {
      const auto answer = call([&](store_client&) {
        Envelope out;
        out.mutable_begin_session()->set_id(session.id);
        storage::convert::to(session, *out.mutable_begin_session()->mutable_session());
        return out;
      });
      if (!answer && answer.err().code == errc::network) continue;
      if (!answer) return answer.err();
      writes = answer->session_begun().writes();
      if (writes) asio::post(loop_, [this, session] { sessions_.insert_or_assign(session.id, session); });
    }
    const std::lock_guard guard(lock_);
    writes ? muted_.erase(session.id) : muted_.insert(session.id).second;
    return writes;
  }
}

status shared_store::erase_session(std::string_view id) {
  for (;;) {
    if (auto ready = settled(); !ready) return ready;
    if (const auto mine = own()) return mine->erase_session(id);
    const auto answer = call([&](store_client&) {
      Envelope out;
      out.mutable_erase_session()->set_id(id.data(), id.size());
      return out;
    });
    if (answer) return {};
    if (answer.err().code != errc::network) return answer.err();
  }
}

void shared_store::end_session(std::string_view id, nanoseconds spent) {
  const std::string name(id);
  {
    const std::lock_guard guard(lock_);
    muted_.erase(name);
  }
  if (const auto mine = own()) {
    // Where it cannot be written, the session only goes on for longer.
    [[maybe_unused]] const auto done = mine->add_spent(id, spent);
    serving_.load()->end_session(name);
    return;
  }
  asio::post(loop_, [this, name, spent] {
    sessions_.erase(name);
    if (!ready_) return;
    Envelope out;
    out.mutable_end_session()->set_id(name);
    out.mutable_end_session()->set_spent_ns(spent.count());
    client_->notify(out);
  });
}

void shared_store::touch(std::span<const storage::cache_use> used) {
  if (const auto mine = own()) return mine->touch(used);
  if (used.empty()) return;
  post_to_owner([all = std::vector(used.begin(), used.end())] {
    Envelope out;
    for (const auto& u : all) {
      auto& one = *out.mutable_uses()->add_use();
      one.set_key(u.key.bytes.data(), u.key.bytes.size());
      one.set_record(u.record);
      one.set_fresh(u.fresh);
    }
    return out;
  });
}

void shared_store::drop_cached(std::span<const key128> gone) {
  // What a member has too much of the owner may need: order and bounds are the owner's.
  if (const auto mine = own()) mine->drop_cached(gone);
}

result<std::optional<Envelope>> shared_store::change(const std::function<Envelope()>& make) {
  for (;;) {
    if (auto ready = settled(); !ready) return ready.err();
    if (own()) return std::optional<Envelope>();
    // Its features are the loop's to know.
    auto able = std::make_shared<std::atomic<bool>>(true);
    auto answer = call(
        [this, &make, able](store_client&) {
          *able = changes_;
          if (changes_) return make();
          Envelope ping;
          ping.mutable_ping();
          return ping;
        },
        true);
    if (!*able)
      return error{errc::store_busy,
                   "the process that owns the store '" + folder_ + "' is of an older version, which cannot do that",
                   {}};
    if (answer) return std::optional(*std::move(answer));
    // Lost, or ended on the way out: whoever owns it next.
    if (answer.err().code != errc::network && answer.err().code != errc::cancelled) return answer.err();
  }
}

result<std::uint64_t> shared_store::drop_cached(const digest& task) {
  const auto answer = change([&] {
    Envelope out;
    to(std::span(&task, 1), *out.mutable_forget()->mutable_tasks());
    out.mutable_forget()->set_cache_only(true);
    return out;
  });
  if (!answer) return answer.err();
  if (!*answer) {
    auto dropped = own()->drop_cached(task);
    if (dropped) serving_.load()->forgotten({task});
    return dropped;
  }
  std::vector<storage::forgotten> all;
  if (auto good = from((*answer)->forgotten(), all); !good) return good.err();
  return all.empty() ? 0 : all.front().cache_entries;
}

status shared_store::append_new(std::span<storage::foreign_record> records) {
  // As many at once as make a message of a good size.
  constexpr std::size_t together = 1024;
  while (!records.empty()) {
    const auto part = records.first(std::min(together, records.size()));
    const auto answer = change([&] {
      Envelope out;
      to(part, *out.mutable_import());
      return out;
    });
    if (!answer) return answer.err();
    if (!*answer) return own()->append_new(records);
    const auto& added = (*answer)->imported().added();
    if (static_cast<std::size_t>(added.size()) != part.size())
      return error{errc::internal, "the owner of the store has answered something else", {}};
    for (std::size_t i = 0; i < part.size(); ++i) part[i].added = added[static_cast<int>(i)];
    records = records.subspan(part.size());
  }
  return {};
}

result<std::vector<storage::forgotten>> shared_store::forget(std::span<const digest> tasks,
                                                             const storage::retention& how) {
  const auto answer = change([&] {
    Envelope out;
    to(tasks, *out.mutable_forget()->mutable_tasks());
    to(how, *out.mutable_forget());
    return out;
  });
  if (!answer) return answer.err();
  if (!*answer) {
    auto* server = serving_.load();
    auto done = own()->forget(tasks, how, false, server->under_way());
    if (done) server->forgotten({tasks.begin(), tasks.end()});
    return done;
  }
  std::vector<storage::forgotten> all;
  if (auto good = from((*answer)->forgotten(), all); !good) return good.err();
  return all;
}

status shared_store::compact() {
  const auto answer = change([] {
    Envelope out;
    out.mutable_compact();
    return out;
  });
  if (!answer) return answer.err();
  return *answer ? status() : own()->compact();
}

void shared_store::count(const storage::cache_figures& since_last, std::span<const storage::task_uses> by_task) {
  if (const auto mine = own()) return mine->count(since_last, by_task);
  post_to_owner([since_last, all = std::vector(by_task.begin(), by_task.end())] {
    Envelope out;
    auto& f = *out.mutable_figures();
    f.set_hits(since_last.hits);
    f.set_evicted(since_last.evicted);
    f.set_saved_ns(since_last.saved.count());
    f.set_spent_ns(since_last.spent.count());
    for (const auto n : since_last.causes) f.add_causes(n);
    for (const auto& t : all) {
      auto& one = *f.add_by_task();
      one.set_task(t.task.bytes.data(), t.task.bytes.size());
      one.set_hits(t.hits);
      one.set_misses(t.misses);
    }
    return out;
  });
}

} // namespace

result<std::unique_ptr<storage::store_port>> open_shared(const std::string& folder,
                                                         const shared_store_options& options) {
  auto made = std::make_unique<shared_store>(folder, options);
  if (auto begun = made->begin(); !begun) return begun.err();
  return std::unique_ptr<storage::store_port>(std::move(made));
}

} // namespace attune::net
