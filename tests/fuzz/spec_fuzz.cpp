// Reads any bytes as a spec file (ATTUNE_FUZZ_FILE is the name that says which form it has) and compiles the spaces
// that can be read. What is refused is refused with its place and one line.
#include "search/compiled_space.hpp"
#include "storage/spec_reader.hpp"

#include <cstddef>
#include <cstdint>

using namespace attune;
using namespace attune::search;

namespace {

void must(bool holds) {
  if (!holds) __builtin_trap();
}

void check(const error& e) {
  must(!e.message.empty() && e.message[0] != '\n');
  must(e.where.starts_with(ATTUNE_FUZZ_FILE));
}

void compile(const task_spec& task) {
  must(!task.parameters.empty());
  // Small limits, so that the fuzzer's time goes into many files.
  auto parts =
      compile_parts(task.parameters, task.constraints, task.workload, task.target, {1'000, 10'000, 20'000'000});
  if (!parts) {
    must(!parts.err().message.empty());
    return;
  }
  const compiled_space s(std::move(*parts));
  random_engine rng(3);
  const auto p = s.sample(rng);
  must(s.contains(p) && s.contains(s.standard()));
  const auto back = s.to_point(s.to_configuration(p));
  must(back.ok() && *back == p);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tasks = storage::read_spec_text(text, ATTUNE_FUZZ_FILE, "/nowhere");
  if (!tasks) {
    check(tasks.err());
    must(tasks.err().message.find('\n') == std::string::npos);
    return 0;
  }
  must(!tasks->empty());
  for (std::size_t i = 0; i < tasks->size() && i < 3; ++i) {
    for (const auto& warning : (*tasks)[i].warnings) must(warning.starts_with(ATTUNE_FUZZ_FILE));
    compile((*tasks)[i]);
  }
  return 0;
}
