#include "include/attune/bundle.hpp"
#include "storage/bundle_writer.hpp"
#include "tests/storage/samples.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>

using namespace attune;
using namespace attune::storage;

namespace {

bundle_item gemm(std::int64_t m, std::string target, std::int64_t tile) {
  bundle_item out;
  out.workload = "gemm";
  out.args = {{"m", value(m)}, {"n", value(512.0)}, {"dtype", value("f32")}, {"fast", value(true)}};
  out.target = std::move(target);
  out.config = configuration({{"tile", value(tile)},
                              {"alpha", value(0.5)},
                              {"opt", value("-O3 -g")},
                              {"fma", value(false)},
                              {"order", value(permutation{{"i", "k", "j"}})},
                              {"pad", value()}});
  out.measured = 0.00125;
  out.spread = 0.01;
  out.unit = "s";
  out.record = key128{{static_cast<std::uint8_t>(tile)}};
  return out;
}

std::vector<bundle_item> several() {
  auto more = gemm(1024, "board", 8);
  more.direction = goal::maximize;
  more.unit = "GB/s";
  bundle_item bare;
  bare.workload = "fft";
  bare.target = "local";
  bare.config = configuration({{"radix", value(std::int64_t{4})}});
  bare.measured = 1;
  return {gemm(512, "local", 32), gemm(512, "board", 16), more, bare};
}

std::string bytes_of(const std::vector<bundle_item>& items) {
  auto b = bundle_bytes(items);
  BOOST_REQUIRE_MESSAGE(b.ok(), (b.ok() ? "" : b.err().text()));
  return *b;
}

/// The same bytes at an address that suits.
struct kept {
  std::vector<std::uint64_t> words;
  std::size_t size;
  explicit kept(std::string_view s) : words((s.size() + 7) / 8), size(s.size()) {
    if (!s.empty()) std::memcpy(words.data(), s.data(), s.size());
  }
  bundle view(std::string& why) const { return bundle::view(words.data(), size, why); }
};

const bundle_named m512[] = {{"m", 512}, {"n", 512}, {"dtype", "f32"}, {"fast", true}};

bundle_answer ask(const bundle& b, std::string_view target = {}) { return b.find("gemm", m512, 4, target); }

} // namespace

BOOST_AUTO_TEST_SUITE(bundles)

BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
  const kept k(bytes_of(several()));
  std::string why;
  const auto b = k.view(why);
  BOOST_REQUIRE_MESSAGE(b, why);
  BOOST_TEST(b.size() == 4u);
  const auto got = ask(b, "local");
  BOOST_REQUIRE(got);
  BOOST_TEST(got.exact);
  BOOST_TEST(got.distance == 0.0);
  const auto& e = got.entry;
  BOOST_TEST(e.workload() == "gemm");
  BOOST_TEST(e.target() == "local");
  BOOST_TEST(e.size() == 6u);
  BOOST_TEST(e.integer("tile", 0) == 32);
  BOOST_TEST(e.real("tile", 0) == 32.0);
  BOOST_TEST(e.real("alpha", 0) == 0.5);
  BOOST_TEST(e.integer("alpha", 7) == 7); // no whole number
  BOOST_TEST(e.text("opt", "") == "-O3 -g");
  BOOST_TEST(e.text("order", "") == "i,k,j");
  BOOST_TEST(!e.boolean("fma", true));
  BOOST_TEST(bool(e.find("order").type == bundle_value::kind::permutation));
  BOOST_TEST(bool(e.find("pad").type == bundle_value::kind::absent));
  BOOST_TEST(bool(e.find("none").type == bundle_value::kind::absent));
  BOOST_TEST(e.integer("pad", 9) == 9);
  BOOST_TEST(e[0].name == "tile");
  BOOST_TEST(e.arguments() == 4u);
  BOOST_TEST(e.argument(2).value.text == "f32");
  BOOST_TEST(e.measured() == 0.00125);
  BOOST_TEST(e.spread() == 0.01);
  BOOST_TEST(e.unit() == "s");
  BOOST_TEST(!e.more_is_better());
  BOOST_TEST(static_cast<int>(e.record()[0]) == 32);
  BOOST_TEST(b[2].more_is_better());
  BOOST_TEST(b.find("fft", {}, "local").entry.integer("radix", 0) == 4);
  const kept none(bytes_of({}));
  BOOST_TEST(none.view(why).size() == 0u);
  BOOST_TEST(!none.view(why).find("gemm", {{"m", 1}}));
  BOOST_TEST(!bundle().find("gemm", {{"m", 1}}));
}

