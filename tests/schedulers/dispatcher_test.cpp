#include "schedulers/dispatcher.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <map>

using namespace attune;
using namespace attune::schedulers;
using sec = std::chrono::seconds;

namespace {

/// Actions as a line of text: `build 1@10`, `run 1@20`, `stop 1@20`, `stuck 1@20`, `retry 1 internal@20`, `done 1`,
/// `fail 1 run_error`, `quarantine 1 device_lost`.
struct in_words {
  std::string operator()(const start_build& a) const { return "build " + at(a.job, a.builder); }
  std::string operator()(const start_run& a) const { return (a.ahead ? "ahead " : "run ") + at(a.job, a.slot); }
  std::string operator()(const begin_run& a) const { return "begin " + at(a.job, a.slot); }
  std::string operator()(const stop_ahead& a) const { return "back " + at(a.job, a.place); }
  std::string operator()(const take_back& a) const { return "again " + std::to_string(a.job); }
  std::string operator()(const stop_place& a) const { return "stop " + at(a.job, a.place); }
  std::string operator()(const start_aside& a) const { return "aside " + std::to_string(a.ticket); }
  std::string operator()(const place_stuck& a) const { return "stuck " + at(a.job, a.place); }
  std::string operator()(const retry_later& a) const {
    return "retry " + std::to_string(a.job) + ' ' + to_string(a.why.kind) + '@' + std::to_string(a.failed_at);
  }
  std::string operator()(const finish_answered& a) const { return "done " + std::to_string(a.job); }
  std::string operator()(const finish_failed& a) const {
    return (a.quarantined ? "quarantine " : "fail ") + std::to_string(a.job) + ' ' + to_string(a.why.kind);
  }
  static std::string at(job_id j, place_id p) { return std::to_string(j) + '@' + std::to_string(p); }
};

/// A dispatcher with its clock. Every event returns what it led to. Builders are numbered from 10, slots from 20.
struct world {
  explicit world(std::uint32_t builders = 1, std::uint32_t slots = 1, dispatcher_options options = {})
      : d([&] {
          options.admission = {slots, builders};
          return options;
        }()) {
    for (std::uint32_t i = 0; i < builders; ++i) d.add_builder(10 + i, now, out);
    for (std::uint32_t i = 0; i < slots; ++i) d.add_slot(20 + i, now, out);
  }
  std::string did() {
    std::string text;
    for (const auto& a : out) {
      if (!text.empty()) text += ", ";
      text += std::visit(in_words{}, a);
      if (const auto* f = std::get_if<finish_failed>(&a)) last = f->why;
    }
    out.clear();
    return text;
  }
  std::string submit(job j) {
    j.build_limit = sec(20);
    j.run_limit = sec(5);
    accepted = d.submit(j, now, out);
    return did();
  }
  /// Trials by kind: with a build, without, building in place.
  std::string whole(job_id id, std::uint64_t client = 1) { return submit({id, client, true, false, {}, {}}); }
  std::string bare(job_id id, std::uint64_t client = 1) { return submit({id, client, false, false, {}, {}}); }
  std::string in_place(job_id id, std::uint64_t client = 1) { return submit({id, client, true, true, {}, {}}); }
  std::string built(job_id id, place_id p = 10, std::optional<failure_kind> why = {}) {
    d.built(p, id, because(why), now, out);
    return did();
  }
  std::string ran(job_id id, place_id p = 20, std::optional<failure_kind> why = {}) {
    d.ran(p, id, because(why), now, out);
    return did();
  }
  std::string lose(place_id p, std::uint64_t absence = 0) {
    d.remove_place(p, now, out, absence);
    return did();
  }
  std::string builder(place_id p) {
    d.add_builder(p, now, out);
    return did();
  }
  std::string slot(place_id p) {
    d.add_slot(p, now, out);
    return did();
  }
  std::string slot_ahead(place_id p, std::uint32_t device = 0) {
    slot_traits what;
    what.ahead = true;
    what.device = device;
    d.add_slot(p, now, out, what);
    return did();
  }
  std::string rest(place_id p, bool on) {
    d.rest(p, on, now, out);
    return did();
  }
  std::string terms(std::uint64_t client, const share_terms& t) {
    d.terms(client, t, now, out);
    return did();
  }
  std::string refuse(job_id id) {
    d.refuse({id}, failure{failure_kind::device_lost, "banned", {}, {}}, now, out);
    return did();
  }
  std::string hold(std::uint32_t device, std::optional<std::uint64_t> client) {
    d.hold_device(device, client, now, out);
    return did();
  }
  std::string limit(std::uint32_t device, std::optional<std::uint32_t> at_once) {
    d.limit_device(device, at_once, now, out);
    return did();
  }
  /// A run of 10 ms has made known that runs are short here.
  void short_run(job_id id, place_id p) {
    bare(id);
    now += std::chrono::milliseconds(10);
    ran(id, p);
  }
  std::string cancel(std::uint64_t client = 1) {
    d.cancel(client, now, out);
    return did();
  }
  std::string admit(std::uint32_t slots, std::uint32_t builders) {
    d.set_admission({slots, builders}, now, out);
    return did();
  }
  std::string wait(nanoseconds by) {
    now += by;
    d.tick(now, out);
    return did();
  }
  /// Until the dispatcher wants to be called; "-" where it does not.
  std::string next() {
    const auto at = d.next_deadline();
    if (!at) return "-";
    now = std::max(now, *at);
    d.tick(now, out);
    return did();
  }
  static std::optional<failure> because(std::optional<failure_kind> why) {
    if (!why) return std::nullopt;
    return failure{*why, "as the test wants it", {}, {}};
  }
  bool idle() const {
    return d.in_hand() == 0 && d.waiting() == 0 && d.load().building == 0 && d.load().running == 0 &&
           d.load().ready == 0 && !d.load().section_taken && !d.next_deadline();
  }

  dispatcher d;
  nanoseconds now = sec(1000);
  std::vector<action> out;
  failure last;
  bool accepted = false;
};

constexpr auto internal = failure_kind::internal;
constexpr auto build_error = failure_kind::build_error;
constexpr auto run_error = failure_kind::run_error;

} // namespace

BOOST_AUTO_TEST_SUITE(one_trial)

