#include "net/tokens.hpp"

#include "proto/wire.pb.h"

#include <openssl/crypto.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

namespace attune::net {

namespace {

constexpr const char* token_file = "tokens";
constexpr std::size_t file_most = 4u << 20;

template <std::size_t N>
std::string_view bytes_of(const std::array<std::uint8_t, N>& a) {
  return {reinterpret_cast<const char*>(a.data()), N};
}

digest hash_of(std::string_view id, std::string_view secret) {
  std::string all = "attune token\n";
  all += id;
  all += secret;
  const auto out = sha256(all);
  OPENSSL_cleanse(all.data(), all.size());
  return out;
}

bool printable(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

/// Changes with the file: another is put in its place each time.
std::string stamp_of(const std::string& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return "none";
  return std::to_string(s.st_ino) + " " + std::to_string(s.st_size) + " " + std::to_string(s.st_mtim.tv_sec) + " " +
         std::to_string(s.st_mtim.tv_nsec);
}

} // namespace

std::string hub_folder(const std::string& store) { return store + (store.ends_with('/') ? "HUB" : "/HUB"); }

std::string token_entry::id_text() const {
  token t;
  t.id = id;
  return t.id_text();
}

const char* to_string(verdict::why reason) noexcept {
  switch (reason) {
  case verdict::why::good:
    return "good";
  case verdict::why::malformed:
    return "not a token";
  case verdict::why::unknown:
    return "unknown token";
  case verdict::why::wrong_secret:
    return "wrong secret";
  case verdict::why::revoked:
    return "revoked token";
  }
  return "?";
}

error refused_token() { return error{errc::network, "the token is not accepted", {}}; }
error refused_deed() { return error{errc::network, "the token's role does not allow that", {}}; }

verdict judge(const std::vector<token_entry>& known, std::string_view id, std::string_view secret) {
  verdict out;
  if (id.size() != token::id_bytes || secret.size() != token::secret_bytes) return out;
  token named;
  std::memcpy(named.id.data(), id.data(), id.size());
  out.id = named.id_text();
  const auto at = std::find_if(known.begin(), known.end(), [&](const token_entry& e) { return bytes_of(e.id) == id; });
  static const digest nobody = sha256("nobody has this secret");
  const auto& expected = at == known.end() ? nobody : at->hash;
  const auto shown = hash_of(id, secret);
  const bool same = CRYPTO_memcmp(shown.bytes.data(), expected.bytes.data(), shown.bytes.size()) == 0;
  if (at == known.end()) {
    out.reason = verdict::why::unknown;
    return out;
  }
  out.name = at->name;
  out.role = at->role;
  out.reason = !same                      ? verdict::why::wrong_secret
               : at->revoked.count() != 0 ? verdict::why::revoked
                                          : verdict::why::good;
  return out;
}

result<token_book> token_book::open(private_folder folder) {
  token_book out(std::move(folder));
  if (auto done = out.refresh(); !done) return done.err();
  return out;
}

status token_book::refresh() {
  if (stamp_of(folder_.path() + "/" + token_file) == stamp_) return {};
  return read();
}

status token_book::read() {
  // The stamp first: what is changed while it is read is read again.
  const auto stamp = stamp_of(folder_.path() + "/" + token_file);
  const auto text = folder_.read(token_file, file_most);
  if (!text) return text.err();
  wire::v1::TokenFile file;
  const auto damaged = [this] {
    return error{errc::io, "the file '" + folder_.path() + "/" + token_file + "' is damaged", {}};
  };
  if (*text && !file.ParseFromString(**text)) return damaged();
  std::vector<token_entry> found;
  for (const auto& t : file.tokens()) {
    auto& e = found.emplace_back();
    if (t.id().size() != e.id.size() || t.hash().size() != e.hash.bytes.size() || t.role() < 1 || t.role() > 3)
      return damaged();
    std::memcpy(e.id.data(), t.id().data(), e.id.size());
    std::memcpy(e.hash.bytes.data(), t.hash().data(), e.hash.bytes.size());
    e.role = static_cast<token_role>(t.role() - 1);
    e.name = t.name();
    e.created = nanoseconds(t.created_ns());
    e.revoked = nanoseconds(t.revoked_ns());
    e.used = nanoseconds(t.used_ns());
  }
  known_ = std::move(found);
  stamp_ = stamp;
  return {};
}

status token_book::write() {
  wire::v1::TokenFile file;
  for (const auto& e : known_) {
    auto& t = *file.add_tokens();
    t.set_id(e.id.data(), e.id.size());
    t.set_hash(e.hash.bytes.data(), e.hash.bytes.size());
    t.set_role(static_cast<std::uint32_t>(e.role) + 1);
    t.set_name(e.name);
    t.set_created_ns(e.created.count());
    t.set_revoked_ns(e.revoked.count());
    t.set_used_ns(e.used.count());
  }
  stamp_.clear(); // whatever becomes of it, it is read again
  return folder_.replace(token_file, file.SerializeAsString());
}

result<token> token_book::create(token_role role, const std::string& name, const std::optional<digest>& hub,
                                 nanoseconds now) {
  if (name.empty() || name.size() > name_most || !printable(name))
    return error{
        errc::invalid_spec, "a token's name has 1 to " + std::to_string(name_most) + " printable ASCII characters", {}};
  const auto lock = folder_.lock();
  if (!lock) return lock.err();
  if (auto done = read(); !done) return done.err();
  if (known_.size() >= most)
    return error{
        errc::invalid_spec, "there are " + std::to_string(most) + " tokens already, which is all that may be", {}};
  auto made = make_token(hub);
  while (made && std::any_of(known_.begin(), known_.end(), [&](const token_entry& e) { return e.id == made->id; }))
    made = make_token(hub);
  if (!made) return made;
  token_entry e;
  e.id = made->id;
  e.hash = hash_of(bytes_of(made->id), bytes_of(made->secret));
  e.role = role;
  e.name = name;
  e.created = now;
  known_.push_back(std::move(e));
  if (auto done = write(); !done) return done.err();
  return made;
}

result<token_entry> token_book::revoke(const std::string& id, nanoseconds now) {
  const auto lock = folder_.lock();
  if (!lock) return lock.err();
  if (auto done = read(); !done) return done.err();
  const auto at = std::find_if(known_.begin(), known_.end(), [&](const token_entry& e) { return e.id_text() == id; });
  if (at == known_.end()) return error{errc::not_found, "there is no token with that id", {}};
  const auto before = *at;
  if (before.revoked.count() != 0) return before;
  at->revoked = now;
  const auto after = *at;
  if (auto done = write(); !done) return done.err();
  return after;
}

result<std::vector<token_entry>> token_book::list() {
  if (auto done = refresh(); !done) return done.err();
  return known_;
}

verdict token_book::admit(std::string_view id, std::string_view secret, nanoseconds now) {
  if (const auto done = refresh(); !done) known_.clear();
  auto out = judge(known_, id, secret);
  if (out) {
    std::array<std::uint8_t, token::id_bytes> key{};
    std::memcpy(key.data(), id.data(), key.size());
    uses_[key] = now;
  }
  return out;
}

bool token_book::stands(const std::string& id) {
  if (const auto done = refresh(); !done) known_.clear();
  return std::any_of(known_.begin(), known_.end(),
                     [&](const token_entry& e) { return e.revoked.count() == 0 && e.id_text() == id; });
}

status token_book::write_uses() {
  if (uses_.empty()) return {};
  const auto lock = folder_.lock();
  if (!lock) return lock.err();
  if (auto done = read(); !done) return done;
  for (auto& e : known_)
    if (const auto at = uses_.find(e.id); at != uses_.end()) e.used = std::max(e.used, at->second);
  if (auto done = write(); !done) return done;
  uses_.clear();
  return {};
}

} // namespace attune::net
