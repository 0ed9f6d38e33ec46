#pragma once

#include "core/clock.hpp"
#include "core/spec.hpp"
#include "net/token.hpp"
#include "net/tokens.hpp"

#include <sys/resource.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace attune::cli {

/// How a hub is reached.
struct hub_access {
  std::string address;    ///< HOST:PORT; empty: no hub
  std::string token_file; ///< who one is; empty: nobody in particular
  std::string ca_file;    ///< PEM, of those who may have signed the hub's certificate; empty: the token's pin says
  bool plain = false;     ///< without TLS
};

/// What a person typed, read and checked as far as that needs no file.
struct tune_options {
  std::vector<std::string> specs;
  std::optional<std::uint64_t> trials;
  std::optional<nanoseconds> time;
  std::optional<std::string> strategy;
  std::optional<std::uint64_t> seed;
  std::optional<bool> near; ///< --reuse near, or exact
  std::optional<how_many> slots, builders;
  bool remeasure = false, dry_run = false, quiet = false;
  bool offline = false;                 ///< predicts, measures nothing
  hub_access hub;                       ///< that has it measured; none: this machine does
  std::string attach;                   ///< the job at the hub that is to be followed, in place of specs
  int priority = 0;                     ///< among this client's jobs at the hub
  bool verbose = false;                 ///< shows what runs at the hub say
  std::optional<std::string> policy;    ///< the tasks share `trials` and `time`, dealt out by this
  std::string svg;                      ///< where it is drawn how their total fell; empty: nowhere
  std::optional<std::string> dashboard; ///< the address that it is served at; empty: one of this machine's own
  bool json_log = false;                ///< messages and events as JSON lines
  std::string log_level = "info";
};

struct compare_options {
  std::string what; ///< a spec, or a recorded space
  std::string task; ///< of several
  std::vector<std::string> strategies;
  std::optional<std::uint64_t> trials;
  std::uint64_t seeds = 10, seed = 1;
  std::string output; ///< the report; empty: none
};

struct dashboard_options {
  std::string listen; ///< as web::parse_listen reads it
};

struct report_options {
  std::vector<std::string> sessions; ///< none: all are listed
  std::string output;
};

struct trace_options {
  std::string session;
  std::string output; ///< `-` is standard output
};

struct space_options {
  enum class what : std::uint8_t { summary, count, list, sample, index, contains };
  std::string spec;
  std::string task; ///< of several; empty: all
  what show = what::summary;
  std::uint64_t sample = 0, seed = 1;
  std::string index;    ///< decimal digits; may pass 64 bits
  std::string contains; ///< a JSON object
};

struct best_options {
  enum class form : std::uint8_t { text, json, env, args, header, cmake };
  std::string spec;
  std::string task;
  std::uint64_t top = 1;
  std::optional<form> format;
  std::optional<std::string> target;
  bool imported = false; ///< of what was imported, in place of what was measured here
  bool nearest = false;  ///< where there is none: that of the most similar task
};

struct history_options {
  std::string spec;
  std::string task;
};

struct replay_command_options {
  std::string recorded;
  std::vector<std::string> strategies{"auto"};
  std::uint64_t trials = 200, seeds = 20, seed = 1;
  std::uint32_t workers = 1;
  std::string svg; ///< where the curves are drawn; empty: nowhere
};

struct db_options {
  enum class what : std::uint8_t { stats, verify, compact, backup, forget };
  what action = what::stats;
  std::string folder; ///< of the backup
  // What is to be forgotten, and what of it stays.
  std::string task, target, source; ///< empty: whichever
  std::optional<nanoseconds> older_than;
  std::size_t keep_best = 0, boundary = 0, reservoir = 0;
  bool cache_only = false; ///< what is measured again, not what was recorded
  bool dry_run = false;
};

struct import_command_options {
  std::vector<std::string> files; ///< `-` is standard input
  std::string format = "auto";
  std::string task;    ///< the workload's name where a format does not say it; empty: the file's name
  bool stated = false; ///< rank by the value that a file states even where it has samples
};

struct export_command_options {
  std::string file; ///< `-` is standard output
  std::string format;
  std::string task; ///< its name, or the beginning of its key; empty: all
  bool best = false;
};

