// The pages of docs/: what they tell a person to write is written, what they tell a person to type is run, as it
// stands. A block whose first line is "```LANGUAGE FILE" is a file; "```sh" is a script that must succeed, in the
// page's folder.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace attune::testing;

namespace {

struct block {
  std::string file; ///< empty: a script
  std::string text;
  std::size_t line = 0;
};

std::vector<block> blocks_of(const std::string& page) {
  std::vector<block> out;
  bool inside = false, wanted = false;
  std::size_t number = 0;
  for (const auto& line : read_lines(page)) {
    ++number;
    if (!line.starts_with("```")) {
      if (inside && wanted) out.back().text += line + "\n";
      continue;
    }
    inside = !inside;
    if (!inside) continue;
    const auto blank = line.find(' ');
    const bool script = line == "```sh";
    wanted = script || blank != std::string::npos;
    if (wanted) out.push_back({script ? "" : line.substr(blank + 1), "", number});
  }
  BOOST_REQUIRE_MESSAGE(!inside, page + ": a block is not closed");
  return out;
}

std::vector<std::string> pages() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(ATTUNE_SOURCE_DIR) + "/docs"))
    if (entry.path().extension() == ".md") out.push_back(entry.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(the_manual)

BOOST_DATA_TEST_CASE(every_command_of_a_page_works, boost::unit_test::data::make(pages()), page) {
  const std::string path = std::string(ATTUNE_SOURCE_DIR) + "/docs/" + page + ".md";
  const scenario s;
  const auto program = std::filesystem::path(attune_program());
  const char* search = std::getenv("PATH");
  std::filesystem::create_directories(s.path("home"));
  for (const auto& b : blocks_of(path)) {
    if (!b.file.empty()) {
      s.write(b.file, b.text);
      continue;
    }
    process shell({"/bin/sh", "-e", "-c", b.text}, s.folder(),
                  {{"PATH", program.parent_path().string() + ":" + (search == nullptr ? "" : search)},
                   {"ATTUNE_STORE", s.store()},
                   {"HOME", s.path("home")}});
    const auto end = shell.wait(std::chrono::minutes(4));
    BOOST_TEST(end.exit == 0, path << ":" << b.line << ":\n" << b.text << end.told());
  }
}

/// What a page says to be from a file stands there, line by line, however far indented.
BOOST_AUTO_TEST_CASE(what_is_from_an_example_stands_in_it) {
  const auto stripped = [](std::string line) {
    const auto first = line.find_first_not_of(' ');
    return first == std::string::npos ? std::string() : line.substr(first);
  };
  std::size_t excerpts = 0;
  for (const auto& page : pages()) {
    const auto lines = read_lines(std::string(ATTUNE_SOURCE_DIR) + "/docs/" + page + ".md");
    for (std::size_t i = 0; i + 2 < lines.size(); ++i) {
      const std::string mark = "<!-- from ";
      if (!lines[i].starts_with(mark)) continue;
      ++excerpts;
      const auto file = lines[i].substr(mark.size(), lines[i].find(" -->") - mark.size());
      std::vector<std::string> source;
      for (auto& l : read_lines(std::string(ATTUNE_SOURCE_DIR) + "/" + file)) source.push_back(stripped(l));
      BOOST_TEST(lines[i + 1].starts_with("```cpp"), page << ": " << lines[i + 1]);
      std::vector<std::string> wanted;
      for (i += 2; i < lines.size() && lines[i] != "```"; ++i) wanted.push_back(stripped(lines[i]));
      BOOST_TEST((std::search(source.begin(), source.end(), wanted.begin(), wanted.end()) != source.end()),
                 page << ": " << file << " does not hold: " << (wanted.empty() ? "" : wanted.front()));
    }
  }
  BOOST_TEST(excerpts >= 6u);
}

/// The references leave nothing out.
BOOST_AUTO_TEST_CASE(the_references_are_whole) {
  const auto docs = std::string(ATTUNE_SOURCE_DIR) + "/docs/";
  const auto messages = read_file(docs + "messages.md"), events = read_file(docs + "events.md"),
             commands = read_file(docs + "commands.md"), index = read_file(docs + "README.md");
  for (const auto& line : read_lines(std::string(ATTUNE_SOURCE_DIR) + "/actors/interfaces.hpp"))
    if (line.starts_with("using ") && line.find("_actor =") != std::string::npos) {
      const auto name = line.substr(6, line.find(" =") - 6);
      BOOST_TEST((messages.find("`" + name + "`") != std::string::npos), "messages.md does not name " << name);
    }
  const auto source = read_file(std::string(ATTUNE_SOURCE_DIR) + "/actors/monitor.cpp");
  for (auto at = source.find("event_kind::"); at != std::string::npos; at = source.find("event_kind::", at + 1)) {
    const auto end = source.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at + 12);
    const auto kind = source.substr(at + 12, end - at - 12);
    BOOST_TEST((events.find("`" + kind + "`") != std::string::npos), "events.md does not name " << kind);
  }
  const scenario s;
  const auto help = s.attune({"--help"}).out;
  for (auto at = help.find("\n  ", help.find("Subcommands:")); at != std::string::npos;
       at = help.find("\n  ", at + 1)) {
    const auto name = help.substr(at + 3, help.find(' ', at + 3) - at - 3);
    if (!name.empty())
      BOOST_TEST((commands.find("`attune " + name) != std::string::npos), "commands.md does not name " << name);
  }
  for (const auto& page : pages())
    if (page != "README")
      BOOST_TEST((index.find("(" + page + ".md") != std::string::npos), "the index misses " << page);
}

/// A page that is linked is there.
BOOST_AUTO_TEST_CASE(every_link_leads_somewhere) {
  for (const auto& page : pages()) {
    std::string text;
    bool code = false;
    for (const auto& line : read_lines(std::string(ATTUNE_SOURCE_DIR) + "/docs/" + page + ".md"))
      if (line.starts_with("```"))
        code = !code;
      else if (!code)
        text += line + "\n";
    for (auto at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
      auto to = text.substr(at + 2, text.find(')', at) - at - 2);
      to = to.substr(0, to.find('#'));
      if (to.empty() || to.starts_with("http")) continue;
      BOOST_TEST(std::filesystem::exists(std::string(ATTUNE_SOURCE_DIR) + "/docs/" + to), page << ".md: " << to);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
