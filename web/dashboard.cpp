#include "web/dashboard.hpp"

#include "actors/engine.hpp"
#include "storage/store.hpp"
#include "web/event_json.hpp"
#include "web/feed.hpp"
#include "web/metrics.hpp"
#include "web/server.hpp"
#include "web/stored.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace attune::web {

namespace {

/// What is kept for those who follow: a few seconds of a busy search.
constexpr std::size_t view_texts = 64, view_bytes = std::size_t{16} << 20;
constexpr std::size_t event_texts = 4096, event_bytes = std::size_t{4} << 20;
/// Stored sessions are shown under numbers that no engine gives.
constexpr actors::session_number stored_from = 1'000'000'000;
/// The figures of a store are read anew after so long.
constexpr nanoseconds figures_last = std::chrono::seconds(5);

} // namespace

struct dashboard::impl {
  dashboard_options options;
  store_reader read;
  fleet_reader fleet;
  std::shared_ptr<feed> views = std::make_shared<feed>(view_texts, view_bytes);
  std::shared_ptr<feed> events = std::make_shared<feed>(event_texts, event_bytes);

  std::mutex waiting_lock; ///< of these
  std::condition_variable came;
  struct some { ///< the first events of a batch
    actors::event_batch of;
    std::size_t count = 0;
  };
  std::vector<some> waiting;
  std::size_t events_waiting = 0; ///< in these
  std::uint64_t lost = 0;
  bool ending = false;

  std::mutex model_lock; ///< of these
  std::unique_ptr<model> shown;
  model_cursor told;
  actors::session_number next_stored = stored_from;

  std::mutex figures_lock; ///< of these
  std::string figures = "null";
  nanoseconds figures_at{-1};

  std::unique_ptr<server> http;
  std::thread feeder;

  static nanoseconds now() { return system_time().monotonic(); }

  /// A session that this engine goes on with has a past in the store.
  void recall(const actors::event& e) {
    if (!e.what || e.session == 0 || shown->knows(e.session)) return;
    auto head = head_of(*e.what->of, system_time().wall() - (now() - e.at));
    head.id = actors::session_id(*e.what->of);
    const auto id = head.id;
    const auto store = read ? read() : nullptr;
    if (!shown->add_session(e.session, std::move(head)) || !store) return;
    const auto entry = store->load_session(id);
    if (entry && *entry) (void)add_steps(*shown, e.session, *store, id, (*entry)->started);
  }

  /// Writes down for those who watch what has changed. @pre model_lock is held
  void tell() { views->add(shown->json(told, now())); }

  void feed_model() {
    std::vector<some> batches;
    const auto each = [&batches](const auto& visit) {
      for (const auto& b : batches)
        for (std::size_t k = 0; const auto& e : b.of.items) {
          if (k++ == b.count) break;
          visit(e);
        }
    };
    bool changed = false;
    nanoseconds told_at{0};
    for (;;) {
      {
        std::unique_lock guard(waiting_lock);
        const auto ready = [&] { return ending || !waiting.empty(); };
        // While something is still to be told it waits no longer than until then.
        if (changed)
          came.wait_for(guard, std::max(nanoseconds(0), told_at + options.every - now()), ready);
        else
          came.wait(guard, ready);
        if (ending) return;
        batches.clear();
        batches.swap(waiting);
        events_waiting = 0;
        if (lost > 0) {
          const std::lock_guard model_guard(model_lock);
          shown->note_lost(std::exchange(lost, 0));
        }
      }
      const bool watched = http && http->watchers() > 0;
      if (!batches.empty()) {
        const std::lock_guard guard(model_lock);
        each([this](const actors::event& e) {
          recall(e);
          shown->take(e);
        });
        changed = true;
      }
      if (http && http->event_watchers() > 0) each([this](const actors::event& e) { events->add(event_json(e)); });
      if (changed && watched && now() - told_at >= options.every) {
        const std::lock_guard guard(model_lock);
        tell();
        told_at = now();
        changed = false;
      }
      if (!watched) changed = false; // who comes asks for all
      // Events come one by one; a look at them some twenty times a second is enough.
      std::this_thread::sleep_for(std::chrono::milliseconds(40));
    }
  }

