// Feeds any bytes to the frame decoder, as a whole and cut up as the bytes themselves say, under several limits: the
// same frames must come, or the same refusal, and no more may be held than has come.
#include "net/frame.hpp"

#include <cstdint>
#include <string>
#include <vector>

using namespace attune;

namespace {

void must(bool holds) {
  if (!holds) __builtin_trap();
}

struct outcome {
  std::vector<std::string> frames;
  bool good = true;
  friend bool operator==(const outcome&, const outcome&) = default;
};

outcome feed(std::string_view bytes, std::size_t limit, bool in_pieces) {
  net::frame_decoder d(limit);
  outcome out;
  std::size_t given = 0;
  while (!bytes.empty()) {
    const auto n =
        in_pieces ? std::min<std::size_t>(bytes.size(), 1 + static_cast<unsigned char>(bytes[0]) % 13) : bytes.size();
    given += n;
    const bool before = out.good;
    out.good = d.feed(bytes.substr(0, n),
                      [&](std::string_view body) {
                        must(!body.empty() && body.size() <= limit);
                        out.frames.emplace_back(body);
                        return true;
                      })
                   .ok() &&
               out.good;
    must(before || !out.good);
    must(d.held() <= given && d.held() <= limit + net::frame_header_bytes);
    bytes.remove_prefix(n);
  }
  return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const std::size_t limit : {4, 64, 1 << 20}) must(feed(bytes, limit, false) == feed(bytes, limit, true));
  // What is framed comes back, wherever it is cut.
  if (bytes.empty()) return 0;
  std::string stream;
  std::vector<std::string> sent;
  for (std::size_t at = 0; at < size;) {
    const auto n = std::min<std::size_t>(size - at, 1 + data[at]);
    sent.emplace_back(bytes.substr(at, n));
    net::append_frame(stream, sent.back());
    at += n;
  }
  for (const bool in_pieces : {false, true}) must(feed(stream, 256, in_pieces) == outcome{sent, true});
  return 0;
}
