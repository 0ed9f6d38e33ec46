#include "net/token.hpp"

#include "core/text.hpp"

#include <openssl/rand.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace attune::net {

namespace {

constexpr std::string_view prefix = "attune_";
constexpr std::uint8_t version = 1;
constexpr std::size_t digest_bytes = 32, check_bytes = 4;
constexpr std::size_t raw_bytes = 1 + token::id_bytes + token::secret_bytes + digest_bytes + check_bytes;
constexpr std::size_t text_bytes = prefix.size() + raw_bytes / 3 * 4;
static_assert(raw_bytes % 3 == 0); // nothing is padded, and no bit is left over
constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string to_base64(std::string_view raw) {
  std::string out;
  for (std::size_t i = 0; i + 2 < raw.size(); i += 3) {
    std::uint32_t v = 0;
    for (std::size_t j = 0; j < 3; ++j) v = (v << 8) | static_cast<unsigned char>(raw[i + j]);
    for (int shift = 18; shift >= 0; shift -= 6) out += letters[(v >> shift) & 63];
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i + 3 < text.size(); i += 4) {
    std::uint32_t v = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const auto at = letters.find(text[i + j]);
      if (at == std::string_view::npos) return std::nullopt;
      v = (v << 6) | static_cast<std::uint32_t>(at);
    }
    for (int shift = 16; shift >= 0; shift -= 8) out += static_cast<char>((v >> shift) & 0xff);
  }
  return out;
}

template <std::size_t N>
std::string_view token_bytes(const std::array<std::uint8_t, N>& a) {
  return {reinterpret_cast<const char*>(a.data()), N};
}

error token_error(std::string what) { return error{errc::invalid_spec, std::move(what), {}}; }

} // namespace

const char* to_string(token_role role) noexcept {
  switch (role) {
  case token_role::agent:
    return "agent";
  case token_role::client:
    return "client";
  case token_role::admin:
    return "admin";
  }
  return "?";
}

std::optional<token_role> parse_role(std::string_view text) {
  for (const auto r : {token_role::agent, token_role::client, token_role::admin})
    if (text == to_string(r)) return r;
  return std::nullopt;
}

bool may(token_role role, deed what) noexcept {
  switch (what) {
  case deed::work:
    return role == token_role::agent;
  case deed::tune:
  case deed::watch:
    return role == token_role::client || role == token_role::admin;
  case deed::manage:
    return role == token_role::admin;
  }
  return false;
}

std::string token::id_text() const {
  std::string out;
  for (const auto b : id) {
    out += "0123456789abcdef"[b >> 4];
    out += "0123456789abcdef"[b & 15];
  }
  return out;
}

std::string token::text() const {
  std::string raw(1, static_cast<char>(version));
  raw += token_bytes(id);
  raw += token_bytes(secret);
  raw += hub ? std::string(hub->view()) : std::string(digest_bytes, '\0');
  raw += sha256(raw).view().substr(0, check_bytes);
  return std::string(prefix) + to_base64(raw);
}

result<token> parse_token(std::string_view text) {
  text = trim(text);
  if (!text.starts_with(prefix)) return token_error("this is not a token: tokens begin with " + std::string(prefix));
  if (text.size() < text_bytes)
    return token_error("the token is cut off: " + std::to_string(text.size()) + " of its " +
                       std::to_string(text_bytes) + " characters are there");
  if (text.size() > text_bytes)
    return token_error("there is more than a token: it has " + std::to_string(text_bytes) + " characters, not " +
                       std::to_string(text.size()));
  const auto raw = from_base64(text.substr(prefix.size()));
  if (!raw) return token_error("the token is damaged: a character is in it that tokens do not have");
  const auto body = std::string_view(*raw).substr(0, raw_bytes - check_bytes);
  if (sha256(body).view().substr(0, check_bytes) != std::string_view(*raw).substr(body.size()))
    return token_error("the token is damaged: its checksum does not fit");
  if (static_cast<std::uint8_t>(body[0]) != version)
    return token_error("the token is of a newer version: update attune");
  token out;
  const char* at = body.data() + 1;
  std::memcpy(out.id.data(), at, token::id_bytes);
  std::memcpy(out.secret.data(), at + token::id_bytes, token::secret_bytes);
  digest hub;
  std::memcpy(hub.bytes.data(), at + token::id_bytes + token::secret_bytes, digest_bytes);
  if (hub != digest{}) out.hub = hub;
  return out;
}

result<token> read_token_file(const std::string& path) {
  const auto failed = [&](const std::string& what) {
    return error{errc::io, "the token file '" + path + "' " + what, {}};
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed(std::string("cannot be read: ") + std::strerror(errno));
  struct stat s {};
  std::array<char, 512> buffer{};
  ssize_t n = -1;
  const bool looked = ::fstat(fd, &s) == 0;
  const bool shut = looked && (!S_ISREG(s.st_mode) || (s.st_mode & 0077) == 0); // a pipe is somebody's own
  if (shut) n = ::read(fd, buffer.data(), buffer.size());
  ::close(fd);
  if (looked && !shut)
    return failed("is open to other users: chmod 600 it, and revoke the token if they may have read it");
  if (n < 0) return failed("cannot be read");
  std::string_view text(buffer.data(), static_cast<std::size_t>(n));
  auto out = parse_token(text.substr(0, text.find('\n')));
  buffer.fill('\0');
  if (!out) return error{out.err().code, out.err().message, path};
  return out;
}

result<token> make_token(const std::optional<digest>& hub) {
  token out;
  out.hub = hub;
  if (RAND_bytes(out.id.data(), static_cast<int>(out.id.size())) != 1 ||
      RAND_priv_bytes(out.secret.data(), static_cast<int>(out.secret.size())) != 1)
    return error{errc::internal, "the system gives no random bytes", {}};
  return out;
}

} // namespace attune::net
