// Peers of another version: one that lacks what is newest, and one that knows more. What both know is enough.
#include "net/store_messages.hpp"
#include "tests/net/fleet/pairs.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::tests;
using wire::v1::Envelope;

namespace {

/// The other end of a connection, which says what the test wants, as bytes.
struct scripted_end {
  scripted_end(pairs& w, link_ptr l) : world(w), wire(std::move(l)) {
    wire->start(
        [this](std::string_view body) {
          Envelope e;
          BOOST_REQUIRE(e.ParseFromArray(body.data(), static_cast<int>(body.size())));
          heard.push_back(e);
        },
        [this](const error& e) { over = e.message; });
  }
  ~scripted_end() { wire->close(); }
  void say(const Envelope& e) { wire->send(e.SerializeAsString()); }
  const Envelope& hear() {
    const auto at = next++;
    world.until([&] { return heard.size() > at; });
    return heard[at];
  }
  pairs& world;
  link_ptr wire;
  std::vector<Envelope> heard;
  std::size_t next = 0;
  std::string over;
};

/// A field that only a later version knows.
template <class Message>
void add_from_the_future(Message& to) {
  to.GetReflection()->MutableUnknownFields(&to)->AddLengthDelimited(1000, "what this version cannot know");
}

wire::v1::Orders order_of_lease(std::uint64_t lease) {
  wire::v1::Orders out;
  auto& t = *out.add_tasks();
  t.set_number(1);
  t.set_task("t");
  auto& o = *out.add_orders();
  o.set_lease(lease);
  o.set_task(1);
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(older_peer_suite)

BOOST_AUTO_TEST_CASE(an_agent_without_what_is_newest_gets_work_and_its_answers_count) {
  pairs w;
  auto [here, away] = w.link_pair();
  scripted_end agent(w, away);
  w.server->adopt(here);
  // Every feature is one that it has never heard of, and all that can be left out is.
  Envelope greeting;
  auto old = fleet_abilities();
  old.features.clear();
  old.program.clear();
  *greeting.mutable_hello() = hello_of(old, std::string(16, 'o'));
  agent.say(greeting);
  const auto welcome = agent.hear();
  BOOST_REQUIRE(welcome.has_welcome());
  BOOST_TEST(welcome.welcome().features_size() == 0);
  agent.wire->established();
  Envelope me;
  me.mutable_agent_hello()->set_name("old");
  me.mutable_agent_hello()->set_boot(std::string(16, 'o'));
  me.mutable_agent_hello()->set_slots(1);
  agent.say(me);
  BOOST_REQUIRE(agent.hear().has_agent_welcome());
  // Nothing is asked of it that it cannot do: no run behind another, no words of its runs.
  BOOST_TEST(!w.server->devices().find(w.there.at("old"))->ahead);
  w.server->loud(w.of, true);
  std::optional<measure::run_result> got;
  w.server->order(w.there.at("old"), 0, w.some_trial(), nullptr, [&](measure::run_result r) { got = std::move(r); });
  const auto orders = agent.hear();
  BOOST_REQUIRE(orders.has_orders());
  BOOST_TEST(!orders.orders().orders(0).output());
  Envelope answer;
  auto& a = *answer.mutable_answers()->add_answers();
  a.set_lease(orders.orders().orders(0).lease());
  a.mutable_measured()->set_value(2.5);
  agent.say(answer);
  w.until([&] { return got.has_value(); });
  BOOST_TEST(std::get<measurement>(got->data).value == 2.5);
  BOOST_TEST(got->elapsed.count() == 0);
  // Nor is it told to forget a task: the next frame is an order, of the task by another number.
  w.server->forget(w.of, nullptr);
  w.server->order(w.there.at("old"), 0, w.some_trial(1), nullptr, [](const measure::run_result&) {});
  const auto next = agent.hear();
  BOOST_REQUIRE(next.orders().orders_size() == 1);
  BOOST_TEST(next.orders().forget_size() == 0);
  BOOST_TEST(next.orders().orders(0).task() == orders.orders().orders(0).task() + 1);
  BOOST_TEST(agent.over.empty());
}

BOOST_AUTO_TEST_CASE(an_agent_that_knows_more_is_spoken_to_as_this_version_speaks) {
  pairs w;
  auto [here, away] = w.link_pair();
  scripted_end agent(w, away);
  w.server->adopt(here);
  auto young = fleet_abilities();
  young.newest += 3;
  young.features.emplace_back("from the future");
  Envelope greeting;
  *greeting.mutable_hello() = hello_of(young, std::string(16, 'y'));
  add_from_the_future(*greeting.mutable_hello());
  add_from_the_future(greeting);
  agent.say(greeting);
  const auto welcome = agent.hear();
  BOOST_REQUIRE(welcome.has_welcome());
  BOOST_TEST(welcome.welcome().version() == fleet_abilities().newest);
  for (const auto& f : welcome.welcome().features()) BOOST_TEST(f != "from the future");
  agent.wire->established();
  description d;
  d.name = "young";
  Envelope me;
  net::fleet::to(d, *me.mutable_agent_hello());
  add_from_the_future(*me.mutable_agent_hello());
  agent.say(me);
  BOOST_REQUIRE(agent.hear().has_agent_welcome());
  BOOST_TEST(w.server->devices().find(w.there.at("young"))->ahead);
  w.server->loud(w.of, true);
  int answered = 0;
  w.server->order(w.there.at("young"), 0, w.some_trial(), nullptr, [&](const measure::run_result&) { ++answered; });
  const auto orders = agent.hear();
  BOOST_TEST(orders.orders().orders(0).output());
  Envelope answer;
  auto& a = *answer.mutable_answers()->add_answers();
  a.set_lease(orders.orders().orders(0).lease());
  a.mutable_measured()->set_value(1);
  add_from_the_future(a);
  agent.say(answer);
  w.until([&] { return answered == 1; });
  w.server->forget(w.of, nullptr);
  BOOST_TEST(agent.hear().orders().forget_size() == 1);
}

BOOST_AUTO_TEST_CASE(an_agent_works_for_a_hub_that_knows_less_and_for_one_that_knows_more) {
  for (const bool more : {false, true}) {
    pairs w;
    auto& a = w.make("a");
    auto [here, away] = w.link_pair();
    a.wire = away;
    scripted_end hub(w, here);
    a.self->attach(away);
    BOOST_REQUIRE(hub.hear().has_hello());
    Envelope welcome;
    welcome.mutable_welcome()->set_version(1);
    if (more) welcome.mutable_welcome()->add_features("from the future");
    if (more) add_from_the_future(*welcome.mutable_welcome());
    hub.say(welcome);
    BOOST_REQUIRE(hub.hear().has_agent_hello());
    Envelope in;
    in.mutable_agent_welcome()->set_heartbeat_ns(3'600'000'000'000);
    in.mutable_agent_welcome()->set_lease_ns(7'200'000'000'000);
    if (more) add_from_the_future(*in.mutable_agent_welcome());
    hub.say(in);
    Envelope orders;
    *orders.mutable_orders() = order_of_lease(5);
    if (more) add_from_the_future(*orders.mutable_orders()->mutable_orders(0));
    hub.say(orders);
    w.until([&] { return a.slots[0]->in_hand != nullptr; });
    a.slots[0]->measured(4);
    const auto answers = hub.hear();
    BOOST_REQUIRE(answers.has_answers());
    BOOST_TEST(answers.answers().answers(0).lease() == 5u);
    BOOST_TEST(a.lost == 0);
    // What is said twice would be laid out anew under the number that runs, or run again by the lease that it has.
    Envelope next, again;
    next.mutable_orders()->add_orders()->set_lease(6);
    next.mutable_orders()->mutable_orders(0)->set_task(1);
    if (more)
      again.mutable_orders()->add_tasks()->set_number(1);
    else
      again = next;
    hub.say(next);
    w.until([&] { return a.slots[0]->in_hand != nullptr; });
    hub.say(again);
    w.until([&] { return a.lost == 1; });
    BOOST_TEST(a.why_lost == (more ? "a task is told of twice" : "an order for a slot that is taken"));
  }
}

BOOST_AUTO_TEST_CASE(versions_without_a_word_in_common_part_with_the_reason) {
  pairs w;
  auto [here, away] = w.link_pair();
  scripted_end agent(w, away);
  w.server->adopt(here);
  auto strange = fleet_abilities();
  strange.oldest = strange.newest = fleet_abilities().newest + 1;
  Envelope greeting;
  *greeting.mutable_hello() = hello_of(strange, std::string(16, 's'));
  agent.say(greeting);
  const auto said = agent.hear();
  BOOST_REQUIRE(said.has_failed());
  BOOST_TEST(said.failed().message().find("update the older one") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
