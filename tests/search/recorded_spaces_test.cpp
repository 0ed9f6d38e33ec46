// Compiled spaces against spaces that others have recorded: configuration for configuration.
#include "search/space.hpp"
#include "storage/recorded.hpp"
#include "storage/spec_reader.hpp"
#include "tests/shared_data.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>

using namespace attune;

namespace {

/// The spec with the values that were recorded, where those are fewer (a recording may cover a part of a space).
task_spec as_recorded(task_spec spec, const storage::recorded_space& recorded) {
  for (auto& p : spec.parameters)
    for (const auto& r : recorded.parameters)
      if (r.name == p.name) {
        p.domain = value_list{r.values};
        p.standard.reset();
      }
  // The gemm of the recording did not have this rule yet.
  std::erase_if(spec.constraints, [](const constraint& c) { return c.expression.starts_with("not (MWG == 128 and"); });
  return spec;
}

} // namespace

BOOST_AUTO_TEST_CASE(recorded_spaces_hold_exactly_what_was_recorded) {
  struct one {
    const char *spec, *recorded;
    std::size_t size;
  };
  for (const auto& [name, recorded_name, size] :
       {one{"convolution_milo", "convolution_milo-A100", 4'362},
        one{"convolution_milo", "convolution_milo-MI250X", 4'362},
        one{"dedispersion_milo", "dedispersion_milo-A4000", 11'130},
        one{"dedispersion_milo", "dedispersion_milo-MI250X", 11'130}, one{"gemm_milo", "gemm-RTX_3090", 17'956},
        one{"pnpoly", "pnpoly-RTX_3090", 4'092}}) {
    const auto spec_path = testing::shared_data("spaces/" + std::string(name) + ".json");
    const auto recorded_path = testing::shared_data("recorded/" + std::string(recorded_name) + ".json.gz");
    if (!spec_path || !recorded_path) continue;
    const auto specs = storage::read_spec(*spec_path);
    BOOST_REQUIRE_MESSAGE(specs.ok(), (specs ? "" : specs.err().text()));
    const auto recorded = storage::read_recorded(*recorded_path);
    BOOST_REQUIRE_MESSAGE(recorded.ok(), (recorded ? "" : recorded.err().text()));
    const auto spec = as_recorded((*specs)[0], *recorded);
    const auto space = search::space::compile(spec.parameters, spec.constraints);
    BOOST_REQUIRE_MESSAGE(space.ok(), (space ? "" : space.err().text()));
    BOOST_REQUIRE((*space)->count().has_value());
    BOOST_TEST(static_cast<std::uint64_t>(*(*space)->count()) == size, recorded_name);

    std::set<search::point> seen;
    for (const auto& t : recorded->trials) {
      arguments values;
      for (std::size_t i = 0; i < t.at.size(); ++i)
        values.emplace_back(recorded->parameters[i].name, recorded->parameters[i].values[t.at[i]]);
      // What a recording does not name has one value only.
      for (const auto& p : (*space)->parameters())
        if (!find(values, p.name)) {
          BOOST_REQUIRE_MESSAGE(p.size == 1u, recorded_name << " lacks " << p.name);
          const auto i = static_cast<std::size_t>(&p - (*space)->parameters().data());
          values.emplace_back(p.name, (*space)->value_at(i, 0));
        }
      const auto p = (*space)->to_point(configuration(values));
      BOOST_REQUIRE_MESSAGE(p.ok(), recorded_name << ": " << (p ? "" : p.err().message));
      BOOST_REQUIRE_MESSAGE((*space)->contains(*p), recorded_name << ": " << configuration(values).text());
      seen.insert(*p);
    }
    // All that was recorded is in the space, and there is as much of it as the space has.
    BOOST_TEST(seen.size() == size, recorded_name);
  }
}