struct token_options {
  enum class what : std::uint8_t { create, list, revoke };
  what action = what::list;
  net::token_role role = net::token_role::agent;
  std::string name;
  std::string id;        ///< of the one to revoke
  std::string output;    ///< the file that a new one goes into, for its owner alone; empty: standard output
  bool unpinned = false; ///< it does not say by what the hub is known
  net::token_share share;
};

struct bundle_options {
  enum class form : std::uint8_t { bundle, header, cmake };
  std::vector<std::string> specs;
  std::string output;
  form format = form::bundle;
  std::vector<std::string> targets; ///< empty: each spec's own
  bool all_targets = false;
};

struct doctor_options {
  bool quick = false; ///< look only
  nanoseconds time = std::chrono::seconds(5);
};

struct hub_options {
  std::string listen; ///< ADDR:PORT
  how_many builders;
  std::optional<std::uint64_t> memory;  ///< bytes of results that are kept at hand
  std::string certificate, key;         ///< the user's own, PEM; empty: one made at the first start
  bool plain = false;                   ///< lets everybody do without TLS
  bool no_tokens = false;               ///< lets everybody in
  std::optional<std::string> dashboard; ///< the address that it is served at; empty: one of this machine's own
};

struct agent_options {
  hub_access hub;
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels; ///< `device` among them where it was given
  std::uint32_t slots = 1;
  std::string cache; ///< the folder for files that came; empty: one for this process
  bool confine = false, systemd = false;
  std::string user;                           ///< of what runs; empty: the agent's
  std::vector<std::pair<int, rlim_t>> limits; ///< RLIMIT_… of each process
};

struct devices_options {
  enum class what : std::uint8_t { list, drain, undrain, ban, unban, cancel, ban_config, unban_config };
  hub_access hub;
  what action = what::list;
  std::string name;          ///< of the device, the job, or a candidate's task (empty: whichever)
  std::string configuration; ///< of a candidate, as it is shown
};

/// `agents`: has agents placed by a cluster's own engine.
struct agents_options {
  enum class what : std::uint8_t { up, down };
  what action = what::up;
  hub_access hub;
  std::string slurm;           ///< further options of sbatch, as a shell splits them
  std::string name = "attune"; ///< of these agents among others
  std::uint32_t least = 0, most = 1;
  nanoseconds idle = std::chrono::seconds(60); ///< then an agent beyond the least is given back
  std::string agent_token;                     ///< the file of the agents' token; empty: they show none
  std::vector<std::string> agent;              ///< further options of each agent
  bool once = false;                           ///< places the least, and ends
};

struct init_options {
  std::string what;    ///< a source file or a T1 file; empty: a command
  std::string command; ///< what is run, with {name} where a value goes; empty: there is a file
  std::string task;    ///< empty: by the file's or the command's name
  std::string output;  ///< `-` is standard output; empty: beside the file, or in this folder
};

using any_options =
    std::variant<tune_options, space_options, token_options, best_options, history_options, replay_command_options,
                 db_options, bundle_options, import_command_options, export_command_options, doctor_options,
                 hub_options, agent_options, agents_options, devices_options, compare_options, dashboard_options,
                 report_options, trace_options, init_options>;

struct command_line {
  bool json = false;
  std::string store; ///< the folder, resolved
  any_options command;
};

/// What the program says at once instead: --help and --version (code 0), or why the line is wrong (code 2).
struct early_end {
  int code = 0;
  std::string out, err;
  bool json = false; ///< --json stood on the line
};

/// How the process's environment is asked; tests give their own.
using environment = std::function<const char*(const char*)>;

/// Reads the arguments behind the program's name. Every error is one line with the nearest known word.
std::variant<command_line, early_end> parse_command_line(const std::vector<std::string>& arguments,
                                                         const environment& env);

/// Where the store is when --store does not say: $ATTUNE_STORE, else $XDG_DATA_HOME/attune (only where absolute, as its
/// specification wants), else ~/.local/share/attune; empty where not even a home is known.
std::string default_store(const environment& env);

} // namespace attune::cli
