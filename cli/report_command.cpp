#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/render.hpp"
#include "cli/store_access.hpp"
#include "web/model.hpp"
#include "web/report.hpp"
#include "web/stored.hpp"

#include <algorithm>
#include <fstream>
#include <ostream>

namespace attune::cli {

namespace {

/// The trials of a session whose samples, messages and conditions go into the file; the columns have all.
constexpr std::size_t lives_most = 2000;

int list_sessions(const storage::store& in, output& io) {
  const auto all = web::all_sessions(in);
  if (!all) return io.fail(all.err());
  if (io.json()) {
    json list = json::array();
    for (const auto& s : *all)
      list.push_back({{"session", s.id},
                      {"task", s.task_name},
                      {"strategy", s.strategy},
                      {"seed", s.seed},
                      {"trials", s.steps},
                      {"started", rfc3339(s.started)},
                      {"searched_s", seconds(s.spent)}});
    io.document({{"sessions", std::move(list)}});
  } else {
    std::vector<std::vector<std::string>> rows{{"session", "task", "strategy", "seed", "trials", "started"}};
    for (const auto& s : *all)
      rows.push_back({s.id.substr(0, 12), s.task_name, s.strategy, std::to_string(s.seed), std::to_string(s.steps),
                      rfc3339(s.started)});
    if (!all->empty()) io.out() << table(rows);
  }
  if (all->empty()) io.message("no session is in the store; attune tune makes one");
  return all->empty() ? exit_code::no_result : exit_code::done;
}

} // namespace

int run_report(const report_options& options, const std::string& folder, output& io) {
  const auto store = open_to_read(folder);
  if (!store) return io.fail(store.err());
  if (!*store) return io.fail({errc::store_unusable, "there is no store yet; attune tune makes one", folder});
  const auto& in = **store;
  if (options.sessions.empty()) return list_sessions(in, io);

  std::vector<storage::session_entry> chosen;
  for (const auto& word : options.sessions) {
    auto found = web::find_sessions(in, word);
    if (!found) return io.fail(found.err());
    for (auto& s : *found) {
      const bool there = std::any_of(chosen.begin(), chosen.end(), [&](const auto& c) { return c.id == s.id; });
      if (!there) chosen.push_back(std::move(s));
    }
  }
  web::model shown(nanoseconds(0), chosen.front().started);
  std::string lives, title;
  std::uint64_t trials = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto number = static_cast<actors::session_number>(i + 1);
    if (auto added = web::add_stored(shown, number, in, chosen[i]); !added) return io.fail(added.err());
    auto some = web::stored_lives(in, number, chosen[i], lives_most);
    if (!some) return io.fail(some.err());
    if (!lives.empty() && !some->empty()) lives += ',';
    lives += *some;
    trials += shown.sessions().at(number).proposed;
    if (title.find(chosen[i].task_name) == std::string::npos)
      title += (title.empty() ? "" : ", ") + chosen[i].task_name;
  }
  const auto figures = web::store_json(in);
  if (!figures) return io.fail(figures.err());

  std::ofstream file;
  if (options.output != "-") {
    file.open(options.output, std::ios::binary);
    if (!file) return io.fail({errc::io, "cannot be written", options.output});
  }
  std::ostream& to = options.output == "-" ? io.out() : file;
  web::write_report(to, "Attune: " + title, shown, "{\"store\":" + *figures + ",\"lives\":{" + lives + "}}");
  to.flush();
  if (!to) return io.fail({errc::io, "cannot be written", options.output});
  if (io.json())
    io.document({{"file", options.output}, {"sessions", chosen.size()}, {"trials", trials}});
  else
    io.message(options.output + ": " + std::to_string(chosen.size()) +
               (chosen.size() == 1 ? " session, " : " sessions, ") + std::to_string(trials) + " trials");
  return exit_code::done;
}

command_spec report_command() {
  struct words {
    std::vector<std::string> sessions;
    std::string output;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"report", "Write sessions as one HTML file that needs nothing else"};
  c.places("SESSION", "", w->sessions, "Sessions, by the beginning of their ids, or tasks by name");
  c.value("-o,--output", "FILE", w->output, "The file to write");
  c.more = R"(Without a session: lists those that there are. The file is the dashboard with its data in
it: it can be mailed, and opened without a network.

  attune report
  attune report gemm -o gemm.html
  attune report 3f2a91 77c0de -o compared.html)";
  c.read = [w](const typed_line& line) -> reading {
    if (w->sessions.empty() != w->output.empty())
      throw usage_fault{w->output.empty() ? "--output FILE is needed, for the report of these sessions"
                                          : "which sessions? attune report lists them"};
    if (line.json && w->output == "-") throw usage_fault{"--json and - exclude each other: both want standard output"};
    return report_options{w->sessions, w->output};
  };
  return c;
}

} // namespace attune::cli