BOOST_AUTO_TEST_CASE(it_is_built_and_then_run) {
  world w;
  BOOST_TEST(w.whole(1) == "build 1@10");
  BOOST_TEST(w.built(1) == "run 1@20");
  BOOST_TEST(w.ran(1) == "done 1");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_CASE(without_a_build_it_is_run_at_once) {
  world w;
  BOOST_TEST(w.bare(1) == "run 1@20");
  BOOST_TEST(w.ran(1) == "done 1");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_CASE(its_own_failures_end_it) {
  world w;
  w.whole(1);
  BOOST_TEST(w.built(1, 10, build_error) == "fail 1 build_error");
  w.whole(2);
  w.built(2);
  BOOST_TEST(w.ran(2, 20, run_error) == "fail 2 run_error");
  BOOST_TEST(w.last.message == "as the test wants it");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_CASE(a_number_that_is_in_hand_is_refused) {
  world w;
  w.bare(1);
  BOOST_TEST(w.bare(1) == "");
  BOOST_TEST(!w.accepted);
  BOOST_TEST(w.d.in_hand() == 1u);
}

BOOST_AUTO_TEST_CASE(beyond_the_bound_it_is_refused_and_nothing_is_done) {
  dispatcher_options two;
  two.queue_bound = 2;
  world w(1, 1, two);
  w.bare(1);
  w.bare(2);
  BOOST_TEST(w.accepted);
  BOOST_TEST(w.bare(3) == "");
  BOOST_TEST(!w.accepted);
  BOOST_TEST(w.d.in_hand() == 2u);
  BOOST_TEST(w.ran(1) == "done 1, run 2@20");
  w.bare(4);
  BOOST_TEST(w.accepted);
}

BOOST_AUTO_TEST_CASE(answers_that_nobody_waits_for_are_dropped) {
  world w;
  BOOST_TEST(w.ran(1) == "");
  BOOST_TEST(w.built(1, 99) == "");
  w.bare(1);
  BOOST_TEST(w.ran(2) == "");
  BOOST_TEST(w.d.load().running == 1u);
  BOOST_TEST(w.ran(1) == "done 1");
  BOOST_TEST(w.ran(1) == "");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(turns)

BOOST_AUTO_TEST_CASE(one_builder_and_one_slot_alternate) {
  world w;
  w.whole(1);
  BOOST_TEST(w.whole(2) == "");
  BOOST_TEST(w.built(1) == "run 1@20");
  BOOST_TEST(w.ran(1) == "done 1, build 2@10");
  BOOST_TEST(w.built(2) == "run 2@20");
}

BOOST_AUTO_TEST_CASE(a_wave_of_builds_and_then_the_runs) {
  world w(2, 1);
  for (job_id id = 1; id <= 6; ++id) w.whole(id);
  BOOST_TEST(w.d.load().building == 2u);
  BOOST_TEST(w.built(1, 10) == "build 3@10"); // one is ready, two are wanted
  BOOST_TEST(w.built(2, 11) == "");           // two are ready: the wave ends, the last of it is waited for
  BOOST_TEST(w.built(3, 10) == "run 1@20");
  BOOST_TEST(w.ran(1) == "done 1, run 2@20");
  BOOST_TEST(w.ran(2) == "done 2, run 3@20");
  BOOST_TEST(w.ran(3) == "done 3, build 4@10, build 5@11");
}

BOOST_AUTO_TEST_CASE(several_slots_run_beside_each_other) {
  world w(2, 2);
  w.bare(1);
  BOOST_TEST(w.bare(2) == "run 2@21");
  BOOST_TEST(w.whole(3) == "");
  BOOST_TEST(w.bare(4) == "");
  BOOST_TEST(w.ran(1) == "done 1, run 4@20");
  BOOST_TEST(w.ran(2, 21) == "done 2"); // no build while 4 runs
  BOOST_TEST(w.ran(4) == "done 4, build 3@10");
}

BOOST_AUTO_TEST_CASE(admission_bounds_the_places_that_are_used) {
  world w(2, 2);
  BOOST_TEST(w.admit(1, 1) == "");
  w.bare(1);
  BOOST_TEST(w.bare(2) == "");
  BOOST_TEST(w.admit(2, 1) == "run 2@21");
  w.bare(3);
  BOOST_TEST(w.admit(1, 1) == ""); // what runs goes on
  BOOST_TEST(w.ran(1) == "done 1");
  BOOST_TEST(w.ran(2, 21) == "done 2, run 3@20");
}

BOOST_AUTO_TEST_CASE(a_limit_of_nothing_counts_as_one) {
  world w(1, 1);
  w.admit(0, 0);
  BOOST_TEST(w.whole(1) == "build 1@10");
  BOOST_TEST(w.built(1) == "run 1@20");
}

BOOST_AUTO_TEST_CASE(clients_take_turns) {
  world w;
  for (job_id id = 1; id <= 5; ++id) w.bare(id, 1);
  for (job_id id = 6; id <= 7; ++id) w.bare(id, 2);
  BOOST_TEST(w.ran(1) == "done 1, run 2@20");
  BOOST_TEST(w.ran(2) == "done 2, run 6@20");
  BOOST_TEST(w.ran(6) == "done 6, run 3@20");
  BOOST_TEST(w.ran(3) == "done 3, run 7@20");
  BOOST_TEST(w.ran(7) == "done 7, run 4@20");
  BOOST_TEST(w.ran(4) == "done 4, run 5@20");
}

BOOST_AUTO_TEST_CASE(a_stream_of_trials_without_a_build_does_not_starve_the_builders) {
  for (const std::uint32_t builders : {1u, 3u}) {
    world w(builders, 1);
    job_id next = 100;
    w.bare(next, 1);
    for (job_id id = 1; id <= builders; ++id) w.whole(id, 2);
    const auto wave = std::max<std::uint32_t>(4, 2 * builders);
    for (std::uint32_t i = 1; i < wave; ++i) {
      w.bare(next + 1, 1); // there is always another one
      const auto text = w.ran(next);
      ++next;
      BOOST_TEST(text == "done " + std::to_string(next - 1) + ", run " + std::to_string(next) + "@20");
    }
    w.bare(next + 1, 1);
    w.ran(next);
    BOOST_TEST(w.d.load().building == builders); // the whole wave, not one of it
    BOOST_TEST(w.d.load().running == 0u);
  }
}

BOOST_AUTO_TEST_CASE(builds_that_fail_do_not_starve_what_is_ready) {
  world w(2, 1);
  job_id next = 100;
  w.whole(next, 1);
  w.whole(next + 1, 1);
  BOOST_TEST(w.bare(1, 2) == "");
  // Two builders that overlap for ever, with never a good build.
  place_id p = 10;
  int builds = 2;
  while (w.d.load().building > 0 && builds < 50) {
    w.whole(next + 2, 1);
    w.built(next, p, build_error);
    if (w.d.load().building == 2) ++builds;
    p = p == 10 ? 11 : 10;
    ++next;
  }
  BOOST_TEST(builds == 4);
  BOOST_TEST(w.d.load().running == 1u);
}

BOOST_AUTO_TEST_CASE(runs_go_on_where_there_is_no_builder) {
  world w(0, 1);
  w.whole(1, 1);
  w.bare(100, 2);
  for (job_id id = 100; id < 120; ++id) {
    w.bare(id + 1, 2);
    BOOST_TEST(w.ran(id) == "done " + std::to_string(id) + ", run " + std::to_string(id + 1) + "@20");
  }
}

BOOST_AUTO_TEST_CASE(trials_that_need_no_build_are_not_what_a_wave_of_builds_waits_for) {
  world w(2, 1);
  w.bare(1, 1);
  w.bare(2, 1);
  w.bare(3, 1);
  BOOST_TEST(w.d.load().ready == 0u);
  w.whole(4, 2);
  w.ran(1);
  w.built(4);
  BOOST_TEST(w.d.load().ready == 0u); // it is not built yet
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(sections)

BOOST_AUTO_TEST_CASE(nobody_else_enters_from_the_build_to_the_end_of_the_run) {
  world w(2, 2);
  BOOST_TEST(w.in_place(1) == "build 1@10");
  BOOST_TEST(w.d.load().section_taken);
  BOOST_TEST(w.in_place(2, 2) == "");
  BOOST_TEST(w.whole(3, 3) == "");
  BOOST_TEST(w.bare(4, 4) == "");
  BOOST_TEST(w.built(1) == "run 1@20");
  BOOST_TEST(w.bare(5, 5) == "");
  BOOST_TEST(w.ran(1) == "done 1, run 4@20, run 5@21");
  BOOST_TEST(!w.d.load().section_taken);
}

BOOST_AUTO_TEST_CASE(it_begins_only_where_nothing_goes_on) {
  world w(2, 1);
  w.whole(1, 1);
  BOOST_TEST(w.in_place(2, 2) == "");
  BOOST_TEST(w.built(1) == "run 1@20");
  BOOST_TEST(w.ran(1) == "done 1, build 2@10");
}

BOOST_AUTO_TEST_CASE(its_holder_is_found_behind_others_of_the_same_client) {
  world w(2, 1);
  w.in_place(1);
  w.bare(2);
  w.bare(3);
  BOOST_TEST(w.built(1) == "run 1@20");
  BOOST_TEST(w.ran(1) == "done 1, run 2@20");
}

BOOST_AUTO_TEST_CASE(it_is_open_again_after_a_failure) {
  world w;
  w.in_place(1);
  w.in_place(2);
  BOOST_TEST(w.built(1, 10, build_error) == "fail 1 build_error, build 2@10");
  w.built(2);
  w.in_place(3);
  BOOST_TEST(w.ran(2, 20, run_error) == "fail 2 run_error, build 3@10");
}

BOOST_AUTO_TEST_CASE(a_trial_tried_again_starts_at_its_build_in_a_section_of_its_own) {
  world w(1, 2);
  w.in_place(1);
  w.in_place(2, 2);
  BOOST_TEST(w.built(1) == "run 1@20");
  BOOST_TEST(w.ran(1, 20, internal) == "retry 1 internal@20, build 1@10");
  BOOST_TEST(w.d.load().section_taken);
  BOOST_TEST(w.built(1) == "run 1@21");
  BOOST_TEST(w.ran(1, 21) == "done 1, build 2@10");
  BOOST_TEST(w.built(2) == "run 2@20");
  BOOST_TEST(w.ran(2) == "done 2");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_CASE(one_that_no_slot_may_try_again_is_not_built_again) {
  world w;
  w.in_place(1);
  w.in_place(2);
  w.built(1);
  BOOST_TEST(w.ran(1, 20, internal) == "fail 1 internal, build 2@10");
}

BOOST_AUTO_TEST_CASE(one_whose_last_slot_goes_during_its_build_ends_and_opens_the_section) {
  world w(1, 2);
  w.in_place(1);
  w.built(1);
  BOOST_TEST(w.ran(1, 20, internal) == "retry 1 internal@20, build 1@10");
  BOOST_TEST(w.lose(21) == "");
  BOOST_TEST(w.bare(2, 2) == "");
  BOOST_TEST(w.built(1) == "fail 1 internal, run 2@20");
}

BOOST_AUTO_TEST_CASE(it_is_open_again_after_a_cancellation_at_each_stage) {
  world w;
  w.in_place(1, 1);
  w.in_place(2, 2);
  BOOST_TEST(w.cancel(1) == "stop 1@10");
  BOOST_TEST(w.built(1) == "fail 1 cancelled, build 2@10");
  w.in_place(3, 3);
  w.built(2);
  BOOST_TEST(w.cancel(2) == "stop 2@20");
  BOOST_TEST(w.d.load().section_taken);
  BOOST_TEST(w.ran(2) == "fail 2 cancelled, build 3@10");
  w.lose(20);
  w.builder(11);
  BOOST_TEST(w.whole(4, 4) == "");
  BOOST_TEST(w.built(3) == ""); // no slot: the section is held
  BOOST_TEST(w.cancel(3) == "fail 3 cancelled, build 4@10");
}

BOOST_AUTO_TEST_CASE(it_is_open_again_when_its_place_is_lost_or_stuck) {
  world w(2, 1);
  w.in_place(1, 1);
  BOOST_TEST(w.lose(10) == "retry 1 device_lost@10, build 1@11");
  w.built(1, 11);
  w.whole(2, 2);
  w.wait(sec(5));
  BOOST_TEST(w.wait(sec(10)) == "stuck 1@20, fail 1 run_timeout, build 2@11");
}

BOOST_AUTO_TEST_CASE(it_ends_when_no_slot_comes) {
  world w(1, 0);
  w.in_place(1, 1);
  BOOST_TEST(w.built(1) == "");
  BOOST_TEST(w.wait(sec(10)) == "");
  BOOST_TEST(w.whole(2, 2) == "");
  BOOST_TEST(w.wait(sec(19)) == "");
  BOOST_TEST(w.wait(sec(1)) == "fail 1 device_lost, build 2@10");
}

BOOST_AUTO_TEST_CASE(a_client_that_builds_in_place_is_not_starved_by_two_that_do_not) {
  world w(2, 1);
  job_id next = 100;
  w.whole(next++, 2);
  w.whole(next++, 3);
  w.in_place(1, 1);
  std::vector<std::pair<job_id, place_id>> busy{{100, 10}, {101, 11}};
  bool began = false;
  for (int i = 0; i < 200 && !began && !busy.empty(); ++i) {
    const auto [id, p] = busy.front();
    busy.erase(busy.begin());
    w.whole(next++, 2);
    w.whole(next++, 3);
    if (p < 20)
      w.d.built(p, id, {}, w.now, w.out);
    else
      w.d.ran(p, id, {}, w.now, w.out);
    for (const auto& a : w.out) {
      if (const auto* b = std::get_if<start_build>(&a)) {
        busy.emplace_back(b->job, b->builder);
        began = began || b->job == 1;
      }
      if (const auto* r = std::get_if<start_run>(&a)) busy.emplace_back(r->job, r->slot);
    }
    w.out.clear();
  }
  BOOST_TEST(began);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(deadlines)

BOOST_AUTO_TEST_CASE(at_the_limit_the_place_is_told_to_stop_and_its_answer_counts_as_the_timeout) {
  world w;
  w.whole(1);
  BOOST_TEST(w.wait(sec(20) - nanoseconds(1)) == "");
  BOOST_TEST(w.wait(nanoseconds(1)) == "stop 1@10");
  BOOST_TEST(w.wait(sec(9)) == "");
  BOOST_TEST(w.built(1) == "fail 1 build_timeout"); // it says that it was good
  w.whole(2);
  w.built(2);
  BOOST_TEST(w.wait(sec(5)) == "stop 2@20");
  BOOST_TEST(w.ran(2, 20, internal) == "fail 2 run_timeout"); // never retried for what it says now
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_CASE(a_place_that_does_not_answer_is_out_of_service_until_it_does) {
  world w(1, 2);
  w.bare(1);
  w.wait(sec(5));
  w.bare(2);
  BOOST_TEST(w.wait(sec(5)) == "stop 2@21");
  w.ran(2, 21);
  BOOST_TEST(w.wait(sec(5)) == "stuck 1@20, fail 1 run_timeout");
  BOOST_TEST(w.last.message.find("out of service") != std::string::npos);
  BOOST_TEST(w.d.load().running == 0u);
  BOOST_TEST(w.d.in_hand() == 0u);
  BOOST_TEST(w.bare(3) == "run 3@21");
  BOOST_TEST(w.bare(4) == ""); // the other one is not free
  BOOST_TEST(w.ran(1, 20) == "run 4@20");
  BOOST_TEST(w.d.load().running == 2u);
}

BOOST_AUTO_TEST_CASE(a_stuck_place_that_goes_away_takes_nothing_with_it) {
  world w;
  w.bare(1);
  w.wait(sec(5));
  BOOST_TEST(w.wait(sec(10)) == "stuck 1@20, fail 1 run_timeout");
  BOOST_TEST(w.lose(20) == "");
  BOOST_TEST(w.ran(1) == "");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_CASE(without_a_limit_nothing_is_timed) {
  world w;
  w.d.submit({1, 1, false, false, {}, {}}, w.now, w.out);
  BOOST_TEST(w.did() == "run 1@20");
  BOOST_TEST(!w.d.next_deadline().has_value());
  BOOST_TEST(w.wait(std::chrono::hours(10000)) == "");
  BOOST_TEST(w.cancel() == "stop 1@20"); // from here on it is
  BOOST_TEST(w.next() == "stuck 1@20, fail 1 cancelled");
}

BOOST_AUTO_TEST_CASE(waits_without_end_are_no_overflow) {
  dispatcher_options patient;
  patient.grace = patient.no_place_wait = nanoseconds::max();
  world w(0, 1, patient);
  BOOST_TEST(w.whole(1) == "");
  BOOST_TEST(!w.d.next_deadline().has_value());
  BOOST_TEST(w.wait(std::chrono::hours(10000)) == "");
  w.bare(2, 2);
  BOOST_TEST(w.cancel(2) == "stop 2@20");
  BOOST_TEST(w.wait(std::chrono::hours(10000)) == "");
}

BOOST_AUTO_TEST_CASE(tick_at_next_deadline_does_something_each_time) {
  world w;
  BOOST_TEST(w.next() == "-");
  w.whole(1);
  BOOST_TEST(w.next() == "stop 1@10");
  BOOST_TEST(w.next() == "stuck 1@10, fail 1 build_timeout");
  BOOST_TEST(w.next() == "-");
  w.whole(2);
  BOOST_TEST(w.next() == "fail 2 device_lost");
  BOOST_TEST(w.next() == "-");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(losses)

BOOST_AUTO_TEST_CASE(a_lost_trial_is_tried_once_elsewhere_and_then_quarantined) {
  world w(1, 3);
  w.whole(1);
  w.built(1);
  BOOST_TEST(w.lose(20) == "retry 1 device_lost@20, run 1@21"); // not built again
  BOOST_TEST(w.ran(1, 20) == "");                               // the answer of the lost one
  BOOST_TEST(w.lose(21) == "quarantine 1 device_lost");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_CASE(a_lost_builder_is_a_build_elsewhere) {
  world w(2, 1);
  w.whole(1);
  BOOST_TEST(w.lose(10) == "retry 1 device_lost@10, build 1@11");
  BOOST_TEST(w.built(1, 11) == "run 1@20");
}

BOOST_AUTO_TEST_CASE(it_goes_before_the_others_of_its_client) {
  world w(1, 2);
  for (job_id id = 1; id <= 4; ++id) w.bare(id);
  BOOST_TEST(w.lose(20) == "retry 1 device_lost@20");
  BOOST_TEST(w.ran(2, 21) == "done 2, run 1@21");
}

BOOST_AUTO_TEST_CASE(never_again_on_the_place_that_failed) {
  world w(1, 2);
  w.bare(1);
  w.bare(2);
  BOOST_TEST(w.ran(1, 20, internal) == "retry 1 internal@20"); // 20 is free, and not for it
  BOOST_TEST(w.ran(2, 21) == "done 2, run 1@21");
  BOOST_TEST(w.ran(1, 21, internal) == "fail 1 internal"); // no place is left
}

BOOST_AUTO_TEST_CASE(attempts_are_bounded_however_many_places_there_are) {
  world w(1, 9);
  w.bare(1);
  BOOST_TEST(w.ran(1, 20, internal) == "retry 1 internal@20, run 1@21");
  BOOST_TEST(w.ran(1, 21, internal) == "retry 1 internal@21, run 1@22");
  BOOST_TEST(w.ran(1, 22, internal) == "fail 1 internal");
}

BOOST_AUTO_TEST_CASE(with_no_other_place_the_failure_stands_at_once) {
  world w;
  w.whole(1);
  BOOST_TEST(w.built(1, 10, internal) == "fail 1 internal");
  BOOST_TEST(w.last.message.find("as the test wants it") == 0u);
  BOOST_TEST(w.last.message.find("no other place") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(it_waits_for_a_device_to_come_and_takes_it) {
  world w;
  w.bare(1);
  BOOST_TEST(w.lose(20) == "retry 1 device_lost@20");
  BOOST_TEST(w.wait(sec(29)) == "");
  BOOST_TEST(w.slot(21) == "run 1@21");
  BOOST_TEST(w.ran(1, 21) == "done 1");
}

BOOST_AUTO_TEST_CASE(it_waits_no_longer_than_it_may) {
  world w;
  w.bare(1);
  w.lose(20);
  BOOST_TEST(w.wait(sec(30) - nanoseconds(1)) == "");
  BOOST_TEST(w.wait(nanoseconds(1)) == "fail 1 device_lost");
  BOOST_TEST(w.last.message == "no device came within 30.0 s, after: the device went away during the run");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_CASE(a_fleet_without_a_device_ends_all_that_waits_at_once_and_not_wave_by_wave) {
  world w(1, 0);
  for (job_id id = 1; id <= 3; ++id) w.whole(id);
  BOOST_TEST(w.built(1) == "");
  BOOST_TEST(w.wait(sec(30)) == "fail 1 device_lost, fail 2 device_lost, fail 3 device_lost");
  BOOST_TEST(w.last.message == "no device came within 30.0 s");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_CASE(a_fleet_without_a_builder_says_so) {
  world w(0, 1);
  w.whole(1);
  BOOST_TEST(w.wait(sec(30)) == "fail 1 device_lost");
  BOOST_TEST(w.last.message == "no builder came within 30.0 s");
}

BOOST_AUTO_TEST_CASE(time_in_the_queue_of_a_busy_place_is_no_wait_for_one_to_come) {
  world w;
  w.d.submit({1, 1, false, false, {}, {}}, w.now, w.out);
  w.bare(2);
  w.wait(sec(300));
  BOOST_TEST(w.lose(20) == "retry 1 device_lost@20");
  BOOST_TEST(w.wait(sec(29)) == "");
  w.did();
  BOOST_TEST(w.slot(21) == "run 1@21");
  w.ran(1, 21);
  w.lose(21); // each wait has its own beginning
  BOOST_TEST(w.wait(sec(29)) == "");
  BOOST_TEST(w.wait(sec(1)) == "fail 2 device_lost");
}

BOOST_AUTO_TEST_CASE(one_that_waits_for_the_only_other_place_ends_when_that_goes) {
  for (const bool by_loss : {true, false}) {
    world w(1, 2);
    w.bare(1, 1);
    w.bare(2, 2);
    BOOST_TEST(w.ran(1, 20, internal) == "retry 1 internal@20");
    if (by_loss) {
      BOOST_TEST(w.lose(21) == "retry 2 device_lost@21, fail 1 internal, run 2@20");
    } else {
      BOOST_TEST(w.wait(sec(5)) == "stop 2@21");
      BOOST_TEST(w.wait(sec(10)) == "stuck 2@21, fail 2 run_timeout, fail 1 internal");
    }
  }
}

BOOST_AUTO_TEST_CASE(one_that_waits_ends_when_only_the_place_that_failed_it_comes_back) {
  world w(1, 2);
  w.bare(1, 1);
  w.d.submit({2, 2, false, false, {}, {}}, w.now, w.out); // without a limit
  BOOST_TEST(w.did() == "run 2@21");
  BOOST_TEST(w.ran(1, 20, internal) == "retry 1 internal@20");
  BOOST_TEST(w.bare(3, 3) == "run 3@20");
  w.wait(sec(5));
  BOOST_TEST(w.wait(sec(10)) == "stuck 3@20, fail 3 run_timeout");
  BOOST_TEST(w.lose(21) == "retry 2 device_lost@21");
  BOOST_TEST(w.ran(3, 20) == "fail 1 internal, run 2@20");
}

BOOST_AUTO_TEST_CASE(a_place_that_is_here_is_not_added_twice) {
  world w;
  BOOST_TEST(w.slot(20) == "");
  BOOST_TEST(w.d.slots() == 1u);
  w.bare(1);
  BOOST_TEST(w.bare(2) == "");
  w.lose(20);
  BOOST_TEST(w.d.slots() == 0u);
  BOOST_TEST(w.lose(20) == "");
}

BOOST_AUTO_TEST_CASE(a_timeout_on_record_outlives_the_loss_of_its_place) {
  world w(1, 2);
  w.bare(1);
  w.wait(sec(5));
  BOOST_TEST(w.lose(20) == "fail 1 run_timeout");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(cancelling)

BOOST_AUTO_TEST_CASE(what_waits_ends_at_once_and_what_works_when_it_has_answered) {
  world w(2, 1);
  for (job_id id = 1; id <= 5; ++id) w.whole(id);
  w.whole(6, 2);
  w.built(1, 10);
  BOOST_TEST(w.d.load().ready == 1u);
  // 1 is built, two others are being built, the rest waits.
  const auto text = w.cancel(1);
  BOOST_TEST(text == "fail 1 cancelled, fail 4 cancelled, fail 5 cancelled, stop 2@11, stop 3@10");
  BOOST_TEST(w.d.load().ready == 0u);
  BOOST_TEST(w.cancel(1) == ""); // once is enough
  BOOST_TEST(w.built(2, 11) == "fail 2 cancelled, build 6@11");
  BOOST_TEST(w.built(3, 10) == "fail 3 cancelled");
  BOOST_TEST(w.built(6, 11) == "run 6@20");
  BOOST_TEST(w.ran(6) == "done 6");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_CASE(it_is_never_tried_again) {
  world w(1, 2);
  w.bare(1);
  w.cancel();
  BOOST_TEST(w.ran(1, 20, internal) == "fail 1 cancelled");
  w.bare(2);
  w.cancel();
  BOOST_TEST(w.lose(20) == "fail 2 cancelled");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_CASE(one_sent_back_to_the_queue_ends_at_once) {
  world w;
  w.bare(1);
  w.lose(20);
  BOOST_TEST(w.cancel() == "fail 1 cancelled");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_CASE(a_timeout_on_record_stands) {
  world w;
  w.bare(1);
  w.wait(sec(5));
  BOOST_TEST(w.cancel() == "");
  BOOST_TEST(w.ran(1) == "fail 1 run_timeout");
}

BOOST_AUTO_TEST_CASE(a_place_that_ignores_it_is_given_up) {
  world w;
  w.bare(1);
  w.cancel();
  BOOST_TEST(w.wait(sec(10)) == "stuck 1@20, fail 1 cancelled");
}

BOOST_AUTO_TEST_CASE(the_others_go_on) {
  world w;
  w.bare(1, 1);
  w.bare(2, 1);
  w.bare(3, 2);
  w.cancel(1);
  w.d.forget(1);
  BOOST_TEST(w.ran(1) == "fail 1 cancelled, run 3@20");
  BOOST_TEST(w.cancel(99) == "");
}

BOOST_AUTO_TEST_CASE(a_long_queue_is_cancelled_in_one_pass) {
  world w(1, 1);
  for (job_id id = 1; id <= 65536; ++id) w.d.submit({id, 1, true, false, {}, {}}, w.now, w.out);
  BOOST_TEST(w.d.in_hand() == 65536u);
  w.out.clear();
  w.d.cancel(1, w.now, w.out);
  BOOST_TEST(w.out.size() == 65536u); // one by one this would be 2^31 moves
  w.out.clear();
  BOOST_TEST(w.built(1) == "fail 1 cancelled");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(work_beside_the_trials)

BOOST_AUTO_TEST_CASE(it_waits_for_the_run_and_the_next_run_waits_for_it) {
  dispatcher d({});
  std::vector<action> out;
  d.add_slot(1, nanoseconds(0), out);
  for (job_id id = 1; id <= 3; ++id)
    d.submit({id, 7, false, false, nanoseconds(0), nanoseconds(0)}, nanoseconds(0), out);
  BOOST_REQUIRE((out.size() == 1 && std::holds_alternative<start_run>(out[0])));
  out.clear();
  d.want_aside(5, nanoseconds(1), out);
  d.want_aside(6, nanoseconds(1), out);
  BOOST_TEST(out.empty());
  d.ran(1, 1, std::nullopt, nanoseconds(2), out);
  BOOST_REQUIRE(out.size() == 2u); // the trial's end, and the first of the two
  BOOST_TEST(std::get<start_aside>(out[1]).ticket == 5u);
  out.clear();
  d.aside_done(5, nanoseconds(3), out);
  BOOST_REQUIRE(out.size() == 1u);
  BOOST_TEST(std::get<start_aside>(out[0]).ticket == 6u);
  out.clear();
  d.aside_done(6, nanoseconds(4), out);
  BOOST_REQUIRE(out.size() == 1u);
  BOOST_TEST(std::get<start_run>(out[0]).job == 2u);
  out.clear();
  // One that is not wanted any more holds nothing up.
  d.want_aside(8, nanoseconds(5), out);
  d.aside_done(8, nanoseconds(5), out);
  d.aside_done(99, nanoseconds(5), out);
  d.ran(1, 2, std::nullopt, nanoseconds(6), out);
  BOOST_TEST(std::get<start_run>(out.back()).job == 3u);
}

BOOST_AUTO_TEST_CASE(it_goes_on_beside_a_run_where_that_does_no_harm) {
  dispatcher_options o;
  o.admission = {1, 1, 1};
  dispatcher d(o);
  std::vector<action> out;
  d.add_slot(1, nanoseconds(0), out);
  d.submit({1, 7, false, false, nanoseconds(0), nanoseconds(0)}, nanoseconds(0), out);
  out.clear();
  d.want_aside(5, nanoseconds(1), out);
  BOOST_REQUIRE(out.size() == 1u);
  BOOST_TEST(std::holds_alternative<start_aside>(out[0]));
}

BOOST_AUTO_TEST_CASE(while_one_client_alone_is_served_the_others_wait) {
  dispatcher d({});
  std::vector<action> out;
  d.add_slot(1, nanoseconds(0), out);
  d.hold_all_but(0, nanoseconds(0), out);
  d.submit({1, 7, false, false, nanoseconds(0), nanoseconds(0)}, nanoseconds(0), out);
  BOOST_TEST(out.empty());
  d.submit({2, 0, false, false, nanoseconds(0), nanoseconds(0)}, nanoseconds(0), out);
  BOOST_REQUIRE(out.size() == 1u);
  BOOST_TEST(std::get<start_run>(out[0]).job == 2u);
  out.clear();
  d.ran(1, 2, std::nullopt, nanoseconds(1), out);
  BOOST_TEST(out.size() == 1u);
  out.clear();
  d.hold_all_but(std::nullopt, nanoseconds(2), out);
  BOOST_REQUIRE(out.size() == 1u);
  BOOST_TEST(std::get<start_run>(out[0]).job == 1u);
}

BOOST_AUTO_TEST_CASE(who_is_served_alone_waits_for_nobodys_turn) {
  world w(1, 1);
  w.bare(1);
  w.whole(100, 2); // it is the builds' turn after a wave of runs
  for (job_id id = 1; id < 4; ++id) {
    w.bare(id + 1);
    w.ran(id);
  }
  w.d.hold_all_but(0, w.now, w.out);
  BOOST_TEST(w.ran(4) == "done 4");
  BOOST_TEST(w.bare(5, 0) == "run 5@20");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(slots_that_differ)

namespace {

/// Two kinds of slots, as many builds beside them as there are builders.
struct fleet : world {
  explicit fleet(std::uint32_t builders = 1) : world(builders, 0) {
    d.set_admission({8, builders, builders}, now, out);
    out.clear();
  }
  std::string slot(place_id p, std::uint32_t kind, std::uint32_t device = 0) {
    d.add_slot(p, now, out, {device, std::vector{kind}});
    return did();
  }
  std::string bare(job_id id, std::uint32_t kind) { return submit({id, kind, false, false, {}, {}, kind}); }
  std::string whole(job_id id, std::uint32_t kind) { return submit({id, kind, true, false, {}, {}, kind}); }
  std::string serve(place_id p, std::uint32_t kind) {
    d.serve(p, kind, now, out);
    return did();
  }
  std::string rest(place_id p, bool on) {
    d.rest(p, on, now, out);
    return did();
  }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_trial_goes_to_a_slot_of_its_kind_alone) {
  fleet f;
  f.slot(20, 1);
  f.slot(21, 2);
  BOOST_TEST(f.bare(1, 2) == "run 1@21");
  BOOST_TEST(f.bare(2, 2) == "");
  BOOST_TEST(f.bare(3, 1) == "run 3@20");
  BOOST_TEST(f.ran(3, 20) == "done 3");
  BOOST_TEST(f.ran(1, 21) == "done 1, run 2@21");
}

BOOST_AUTO_TEST_CASE(what_nobody_serves_ends_after_its_wait_and_says_so) {
  fleet f;
  f.slot(20, 1);
  BOOST_TEST(f.bare(1, 9) == "");
  BOOST_TEST(f.wait(sec(29)) == "");
  BOOST_TEST(f.next() == "fail 1 device_lost");
  BOOST_TEST(f.last.message.find("no device came within") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_slot_may_serve_another_kind_later) {
  fleet f;
  f.slot(20, 1);
  f.bare(1, 2);
  BOOST_TEST(f.serve(20, 2) == "run 1@20");
  BOOST_TEST(f.ran(1, 20) == "done 1");
  BOOST_TEST(f.idle());
}

BOOST_AUTO_TEST_CASE(a_trial_that_lost_a_slot_goes_to_none_of_that_device) {
  fleet f;
  f.slot(20, 1, 7);
  f.slot(21, 1, 7);
  BOOST_TEST(f.bare(1, 1) == "run 1@20");
  BOOST_TEST(f.lose(20) == "fail 1 device_lost"); // its other slot is of the same device
  f.slot(22, 1, 8);
  BOOST_TEST(f.bare(2, 1) == "run 2@21");
  BOOST_TEST(f.lose(21) == "retry 2 device_lost@21, run 2@22");
  // The device comes again under new numbers.
  f.slot(23, 1, 7);
  BOOST_TEST(f.lose(22) == "quarantine 2 device_lost");
}

BOOST_AUTO_TEST_CASE(a_failure_of_one_slot_leaves_the_others_of_its_device) {
  fleet f;
  f.slot(20, 1, 7);
  f.slot(21, 1, 7);
  BOOST_TEST(f.bare(1, 1) == "run 1@20");
  BOOST_TEST(f.ran(1, 20, internal) == "retry 1 internal@20, run 1@21");
}

BOOST_AUTO_TEST_CASE(what_is_built_for_a_device_that_is_gone_does_not_hold_up_the_rest) {
  fleet f;
  f.slot(20, 1);
  f.slot(21, 2);
  for (job_id id = 1; id <= 6; ++id) f.whole(id, 1);
  for (job_id id = 1; id <= 6; ++id) f.built(id);
  BOOST_TEST(f.d.load().ready == 4u); // no more is built in advance
  BOOST_TEST(f.lose(20).find("build 6@10") != std::string::npos);
  f.built(6);
  BOOST_TEST(f.d.load().ready == 0u);
  BOOST_TEST(f.whole(11, 2) == "build 11@10");
  BOOST_TEST(f.built(11) == "run 11@21");
  BOOST_TEST(f.ran(11, 21) == "done 11");
  // It comes again: what was built for it goes on.
  BOOST_TEST(f.slot(22, 1) != "");
}

BOOST_AUTO_TEST_CASE(a_slot_that_rests_ends_what_it_has_and_gets_nothing_new) {
  fleet f;
  f.slot(20, 1);
  f.slot(21, 1);
  BOOST_TEST(f.bare(1, 1) == "run 1@20");
  BOOST_TEST(f.rest(20, true) == "");
  BOOST_TEST(f.bare(2, 1) == "run 2@21");
  BOOST_TEST(f.bare(3, 1) == "");
  BOOST_TEST(f.ran(1, 20) == "done 1");
  BOOST_TEST(f.rest(20, false) == "run 3@20");
}

// --- what is sent ahead ---

/// Slots 20, 21 … without a builder, each of which takes an order ahead and has had a short run (1, 2 …), of `device`.
struct ahead_world : world {
  explicit ahead_world(std::uint32_t slots = 1, std::uint32_t device = 0) : world(0, 0) {
    admit(slots, 1);
    for (std::uint32_t i = 0; i < slots; ++i) slot_ahead(20 + i, device);
    for (std::uint32_t i = 0; i < slots; ++i) bare(1 + i);
    now += std::chrono::milliseconds(10);
    for (std::uint32_t i = 0; i < slots; ++i) ran(1 + i, 20 + i);
  }
};

BOOST_AUTO_TEST_CASE(a_slot_whose_runs_are_short_has_its_next_one_ahead_and_begins_it_by_itself) {
  world w(0, 0);
  w.admit(1, 1);
  BOOST_TEST(w.slot_ahead(20) == "");
  BOOST_TEST(w.bare(1) == "run 1@20");
  BOOST_TEST(w.bare(2) == ""); // it is not known yet how long runs take
  w.now += std::chrono::milliseconds(10);
  BOOST_TEST(w.ran(1) == "done 1, run 2@20");
  BOOST_TEST(w.bare(3) == "ahead 3@20");
  BOOST_TEST(w.bare(4) == ""); // one, and no more
  BOOST_TEST(w.d.load().running == 1u);
  w.now += std::chrono::milliseconds(10);
  BOOST_TEST(w.ran(2) == "done 2, begin 3@20, ahead 4@20");
  BOOST_TEST(w.ran(3) == "done 3, begin 4@20");
  BOOST_TEST(w.ran(4) == "done 4");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_CASE(long_runs_and_slots_that_cannot_have_nothing_ahead) {
  world w(0, 1); // a slot that takes one at a time
  w.short_run(1, 20);
  BOOST_TEST(w.bare(2) == "run 2@20");
  BOOST_TEST(w.bare(3) == "");
  world l(0, 0);
  l.admit(1, 1);
  l.slot_ahead(20);
  l.bare(1);
  l.now += sec(2);
  BOOST_TEST(l.ran(1) == "done 1");
  BOOST_TEST(l.bare(2) == "run 2@20");
  BOOST_TEST(l.bare(3) == "");
}

BOOST_AUTO_TEST_CASE(a_free_slot_goes_before_one_that_is_busy) {
  world w(0, 0);
  w.admit(2, 1);
  w.slot_ahead(20);
  w.slot_ahead(21);
  w.short_run(1, 20);
  BOOST_TEST(w.bare(2) == "run 2@20");
  BOOST_TEST(w.bare(3) == "run 3@21");
  BOOST_TEST(w.bare(4) == "ahead 4@20");
}

BOOST_AUTO_TEST_CASE(its_clock_begins_with_its_run_and_not_with_its_wait) {
  ahead_world w;
  w.bare(2);
  w.bare(3);
  w.now += sec(4);
  BOOST_TEST(w.ran(2) == "done 2, begin 3@20");
  BOOST_TEST(w.wait(sec(4)) == "");
  BOOST_TEST(w.wait(sec(1)) == "stop 3@20"); // five seconds of its own
}

BOOST_AUTO_TEST_CASE(a_lost_slot_costs_what_ran_a_try_and_what_waited_nothing) {
  world w(0, 0);
  w.admit(1, 1);
  w.slot_ahead(20);
  w.slot_ahead(21);
  w.short_run(1, 20);
  w.admit(1, 1);
  BOOST_TEST(w.bare(2) == "run 2@20");
  BOOST_TEST(w.bare(3) == "ahead 3@20");
  BOOST_TEST(w.lose(20) == "retry 2 device_lost@20, again 3, run 3@21");
  BOOST_TEST(w.ran(3, 21) == "done 3, run 2@21");
  BOOST_TEST(w.lose(21) == "quarantine 2 device_lost");
}

BOOST_AUTO_TEST_CASE(a_slot_that_rests_gives_back_what_waits_there_and_that_is_no_fault) {
  const auto cancelled = failure_kind::cancelled;
  const auto ready = [](world& w) {
    w.slot_ahead(20);
    w.short_run(1, 20);
    w.bare(2);
    BOOST_TEST(w.bare(3) == "ahead 3@20");
    BOOST_TEST(w.rest(20, true) == "back 3@20");
    BOOST_TEST(w.rest(20, false) == "");
    BOOST_TEST(w.rest(20, true) == ""); // it was told
  };
  world w(0, 0); // it comes back, waits, and goes where it was
  w.admit(2, 1);
  ready(w);
  BOOST_TEST(w.ran(3, 20, cancelled) == "again 3");
  BOOST_TEST(w.ran(2) == "done 2");
  BOOST_TEST(w.rest(20, false) == "run 3@20");
  BOOST_TEST(w.ran(3) == "done 3");
  BOOST_TEST(w.idle());

  world b(0, 0); // it had begun, and was stopped: elsewhere, not a fault either
  b.admit(2, 1);
  ready(b);
  BOOST_TEST(b.ran(2) == "done 2, begin 3@20");
  BOOST_TEST(b.ran(3, 20, cancelled) == "again 3");
  BOOST_TEST(b.slot(21) == "run 3@21");
  BOOST_TEST(b.ran(3, 21) == "done 3");
  BOOST_TEST(b.idle());

  world e(0, 0); // or it has ended
  e.admit(2, 1);
  ready(e);
  BOOST_TEST(e.ran(3) == "done 3");
  BOOST_TEST(e.ran(2) == "done 2");
  BOOST_TEST(e.idle());

  world k(0, 0); // the slot keeps it
  k.admit(2, 1);
  ready(k);
  k.slot(21);
  BOOST_TEST(k.next() == "stop 2@20");
  BOOST_TEST(k.ran(2, 20) == "fail 2 run_timeout, begin 3@20");
  BOOST_TEST(k.next() == "stuck 3@20, fail 3 internal");
}

BOOST_AUTO_TEST_CASE(what_waits_ahead_is_called_back_by_name) {
  ahead_world w;
  w.bare(2, 1);
  BOOST_TEST(w.bare(3, 2) == "ahead 3@20");
  BOOST_TEST(w.cancel(2) == "back 3@20");
  BOOST_TEST(w.ran(3, 20, failure_kind::cancelled) == "fail 3 cancelled");
  BOOST_TEST(w.ran(2) == "done 2");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_CASE(behind_a_place_that_is_stuck_nothing_waits) {
  world w(0, 0);
  w.admit(1, 1);
  w.slot_ahead(20);
  w.slot_ahead(21);
  w.short_run(1, 20);
  w.admit(1, 1);
  w.bare(2);
  w.bare(3);
  BOOST_TEST(w.wait(sec(5)) == "stop 2@20");
  BOOST_TEST(w.wait(sec(10)) == "stuck 2@20, fail 2 run_timeout, back 3@20, again 3, run 3@21");
}

BOOST_AUTO_TEST_CASE(a_slot_that_owes_an_answer_gets_nothing_before_it_has_come) {
  ahead_world s; // given up with something ahead, which it still has when it answers late
  s.bare(2);
  BOOST_TEST(s.bare(3) == "ahead 3@20");
  BOOST_TEST(s.wait(sec(5)) == "stop 2@20");
  BOOST_TEST(s.wait(sec(10)) == "stuck 2@20, fail 2 run_timeout, back 3@20, again 3");
  BOOST_TEST(s.ran(2, 20) == "");
  BOOST_TEST(s.bare(4) == "");
  BOOST_TEST(s.bare(5) == ""); // it would be the third at once
  BOOST_TEST(s.ran(3, 20, failure_kind::cancelled) == "fail 3 internal, run 4@20, ahead 5@20");

  ahead_world k(2); // it keeps what it was to give back, and goes on with what it runs
  k.bare(3);
  k.bare(4);
  BOOST_TEST(k.bare(5, 2) == "ahead 5@20");
  BOOST_TEST(k.cancel(2) == "back 5@20");
  k.now += sec(4);
  BOOST_TEST(k.ran(4, 21) == "done 4");
  k.d.submit({6, 1, false, false, {}, {}}, k.now, k.out);
  BOOST_TEST(k.did() == "run 6@21"); // without a limit
  BOOST_TEST(k.wait(sec(1)) == "stop 3@20");
  BOOST_TEST(k.wait(sec(5)) == "fail 5 cancelled");
  BOOST_TEST(k.ran(3, 20, failure_kind::cancelled) == "fail 3 run_timeout");
  BOOST_TEST(k.bare(7) == "");
  BOOST_TEST(k.ran(5, 20) == "run 7@20"); // it had begun it: nobody waits for that
}

BOOST_AUTO_TEST_CASE(what_others_have_ahead_at_a_device_comes_back_where_one_client_alone_is_served) {
  const auto cancelled = failure_kind::cancelled;
  ahead_world w(2, 7);
  w.bare(3);
  w.bare(4);
  BOOST_TEST(w.bare(5, 1) == "ahead 5@20");
  BOOST_TEST(w.bare(6, 0) == "ahead 6@21"); // the reference's own
  BOOST_TEST(w.hold(8, 0) == "");           // of another device
  BOOST_TEST(w.hold(7, 0) == "back 5@20");
  BOOST_TEST(w.hold(7, 0) == ""); // it was told
  BOOST_TEST(w.ran(5, 20, cancelled) == "again 5");
  BOOST_TEST(w.ran(3, 20) == "done 3");
  BOOST_TEST(w.ran(4, 21) == "done 4, begin 6@21");
  BOOST_TEST(w.ran(6, 21) == "done 6");
  BOOST_TEST(w.hold(7, std::nullopt) == "run 5@20");

  ahead_world all; // the same for all places
  all.bare(2);
  BOOST_TEST(all.bare(3, 2) == "ahead 3@20");
  all.d.hold_all_but(1, all.now, all.out);
  BOOST_TEST(all.did() == "back 3@20");
}

BOOST_AUTO_TEST_CASE(a_device_that_may_run_fewer_at_once_does_so_when_its_runs_end) {
  ahead_world w(3, 7);
  for (job_id id = 4; id <= 6; ++id) w.bare(id);
  BOOST_TEST(w.bare(7) == "ahead 7@20");
  BOOST_TEST(w.bare(8) == "ahead 8@21");
  BOOST_TEST(w.limit(7, 1) == "back 7@20"); // 22 is one fewer by itself
  BOOST_TEST(w.bare(9) == "");              // nothing more ahead either
  BOOST_TEST(w.ran(7, 20, failure_kind::cancelled) == "again 7");
  BOOST_TEST(w.ran(6, 22) == "done 6");
  BOOST_TEST(w.ran(4, 20) == "done 4");
  BOOST_TEST(w.ran(5, 21) == "done 5, begin 8@21, ahead 7@21");
  BOOST_TEST(w.d.running_on(7) == 1u);
}

// --- whoever asks was away ---

BOOST_AUTO_TEST_CASE(what_an_absence_has_lost_is_tried_again_there_too_as_if_nothing_had_been) {
  fleet f;
  f.slot(20, 1, 7);
  f.slot(21, 1, 8);
  BOOST_TEST(f.bare(1, 1) == "run 1@20");
  // On both, one after the other, before either is there again.
  BOOST_TEST(f.lose(20, 1) == "retry 1 device_lost@20, run 1@21");
  BOOST_TEST(f.lose(21, 1) == "retry 1 device_lost@21");
  BOOST_TEST(f.slot(22, 1, 7) == "run 1@22"); // the device that it was lost with
  BOOST_TEST(f.lose(22) == "retry 1 device_lost@22");
  BOOST_TEST(f.slot(23, 1, 8) == "run 1@23");
  BOOST_TEST(f.lose(23) == "quarantine 1 device_lost"); // two that count
}

BOOST_AUTO_TEST_CASE(absences_excuse_a_trial_so_many_times_and_no_more) {
  world w(0, 0);
  place_id p = 20;
  w.slot(p);
  w.bare(1);
  for (std::uint64_t absence = 1; absence <= 3; ++absence, ++p) {
    BOOST_TEST(w.lose(p, absence) == "retry 1 device_lost@" + std::to_string(p));
    BOOST_TEST(w.slot(p + 1) == "run 1@" + std::to_string(p + 1));
  }
  BOOST_TEST(w.lose(p, 4) == "retry 1 device_lost@23"); // counts
  w.slot(24);
  BOOST_TEST(w.lose(24, 5) == "quarantine 1 device_lost");
}

BOOST_AUTO_TEST_CASE(nobody_is_late_by_an_absence_of_who_waits) {
  world w(0, 2);
  w.bare(1);
  w.bare(2);
  w.now += sec(2);
  w.ran(2, 21);
  w.now += sec(60);
  w.d.was_away(w.now);
  BOOST_TEST(w.wait({}) == "");
  BOOST_TEST(w.ran(1) == "done 1"); // it had come meanwhile
  BOOST_TEST(w.idle());
  w.bare(3);
  w.now += sec(60);
  w.d.was_away(w.now);
  BOOST_TEST(w.wait(sec(9)) == "");
  BOOST_TEST(w.wait(sec(1)) == "stop 3@20"); // or it has not, and is late
  BOOST_TEST(w.ran(3) == "fail 3 run_timeout");
  w.lose(20);
  w.lose(21);
  w.bare(4);
  w.now += sec(60);
  w.d.was_away(w.now);
  BOOST_TEST(w.wait(sec(9)) == "");
  BOOST_TEST(w.wait(sec(1)) == "fail 4 device_lost");
}

// --- shares ---

BOOST_AUTO_TEST_CASE(an_owner_has_no_more_at_places_than_its_limit_and_others_go_on) {
  world w(0, 3);
  w.terms(1, {.owner = 7, .limit = 1});
  w.terms(2, {.owner = 7, .limit = 1});
  BOOST_TEST(w.bare(1, 1) == "run 1@20");
  BOOST_TEST(w.bare(2, 1) == "");
  BOOST_TEST(w.bare(3, 2) == ""); // the same owner
  BOOST_TEST(w.bare(4, 3) == "run 4@21");
  BOOST_REQUIRE_EQUAL(w.d.shares().size(), 1u);
  BOOST_TEST(w.d.shares()[0].busy == 1u);
  BOOST_TEST(w.d.shares()[0].clients == 2u);
  w.now += sec(2);
  BOOST_TEST(w.ran(1) == "done 1, run 3@20");
  BOOST_TEST(w.d.shares()[0].used_s == 2.0);
  BOOST_TEST(w.terms(2, {.owner = 7, .limit = 2}) == "run 2@22"); // it is the owner's
  BOOST_TEST(w.ran(3) == "done 3");
  w.ran(2, 22);
  w.d.forget(1);
  w.d.forget(2);
  BOOST_TEST(w.d.shares().empty());
}

BOOST_AUTO_TEST_CASE(by_time_a_client_of_long_runs_does_not_get_more_than_one_of_short_ones) {
  dispatcher_options o;
  o.by_time = true;
  world w(0, 1, o);
  double long_s = 0, short_s = 0;
  job_id next = 1;
  std::map<job_id, std::uint64_t> whose;
  const auto submit = [&](std::uint64_t client) {
    whose[next] = client;
    return w.bare(next++, client);
  };
  std::string did;
  for (int i = 0; i < 3; ++i) did += submit(1) + submit(2);
  job_id now_running = 1;
  for (int i = 0; i < 400; ++i) {
    const auto client = whose[now_running];
    w.now += client == 1 ? sec(4) : sec(1);
    (client == 1 ? long_s : short_s) += client == 1 ? 4 : 1;
    auto what = w.ran(now_running);
    what += submit(client);
    const auto at = what.find("run ");
    BOOST_REQUIRE(at != std::string::npos);
    now_running = std::stoull(what.substr(at + 4));
  }
  BOOST_TEST(std::abs(long_s - short_s) < 0.05 * (long_s + short_s));
}

BOOST_AUTO_TEST_CASE(who_is_refused_ends_wherever_it_is_and_is_not_tried_again) {
  world w(0, 2);
  w.admit(1, 1);
  w.bare(1);
  w.bare(2);
  BOOST_TEST(w.refuse(2) == "fail 2 device_lost");
  BOOST_TEST(w.refuse(1) == "stop 1@20");
  BOOST_TEST(w.ran(1, 20, failure_kind::cancelled) == "fail 1 device_lost");
  BOOST_TEST(w.refuse(99) == "");
  BOOST_TEST(w.idle());
}

BOOST_AUTO_TEST_SUITE_END()
