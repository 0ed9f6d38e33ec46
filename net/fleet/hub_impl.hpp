// What the parts of the hub share: hub.cpp (devices, administrators, what the engine tells), hub_jobs.cpp (what clients
// submit).
#pragma once

#include "actors/messages.hpp"
#include "net/fleet/candidate_bans.hpp"
#include "net/fleet/hub.hpp"
#include "net/fleet/job.hpp"
#include "net/timer.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace attune::net::fleet {

/// One task of a job, under way.
struct running {
  task_ptr of;
  std::optional<actors::session> session; ///< none: it shares a budget
  actors::tuner_status last;
  std::shared_ptr<const actors::tuning_report> report;
  std::optional<std::uint64_t> trials;
  std::optional<nanoseconds> unserved; ///< since when no device serves it
};

struct follower {
  client_id who = 0;
  std::uint64_t request = 0;
  bool output = false; ///< what runs say is wanted
};

/// Who hears what a task's runs say.
struct audience {
  std::vector<follower> of;
  nanoseconds since{0}; ///< of the present second
  std::size_t sent = 0;
  std::uint64_t left_out = 0;
};

struct open_job {
  explicit open_job(job_folder w) : where(std::move(w)) {}
  job_folder where;
  std::vector<task_spec> specs;
  std::optional<budget_spec> budget; ///< that they share
  std::optional<actors::joint_session> whole;
  std::vector<running> tasks;   ///< empty: it waits for its devices
  std::vector<task_ptr> packed; ///< those that agents can be told of
  nanoseconds since{0};         ///< that it waits, or is under way
  nanoseconds patience{0};      ///< of its waiting
  std::vector<follower> followers;
  std::string said;        ///< the last Progress
  std::string end_message; ///< why it was ended before its time

  /// Whose it is: by the token, else by the name that was given.
  std::string owner() const {
    const auto& s = where.submission();
    return s.owner().empty() ? "~" + std::string(s.client()) : std::string(s.owner());
  }
  void cancel() {
    if (whole) whole->cancel();
    for (auto& t : tasks)
      if (t.session) t.session->cancel();
  }
};

struct hub::impl : std::enable_shared_from_this<hub::impl> {
  impl(asio::io_context& l, hub_options o) : loop(l), options(std::move(o)) {}

  asio::io_context& loop;
  hub_options options;
  std::string jobs_folder;
  std::shared_ptr<fleet_server> server;
  std::unique_ptr<actors::engine> engine;

  // The loop's thread.
  struct offered_slots {
    std::vector<std::uint64_t> numbers; ///< the engine's
    /// place_info::absence of all of them.
    std::shared_ptr<std::atomic<std::uint64_t>> absence = std::make_shared<std::atomic<std::uint64_t>>(0);
  };
  std::unordered_map<agent_id, offered_slots> slots;
  bool closing = false;

  std::mutex lock; ///< guards what follows
  std::condition_variable news;
  std::deque<std::function<void()>> todo;
  bool stopping = false;
  std::map<std::string, description> ready; ///< devices that get work, by name
  std::unordered_map<const task*, std::shared_ptr<const task_package>> packages;
  std::map<std::string, std::set<std::string>> asked; ///< by the form of a target: what its tasks ask of a device
  std::map<const task*, std::vector<std::string>> messages;
  std::map<const task*, std::set<std::string>> said;
  std::map<const task*, audience> hearers;
  std::vector<std::string> job_lines, away;
  std::vector<wire::v1::ClientShare> clients;
  std::uint64_t waiting = 0;
  std::uint32_t unserved = 0;
  std::optional<candidate_bans> bans;

  // The desk's thread.
  std::map<std::string, open_job> jobs;
  std::deque<std::string> ended_names;         ///< of jobs, the longest ended first
  std::map<std::string, std::uint64_t> owners; ///< their numbers for the engine
  std::uint64_t next_owner = 1;
  nanoseconds looked{0}; ///< when the jobs were last looked at
  std::thread desk;
  std::unique_ptr<timer> looks; ///< where it has no thread

  nanoseconds now() const { return options.wire.clock->monotonic(); }
  void say(const std::string& text);
  /// With the lock held.
  const std::set<std::string>& asked_of(const std::string& target_form) const;
  void post(std::function<void()> what);

  // --- devices, on the loop's thread ---

  void came(agent_id who, const description& what);
  void offer(agent_id who, const description& what);
  void went(agent_id who, std::uint64_t absence);
  void changed(agent_id who, const description& what, bool on);
  void refresh();
  /// What there is, for who is served by none of it. With the lock held.
  std::string no_service(const arguments& target, const std::vector<const description*>& there) const;
  /// What a run has said, to those who want to hear it.
  void output(const trial& what, const std::string& place, const wire::v1::Output& heard);
  std::shared_ptr<const task_package> package(const task_ptr& of);

  // --- clients ---

  void fail(client_id who, std::uint64_t request, const error& why);
  void asked_by(client_id who, std::uint64_t request, const wire::v1::Envelope& message);
  void list(wire::v1::Devices& out);
  void manage(client_id who, std::uint64_t request, const wire::v1::Manage& what);

  // --- candidates, on the desk's thread ---

  void ban_candidate(client_id who, std::uint64_t request, const wire::v1::Manage& what, const std::string& by);
  /// Who is banned now is not run, and stopped where it runs.
  void refuse();

  // --- jobs, on the desk's thread: hub_jobs.cpp ---

  /// Goes on with what was under way when the last hub ended.
  void take_up_jobs();
  schedulers::share_terms terms_of(const open_job& j);
  void set_audience(const open_job& j);
  /// Remembers that a job has ended, and forgets those that ended long ago.
  void keep_ended(const std::string& name);
  void submit(client_id who, std::uint64_t request, const wire::v1::Submit& what);
  void follow(client_id who, std::uint64_t request, const wire::v1::Follow& what);
  void cancel(client_id who, std::uint64_t request, const std::string& name);
  /// It cannot begin: its followers hear why, and so does who asks later.
  void give_up(open_job& j, const error& why);
  void finish(open_job& j, const wire::v1::Ended& ended);
  /// Where the tasks run, as far as there are devices for all of them.
  result<std::vector<job_folder::decision>> decide(const open_job& j);
  /// True where it stays; false where it is over.
  bool begin(open_job& j);
  /// It cannot begin whole: what has begun ends first.
  bool stay_or_give_up(open_job& j, const error& why);
  result<actors::tuning_request> prepare(open_job& j, const task_spec& spec, const job_folder::decision& where);
  wire::v1::Envelope progress_of(open_job& j);
  bool served(const running& t);
  /// Looks at one job; false where it is over.
  bool look(open_job& j);
  void forget_client(client_id who);
  /// Until the jobs are looked at again where nothing is asked.
  nanoseconds pause() const;
  void work();
  void look_again();
  void turn();
  /// The clients that have jobs, and what they have of the slots. Owners without a job are forgotten.
  std::vector<wire::v1::ClientShare> clients_now();

  /// On the loop's thread, from another one; returns when it is done.
  void on_loop(const std::function<void()>& what);

  // --- what happens, on the engine's thread ---

  void note(const actors::event_batch& batch);
};

} // namespace attune::net::fleet
