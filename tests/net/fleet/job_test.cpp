#include "net/fleet/client.hpp"
#include "net/fleet/job.hpp"
#include "storage/spec_reader.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/syscall.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <unistd.h>
#include <vector>

using namespace attune;
using namespace attune::net::fleet;
namespace fs = std::filesystem;

namespace {

/// What is synced while it is not null, in its order.
std::vector<std::string>* noted_syncs = nullptr;

struct submitted {
  submitted() {
    std::string name = (fs::temp_directory_path() / "attune-job-XXXXXX").string();
    folder = ::mkdtemp(name.data());
    fs::create_directories(folder + "/there/sub");
    std::ofstream(folder + "/there/spec.yaml") << "task: t\n"
                                                  "target: {device: arm}\n"
                                                  "parameters: {x: [1, 2]}\n"
                                                  "build: {command: \"cc -o {artifact}\", sources: [a.c]}\n"
                                                  "run: {command: \"{artifact}\", files: [sub/data]}\n"
                                                  "search: {trials: 5, seed: 3}\n";
    std::ofstream(folder + "/there/a.c") << "int main;";
    std::ofstream(folder + "/there/sub/data") << "42";
    const auto spec = folder + "/there/spec.yaml";
    auto read = storage::read_spec(spec);
    BOOST_REQUIRE(read.ok());
    auto made = submission_of(spec, *read);
    BOOST_REQUIRE(made.ok());
    what = std::move(made->message);
    store = *net::artifact_store::open(folder + "/files", 1u << 30);
    for (const auto& [file, path] : made->files) {
      std::ifstream in(path);
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      auto into = store->receive(file.contents, text.size());
      BOOST_REQUIRE(into.ok());
      BOOST_REQUIRE((*into)->append(text).ok());
    }
  }
  ~submitted() {
    std::error_code ec;
    fs::remove_all(folder, ec);
  }
  result<job_folder> create() { return job_folder::create(folder + "/jobs", what, *store); }
  std::string folder;
  wire::v1::Submit what;
  std::shared_ptr<net::artifact_store> store;
};

} // namespace

/// The program's own stands before the library's.
extern "C" int fsync(int file) {
  std::error_code ec;
  if (noted_syncs != nullptr)
    noted_syncs->push_back(fs::read_symlink("/proc/self/fd/" + std::to_string(file), ec).string());
  return static_cast<int>(::syscall(SYS_fsync, file));
}

BOOST_AUTO_TEST_SUITE(job_suite)

BOOST_AUTO_TEST_CASE(what_was_submitted_is_read_as_it_was_written_with_the_options_on_top) {
  submitted s;
  s.what.mutable_options()->set_trials(7);
  s.what.mutable_options()->set_strategy("grid");
  auto j = s.create();
  BOOST_REQUIRE(j.ok());
  auto specs = j->read();
  BOOST_REQUIRE(specs.ok());
  BOOST_REQUIRE_EQUAL(specs->size(), 1u);
  const auto& spec = specs->front();
  BOOST_TEST(*spec.search.trials == 7u);
  BOOST_TEST(spec.search.strategy == "grid");
  BOOST_TEST(spec.search.seed == 3u);
  BOOST_TEST(spec.directory == j->files());
  BOOST_TEST(make_task(spec, target{}).ok()); // its sources and files are there
}

BOOST_AUTO_TEST_CASE(the_same_again_is_the_same_job_and_anything_else_is_another) {
  submitted s;
  const auto first = s.create()->name();
  s.what.set_client("somebody");
  BOOST_TEST(s.create()->name() == first);
  s.what.mutable_options()->set_seed(4);
  BOOST_TEST(s.create()->name() != first);
  BOOST_TEST(job_folder::list(s.folder + "/jobs").size() == 2u);
}

