#include "cli/output.hpp"

#include "cli/json.hpp"

#include <ostream>

namespace attune::cli {

int exit_code_of(errc code) noexcept {
  switch (code) {
  case errc::invalid_spec:
  case errc::not_found:
    return exit_code::usage;
  case errc::store_unusable:
  case errc::store_busy:
  case errc::store_newer:
  case errc::store_corrupt:
  case errc::io:
    return exit_code::store;
  case errc::network:
    return exit_code::network;
  case errc::cancelled:
    return exit_code::interrupted;
  case errc::timeout:
  case errc::internal:
    break;
  }
  return exit_code::partial;
}

void output::document(const nlohmann::ordered_json& what) { out_ << dump(what) << '\n'; }

void output::say(std::string_view level, std::string_view text) {
  if (!json_log_) {
    err_ << "attune: " << text << '\n';
    return;
  }
  const nlohmann::ordered_json line{{"time", rfc3339(system_time().wall())}, {"level", level}, {"message", text}};
  err_ << dump(line) << '\n';
}

void output::message(std::string_view text) { say("info", text); }

int output::fail(const error& e) {
  say("error", e.text());
  if (json_) document(error_json(e));
  return exit_code_of(e.code);
}

} // namespace attune::cli
