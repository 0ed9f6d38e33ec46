#include "core/text.hpp"
#include "search/expression.hpp"

#include <boost/test/unit_test.hpp>

#include <charconv>
#include <cmath>
#include <fstream>

using namespace attune;
using namespace attune::search;

namespace {

/// The value as python_expressions.txt writes it.
std::string written(cell c, const pool& p) {
  switch (c.what) {
  case cell::kind::absent:
    return "absent";
  case cell::kind::failed:
    return "E:" + std::to_string(static_cast<int>(c.why()));
  case cell::kind::boolean:
    return c.bits != 0 ? "b:1" : "b:0";
  case cell::kind::integer:
    return "i:" + std::to_string(c.integer());
  case cell::kind::real:
    return std::isnan(c.real()) ? "d:nan" : "d:" + std::to_string(c.bits);
  case cell::kind::text: {
    std::string out = "s:";
    for (const unsigned char b : p.text_of(c)) {
      constexpr std::string_view digits = "0123456789abcdef";
      out += digits[b >> 4];
      out += digits[b & 15];
    }
    return out;
  }
  case cell::kind::list:
    break;
  }
  std::string out = "l" + std::to_string(static_cast<int>(p.sequence_of(c))) + "[";
  for (const auto i : p.items_of(c)) out += written(i, p) + ",";
  return out + "]";
}

double hexadecimal(std::string_view s) {
  if (s == "inf") return INFINITY;
  if (s == "-inf") return -INFINITY;
  const bool minus = s.starts_with('-');
  if (minus) s.remove_prefix(1);
  s.remove_prefix(2); // 0x
  double d = 0;
  std::from_chars(s.data(), s.data() + s.size(), d, std::chars_format::hex);
  return minus ? -d : d;
}

/// Floats of the file's form in the form of written().
std::string with_bits(std::string s) {
  for (auto at = s.find("d:"); at != std::string::npos; at = s.find("d:", at + 2)) {
    auto end = s.find_first_of(",]", at);
    if (end == std::string::npos) end = s.size();
    const auto digits = s.substr(at + 2, end - at - 2);
    if (digits == "nan") continue;
    s.replace(at + 2, digits.size(), std::to_string(std::bit_cast<std::uint64_t>(hexadecimal(digits))));
  }
  return s;
}

std::string evaluated(std::string_view text) {
  pool p;
  const auto e = expression::read(text, {}, p);
  if (!e) return e.err().message;
  const auto c = e->evaluate({}, p);
  return c.failed() ? std::string(to_string(c.why())) : search::text(c, p);
}

std::string refused(std::string_view text, std::span<const std::string> names = {}) {
  pool p;
  const auto e = expression::read(text, {names, nullptr, nullptr}, p);
  return e ? "accepted" : e.err().message;
}

bool has_text(const std::string& s, std::string_view part) { return s.find(part) != std::string::npos; }

} // namespace

BOOST_AUTO_TEST_SUITE(expressions)

BOOST_AUTO_TEST_CASE(evaluates_as_python_does) {
  std::ifstream in(std::string(ATTUNE_SOURCE_DIR) + "/tests/search/python_expressions.txt");
  const std::vector<std::string> names{"a", "b", "f", "s"};
  std::size_t count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    const auto fields = split(line, '\t');
    BOOST_REQUIRE_EQUAL(fields.size(), 6u);
    pool p;
    const auto e = expression::read(fields[4], {names, nullptr, nullptr}, p);
    BOOST_REQUIRE_MESSAGE(e.ok(), fields[4] << ": " << (e ? "" : e.err().message));
    const std::vector<cell> values{cell::of(*parse_integer(fields[0])), cell::of(*parse_integer(fields[1])),
                                   cell::of(hexadecimal(fields[2])), p.text(fields[3])};
    BOOST_TEST(written(e->evaluate(values, p), p) == with_bits(std::string(fields[5])),
               line << " gives " << written(e->evaluate(values, p), p));
  }
  BOOST_TEST(count > 1000u);
}

