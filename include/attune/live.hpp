// Tuning in a running service: each request is served with a configuration, and its latency says how good that is.
#pragma once

#include "attune/engine.hpp"
#include "attune/space.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace attune {

/// What a service grants to the search, and how it searches.
struct live_options {
  double explore = 0.05; ///< of each thread's requests: no more than this are served with another than the best known
  /// No request is served with a configuration that is surely slower than the default by more than this fraction (the
  /// lower confidence bound of its latency, two standard errors).
  double worse = 0.2;
  double regret = 0.02;          ///< of the time that requests take: no more than this is lost on trying
  double gain = 0.02;            ///< what is not faster by this fraction is not taken
  std::uint64_t candidates = 64; ///< tried in one round; a change of the workload begins another
  std::string strategy = "auto";
  std::uint64_t seed = 1;
  /// Name and version of what the service does with a configuration: identity, as search_options::method.
  std::string method = "live/1";
};

/// What a live has come to.
struct live_status {
  configuration best;        ///< what serves
  double level = 0;          ///< its latency in seconds, of late; 0: not known yet
  double default_level = 0;  ///< the default configuration's, as far as it is known
  std::uint64_t tried = 0;   ///< configurations that were judged
  std::uint64_t changes = 0; ///< of the workload
  bool searching = false;    ///< something is being tried, or will be
};

namespace detail {

/// What one thread keeps of one live; no other thread touches it.
struct alignas(64) live_lane {
  static constexpr std::uint32_t room = 32, batch = 8;
  std::uint32_t until = 1; ///< requests until the next that may be a probe
  std::uint32_t filled = 0;
  std::uint64_t random = 0;
  std::array<std::pair<std::uint32_t, double>, room> samples{};
};

struct live_lane_of {
  std::uint64_t owner = 0;
  live_lane* lane = nullptr;
};
/// The lanes of this thread that were used last, by the owner's number.
inline constinit thread_local std::array<live_lane_of, 8> live_lanes{};

class live_core {
public:
  using maker = std::function<std::shared_ptr<const void>(config_view)>;
  static result<std::unique_ptr<live_core>> start(engine& with, const space& over, const live_options& how, maker make);
  ~live_core();
  live_core(const live_core&) = delete;
  live_core& operator=(const live_core&) = delete;

  std::uint32_t choose() noexcept {
    live_lane& lane = own_lane();
    if (--lane.until == 0) [[unlikely]]
      return turn(lane);
    return incumbent_.load(std::memory_order_acquire);
  }
  void tell(std::uint32_t arm, double seconds) noexcept {
    live_lane& lane = own_lane();
    lane.samples[lane.filled++] = {arm, seconds};
    if (lane.filled >= live_lane::batch || arm != incumbent_.load(std::memory_order_relaxed)) [[unlikely]]
      hand_over(lane, arm != incumbent_.load(std::memory_order_relaxed));
  }
  const void* at(std::uint32_t arm) const noexcept { return values_[arm]; }
  void fail(std::uint32_t arm) noexcept;
  live_status status() const;
  /// Waits until all that was told is judged, and what was learned is durable. For the end of a test or a program.
  void flush();

private:
  struct impl;
  live_core(std::unique_ptr<impl> i, std::uint64_t number);
  live_lane& own_lane() noexcept {
    const live_lane_of& known = live_lanes[number_ % live_lanes.size()];
    if (known.owner == number_) [[likely]]
      return *known.lane;
    return find_lane();
  }
  live_lane& find_lane() noexcept;
  std::uint32_t turn(live_lane& lane) noexcept;
  void hand_over(live_lane& lane, bool at_once) noexcept;

  const std::uint64_t number_;
  const void** values_ = nullptr; ///< one for each arm; written before the arm is published
  alignas(64) std::atomic<std::uint32_t> incumbent_{0};
  std::unique_ptr<impl> impl_;
};

} // namespace detail

/// The configuration of each request, as a T that the service makes of it.
///
///   auto live = attune::live<plan>::start(engine, space, [&](attune::config_view c) { return plan{c[threads]}; });
///   live->run([&](const plan& p) { serve(request, p); });
///
/// Once settled, choose() reads one shared word that nobody writes: some nanoseconds. Another than the best known is
/// tried within the bounds of live_options; when what serves gets slower, the default serves at once. What was learned
/// is in the engine's store, and is where the next start begins.
///
/// Threads: choose(), tell(), failed(), run() from any thread; each choice is told by the thread that made it, or not
/// at all. The engine must outlive it; it has one thread, which sleeps while there is nothing to learn. Memory: the T
/// of each configuration that was tried, at most 4,096.
template <class T>
class live {
public:
  /// A T and what it belongs to; valid as long as the live.
  class choice {
  public:
    const T& operator*() const noexcept { return *value_; }
    const T* operator->() const noexcept { return value_; }

  private:
    friend class live;
    choice(std::uint32_t arm, const T* value) noexcept : value_(value), arm_(arm) {}
    const T* value_;
    std::uint32_t arm_;
  };

  /// `make` is called once for each configuration, on this thread for the default and the best known, later on the
  /// live's own; what it throws makes that configuration an invalid one. Errors: as engine::tune(); invalid_spec for
  /// options out of their range, and where `make` throws for the default.
  template <class Make>
  requires std::convertible_to<std::invoke_result_t<Make&, config_view>, T>
  static result<live> start(engine& with, const space& over, Make make, const live_options& how = {}) {
    auto core = detail::live_core::start(with, over, how, [make = std::move(make)](config_view c) mutable {
      return std::shared_ptr<const void>(std::make_shared<const T>(make(c)));
    });
    if (!core) return core.err();
    return live(std::move(*core));
  }

  /// What the next request is to be served with.
  choice choose() noexcept {
    const auto arm = core_->choose();
    return choice(arm, static_cast<const T*>(core_->at(arm)));
  }
  /// How long the request took.
  void tell(const choice& c, std::chrono::nanoseconds took) noexcept {
    core_->tell(c.arm_, std::chrono::duration<double>(took).count());
  }
  /// The configuration made the request fail: it is not used again until the workload changes.
  void failed(const choice& c) noexcept { core_->fail(c.arm_); }

  /// Serves a request and times it. What `serve` throws is a failure, and is passed on.
  template <class Serve>
  requires std::invocable<Serve&, const T&>
  decltype(auto) run(Serve&& serve) {
    const auto c = choose();
    struct timing {
      live& of;
      const choice& which;
      std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
      bool good = false;
      ~timing() {
        if (good)
          of.tell(which, std::chrono::steady_clock::now() - start);
        else
          of.failed(which);
      }
    } t{*this, c};
    if constexpr (std::is_void_v<std::invoke_result_t<Serve&, const T&>>) {
      serve(*c);
      t.good = true;
    } else {
      decltype(auto) out = serve(*c);
      t.good = true;
      return out;
    }
  }

  live_status status() const { return core_->status(); }
  /// Waits until what was told is judged and stored; what is under trial is not waited for.
  void flush() { core_->flush(); }

private:
  explicit live(std::unique_ptr<detail::live_core> core) noexcept : core_(std::move(core)) {}
  std::unique_ptr<detail::live_core> core_;
};

} // namespace attune
