#include "core/random.hpp"
#include "storage/convert.hpp"
#include "storage/keys.hpp"
#include "tests/storage/samples.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::samples;

namespace {

std::string hex(const std::string& bytes) {
  std::string out;
  for (const unsigned char b : bytes) {
    out += "0123456789abcdef"[b >> 4];
    out += "0123456789abcdef"[b & 15];
  }
  return out;
}

template <class Message, class Core>
std::string bytes_of(const Core& c) {
  Message m;
  convert::to(c, m);
  return m.SerializeAsString();
}

/// Outwards and inwards again.
template <class Message, class Core>
Core again(const Core& c) {
  Message m;
  BOOST_REQUIRE(m.ParseFromString(bytes_of<Message>(c)));
  Core out;
  const auto good = convert::from(m, out);
  BOOST_REQUIRE_MESSAGE(good.ok(), (good.ok() ? "" : good.err().message));
  return out;
}

const std::vector<value>& some_values() {
  static const std::vector<value> all{value(),
                                      value(true),
                                      value(false),
                                      value(0),
                                      value(-1),
                                      value(std::numeric_limits<std::int64_t>::min()),
                                      value(std::numeric_limits<std::int64_t>::max()),
                                      value(0.0),
                                      value(-1.5e-300),
                                      value(std::numeric_limits<double>::infinity()),
                                      value(""),
                                      value(std::string("\0\xff not UTF-8", 12)),
                                      value(permutation{{}}),
                                      value(permutation{{"i", "", "\xfe"}})};
  return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(values_and_messages)

BOOST_AUTO_TEST_CASE(every_value_comes_back_as_it_was) {
  for (const auto& v : some_values()) BOOST_TEST(bool(again<v1::Value>(v) == v), v.text());
}

BOOST_AUTO_TEST_CASE(a_used_message_gives_what_a_fresh_one_gives) {
  v1::Outcome used;
  v1::Value v;
  const auto one = measured(1.5), two = measured(2.5), bad = failed(failure_kind::run_error);
  auto noted = *two;
  noted.notes = {"a", "b"};
  std::get<measurement>(noted.data).metrics.clear();
  for (const auto& o : {*one, noted, *bad, *two, noted}) {
    convert::to(o, used);
    BOOST_TEST(hex(used.SerializeAsString()) == hex(bytes_of<v1::Outcome>(o)));
  }
  for (const auto& x : some_values()) {
    convert::to(x, v);
    BOOST_TEST(hex(v.SerializeAsString()) == hex(bytes_of<v1::Value>(x)));
  }
}

BOOST_AUTO_TEST_CASE(every_outcome_comes_back_as_it_was) {
  BOOST_TEST(bool(again<v1::Outcome>(*measured(0.25)) == *measured(0.25)));
  for (const auto kind : all_failure_kinds) {
    auto o = *failed(kind, "what\xff");
    auto& f = std::get<failure>(o.data);
    f.exit.reset();
    f.signal = 9;
    o.notes = {"output capped", ""};
    BOOST_TEST(bool(again<v1::Outcome>(o) == o), to_string(kind));
  }
  auto stopped = *measured(1);
  stopped.data = bound{1.25, 1.125, {1.5, 1.25}};
  BOOST_TEST(bool(again<v1::Outcome>(stopped) == stopped));
  stopped.data = bound{std::numeric_limits<double>::quiet_NaN(), 1, {}};
  v1::Outcome message;
  convert::to(stopped, message);
  outcome out;
  BOOST_TEST(!convert::from(message, out).ok());
}

BOOST_AUTO_TEST_CASE(configurations_tasks_and_sessions_come_back_as_they_were) {
  BOOST_TEST(bool(again<v1::Configuration>(config(5)) == config(5)));
  BOOST_TEST(again<v1::Configuration>(configuration()).size() == 0u);

  const auto entry = entry_of(*make({.direction = goal::maximize}));
  v1::Task message;
  convert::to(entry, 7, message);
  task_entry back;
  BOOST_REQUIRE(convert::from(message, back).ok());
  BOOST_TEST(message.number() == 7u);
  BOOST_TEST(bool(back.task == entry.task && back.workload == entry.workload && back.target == entry.target &&
                  back.method == entry.method));
  BOOST_TEST(back.name == entry.name);
  BOOST_TEST(bool(back.workload_args == entry.workload_args && back.target_facts == entry.target_facts));
  BOOST_TEST(bool(back.direction == goal::maximize));
  BOOST_TEST(back.unit == "s");

  session_entry s;
  s.task_name = "gemm";
  s.strategy = "random";
  s.seed = 7;
  s.budget = 0;
  s.started = std::chrono::seconds(9);
  const auto t = again<v1::Session>(s);
  BOOST_TEST(t.strategy == "random");
  BOOST_TEST(t.budget.has_value());
  BOOST_TEST(*t.budget == 0u);
  s.budget.reset();
  BOOST_TEST(!again<v1::Session>(s).budget.has_value());
}

BOOST_AUTO_TEST_CASE(what_is_missing_or_senseless_is_an_error) {
  value v;
  outcome o;
  key128 k;
  configuration c;
  task_entry t;
  BOOST_TEST(!convert::from(v1::Value(), v).ok());
  v1::Value nan;
  nan.set_real(std::numeric_limits<double>::quiet_NaN());
  BOOST_TEST(!convert::from(nan, v).ok());
  BOOST_TEST(!convert::from(v1::Outcome(), o).ok());
  v1::Outcome infinite;
  infinite.mutable_measured()->set_value(std::numeric_limits<double>::infinity());
  BOOST_TEST(!convert::from(infinite, o).ok());
  v1::Outcome unknown;
  unknown.mutable_failed()->set_kind(static_cast<v1::FailureKind>(99));
  BOOST_TEST(!convert::from(unknown, o).ok());
  BOOST_TEST(!convert::from(std::string("short"), k).ok());
  google::protobuf::RepeatedPtrField<v1::Value> two;
  convert::to(std::vector<value>{1, 2}, two);
  BOOST_TEST(!convert::from(two, names(), c).ok());
  BOOST_TEST(!convert::from(v1::Task(), t).ok());
}

BOOST_AUTO_TEST_CASE(damaged_bytes_are_an_error_or_another_value_and_never_a_crash) {
  const std::uint64_t seed = 7;
  BOOST_TEST_MESSAGE("seed " << seed);
  random_engine random(seed);
  v1::Record record;
  convert::to(config(3).values(), *record.mutable_values());
  convert::to(*measured(1), *record.mutable_outcome());
  const auto good = record.SerializeAsString();
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    auto bytes = good;
    for (auto n = 1 + random.below(4); n > 0; --n)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    if (random.chance(0.3)) bytes.resize(random.below(bytes.size()));
    v1::Record damaged;
    configuration c;
    outcome o;
    if (!damaged.ParseFromString(bytes) || !convert::from(damaged.values(), names(), c) ||
        !convert::from(damaged.outcome(), o))
      ++refused;
  }
  BOOST_TEST(refused > 5000);
}

// The bytes of schema 1. A change here is a change of the format: it needs a new schema number and a migration.
BOOST_AUTO_TEST_CASE(the_encoding_of_schema_1_stands) {
  outcome old = *measured(0.5);
  old.phases.clean = nanoseconds(0); // schema 1 did not know it
  BOOST_TEST(hex(bytes_of<v1::Value>(value())) == "0801");
  BOOST_TEST(hex(bytes_of<v1::Value>(value(false))) == "1000");
  BOOST_TEST(hex(bytes_of<v1::Value>(value(-3))) == "1805");
  BOOST_TEST(hex(bytes_of<v1::Value>(value(0.5))) == "21000000000000e03f");
  BOOST_TEST(hex(bytes_of<v1::Value>(value("ab"))) == "2a026162");
  BOOST_TEST(hex(bytes_of<v1::Value>(value(permutation{{"i", "j"}}))) == "32060a01690a016a");
  BOOST_TEST(hex(bytes_of<v1::Outcome>(*failed(failure_kind::run_timeout, "slow"))) ==
             "120a08051204736c6f7718014a0b6c6f63616c2f736c6f7430508080d09de9ceb8fd18");
  BOOST_TEST(hex(bytes_of<v1::Outcome>(old)) == "0a3f09000000000000e03f117b14ae47e17a843f1a18000000000000e03"
                                                "f295c8fc2f528e03fae47e17a14aedf3f2a110a06656e6572677911"
                                                "000000000000f83f18904e2080dac409288087a70e30a01f38c082ea0d4"
                                                "08080404a0b6c6f63616c2f736c6f7430508080d09de9ceb8fd18");
  session_entry s;
  s.task_name = "t";
  s.strategy = "grid";
  s.seed = 300;
  s.budget = 10;
  s.started = nanoseconds(5);
  BOOST_TEST(hex(bytes_of<v1::Session>(s)) == "0a017412046772696418ac02200a2805");
  std::string key;
  keys::record_key(key, 1, 0x0102);
  BOOST_TEST(hex(key) == "72000000010000000000000102");
  BOOST_TEST(hex(keys::of_run(3)) == "690000000000000003");
  BOOST_TEST(hex(keys::tagged(keys::names, std::uint32_t{2})) == "6e00000002");
  BOOST_TEST(hex(keys::steps_of("ab")) == "70616200");
}

BOOST_AUTO_TEST_SUITE_END()
