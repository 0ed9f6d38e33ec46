// What measures a configuration: a callable of the program's own.
#pragma once

#include "attune/space.hpp"
#include "core/failure.hpp"

#include <chrono>
#include <concepts>
#include <functional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace attune {

/// A failure of this kind, with a message for a person.
inline failure failed(failure_kind kind, std::string message) { return {kind, std::move(message), {}, {}}; }

/// What came of measuring one configuration: a value, several samples of it, or why there is none.
/// Plain numbers are in the unit of search_options::unit; durations are converted to it (bad_metric where it is no
/// time).
class answer {
public:
  template <class Number>
  requires std::is_arithmetic_v<Number> answer(Number v) // NOLINT(google-explicit-constructor)
      : data_(std::vector<double>{static_cast<double>(v)}) {}
  answer(std::vector<double> samples) : data_(std::move(samples)) {} // NOLINT(google-explicit-constructor)
  template <class Rep, class Period>
  answer(std::chrono::duration<Rep, Period> d) // NOLINT(google-explicit-constructor)
      : data_(std::vector<double>{std::chrono::duration<double>(d).count()}), time_(true) {}
  answer(failure why) : data_(std::move(why)) {} // NOLINT(google-explicit-constructor)

  const std::vector<double>* samples() const noexcept { return std::get_if<0>(&data_); }
  const failure* why() const noexcept { return std::get_if<1>(&data_); }
  /// True: the samples are seconds, whatever the unit.
  bool is_time() const noexcept { return time_; }

private:
  std::variant<std::vector<double>, failure> data_;
  bool time_ = false;
};

/// Any callable on (config_view) or (config_view, std::stop_token) whose result makes an answer. One that returns
/// nothing is timed by Attune. It may throw: a run_error with the exception's text. The token is asked to stop at
/// search_options::limit and when the search is cancelled; a call that does not look at it is waited for.
/// Threads: called by one thread for each slot; with several slots it must be safe from all of them.
class objective {
public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, objective> &&
           (std::invocable<F&, config_view, std::stop_token> || std::invocable<F&, config_view>))
      objective(F f) // NOLINT(google-explicit-constructor)
      : call_([f = std::move(f)](config_view c, const std::stop_token& stop) mutable -> answer {
          const auto call = [&]() -> decltype(auto) {
            if constexpr (std::invocable<F&, config_view, std::stop_token>)
              return f(c, stop);
            else
              return f(c);
          };
          if constexpr (std::is_void_v<decltype(call())>) {
            const auto start = std::chrono::steady_clock::now();
            call();
            return std::chrono::steady_clock::now() - start;
          } else {
            return call();
          }
        }) {}
  answer operator()(config_view c, const std::stop_token& stop) const { return call_(c, stop); }

private:
  std::function<answer(config_view, const std::stop_token&)> call_;
};

} // namespace attune
