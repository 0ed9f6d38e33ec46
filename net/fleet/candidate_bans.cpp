#include "net/fleet/candidate_bans.hpp"

#include <algorithm>

namespace attune::net::fleet {

namespace {

constexpr const char* bans_file = "banned";
constexpr std::size_t bans_file_most = 64u << 20;

} // namespace

std::string sorted_text(const configuration& c) {
  arguments values;
  for (std::size_t i = 0; i < c.size(); ++i) values.emplace_back(c.name(i), c[i]);
  std::sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return configuration(values).text();
}

result<candidate_bans> candidate_bans::open(private_folder folder) {
  candidate_bans out(std::move(folder));
  const auto text = out.folder_.read(bans_file, bans_file_most);
  if (!text) return text.err();
  wire::v1::BannedCandidates file;
  if (*text && !file.ParseFromString(**text))
    return error{errc::io, "the file '" + out.folder_.path() + "/" + bans_file + "' is damaged", {}};
  out.all_.assign(file.candidates().begin(), file.candidates().end());
  return out;
}

status candidate_bans::write() const {
  wire::v1::BannedCandidates file;
  for (const auto& c : all_) *file.add_candidates() = c;
  return folder_.replace(bans_file, file.SerializeAsString());
}

status candidate_bans::ban(const std::string& task, const std::string& configuration, const std::string& who,
                           nanoseconds now) {
  if (configuration.empty()) return error{errc::invalid_spec, "no configuration is named", {}};
  const bool there = std::any_of(all_.begin(), all_.end(), [&](const auto& c) {
    return !c.quarantined() && c.task() == task && c.configuration() == configuration;
  });
  if (there) return {};
  if (all_.size() >= most)
    return error{errc::invalid_spec, "as many candidates are banned as may be; lift one first", {}};
  auto& c = all_.emplace_back();
  c.set_task(task);
  c.set_configuration(configuration);
  c.set_why(who.empty() ? "banned" : "banned by " + who);
  c.set_since_ns(now.count());
  return write();
}

status candidate_bans::quarantine(const trial& what, const std::string& why, nanoseconds now) {
  if (const auto* known = find(what); known != nullptr && known->quarantined()) return {};
  if (all_.size() >= most) {
    const auto oldest = std::find_if(all_.begin(), all_.end(), [](const auto& c) { return c.quarantined(); });
    if (oldest == all_.end()) return {};
    all_.erase(oldest);
  }
  auto& c = all_.emplace_back();
  c.set_task(what.of->spec.name);
  c.set_configuration(what.config.text());
  c.set_quarantined(true);
  c.set_key(what.key.view().data(), what.key.view().size());
  c.set_why(why);
  c.set_since_ns(now.count());
  return write();
}

status candidate_bans::lift(const std::string& task, const std::string& configuration) {
  const auto gone = std::erase_if(
      all_, [&](const auto& c) { return c.configuration() == configuration && (task.empty() || c.task() == task); });
  if (gone == 0) return error{errc::not_found, "no such candidate is banned: " + configuration, {}};
  return write();
}

const wire::v1::BannedCandidate* candidate_bans::find(const trial& what) const {
  if (all_.empty()) return nullptr;
  const auto text = what.config.text(), sorted = sorted_text(what.config);
  for (const auto& c : all_) {
    if (c.quarantined() ? c.key() == what.key.view()
                        : (c.configuration() == text || c.configuration() == sorted) &&
                              (c.task().empty() || c.task() == what.of->spec.name))
      return &c;
  }
  return nullptr;
}

} // namespace attune::net::fleet
