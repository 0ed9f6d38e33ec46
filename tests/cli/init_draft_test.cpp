#include "cli/init_draft.hpp"
#include "storage/spec_reader.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::cli;

namespace {

task_spec spec_of_draft(const spec_draft& d) {
  auto read = storage::read_spec_text(d.text, "draft.yaml", "/tmp");
  BOOST_REQUIRE_MESSAGE(read.ok(), (read.ok() ? "" : read.err().text()) << "\n" << d.text);
  const auto& s = read->front();
  const auto space = search::space::compile(s.parameters, s.constraints, s.workload, s.target);
  BOOST_REQUIRE_MESSAGE(space.ok(), (space.ok() ? "" : space.err().text()));
  return s;
}

spec_draft of_text(const std::string& text, const std::string& path = "kernel.cpp") {
  return draft_of_source("kernel", {path, text, {}});
}

const parameter* named_parameter(const task_spec& s, const std::string& name) {
  for (const auto& p : s.parameters)
    if (p.name == name) return &p;
  return nullptr;
}

} // namespace

BOOST_AUTO_TEST_SUITE(drafts_of_specs)

BOOST_AUTO_TEST_CASE(macros_with_a_value_that_may_be_set_become_parameters) {
  const auto s = spec_of_draft(of_text(R"(#ifndef KERNEL_H
#define KERNEL_H
#endif
#ifndef TILE
#define TILE 16 // the block
#endif
#if !defined(RATIO)
#  define RATIO 0.5f
#endif
#ifndef TYPE
#define TYPE float
#endif
#ifndef USE_PADDING
#define USE_PADDING 0
#endif
#define FIXED 7
#define SQUARE(x) ((x) * (x))
/* #ifndef GONE
#define GONE 3
#endif */
#if USE_PADDING
#endif
int main() { return 0; }
)"));
  BOOST_TEST(s.parameters.size() == 5u); // and opt
  const auto* tile = named_parameter(s, "tile");
  BOOST_REQUIRE(tile != nullptr);
  BOOST_TEST(std::get<power_range>(tile->domain).first == 4);
  BOOST_TEST(std::get<power_range>(tile->domain).last == 64);
  BOOST_CHECK(tile->standard == value(16));
  const auto* ratio = named_parameter(s, "ratio");
  BOOST_REQUIRE(ratio != nullptr);
  BOOST_CHECK(ratio->standard == value(0.5));
  const auto* type = named_parameter(s, "type");
  BOOST_REQUIRE(type != nullptr);
  BOOST_CHECK(std::get<value_list>(type->domain).values == std::vector<value>{value("float")});
  const auto* padding = named_parameter(s, "use_padding");
  BOOST_REQUIRE(padding != nullptr);
  BOOST_CHECK((std::get<value_list>(padding->domain).values == std::vector<value>{value(0), value(1)}));
  BOOST_REQUIRE(s.build.has_value());
  const auto& line = s.build->run.shell;
  BOOST_TEST(line.find("-DTILE={tile}") != std::string::npos, line);
  BOOST_TEST(line.find("-DTYPE='{type}'") != std::string::npos, line);
  BOOST_TEST(line.find("kernel.cpp -o {artifact}") != std::string::npos, line);
  BOOST_CHECK(s.build->sources == std::vector<std::string>{"kernel.cpp"});
}

BOOST_AUTO_TEST_CASE(one_guard_may_stand_before_several_and_an_else_is_no_guard) {
  const auto s = spec_of_draft(of_text(R"(#ifndef BLOCK_I
#define BLOCK_I 1
#define BLOCK_J 1000
#else
#define OTHER 5
#endif
int main() {}
)"));
  BOOST_TEST((named_parameter(s, "block_i") != nullptr));
  const auto* j = named_parameter(s, "block_j");
  BOOST_REQUIRE(j != nullptr);
  BOOST_CHECK((std::get<value_list>(j->domain).values ==
               std::vector<value>{value(250), value(500), value(1000), value(2000), value(4000)}));
  BOOST_TEST((named_parameter(s, "other") == nullptr));
}

BOOST_AUTO_TEST_CASE(what_it_prints_of_its_time_is_read) {
  const auto metric = [](const std::string& body) {
    return spec_of_draft(of_text("#include <chrono>\nint main() {" + body + "}")).run.metrics.front();
  };
  const auto printed =
      metric(R"(std::chrono::duration<double, std::milli> d; std::printf("time: %.6f\n", d.count());)");
  BOOST_CHECK(printed.source == metric_spec::from::pattern);
  BOOST_TEST(printed.expression == "time: *([-+0-9.eE]+)");
  BOOST_TEST(printed.unit == "ms");
  const auto streamed = metric(R"(std::cout << "n = " << n << "\n"; std::cout << "elapsed " << t << " us\n";)");
  BOOST_TEST(streamed.expression == "elapsed *([-+0-9.eE]+)");
  BOOST_TEST(streamed.unit == "us");
  const auto rate = metric(R"(printf("size %d\n", n); printf("(GEMM) %8.2f GFLOPS\n", g);)");
  BOOST_CHECK(rate.direction == goal::maximize);
  BOOST_TEST(rate.expression == "\\(GEMM\\) *([-+0-9.eE]+)");
  // Nothing that is a time: the whole process.
  const auto none = metric(R"(printf("sum %f\n", sum);)");
  BOOST_CHECK(none.source == metric_spec::from::wall);
}

BOOST_AUTO_TEST_CASE(the_compiler_follows_from_the_source) {
  const auto line = [](const std::string& path, const std::string& text) {
    return spec_of_draft(of_text(text + "\nint main() {}", path)).build->run.shell;
  };
  BOOST_TEST(line("a.c", "").starts_with("gcc {opt} -march=native"));
  BOOST_TEST(line("a.cu", "").starts_with("nvcc {opt} "));
  BOOST_TEST(line("a.cpp", "#pragma omp parallel").find("-fopenmp") != std::string::npos);
  BOOST_TEST(line("a.cpp", "#include <span>").find("-std=c++20") != std::string::npos);
  BOOST_TEST(line("a b{c}.cpp", "").find("'a b{{c}.cpp' -o {artifact}") != std::string::npos, line("a b{c}.cpp", ""));
}

BOOST_AUTO_TEST_CASE(the_headers_that_lie_beside_it_are_sources_too) {
  const auto s =
      spec_of_draft(draft_of_source("k", {"src/k.cpp", "#include \"a.hpp\"\n#include \"elsewhere.hpp\"\nint main() {}",
                                          [](const std::string& name) -> std::optional<std::string> {
                                            if (name == "a.hpp") return "#include \"b.hpp\"\n";
                                            if (name == "b.hpp") return "#include \"a.hpp\"\n";
                                            return std::nullopt;
                                          }}));
  BOOST_CHECK((s.build->sources == std::vector<std::string>{"src/k.cpp", "src/a.hpp", "src/b.hpp"}));
}

BOOST_AUTO_TEST_CASE(what_is_missing_is_said) {
  const auto bare = of_text("void f() {}");
  BOOST_TEST(spec_of_draft(bare).parameters.size() == 1u);
  std::string all;
  for (const auto& n : bare.notes) all += n + "\n";
  BOOST_TEST(all.find("no choices were found") != std::string::npos);
  BOOST_TEST(all.find("has no main()") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_command_varies_where_it_has_places_or_numbers_behind_options) {
  const auto placed = draft_of_command("bench", "./bench --threads {threads} --out {workdir}/x '{{'");
  BOOST_REQUIRE(placed.ok());
  auto s = spec_of_draft(*placed);
  BOOST_TEST(s.parameters.size() == 1u);
  BOOST_TEST(s.run.run.shell == "./bench --threads {threads} --out {workdir}/x '{{'");
  BOOST_CHECK(s.run.metrics.front().source == metric_spec::from::wall);

  const auto numbered = draft_of_command("bench", "./bench --block-size=64 -n 100 --ratio 0.5 in{1}.txt");
  BOOST_REQUIRE(numbered.ok());
  s = spec_of_draft(*numbered);
  BOOST_TEST(s.run.run.shell == "./bench --block-size={block_size} -n {n} --ratio {ratio} in{{1}.txt");
  BOOST_TEST(s.parameters.size() == 3u);
  BOOST_CHECK(named_parameter(s, "block_size")->standard == value(64));

  const auto fixed = draft_of_command("bench", "./bench --fast");
  BOOST_REQUIRE(!fixed.ok());
  BOOST_TEST(fixed.err().message.find("write {name} where a value goes") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_space_keeps_its_values_and_constraints) {
  task_spec t;
  t.name = "conv";
  t.file = "x/conv.json";
  t.parameters = {{"tile", value_expression{"[2**i for i in range(3)]"}},
                  {"mode", value_list{{value("a: b"), value("c")}}}};
  t.parameters[0].standard = value(2);
  t.constraints = {{"tile > 1 or mode == 'c'"}};
  t.search.trials = 17;
  const auto space = search::space::compile(t.parameters, t.constraints);
  BOOST_REQUIRE(space.ok());
  const auto s = spec_of_draft(draft_of_space(t, **space));
  BOOST_TEST(s.name == "conv");
  BOOST_CHECK(
      (std::get<value_list>(s.parameters[0].domain).values == std::vector<value>{value(1), value(2), value(4)}));
  BOOST_CHECK(s.parameters[0].standard == value(2));
  BOOST_CHECK((std::get<value_list>(s.parameters[1].domain).values == std::vector<value>{value("a: b"), value("c")}));
  BOOST_REQUIRE_EQUAL(s.constraints.size(), 1u);
  BOOST_TEST(s.constraints[0].expression == "tile > 1 or mode == 'c'");
  BOOST_TEST(*s.search.trials == 17u);
  BOOST_TEST(s.run.run.shell.find("--tile {tile} --mode {mode}") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
