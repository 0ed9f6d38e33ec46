#include "net/tls_stream.hpp"

#include <asio/error.hpp>
#include <asio/post.hpp>
#include <asio/ssl/error.hpp>
#include <asio/write.hpp>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace attune::net {

namespace {

constexpr std::size_t tls_read_ahead = 128u << 10;

} // namespace

struct tls_stream::state : std::enable_shared_from_this<state> {
  state(asio::ip::tcp::socket s, tls_ptr how) : socket(std::move(s)), settings(std::move(how)) {
    static BIO_METHOD* const method = make_method();
    ssl = SSL_new(settings->context.native_handle());
    BIO* const bio = ssl && method ? BIO_new(method) : nullptr;
    if (!bio) return;
    BIO_set_data(bio, this);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS); // who says nothing holds no memory
    SSL_set_read_ahead(ssl, 1);
    SSL_set_default_read_buffer_len(ssl, tls_read_ahead);
    asio::error_code ignored;
    socket.non_blocking(true, ignored);
    usable = true;
  }
  ~state() { SSL_free(ssl); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  // --- what OpenSSL reads from and writes to

  static BIO_METHOD* make_method() {
    auto* out = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "attune");
    if (out == nullptr) return nullptr;
    BIO_meth_set_create(out, [](BIO* b) {
      BIO_set_init(b, 1);
      return 1;
    });
    BIO_meth_set_ctrl(out, [](BIO*, int what, long, void*) -> long { return what == BIO_CTRL_FLUSH ? 1 : 0; });
    BIO_meth_set_read(out, [](BIO* b, char* to, int n) { return of(b)->receive(b, to, n); });
    BIO_meth_set_write(out, [](BIO* b, const char* from, int n) {
      of(b)->out.append(from, static_cast<std::size_t>(n));
      return n;
    });
    return out;
  }
  static state* of(BIO* b) { return static_cast<state*>(BIO_get_data(b)); }

  int receive(BIO* b, char* to, int n) {
    BIO_clear_retry_flags(b);
    ssize_t got = -1;
    do got = ::recv(socket.native_handle(), to, static_cast<std::size_t>(n), MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got > 0) return static_cast<int>(got);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      BIO_set_retry_read(b);
      return -1;
    }
    below = got == 0 ? asio::error_code(asio::ssl::error::stream_truncated)
                     : asio::error_code(errno, asio::error::get_system_category());
    return got == 0 ? 0 : -1;
  }

  // --- sending

  /// `then` when all that OpenSSL has written is the kernel's.
  void drain(shaken then) {
    if (sending) {
      if (const auto box = waiting.lock()) *box = std::move(then);
    } else if (out.empty()) {
      asio::post(socket.get_executor(), [ec = broken, then = std::move(then)] { then(ec); });
    } else {
      send(std::make_shared<shaken>(std::move(then)));
    }
  }
  /// What nobody waits for.
  void send() {
    if (!sending && !out.empty()) send(std::make_shared<shaken>());
  }
  /// Who waits is held by the operation alone, so that both go together where the loop ends before.
  void send(std::shared_ptr<shaken> who) {
    sending = true;
    waiting = who;
    going.clear();
    going.swap(out);
    asio::async_write(
        socket, asio::buffer(going),
        [self = shared_from_this(), who = std::move(who)](const asio::error_code& ec, std::size_t) mutable {
          self->sending = false;
          if (ec) {
            self->broken = ec;
            self->out.clear();
          }
          if (!self->out.empty()) return self->send(std::move(who));
          if (*who) std::exchange(*who, nullptr)(self->broken);
        });
  }

  // --- handshake and reading

  /// Why the last call of OpenSSL did not do it; none: something must come first.
  asio::error_code why(int returned) {
    const int kind = SSL_get_error(ssl, returned);
    if (kind == SSL_ERROR_WANT_READ) return {};
    if (below) return below;
    if (kind == SSL_ERROR_ZERO_RETURN) return asio::error::eof;
    const auto code = ERR_get_error();
    ERR_clear_error();
    if (code != 0) return {static_cast<int>(code), asio::error::get_ssl_category()};
    return asio::ssl::error::stream_truncated;
  }

  void shake(shaken done) {
    ERR_clear_error();
    const int r = SSL_do_handshake(ssl);
    const auto ec = r == 1 ? asio::error_code() : why(r);
    // Also where it has failed: what OpenSSL has to say is the other side's reason.
    if (r == 1 || ec)
      return drain([ec, done = std::move(done)](const asio::error_code& sent_ec) { done(ec ? ec : sent_ec); });
    send();
    socket.async_wait(asio::ip::tcp::socket::wait_read,
                      [self = shared_from_this(), done = std::move(done)](const asio::error_code& waited) mutable {
                        if (waited) return done(waited);
                        self->shake(std::move(done));
                      });
  }

  void read(char* to, std::size_t n, moved done, bool in_call) {
    std::size_t got = 0;
    while (got < n && !ended) {
      std::size_t some = 0;
      ERR_clear_error();
      const int r = SSL_read_ex(ssl, to + got, n - got, &some);
      if (r == 1) {
        got += some;
        continue;
      }
      ended = why(r);
      break;
    }
    if (!out.empty()) send(); // new keys, a farewell
    if (got > 0 || ended) {
      const auto ec = got > 0 ? asio::error_code() : ended;
      if (!in_call) return done(ec, got);
      asio::post(socket.get_executor(), [ec, got, done = std::move(done)] { done(ec, got); });
      return;
    }
    socket.async_wait(asio::ip::tcp::socket::wait_read,
                      [self = shared_from_this(), to, n, done = std::move(done)](const asio::error_code& ec) mutable {
                        if (ec) return done(ec, 0);
                        self->read(to, n, std::move(done), false);
                      });
  }

  void write(const char* from, std::size_t n, moved done) {
    std::size_t taken = 0;
    ERR_clear_error();
    if (n > 0 && SSL_write_ex(ssl, from, std::min(n, write_most), &taken) != 1) {
      auto ec = why(0);
      if (!ec) ec = asio::error::try_again; // never: nothing has to be read for it
      asio::post(socket.get_executor(), [ec, done = std::move(done)] { done(ec, 0); });
      return;
    }
    drain([taken, done = std::move(done)](const asio::error_code& ec) { done(ec, ec ? 0 : taken); });
  }

  asio::ip::tcp::socket socket;
  tls_ptr settings;
  SSL* ssl = nullptr;
  bool usable = false, sending = false;
  std::string out, going;        ///< written by OpenSSL, on its way
  std::weak_ptr<shaken> waiting; ///< for that
  asio::error_code below, ended, broken;
};

