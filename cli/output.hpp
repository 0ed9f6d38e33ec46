// cli: what a person types and sees: the `attune` program. It decides nothing about tuning; it reads the command line,
// calls the other rooms and shows what they say.
#pragma once

#include "core/error.hpp"

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>
#include <string>
#include <string_view>

namespace attune::cli {

/// The program's exit codes (the contract's).
namespace exit_code {
inline constexpr int done = 0;      ///< done, and a best exists
inline constexpr int no_result = 1; ///< done, and no valid result
inline constexpr int usage = 2;     ///< the spec or the command line is wrong; nothing started, nothing written
inline constexpr int store = 3;     ///< the store cannot be used
inline constexpr int partial = 4;   ///< some tasks or records failed, the rest is good
inline constexpr int network = 5;   ///< no hub, refused, no device
inline constexpr int interrupted = 130;
inline constexpr int terminated = 143;
} // namespace exit_code

/// The exit code that an error stands for.
int exit_code_of(errc code) noexcept;

/// Where a command writes: results to `out`, messages and progress to `err`. With `json` set, `out` gets one JSON
/// document and nothing else. One owner, the main thread.
class output {
public:
  output(std::ostream& out, std::ostream& err, bool json) : out_(out), err_(err), json_(json) {}

  bool json() const noexcept { return json_; }
  std::ostream& out() noexcept { return out_; }
  std::ostream& err() noexcept { return err_; }

  /// One JSON document on one line. Bytes that are not UTF-8 are replaced.
  void document(const nlohmann::ordered_json& what);
  /// `attune: TEXT` on the error stream; as a JSON line where log_as_json() was called.
  void message(std::string_view text);
  /// From now on messages are JSON lines with `time`, `level` and `message`.
  void log_as_json() noexcept { json_log_ = true; }
  /// The error as a message, and as the document where JSON is wanted. Returns its exit code.
  int fail(const error& e);

private:
  void say(std::string_view level, std::string_view text);

  std::ostream& out_;
  std::ostream& err_;
  bool json_;
  bool json_log_ = false;
};

} // namespace attune::cli
