#include "tests/scenarios/outside_ledger.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <regex>

namespace attune::testing {

void must(bool holds, const std::string& what) {
  if (!holds) throw broken{what};
}

std::map<int, std::string> records_of(const scenario& s, const std::string& spec) {
  // A run that was killed before its store was there has no history.
  if (!s.store_exists()) return {};
  const auto e = s.attune({"history", spec, "--json"});
  const auto d = e.document();
  // One that was killed before its first record was written has an empty one, which the program tells by its exit code.
  must(d.is_object() && d.contains("records") && (e.exit == 0 || (e.exit == 1 && d["records"].empty())),
       "attune history: " + e.told());
  std::map<int, std::string> out;
  for (const auto& r : d["records"])
    must(out.emplace(r["config"]["x"].get<int>(), r.dump()).second, "two records of one configuration: " + r.dump());
  return out;
}

std::map<int, int> runs_of(const scenario& s) {
  std::map<int, int> out;
  for (const auto& line : s.lines("runs.log")) ++out[std::atoi(line.c_str())];
  return out;
}

std::size_t told_done(const std::string& progress) {
  static const std::regex line("t: ([0-9]+)/[0-9]+ done");
  std::size_t most = 0;
  for (std::sregex_iterator at(progress.begin(), progress.end(), line), end; at != end; ++at)
    most = std::max(most, static_cast<std::size_t>(std::stoul((*at)[1])));
  return most;
}

void must_verify(const scenario& s) {
  if (!s.store_exists()) return;
  const auto verified = s.attune({"db", "verify", "--json"});
  must(verified.exit == 0, "attune db verify: " + verified.told());
}

int ending_of(const std::function<void()>& play) {
  try {
    play();
  } catch (const broken& b) {
    std::printf("BROKEN: %s\n", b.what.c_str());
    return 1;
  } catch (const std::exception& e) {
    std::printf("BROKEN: %s\n", e.what());
    return 1;
  }
  return 0;
}

int play_rounds(int argc, char** argv, int usual, const std::function<void(int rounds, std::uint64_t seed)>& play) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : usual;
  const std::uint64_t seed =
      argc > 2 ? std::strtoull(argv[2], nullptr, 10) : static_cast<std::uint64_t>(std::time(nullptr));
  if (rounds < 1) {
    std::fprintf(stderr, "usage: %s [ROUNDS [SEED]]\n", std::filesystem::path(argv[0]).filename().c_str());
    return 2;
  }
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  return ending_of([&] { play(rounds, seed); });
}

} // namespace attune::testing