BOOST_AUTO_TEST_CASE(what_was_decided_and_how_it_ended_outlives_the_process_and_ends_with_a_new_submission) {
  submitted s;
  auto j = s.create();
  BOOST_REQUIRE(j.ok());
  BOOST_TEST(j->decisions().empty());
  BOOST_REQUIRE(j->decide({{target{{{"device", value("arm")}, {"cores", value(std::int64_t{4})}}}, {"device"}}}).ok());
  wire::v1::Ended ended;
  ended.set_code(4);
  ended.set_text("so it ended");
  BOOST_REQUIRE(j->end(ended).ok());
  auto again = job_folder::open(s.folder + "/jobs", j->name());
  BOOST_REQUIRE(again.ok());
  const auto where = again->decisions();
  BOOST_REQUIRE_EQUAL(where.size(), 1u);
  BOOST_TEST(where[0].where.device() == "arm");
  BOOST_TEST(where[0].asked.contains("device"));
  BOOST_REQUIRE(again->ended());
  BOOST_TEST(again->ended()->text() == "so it ended");
  BOOST_TEST(again->submission().file() == "spec.yaml");
  BOOST_REQUIRE(s.create().ok());
  BOOST_TEST(!job_folder::open(s.folder + "/jobs", j->name())->ended());
}

BOOST_AUTO_TEST_CASE(a_name_that_is_none_opens_nothing) {
  submitted s;
  BOOST_REQUIRE(s.create().ok());
  for (const auto* bad : {"", "..", "../jobs", "abc", "ABCDEF012345"})
    BOOST_TEST(!job_folder::open(s.folder + "/jobs", bad).ok(), bad);
  s.what.set_file("other.yaml");
  BOOST_TEST(!s.create().ok());
}

BOOST_AUTO_TEST_CASE(all_of_it_is_on_the_disk_before_the_submission_is_and_that_before_it_is_told) {
  submitted s;
  std::vector<std::string> synced;
  noted_syncs = &synced;
  auto j = s.create();
  noted_syncs = nullptr;
  BOOST_REQUIRE(j.ok());
  const auto last = [&](const std::string& path) {
    return std::find(synced.rbegin(), synced.rend(), path).base() - synced.begin(); // 0: never
  };
  const auto jobs = s.folder + "/jobs", own = jobs + "/" + j->name(), files = own + "/files";
  const auto submission = last(own + "/job.part");
  BOOST_TEST(submission > 0);
  for (const auto* file : {"/spec.yaml", "/a.c", "/sub/data", "/sub"}) {
    BOOST_TEST(last(files + file) > 0, file);
    BOOST_TEST(last(files + file) < last(files), file);
  }
  BOOST_TEST(last(files + "/sub/data") < last(files + "/sub"));
  BOOST_TEST(last(files) < submission);
  // Then the names by which it is found.
  for (const auto& folder : {own, jobs, s.folder}) BOOST_TEST(last(folder) > submission, folder);
  noted_syncs = &synced;
  for (const auto* what : {"/decided.part", "/ended.part"}) {
    synced.clear();
    BOOST_TEST((what[1] == 'd' ? j->decide({}) : j->end({})).ok());
    BOOST_TEST(last(own + what) == 1);
    BOOST_TEST(last(own) == 2);
  }
  noted_syncs = nullptr;
}

BOOST_AUTO_TEST_CASE(one_that_is_damaged_is_not_taken_for_one_that_never_was) {
  submitted s;
  const auto name = s.create()->name();
  std::ofstream(s.folder + "/jobs/" + name + "/job") << "\xff\xff\xff";
  const auto there = job_folder::open(s.folder + "/jobs", name);
  BOOST_REQUIRE(!there.ok());
  BOOST_TEST((there.err().code == errc::io));
  BOOST_TEST(there.err().message.find("damaged") != std::string::npos);
  // Submitted again it is whole.
  BOOST_TEST(s.create().ok());
  BOOST_TEST(job_folder::open(s.folder + "/jobs", name).ok());
}

BOOST_AUTO_TEST_SUITE_END()
