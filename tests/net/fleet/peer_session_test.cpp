#include "core/random.hpp"
#include "net/fleet/fleet_messages.hpp"
#include "net/fleet/peer_session.hpp"
#include "net/tokens.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace attune;
using namespace attune::net;
using fleet::pass;
using fleet::peer_session;
using wire::v1::Envelope;
using session_step = peer_session::step;

namespace {

const pass agent_pass{true, false, false, false, {}, {}, {}};
const pass client_pass{false, true, true, false, {}, {}, {}};

/// One message of each kind that a peer may try, by the number of its field.
Envelope message_of_kind(Envelope::BodyCase what) {
  Envelope out;
  const auto* field = Envelope::descriptor()->FindFieldByNumber(what);
  BOOST_REQUIRE(field != nullptr);
  out.GetReflection()->MutableMessage(&out, field);
  if (what == Envelope::kHello) *out.mutable_hello() = hello_of(fleet::fleet_abilities(), std::string(16, 'x'));
  return out;
}

std::vector<Envelope::BodyCase> all_message_kinds() {
  std::vector<Envelope::BodyCase> out;
  const auto* body = Envelope::descriptor()->FindOneofByName("body");
  for (int i = 0; i < body->field_count(); ++i)
    out.push_back(static_cast<Envelope::BodyCase>(body->field(i)->number()));
  return out;
}

/// The steps that it takes; -1 where it refuses.
int taken_as(peer_session& s, Envelope::BodyCase what) {
  const auto r = s.take(message_of_kind(what));
  return r ? static_cast<int>(*r) : -1;
}
int number_of_step(session_step s) { return static_cast<int>(s); }

peer_session greeted_session(std::optional<pass> known) {
  peer_session s(fleet::fleet_abilities(), std::move(known));
  BOOST_REQUIRE(taken_as(s, Envelope::kHello) == number_of_step(session_step::greet));
  return s;
}

} // namespace

BOOST_AUTO_TEST_SUITE(peer_session_suite)

BOOST_AUTO_TEST_CASE(nothing_comes_before_the_greeting_and_it_comes_once) {
  for (const auto what : all_message_kinds()) {
    peer_session s(fleet::fleet_abilities(), pass::everything());
    BOOST_TEST((taken_as(s, what) >= 0) == (what == Envelope::kHello));
  }
  auto s = greeted_session(pass::everything());
  BOOST_TEST(taken_as(s, Envelope::kHello) == -1);
  // And then nothing is a step any more.
  for (const auto what : all_message_kinds()) BOOST_TEST(taken_as(s, what) == -1);
}

BOOST_AUTO_TEST_CASE(who_has_shown_no_token_may_show_one_and_nothing_else) {
  for (const auto what : all_message_kinds()) {
    auto s = greeted_session({});
    const auto r = s.take(message_of_kind(what));
    if (what == Envelope::kAuthenticate) {
      BOOST_TEST(r.ok());
      continue;
    }
    BOOST_REQUIRE(!r.ok());
    // Whatever it is, in the same words as a wrong token.
    BOOST_TEST((r.err() == refused_token()));
  }
}

BOOST_AUTO_TEST_CASE(a_token_is_shown_once_and_says_what_its_peer_may_do) {
  auto s = greeted_session({});
  BOOST_TEST(taken_as(s, Envelope::kAuthenticate) == number_of_step(session_step::authenticate));
  BOOST_TEST(taken_as(s, Envelope::kAuthenticate) == -1);
  s = greeted_session({});
  BOOST_TEST(taken_as(s, Envelope::kAuthenticate) == number_of_step(session_step::authenticate));
  BOOST_TEST((s.admit({}).err() == refused_token()));
  for (const auto what : all_message_kinds()) BOOST_TEST(taken_as(s, what) == -1);

  const auto with = [](const pass& may, Envelope::BodyCase what) {
    auto one = greeted_session({});
    BOOST_REQUIRE(taken_as(one, Envelope::kAuthenticate) == number_of_step(session_step::authenticate));
    BOOST_REQUIRE(one.admit(may).ok());
    const auto r = one.take(message_of_kind(what));
    return r.ok() ? "yes" : r.err() == refused_deed() ? "no" : "never";
  };
  BOOST_TEST(with(agent_pass, Envelope::kAgentHello) == "yes");
  for (const auto what : {Envelope::kSubmit, Envelope::kFollow, Envelope::kListDevices, Envelope::kManage})
    BOOST_TEST(with(agent_pass, what) == "no");
  BOOST_TEST(with(client_pass, Envelope::kAgentHello) == "no");
  BOOST_TEST(with(client_pass, Envelope::kManage) == "no");
  for (const auto what : {Envelope::kSubmit, Envelope::kFollow, Envelope::kListDevices, Envelope::kPing})
    BOOST_TEST(with(client_pass, what) == "yes");
  BOOST_TEST(with(pass::everything(), Envelope::kManage) == "yes");
}