BOOST_AUTO_TEST_CASE(a_lookup_says_how_near_its_answer_is) {
  const kept k(bytes_of(several()));
  std::string why;
  const auto b = k.view(why);
  // In any order, and numbers by their value.
  const auto turned = b.find("gemm", {{"fast", true}, {"dtype", "f32"}, {"n", 512}, {"m", 512.0}}, "board");
  BOOST_REQUIRE(turned);
  BOOST_TEST(turned.exact);
  BOOST_TEST(turned.entry.integer("tile", 0) == 16);
  // Another target: the first one's, and it is said.
  const auto elsewhere = ask(b, "moon");
  BOOST_REQUIRE(elsewhere);
  BOOST_TEST(!elsewhere.exact);
  BOOST_TEST(elsewhere.distance == 1.0);
  BOOST_TEST(elsewhere.entry.target() == "local");
  // Any target: exact only where there is one.
  BOOST_TEST(!ask(b).exact);
  BOOST_TEST(b.find("fft", {}).exact);
  // Other arguments: nothing in O(1), the nearest where that is asked for.
  const bundle_named m700[] = {{"m", 700}, {"n", 512}, {"dtype", "f32"}, {"fast", true}};
  BOOST_TEST(!b.find("gemm", m700, 4, "board"));
  const auto near = b.nearest("gemm", m700, 4, "board");
  BOOST_REQUIRE(near);
  BOOST_TEST(!near.exact);
  BOOST_TEST(near.entry.integer("tile", 0) == 16);
  BOOST_TEST(std::fabs(near.distance - std::fabs(std::log2(513.0 / 701.0))) < 1e-12);
  const bundle_named m900[] = {{"m", 900}, {"n", 512}, {"dtype", "f32"}, {"fast", true}};
  BOOST_TEST(b.nearest("gemm", m900, 4, "board").entry.integer("tile", 0) == 8);
  // Its own target weighs as much as twice the size.
  BOOST_TEST(b.nearest("gemm", m900, 4, "local").entry.integer("tile", 0) == 32);
  const bundle_named text[] = {{"m", 512}, {"n", 512}, {"dtype", "f64"}};
  BOOST_TEST(b.nearest("gemm", text, 3, "local").distance == 2.0); // another type, and one that is not named
  BOOST_TEST(!b.nearest("conv", text, 3));
  // Types are told apart but for numbers.
  BOOST_TEST(!b.find("gemm", {{"m", "512"}, {"n", 512}, {"dtype", "f32"}, {"fast", true}}, "local"));
  BOOST_TEST(!b.find("gemm", {{"m", 512}, {"n", 512}, {"dtype", "f32"}, {"fast", 1}}, "local"));
  BOOST_TEST(!b.find("gemm", {{"m", 512}, {"n", 512}, {"dtype", "f32"}}, "local"));
}

