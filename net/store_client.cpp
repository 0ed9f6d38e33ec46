#include "net/store_client.hpp"

#include <utility>

namespace attune::net {

using wire::v1::Envelope;

std::shared_ptr<store_client> store_client::over(asio::io_context& loop, int socket, const connection_limits& limits,
                                                 events tell) {
  auto out = std::make_shared<store_client>();
  asio::local::stream_protocol::socket s(loop);
  asio::error_code ignored; // a descriptor that is not one shows at the first read
  s.assign(asio::local::stream_protocol(), socket, ignored);
  out->wire_ = std::make_shared<link>(std::move(s), limits);
  out->tell_ = std::move(tell);
  return out;
}

void store_client::start(const key128& me) {
  wire_->start([self = shared_from_this()](std::string_view body) { self->take(body); },
               [self = shared_from_this()](const error& why) { self->lose(why, false); });
  Envelope out;
  *out.mutable_hello() = hello_of(store_abilities(), me.view());
  wire_->send(out.SerializeAsString());
}

void store_client::take(std::string_view body) {
  Envelope message;
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size())))
    return lose({errc::network, "a message cannot be read", {}}, true);
  if (!greeted_) {
    if (message.has_failed()) return lose(error_of(message.failed()), true);
    if (!message.has_welcome()) return lose({errc::network, "the answer is no greeting", {}}, true);
    const auto agreed = agree(store_abilities(), message.welcome());
    if (!agreed) return lose(agreed.err(), true);
    greeted_ = true;
    wire_->established();
    tell_.ready(*agreed);
    return;
  }
  if (const auto at = open_.find(message.request()); at != open_.end()) {
    const auto answer = std::exchange(at->second, nullptr);
    open_.erase(at);
    if (message.has_failed())
      answer(error_of(message.failed()));
    else
      answer(std::move(message));
    return;
  }
  if (message.has_claimed()) {
    std::vector<storage::claim_answer> heard(static_cast<std::size_t>(message.claimed().items_size()));
    for (int i = 0; i < message.claimed().items_size(); ++i)
      if (auto good = from(message.claimed().items(i), heard[static_cast<std::size_t>(i)]); !good)
        return lose(good.err(), false);
    tell_.claimed(std::move(heard));
    return;
  }
  if (message.has_forgotten_tasks()) {
    std::vector<digest> tasks;
    if (auto good = from(message.forgotten_tasks().tasks(), tasks); !good) return lose(good.err(), false);
    if (tell_.forgotten) tell_.forgotten(std::move(tasks));
    return;
  }
  lose(message.has_failed() ? error_of(message.failed()) : error{errc::network, "a message that is not expected", {}},
       false);
}

void store_client::lose(const error& why, bool refused) {
  if (std::exchange(over_, true)) return;
  const auto keep = shared_from_this();
  wire_->close();
  // Whoever asks again shall find that it is lost.
  if (tell_.lost) tell_.lost(why, refused);
  for (auto& [number, answer] : std::exchange(open_, {})) answer(error{errc::network, why.message, {}});
  tell_ = {};
}

void store_client::request(Envelope message, reply answer) {
  if (over_) return answer(error{errc::network, "the connection is lost", {}});
  message.set_request(next_);
  open_[next_++] = std::move(answer);
  wire_->send(message.SerializeAsString());
}

void store_client::notify(const Envelope& message) {
  if (!over_) wire_->send(message.SerializeAsString());
}

void store_client::leave() {
  if (over_) return;
  Envelope out;
  out.mutable_goodbye();
  wire_->send(out.SerializeAsString());
  close();
}

void store_client::close() {
  tell_.lost = nullptr;
  lose({errc::network, "the connection was ended", {}}, false);
}

} // namespace attune::net
