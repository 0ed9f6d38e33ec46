#include "net/fleet/job.hpp"

#include "core/file.hpp"
#include "measure/descriptor.hpp"
#include "net/fleet/fleet_messages.hpp"
#include "net/manifest.hpp"
#include "storage/convert.hpp"
#include "storage/spec_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <unistd.h>

namespace attune::net::fleet {

namespace fs = std::filesystem;

namespace {

/// What the folder names is there after a power failure.
status sync_folder(const std::string& path) {
  const measure::descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0)
    return error{errc::io, "cannot write '" + path + "': " + std::strerror(errno), {}};
  return {};
}

/// Whole or not at all, and there, also after a power failure.
status write_file(const std::string& path, const std::string& text) {
  const auto part = path + ".part";
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool good = file >= 0;
  for (std::size_t done = 0; good && done < text.size();) {
    const auto n = ::write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    good = n > 0;
    if (good) done += static_cast<std::size_t>(n);
  }
  good = good && ::fsync(file) == 0;
  if (file >= 0) good = ::close(file) == 0 && good;
  if (!good || ::rename(part.c_str(), path.c_str()) != 0)
    return error{errc::io, "cannot write '" + path + "': " + std::strerror(errno), {}};
  return sync_folder(fs::path(path).parent_path().string());
}

std::optional<std::string> read_file(const std::string& path) {
  auto text = file_contents(path, std::numeric_limits<std::uint64_t>::max());
  if (!text) return std::nullopt;
  return *std::move(text);
}

} // namespace

std::string job_folder::name_of(const wire::v1::Submit& what) {
  auto same = what;
  same.clear_client();
  same.clear_output();
  same.clear_owner();
  same.clear_weight();
  same.clear_limit();
  same.mutable_options()->clear_remeasure();
  same.mutable_options()->clear_priority();
  std::sort(same.mutable_files()->begin(), same.mutable_files()->end(),
            [](const auto& a, const auto& b) { return a.path() < b.path(); });
  return sha256(same.SerializeAsString()).hex().substr(0, 12);
}

result<job_folder> job_folder::create(const std::string& jobs, const wire::v1::Submit& what, artifact_store& contents) {
  job_folder out(jobs + "/" + name_of(what), name_of(what));
  out.what_ = what;
  const auto entries = from(what.files());
  if (!entries) return entries.err();
  if (std::none_of(entries->files.begin(), entries->files.end(), [&](const auto& e) { return e.path == what.file(); }))
    return error{errc::invalid_spec, "the spec is not among the files", {}};
  std::error_code ec;
  fs::create_directories(out.folder_, ec);
  if (ec) return error{errc::io, "cannot make '" + out.folder_ + "': " + ec.message(), {}};
  fs::remove_all(out.files(), ec);
  fs::create_directories(out.files(), ec);
  if (auto laid = lay_out(*entries, contents, out.files(), true); !laid) return laid.err();
  fs::remove(out.folder_ + "/ended", ec);
  fs::remove(out.folder_ + "/decided", ec);
  if (auto written = write_file(out.folder_ + "/job", what.SerializeAsString()); !written) return written.err();
  // The folders that may have been made for it.
  for (const auto& made : {fs::path(jobs), fs::path(jobs).parent_path()})
    if (auto synced = sync_folder(made.string()); !synced) return synced.err();
  return out;
}

result<job_folder> job_folder::open(const std::string& jobs, const std::string& name) {
  if (name.empty() || name.find_first_not_of("0123456789abcdef") != std::string::npos)
    return error{errc::not_found, "there is no job '" + name + "'", {}};
  job_folder out(jobs + "/" + name, name);
  const auto text = read_file(out.folder_ + "/job");
  if (!text) return error{errc::not_found, "there is no job '" + name + "'", {}};
  if (!out.what_.ParseFromString(*text))
    return error{errc::io, "the job '" + name + "' is damaged, and cannot go on: submit it again", {}};
  return out;
}