BOOST_AUTO_TEST_CASE(reads_the_lists_of_tuners) {
  const auto numbers = [](std::string_view text) {
    std::vector<std::int64_t> out;
    const auto values = read_list(text);
    BOOST_REQUIRE_MESSAGE(values.ok(), text << ": " << (values ? "" : values.err().message));
    for (const auto& v : *values) out.push_back(v.as_integer());
    return out;
  };
  using list = std::vector<std::int64_t>;
  BOOST_TEST(numbers("[1, 2, 4]") == (list{1, 2, 4}));
  BOOST_TEST(numbers("range(3)") == (list{0, 1, 2}));
  BOOST_TEST(numbers("list(range(1, 9, 3))") == (list{1, 4, 7}));
  BOOST_TEST(numbers("[2**i for i in range(0, 4)]") == (list{1, 2, 4, 8}));
  BOOST_TEST(numbers("[1] + [2 * i for i in range(1, 4)]") == (list{1, 2, 4, 6}));
  BOOST_TEST(numbers("[i for i in range(10) if i % 3 == 0 if i > 0]") == (list{3, 6, 9}));
  BOOST_TEST(numbers("[i * j for i in [1, 10] for j in range(1, 3)]") == (list{1, 2, 10, 20}));
  BOOST_TEST(numbers("[a + b for a, b in [(1, 2), (3, 4)]]") == (list{3, 7}));
  BOOST_TEST(numbers("[max([j for j in range(i)]) for i in [2, 5]]") == (list{1, 4}));
  const auto mixed = read_list("['a', \"b\", 1.5, True, -3]");
  BOOST_REQUIRE(mixed.ok());
  BOOST_TEST((*mixed == std::vector<value>{value("a"), value("b"), value(1.5), value(true), value(-3)}));
  BOOST_TEST(!read_list("5").ok());
  BOOST_TEST(!read_list("[[1], [2]]").ok());
  BOOST_TEST(!read_list("[1 / 0]").ok());
  BOOST_TEST(!read_list("[n for n in range(m)]").ok());
  BOOST_TEST(!read_list("[1e308 * 10]").ok());
}

BOOST_AUTO_TEST_CASE(reports_what_goes_beyond_64_bits) {
  BOOST_TEST(evaluated("9223372036854775807") == "9223372036854775807");
  BOOST_TEST(evaluated("-9223372036854775808") == "-9223372036854775808");
  BOOST_TEST(has_text(evaluated("9223372036854775808"), "64 bits"));
  BOOST_TEST(evaluated("9223372036854775807 + 1") == "a number beyond 64 bits");
  BOOST_TEST(evaluated("-9223372036854775808 // -1") == "a number beyond 64 bits");
  BOOST_TEST(evaluated("-9223372036854775808 % -1") == "0");
  BOOST_TEST(evaluated("abs(-9223372036854775808)") == "a number beyond 64 bits");
  BOOST_TEST(evaluated("2 ** 62") == "4611686018427387904");
  BOOST_TEST(evaluated("2 ** 63") == "a number beyond 64 bits");
  BOOST_TEST(evaluated("10 ** 1000000000000") == "a number beyond 64 bits");
  BOOST_TEST(evaluated("(-1) ** 9223372036854775807") == "-1");
  BOOST_TEST(evaluated("1 << 62") == "4611686018427387904");
  BOOST_TEST(evaluated("1 << 63") == "a number beyond 64 bits");
  BOOST_TEST(evaluated("1 << 99999999999") == "a number beyond 64 bits");
  BOOST_TEST(evaluated("9007199254740993 == 9007199254740992.0") == "False");
}

BOOST_AUTO_TEST_CASE(faults_are_values) {
  BOOST_TEST(evaluated("1 / 0") == "division by zero");
  BOOST_TEST(evaluated("1 % 0.0") == "division by zero");
  BOOST_TEST(evaluated("0 ** -1") == "division by zero");
  BOOST_TEST(evaluated("1 << -1") == "an operand out of range");
  BOOST_TEST(evaluated("(-8) ** 0.5") == "an operand out of range");
  BOOST_TEST(evaluated("int(1e308 * 10 - 1e308 * 10)") == "an operand out of range");
  BOOST_TEST(evaluated("1 < 'a'") == "operands of the wrong type");
  BOOST_TEST(evaluated("True or 1 / 0") == "True");
  BOOST_TEST(evaluated("False and 1 / 0") == "False");
  BOOST_TEST(evaluated("1 if True else 1 / 0") == "1");
}

