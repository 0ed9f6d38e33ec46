#include "core/task.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdlib.h>

using namespace attune;
using namespace std::chrono_literals;

namespace {

/// A folder that goes away with the test.
struct folder {
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "attune-core-XXXXXX").string();
    BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  void write(const std::string& name, std::string_view contents) const {
    std::ofstream(path + "/" + name, std::ios::binary) << contents;
  }
  std::string path;
};

struct written {
  written() {
    in.write("a.c", "int a;\n");
    in.write("k.c", "");
    spec.name = "gemm";
    spec.workload = {{"M", 1024}, {"N", 1024}, {"dtype", "float32"}, {"alpha", 1.5}};
    spec.directory = in.path;
    spec.file = "spec.yaml";
    spec.build.emplace();
    spec.build->run.shell = "cc -O{o} k.c -o {build}/k";
    spec.build->sources = {"k.c", "a.c"};
    spec.build->timeout = 30s;
    spec.build->cwd = working_directory::workdir;
    spec.run.run.argv = {"./k", "{x}", "a b"};
    spec.run.timeout = 10s;
    spec.run.metrics[0].unit = "ms";
    spec.run.warmup = 1;
    spec.run.repeats = {3, 20, 0.05};
    spec.run.check.run.shell = "cmp out want";
    spec.run.check.timeout = 5s;
  }
  std::string form() const {
    auto f = method_form(spec);
    BOOST_REQUIRE(f.ok());
    return *f;
  }
  folder in;
  task_spec spec;
  target where{{{"device", "board-7"}, {"flags", "-O2"}, {"cores", 4}}};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(tasks, written)

// All of these come from a Python program written from the headers' words. They are on users' disks: where one changes,
// every measurement ever stored is lost to its owner.
BOOST_AUTO_TEST_CASE(the_identity_never_changes) {
  const auto t = make_task(spec, where);
  BOOST_REQUIRE(t.ok());
  const auto& id = (*t)->identity;
  BOOST_TEST(id.method_form ==
             "method/2:build=31:shell:cc -O{o} k.c -o {build}/k;build.timeout=11:30000000000;build.cwd=1"
             ":1;source.name=3:a.c;source.sha256=64:386593f1475dc210d45a5f3d4b6bb11c065fc6fe2e08ebdd00ab"
             "4cf3a0848744;source.name=3:k.c;source.sha256=64:e3b0c44298fc1c149afbf4c8996fb92427ae41e464"
             "9b934ca495991b7852b855;callable=0:;run=25:argv=3:./k;=3:{x};=3:a b;;run.timeout=11:1000000"
             "0000;run.cwd=1:0;warmup=1:1;repeats.min=1:3;repeats.max=2:20;repeats.until=17:d3fa99999999"
             "9999a;check=18:shell:cmp out want;check.timeout=10:5000000000;objective=1:0;metric=4:time;"
             "metric.from=11:last_number;metric.expression=0:;metric.unit=2:ms;metric.goal=8:minimize;");
  BOOST_TEST(id.workload_key.hex() == "7220132954046c00162296510277adba909202c913660ee72ef6512329eea04e");
  BOOST_TEST(id.target_key.hex() == "0bb050a8bee84a69cbdfe4a3d6b7935b766a2b0b8a4b7e8d4bd8eb79d95d2290");
  BOOST_TEST(id.method_key.hex() == "22d99ebe35739c297efc516e14af2c2cba81e4972cbb58addddf5a3b4f08d3fa");
  BOOST_TEST(id.task_key.hex() == "4c860b8bcf2958201125a969877e21805aa33246ee527e7447a5177793c1996b");
  const configuration c(
      {{"x", 1}, {"y", 1.0}, {"s", "1"}, {"b", true}, {"o", permutation{{"i", "j", "k"}}}, {"z", value()}});
  BOOST_TEST(measurement_key(id, c.canonical()).hex() == "4672f2fb10524824a9fe38c5ca980452");
}

BOOST_AUTO_TEST_CASE(a_task_keeps_what_it_was_made_of) {
  const auto t = make_task(spec, where, [](const configuration&, std::stop_token) { return std::vector{1.0}; });
  BOOST_REQUIRE(t.ok());
  BOOST_TEST((*t)->load.name == "gemm");
  BOOST_TEST((*t)->where.device() == "board-7");
  BOOST_TEST((*t)->metric().unit == "ms");
  BOOST_TEST(static_cast<bool>((*t)->objective));
  BOOST_TEST((*t)->better(1, 2));
  BOOST_TEST(!(*t)->better(2, 2));
  spec.run.metrics[0].direction = goal::maximize;
  BOOST_TEST((*make_task(spec, where))->better(2, 1));
}

BOOST_AUTO_TEST_CASE(without_a_target_this_machines_is_taken) {
  spec.target = {{"flags", "-O2"}};
  const auto t = make_task(spec);
  BOOST_REQUIRE(t.ok());
  BOOST_TEST((*t)->where.canonical() == local_target(spec.target).canonical());
}

BOOST_AUTO_TEST_CASE(each_part_changes_its_own_key_and_the_tasks) {
  const auto id = (*make_task(spec, where))->identity;
  const auto changed = [&](auto change) {
    auto s = spec;
    auto w = where;
    change(s, w);
    const auto other = (*make_task(s, w))->identity;
    BOOST_TEST((other.task_key != id.task_key));
    return std::string() + (other.workload_key != id.workload_key ? "w" : "") +
           (other.target_key != id.target_key ? "t" : "") + (other.method_key != id.method_key ? "m" : "");
  };
  BOOST_TEST(changed([](task_spec& s, target&) { s.workload[0].second = value(1024.0); }) == "w");
  BOOST_TEST(changed([](task_spec& s, target&) { s.name = "gemv"; }) == "w");
  BOOST_TEST(changed([](task_spec&, target& w) { w.facts.emplace_back("driver", 1); }) == "t");
  BOOST_TEST(changed([](task_spec& s, target&) { s.run.timeout += 1ns; }) == "m");
}

BOOST_AUTO_TEST_CASE(every_part_of_the_method_is_identity) {
  const auto before = form();
  const std::function<void(task_spec&)> changes[]{
      [](task_spec& s) { s.build.reset(); },
      [](task_spec& s) { s.build->run.shell += " "; },
      [](task_spec& s) {
        s.build->run = {{}, {s.build->run.shell}};
      },
      [](task_spec& s) { s.build->timeout += 1ns; },
      [](task_spec& s) { s.build->cwd = working_directory::specdir; },
      [](task_spec& s) { s.build->sources.pop_back(); },
      [](task_spec& s) { s.callable = "f/1"; },
      [](task_spec& s) {
        s.run.run.argv = {"./k", "{x}", "a", "b"};
      },
      [](task_spec& s) {
        s.run.run.argv = {"./k", "{x} a b"};
      },
      [](task_spec& s) {
        s.run.run = {"./k {x} 'a b'", {}};
      },
      [](task_spec& s) { s.run.cwd = working_directory::workdir; },
      [](task_spec& s) { s.run.warmup = 2; },
      [](task_spec& s) { s.run.repeats.min = 4; },
      [](task_spec& s) { s.run.repeats.max = 21; },
      [](task_spec& s) { s.run.repeats.until = 0.06; },
      [](task_spec& s) { s.run.check.run.shell = "true"; },
      [](task_spec& s) { s.run.check.timeout += 1s; },
      [](task_spec& s) { s.run.metrics.push_back({}); },
      [](task_spec& s) { s.run.metrics[0].name = "speed"; },
      [](task_spec& s) { s.run.metrics[0].source = metric_spec::from::wall; },
      [](task_spec& s) { s.run.metrics[0].source = metric_spec::from::cpu; },
      [](task_spec& s) { s.run.metrics[0].source = metric_spec::from::memory; },
      [](task_spec& s) { s.run.metrics[0].source = metric_spec::from::counter; },
      [](task_spec& s) { s.run.metrics[0].source = metric_spec::from::energy; },
      [](task_spec& s) { s.run.metrics[0].expression = "x"; },
      [](task_spec& s) { s.run.metrics[0].unit = "s"; },
      [](task_spec& s) { s.run.metrics[0].direction = goal::maximize; },
      [](task_spec& s) { s.run.objective = 1; },
      [](task_spec& s) { s.run.limits = {{"time < 1"}}; },
      [](task_spec& s) {
        s.run.limits = {{"time < 1"}, {"time > 0"}};
      },
  };
  std::vector<std::string> forms{before};
  for (const auto& change : changes) {
    auto s = spec;
    change(s);
    auto f = method_form(s);
    BOOST_REQUIRE(f.ok());
    BOOST_TEST(std::count(forms.begin(), forms.end(), *f) == 0, "change " << forms.size());
    forms.push_back(*f);
  }
}

BOOST_AUTO_TEST_CASE(how_the_search_goes_is_not_identity) {
  const auto before = form();
  spec.search.seed = 99;
  spec.search.strategy = "grid";
  spec.measure.slots = 2;
  spec.weight = 3;
  spec.parameters.push_back({"x", value_list{{1, 2}}, {}, {}, {}});
  BOOST_TEST(form() == before);
}

BOOST_AUTO_TEST_CASE(the_contents_of_a_source_are_identity_and_its_folder_is_not) {
  const auto before = form();
  in.write("a.c", "int b;\n");
  BOOST_TEST(form() != before);
  in.write("a.c", "int a;\n");
  BOOST_TEST(form() == before);
  const folder elsewhere;
  elsewhere.write("a.c", "int a;\n");
  elsewhere.write("k.c", "");
  spec.directory = elsewhere.path;
  BOOST_TEST(form() == before);
}

BOOST_AUTO_TEST_CASE(the_order_in_which_sources_are_named_makes_no_difference) {
  const auto before = form();
  spec.build->sources = {"a.c", "k.c"};
  BOOST_TEST(form() == before);
}

BOOST_AUTO_TEST_CASE(a_name_of_a_source_cannot_be_read_as_a_field) {
  const auto before = form();
  // The form of the two sources behind the first name, as the name of one: names are counted like everything else.
  const auto from = before.find("a.c"), to = before.find("callable=");
  BOOST_REQUIRE((from != std::string::npos && to != std::string::npos));
  const auto name = before.substr(from, to - from - 1);
  std::string flat = name;
  std::replace(flat.begin(), flat.end(), '/', '_');
  in.write(flat, "");
  spec.build->sources = {flat};
  const auto f = method_form(spec);
  BOOST_REQUIRE(f.ok());
  BOOST_TEST((f->find("source.name=" + std::to_string(flat.size()) + ":" + flat + ";") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(an_empty_source_and_a_source_of_zeros_are_read_whole) {
  in.write("k.c", std::string(3, '\0'));
  const auto zeros = form();
  in.write("k.c", "");
  BOOST_TEST(form() != zeros);
}

BOOST_AUTO_TEST_CASE(a_source_that_cannot_be_read_is_refused_with_its_name) {
  std::filesystem::create_directory(in.path + "/sub");
  for (const char* name : {"missing.c", "sub", "a.c/x"}) {
    spec.build->sources = {"k.c", name};
    const auto f = method_form(spec);
    BOOST_REQUIRE_MESSAGE(!f.ok(), name);
    BOOST_TEST((f.err().code == errc::invalid_spec));
    BOOST_TEST((f.err().message.find(in.path + "/" + name) != std::string::npos));
    BOOST_TEST(f.err().where == "spec.yaml");
    BOOST_TEST(!make_task(spec, where).ok());
  }
}

BOOST_AUTO_TEST_CASE(an_absolute_source_is_taken_as_it_is) {
  spec.directory = "/nowhere";
  spec.build->sources = {in.path + "/a.c"};
  BOOST_TEST(method_form(spec).ok());
}

BOOST_AUTO_TEST_CASE(an_objective_that_is_no_metric_is_refused) {
  spec.run.objective = 1;
  const auto t = make_task(spec, where);
  BOOST_REQUIRE(!t.ok());
  BOOST_TEST((t.err().code == errc::invalid_spec));
  spec.run.objective = 0;
  spec.run.metrics.clear();
  BOOST_TEST(!make_task(spec, where).ok());
}

BOOST_AUTO_TEST_CASE(the_key_of_a_measurement_depends_on_the_task_and_the_configuration) {
  const auto id = (*make_task(spec, where))->identity;
  auto other = id;
  other.task_key.bytes[31] ^= 1;
  BOOST_TEST((measurement_key(id, "1{1:ai1;}") != measurement_key(id, "1{1:ai2;}")));
  BOOST_TEST((measurement_key(id, "1{1:ai1;}") != measurement_key(other, "1{1:ai1;}")));
  BOOST_TEST((measurement_key(id, configuration(arguments{{"a", 1}, {"b", 2}}).canonical()) ==
              measurement_key(id, configuration(arguments{{"b", 2}, {"a", 1}}).canonical())));
}

BOOST_AUTO_TEST_CASE(the_space_form_tells_every_domain_apart_and_forgets_the_order_of_parameters) {
  const parameter_domain domains[]{value_list{{1, 2}},
                                   value_list{{1.0, 2.0}},
                                   value_list{{"1", "2"}},
                                   integer_range{1, 2, 1, false},
                                   integer_range{1, 2, 1, true},
                                   real_range{1, 2, 1},
                                   real_grid{1, 2, 2, false},
                                   real_grid{1, 2, 2, true},
                                   power_range{1, 2},
                                   permutation_of{{"1", "2"}},
                                   value_expression{"[1, 2]"}};
  std::vector<std::string> forms;
  for (const auto& d : domains) {
    task_spec s;
    s.parameters = {{"p", d, {}, {}, {}}, {"q", value_list{{1}}, {}, {}, {}}};
    const auto f = space_form(s);
    BOOST_TEST(std::count(forms.begin(), forms.end(), f) == 0);
    std::swap(s.parameters[0], s.parameters[1]);
    BOOST_TEST(space_form(s) == f);
    s.parameters[0].standard = value(1);
    BOOST_TEST(space_form(s) == f);
    s.parameters[0].when = "p == 1";
    BOOST_TEST(space_form(s) != f);
    s.parameters[0].when.clear();
    s.constraints.push_back({"p > q", {}, {}});
    BOOST_TEST(space_form(s) != f);
    forms.push_back(f);
  }
}

BOOST_AUTO_TEST_SUITE_END()
