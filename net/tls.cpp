#include "net/tls.hpp"

#include "core/file.hpp"
#include "net/address.hpp"
#include "net/tcp.hpp"
#include "net/tls_stream.hpp"

#include <asio/ssl/error.hpp>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <vector>

namespace attune::net {

namespace {

constexpr const char* identity_file = "identity.pem";
constexpr std::size_t pem_most = 1u << 20;
constexpr auto lifetime = std::chrono::hours(24 * 3652);

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* p) const {
    Free(p);
  }
};
using bio_ptr = std::unique_ptr<BIO, freed_by<BIO_free_all>>;
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<X509_free>>;

error broken(const char* what) {
  ERR_clear_error();
  return error{errc::internal, std::string("OpenSSL cannot ") + what, {}};
}

std::string text_of(BIO* from) {
  char* data = nullptr;
  const auto n = BIO_get_mem_data(from, &data);
  return n > 0 ? std::string(data, static_cast<std::size_t>(n)) : std::string();
}

bio_ptr reader(const std::string& text) { return bio_ptr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

std::vector<certificate_ptr> certificates_of(const std::string& pem) {
  std::vector<certificate_ptr> out;
  const auto in = reader(pem);
  while (in && out.size() < 16) {
    certificate_ptr one(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
    if (!one) break;
    out.push_back(std::move(one));
  }
  ERR_clear_error(); // the end is an error to it
  return out;
}

/// No pass phrase is asked for on the terminal.
int no_phrase(char*, int, int, void*) { return 0; }

key_ptr key_of(const std::string& pem) {
  const auto in = reader(pem);
  key_ptr out(in ? PEM_read_bio_PrivateKey(in.get(), nullptr, no_phrase, nullptr) : nullptr);
  ERR_clear_error();
  return out;
}

bool fingerprint_of(const X509* certificate, digest& out) {
  unsigned n = 0;
  return X509_digest(certificate, EVP_sha256(), out.bytes.data(), &n) == 1 && n == out.bytes.size();
}

nanoseconds time_of(const ASN1_TIME* t) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(t, &parts) != 1) return nanoseconds(0);
  return std::chrono::seconds(::timegm(&parts));
}

/// Fills in what the certificate says. False where the two do not belong together.
bool complete(tls_identity& id) {
  const auto certificates = certificates_of(id.certificates);
  const auto key = key_of(id.key);
  if (certificates.empty() || !key || X509_check_private_key(certificates.front().get(), key.get()) != 1 ||
      !fingerprint_of(certificates.front().get(), id.fingerprint)) {
    ERR_clear_error();
    return false;
  }
  id.from = time_of(X509_get0_notBefore(certificates.front().get()));
  id.until = time_of(X509_get0_notAfter(certificates.front().get()));
  return true;
}

result<std::string> contents(const std::string& path, bool secret) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return error{errc::io, "cannot read '" + path + "': " + std::strerror(errno), {}};
  if (secret && (s.st_mode & 0007) != 0)
    return error{
        errc::io, "the key '" + path + "' is open to every user: what is in it may be known; chmod 600 it", {}};
  auto out = file_contents(path, pem_most + 1);
  if (!out) return error{errc::io, "cannot read '" + path + "': " + out.err().message, {}};
  if (out->size() > pem_most) return error{errc::io, "'" + path + "' is too large for what it is to be", {}};
  return out;
}

/// Where a connection keeps the certificate that it was shown, for the message.
int shown_index() {
  static const int index = SSL_get_ex_new_index(
      0, nullptr, nullptr, nullptr,
      [](void*, void* certificate, CRYPTO_EX_DATA*, int, long, void*) { X509_free(static_cast<X509*>(certificate)); });
  return index;
}

/// Called in place of OpenSSL's own check.
int check_certificate(X509_STORE_CTX* chain, void* with) {
  const auto& settings = *static_cast<const tls_settings*>(with);
  auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  if (auto* shown = X509_STORE_CTX_get0_cert(chain);
      ssl != nullptr && shown != nullptr && SSL_get_ex_data(ssl, shown_index()) == nullptr && X509_up_ref(shown) == 1 &&
      SSL_set_ex_data(ssl, shown_index(), shown) != 1)
    X509_free(shown);
  if (settings.chain && X509_verify_cert(chain) <= 0) return 0;
  const auto refuse = [chain](int why) {
    X509_STORE_CTX_set_error(chain, why);
    return 0;
  };
  const X509* certificate = X509_STORE_CTX_get0_cert(chain);
  if (certificate == nullptr) return refuse(X509_V_ERR_UNSPECIFIED);
  digest is;
  if (settings.trust.pin && (!fingerprint_of(certificate, is) ||
                             CRYPTO_memcmp(is.bytes.data(), settings.trust.pin->bytes.data(), is.bytes.size()) != 0))
    return refuse(X509_V_ERR_APPLICATION_VERIFICATION);
  if (X509_cmp_current_time(X509_get0_notBefore(certificate)) >= 0) return refuse(X509_V_ERR_CERT_NOT_YET_VALID);
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0) return refuse(X509_V_ERR_CERT_HAS_EXPIRED);
  X509_STORE_CTX_set_error(chain, X509_V_OK);
  return 1;
}

