// Reads any text as an expression and as a list, and evaluates what can be read for some values.
#include "search/expression.hpp"

#include <cstddef>
#include <cstdint>

using namespace attune;
using namespace attune::search;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> names{"a", "b", "f", "s", "l"};
  const arguments workload{{"m", value(512)}, {"t", value("f32")}};
  pool literals;
  const auto e = expression::read(text, {names, &workload, nullptr}, literals);
  if (!e) {
    if (e.err().message.empty()) __builtin_trap();
    return 0;
  }
  pool p(&literals);
  const std::vector<cell> items{cell::of(std::int64_t{1}), p.text("x"), cell::of(2.5)};
  for (const auto i : {std::int64_t{0}, std::int64_t{-3}, std::int64_t{1} << 62, INT64_MIN}) {
    const std::vector<cell> values{cell::of(i), cell::of(i == 0), cell::of(static_cast<double>(i) / 3), p.text("x=1"),
                                   i == -3 ? cell{} : p.list(items)};
    const auto c = e->evaluate(values, p);
    // Once more gives the same: nothing is kept between evaluations.
    if (!(e->evaluate(values, p) == c) && !(c.failed() && c.why() == fault::limit)) __builtin_trap();
    search::text(c, p);
  }
  if (e->parameters_of(e->root()).empty()) (void)read_list(text);
  return 0;
}
