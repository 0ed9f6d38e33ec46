#include "web/server.hpp"

#include "web/assets.hpp"
#include "web/feed.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <httplib.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace attune::web {

namespace {

using httplib::Request;
using httplib::Response;

constexpr const char* policy = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
                               "form-action 'none'; frame-ancestors 'none'";
constexpr std::size_t spare_threads = 6;

std::string cookie_name(std::uint16_t port) { return "attune_" + std::to_string(port); }

void refuse(Response& to, int code, const char* why) {
  to.status = code;
  to.set_content(std::string(why) + "\n", "text/plain; charset=utf-8");
}

/// Answers with a text as it is: httplib would pack it as small as brotli can, which takes seconds for a long view.
void answer(Response& to, std::shared_ptr<const std::string> text, const char* type) {
  if (text->empty()) {
    to.set_content("", type);
    return;
  }
  const auto size = text->size();
  to.set_content_provider(size, type,
                          [text = std::move(text)](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                            return sink.write(text->data() + offset, length);
                          });
}

std::optional<std::uint64_t> number_in(const Request& from, const char* name) {
  const auto text = from.get_param_value(name);
  std::uint64_t n = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

std::string own_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return {};
  std::string out(name);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

} // namespace

struct server::impl {
  server_options options;
  served what;
  access_rules rules;
  std::string boot; ///< names this life of the server, so that a page knows that its numbers are of another
  httplib::Server http;
  std::uint16_t port = 0;
  std::atomic<std::size_t> watchers{0}, event_watchers{0};
  std::atomic<std::uint64_t> dropped{0};
  std::thread listener;

  bool may_read(const Request& r) const {
    if (options.token.empty()) return true;
    if (same_secret(cookie_of(r.get_header_value("Cookie"), cookie_name(port)), options.token)) return true;
    const auto bearer = r.get_header_value("Authorization");
    return bearer.starts_with("Bearer ") && same_secret(bearer.substr(7), options.token);
  }

  /// Answers whether the request has been dealt with.
  bool before(const Request& r, Response& out) {
    if (r.method != "GET" && r.method != "HEAD") {
      out.set_header("Allow", "GET, HEAD");
      refuse(out, 405, "nothing can be changed here");
      return true;
    }
    const auto host = r.get_header_value("Host");
    if (!rules.host_is_ours(host)) {
      refuse(out, 421, "this server is not called that; use its address");
      return true;
    }
    if (!access_rules::same_origin(r.get_header_value("Origin"), host)) {
      refuse(out, 403, "not from another page");
      return true;
    }
    const auto site = r.get_header_value("Sec-Fetch-Site");
    if ((site == "cross-site" || site == "same-site") && r.get_header_value("Sec-Fetch-Mode") != "navigate") {
      refuse(out, 403, "not from another page");
      return true;
    }
    if (!options.token.empty() && r.path == "/" && r.has_param("token")) {
      if (!same_secret(r.get_param_value("token"), options.token)) {
        refuse(out, 401, "this is not the token");
        return true;
      }
      // Out of the address line and the history, into a cookie that no script reads.
      out.set_header("Set-Cookie", cookie_name(port) + "=" + options.token + "; Path=/; HttpOnly; SameSite=Strict");
      out.status = 303;
      out.set_header("Location", "/");
      return true;
    }
    if (!may_read(r)) {
      out.set_header("WWW-Authenticate", "Bearer");
      refuse(out, 401, "a token is needed: open the address that attune has printed");
      return true;
    }
    return false;
  }

