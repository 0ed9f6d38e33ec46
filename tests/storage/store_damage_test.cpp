// What the store does when its files, its disk or its owner are not as they should be.
#include "core/clock.hpp"
#include "proto/attune.pb.h"
#include "storage/cache.hpp"
#include "storage/database.hpp"
#include "storage/keys.hpp"
#include "storage/store.hpp"
#include "tests/storage/samples.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/mount.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <unistd.h>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::samples;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const fs::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

std::map<std::string, std::string> bytes_of_file(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const auto& e : fs::recursive_directory_iterator(folder))
    if (e.is_regular_file()) out[e.path().string()] = read(e.path());
  return out;
}

std::vector<fs::path> files(const std::string& folder, const std::string& extension) {
  std::vector<fs::path> out;
  for (const auto& e : fs::directory_iterator(folder))
    if (e.path().extension() == extension && e.file_size() > 0) out.push_back(e.path());
  std::sort(out.begin(), out.end());
  return out;
}

void fill(store& s, const task_ptr& t, std::int64_t from, std::int64_t count) {
  std::vector<record_item> items;
  for (std::int64_t n = from; n < from + count; ++n)
    items.push_back(item(ask(t, n), measured(1.0 + static_cast<double>(n))));
  const auto done = s.append(items, {});
  BOOST_REQUIRE_MESSAGE(done.ok(), (done.ok() ? "" : done.err().text()));
}

/// A store as a killed process leaves it: nothing flushed. Made by a child that ends without a destructor.
void abandoned(const std::string& path, std::int64_t records) {
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    auto s = store::open(path, {});
    if (!s) ::_exit(1);
    const auto t = make();
    for (std::int64_t n = 0; n < records; ++n) {
      std::vector<record_item> one{item(ask(t, n), measured(1.0 + static_cast<double>(n)))};
      if (!(*s)->append(one, {})) ::_exit(2);
    }
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_REQUIRE(WIFSIGNALED(status));
}

/// The trouble is told somewhere: on opening, in the notices, or by verify.
bool reported(const std::string& path, bool read_only) {
  const auto s = store::open(path, {.read_only = read_only});
  if (!s) {
    BOOST_TEST_MESSAGE("refused: " << s.err().text());
    return s.err().code == errc::store_corrupt;
  }
  for (const auto& n : (*s)->notices()) BOOST_TEST_MESSAGE("noticed: " << n);
  const auto v = (*s)->verify();
  if (!v) return true;
  for (const auto& p : v->problems) BOOST_TEST_MESSAGE("verified: " << p);
  return !(*s)->notices().empty() || !v->ok();
}

void clean(const store& s) {
  const auto v = s.verify();
  BOOST_REQUIRE(v.ok());
  for (const auto& p : v->problems) BOOST_ERROR(p);
}

} // namespace

BOOST_AUTO_TEST_SUITE(store_in_trouble)

BOOST_AUTO_TEST_CASE(a_newer_schema_is_refused_and_left_untouched) {
  const scratch_folder scratch;
  fill(*open(scratch.store()), make(), 0, 10);
  v1::Meta meta;
  BOOST_REQUIRE(meta.ParseFromString(read(scratch.store() + "/SCHEMA")));
  BOOST_TEST(meta.schema() == keys::schema);
  meta.set_schema(keys::schema + 1);
  write(scratch.store() + "/SCHEMA", meta.SerializeAsString());
  const auto before = bytes_of_file(scratch.store());
  for (const bool read_only : {false, true}) {
    const auto s = store::open(scratch.store(), {.read_only = read_only});
    BOOST_REQUIRE(!s.ok());
    BOOST_TEST(bool(s.err().code == errc::store_newer));
    BOOST_TEST(s.err().message.find(scratch.store()) != std::string::npos);
  }
  BOOST_TEST(bool(bytes_of_file(scratch.store()) == before));
}

