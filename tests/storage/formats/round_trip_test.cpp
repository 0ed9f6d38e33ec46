// What is written and read again is what it was, for every format, on all that the format can express.
#include "core/random.hpp"
#include "storage/formats/export.hpp"
#include "storage/formats/tvm.hpp"
#include "tests/shared_data.hpp"
#include "tests/storage/formats/support.hpp"
#include "tests/storage/samples.hpp"

#include <cmath>
#include <cstring>
#include <limits>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::formats;
using namespace attune::storage::formats::testing;

namespace {

constexpr int rounds = 400;

class maker {
public:
  explicit maker(std::uint64_t seed) : rng(seed) {}

  std::string word() {
    static constexpr std::string_view parts[] = {"a",    "tile", "x9", "é", " ",   "\"",   "\\",
                                                 ",",    ";",    "\n", "#", "[1,", "{",    "1.5",
                                                 "true", "null", "\t", "'", ":",   "\x7f", "="};
    std::string out;
    for (auto n = rng.below(5); n > 0; --n) out += parts[rng.below(std::size(parts))];
    return out;
  }
  std::string name() {
    static constexpr std::string_view letters = "abcxyz_";
    std::string out;
    for (auto n = 1 + rng.below(4); n > 0; --n) out += letters[rng.below(letters.size())];
    return out;
  }
  std::int64_t integer() {
    const auto n = static_cast<std::int64_t>(rng() >> rng.below(64));
    return rng.chance(0.3) ? -n : n;
  }
  double positive() { return std::ldexp(1 + rng.uniform(), static_cast<int>(rng.below(60)) - 40); }
  value number() {
    return rng.chance(0.8) ? value(integer()) : value(rng.chance(0.5) ? positive() : std::floor(positive()));
  }
  nanoseconds time() {
    return rng.chance(0.3) ? nanoseconds{0} : nanoseconds(static_cast<std::int64_t>(rng() >> (10 + rng.below(40))));
  }
  nanoseconds day() {
    return nanoseconds(1'400'000'000'000'000'000 + static_cast<std::int64_t>(rng.below(400'000'000'000'000'000)));
  }

  measurement measured(std::size_t most_samples) {
    measurement m;
    for (auto n = most_samples == 0 ? 0 : 1 + rng.below(most_samples); n > 0; --n) m.samples.push_back(positive());
    m.value = m.samples.empty() ? positive() : m.samples[rng.below(m.samples.size())];
    return m;
  }

  random_engine rng;
};

/// The mean as the readers of costs compute it.
double mean(const std::vector<double>& all) {
  double sum = 0;
  for (const double d : all) sum += d;
  return sum / static_cast<double>(all.size());
}

configuration config(arguments values) { return configuration(values); }

/// A value that JSON formats hold.
value json_value(maker& m) {
  switch (m.rng.below(6)) {
  case 0:
    return value(m.rng.chance(0.5));
  case 1:
    return value("[1,\"a\",{\"b\":null}]");
  case 2: {
    // As a string of another tool comes in: in quotes where it looks like JSON.
    std::string text;
    json_string(m.word(), text);
    json_document d;
    BOOST_REQUIRE(d.parse(text.data(), text.size()));
    return *to_value(d.root());
  }
  default:
    return m.number();
  }
}

arguments parameters(maker& m, const std::function<value()>& make) {
  arguments out;
  for (auto n = 1 + m.rng.below(5); n > 0; --n) {
    auto name = m.name();
    if (find(out, name) == nullptr) out.emplace_back(std::move(name), make());
  }
  return out;
}

void fail_as(entry& e, failure_kind kind, std::string message) { fail(e.result, kind, std::move(message)); }

entry autotvm_like(maker& m, const char* format) {
  entry e;
  arguments c;
  for (auto n = 1 + m.rng.below(4); n > 0; --n) {
    const auto name = m.name() + std::to_string(n);
    switch (m.rng.below(5)) {
    case 0:
    case 1:
      for (std::size_t k = 0, size = 1 + m.rng.below(12); k < size; ++k)
        c.emplace_back(name + "." + std::to_string(k), value(m.integer()));
      break;
    case 2:
      c.emplace_back(name, value("[2,0,1]"));
      break;
    case 3:
      c.emplace_back(name, value("[\"none\",\"vec\"]"));
      break;
    default: {
      auto v = json_value(m);
      const bool list = v.type() == value::kind::text && v.as_text().starts_with('[');
      c.emplace_back(list || m.rng.chance(0.1) ? name + (list ? ".ot" : ".7.ot") : name, std::move(v));
    }
    }
  }
  e.config = config(c);
  workload what{m.word(), {{"arg0", json_value(m)}, {"arg1", value("null")}, {"kernel", json_value(m)}}};
  std::string target_text = "cuda -model=" + m.name();
  json_document d;
  std::string quoted;
  json_string(target_text, quoted);
  d.parse(quoted.data(), quoted.size());
  const auto both =
      foreign(what, tvm_target(d.root()), {"autotvm", m.rng.chance(0.5) ? "0.8" : "", {}}, "time", "s", goal::minimize);
  e.task = both.sampled;
  auto& o = e.result;
  o.runner = "autotvm";
  o.phases.build = m.time();
  o.at = m.day();
  if (m.rng.chance(0.7)) {
    auto r = m.measured(3);
    r.value = r.samples.size() == 1 ? r.samples[0] : mean(r.samples);
    o.data = r;
    e.by_samples = true;
  } else {
    const int number = 1 + static_cast<int>(m.rng.below(8));
    constexpr failure_kind kinds[] = {
        failure_kind::invalid_config, failure_kind::build_error,   failure_kind::build_error, failure_kind::run_error,
        failure_kind::wrong_output,   failure_kind::build_timeout, failure_kind::run_timeout, failure_kind::run_error};
    fail_as(e, kinds[number - 1], "AutoTVM error " + std::to_string(number));
  }
  note(o, "index", std::to_string(m.rng.below(100'000)));
  if (m.rng.chance(0.2)) note(o, "code_hash", m.word());
  (void)format;
  return e;
}

entry ansor_like(maker& m, const char*) {
  entry e;
  e.config =
      config({{"sketch", value(R"([[],[["SP",2,0,128,null,1],["RE",2,[0,5]],["PR",4,0,""],["SP",3,1,4,[null,2],1]]])")},
              {"0.0", value(m.integer())},
              {"0.1", value(m.integer())},
              {"2.pragma", value("auto_unroll_max_step$" + std::to_string(m.rng.below(512)))}});
  std::string text = "\"cuda -keys=cuda,gpu -model=t4\"";
  json_document d;
  d.parse(text.data(), text.size());
  auto where = tvm_target(d.root());
  where.facts.emplace_back("hardware", value("[-1,16,64]"));
  where.facts.emplace_back("target_host", value(m.rng.chance(0.5) ? "" : "llvm"));
  if (m.rng.chance(0.5)) where.facts.emplace_back("layout", value(0));
  const auto both =
      foreign({"[\"" + m.name() + "\", 4]", {}}, where, {"ansor", "v0.5", {}}, "time", "s", goal::minimize);
  e.task = both.sampled;
  auto& o = e.result;
  o.runner = "ansor";
  o.phases.build = m.time();
  o.at = m.day();
  if (m.rng.chance(0.7)) {
    auto r = m.measured(3);
    r.value = r.samples.size() == 1 ? r.samples[0] : mean(r.samples);
    o.data = r;
    e.by_samples = true;
  } else {
    fail_as(e, failure_kind::run_timeout, "Ansor error 7");
  }
  return e;
}

entry metaschedule_like(maker& m, const char*) {
  entry e;
  e.config = config({{"trace", value(R"([["Split",["l5","None"],[1],["l7"]],["X",[],[0.16666666666666665741],[]]])")},
                     {"0.0", value(m.integer())},
                     {"0.1", value(m.integer())},
                     {"1", json_value(m)}});
  // A list of integers would be 1.0, 1.1, …
  if (e.config[3].type() == value::kind::text && e.config[3].as_text().starts_with("[]"))
    return metaschedule_like(m, nullptr);
  std::string text = R"({"kind":"metal","tag":""})";
  json_document d;
  d.parse(text.data(), text.size());
  const auto both = foreign({"metaschedule",
                             {{"workload", value(static_cast<std::int64_t>(m.rng.below(50)))},
                              {"arg0", value("[\"TENSOR\",\"float32\",[1]]")}}},
                            m.rng.chance(0.8) ? tvm_target(d.root()) : target{{{"device", value("")}}},
                            {"metaschedule", {}, {}}, "time", "s", goal::minimize);
  e.task = both.sampled;
  e.result.runner = "metaschedule";
  if (m.rng.chance(0.7)) {
    auto r = m.measured(3);
    r.value = r.samples.size() == 1 ? r.samples[0] : mean(r.samples);
    e.result.data = r;
    e.by_samples = true;
  } else {
    fail_as(e, failure_kind::run_error, "recorded as failed");
  }
  return e;
}

/// Formats of one task in a file: the task of the round.
struct one_task {
  foreign_task both;
  std::vector<std::string> names;
  bool samples = true;
};

one_task kernel_tuner_task(maker& m) {
  one_task out;
  const bool rate = m.rng.chance(0.3);
  workload what{m.word(), {}};
  if (m.rng.chance(0.7)) what.args.emplace_back("problem_size", m.rng.chance(0.5) ? value(100) : value("[4,4]"));
  out.both = foreign(what, {{{"device", value(m.word())}}}, {"kernel-tuner", {}, {}}, rate ? "GFLOP/s" : "time",
                     rate ? "GFLOP/s" : "s", rate ? goal::maximize : goal::minimize);
  out.names = {"x", m.name() + "_", "block"};
  out.samples = !rate;
  return out;
}

entry kernel_tuner_like(maker& m, const one_task& task) {
  entry e;
  arguments c;
  for (const auto& n : task.names) c.emplace_back(n, json_value(m));
  e.config = config(c);
  e.task = task.samples ? task.both.sampled : task.both.stated;
  auto& o = e.result;
  o.runner = "kernel-tuner";
  o.phases = {{}, m.time(), m.time(), m.time()};
  o.at = m.day();
  if (m.rng.chance(0.7)) {
    auto r = m.measured(task.samples ? 5 : 0);
    if (m.rng.chance(0.5)) r.metrics.emplace_back("GB/s", m.positive());
    o.data = r;
    e.by_samples = task.samples;
  } else {
    constexpr std::pair<failure_kind, const char*> words[] = {{failure_kind::build_error, "CompilationFailedConfig"},
                                                              {failure_kind::run_error, "RuntimeFailedConfig"},
                                                              {failure_kind::invalid_config, "InvalidConfig"}};
    const auto& [kind, text] = words[m.rng.below(3)];
    fail_as(e, kind, text);
  }
  return e;
}

one_task t4_task(maker& m) {
  one_task out;
  out.both = foreign({"some", {}}, {{{"device", value(m.word())}}}, {"t4", {}, {}}, "time", "s", goal::minimize);
  out.names = {"x", m.name() + "_"};
  return out;
}

entry t4_like(maker& m, const one_task& task) {
  entry e;
  arguments c;
  for (const auto& n : task.names) {
    auto v = json_value(m);
    // Text that is a number would be read as one.
    if (v.type() == value::kind::text) v = value("w" + v.as_text());
    c.emplace_back(n, v);
  }
  e.config = config(c);
  e.task = task.both.sampled;
  auto& o = e.result;
  o.runner = "t4";
  o.at = m.day();
  o.phases.build = m.time();
  o.phases.search = m.time();
  if (m.rng.chance(0.7)) {
    auto r = m.measured(4);
    double run = 0;
    for (const double s : r.samples) run += s;
    o.phases.run = m.time() + from_seconds(run);
    if (m.rng.chance(0.5)) r.metrics.emplace_back("watts", m.positive());
    o.data = r;
    e.by_samples = true;
  } else {
    o.phases.run = m.time();
    constexpr std::pair<failure_kind, const char*> words[] = {{failure_kind::build_error, "compile"},
                                                              {failure_kind::run_error, "runtime"},
                                                              {failure_kind::invalid_config, "constraints"},
                                                              {failure_kind::run_timeout, "timeout"},
                                                              {failure_kind::wrong_output, "correctness"}};
    const auto& [kind, text] = words[m.rng.below(5)];
    fail_as(e, kind, text);
  }
  return e;
}

one_task ktt_task(maker& m) {
  one_task out;
  out.both = foreign({m.word(), {}}, {{{"device", value(m.word())}, {"platform", value("P")}, {"api", value("CUDA")}}},
                     {"ktt", "2.2", {}}, "time", "s", goal::minimize);
  out.names = {"x", m.name() + "_"};
  return out;
}

entry ktt_like(maker& m, const one_task& task) {
  entry e;
  arguments c;
  for (const auto& n : task.names) c.emplace_back(n, json_value(m));
  e.config = config(c);
  e.task = task.both.stated;
  auto& o = e.result;
  o.runner = "ktt";
  o.phases.build = m.time();
  if (m.rng.chance(0.7)) {
    auto r = m.measured(0);
    std::string text;
    write_scaled(r.value, -6, text);
    o.phases.run = m.time() + nanoseconds(*parse_nanoseconds(text, -6));
    o.data = r;
  } else {
    o.phases.run = m.time();
    constexpr std::pair<failure_kind, const char*> words[] = {{failure_kind::build_error, "CompilationFailed"},
                                                              {failure_kind::run_error, "ComputationFailed"},
                                                              {failure_kind::invalid_config, "DeviceLimitsExceeded"},
                                                              {failure_kind::wrong_output, "ValidationFailed"}};
    const auto& [kind, text] = words[m.rng.below(4)];
    fail_as(e, kind, text);
  }
  return e;
}

/// Anything that the store may hold. `own`: also what only our own lines can say.
entry any_record(maker& m, bool own) {
  entry e;
  const auto made = samples::make({.name = "t" + std::to_string(m.rng.below(4)),
                                   .size = static_cast<std::int64_t>(m.rng.below(3)),
                                   .device = "d",
                                   .run = "./run",
                                   .direction = m.rng.chance(0.5) ? goal::minimize : goal::maximize});
  auto task = entry_of(*made);
  e.task = std::make_shared<task_entry>(task);
  const auto text = [&] { return own && m.rng.chance(0.1) ? "\xff\xfe" + m.word() + std::string(1, '\0') : m.word(); };
  e.config = config(parameters(m, [&]() -> value {
    switch (m.rng.below(own ? 6 : 5)) {
    case 0:
      return value(m.rng.chance(0.5));
    case 1:
      return value(text());
    case 2:
      return value(permutation{{m.word(), m.word()}});
    case 5:
      return value();
    default:
      return m.number();
    }
  }));
  auto& o = e.result;
  o.phases = {m.time(), m.time(), m.time(), m.time(), m.time()};
  o.used = {m.time(), m.rng() >> (2 + m.rng.below(40))};
  const auto few = [&] { return static_cast<std::uint32_t>(m.rng.below(4)); };
  if (m.rng.chance(0.5)) o.around = {few(), few(), std::nullopt, 1, false};
  if (m.rng.chance(0.3)) o.around = {few(), few(), m.positive(), m.positive(), true};
  o.runner = text();
  o.at = m.day();
  e.session = m.rng.chance(0.5) ? "0123456789abcdef0123456789abcdef" : m.word();
  for (auto n = m.rng.below(3); n > 0; --n) o.notes.push_back(text());
  if (!own) {
    // A cell that is empty is not there; a line of CSV ends where it does.
    if (o.runner.empty()) o.runner = "r";
  }
  switch (m.rng.below(own ? 3 : 2)) {
  case 0: {
    auto r = m.measured(4);
    if (m.rng.chance(0.3)) r.value = -r.value;
    r.spread = m.rng.chance(0.5) ? 0 : m.positive();
    r.rejected = static_cast<std::uint32_t>(m.rng.below(3));
    for (auto n = m.rng.below(3); n > 0; --n) r.metrics.emplace_back("m" + std::to_string(n) + m.word(), m.positive());
    if (own && m.rng.chance(0.1)) r.samples.push_back(std::numeric_limits<double>::infinity());
    o.data = r;
    break;
  }
  case 1: {
    failure f;
    f.kind = all_failure_kinds[m.rng.below(all_failure_kinds.size())];
    f.message = text();
    if (m.rng.chance(0.3)) f.exit = static_cast<int>(m.rng.below(256));
    if (m.rng.chance(0.3)) f.signal = static_cast<int>(m.rng.below(64));
    o.data = f;
    break;
  }
  default:
    o.data = bound{m.positive(), m.positive(), {m.positive()}};
  }
  return e;
}

void holds(const std::vector<entry>& entries, const char* format) {
  const auto out = write_all(entries, format);
  BOOST_REQUIRE_MESSAGE(out.good.ok(), (out.good.ok() ? "" : out.good.err().text()));
  for (const auto& [what, n] : out.lost.counts())
    if (std::string_view(what) != "names of workloads") BOOST_ERROR(format << " lost " << what);
  const auto from = source::of(out.text, "folder/some.file");
  const auto as = recognise(*from);
  BOOST_REQUIRE_MESSAGE(as.ok(), (as.ok() ? "" : as.err().text()) << "\n" << out.text);
  const auto again = read_all(*from, **as);
  for (const auto& d : again.damages) BOOST_ERROR("line " << d.line << ": " << d.why << "\n" << out.text);
  BOOST_REQUIRE(again.entries.size() == entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (!same(entries[i], again.entries[i])) BOOST_FAIL(format << ": record " << i << " of\n" << out.text);
  // And once more the same text.
  BOOST_TEST(write_all(again.entries, format).text == out.text);
}

template <class Make>
void lines_hold(const char* format, Make make) {
  for (int i = 0; i < rounds; ++i) {
    maker m(static_cast<std::uint64_t>(i));
    std::vector<entry> entries;
    for (auto n = 1 + m.rng.below(4); n > 0; --n) entries.push_back(make(m, format));
    holds(entries, format);
  }
}

template <class Task, class Make>
void documents_hold(const char* format, Task task, Make make) {
  for (int i = 0; i < rounds; ++i) {
    maker m(static_cast<std::uint64_t>(i));
    const auto one = task(m);
    std::vector<entry> entries;
    // One that was measured: whether a file has samples is seen there.
    do entries.assign(1, make(m, one));
    while (!entries[0].result.ok());
    for (auto n = m.rng.below(4); n > 0; --n) entries.push_back(make(m, one));
    holds(entries, format);
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(formats_round_trip)

BOOST_AUTO_TEST_CASE(autotvm_0_2) { lines_hold("autotvm-0.2", autotvm_like); }
BOOST_AUTO_TEST_CASE(autotvm_0_1) { lines_hold("autotvm-0.1", autotvm_like); }
BOOST_AUTO_TEST_CASE(ansor) { lines_hold("ansor", ansor_like); }
BOOST_AUTO_TEST_CASE(metaschedule) { lines_hold("metaschedule", metaschedule_like); }
BOOST_AUTO_TEST_CASE(kernel_tuner) { documents_hold("kernel-tuner", kernel_tuner_task, kernel_tuner_like); }
BOOST_AUTO_TEST_CASE(t4) { documents_hold("t4", t4_task, t4_like); }
BOOST_AUTO_TEST_CASE(ktt) { documents_hold("ktt", ktt_task, ktt_like); }
BOOST_AUTO_TEST_CASE(csv) {
  lines_hold("csv", [](maker& m, const char*) { return any_record(m, false); });
}
BOOST_AUTO_TEST_CASE(our_own_lines) {
  lines_hold("attune", [](maker& m, const char*) { return any_record(m, true); });
}

BOOST_AUTO_TEST_CASE(no_time_is_negative_where_a_program_says_any_number) {
  maker m(11);
  const auto task = t4_task(m);
  auto e = t4_like(m, task);
  measurement said;
  said.value = 0.125;
  said.samples = {0.125};
  e.result.data = said;
  e.result.phases.run = std::chrono::milliseconds(5);
  const auto out = write_all({e}, "t4");
  BOOST_REQUIRE(out.good.ok());
  BOOST_TEST(out.text.find("\"validation\": 0.0") != std::string::npos, out.text);
  BOOST_TEST(out.lost.counts().at("run times shorter than their samples") == 1u);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_expressed_is_counted) {
  maker m(7);
  std::vector<entry> entries;
  for (int i = 0; i < 60; ++i) entries.push_back(any_record(m, true));
  for (const char* format : {"autotvm-0.2", "ansor", "metaschedule", "csv"}) {
    const auto out = write_all(entries, format);
    BOOST_REQUIRE(out.good.ok());
    std::uint64_t bounds = 0;
    for (const auto& e : entries) bounds += e.result.bounded() != nullptr ? 1 : 0;
    BOOST_TEST(out.lost.left_out() >= bounds, format);
    BOOST_TEST(out.lost.counts().at("records of runs that were stopped early") == bounds, format);
  }
  const auto several = write_all(entries, "kernel-tuner");
  BOOST_REQUIRE(!several.good.ok());
  BOOST_TEST((several.good.err().code == errc::invalid_spec));
  BOOST_TEST(several.good.err().message.find("--task") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_store_of_our_own_is_the_same_to_the_byte) {
  const samples::scratch_folder folder;
  maker m(3);
  const auto dump_of = [](const store& s) {
    std::string text;
    sink to([&](std::string_view t) {
      text += t;
      return true;
    });
    const auto done = export_records(s, to, *find_format("attune"), {});
    BOOST_REQUIRE_MESSAGE(done.ok(), (done.ok() ? "" : done.err().text()));
    return text;
  };
  std::string first;
  {
    auto s = store::open(folder.path() + "/a", {});
    BOOST_REQUIRE(s.ok());
    std::vector<task_ptr> tasks{samples::make({.name = "a"}),
                                samples::make({.name = "b", .direction = goal::maximize})};
    for (std::int64_t i = 0; i < 300; ++i) {
      auto e = any_record(m, true);
      std::vector<record_item> items(1);
      items[0].what = samples::ask(tasks[m.rng.below(2)], i % 5 == 0 ? samples::config(i) : e.config);
      items[0].result = std::make_shared<outcome>(e.result);
      items[0].session = e.session;
      items[0].cacheable = conclusive(e.result);
      BOOST_REQUIRE((*s)->append(items, {}).ok());
    }
    first = dump_of(**s);
    // Into the store that it came from: nothing new.
    const auto from = source::of(first, "first");
    const auto again = import_records(**s, *from, *find_format("attune"), {});
    BOOST_REQUIRE(again.ok());
    BOOST_TEST(again->added == 0u);
    BOOST_TEST(again->read == 300u);
  }
  auto t = store::open(folder.path() + "/b", {});
  BOOST_REQUIRE(t.ok());
  const auto from = source::of(first, "first");
  const auto report = import_records(**t, *from, *find_format("attune"), {});
  BOOST_REQUIRE(report.ok());
  BOOST_TEST(report->added == 300u);
  BOOST_TEST(report->damages == 0u);
  BOOST_TEST((dump_of(**t) == first));
  const auto seen = (*t)->verify();
  BOOST_REQUIRE(seen.ok());
  for (const auto& p : seen->problems) BOOST_ERROR(p);
}

BOOST_AUTO_TEST_CASE(real_files_come_back_as_they_were) {
  for (const char* file :
       {"logs/ansor-bert_t4.json.gz", "logs/autotvm-bert-with-failures.log.gz", "logs/cuda_v0.10.log",
        "logs/intel_graphics_v0.02.log", "logs/metaschedule-tuning_record.json.gz", "logs/kernel_tuner-vector_add.json",
        "logs/kernel_tuner-unterminated.json"}) {
    const auto path = attune::testing::shared_data(file);
    if (!path) continue;
    const auto all = read_file(*path);
    const auto out = write_all(all.entries, all.format.c_str());
    BOOST_REQUIRE_MESSAGE(out.good.ok(), file);
    for (const auto& [what, n] : out.lost.counts()) BOOST_ERROR(file << " lost " << what);
    const auto again = read_text(out.text);
    BOOST_REQUIRE(again.entries.size() == all.entries.size());
    for (std::size_t i = 0; i < all.entries.size(); ++i)
      BOOST_REQUIRE_MESSAGE(same(all.entries[i], again.entries[i]), file << " record " << i);
  }
}

BOOST_AUTO_TEST_SUITE_END()