std::vector<std::string> job_folder::list(const std::string& jobs) {
  std::vector<std::pair<fs::file_time_type, std::string>> there;
  std::error_code ec, old;
  for (fs::directory_iterator at(jobs, ec); !ec && at != fs::directory_iterator(); at.increment(ec))
    there.emplace_back(fs::last_write_time(at->path(), old), at->path().filename().string());
  std::sort(there.begin(), there.end());
  std::vector<std::string> out;
  for (auto& [when, name] : there) out.push_back(std::move(name));
  return out;
}

status job_folder::set_priority(int priority) {
  what_.mutable_options()->set_priority(priority);
  return write_file(folder_ + "/job", what_.SerializeAsString());
}

void job_folder::thin() {
  std::error_code ec;
  fs::remove_all(files(), ec);
}

void job_folder::remove() {
  std::error_code ec;
  fs::remove_all(folder_, ec);
}

result<std::optional<budget_spec>> job_folder::budget() const {
  auto out = storage::read_shared_budget(files() + "/" + what_.file());
  if (!out) return out;
  const auto& o = what_.options();
  if (!*out && !o.has_policy()) return out;
  if (!*out) {
    if (!o.has_trials() && !o.has_time_ns())
      return error{errc::invalid_spec,
                   "--policy says who of the tasks goes next, and needs to know how much they share: give --trials or "
                   "--time, or write budget: into the spec",
                   what_.file()};
    out->emplace();
  }
  auto& b = **out;
  if (o.has_policy()) b.policy = o.policy();
  if (o.has_trials()) b.trials = o.trials();
  if (o.has_time_ns()) b.time = nanoseconds(o.time_ns());
  return out;
}

result<std::vector<task_spec>> job_folder::read() const {
  auto specs = storage::read_spec(files() + "/" + what_.file());
  if (!specs) {
    // As the one who wrote it knows it.
    auto why = specs.err();
    if (why.where.starts_with(files() + "/")) why.where.erase(0, files().size() + 1);
    return why;
  }
  const auto shared = budget();
  if (!shared) return shared.err();
  const auto& o = what_.options();
  for (auto& s : *specs) {
    s.file = what_.file();
    if (o.has_trials() && !*shared) {
      s.search.trials = o.trials();
      s.search.fraction.reset();
    }
    if (o.has_time_ns() && !*shared) s.search.time = nanoseconds(o.time_ns());
    if (o.has_strategy()) s.search.strategy = o.strategy();
    if (o.has_seed()) s.search.seed = o.seed();
    if (o.has_near()) s.search.near = o.near();
  }
  return specs;
}

result<std::string> job_folder::spec_text() const {
  const auto path = files() + "/" + what_.file();
  auto text = read_file(path);
  if (!text) return error{errc::io, "cannot read '" + path + "': " + std::strerror(errno), {}};
  return std::move(*text);
}

std::vector<job_folder::decision> job_folder::decisions() const {
  std::vector<decision> out;
  const auto text = read_file(folder_ + "/decided");
  wire::v1::Decision message;
  if (!text || !message.ParseFromString(*text)) return out;
  for (const auto& t : message.tasks()) {
    auto& d = out.emplace_back();
    if (!storage::convert::from(t.target(), d.where.facts)) return {};
    d.asked.insert(t.asked().begin(), t.asked().end());
  }
  return out;
}

status job_folder::decide(const std::vector<decision>& where) {
  wire::v1::Decision message;
  for (const auto& d : where) {
    auto& t = *message.add_tasks();
    storage::convert::to(d.where.facts, *t.mutable_target());
    for (const auto& name : d.asked) t.add_asked(name);
  }
  return write_file(folder_ + "/decided", message.SerializeAsString());
}

std::optional<wire::v1::Ended> job_folder::ended() const {
  const auto text = read_file(folder_ + "/ended");
  wire::v1::Ended out;
  if (!text || !out.ParseFromString(*text)) return std::nullopt;
  return out;
}

status job_folder::end(const wire::v1::Ended& how) { return write_file(folder_ + "/ended", how.SerializeAsString()); }

} // namespace attune::net::fleet