BOOST_AUTO_TEST_CASE(a_store_of_schema_1_is_read_as_it_is_and_raised_when_it_is_written) {
  const scratch_folder scratch;
  const auto t = make();
  const std::string id = "0123456789abcdef0123456789abcdef";
  {
    const auto s = open(scratch.store());
    std::vector<record_item> items{item(ask(t, 1), measured(1)), item(ask(t, 2), measured(2))};
    session_entry e;
    e.id = id;
    BOOST_REQUIRE(s->begin_session(e).ok());
    BOOST_REQUIRE(s->append(items, {}).ok());
  }
  {
    // What schema 1 wrote: a key for each step, a key for each use.
    const auto db = database::open(scratch.store(), false);
    BOOST_REQUIRE(db.ok());
    rocksdb::WriteBatch batch;
    for (std::uint64_t n = 0; n < 2; ++n) {
      v1::SessionStep step;
      step.set_number(n);
      step.set_asked_before(n + 1);
      step.mutable_record()->set_task(1);
      step.mutable_record()->set_record(n + 1);
      std::string key = keys::steps_of(id);
      keys::put(key, n);
      batch.Put((*db)->handle(family::sessions), key, step.SerializeAsString());
    }
    v1::Recency use;
    use.set_stamp(1000);
    batch.Put((*db)->handle(family::cache), keys::of_recency(ask(t, 1)->key), use.SerializeAsString());
    v1::Meta meta;
    BOOST_REQUIRE(meta.ParseFromString(read(scratch.store() + "/SCHEMA")));
    meta.set_schema(1);
    batch.Put((*db)->handle(family::meta), keys::tagged(keys::meta), meta.SerializeAsString());
    BOOST_REQUIRE((*db)->write(batch, true).ok());
    write(scratch.store() + "/SCHEMA", meta.SerializeAsString());
  }
  const auto schema_of = [&] {
    v1::Meta meta;
    BOOST_REQUIRE(meta.ParseFromString(read(scratch.store() + "/SCHEMA")));
    return meta.schema();
  };
  for (const bool read_only : {true, false}) {
    const auto s = open(scratch.store(), {.read_only = read_only});
    BOOST_TEST(schema_of() == (read_only ? 1u : keys::schema));
    std::vector<double> told;
    BOOST_REQUIRE(
        s->session_steps(id, [&](const session_step& x) { told.push_back(x.result->measured()->value); }).ok());
    BOOST_TEST((told == std::vector<double>{1, 2}));
    BOOST_TEST((*s->load_session(id))->steps == 2u);
    std::vector<std::string> order;
    BOOST_REQUIRE(s->visit_cache([&](const cached& e) {
                     order.push_back(e.canonical);
                     return true;
                   }).ok());
    BOOST_TEST((order == std::vector{ask(t, 2)->canonical, ask(t, 1)->canonical}));
    BOOST_TEST(s->statistics()->cache_entries == 2u);
    clean(*s);
  }
  const auto s = open(scratch.store());
  std::vector<record_item> none;
  const auto third = item(ask(t, 3), measured(3));
  BOOST_REQUIRE(s->append(none, std::vector{step_of(third, 3), step_of(third, 4)}).ok());
  BOOST_TEST((*s->load_session(id))->steps == 4u);
}

