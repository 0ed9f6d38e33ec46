// Stores of every past schema, made by the programs of their time (fixtures/README): read as they are, raised when they
// are written, nothing lost.
#include "proto/attune.pb.h"
#include "storage/cache.hpp"
#include "storage/database.hpp"
#include "storage/keys.hpp"
#include "storage/store.hpp"
#include "tests/storage/samples.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::samples;
namespace fs = std::filesystem;

namespace {

const std::string session = "0123456789abcdef0123456789abcdef";

void unpack(std::uint32_t schema, const std::string& into) {
  fs::create_directories(into);
  const std::string packed = ATTUNE_SOURCE_DIR "/tests/storage/fixtures/schema" + std::to_string(schema) + ".tar.gz";
  BOOST_REQUIRE(std::system(("tar -xzf '" + packed + "' -C '" + into + "'").c_str()) == 0);
}

std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const auto& e : fs::directory_iterator(folder)) {
    std::ifstream in(e.path(), std::ios::binary);
    out[e.path().filename().string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return out;
}

std::vector<record_id> cached_records(const store& s) {
  std::vector<record_id> out;
  BOOST_REQUIRE(s.visit_cache([&](const cached& c) {
                   out.push_back(c.record);
                   return true;
                 }).ok());
  return out;
}

/// Everything that the fixtures hold.
void all_is_there(const store& s) {
  // By what they say: what a task's digest is made of has changed since.
  digest a, b;
  BOOST_REQUIRE(s.tasks([&](const task_entry& t, const task_counts&) {
                   (target{t.target_facts}.device() == "B" ? b : a) = t.task;
                 }).ok());
  const auto st = s.statistics();
  BOOST_REQUIRE(st.ok());
  BOOST_TEST(st->records == 26u);
  BOOST_TEST(st->failures == 4u);
  BOOST_TEST(st->tasks == 2u);
  BOOST_TEST(st->hits == 10u);
  BOOST_TEST(st->cache_entries == 22u);
  for (record_id id = 1; id <= 26; ++id) {
    const auto n = static_cast<std::int64_t>((id - 1) % 13 / 2 + (id > 13 ? 6 : 0));
    const auto r = s.find(id);
    BOOST_REQUIRE(r.ok());
    BOOST_REQUIRE(r->has_value());
    const auto& task = id % 13 == 0 || (id - 1) % 13 % 2 == 0 ? a : b;
    BOOST_TEST(bool((*r)->task == task));
    BOOST_TEST((*r)->config.canonical() == config(id % 13 == 0 ? (id == 13 ? 100 : 101) : n).canonical());
    BOOST_TEST((*r)->session == session);
  }
  BOOST_TEST((*s.best(a))[0].result.measured()->value == 1.0);
  BOOST_TEST((*s.best(b))[0].result.measured()->value == 7.0);
  const std::vector<record_id> order{2, 5, 6, 7, 8, 9, 10, 11, 12, 3, 1, 15, 18, 19, 20, 21, 22, 23, 24, 25, 16, 14};
  BOOST_TEST(cached_records(s) == order, boost::test_tools::per_element());
  const auto e = s.load_session(session);
  BOOST_REQUIRE(e.ok());
  BOOST_REQUIRE(e->has_value());
  BOOST_TEST((*e)->steps == 6u);
  std::vector<double> told;
  BOOST_REQUIRE(
      s.session_steps(session, [&](const session_step& x) { told.push_back(x.result->measured()->value); }).ok());
  BOOST_TEST(told == (std::vector<double>{1, 2, 3, 1, 2, 3}), boost::test_tools::per_element());
  const auto v = s.verify();
  BOOST_REQUIRE(v.ok());
  for (const auto& p : v->problems) BOOST_ERROR(p);
}

} // namespace

BOOST_AUTO_TEST_SUITE(migration_of_a_store)

