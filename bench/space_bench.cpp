// What spaces cost: compiling the spaces of "Efficient construction of large search spaces for auto-tuning"
// (arXiv 2509.26253) and some larger ones, and asking them. One line a figure.
//
// Usage: space_bench [FOLDER of the T1 files; default $ATTUNE_SHARED/data/spaces, else ../shared/data/spaces]
#include "search/space.hpp"
#include "storage/spec_reader.hpp"

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

using namespace attune;
using namespace attune::search;

namespace {

/// CPU time of the process in milliseconds.
double cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

double peak_mb() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_maxrss) / 1024;
}

space_ptr compiled(const std::vector<parameter>& p, const std::vector<constraint>& c, double& ms) {
  const auto from = cpu_ms();
  auto s = space::compile(p, c);
  if (!s) {
    std::fprintf(stderr, "%s\n", s.err().text().c_str());
    std::exit(1);
  }
  ms = cpu_ms() - from;
  return *s;
}

std::string count_of(const space& s) { return s.count() ? to_string(*s.count()) : "unknown"; }

/// Nanoseconds of CPU a call.
template <class F>
double each_ns(std::uint64_t n, F&& f) {
  const auto from = cpu_ms();
  for (std::uint64_t i = 0; i < n; ++i) f();
  return (cpu_ms() - from) * 1e6 / static_cast<double>(n);
}

void ask(const space& s) {
  random_engine rng(1);
  std::uint64_t kept = 0;
  const auto p = s.sample(rng);
  std::printf("gemm: uniform sample %.0f ns\n", each_ns(1'000'000, [&] { kept += s.sample(rng)[1]; }));
  const auto n = *s.count();
  std::printf("gemm: index and back %.0f ns (with drawing the index)\n",
              each_ns(1'000'000, [&] { kept += static_cast<std::uint64_t>(*s.index_of(s.at(rng.below128(n)))); }));
  for (const auto& [name, kind] :
       {std::pair("hamming", neighbourhood::hamming), std::pair("adjacent", neighbourhood::adjacent)})
    std::printf("gemm: random neighbour (%s) %.0f ns\n", name,
                each_ns(300'000, [&, kind = kind] { kept += (*s.neighbour(s.sample(rng), kind, rng))[2]; }));
  std::printf("gemm: all neighbours %.0f ns\n",
              each_ns(50'000, [&] { kept += s.neighbours(s.sample(rng), neighbourhood::hamming).size(); }));
  point any(p.size());
  std::printf("gemm: repair of a random point %.0f ns\n", each_ns(50'000, [&] {
                for (std::size_t i = 0; i < any.size(); ++i)
                  any[i] = static_cast<std::uint32_t>(rng.below(s.parameters()[i].size));
                kept += s.repair(any, rng)[1];
              }));
  const auto from = cpu_ms();
  std::uint64_t visited = 0;
  for (int i = 0; i < 20; ++i) s.for_each([&](auto q) { return ++visited, kept += q[3], true; });
  std::printf("gemm: enumeration %.1f million configurations a second\n",
              static_cast<double>(visited) / (cpu_ms() - from) / 1e3);
  if (kept == 42) std::puts("");
}

parameter digits(std::string name, std::int64_t last) {
  parameter p;
  p.name = std::move(name);
  p.domain = integer_range{0, last, 1, false};
  return p;
}

constraint rule(std::string text) {
  constraint c;
  c.expression = std::move(text);
  return c;
}

void large() {
  double ms = 0;
  std::vector<parameter> p;
  for (int i = 0; i < 12; ++i) p.push_back(digits("p" + std::to_string(i), 9));
  std::string sum = "p0";
  for (int i = 1; i < 12; ++i) sum += " + p" + std::to_string(i);
  for (const auto& text : {std::string("p0 % 2 == 0"), sum + " <= 54", "(" + sum + ") % 7 == p3"}) {
    const auto s = compiled(p, {rule(text)}, ms);
    std::printf("12 x 10, %s: %s valid, %.2f ms\n", text.c_str(), count_of(*s).c_str(), ms);
  }
  std::vector<parameter> booleans;
  std::vector<constraint> all, chain;
  for (int i = 0; i < 60; ++i) {
    booleans.push_back(digits("b" + std::to_string(i), 1));
    if (i + 1 < 60) chain.push_back(rule("not b" + std::to_string(i) + " or b" + std::to_string(i + 1)));
    for (int j = 0; j < i; ++j) all.push_back(rule("not b" + std::to_string(j) + " or b" + std::to_string(i)));
  }
  auto s = compiled(booleans, chain, ms);
  std::printf("60 booleans, chain of implications: %s valid, %.2f ms\n", count_of(*s).c_str(), ms);
  s = compiled(booleans, all, ms);
  std::printf("60 booleans, all 1770 implications: %s valid, %.2f ms\n", count_of(*s).c_str(), ms);
  std::vector<parameter> many;
  std::vector<constraint> groups;
  for (int i = 0; i < 30; ++i) many.push_back(digits("q" + std::to_string(i), 9));
  for (int i = 0; i < 30; i += 3)
    groups.push_back(rule("q" + std::to_string(i) + " * q" + std::to_string(i + 1) + " >= q" + std::to_string(i + 2)));
  s = compiled(many, groups, ms);
  std::printf("30 parameters in 10 groups: %s of %s valid, %.2f ms\n", count_of(*s).c_str(),
              to_string(s->cartesian()).c_str(), ms);
}

} // namespace

int main(int argc, char** argv) {
  large();
  std::printf("peak memory so far: %.1f MB\n", peak_mb());
  const char* shared = std::getenv("ATTUNE_SHARED");
  const std::string folder = argc > 1 ? argv[1] : (shared ? std::string(shared) : "../shared") + "/data/spaces";
  double total = 0;
  space_ptr gemm;
  for (const std::string name :
       {"dedispersion", "expdist", "hotspot", "gemm", "microhh", "atf_prl_2x2", "atf_prl_4x4", "atf_prl_8x8"}) {
    const auto spec = storage::read_spec(std::string(folder).append("/paper-").append(name).append(".json"));
    if (!spec) {
      std::printf("%s: skipped: %s\n", name.c_str(), spec.err().text().c_str());
      continue;
    }
    double ms = 0;
    const auto s = compiled((*spec)[0].parameters, (*spec)[0].constraints, ms);
    std::printf("%s: %s of %s valid, compiled in %.2f ms of CPU\n", name.c_str(), count_of(*s).c_str(),
                to_string(s->cartesian()).c_str(), ms);
    total += ms;
    if (name == "gemm") gemm = s;
  }
  if (gemm) {
    std::printf("the eight together: %.1f ms of CPU\n", total);
    ask(*gemm);
  }
  std::printf("peak memory: %.1f MB\n", peak_mb());
}
