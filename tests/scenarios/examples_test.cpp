// The examples do what they say.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <string>

using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

const std::string gemm = ATTUNE_SOURCE_DIR "/examples/gemm", resnet = ATTUNE_SOURCE_DIR "/examples/resnet50";

} // namespace

BOOST_AUTO_TEST_CASE(the_matrix_multiply_is_right_in_every_corner_of_its_space) {
  const scenario s;
  const char* corners[] = {
      "-O1",
      "-O2 -DPLAIN",
      "-O3 -DVEC=1 -DTILE_M=7 -DTILE_N=9 -DTILE_K=5 -DMICRO_M=3 -DMICRO_N=2 -DORDER=k,j,i -DUNROLL=4",
      "-O2 -DVEC=16 -DMICRO_M=8 -DMICRO_N=3 -DTILE_M=16 -DTILE_N=512 -DPACK_A=true -DPACK_B=false -DORDER=j,k,i "
      "-DPREFETCH=16",
      "-O3 -funroll-loops -DVEC=4 -DMICRO_M=6 -DMICRO_N=4 -DTILE_M=100 -DTILE_N=48 -DPACK_A=0 -DPACK_B=1 -DORDER=i,k,j "
      "-DPREFETCH= -DUNROLL=8",
      "-O1 -DVEC=8 -DMICRO_M=2 -DMICRO_N=1 -DTILE_K=16 -DPACK_A=1 -DPACK_B=1 -DORDER=k,i,j -DUNROLL=2",
  };
  for (const std::string corner : corners) {
    const auto built =
        process({"/bin/sh", "-c", "g++ -march=native " + corner + " " + gemm + "/gemm.cpp -o ./gemm"}, s.folder())
            .wait(60s);
    BOOST_REQUIRE_MESSAGE(built.exit == 0, corner << ": " << built.told());
    const auto verified = process({s.path("gemm"), "--verify"}, s.folder()).wait(60s);
    BOOST_TEST(verified.exit == 0, corner << ": " << verified.told());
  }
}

