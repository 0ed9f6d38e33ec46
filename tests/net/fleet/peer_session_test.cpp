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
using step = peer_session::step;

namespace {

const pass agent_pass{true, false, false, false, {}, {}, {}};
const pass client_pass{false, true, true, false, {}, {}, {}};

/// One message of each kind that a peer may try, by the number of its field.
Envelope message(Envelope::BodyCase what) {
  Envelope out;
  const auto* field = Envelope::descriptor()->FindFieldByNumber(what);
  BOOST_REQUIRE(field != nullptr);
  out.GetReflection()->MutableMessage(&out, field);
  if (what == Envelope::kHello) *out.mutable_hello() = hello_of(fleet::fleet_abilities(), std::string(16, 'x'));
  return out;
}

std::vector<Envelope::BodyCase> all_kinds() {
  std::vector<Envelope::BodyCase> out;
  const auto* body = Envelope::descriptor()->FindOneofByName("body");
  for (int i = 0; i < body->field_count(); ++i)
    out.push_back(static_cast<Envelope::BodyCase>(body->field(i)->number()));
  return out;
}

/// The steps that it takes; -1 where it refuses.
int does(peer_session& s, Envelope::BodyCase what) {
  const auto r = s.take(message(what));
  return r ? static_cast<int>(*r) : -1;
}
int number(step s) { return static_cast<int>(s); }

peer_session greeted(std::optional<pass> known) {
  peer_session s(fleet::fleet_abilities(), std::move(known));
  BOOST_REQUIRE(does(s, Envelope::kHello) == number(step::greet));
  return s;
}

} // namespace

BOOST_AUTO_TEST_SUITE(peer_session_suite)

BOOST_AUTO_TEST_CASE(nothing_comes_before_the_greeting_and_it_comes_once) {
  for (const auto what : all_kinds()) {
    peer_session s(fleet::fleet_abilities(), pass::everything());
    BOOST_TEST((does(s, what) >= 0) == (what == Envelope::kHello));
  }
  auto s = greeted(pass::everything());
  BOOST_TEST(does(s, Envelope::kHello) == -1);
  // And then nothing is a step any more.
  for (const auto what : all_kinds()) BOOST_TEST(does(s, what) == -1);
}

BOOST_AUTO_TEST_CASE(who_has_shown_no_token_may_show_one_and_nothing_else) {
  for (const auto what : all_kinds()) {
    auto s = greeted({});
    const auto r = s.take(message(what));
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
  auto s = greeted({});
  BOOST_TEST(does(s, Envelope::kAuthenticate) == number(step::authenticate));
  BOOST_TEST(does(s, Envelope::kAuthenticate) == -1);
  s = greeted({});
  BOOST_TEST(does(s, Envelope::kAuthenticate) == number(step::authenticate));
  BOOST_TEST((s.admit({}).err() == refused_token()));
  for (const auto what : all_kinds()) BOOST_TEST(does(s, what) == -1);

  const auto with = [](const pass& may, Envelope::BodyCase what) {
    auto one = greeted({});
    BOOST_REQUIRE(does(one, Envelope::kAuthenticate) == number(step::authenticate));
    BOOST_REQUIRE(one.admit(may).ok());
    const auto r = one.take(message(what));
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
  const std::vector<Envelope::BodyCase> of_agents{Envelope::kHeartbeat, Envelope::kAnswers, Envelope::kArtifactFetch,
                                                  Envelope::kGoodbye};
  const std::vector<Envelope::BodyCase> of_clients{Envelope::kPing, Envelope::kSubmit, Envelope::kFollow,
                                                   Envelope::kListDevices, Envelope::kManage};
  const auto in = [](const auto& all, Envelope::BodyCase what) {
    return std::find(all.begin(), all.end(), what) != all.end();
  };
  for (const auto what : all_kinds()) {
    auto a = greeted(pass::everything());
    BOOST_REQUIRE(does(a, Envelope::kAgentHello) == number(step::come));
    a.let_in();
    BOOST_TEST((does(a, what) >= 0) == in(of_agents, what), "agent: field " << what);
    auto c = greeted(pass::everything());
    BOOST_REQUIRE(does(c, Envelope::kPing) == number(step::ping));
    BOOST_TEST((does(c, what) >= 0) == in(of_clients, what), "client: field " << what);
    // Before it is let in it is neither.
    auto early = greeted(pass::everything());
    BOOST_REQUIRE(does(early, Envelope::kAgentHello) == number(step::come));
    if (in(of_agents, what)) BOOST_TEST(does(early, what) == -1);
  }
}

BOOST_AUTO_TEST_CASE(a_client_has_credit_for_so_many_questions_and_parts_only_while_it_submits) {
  auto s = greeted(pass::everything());
  for (std::uint32_t i = 0; i < peer_session::questions_most; ++i)
    BOOST_REQUIRE(does(s, i % 2 == 0 ? Envelope::kListDevices : Envelope::kSubmit) >= 0);
  BOOST_TEST(s.open_questions() == peer_session::questions_most);
  BOOST_TEST(does(s, Envelope::kPing) == number(step::ping)); // costs nothing
  BOOST_TEST(does(s, Envelope::kArtifactPart) == number(step::part));
  s.answered();
  BOOST_TEST(does(s, Envelope::kFollow) == number(step::ask));
  BOOST_TEST(does(s, Envelope::kFollow) == -1);
  auto idle = greeted(pass::everything());
  BOOST_TEST(does(idle, Envelope::kArtifactPart) == -1);
}

// Any messages in any order, against what must hold whatever they are.
BOOST_AUTO_TEST_CASE(no_order_of_messages_gets_anybody_further_than_he_may) {
  const auto kinds = all_kinds();
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
      const auto r = s.take(message(what));
      if (!r) {
        over = true;
        BOOST_TEST((s.at() == peer_session::stage::over));
        continue;
      }
      BOOST_REQUIRE(!over);
      BOOST_REQUIRE(greeted_ == (*r != step::greet));
      greeted_ = true;
      switch (*r) {
      case step::greet:
        break;
      case step::authenticate:
        if (random.chance(0.2)) {
          BOOST_REQUIRE(!s.admit({}).ok());
          over = true;
        } else {
          BOOST_REQUIRE(s.admit(real).ok());
          admitted = true;
        }
        break;
      case step::come:
        BOOST_REQUIRE((admitted && real.work && !agent));
        if (random.chance(0.9)) {
          s.let_in();
          agent = true;
        }
        break;
      case step::leave:
        over = true;
        [[fallthrough]];
      case step::beat:
      case step::answers:
      case step::fetch:
        BOOST_REQUIRE(agent);
        break;
      case step::submit:
      case step::part:
        BOOST_REQUIRE((admitted && real.tune && !agent));
        break;
      case step::ask:
        BOOST_REQUIRE((admitted && !agent && (what != Envelope::kManage || real.manage)));
        break;
      case step::ping:
        BOOST_REQUIRE((admitted && real.watch && !agent));
        break;
      }
      BOOST_REQUIRE(s.open_questions() <= peer_session::questions_most);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