  served what_is_served() {
    served s;
    s.rows = [this](std::uint64_t session, std::uint64_t count) {
      const std::lock_guard guard(model_lock);
      return shown->rows(session, count);
    };
    s.view = [this](bool apart) {
      const std::lock_guard guard(model_lock);
      model_cursor fresh;
      auto text = shown->json(fresh, now(), apart ? model::row_form::apart : model::row_form::inside);
      // What changed since the last text is in the view, and so is told to those who watch first. Where nobody does, it
      // is not written twice: who has an older view and comes to follow it later asks for a new one.
      if (http && http->watchers() > 0)
        tell();
      else
        views->add(R"({"reset":true})");
      told = std::move(fresh);
      return std::pair(std::move(text), views->last());
    };
    s.trial = [this](std::uint64_t session, std::uint64_t trial) -> std::optional<std::string> {
      std::optional<key128> key;
      std::string id;
      {
        const std::lock_guard guard(model_lock);
        if (auto life = shown->life_json(session, trial, key)) return life;
        const auto at = shown->sessions().find(session);
        if (at == shown->sessions().end()) return std::nullopt;
        id = at->second.head.id;
      }
      const auto store = read ? read() : nullptr;
      return store ? stored_life(*store, id, trial, key) : std::nullopt;
    };
    s.store = [this] {
      const std::lock_guard guard(figures_lock);
      if (figures_at.count() >= 0 && now() - figures_at < figures_last) return figures;
      const auto store = read ? read() : nullptr;
      if (!store) return std::string("null");
      if (auto text = store_json(*store)) figures = std::move(*text);
      figures_at = now();
      return figures;
    };
    s.fleet = fleet;
    s.metrics = [this] {
      const std::lock_guard guard(model_lock);
      return metrics_text(*shown, {http ? http->watchers() : 0, http ? http->dropped() : 0});
    };
    s.view_feed = views;
    s.event_feed = events;
    return s;
  }
};

dashboard::dashboard(std::unique_ptr<impl> i) : impl_(std::move(i)) {}

result<std::unique_ptr<dashboard>> dashboard::start(const dashboard_options& options, store_reader read,
                                                    fleet_reader fleet) {
  auto made = std::make_unique<impl>();
  made->options = options;
  made->read = std::move(read);
  made->fleet = std::move(fleet);
  made->shown = std::make_unique<model>(impl::now(), system_time().wall(), options.limits);
  if (made->options.token.empty() && !is_loopback(options.at.host)) {
    auto token = make_token();
    if (!token) return token.err();
    made->options.token = std::move(*token);
  }
  server_options how;
  how.at = options.at;
  how.token = made->options.token;
  how.watchers_most = options.watchers_most;
  auto http = server::start(how, made->what_is_served());
  if (!http) return http.err();
  {
    const std::lock_guard guard(made->model_lock);
    made->http = std::move(*http);
  }
  made->feeder = std::thread([i = made.get()] { i->feed_model(); });
  return std::unique_ptr<dashboard>(new dashboard(std::move(made)));
}

dashboard::~dashboard() {
  {
    const std::lock_guard guard(impl_->waiting_lock);
    impl_->ending = true;
  }
  impl_->came.notify_all();
  if (impl_->feeder.joinable()) impl_->feeder.join();
  std::unique_ptr<server> http;
  {
    const std::lock_guard guard(impl_->model_lock);
    http = std::move(impl_->http);
  }
}

void dashboard::take(const actors::event_batch& batch) {
  auto& i = *impl_;
  const std::lock_guard guard(i.waiting_lock);
  const std::size_t all = batch.items.size();
  const std::size_t fit = std::min(all, i.options.waiting_most - std::min(i.options.waiting_most, i.events_waiting));
  i.lost += all - fit;
  if (fit == 0) return;
  i.waiting.push_back({batch, fit});
  i.events_waiting += fit;
  if (i.waiting.size() == 1) i.came.notify_one();
}

status dashboard::add_stored_sessions(std::size_t most) {
  auto& i = *impl_;
  const auto store = i.read ? i.read() : nullptr;
  if (!store) return {};
  auto all = all_sessions(*store);
  if (!all) return all.err();
  const std::size_t first = all->size() > most ? all->size() - most : 0;
  const std::lock_guard guard(i.model_lock);
  for (std::size_t k = first; k < all->size(); ++k)
    if (auto added = add_stored(*i.shown, i.next_stored++, *store, (*all)[k]); !added) return added;
  return {};
}

void dashboard::note_window(actors::session_number number, std::size_t in_flight, std::uint32_t window) {
  const std::lock_guard guard(impl_->model_lock);
  impl_->shown->note_window(number, in_flight, window);
}

std::string dashboard::url() const { return impl_->http->url(); }
std::uint16_t dashboard::port() const noexcept { return impl_->http->port(); }

} // namespace attune::web
