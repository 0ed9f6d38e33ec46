#include "core/target.hpp"

#include "core/text.hpp"

#include <sys/utsname.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sched.h>

namespace attune {

std::string workload::canonical() const {
  std::string out = "workload/1:" + std::to_string(name.size()) + ":" + name;
  encode(args, out);
  return out;
}

std::string target::device() const {
  const value* d = find(facts, "device");
  return d == nullptr ? "local" : d->text();
}

std::string target::canonical() const {
  std::string out = "target/1:";
  encode(facts, out);
  return out;
}

std::string target::text() const { return configuration(facts).text(); }

namespace {

struct close_pipe {
  void operator()(FILE* f) const { pclose(f); }
};

/// The first line that `shell_command` prints; empty where it cannot be run.
std::string first_line_of(const char* shell_command) {
  const std::unique_ptr<FILE, close_pipe> pipe(popen(shell_command, "re"));
  if (!pipe) return {};
  std::array<char, 512> buffer{};
  std::string line;
  if (std::fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) line = std::string(trim(buffer.data()));
  while (std::fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) {
  } // so that the child is not ended by SIGPIPE
  return line;
}

/// The vector extensions that change which code is best, from the flags line of /proc/cpuinfo.
std::string extensions_in(std::string_view flags) {
  constexpr std::array<std::string_view, 14> wanted{"sse4_2",   "avx",      "fma",      "f16c",     "avx2",
                                                    "avx512f",  "avx512dq", "avx512bw", "avx512vl", "avx512_vnni",
                                                    "amx_tile", "asimd",    "sve",      "v"};
  std::string out;
  for (const auto have : split(flags, ' '))
    for (const auto want : wanted)
      if (have == want) out += "+" + std::string(want);
  return out;
}

arguments read_fingerprint() {
  std::string cpu, flags;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line) && (cpu.empty() || flags.empty());) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto name = trim(std::string_view(line).substr(0, colon));
    const auto text = trim(std::string_view(line).substr(colon + 1));
    if (cpu.empty() && (name == "model name" || name == "Hardware" || name == "uarch")) cpu = text;
    if (flags.empty() && (name == "flags" || name == "Features")) flags = text;
  }
  utsname names{};
  uname(&names);
  cpu_set_t mine;
  CPU_ZERO(&mine);
  const int cores = sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;
  return {{"cpu", cpu.empty() ? std::string("unknown") : cpu},
          {"isa", names.machine + extensions_in(flags)},
          {"cores", static_cast<std::int64_t>(cores)},
          {"compiler", first_line_of("c++ --version 2>/dev/null")},
          {"kernel", std::string(names.release)}};
}

} // namespace

const arguments& machine_fingerprint() {
  static const arguments facts = read_fingerprint();
  return facts;
}

target local_target(const arguments& written) {
  target out{written};
  if (find(out.facts, "device") == nullptr) out.facts.insert(out.facts.begin(), {"device", value("local")});
  for (const auto& fact : machine_fingerprint())
    if (find(out.facts, fact.first) == nullptr) out.facts.push_back(fact);
  return out;
}

} // namespace attune
