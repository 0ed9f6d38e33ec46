#include "cli/hub_call.hpp"

#include "cli/render.hpp"
#include "net/fleet/client.hpp"
#include "net/store_messages.hpp"

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

namespace attune::cli {

result<hub_way> way_to(const hub_access& hub) {
  hub_way out;
  auto to = net::parse_address(hub.address);
  if (!to) return to.err();
  out.dial.to = std::move(*to);
  out.dial.plain = hub.plain;
  net::tls_trust trust;
  trust.ca_file = hub.ca_file;
  if (!hub.token_file.empty()) {
    const auto shown = net::read_token_file(hub.token_file);
    if (!shown) return shown.err();
    out.shown = *shown;
    trust.pin = shown->hub;
  }
  if (hub.plain || (!trust.pin && trust.ca_file.empty())) return out;
  auto tls = net::tls_for_client(trust);
  if (!tls) return tls.err();
  out.dial.tls = std::move(*tls);
  return out;
}

std::string typed_again(const hub_access& hub) {
  std::string out = " --hub " + hub.address;
  if (!hub.token_file.empty()) out += " --token-file " + shell_word(hub.token_file);
  if (!hub.ca_file.empty()) out += " --ca-file " + shell_word(hub.ca_file);
  if (hub.plain) out += " --plain";
  return out;
}

result<wire::v1::Envelope> ask_hub(const hub_way& hub, const wire::v1::Envelope& question) {
  asio::io_context loop{1};
  result<wire::v1::Envelope> out = error{errc::network, "the hub at " + hub.dial.to.text() + " does not answer", {}};
  std::shared_ptr<net::fleet::client> client;
  std::shared_ptr<net::dialing> attempt;
  asio::steady_timer limit(loop, std::chrono::seconds(20));
  const auto end = [&] {
    limit.cancel();
    if (client) client->close();
  };
  net::fleet::client::events tell;
  tell.ready = [&] { client->ask(question); };
  tell.said = [&](const wire::v1::Envelope& answer) {
    if (answer.has_failed())
      out = net::error_of(answer.failed());
    else
      out = answer;
    end();
  };
  tell.lost = [&](const error& why) {
    out = error{errc::network, "the hub at " + hub.dial.to.text() + ": " + why.message, {}};
    end();
  };
  client = std::make_shared<net::fleet::client>(tell, hub.shown);
  attempt = net::dial(loop, hub.dial, [&](result<net::link_ptr> link) {
    if (link) return client->attach(std::move(*link));
    out = link.err();
    end();
  });
  limit.async_wait([&](const asio::error_code& ec) {
    if (ec) return;
    attempt->cancel();
    client->close();
  });
  loop.run();
  return out;
}

} // namespace attune::cli
