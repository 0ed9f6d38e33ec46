#include "net/dial.hpp"

#include "core/text.hpp"
#include "net/tcp.hpp"
#include "net/tls_stream.hpp"
#include "net/transport.hpp"

#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include <utility>
#include <vector>

namespace attune::net {

namespace {

using asio::ip::tcp;

class attempt final : public dialing, public std::enable_shared_from_this<attempt> {
public:
  attempt(asio::io_context& loop, dial_options options, std::function<void(result<link_ptr>)> then)
      : loop_(loop),
        options_(std::move(options)),
        then_(std::move(then)),
        resolver_(loop),
        timer_(loop),
        socket_(loop) {}

  void start() {
    asio::error_code ec;
    const auto figures = asio::ip::make_address(options_.to.host, ec);
    if (!ec) {
      found_.emplace_back(figures, options_.to.port);
      asio::post(loop_, [self = shared_from_this()] { self->next(); });
      return;
    }
    watch(options_.look_up, [this] {
      resolver_.cancel();
      fail("the name service did not answer within " + human_duration(options_.look_up));
    });
    // No flag: an address that this machine cannot reach is named with the reason instead of being left out.
    resolver_.async_resolve(options_.to.host, std::to_string(options_.to.port), tcp::resolver::numeric_service,
                            [self = shared_from_this()](const asio::error_code& failed, const auto& list) {
                              if (!self->then_) return;
                              if (failed) return self->fail(reason(failed));
                              for (const auto& entry : list) self->found_.push_back(entry.endpoint());
                              self->next();
                            });
  }

  void cancel() override {
    then_ = nullptr;
    stop();
  }

private:
  void stop() {
    ++epoch_;
    timer_.cancel();
    resolver_.cancel();
    asio::error_code ignored;
    socket_.close(ignored);
    if (const auto half = std::exchange(secured_, nullptr)) half->close();
  }

  /// The one deadline, in place of the one before.
  template <class F>
  void watch(nanoseconds limit, F late) {
    timer_.expires_after(limit);
    timer_.async_wait([self = shared_from_this(), late, epoch = ++epoch_](const asio::error_code& ec) {
      if (!ec && self->then_ && epoch == self->epoch_) late();
    });
  }

  void next() {
    if (!then_) return;
    if (at_ == found_.size()) return fail({});
    const auto to = found_[at_++];
    how_ = transport_to(address_of(to).host, options_.tls != nullptr, options_.plain);
    if (how_ == transport::refused)
      return missed("not without TLS: a token or a CA says by what the hub is known; --plain does without, open to all "
                    "who are on the way");
    auto opened = open_socket(loop_, to);
    if (!opened) return missed(opened.err().message);
    socket_ = std::move(*opened);
    set_up(socket_);
    watch(options_.each, [this] {
      asio::error_code ignored;
      socket_.close(ignored);
      missed("timed out after " + human_duration(options_.each));
    });
    socket_.async_connect(to, [self = shared_from_this(), epoch = epoch_](const asio::error_code& ec) {
      if (!self->then_ || epoch != self->epoch_) return;
      if (ec) return self->missed(reason(ec));
      self->connected();
    });
  }

  void missed(const std::string& why) {
    ++epoch_;
    tried_.push_back(address_of(found_[at_ - 1]).text() + ": " + why);
    next();
  }

  void connected() {
    stop_timer();
    const auto peer = address_of(found_[at_ - 1]).text();
    if (how_ == transport::plain)
      return finish(link_ptr(std::make_shared<connection<tcp::socket>>(std::move(socket_), options_.limits, peer)));
    tls_stream stream(std::move(socket_), options_.tls);
    if (!stream.expect(options_.to.host)) return missed("TLS: whom the certificate is for cannot be checked");
    const auto made = std::make_shared<connection<tls_stream>>(std::move(stream), options_.limits, peer);
    secured_ = made;
    made->shake_hands(asio::ssl::stream_base::client,
                      [self = shared_from_this(), link = made.get()](const asio::error_code& ec) {
                        const auto keep = std::exchange(self->secured_, nullptr);
                        if (!self->then_) return;
                        if (!ec) return self->finish(keep);
                        const auto why = link->stream().reason(ec);
                        link->close();
                        self->missed(why);
                      });
  }

  void stop_timer() {
    ++epoch_;
    timer_.cancel();
  }

  void fail(const std::string& why) {
    std::string text = "cannot reach " + options_.to.text();
    const bool figures = tried_.size() == 1 && tried_.front().starts_with(options_.to.text() + ": ");
    if (!why.empty())
      text += ": " + why;
    else if (found_.empty())
      text += ": the name has no address";
    else if (figures)
      text += tried_.front().substr(options_.to.text().size()); // not the same address twice
    else
      for (std::size_t i = 0; i < tried_.size(); ++i) text += (i == 0 ? ": " : "; ") + tried_[i];
    finish(error{errc::network, std::move(text), {}});
  }

  void finish(result<link_ptr> what) {
    const auto told = std::exchange(then_, nullptr);
    stop();
    if (told) told(std::move(what));
  }

  asio::io_context& loop_;
  dial_options options_;
  std::function<void(result<link_ptr>)> then_;
  tcp::resolver resolver_;
  asio::steady_timer timer_;
  tcp::socket socket_;
  transport how_ = transport::refused;
  link_ptr secured_; ///< while it shakes hands
  std::vector<tcp::endpoint> found_;
  std::size_t at_ = 0;
  std::vector<std::string> tried_;
  std::uint64_t epoch_ = 0;
};

} // namespace

std::shared_ptr<dialing> dial(asio::io_context& loop, dial_options options,
                              std::function<void(result<link_ptr>)> then) {
  auto out = std::make_shared<attempt>(loop, std::move(options), std::move(then));
  out->start();
  return out;
}

} // namespace attune::net
