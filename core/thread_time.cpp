#include "core/thread_time.hpp"

#include <ctime>

namespace attune {
namespace {

class cpu_time final : public time_source {
public:
  nanoseconds monotonic() const override {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + nanoseconds(t.tv_nsec);
  }
  nanoseconds wall() const override { return system_time().wall(); }
};

} // namespace

const time_source& thread_time() {
  static const cpu_time instance;
  return instance;
}

} // namespace attune
