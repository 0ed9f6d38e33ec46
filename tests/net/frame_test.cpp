#include "core/random.hpp"
#include "net/frame.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace attune;
using namespace attune::net;

namespace {

std::vector<std::string> taken(frame_decoder& d, std::string_view bytes, bool* good = nullptr) {
  std::vector<std::string> out;
  const auto done = d.feed(bytes, [&](std::string_view body) {
    out.emplace_back(body);
    return true;
  });
  if (good != nullptr) *good = done.ok();
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(frames)

BOOST_AUTO_TEST_CASE(frames_come_whole_however_the_stream_is_cut) {
  random_engine rng(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> sent;
    std::string stream;
    for (auto n = rng.below(8); n > 0; --n) {
      sent.emplace_back(1 + rng.below(rng.chance(0.2) ? 5000 : 12), static_cast<char>(rng.below(256)));
      append_frame(stream, sent.back());
    }
    frame_decoder d(5000);
    std::vector<std::string> got;
    for (std::size_t at = 0; at < stream.size();) {
      const auto n = std::min<std::size_t>(stream.size() - at, 1 + rng.below(rng.chance(0.5) ? 7 : 3000));
      for (auto& b : taken(d, std::string_view(stream).substr(at, n))) got.push_back(std::move(b));
      at += n;
    }
    BOOST_TEST(got == sent, boost::test_tools::per_element());
    BOOST_TEST(d.at_rest());
  }
}

BOOST_AUTO_TEST_CASE(a_length_out_of_bounds_ends_it_before_memory_is_taken) {
  for (const std::string& bytes :
       {std::string("\0\0\0\0", 4), std::string("\0\0\0\x65", 4), std::string("\xff\xff\xff\xff", 4)})
    for (const bool whole : {true, false}) {
      frame_decoder d(100);
      bool good = true;
      if (whole) {
        taken(d, bytes, &good);
      } else {
        taken(d, bytes.substr(0, 2), &good);
        BOOST_TEST(good);
        taken(d, bytes.substr(2), &good);
      }
      BOOST_TEST(!good);
      BOOST_TEST(d.held() <= frame_header_bytes);
      std::string fine;
      append_frame(fine, "x");
      BOOST_TEST(taken(d, fine, &good).empty());
      BOOST_TEST(!good);
    }
}

BOOST_AUTO_TEST_CASE(only_what_has_come_is_held) {
  frame_decoder d(1u << 30);
  std::string begun("\x3f\xff\xff\xff", 4);
  begun += "abc";
  BOOST_TEST(taken(d, begun).empty());
  BOOST_TEST(d.held() == 7u);
  BOOST_TEST(!d.at_rest());
}

BOOST_AUTO_TEST_CASE(who_takes_can_stop) {
  std::string two;
  append_frame(two, "a");
  append_frame(two, "b");
  frame_decoder d(10);
  int n = 0;
  BOOST_TEST(d.feed(two, [&](std::string_view) { return ++n > 1; }).ok());
  BOOST_TEST(n == 1);
}

BOOST_AUTO_TEST_SUITE_END()