result<std::shared_ptr<tls_settings>> settings() {
  std::shared_ptr<tls_settings> out;
  try {
    out = std::make_shared<tls_settings>();
  } catch (const asio::system_error&) {
    return broken("begin TLS");
  }
  auto* ctx = out->context.native_handle();
  // All three of TLS 1.3's ciphers, the fastest of them first.
  if (SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256") !=
          1 ||
      SSL_CTX_set_num_tickets(ctx, 0) != 1)
    return broken("begin TLS 1.3");
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS); // of the connections that are silent
  return out;
}

} // namespace

result<tls_identity> make_identity(const std::string& name, nanoseconds from, nanoseconds until) {
  const key_ptr key(EVP_EC_gen("P-256"));
  const certificate_ptr made(X509_new());
  std::array<unsigned char, 16> serial{};
  if (!key || !made || RAND_bytes(serial.data(), static_cast<int>(serial.size())) != 1) return broken("make a key");
  serial[0] = static_cast<unsigned char>((serial[0] & 0x7f) | 0x40); // positive, of one length
  const std::unique_ptr<BIGNUM, freed_by<BN_free>> number(BN_bin2bn(serial.data(), serial.size(), nullptr));
  const auto in_seconds = [](nanoseconds t) {
    return static_cast<std::time_t>(std::chrono::duration_cast<std::chrono::seconds>(t).count());
  };
  auto* subject = X509_get_subject_name(made.get());
  X509V3_CTX v3;
  X509V3_set_ctx_nodb(&v3);
  X509V3_set_ctx(&v3, made.get(), made.get(), nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, freed_by<X509_EXTENSION_free>> leaf(
      X509V3_EXT_conf_nid(nullptr, &v3, NID_basic_constraints, "critical,CA:FALSE"));
  if (!number || !leaf || X509_set_version(made.get(), X509_VERSION_3) != 1 ||
      BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(made.get())) == nullptr ||
      ASN1_TIME_set(X509_getm_notBefore(made.get()), in_seconds(from)) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(made.get()), in_seconds(until)) == nullptr ||
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(name.c_str()), -1,
                                 -1, 0) != 1 ||
      X509_set_issuer_name(made.get(), subject) != 1 || X509_set_pubkey(made.get(), key.get()) != 1 ||
      X509_add_ext(made.get(), leaf.get(), -1) != 1 || X509_sign(made.get(), key.get(), EVP_sha256()) == 0)
    return broken("make a certificate");
  const bio_ptr certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_secmem()));
  if (!certificate_text || !key_text || PEM_write_bio_X509(certificate_text.get(), made.get()) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return broken("write a certificate");
  tls_identity out;
  out.certificates = text_of(certificate_text.get());
  out.key = text_of(key_text.get());
  if (!complete(out)) return broken("read what it has written");
  return out;
}

result<tls_identity> own_identity(const private_folder& folder, nanoseconds now) {
  const auto path = folder.path() + "/" + identity_file;
  const auto there = [&]() -> result<std::optional<tls_identity>> {
    const auto text = folder.read(identity_file, pem_most);
    if (!text) return text.err();
    if (!*text) return std::optional<tls_identity>();
    tls_identity id;
    id.certificates = id.key = **text; // each finds its own in it
    if (!complete(id)) return error{errc::io, "the file '" + path + "' does not hold a certificate and its key", {}};
    return std::optional(std::move(id));
  };
  auto found = there();
  if (!found) return found.err();
  if (!*found) {
    const auto lock = folder.lock();
    if (!lock) return lock.err();
    found = there(); // another may have been faster
    if (!found) return found.err();
    if (!*found) {
      // Clocks differ: it is valid since yesterday.
      const auto made = make_identity("attune hub", now - std::chrono::hours(24), now + lifetime);
      if (!made) return made.err();
      if (auto written = folder.replace(identity_file, made->key + made->certificates); !written) return written.err();
      return *made;
    }
  }
  if ((*found)->until <= now)
    return error{errc::network,
                 "the hub's certificate has expired on " + rfc3339((*found)->until) + ": remove '" + path +
                     "', and a new one is made; all tokens must then be made anew",
                 {}};
  return **found;
}

result<tls_identity> identity_of_files(const std::string& certificates, const std::string& key, nanoseconds now) {
  const auto first = contents(certificates, false);
  if (!first) return first.err();
  const auto second = contents(key, true);
  if (!second) return second.err();
  tls_identity out;
  out.certificates = *first;
  out.key = *second;
  const auto wrong = [](std::string what) { return error{errc::invalid_spec, std::move(what), {}}; };
  if (certificates_of(out.certificates).empty()) return wrong("'" + certificates + "' holds no certificate (PEM)");
  if (!key_of(out.key)) return wrong("'" + key + "' holds no key (PEM, without a pass phrase)");
  if (!complete(out)) return wrong("the key '" + key + "' does not belong to the certificate '" + certificates + "'");
  if (out.until <= now) return wrong("the certificate '" + certificates + "' has expired on " + rfc3339(out.until));
  return out;
}

