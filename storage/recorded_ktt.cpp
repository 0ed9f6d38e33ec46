#include "storage/recorded_format.hpp"

namespace attune::storage::recorded_format {
namespace {

std::optional<failure_kind> failure_of_status(const std::string& status) {
  if (status == "ComputationFailed") return failure_kind::run_error;
  if (status == "ValidationFailed") return failure_kind::wrong_output;
  if (status == "CompilationFailed") return failure_kind::build_error;
  if (status == "DeviceLimitsExceeded") return failure_kind::invalid_config;
  return std::nullopt;
}

std::string unit_of(const ordered_json& root) {
  const auto meta = root.find("Metadata");
  if (meta == root.end() || !meta->is_object()) return {};
  const auto unit = meta->find("TimeUnit");
  if (unit == meta->end() || !unit->is_string()) return {};
  std::string word = unit->get<std::string>();
  for (auto& c : word) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return canonical_unit(word);
}

} // namespace

result<recorded_space> ktt(const ordered_json& root, const std::string& name) {
  recorded_space out;
  out.format = "ktt";
  out.unit = unit_of(root);
  if (out.unit.empty()) {
    out.unit = "ns";
    out.warnings.push_back("no unit of time is stated; nanoseconds are assumed");
  }
  if (const auto meta = root.find("Metadata"); meta != root.end() && meta->is_object())
    if (const auto at = meta->find("Device"); at != meta->end() && at->is_string()) out.device = at->get<std::string>();
  const double scale = time_scale(out.unit);
  std::optional<collector> all;
  std::size_t incomplete = 0;
  for (const auto& r : root.at("Results")) {
    const auto config = r.is_object() ? r.find("Configuration") : r.end();
    if (!r.is_object() || config == r.end() || !config->is_array()) {
      ++incomplete;
      continue;
    }
    std::vector<std::pair<std::string, const ordered_json*>> pairs;
    for (const auto& pair : *config)
      if (pair.is_object() && pair.contains("Name") && pair["Name"].is_string() && pair.contains("Value"))
        pairs.emplace_back(pair["Name"].get<std::string>(), &pair["Value"]);
    if (!all) {
      for (const auto& [parameter, v] : pairs) out.parameters.push_back({parameter, {}});
      if (out.parameters.empty()) return bad(name, "the first configuration has no parameter");
      if (const auto at = r.find("KernelName"); at != r.end() && at->is_string()) out.name = at->get<std::string>();
      all.emplace(out);
    }
    recorded_trial t;
    for (std::size_t d = 0; d < out.parameters.size(); ++d) {
      const auto pair =
          std::find_if(pairs.begin(), pairs.end(), [&](const auto& p) { return p.first == out.parameters[d].name; });
      if (pair == pairs.end()) break;
      t.at.push_back(*all->index(d, to_value(*pair->second), true));
    }
    if (t.at.size() != out.parameters.size()) {
      ++incomplete;
      continue;
    }
    const double total = number_or(r, "TotalDuration", -1), overhead = number_or(r, "TotalOverhead", 0);
    const double compiled = number_or(r, "CompilationOverhead", 0);
    t.result.phases.build = milliseconds(compiled * scale * 1e3);
    t.result.phases.run = milliseconds((std::max(0.0, total) + std::max(0.0, overhead - compiled)) * scale * 1e3);
    const auto stated = r.find("Status");
    const std::string status = stated != r.end() && stated->is_string() ? stated->get<std::string>() : "Ok";
    if (status != "Ok")
      fail(t, failure_of_status(status).value_or(failure_kind::run_error), status);
    else
      measure<ordered_json>(t, total, nullptr, scale);
    all->add(std::move(t));
  }
  if (incomplete > 0) out.warnings.push_back(std::to_string(incomplete) + " results without all parameters left out");
  if (out.trials.empty()) return bad(name, "there is no result in it");
  sort_numbers(out);
  return out;
}

} // namespace attune::storage::recorded_format