BOOST_AUTO_TEST_CASE(an_agent_says_what_agents_say_and_a_client_what_clients_say) {
  const std::vector<Envelope::BodyCase> of_agents{Envelope::kHeartbeat, Envelope::kAnswers, Envelope::kOutput,
                                                  Envelope::kArtifactFetch, Envelope::kGoodbye};
  const std::vector<Envelope::BodyCase> of_clients{Envelope::kPing, Envelope::kSubmit, Envelope::kFollow,
                                                   Envelope::kListDevices, Envelope::kManage};
  const auto in = [](const auto& all, Envelope::BodyCase what) {
    return std::find(all.begin(), all.end(), what) != all.end();
  };
  for (const auto what : all_message_kinds()) {
    auto a = greeted_session(pass::everything());
    BOOST_REQUIRE(taken_as(a, Envelope::kAgentHello) == number_of_step(session_step::come));
    a.let_in();
    BOOST_TEST((taken_as(a, what) >= 0) == in(of_agents, what), "agent: field " << what);
    auto c = greeted_session(pass::everything());
    BOOST_REQUIRE(taken_as(c, Envelope::kPing) == number_of_step(session_step::ping));
    BOOST_TEST((taken_as(c, what) >= 0) == in(of_clients, what), "client: field " << what);
    // Before it is let in it is neither.
    auto early = greeted_session(pass::everything());
    BOOST_REQUIRE(taken_as(early, Envelope::kAgentHello) == number_of_step(session_step::come));
    if (in(of_agents, what)) BOOST_TEST(taken_as(early, what) == -1);
  }
}

BOOST_AUTO_TEST_CASE(a_client_has_credit_for_so_many_questions_and_parts_only_while_it_submits) {
  auto s = greeted_session(pass::everything());
  for (std::uint32_t i = 0; i < peer_session::questions_most; ++i)
    BOOST_REQUIRE(taken_as(s, i % 2 == 0 ? Envelope::kListDevices : Envelope::kSubmit) >= 0);
  BOOST_TEST(s.open_questions() == peer_session::questions_most);
  BOOST_TEST(taken_as(s, Envelope::kPing) == number_of_step(session_step::ping)); // costs nothing
  BOOST_TEST(taken_as(s, Envelope::kArtifactPart) == number_of_step(session_step::part));
  s.answered();
  BOOST_TEST(taken_as(s, Envelope::kFollow) == number_of_step(session_step::ask));
  BOOST_TEST(taken_as(s, Envelope::kFollow) == -1);
  auto idle = greeted_session(pass::everything());
  BOOST_TEST(taken_as(idle, Envelope::kArtifactPart) == -1);
}

// Any messages in any order, against what must hold whatever they are.
BOOST_AUTO_TEST_CASE(no_order_of_messages_gets_anybody_further_than_he_may) {
  const auto kinds = all_message_kinds();
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    random_engine random(seed);
    const pass passes[] = {agent_pass, client_pass, pass::everything()};
    const pass& real = passes[random.below(3)];
    const bool known = random.chance(0.3);
    peer_session s(fleet::fleet_abilities(), known ? std::optional(real) : std::nullopt);
    bool greeted_ = false, admitted = known, agent = false, over = false;
    for (int i = 0; i < 30; ++i) {
      // Most often what leads on.
      const auto what = random.chance(0.3) ? kinds[random.below(kinds.size())]
                        : !greeted_        ? Envelope::kHello
                        : !admitted        ? Envelope::kAuthenticate
                                           : kinds[random.below(kinds.size())];
      const auto r = s.take(message_of_kind(what));
      if (!r) {
        over = true;
        BOOST_TEST((s.at() == peer_session::stage::over));
        continue;
      }
      BOOST_REQUIRE(!over);
      BOOST_REQUIRE(greeted_ == (*r != session_step::greet));
      greeted_ = true;
      switch (*r) {
      case session_step::greet:
        break;
      case session_step::authenticate:
        if (random.chance(0.2)) {
          BOOST_REQUIRE(!s.admit({}).ok());
          over = true;
        } else {
          BOOST_REQUIRE(s.admit(real).ok());
          admitted = true;
        }
        break;
      case session_step::come:
        BOOST_REQUIRE((admitted && real.work && !agent));
        if (random.chance(0.9)) {
          s.let_in();
          agent = true;
        }
        break;
      case session_step::leave:
        over = true;
        [[fallthrough]];
      case session_step::beat:
      case session_step::answers:
      case session_step::output:
      case session_step::fetch:
        BOOST_REQUIRE(agent);
        break;
      case session_step::submit:
      case session_step::part:
        BOOST_REQUIRE((admitted && real.tune && !agent));
        break;
      case session_step::ask:
        BOOST_REQUIRE((admitted && !agent && (what != Envelope::kManage || real.manage)));
        break;
      case session_step::ping:
        BOOST_REQUIRE((admitted && real.watch && !agent));
        break;
      }
      BOOST_REQUIRE(s.open_questions() <= peer_session::questions_most);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