result<tls_ptr> tls_for_hub(const tls_identity& identity) {
  auto made = settings();
  if (!made) return made.err();
  auto* ctx = (*made)->context.native_handle();
  const auto certificates = certificates_of(identity.certificates);
  const auto key = key_of(identity.key);
  bool good = !certificates.empty() && key && SSL_CTX_use_certificate(ctx, certificates.front().get()) == 1 &&
              SSL_CTX_use_PrivateKey(ctx, key.get()) == 1;
  for (std::size_t i = 1; good && i < certificates.size(); ++i)
    good = SSL_CTX_add1_chain_cert(ctx, certificates[i].get()) == 1;
  ERR_clear_error();
  if (!good) return error{errc::invalid_spec, "the certificate cannot be used for TLS 1.3", {}};
  SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, nullptr);
  return tls_ptr(*made);
}

result<tls_ptr> tls_for_client(const tls_trust& trust) {
  if (!trust.pin && trust.ca_file.empty())
    return error{errc::invalid_spec, "nothing says by what the hub is known: a token, or a CA", {}};
  auto made = settings();
  if (!made) return made.err();
  auto* ctx = (*made)->context.native_handle();
  (*made)->trust = trust;
  if (!trust.ca_file.empty()) {
    const auto text = contents(trust.ca_file, false);
    if (!text) return text.err();
    if (certificates_of(*text).empty())
      return error{errc::io, "'" + trust.ca_file + "' holds no certificate (PEM)", {}};
    if (SSL_CTX_load_verify_file(ctx, trust.ca_file.c_str()) != 1) return broken("read the CA's certificates");
    (*made)->chain = true;
  }
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(ctx, check_certificate, made->get());
  return tls_ptr(*made);
}

bool tls_stream::expect(const std::string& host) {
  auto* ssl = native_handle();
  if (ssl == nullptr) return false;
  const bool figures = is_numeric(host);
  if (settings_->chain) {
    auto* want = SSL_get0_param(ssl);
    X509_VERIFY_PARAM_set_hostflags(want, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    const bool set = figures ? X509_VERIFY_PARAM_set1_ip_asc(want, host.substr(0, host.find('%')).c_str()) == 1
                             : X509_VERIFY_PARAM_set1_host(want, host.data(), host.size()) == 1;
    if (!set) return false;
  }
  return figures || SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

std::string tls_stream::reason(const asio::error_code& ec) {
  const auto* ssl = native_handle();
  const auto verified = ssl == nullptr ? X509_V_OK : SSL_get_verify_result(ssl);
  if (verified != X509_V_OK) {
    const auto* shown = static_cast<const X509*>(SSL_get_ex_data(ssl, shown_index()));
    switch (verified) {
    case X509_V_ERR_APPLICATION_VERIFICATION: {
      digest is;
      std::string seen;
      if (shown != nullptr && fingerprint_of(shown, is)) seen = is.hex().substr(0, 16) + "...";
      return "TLS: the certificate is not the one that the token names (expected " +
             (settings_->trust.pin ? settings_->trust.pin->hex().substr(0, 16) : "") + "..." +
             (seen.empty() ? "" : ", shown " + seen) + "): this is another hub, or somebody is in between";
    }
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "TLS: the certificate has expired" +
             (shown != nullptr ? " on " + rfc3339(time_of(X509_get0_notAfter(shown))) : "") +
             ": the hub needs a new one (or a clock is wrong)";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "TLS: the certificate is not valid yet: compare the clocks of the two machines";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "TLS: the certificate is made out to another name";
    default:
      return std::string("TLS: the certificate is not from the given CA: ") + X509_verify_cert_error_string(verified);
    }
  }
  if (ec == asio::error::timed_out) return "TLS: the other side did not answer in time";
  if (ec.category() == asio::error::get_ssl_category()) {
    switch (ERR_GET_REASON(static_cast<unsigned long>(ec.value()))) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_BAD_RECORD_TYPE:
      return "TLS: the other side does not speak TLS";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return "TLS: the other side does not speak TLS 1.3";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return "TLS: the other side did not accept the certificate";
    default:
      return "TLS: the handshake has failed: " + ec.message();
    }
  }
  if (ec == asio::error::eof || ec == asio::ssl::error::stream_truncated || ec == asio::error::connection_reset ||
      ec == asio::error::broken_pipe)
    return "TLS: the other side hung up during the handshake (does it speak TLS?)";
  return "TLS: " + net::reason(ec);
}

} // namespace attune::net
