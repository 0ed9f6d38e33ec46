#pragma once

#include "core/clock.hpp"
#include "core/hash.hpp"
#include "net/private_folder.hpp"

#include <memory>
#include <optional>
#include <string>

namespace attune::net {

/// A certificate with its key, as PEM: what a hub proves itself with.
struct tls_identity {
  std::string certificates; ///< its own first, then those between it and its CA
  std::string key;
  digest fingerprint;      ///< SHA-256 of the certificate (DER)
  nanoseconds from, until; ///< when it is valid, wall clock
};

/// A fresh one that signs itself: ECDSA over P-256, made out to `name`. Errors: internal.
result<tls_identity> make_identity(const std::string& name, nanoseconds from, nanoseconds until);

/// The hub's own: `identity.pem` in `folder`, made there (for ten years) where it is missing; when several processes
/// begin at once, one makes it. Errors: io; network where it has expired at `now`, with the remedy.
result<tls_identity> own_identity(const private_folder& folder, nanoseconds now);

/// A user's own, from two files of PEM. Errors: io (not readable; the key is open to every user), invalid_spec (not
/// PEM, the key does not belong to the certificate, expired at `now`).
result<tls_identity> identity_of_files(const std::string& certificates, const std::string& key, nanoseconds now);

/// What a hub is known by. Where both are given both must hold.
struct tls_trust {
  std::optional<digest> pin; ///< the certificate's fingerprint; whoever signed it, and whatever name it bears
  std::string ca_file; ///< PEM; the certificate must then be for the name or address that was dialled. Empty: none
};

/// One side's settings of TLS 1.3 (nothing older is spoken), made once and shared by its connections
/// (net/tls_stream.hpp). Thread-safe.
class tls_settings;
using tls_ptr = std::shared_ptr<const tls_settings>;

/// Errors: invalid_spec.
result<tls_ptr> tls_for_hub(const tls_identity& identity);
/// Errors: invalid_spec where nothing is trusted; io where the file cannot be read or has no certificate.
result<tls_ptr> tls_for_client(const tls_trust& trust);

} // namespace attune::net
