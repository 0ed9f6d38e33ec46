#include "core/clock.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace attune {

namespace {

nanoseconds read(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return std::chrono::seconds(t.tv_sec) + nanoseconds(t.tv_nsec);
}

class kernel_time final : public time_source {
public:
  nanoseconds monotonic() const override { return read(CLOCK_MONOTONIC); }
  nanoseconds wall() const override { return read(CLOCK_REALTIME); }
};

} // namespace

const time_source& system_time() {
  static const kernel_time instance;
  return instance;
}

nanoseconds from_seconds(double s) {
  const double ns = s * 1e9;
  if (std::isnan(ns)) return nanoseconds(0);
  if (ns >= 0x1p63) return nanoseconds::max();
  if (ns < -0x1p63) return nanoseconds::min();
  return nanoseconds(std::llround(ns));
}

std::string rfc3339(nanoseconds since_epoch) {
  const auto whole = static_cast<std::time_t>(std::chrono::floor<std::chrono::seconds>(since_epoch).count());
  std::tm parts{};
  gmtime_r(&whole, &parts);
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04d-%02d-%02dT%02d:%02d:%02dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
  return buffer.data();
}

} // namespace attune
