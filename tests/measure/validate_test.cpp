#include "measure/counters.hpp"
#include "measure/energy.hpp"
#include "measure/validate.hpp"
#include "tests/measure/support.hpp"

#include <cmath>

using namespace attune;
using namespace attune::measure;
using namespace attune::measure::testing;
using namespace std::chrono_literals;

namespace {

struct validate_fixture {
  folder f;
  task_spec spec = spec_in(f.path());
  validate_fixture() {
    f.write("gemm.cpp", "int main() {}");
    parameter p;
    p.name = "tile_m";
    spec.parameters.push_back(p);
    p.name = "opt";
    spec.parameters.push_back(p);
    spec.workload = {{"m", 512}};
    spec.file = "gemm.yaml";
    spec.build.emplace();
    spec.build->run.shell = "g++ {opt} -DTILE={tile_m} gemm.cpp -o {artifact}";
    spec.build->sources = {"gemm.cpp"};
    spec.run.run.shell = "{artifact} {workload.m}";
  }
  std::string why() const {
    auto checked = validate(spec);
    if (checked.ok()) return "";
    BOOST_TEST((checked.err().code == errc::invalid_spec));
    BOOST_TEST(checked.err().where == "gemm.yaml");
    return checked.err().message;
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(validating, validate_fixture)

BOOST_AUTO_TEST_CASE(a_good_spec_is_accepted) { BOOST_TEST(why() == ""); }

BOOST_AUTO_TEST_CASE(a_task_of_a_callable_needs_no_command_and_no_folder) {
  task_spec plain;
  plain.file = "gemm.yaml";
  BOOST_TEST(validate(plain).ok());
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_refused_with_its_place) {
  spec.build->run.shell = "g++ {tile_n}";
  BOOST_TEST(why() == "build.command: '{tile_n}' names nothing; did you mean {tile_m}? (write {{ for a brace)");
  spec.build->run = {{}, {"g++", "{opt*}", "-o", "{artefact}"}};
  BOOST_TEST(why().starts_with("build.command[3]: '{artefact}' names nothing; did you mean {artifact}?"));
  spec.build->run = {{}, {"g++", "-D{opt*}"}};
  BOOST_TEST(why().starts_with("build.command[1]: "));
  spec.build->run = {"make", {}};
  spec.run.check.run.shell = "diff {x}";
  BOOST_TEST(why().starts_with("run.check.command: '{x}' names nothing"));
}

BOOST_AUTO_TEST_CASE(an_artifact_without_a_build_is_refused) {
  spec.build.reset();
  BOOST_TEST(why() == "run.command names {artifact}, but nothing is built here: there is no build");
}

BOOST_AUTO_TEST_CASE(a_metric_that_cannot_be_read_is_refused) {
  spec.run.metrics[0].source = metric_spec::from::pattern;
  spec.run.metrics[0].expression = "([0-9";
  BOOST_TEST(why().starts_with("run.metric: the pattern of the metric 'time' is wrong"));
  spec.run.metrics[0] = {};
  spec.run.metrics.push_back({});
  BOOST_TEST(why() == "run.metric: the name 'time' is given twice");
  spec.run.metrics.pop_back();
  spec.run.objective = 1;
  BOOST_TEST(why() == "run.objective names no metric");
  spec.run.metrics.clear();
  BOOST_TEST(why() == "run.metric: there is none");
  metric_spec file;
  file.source = metric_spec::from::file;
  file.expression = "{wordkir}/out";
  spec.run.metrics = {file};
  spec.run.objective = 0;
  BOOST_TEST(why().starts_with("run.metric.file: '{wordkir}' names nothing; did you mean {workdir}?"));
}

BOOST_AUTO_TEST_CASE(limits_and_repeats_must_make_sense) {
  auto with = [&](auto change) {
    auto before = spec;
    change();
    auto out = why();
    spec = before;
    return out;
  };
  BOOST_TEST(with([&] { spec.run.timeout = 0s; }) == "run.timeout: the limit must be longer than 0");
  BOOST_TEST(with([&] { spec.build->timeout = -1s; }) == "build.timeout: the limit must be longer than 0");
  BOOST_TEST(with([&] { spec.run.repeats = {0, 1, 0}; }) == "run.repeats.min must be at least 1");
  BOOST_TEST(with([&] { spec.run.repeats = {5, 3, 0}; }) == "run.repeats.max (3) is less than min (5)");
  BOOST_TEST(with([&] {
               spec.run.repeats = {1, 3, 1.5};
             }) == "run.repeats.until must be a fraction from 0 to below 1 (as 1%), not 1.5");
  BOOST_TEST(with([&] { spec.run.repeats.until = std::nan(""); }) != "");
}

BOOST_AUTO_TEST_CASE(sources_must_be_there_and_stay_inside) {
  spec.build->sources = {"gemm.cpp", "missing.hpp"};
  BOOST_TEST(why() == "build.sources: 'missing.hpp' is not there");
  spec.build->sources = {f.path() + "/gemm.cpp"};
  BOOST_TEST(why() == "");
  spec.build->cwd = working_directory::workdir;
  BOOST_TEST(why().find("cannot be laid out") != std::string::npos);
  spec.build->sources = {"../" + std::filesystem::path(f.path()).filename().string() + "/gemm.cpp"};
  BOOST_TEST(why().find("cannot be laid out") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_parameter_may_not_take_a_name_of_attunes_own) {
  spec.parameters[1].name = "workdir";
  BOOST_TEST(why().starts_with("the parameter 'workdir' has the name of one of Attune's own values"));
  spec.parameters[1].name = "TRIAL";
  BOOST_TEST(why().starts_with("the parameter 'TRIAL'"));
}

BOOST_AUTO_TEST_CASE(the_folder_must_be_there) {
  spec.directory = "/no/such/folder";
  BOOST_TEST(why() == "the folder that commands run in is not there: '/no/such/folder'");
}

BOOST_AUTO_TEST_CASE(a_counter_that_this_machine_has_not_is_refused) {
  metric_spec cycles;
  cycles.name = "cycles";
  cycles.source = metric_spec::from::counter;
  cycles.expression = "cycles";
  cycles.unit = "count";
  spec.run.metrics.push_back(cycles);
  const auto can = can_count("cycles");
  BOOST_TEST(why() == (can ? "" : "run.metric 'cycles': " + can.err().message));
  spec.run.metrics[1].source = metric_spec::from::energy;
  spec.run.metrics[1].expression = "package";
  spec.run.metrics[1].unit = "J";
  const auto meter = energy_meter::open("package");
  BOOST_TEST(why() == (meter ? "" : "run.metric 'cycles': " + meter.err().message));
}

BOOST_AUTO_TEST_CASE(a_callable_has_no_processes_to_look_at) {
  task_spec plain;
  plain.file = "gemm.yaml";
  plain.run.metrics.resize(2);
  plain.run.metrics[1].name = "cpu";
  plain.run.metrics[1].source = metric_spec::from::cpu;
  BOOST_TEST(validate(plain).ok());
  plain.run.metrics[1].source = metric_spec::from::memory;
  plain.run.metrics[1].expression = "peak";
  plain.run.metrics[1].unit = "MB";
  BOOST_TEST(!validate(plain).ok());
}

BOOST_AUTO_TEST_SUITE_END()
