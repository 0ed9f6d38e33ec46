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
  web::model_cursor whole;
  web::write_report(to, "Attune: " + title, shown.json(whole, nanoseconds(0)),
                    "{\"store\":" + *figures + ",\"lives\":{" + lives + "}}");
  to.flush();
  if (!to) return io.fail({errc::io, "cannot be written", options.output});
  if (io.json())
    io.document({{"file", options.output}, {"sessions", chosen.size()}, {"trials", trials}});
  else
    io.message(options.output + ": " + std::to_string(chosen.size()) +
               (chosen.size() == 1 ? " session, " : " sessions, ") + std::to_string(trials) + " trials");
  return exit_code::done;
}

} // namespace attune::cli
