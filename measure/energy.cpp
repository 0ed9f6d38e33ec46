#include "measure/energy.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>

namespace attune::measure {

namespace {

namespace fs = std::filesystem;

/// The kernel's names of the zones (drivers/powercap/intel_rapl_common.c; AMD's are the same).
bool is_of(std::string_view zone, std::string_view domain) {
  if (domain == "package") return zone.starts_with("package-");
  if (domain == "cores") return zone == "core";
  if (domain == "ram") return zone == "dram";
  if (domain == "gpu") return zone == "uncore";
  return zone == domain;
}

std::string first_word(const fs::path& file) {
  std::ifstream in(file);
  std::string out;
  in >> out;
  return out;
}

std::optional<std::uint64_t> number_at(int fd) {
  std::array<char, 32> text{};
  const ssize_t n = pread(fd, text.data(), text.size(), 0);
  std::uint64_t out = 0;
  if (n <= 0 || std::from_chars(text.data(), text.data() + n, out).ec != std::errc{}) return std::nullopt;
  return out;
}

} // namespace

result<energy_meter> energy_meter::open(std::string_view domain, const std::string& root) {
  const std::string what = "the energy of '" + std::string(domain) + "' cannot be had: ";
  const auto refuse = [&](const std::string& why) { return error{errc::invalid_spec, what + why, {}}; };
  const fs::path tree = root + "/sys/class/powercap";
  std::vector<fs::path> folders;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(tree, ignored))
    if (entry.path().filename().string().find("intel-rapl:") == 0) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  if (folders.empty())
    return refuse("this machine shows no RAPL energy counters (nothing in " + tree.string() +
                  ", as in most virtual machines); measure on the hardware itself, or leave it out");
  energy_meter out;
  std::string known;
  for (const auto& folder : folders) {
    const std::string name = first_word(folder / "name");
    if (!is_of(name, domain)) {
      known += (known.empty() ? "" : ", ") + name;
      continue;
    }
    const std::string file = (folder / "energy_uj").string();
    zone z{descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC)), 0};
    if (!z.counter || !number_at(z.counter.get()))
      return refuse(std::string(std::strerror(errno)) + // NOLINT(concurrency-mt-unsafe)
                    ": " + file + "; chmod a+r it (as root), or run as root");
    std::uint64_t range = 0;
    const std::string text = first_word(folder / "max_energy_range_uj");
    if (std::from_chars(text.data(), text.data() + text.size(), range).ec == std::errc{}) z.range = range;
    out.zones_.push_back(std::move(z));
  }
  if (out.zones_.empty()) return refuse("this machine's zones are " + known + "; leave it out");
  return out;
}

energy_meter::reading energy_meter::read() const {
  reading out;
  for (const zone& z : zones_) {
    const auto now = number_at(z.counter.get());
    if (!now) return {};
    out.push_back(*now);
  }
  return out;
}

double energy_meter::between(const reading& before, const reading& after) const {
  double sum = 0;
  for (std::size_t i = 0; i < zones_.size() && i < before.size() && i < after.size(); ++i) {
    const std::uint64_t used =
        after[i] >= before[i] ? after[i] - before[i] : after[i] + (zones_[i].range - before[i]) + 1;
    sum += static_cast<double>(used) / 1e6;
  }
  return sum;
}

} // namespace attune::measure
