#include "net/fleet/peer_session.hpp"

#include "net/fleet/fleet_messages.hpp"
#include "net/network_error.hpp"
#include "net/tokens.hpp"

namespace attune::net::fleet {

using wire::v1::Envelope;

result<peer_session::step> peer_session::take(const Envelope& message) {
  auto out = next(message);
  if (!out) end();
  return out;
}

result<peer_session::step> peer_session::next(const Envelope& message) {
  switch (at_) {
  case stage::fresh: {
    if (!message.has_hello()) return network_error("the first message is no greeting");
    auto agreed = agree(mine_, message.hello());
    if (!agreed) return agreed.err();
    agreed_ = std::move(*agreed);
    at_ = stage::greeted;
    return step::greet;
  }
  case stage::greeted:
    if (message.has_authenticate()) {
      if (std::exchange(shown_, true)) return network_error("a token is shown once");
      return step::authenticate;
    }
    if (!may_) return refused_token();
    if (message.has_agent_hello()) {
      if (!may_->work) return refused_deed();
      return step::come;
    }
    return client(message);
  case stage::agent:
    switch (message.body_case()) {
    case Envelope::kHeartbeat:
      return step::beat;
    case Envelope::kAnswers:
      return step::answers;
    case Envelope::kOutput:
      return step::output;
    case Envelope::kArtifactFetch:
      return step::fetch;
    case Envelope::kGoodbye:
      end();
      return step::leave;
    default:
      return network_error("a message that is not expected");
    }
  case stage::client:
    return client(message);
  case stage::over:
    break;
  }
  return network_error("the connection is over");
}

result<peer_session::step> peer_session::client(const Envelope& message) {
  bool allowed = false;
  step what = step::ask;
  switch (message.body_case()) {
  case Envelope::kPing:
    allowed = may_->watch;
    what = step::ping;
    break;
  case Envelope::kArtifactPart:
    allowed = may_->tune;
    what = step::part;
    break;
  case Envelope::kSubmit:
    allowed = may_->tune;
    what = step::submit;
    break;
  case Envelope::kFollow:
    allowed = may_->tune;
    break;
  case Envelope::kListDevices:
    allowed = may_->watch;
    break;
  case Envelope::kManage:
    allowed = may_->manage;
    break;
  default:
    return network_error("a message that is not expected");
  }
  if (!allowed) return refused_deed();
  if (what == step::part && open_ == 0) return network_error("a part of a file came that was not asked for");
  if (what == step::ask || what == step::submit) {
    if (open_ >= questions_most) return network_error("too many questions at a time");
    ++open_;
  }
  at_ = stage::client;
  return what;
}

status peer_session::admit(std::optional<pass> may) {
  if (!may) {
    end();
    return refused_token();
  }
  may_ = std::move(may);
  return {};
}

} // namespace attune::net::fleet
