#include "core/hash.hpp"

#include <boost/test/unit_test.hpp>

#include <set>
#include <thread>
#include <vector>

using namespace attune;

BOOST_AUTO_TEST_SUITE(hashing)

// FIPS 180-4's examples, as NIST gives them.
BOOST_AUTO_TEST_CASE(sha256_gives_the_standards_answers) {
  BOOST_TEST(sha256("").hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  BOOST_TEST(sha256(std::string_view{}).hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  BOOST_TEST(sha256("abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  BOOST_TEST(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex() ==
             "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  BOOST_TEST(sha256(std::string(1'000'000, 'a')).hex() ==
             "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

BOOST_AUTO_TEST_CASE(sha256_gives_every_thread_the_same_answer) {
  std::vector<int> right(4, 0);
  {
    std::vector<std::jthread> threads;
    for (auto& count : right)
      threads.emplace_back([&count] {
        for (int i = 0; i < 200; ++i)
          count += sha256("abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
      });
  }
  for (const int count : right) BOOST_TEST(count == 200);
}

BOOST_AUTO_TEST_CASE(a_key_is_the_first_half_of_the_digest) {
  const auto d = sha256("abc");
  BOOST_TEST(truncate(d).hex() == d.hex().substr(0, 32));
}

BOOST_AUTO_TEST_CASE(a_key_is_read_back_from_its_bytes_and_from_its_digits) {
  const auto k = truncate(sha256("abc"));
  BOOST_TEST((key128::from_bytes(k.view()) == k));
  BOOST_TEST((key128::from_hex(k.hex()) == k));
  BOOST_TEST((key128::from_hex("BA7816BF8F01CFEA414140DE5DAE2223") == k));
}

BOOST_AUTO_TEST_CASE(what_is_no_key_is_refused) {
  BOOST_TEST(!key128::from_bytes(""));
  BOOST_TEST(!key128::from_bytes(std::string(15, 'x')));
  BOOST_TEST(!key128::from_bytes(std::string(17, 'x')));
  BOOST_TEST(!key128::from_hex(""));
  BOOST_TEST(!key128::from_hex(std::string(31, 'a')));
  BOOST_TEST(!key128::from_hex(std::string(33, 'a')));
  BOOST_TEST(!key128::from_hex(std::string(31, 'a') + "g"));
  BOOST_TEST(!key128::from_hex("0x" + std::string(30, 'a')));
}

// From a Python program written from the definition (FNV-1a 64 begun with the mixed seed, then splitmix64's mixer).
BOOST_AUTO_TEST_CASE(hash64_is_the_same_everywhere) {
  BOOST_TEST(hash64("") == 0xf52a15e9a9b5e89bu);
  BOOST_TEST(hash64("a") == 0x02c0bdbf481420f8u);
  BOOST_TEST(hash64("a", 1) == 0xedb296206f5cd587u);
  BOOST_TEST(hash64("attune", 7) == 0x737a6baed537f60au);
}

BOOST_AUTO_TEST_CASE(hash64_of_another_seed_is_not_that_of_another_text) {
  // "a" and "b" differ in the bits in which 1 and 2 do.
  BOOST_TEST(hash64("a", 1) != hash64("b", 2));
  std::set<std::uint64_t> seen;
  for (int c = 0; c < 256; ++c)
    for (std::uint64_t seed = 0; seed < 256; ++seed) seen.insert(hash64(std::string(1, static_cast<char>(c)), seed));
  BOOST_TEST(seen.size() == 65536u);
}

BOOST_AUTO_TEST_SUITE_END()