tls_stream::tls_stream(asio::ip::tcp::socket socket, tls_ptr settings)
    : settings_(std::move(settings)), state_(std::make_shared<state>(std::move(socket), settings_)) {}
tls_stream::tls_stream(tls_stream&&) noexcept = default;
tls_stream::~tls_stream() = default;

SSL* tls_stream::native_handle() noexcept { return state_->ssl; }
tls_stream::executor_type tls_stream::get_executor() noexcept { return state_->socket.get_executor(); }
tls_stream::lowest_layer_type& tls_stream::lowest_layer() noexcept { return state_->socket.lowest_layer(); }

void tls_stream::shake(bool server, shaken done) {
  if (!state_->usable) {
    asio::post(get_executor(), [done = std::move(done)] { done(asio::error::no_memory); });
    return;
  }
  server ? SSL_set_accept_state(state_->ssl) : SSL_set_connect_state(state_->ssl);
  // Not in the call: it may be over at once where the socket is closed already.
  asio::post(get_executor(), [s = state_, done = std::move(done)]() mutable { s->shake(std::move(done)); });
}
void tls_stream::read(char* to, std::size_t n, moved done) { state_->read(to, n, std::move(done), true); }
void tls_stream::write(const char* from, std::size_t n, moved done) { state_->write(from, n, std::move(done)); }

} // namespace attune::net