BOOST_AUTO_TEST_CASE(errors_stand_under_the_place) {
  const std::vector<std::string> names{"vec", "tile_m"};
  BOOST_TEST(refused("n % vec == 0", names) ==
             "`n % vec == 0`, column 1: unknown name `n`; known are vec, tile_m\n  n % vec == 0\n  ^");
  BOOST_TEST(refused("tile_n > 1", names) ==
             "`tile_n > 1`, column 1: unknown name `tile_n`; did you mean `tile_m`?\n  tile_n > 1\n  ^^^^^^");
  BOOST_TEST(refused("vec > 1 &&  vec < 3", names) ==
             "`vec > 1 &&  vec < 3`, column 9: write `and`: `&&` is not Python's\n  vec > 1 &&  vec < 3\n          ^^");
  BOOST_TEST(refused("vec = 3", names) == "`vec = 3`, column 5: write `==` to compare\n  vec = 3\n      ^");
  BOOST_TEST(has_text(refused("(vec > 1", names), "`)` is missing"));
  BOOST_TEST(has_text(refused("vec >", names), "ends too early"));
  BOOST_TEST(has_text(refused("", names), "empty"));
  BOOST_TEST(has_text(refused("   ", names), "empty"));
  BOOST_TEST(has_text(refused("vec.size", names), "only `workload` and `target` have parts"));
  BOOST_TEST(has_text(refused("system('ls')", names), "there is no function `system`"));
  BOOST_TEST(has_text(refused("vec is 3", names), "write `==`"));
  BOOST_TEST(has_text(refused("lambda: 1", names), "lambda"));
  BOOST_TEST(has_text(refused("'abc", names), "no end"));
  BOOST_TEST(has_text(refused("012", names), "does not begin with 0"));
  BOOST_TEST(has_text(refused("min()", names), "does not take 0 arguments"));
  BOOST_TEST(has_text(refused("vec $ 2", names), "no meaning"));
  // A long text is cut to where the fault is.
  const auto cut = refused(std::string(5000, ' ') + "1 + + ) + " + std::string(5000, '1'), names);
  BOOST_TEST(cut.size() < 500u);
  BOOST_TEST(has_text(cut, ", column 5007: "));
  BOOST_TEST(refused("", names) == "the expression is empty");
  // Columns count letters, not bytes.
  BOOST_TEST(has_text(refused("'äöü' + x", names), ", column 9: unknown name `x`"));
}

BOOST_AUTO_TEST_CASE(reads_arguments_of_workload_and_target) {
  const arguments workload{{"m", value(512)}, {"dtype", value("f32")}}, target{{"lanes", value(8)}};
  const std::vector<std::string> names{"vec"};
  pool p;
  const auto read = [&](std::string_view text) { return expression::read(text, {names, &workload, &target}, p); };
  const std::vector<cell> values{cell::of(std::int64_t{4})};
  const auto e = read("workload.m % vec == 0 and workload.dtype == 'f32' and target.lanes >= vec");
  BOOST_REQUIRE(e.ok());
  BOOST_TEST(truth(e->evaluate(values, p), p));
  const auto wrong = read("m % vec == 0");
  BOOST_REQUIRE(!wrong.ok());
  BOOST_TEST(has_text(wrong.err().message, "did you mean `workload.m`?"));
  BOOST_TEST(!read("workload.k > 1").ok());
}

BOOST_AUTO_TEST_CASE(no_input_takes_the_stack_or_the_memory) {
  const auto many = [](std::string_view s, std::size_t n) {
    std::string out;
    for (std::size_t i = 0; i < n; ++i) out += s;
    return out;
  };
  for (const auto* opening : {"(", "[", "-", "not ", "abs(", "1 if 1 else ", "2**", "[1][", "~", "{"})
    BOOST_TEST(has_text(refused(many(opening, 5000) + "1"), "nested too deeply"), opening);
  BOOST_TEST(has_text(refused(many("1+", 20000) + "1"), "nested too deeply"));
  BOOST_TEST(evaluated(many("1+", 900) + "1") == "901");
  BOOST_TEST(evaluated(many("True and ", 5000) + "3") == "3");
  BOOST_TEST(has_text(refused(many("1+", 40000) + "1"), "longer than"));
  BOOST_TEST(has_text(evaluated("'a' * 10**12"), "too long"));
  BOOST_TEST(has_text(evaluated("[0] * 10**12"), "too long"));
  BOOST_TEST(has_text(evaluated("range(10**15)"), "too long"));
  BOOST_TEST(has_text(evaluated("[0 for i in range(10**6) for j in range(10**6) if False]"), "too long"));
  BOOST_TEST(has_text(evaluated("sum([sum(range(i)) for i in range(10**6)])"), "too long"));
}

BOOST_AUTO_TEST_SUITE_END()
