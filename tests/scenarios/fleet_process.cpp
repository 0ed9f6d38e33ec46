#include "tests/scenarios/fleet_process.hpp"

#include <algorithm>
#include <thread>

namespace attune::testing {

std::unique_ptr<process> fleet_process::start(const words& prefix, const words& arguments,
                                              const process::environment& extra) const {
  auto all = user_;
  all.insert(all.end(), prefix.begin(), prefix.end());
  return at_.start_behind(all, arguments, extra);
}

void fleet_process::launch_hub(const words& prefix, const process::environment& extra, const words& more) {
  hub_.reset();
  words all{"hub", "--listen", address_};
  all.insert(all.end(), more.begin(), more.end());
  hub_ = start(prefix, all, extra);
}

bool fleet_process::listens(milliseconds limit) {
  const std::string said = "listens on ";
  std::string line;
  const auto whole = [&] {
    const auto text = hub_->err();
    const auto from = text.find(said);
    const auto end = from == std::string::npos ? from : text.find('\n', from);
    if (end == std::string::npos) return false;
    line = text.substr(from + said.size(), end - from - said.size());
    return true;
  };
  if (!hub_->wait_until(whole, limit)) return false;
  address_ = line;
  return true;
}

std::unique_ptr<process> fleet_process::agent(const std::string& name, const words& more, const words& prefix,
                                              const process::environment& extra) const {
  words all{"agent", "--hub", address_, "--name", name};
  all.insert(all.end(), more.begin(), more.end());
  return start(prefix, all, extra);
}

std::unique_ptr<process> fleet_process::client(const words& more, const words& prefix) const {
  words all{"tune"};
  all.insert(all.end(), more.begin(), more.end());
  all.insert(all.end(), {"--hub", address_, "--json"});
  return start(prefix, all);
}

json fleet_process::devices() const {
  const auto e = start({}, {"devices", "--hub", address_, "--json"})->wait();
  return e.exit == 0 ? e.document() : json();
}

bool fleet_process::ready(std::size_t count, milliseconds limit) const {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    const auto all = devices();
    const auto is_ready = [](const json& d) { return d["state"] == "ready"; };
    if (all.is_object() &&
        static_cast<std::size_t>(std::count_if(all["devices"].begin(), all["devices"].end(), is_ready)) >= count)
      return true;
    std::this_thread::sleep_for(milliseconds(50));
  }
  return false;
}

} // namespace attune::testing
