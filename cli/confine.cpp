#include "cli/confine.hpp"

#include "core/text.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <pwd.h>
#include <unistd.h>

namespace attune::cli {

namespace {

/// What is allowed where nothing is said: far above what a candidate needs, and below what fills a disk or a table.
constexpr std::pair<int, rlim_t> limits_by_itself[] = {
    {RLIMIT_FSIZE, rlim_t{16} << 30}, {RLIMIT_NOFILE, 4096}, {RLIMIT_CORE, 0}};
/// Only of a user of its own, whose processes are counted alone.
constexpr rlim_t processes_by_itself = 4096;

/// A namespace of the network without being root, in one of users; where the kernel lets anybody make these.
const std::vector<std::string> unshare{"unshare", "--user", "--map-current-user", "--net", "--"};

/// Whether that works here; asked of the program itself.
bool can_unshare() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execlp("unshare", "unshare", "--user", "--map-current-user", "--net", "--", "true", nullptr);
    ::_exit(127);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void behind(command& c, const std::vector<std::string>& words) {
  if (c.empty()) return;
  if (!c.shell.empty()) {
    c.argv = {"/bin/sh", "-c", c.shell};
    c.shell.clear();
  }
  c.argv.insert(c.argv.begin(), words.begin(), words.end());
}

result<measure::confinement::identity> user_of(const std::string& name) {
  const auto wrong = [&](const std::string& why) { return error{errc::invalid_spec, "--user: " + why, {}}; };
  if (::geteuid() != 0) return wrong("only an agent that runs as root can run others as another user");
  passwd entry{}, *found = nullptr;
  std::array<char, 16384> buffer{};
  const auto number = parse_integer(name);
  if (number && *number > 0 && *number < (std::int64_t{1} << 32) - 1) {
    // A number needs no account.
    const auto id = static_cast<uid_t>(*number);
    ::getpwuid_r(id, &entry, buffer.data(), buffer.size(), &found);
    return measure::confinement::identity{id, found ? entry.pw_gid : static_cast<gid_t>(id)};
  }
  ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (!found) return wrong("there is no user '" + name + "'");
  if (entry.pw_uid == 0) return wrong("'" + name + "' is root: name another");
  return measure::confinement::identity{entry.pw_uid, entry.pw_gid};
}

} // namespace

result<measure::confinement> confinement_of(const agent_options& options) {
  measure::confinement out;
  if (!options.confine) return out;
  out.no_new_privileges = out.own_temporary = out.no_network = true;
  if (!options.user.empty()) {
    auto who = user_of(options.user);
    if (!who) return who.err();
    out.who = *who;
  }
  out.limits = options.limits;
  const auto unless_said = [&](int kind, rlim_t most) {
    for (const auto& [said, value] : options.limits)
      if (said == kind) return;
    out.limits.emplace_back(kind, most);
  };
  for (const auto& [kind, most] : limits_by_itself) unless_said(kind, most);
  if (out.who) unless_said(RLIMIT_NPROC, processes_by_itself);
  return out;
}

confinement_means confinement_left(const measure::confinement& wanted, bool taken) {
  confinement_means out;
  if (!wanted.no_new_privileges) return out;
  if (::geteuid() == 0 && !wanted.who)
    out.messages.emplace_back("--confine: what runs here runs as root; --user NAME gives it a user of its own");
  if (taken) return out;
  if (!can_unshare()) {
    out.messages.emplace_back(
        "--confine: the network cannot be taken away here: the kernel permits no namespace of its own to this user");
    return out;
  }
  out.apply = [](task_spec& spec) {
    if (spec.build) behind(spec.build->run, unshare);
    behind(spec.run.run, unshare);
    behind(spec.run.check.run, unshare);
  };
  return out;
}

} // namespace attune::cli
