#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace attune {

/// What went wrong outside a trial (a trial's failure is core/failure.hpp). Each kind has one exit code of the program.
enum class errc : std::uint8_t {
  invalid_spec,   ///< the spec, an option or an argument is wrong; nothing was started
  not_found,      ///< what was asked for does not exist
  store_unusable, ///< the store cannot be opened, read or written
  store_busy,     ///< another process owns the store
  store_newer,    ///< the store was written by a newer version
  store_corrupt,  ///< the store is damaged
  io,             ///< a file or a process could not be used
  network,        ///< no hub, refused, no device
  cancelled,      ///< asked to stop
  timeout,        ///< a wait reached its limit
  internal,       ///< a defect of Attune
};

/// The name as it stands in JSON and in logs: "invalid_spec" and so on.
const char* to_string(errc code) noexcept;

/// An error as a value: its kind, one line for a person that says what to do, and where (`file:line`, empty if
/// nowhere). Further lines, indented by two, only show again what the first one says (an expression with a caret).
struct error {
  errc code = errc::internal;
  std::string message;
  std::string where;

  /// `where: message`, or the message alone.
  std::string text() const { return where.empty() ? message : where + ": " + message; }
  friend bool operator==(const error&, const error&) = default;
};

/// A value or the error that took its place. Never empty. `result<void>` is `status`.
template <class T>
class [[nodiscard]] result {
public:
  result(T v) : data_(std::in_place_index<0>, std::move(v)) {}     // NOLINT(google-explicit-constructor)
  result(error e) : data_(std::in_place_index<1>, std::move(e)) {} // NOLINT(google-explicit-constructor)

  bool ok() const noexcept { return data_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  /// @pre ok()
  T& operator*() & { return std::get<0>(data_); }
  const T& operator*() const& { return std::get<0>(data_); }
  /// By value: what is bound to it, `for (auto& x : *list())` too, outlives the result that it came from.
  T operator*() && { return std::get<0>(std::move(data_)); }
  T* operator->() { return &std::get<0>(data_); }
  const T* operator->() const { return &std::get<0>(data_); }

  /// @pre !ok()
  const error& err() const { return std::get<1>(data_); }

private:
  std::variant<T, error> data_;
};

/// Success, or an error.
class [[nodiscard]] status {
public:
  status() = default;
  status(error e) : error_(std::move(e)) {} // NOLINT(google-explicit-constructor)
  bool ok() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return ok(); }
  /// @pre !ok()
  const error& err() const { return *error_; }

private:
  std::optional<error> error_;
};

} // namespace attune