  void stream(const Request& r, Response& out, const std::shared_ptr<feed>& from, std::uint64_t seen) {
    if (!from || watchers.fetch_add(1) >= options.watchers_most) {
      if (from) watchers.fetch_sub(1);
      out.set_header("Retry-After", "5");
      refuse(out, 503, "there are as many watchers as there may be");
      return;
    }
    if (r.method == "HEAD") {
      watchers.fetch_sub(1);
      return;
    }
    const bool raw = from == what.event_feed;
    if (raw) event_watchers.fetch_add(1);
    out.set_header("Cache-Control", "no-store");
    out.set_chunked_content_provider(
        "text/event-stream",
        [this, from, seen, greeted = false](std::size_t, httplib::DataSink& sink) mutable {
          std::string text;
          const bool first = !std::exchange(greeted, true);
          if (first) text = "retry: 2000\n\n";
          const auto news = from->after(seen, text.empty() ? options.beat : nanoseconds(0));
          if (news.closed) {
            sink.done();
            return true;
          }
          if (news.lost) {
            text += "event: reset\ndata: {}\n\n";
            if (!first) dropped.fetch_add(1); // else its place was of long ago
            sink.write(text.data(), text.size());
            return false;
          }
          std::uint64_t number = news.upto - news.texts.size();
          for (const auto& one : news.texts) {
            text += "id: " + boot + "-" + std::to_string(++number) + "\ndata: ";
            text += *one;
            text += "\n\n";
          }
          seen = news.upto;
          if (text.empty()) text = ": here\n\n";
          if (sink.write(text.data(), text.size())) return true;
          dropped.fetch_add(1);
          return false;
        },
        [this, raw](bool) {
          if (raw) event_watchers.fetch_sub(1);
          watchers.fetch_sub(1);
        });
  }

  /// Where the follower is: what the page says, or the browser after a break. Of another life: nowhere.
  std::uint64_t place_of(const Request& r, const feed& in) const {
    const auto last = r.get_header_value("Last-Event-ID");
    if (!last.empty()) {
      const auto dash = last.find('-');
      std::uint64_t n = 0;
      if (dash == std::string::npos || last.substr(0, dash) != boot) return UINT64_MAX;
      const auto* begin = last.data() + dash + 1;
      const auto [end, ec] = std::from_chars(begin, last.data() + last.size(), n);
      return ec == std::errc{} ? n : UINT64_MAX;
    }
    if (r.has_param("boot") && r.get_param_value("boot") != boot) return UINT64_MAX;
    return number_in(r, "after").value_or(in.last());
  }

