// Feeds any bytes to what reads from people and peers before anything is known of them: the text of an address and of a
// token, a manifest, and the state machine that takes files in. What is refused is refused; what is taken keeps what it
// promises.
#include "net/address.hpp"
#include "net/artifact_transfer.hpp"
#include "net/manifest.hpp"
#include "net/token.hpp"

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>

using namespace attune;
using namespace attune::net;

namespace {

void must(bool holds) {
  if (!holds) __builtin_trap();
}

void addresses(std::string_view text) {
  for (const bool any : {false, true}) {
    const auto a = parse_address(text, any);
    if (!a) {
      must(!a.err().message.empty() && a.err().message.size() < 1000);
      for (const char c : a.err().message) must(c >= ' ' || c < 0);
      continue;
    }
    must(a->port != 0 || any);
    const auto again = parse_address(a->text(), any);
    must(again.ok() && *again == *a);
    is_loopback(a->host);
  }
}

void tokens(std::string_view text) {
  if (const auto t = parse_token(text)) {
    const auto again = parse_token(t->text());
    must(again.ok() && again->id == t->id && again->secret == t->secret && again->hub == t->hub);
  }
  // One byte of a good one changed, as the input says.
  if (text.size() < 2) return;
  token good;
  std::memcpy(good.secret.data(), text.data(), std::min(text.size(), good.secret.size()));
  auto changed = good.text();
  must(parse_token(changed).ok());
  auto& at = changed[static_cast<unsigned char>(text[0]) % changed.size()];
  const bool same = at == text[1];
  at = text[1];
  must(parse_token(changed).ok() == same);
}

void manifests(std::string_view text) {
  wire::v1::Submit in;
  if (!in.ParseFromArray(text.data(), static_cast<int>(text.size()))) return;
  const auto m = from(in.files());
  if (!m) return;
  std::set<std::string> paths;
  for (const auto& f : m->files) {
    must(f.path.front() != '/' && f.path.find('\0') == std::string::npos);
    must(("/" + f.path + "/").find("/../") == std::string::npos);
    must(paths.insert(f.path).second);
  }
  wire::v1::Submit out;
  to(*m, *out.mutable_files());
  must(*from(out.files()) == *m);
}

/// Contents in memory.
struct memory final : artifact_sink {
  std::map<digest, std::string> whole, parts;
  std::set<digest> under_way;

  struct one final : incoming {
    memory& in;
    digest what;
    std::uint64_t size;
    bool over = false;
    one(memory& m, const digest& d, std::uint64_t n) : in(m), what(d), size(n) { must(in.under_way.insert(d).second); }
    ~one() override { in.under_way.erase(what); }
    std::uint64_t offset() const noexcept override { return in.parts[what].size(); }
    status append(std::string_view data) override {
      auto& have = in.parts[what];
      must(!over && have.size() + data.size() <= size);
      have += data;
      if (have.size() < size) return {};
      over = true;
      const auto text = std::exchange(have, {});
      if (sha256(text) != what) return error{errc::network, "wrong", {}};
      in.whole[what] = text;
      return {};
    }
  };
  bool has(const digest& d) override { return whole.contains(d); }
  result<std::unique_ptr<incoming>> receive(const digest& d, std::uint64_t size) override {
    auto out = std::make_unique<one>(*this, d, size);
    if (size == 0) must(out->append({}).ok() == (sha256("") == d));
    return std::unique_ptr<incoming>(std::move(out));
  }
};

/// The bytes say who wants what, what the other side answers, and when it breaks off.
void transfers(std::string_view text) {
  const std::string contents[] = {"", "a", "some contents", std::string(100, 'x'), std::string(33, 'y')};
  const auto sink = std::make_shared<memory>();
  std::deque<wire::v1::ArtifactFetch> asks;
  transfer_limits limits;
  limits.part_bytes = 16;
  limits.window_bytes = 48;
  std::size_t wanted = 0, told = 0;
  auto make = [&] {
    asks.clear();
    return std::make_unique<artifact_receiver>(
        sink, [&](const wire::v1::ArtifactFetch& f) { asks.push_back(f); }, limits);
  };
  auto receiver = make();
  bool broken = false;
  for (std::size_t i = 0; i + 1 < text.size() && i < 400; i += 2) {
    const auto verb = static_cast<unsigned char>(text[i]), how = static_cast<unsigned char>(text[i + 1]);
    if (broken || verb % 8 == 7) {
      receiver->fail({errc::network, "cut", {}});
      must(told == wanted && receiver->in_flight() == 0 && receiver->idle());
      receiver = make();
      broken = false;
      continue;
    }
    if (verb % 8 == 0) {
      manifest m;
      for (std::size_t f = 0; f < std::size(contents); ++f)
        if ((how >> f) & 1)
          m.files.push_back({"f" + std::to_string(f), sha256(contents[f]), contents[f].size(), 0644, {}, false});
      if (how & 0x80) m.files.push_back({"wrong", sha256("never sent"), 40, 0644, {}, false});
      ++wanted;
      receiver->want(m, [&told, sink, m](const status& s) {
        ++told;
        if (!s) return;
        for (const auto& f : m.files) must(sink->whole.contains(f.contents));
      });
    } else if (!asks.empty()) {
      const auto ask = asks.front();
      wire::v1::ArtifactPart p;
      p.set_sha256(ask.sha256());
      p.set_offset(ask.offset());
      std::string data(ask.length(), 'z');
      for (const auto& c : contents)
        if (std::string(sha256(c).view()) == ask.sha256()) data = c.substr(ask.offset(), ask.length());
      bool honest = true;
      if (verb % 8 == 1) data[how % data.size()] ^= 1;                        // spoilt
      if (verb % 8 == 2) p.set_offset(ask.offset() + how), honest = how == 0; // elsewhere
      if (verb % 8 == 3) data.resize(how % 40, 'q'), honest = data.size() == ask.length();
      const bool gone = verb % 8 == 4;
      if (gone) p.set_gone(true);
      if (!gone || how % 2 == 1) p.set_data(data), honest = honest && (!gone || data.empty());
      const bool taken = receiver->take(p).ok();
      must(taken == honest);
      if (taken)
        asks.pop_front();
      else
        broken = true;
    } else {
      wire::v1::ArtifactPart p;
      p.set_sha256(std::string(sha256(contents[how % std::size(contents)]).view()));
      must(!receiver->take(p).ok());
    }
    must(receiver->in_flight() < limits.window_bytes + limits.part_bytes);
    must(told <= wanted);
  }
  receiver->fail({errc::network, "over", {}});
  must(told == wanted);
  for (const auto& [d, t] : sink->whole) must(sha256(t) == d);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  addresses(bytes);
  tokens(bytes);
  manifests(bytes);
  transfers(bytes);
  return 0;
}
