// Compiles spaces from any text (a line `name|values|when` a parameter, any other line a constraint) and holds what it
// says of itself together: counts, indices, samples and validity must agree.
#include "core/text.hpp"
#include "search/compiled_space.hpp"

#include <cstddef>
#include <cstdint>

using namespace attune;
using namespace attune::search;

namespace {

void must(bool holds) {
  if (!holds) __builtin_trap();
}

void ask(const space& s) {
  random_engine rng(7);
  for (int i = 0; i < 4; ++i) {
    const auto p = s.sample(rng);
    must(s.contains(p));
    const auto back = s.to_point(s.to_configuration(p));
    must(back.ok() && *back == p);
    if (s.count()) must(s.at(*s.index_of(p)) == p);
    if (const auto q = s.neighbour(p, neighbourhood::adjacent, rng)) must(s.contains(*q) && *q != p);
    if (s.count()) { // where it is searched for, what is near takes its time
      const auto near = s.neighbours_within(p, 2, 20);
      for (const auto& q : near) must(s.contains(q) && q != p);
      const auto one = s.neighbour_within(p, 2, rng);
      must(one.has_value() == !near.empty());
      if (one) must(s.contains(*one) && *one != p);
    }
    auto broken = p;
    for (auto& v : broken) v = static_cast<std::uint32_t>(rng.below(9));
    must(s.contains(s.repair(broken, rng)));
    std::vector<float> features(s.features());
    s.encode(p, features);
  }
  must(s.contains(s.standard()));
  std::uint64_t n = 0;
  s.for_each([&](auto p) {
    must(s.contains(p));
    if (s.count()) must(s.index_of(p) == n);
    return ++n < 300;
  });
  if (s.count() && n < 300) must(*s.count() == n);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<parameter> parameters;
  std::vector<constraint> constraints;
  for (const auto line : split(text, '\n')) {
    const auto fields = split(line, '|');
    if (fields.size() >= 2 && parameters.size() < 7) {
      parameter p;
      p.name = fields[0];
      p.domain = value_expression{std::string(fields[1])};
      if (fields.size() > 2) p.when = fields[2];
      parameters.push_back(std::move(p));
    } else if (!line.empty() && constraints.size() < 7) {
      constraint c;
      c.expression = line;
      constraints.push_back(std::move(c));
    }
  }
  const arguments workload{{"m", value(512)}};
  // Small limits, so that the fuzzer's time goes into many specs, and searched groups come up too.
  auto parts = compile_parts(parameters, constraints, workload, {}, {3'000, 30'000, 50'000'000});
  if (!parts) {
    must(!parts.err().message.empty());
    return 0;
  }
  ask(compiled_space(std::move(*parts)));
  return 0;
}