BOOST_AUTO_TEST_CASE(every_truncation_and_every_flipped_bit_is_refused) {
  const auto whole = bytes_of(several());
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const kept cut(std::string_view(whole).substr(0, n));
    std::string why;
    BOOST_REQUIRE(!cut.view(why));
    BOOST_REQUIRE(!why.empty());
  }
  kept k(whole);
  auto* bytes = reinterpret_cast<unsigned char*>(k.words.data());
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
    std::string why;
    BOOST_REQUIRE_MESSAGE(!k.view(why), "bit " << bit);
    BOOST_REQUIRE(!why.empty());
    bytes[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
  }
  std::string why;
  BOOST_TEST(bool(k.view(why)));
  const kept longer(whole + std::string(8, '\0'));
  BOOST_TEST(!longer.view(why));
  BOOST_TEST(why.find("something was added") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_newer_file_and_other_files_are_told_apart) {
  const samples::scratch_folder scratch;
  const auto path = scratch.path() + "/b";
  const auto open = [&](std::string_view contents) {
    BOOST_REQUIRE(replace_file(path, contents).ok());
    std::string why;
    BOOST_TEST(!bundle::open(path.c_str(), why));
    return why;
  };
  auto newer = bytes_of(several());
  newer[8] = 2;
  BOOST_TEST(open(newer) == "'" + path + "' was written by another version (format 2, this program reads 1)");
  BOOST_TEST(open("") == "'" + path + "' is empty");
  BOOST_TEST(open(std::string(100, 'x')) == "'" + path + "' is no bundle");
  auto damaged = bytes_of(several());
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] + 1);
  BOOST_TEST(open(damaged) == "'" + path + "' is damaged");
  std::string why;
  BOOST_TEST(!bundle::open((path + "-none").c_str(), why));
  BOOST_TEST(why == "'" + path + "-none' cannot be read: No such file or directory");
  BOOST_TEST(!bundle::open(scratch.path().c_str(), why));
  BOOST_TEST(why.find("is not a file") != std::string::npos);
  BOOST_REQUIRE(replace_file(path, bytes_of(several())).ok());
  auto b = bundle::open(path.c_str(), why);
  BOOST_REQUIRE_MESSAGE(b, why);
  // It may be replaced while it is open, and moved.
  BOOST_REQUIRE(replace_file(path, "something else").ok());
  const bundle moved = std::move(b);
  BOOST_TEST(ask(moved, "local").entry.integer("tile", 0) == 32);
  BOOST_TEST(!b); // NOLINT(bugprone-use-after-move): it is empty then
}

BOOST_AUTO_TEST_CASE(only_a_file_is_replaced) {
  const samples::scratch_folder scratch;
  const auto folder = scratch.path() + "/folder", pipe = scratch.path() + "/pipe", file = scratch.path() + "/file",
             link = scratch.path() + "/link";
  std::filesystem::create_directory(folder);
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const auto& other : {folder, pipe}) {
    const auto done = replace_file(other, "x");
    BOOST_REQUIRE(!done.ok());
    BOOST_TEST(done.err().message == "cannot write '" + other + "': it is not a file");
  }
  BOOST_TEST(std::filesystem::is_fifo(pipe));
  BOOST_TEST(std::filesystem::is_directory(folder));
  BOOST_REQUIRE(replace_file(file, "old").ok());
  std::filesystem::create_symlink(file, link);
  BOOST_REQUIRE(replace_file(link, "new").ok());
  BOOST_TEST(std::filesystem::is_symlink(link));
  BOOST_TEST(std::filesystem::file_size(file) == 3u);
  std::string text;
  std::getline(std::ifstream(file), text);
  BOOST_TEST(text == "new");
}

BOOST_AUTO_TEST_CASE(two_of_one_workload_and_target_are_refused) {
  const auto b = bundle_bytes({gemm(512, "local", 32), gemm(512, "local", 8)});
  BOOST_REQUIRE(!b.ok());
  BOOST_TEST(b.err().message.find("gemm(m=512, n=512, dtype=f32, fast=true) on local") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(all_of_many_are_found) {
  std::vector<bundle_item> items;
  for (std::int64_t m = 0; m < 3000; ++m) {
    bundle_item i;
    i.workload = m % 2 == 0 ? "gemm" : "conv";
    i.args = {{"m", value(m / 2)}};
    i.target = "local";
    i.config = configuration({{"x", value(m)}});
    items.push_back(std::move(i));
  }
  const kept k(bytes_of(items));
  std::string why;
  const auto b = k.view(why);
  for (std::int64_t m = 0; m < 3000; ++m) {
    const auto got = b.find(m % 2 == 0 ? "gemm" : "conv", {{"m", m / 2}}, "local");
    BOOST_REQUIRE(got.exact);
    BOOST_REQUIRE(got.entry.integer("x", -1) == m);
  }
  BOOST_TEST(!b.find("gemm", {{"m", 1500}}, "local"));
}

BOOST_AUTO_TEST_SUITE_END()