  void routes() {
    const auto fixed = [](std::string_view text, const char* type) {
      return [text = std::make_shared<const std::string>(text), type](const Request&, Response& out) {
        answer(out, text, type);
        out.set_header("Cache-Control", "no-cache");
      };
    };
    http.Get("/", fixed(asset("index.html"), "text/html; charset=utf-8"));
    http.Get("/app.css", fixed(asset("app.css"), "text/css; charset=utf-8"));
    http.Get("/app.js", fixed(app_script(), "text/javascript; charset=utf-8"));
    http.Get("/favicon.ico", [](const Request&, Response& out) { out.status = 204; });
    const auto json = [](Response& out, std::string text) {
      out.set_header("Cache-Control", "no-store");
      answer(out, std::make_shared<const std::string>(std::move(text)), "application/json");
    };
    http.Get("/api/view", [this, json](const Request& r, Response& out) {
      auto [view, upto] = what.view(r.get_param_value("rows") == "apart");
      json(out, "{\"boot\":\"" + boot + "\",\"seq\":" + std::to_string(upto) + ",\"view\":" + view + "}");
    });
    http.Get("/api/rows", [this](const Request& r, Response& out) {
      const auto session = number_in(r, "session"), count = number_in(r, "count");
      auto bytes = session && count && what.rows ? what.rows(*session, *count) : std::nullopt;
      if (!bytes) {
        refuse(out, session && count ? 404 : 400, "there are not so many trials");
        return;
      }
      out.set_header("Cache-Control", "no-store");
      answer(out, std::make_shared<const std::string>(std::move(*bytes)), "application/octet-stream");
    });
    http.Get("/api/trial", [this, json](const Request& r, Response& out) {
      const auto session = number_in(r, "session"), trial = number_in(r, "trial");
      if (!session || !trial) {
        refuse(out, 400, "session and trial are numbers");
        return;
      }
      auto text = what.trial(*session, *trial);
      if (text)
        json(out, std::move(*text));
      else
        refuse(out, 404, "nothing more is known of this trial");
    });
    http.Get("/api/store", [this, json](const Request&, Response& out) { json(out, what.store()); });
    http.Get("/api/fleet", [this, json](const Request&, Response& out) {
      json(out, what.fleet ? what.fleet() : std::string("null"));
    });
    http.Get("/api/live", [this](const Request& r, Response& out) {
      stream(r, out, what.view_feed, what.view_feed ? place_of(r, *what.view_feed) : 0);
    });
    http.Get("/api/events", [this](const Request& r, Response& out) {
      stream(r, out, what.event_feed, what.event_feed ? place_of(r, *what.event_feed) : 0);
    });
    http.Get("/metrics", [this](const Request&, Response& out) {
      answer(out, std::make_shared<const std::string>(what.metrics()), "text/plain; version=0.0.4; charset=utf-8");
    });
  }
};

server::server(std::unique_ptr<impl> i) : impl_(std::move(i)) {}

result<std::unique_ptr<server>> server::start(const server_options& options, served what) {
  if (options.token.empty() && !is_loopback(options.at.host))
    return error{errc::invalid_spec, "a server that others can reach needs a token", options.at.host};
  auto boot = make_token();
  if (!boot) return boot.err();
  auto made = std::make_unique<impl>();
  auto& i = *made;
  i.options = options;
  i.what = std::move(what);
  i.boot = boot->substr(0, 12);
  i.rules.token = options.token;
  i.rules.names = {own_name()};
  if (options.at.host.find_first_not_of("0123456789.:") != std::string::npos) i.rules.names.push_back(options.at.host);
  auto& http = i.http;
  http.new_task_queue = [threads = options.watchers_most + spare_threads] { return new httplib::ThreadPool(threads); };
  http.set_keep_alive_max_count(1000);
  http.set_keep_alive_timeout(2);
  http.set_read_timeout(std::chrono::seconds(5));
  http.set_write_timeout(std::chrono::duration_cast<std::chrono::microseconds>(options.write_patience));
  http.set_payload_max_length(4096);
  http.set_tcp_nodelay(true);
  http.set_default_headers({{"Content-Security-Policy", policy},
                            {"X-Content-Type-Options", "nosniff"},
                            {"X-Frame-Options", "DENY"},
                            {"Referrer-Policy", "no-referrer"},
                            {"Cross-Origin-Opener-Policy", "same-origin"},
                            {"Cross-Origin-Resource-Policy", "same-origin"}});
  http.set_pre_routing_handler([&i](const Request& r, Response& out) {
    return i.before(r, out) ? httplib::Server::HandlerResponse::Handled : httplib::Server::HandlerResponse::Unhandled;
  });
  http.set_exception_handler(
      [](const Request&, Response& out, std::exception_ptr) { refuse(out, 500, "something went wrong"); });
  i.routes();
  // Not the default, which would let a second server take the same port.
  http.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  if (options.at.port == 0) {
    const int port = http.bind_to_any_port(options.at.host);
    if (port <= 0) return error{errc::io, "cannot listen there: " + std::string(std::strerror(errno)), options.at.host};
    i.port = static_cast<std::uint16_t>(port);
  } else {
    if (!http.bind_to_port(options.at.host, options.at.port))
      return error{errc::io, "cannot listen there: " + std::string(std::strerror(errno)),
                   options.at.host + ":" + std::to_string(options.at.port)};
    i.port = options.at.port;
  }
  i.listener = std::thread([&http] { http.listen_after_bind(); });
  // One that does not run yet could not be stopped.
  while (!http.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return std::unique_ptr<server>(new server(std::move(made)));
}

server::~server() {
  if (impl_->what.view_feed) impl_->what.view_feed->close();
  if (impl_->what.event_feed) impl_->what.event_feed->close();
  impl_->http.stop();
  if (impl_->listener.joinable()) impl_->listener.join();
}

std::uint16_t server::port() const noexcept { return impl_->port; }

std::string server::url() const {
  std::string host = impl_->options.at.host;
  if (host == "0.0.0.0" || host == "::") host = own_name();
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return "http://" + host + ":" + std::to_string(impl_->port) + "/" +
         (impl_->options.token.empty() ? "" : "?token=" + impl_->options.token);
}

std::size_t server::watchers() const noexcept { return impl_->watchers.load(); }
std::size_t server::event_watchers() const noexcept { return impl_->event_watchers.load(); }
std::uint64_t server::dropped() const noexcept { return impl_->dropped.load(); }

} // namespace attune::web
