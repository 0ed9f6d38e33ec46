#include "measure/trial_process.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace attune::measure {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t longest_message = 2000;

std::string name_of_signal(int signal) {
  const char* short_name = sigabbrev_np(signal);
  return "signal " + std::to_string(signal) + (short_name ? std::string(" (SIG") + short_name + ")" : std::string{});
}

/// The bytes of the UTF-8 character that `text` begins with; 0 where it begins with none.
std::size_t utf8_length(std::string_view text) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = first >= 0xF0 && first <= 0xF4  ? 4
                       : first >= 0xE0 && first < 0xF0 ? 3
                       : first >= 0xC2 && first < 0xE0 ? 2
                                                       : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Too long a form, a surrogate, beyond the last character.
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) || (first == 0xF0 && byte(1) < 0x90) ||
      (first == 0xF4 && byte(1) > 0x8F))
    return 0;
  return length;
}

} // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t length = utf8_length(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      length = 1;
    } else if (length == 1 && (static_cast<unsigned char>(text[0]) < 0x20 || text[0] == 0x7F) && text[0] != '\n' &&
               text[0] != '\t') {
      out += ' ';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

result<process_request> request_for(const command& what, const substitution& names, const task_spec& spec,
                                    working_directory cwd, const std::string& workdir, nanoseconds timeout,
                                    const process_limits& limits) {
  auto argv = names.command_line(what);
  if (!argv) return argv.err();
  process_request out;
  out.argv = std::move(*argv);
  out.environment = names.environment();
  out.directory = cwd == working_directory::workdir ? workdir : spec.directory;
  out.timeout = timeout;
  out.out_cap = limits.out_cap;
  out.err_cap = limits.err_cap;
  out.cpus = limits.cpus;
  return out;
}

std::optional<failure> failure_of(const process_result& ended, failure_kind error_kind, failure_kind timeout_kind,
                                  std::string_view what, nanoseconds limit) {
  failure out;
  out.exit = ended.exit;
  out.signal = ended.signal;
  std::string first;
  switch (ended.how) {
  case process_result::ending::exited:
    if (ended.exit == 0) return std::nullopt;
    out.kind = error_kind;
    break;
  case process_result::ending::signalled:
    out.kind = error_kind;
    first = "the " + std::string(what) + " was ended by " + name_of_signal(*ended.signal);
    if (*ended.signal == SIGKILL) first += ", not by Attune: perhaps memory was out";
    break;
  case process_result::ending::timed_out:
    out.kind = timeout_kind;
    first = "the " + std::string(what) + " reached its limit of " + human_duration(limit);
    break;
  case process_result::ending::cancelled:
    out.kind = failure_kind::cancelled;
    out.message = "the " + std::string(what) + " was cancelled";
    return out;
  case process_result::ending::not_started:
    out.kind = ended.infrastructure ? failure_kind::internal : error_kind;
    out.message = printable(ended.message);
    return out;
  }
  std::string said(trim(ended.err.text()));
  if (said.empty()) said = trim(ended.out.text());
  if (first.empty() && said.empty())
    first = "the " + std::string(what) + " ended with exit status " + std::to_string(ended.exit.value_or(0));
  // Cut before and after: a replacement character is longer than the byte that it stands for.
  said = tail(printable(tail(said, longest_message)), longest_message);
  out.message = first + (first.empty() || said.empty() ? "" : "\n") + said;
  return out;
}

void blame_lost_folder(failure& why, const std::string& folder) {
  switch (why.kind) {
  case failure_kind::build_error:
  case failure_kind::run_error:
  case failure_kind::wrong_output:
  case failure_kind::bad_metric:
    break;
  default:
    return;
  }
  std::error_code code;
  if (fs::exists(folder, code) || code) return;
  why = {failure_kind::internal, "the trial's private folder '" + folder + "' is gone: something else has deleted it",
         std::nullopt, std::nullopt};
}

status lay_out_sources(const task_spec& spec, const std::string& workdir) {
  const auto lay_out = [&](const std::string& name) -> status {
    fs::path from = fs::path(spec.directory) / name, to = fs::path(workdir) / name;
    std::error_code code;
    fs::create_directories(to.parent_path(), code);
    if (!code) fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing, code);
    if (code)
      return error{errc::io, "cannot copy the source '" + name + "' into the trial's folder: " + code.message(), {}};
    return {};
  };
  if (spec.build)
    for (const std::string& source : spec.build->sources)
      if (auto done = lay_out(source); !done) return done;
  for (const std::string& file : spec.run.files)
    if (auto done = lay_out(file); !done) return done;
  return {};
}

bool runs_in_private_folder(const task_spec& spec) {
  return (spec.build && spec.build->cwd == working_directory::workdir) || spec.run.cwd == working_directory::workdir;
}

void add_notes(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& note : from)
    if (std::find(to.begin(), to.end(), note) == to.end()) to.push_back(note);
}

} // namespace attune::measure