BOOST_AUTO_TEST_CASE(a_second_process_is_refused_within_a_second_naming_the_first) {
  const scratch_folder scratch;
  int ready[2], go[2];
  BOOST_REQUIRE(::pipe(ready) == 0 && ::pipe(go) == 0);
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  char byte = 0;
  if (child == 0) {
    auto s = store::open(scratch.store(), {});
    const bool told = s.ok() && ::write(ready[1], "x", 1) == 1 && ::read(go[0], &byte, 1) == 1;
    ::_exit(told ? 0 : 1);
  }
  BOOST_REQUIRE(::read(ready[0], &byte, 1) == 1);
  const auto before = system_time().monotonic();
  const auto second = store::open(scratch.store(), {});
  BOOST_TEST((system_time().monotonic() - before).count() < 1'000'000'000);
  BOOST_REQUIRE(!second.ok());
  BOOST_TEST(bool(second.err().code == errc::store_busy));
  BOOST_TEST(second.err().message.find(scratch.store()) != std::string::npos);
  BOOST_TEST(second.err().message.find("process " + std::to_string(child) + " ") != std::string::npos);
  BOOST_TEST(store::open(scratch.store(), {.read_only = true}).ok());
  ::kill(child, SIGKILL);
  BOOST_REQUIRE(::waitpid(child, nullptr, 0) == child);
  BOOST_TEST(store::open(scratch.store(), {}).ok());
  for (const int fd : {ready[0], ready[1], go[0], go[1]}) ::close(fd);
}

BOOST_AUTO_TEST_CASE(reading_leaves_every_file_as_it_was) {
  const scratch_folder scratch;
  abandoned(scratch.store(), 20);
  const auto before = bytes_of_file(scratch.store());
  {
    const auto s = open(scratch.store(), {.read_only = true});
    BOOST_TEST(s->statistics()->records == 20u);
    BOOST_TEST(s->verify()->ok());
  }
  BOOST_TEST(bool(bytes_of_file(scratch.store()) == before));
}

BOOST_AUTO_TEST_CASE(a_flipped_byte_anywhere_in_a_table_is_reported) {
  const scratch_folder scratch;
  {
    const auto s = open(scratch.store());
    fill(*s, make(), 0, 500);
  }
  for (const auto& file : files(scratch.store(), ".sst")) {
    const auto good = read(file);
    for (const double part : {0.01, 0.3, 0.6, 0.999}) {
      auto bad = good;
      const auto at = static_cast<std::size_t>(part * static_cast<double>(bad.size()));
      bad[at] = static_cast<char>(bad[at] ^ 0x10);
      write(file, bad);
      BOOST_TEST(reported(scratch.store(), true), file.filename().string() << " at " << at);
    }
    write(file, good);
  }
  BOOST_TEST(!reported(scratch.store(), true));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_missing_is_reported) {
  const scratch_folder scratch;
  {
    const auto s = open(scratch.store());
    fill(*s, make(), 0, 50);
  }
  for (const auto& e : bytes_of_file(scratch.store())) {
    const auto name = fs::path(e.first).filename().string();
    // These are made anew without a loss; the log is empty after a good end.
    if (name == "OWNER" || name == "LOCK" || name == "ACKNOWLEDGED" || name == "IDENTITY" || name == "SCHEMA" ||
        name.starts_with("OPTIONS") || name.ends_with(".log"))
      continue;
    fs::remove(e.first);
    for (const bool read_only : {true, false}) BOOST_TEST(reported(scratch.store(), read_only), name);
    write(e.first, e.second);
  }
  // A missing SCHEMA is written anew from the database.
  fs::remove(scratch.store() + "/SCHEMA");
  BOOST_TEST(open(scratch.store())->statistics()->records == 50u);
  BOOST_TEST(fs::exists(scratch.store() + "/SCHEMA"));
}

BOOST_AUTO_TEST_CASE(a_log_that_is_cut_damaged_or_gone_is_reported_and_the_rest_is_kept) {
  const scratch_folder scratch;
  const std::string good = scratch.path() + "/good", bad = scratch.path() + "/bad";
  abandoned(good, 100);
  for (const std::string how : {"cut", "flipped", "gone"}) {
    fs::remove_all(bad);
    fs::copy(good, bad, fs::copy_options::recursive);
    const auto logs = files(bad, ".log");
    BOOST_REQUIRE(!logs.empty());
    const auto& log = logs.back();
    auto text = read(log);
    if (how == "cut") text.resize(text.size() - 10);
    if (how == "flipped") text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
    how == "gone" ? void(fs::remove(log)) : write(log, text);
    BOOST_TEST(reported(bad, true), how << ", for a reader");
    BOOST_TEST(reported(bad, false), how << ", for the owner");
    const auto s = open(bad);
    if (how == "cut") BOOST_TEST(s->statistics()->records == 99u);
    // Told once; then the store is whole again, and no number is given twice.
    BOOST_TEST(s->verify()->ok());
    std::vector<record_item> one{item(ask(make(), 1000), measured(1))};
    BOOST_REQUIRE(s->append(one, {}).ok());
    BOOST_TEST(one[0].record == 101u);
  }
}

BOOST_AUTO_TEST_CASE(a_full_disk_fails_the_write_and_nothing_else) {
  const scratch_folder scratch;
  const std::string disk = scratch.path() + "/disk";
  fs::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=8m") != 0) {
    BOOST_TEST_MESSAGE("skipped: a small tmpfs needs root");
    return;
  }
  const auto t = make();
  std::uint64_t acknowledged = 0;
  {
    const auto s = open(disk + "/store");
    const auto append_some = [&](std::int64_t from) {
      std::vector<record_item> items;
      for (std::int64_t n = from; n < from + 20; ++n)
        items.push_back(item(ask(t, n), failed(failure_kind::build_error, std::string(2000, 'x'))));
      const auto done = s->append(items, {});
      if (done) acknowledged += items.size();
      return done;
    };
    for (std::int64_t n = 0; n < 100; n += 20) BOOST_REQUIRE(append_some(n).ok());
    {
      std::ofstream filler(disk + "/filler", std::ios::binary);
      const std::string block(4096, 'f');
      while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
      }
    }
    bool refused = false;
    for (std::int64_t n = 1000; n < 3000 && !refused; n += 20) {
      const auto done = append_some(n);
      refused = !done.ok();
      if (refused) {
        BOOST_TEST(bool(done.err().code == errc::store_unusable));
        BOOST_TEST(done.err().message.find("space") != std::string::npos, done.err().message);
      }
    }
    BOOST_TEST(refused);
    BOOST_TEST(!append_some(5000).ok());
    BOOST_TEST(s->statistics()->records == acknowledged);
    fs::remove(disk + "/filler");
    // It comes back with the next write, without being opened anew.
    const auto again = append_some(6000);
    BOOST_TEST(again.ok(), (again.ok() ? "" : again.err().text()));
    BOOST_TEST(append_some(7000).ok());
    BOOST_TEST(s->statistics()->records == acknowledged);
    clean(*s);
  }
  {
    const auto s = open(disk + "/store");
    BOOST_TEST(s->statistics()->records == acknowledged);
    BOOST_TEST(s->notices().empty());
    clean(*s);
  }
  ::umount(disk.c_str());
}

BOOST_AUTO_TEST_CASE(a_disk_that_is_read_only_can_be_read) {
  const scratch_folder scratch;
  const std::string disk = scratch.path() + "/disk";
  fs::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=8m") != 0) {
    BOOST_TEST_MESSAGE("skipped: a tmpfs needs root");
    return;
  }
  fill(*open(disk + "/store"), make(), 0, 10);
  BOOST_REQUIRE(::mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0);
  {
    const auto s = store::open(disk + "/store", {});
    BOOST_REQUIRE(!s.ok());
    BOOST_TEST(bool(s.err().code == errc::store_unusable));
    BOOST_TEST(s.err().message.find("Read-only") != std::string::npos, s.err().message);
    BOOST_TEST(open(disk + "/store", {.read_only = true})->statistics()->records == 10u);
    BOOST_TEST(!store::open(disk + "/other", {}).ok());
  }
  ::umount(disk.c_str());
}

BOOST_AUTO_TEST_SUITE_END()