BOOST_AUTO_TEST_CASE(the_space_of_the_matrix_multiply_is_large_and_holds_its_default) {
  const scenario s;
  const auto e = s.attune({"space", gemm + "/gemm.yaml", "--count", "--json"});
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  BOOST_TEST(e.document()["parameters"] >= 8, e.told());
  BOOST_TEST(e.document()["valid"] > 100'000, e.told());
  BOOST_TEST(e.document()["valid"] < e.document()["cartesian"], e.told());
}

BOOST_AUTO_TEST_CASE(the_matrix_multiply_is_tuned_and_remembered) {
  const scenario s;
  const auto first = s.tune(gemm + "/gemm.yaml", {"--trials", "4"}, 120s);
  BOOST_REQUIRE_MESSAGE(first.exit == 0, first.told());
  const auto d = first.document();
  BOOST_TEST(d["best"]["unit"] == "s");
  BOOST_TEST(d["best"]["value"] < 10);
  BOOST_TEST(d["trials"]["proposed"] == 4);
  BOOST_TEST(!d["trials"]["failed"].contains("build_error"), first.told());
  BOOST_TEST(!d["trials"]["failed"].contains("wrong_output"), first.told());
  const auto again = s.tune(gemm + "/gemm.yaml", {"--trials", "4"});
  BOOST_REQUIRE_MESSAGE(again.exit == 0, again.told());
  BOOST_TEST(again.document()["trials"]["measured"] == 0, again.told());
  BOOST_TEST(again.document()["trials"]["cached"] == 4, again.told());
  BOOST_TEST(again.document()["best"]["config"] == d["best"]["config"], again.told());
}

BOOST_AUTO_TEST_CASE(the_convolution_is_right_in_corners_of_its_space) {
  const scenario s;
  const char* corners[] = {
      "-O2 -DC=3 -DK=64 -DIN=32 -DR=7 -DS=2 -DLAYOUT=0 -DVEC=8 -DKV=1 -DTILE_W=1 -DTILE_H=1 -DTILE_C=64 "
      "-DORDER=k,y,x,c "
      "-DUNROLL=1",
      "-O3 -DC=32 -DK=64 -DIN=14 -DR=3 -DS=1 -DLAYOUT=1 -DVEC=16 -DKV=2 -DTILE_W=7 -DTILE_H=2 -DTILE_C=16 "
      "-DORDER=c,k,y,x -DUNROLL=4",
      "-O3 -ffast-math -DC=64 -DK=32 -DIN=14 -DR=1 -DS=2 -DLAYOUT=2 -DVEC=4 -DKV=4 -DTILE_W=7 -DTILE_H=7 -DTILE_C=16 "
      "-DORDER=x,c,y,k -DUNROLL=2",
      "-O2 -DC=16 -DK=16 -DIN=7 -DR=1 -DS=1 -DLAYOUT=0 -DVEC=8 -DKV=4 -DTILE_W=14 -DTILE_H=2 -DTILE_C=16 "
      "-DORDER=y,x,k,c -DUNROLL=2",
  };
  for (const std::string corner : corners) {
    const auto built =
        process({"/bin/sh", "-c", "g++ -march=native " + corner + " " + resnet + "/conv.cpp -o ./conv"}, s.folder())
            .wait(60s);
    BOOST_REQUIRE_MESSAGE(built.exit == 0, corner << ": " << built.told());
    const auto verified = process({s.path("conv"), "--verify"}, s.folder()).wait(60s);
    BOOST_TEST(verified.exit == 0, corner << ": " << verified.told());
  }
}

BOOST_AUTO_TEST_CASE(layers_of_a_network_are_tuned_with_one_budget_bundled_and_run) {
  const scenario s;
  const std::string spec = resnet + "/small.yaml";
  const auto first = s.tune(spec, {"--trials", "6"}, 200s);
  BOOST_REQUIRE_MESSAGE(first.exit == 0, first.told());
  BOOST_TEST(first.document()["tasks"].size() == 3u);
  BOOST_TEST(first.document()["total"]["shared_trials"] == 6);
  BOOST_TEST(first.document()["total"]["trials"]["failed"].empty(), first.told());
  BOOST_TEST(first.document()["total"]["speedup"] >= 1);
  const auto again = s.tune(spec, {"--trials", "6"});
  BOOST_REQUIRE_MESSAGE(again.exit == 0, again.told());
  BOOST_TEST(again.document()["total"]["trials"]["measured"] == 0, again.told());
  BOOST_TEST(again.document()["total"]["trials"]["cached"] == 6, again.told());
  const auto bundle = s.attune({"bundle", spec, "-o", s.path("b")});
  BOOST_REQUIRE_MESSAGE(bundle.exit == 0, bundle.told());
  const auto run =
      process({RESNET50_EXAMPLE, s.path("b"), resnet + "/conv.cpp", "--singles", "1", "--repeats", "1"}, s.folder())
          .wait(200s);
  BOOST_REQUIRE_MESSAGE(run.exit == 0, run.told());
  BOOST_TEST(run.out.find("20 of the 23 layers are not in the bundle") != std::string::npos, run.told());
  BOOST_TEST(run.out.find("speed-up over the default") != std::string::npos, run.told());
  BOOST_TEST(run.out.find("over the best single configuration") != std::string::npos, run.told());
}

BOOST_AUTO_TEST_CASE(a_program_tunes_a_part_of_itself_and_finds_the_result_again) {
  const scenario s;
  const auto run = [&] { return process({EMBEDDED_EXAMPLE, s.store()}, s.folder()).wait(60s); };
  const auto first = run();
  BOOST_REQUIRE_MESSAGE(first.exit == 0, first.told());
  BOOST_TEST(first.out.find("measured 60, from the store 0") != std::string::npos, first.told());
  const auto again = run();
  BOOST_REQUIRE_MESSAGE(again.exit == 0, again.told());
  BOOST_TEST(again.out.find("measured 0, from the store 60") != std::string::npos, again.told());
  BOOST_TEST(again.out.substr(0, again.out.find('\n')) == first.out.substr(0, first.out.find('\n')));
}

BOOST_AUTO_TEST_CASE(a_program_measures_by_itself_and_is_not_asked_again) {
  const scenario s;
  const auto run = [&] { return process({ASK_TELL_EXAMPLE, s.store()}, s.folder()).wait(60s); };
  const auto first = run();
  BOOST_REQUIRE_MESSAGE(first.exit == 0, first.told());
  BOOST_TEST(first.out.find("measured 35, from the store 0") != std::string::npos, first.told());
  const auto again = run();
  BOOST_REQUIRE_MESSAGE(again.exit == 0, again.told());
  BOOST_TEST(again.out.find("measured 0, from the store 35") != std::string::npos, again.told());
}

BOOST_AUTO_TEST_CASE(a_service_tunes_itself_while_it_serves) {
  const scenario s;
  for (int n = 0; n < 2; ++n) {
    const auto e = process({LIVE_SERVICE_EXAMPLE, "6000", s.store()}, s.folder()).wait(60s);
    BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
    BOOST_TEST(e.out.find("served 6000 requests") != std::string::npos, e.told());
    BOOST_TEST(e.out.find("serving with: small=") != std::string::npos, e.told());
  }
}

BOOST_AUTO_TEST_CASE(the_actors_are_driven_by_messages) {
  const scenario s;
  const auto e = process({MESSAGES_EXAMPLE}, s.folder()).wait(60s);
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  BOOST_TEST(e.out.find("best: x=3, 4 records written") != std::string::npos, e.told());
}

BOOST_AUTO_TEST_CASE(the_ten_lines_of_the_readme_are_this_program) {
  const scenario s;
  const auto e = process({TEN_LINES_EXAMPLE}, s.folder()).wait(60s);
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  BOOST_TEST(e.out.find("block ") != std::string::npos, e.told());
  const auto text = [](const std::string& name) {
    std::ifstream in(std::string(ATTUNE_SOURCE_DIR "/") + name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  BOOST_TEST(text("README.md").find("```cpp\n" + text("examples/ten_lines/main.cpp") + "```") != std::string::npos);
}