BOOST_AUTO_TEST_CASE(every_past_schema_is_read_as_it_is_and_raised_when_it_is_written) {
  for (std::uint32_t schema = 1; schema < keys::schema; ++schema) {
    BOOST_TEST_CONTEXT("schema " << schema) {
      const scratch_folder scratch;
      unpack(schema, scratch.store());
      const auto before = contents(scratch.store());
      {
        const auto s = open(scratch.store(), {.read_only = true});
        BOOST_TEST(!s->is_current());
        BOOST_TEST(s->statistics()->schema == schema);
        all_is_there(*s);
      }
      BOOST_TEST(bool(contents(scratch.store()) == before));
      for (int pass = 0; pass < 2; ++pass) {
        const auto s = open(scratch.store());
        BOOST_TEST(s->is_current());
        BOOST_TEST(s->notices().empty());
        BOOST_TEST(s->statistics()->schema == keys::schema);
        all_is_there(*s);
      }
      // It goes on as one that was always so.
      const auto s = open(scratch.store(), {.cache = {5}});
      const auto t = make();
      std::vector<record_item> one{item(ask(t, 50), measured(0.5))};
      BOOST_REQUIRE(s->append(one, {}).ok());
      BOOST_TEST(one[0].record == 27u);
      s->touch(std::vector<cache_use>{{(*s->find(1))->key, 1}});
      BOOST_TEST(cached_records(*s) == (std::vector<record_id>{25, 16, 14, 27, 1}), boost::test_tools::per_element());
      BOOST_TEST(s->verify()->ok());
    }
  }
}

namespace {

/// As programs wrote it that decided what is newest by the order of writing: the same schema, without the times.
void take_times_out(const std::string& path) {
  auto db = database::open(path, false);
  BOOST_REQUIRE(db.ok());
  rocksdb::WriteBatch batch;
  const auto put = [&](family f, std::string_view key, const google::protobuf::MessageLite& m) {
    batch.Put((*db)->handle(f), rocksdb::Slice(key.data(), key.size()), m.SerializeAsString());
  };
  v1::BestList list;
  v1::TaskCounts counts;
  BOOST_REQUIRE((*db)
                    ->scan(family::best, {},
                           [&](std::string_view key, std::string_view text) {
                             list.ParseFromArray(text.data(), static_cast<int>(text.size()));
                             list.clear_by_time();
                             for (auto& e : *list.mutable_entries()) e.clear_at_ns();
                             put(family::best, key, list);
                             return true;
                           })
                    .ok());
  BOOST_REQUIRE((*db)
                    ->scan(family::meta, keys::tagged(keys::counts),
                           [&](std::string_view key, std::string_view text) {
                             counts.ParseFromArray(text.data(), static_cast<int>(text.size()));
                             counts.clear_latest_ns();
                             put(family::meta, key, counts);
                             return true;
                           })
                    .ok());
  BOOST_REQUIRE((*db)->write(batch, true).ok());
}

} // namespace

BOOST_AUTO_TEST_CASE(the_best_of_an_older_program_is_decided_anew_by_time) {
  const scratch_folder scratch;
  const auto t = make();
  const auto add = [&](store& s, std::int64_t n, double v, std::int64_t second) {
    auto o = std::make_shared<outcome>(*measured(v));
    o->at = std::chrono::seconds(1'800'000'000 + second);
    const auto of = ask(t, n);
    const auto entry = entry_of(*t);
    std::vector<foreign_record> one{{&entry, of->key, &of->config, o.get(), {}}};
    BOOST_REQUIRE(s.append_new(one).ok());
    BOOST_REQUIRE(one[0].added);
  };
  const auto best = [&](const store& s) { return (*s.best(t->identity.task_key))[0].result.measured()->value; };
  {
    const auto s = open(scratch.store());
    add(*s, 1, 2, 100);
    add(*s, 2, 3, 100);
  }
  for (const bool asked_first : {true, false}) {
    take_times_out(scratch.store());
    BOOST_TEST(best(*open(scratch.store(), {.read_only = true})) == 2);
    const auto s = open(scratch.store());
    if (asked_first) BOOST_TEST(best(*s) == 2);
    add(*s, 1, asked_first ? 1.5 : 1.0, 50); // older than what an older program has written
    BOOST_TEST(best(*s) == 2);
    BOOST_TEST(s->verify()->ok());
  }
}

BOOST_AUTO_TEST_CASE(a_migration_that_was_cut_off_is_made_again) {
  const scratch_folder scratch;
  unpack(2, scratch.store());
  const auto old = contents(scratch.store()).at("SCHEMA");
  open(scratch.store());
  // As after a kill between the database and the file that says what it is; and after an older program's use of it.
  std::ofstream(scratch.store() + "/SCHEMA", std::ios::binary) << old;
  all_is_there(*open(scratch.store()));
}

BOOST_AUTO_TEST_CASE(a_backup_of_an_old_store_is_an_old_store) {
  const scratch_folder scratch;
  unpack(1, scratch.store());
  const auto copy = scratch.path() + "/copy";
  BOOST_REQUIRE(open(scratch.store(), {.read_only = true})->backup(copy).ok());
  const auto s = open(copy, {.read_only = true});
  BOOST_TEST(s->statistics()->schema == 1u);
  all_is_there(*s);
}

BOOST_AUTO_TEST_SUITE_END()
