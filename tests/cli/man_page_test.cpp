#include "cli/man_page.hpp"
#include "core/text.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <set>

using namespace attune;
using namespace attune::cli;

namespace {

void each_command(const command_spec& c, const std::string& name,
                  const std::function<void(const command_spec&, const std::string&)>& visit) {
  visit(c, name);
  for (const auto& sub : c.below) each_command(sub, name + "-" + sub.name, visit);
}

std::string escaped_hyphens(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '-' ? std::string("\\-") : std::string(1, c);
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(man_pages_of_commands)

BOOST_AUTO_TEST_CASE(every_command_has_a_page_with_all_its_options) {
  const auto program = program_spec();
  std::map<std::string, std::string> pages;
  for (auto& [file, text] : man_pages(program)) BOOST_TEST(pages.emplace(file, text).second, file);
  std::size_t commands = 0;
  each_command(program, "attune", [&](const command_spec& c, const std::string& name) {
    ++commands;
    const auto at = pages.find(name + ".1");
    BOOST_REQUIRE_MESSAGE(at != pages.end(), name);
    for (const auto* list : {&c.options}) {
      for (const auto& o : *list)
        for (const auto& one : o.each_name())
          BOOST_TEST((at->second.find("\\fB" + escaped_hyphens(one) + "\\fR") != std::string::npos), name << one);
    }
    for (const auto& o : common_options(c))
      BOOST_TEST((at->second.find(escaped_hyphens(o.each_name().back())) != std::string::npos), name << o.names);
    for (const auto& sub : c.below)
      BOOST_TEST((at->second.find(escaped_hyphens(sub.name)) != std::string::npos), name << sub.name);
    BOOST_TEST(!c.about.empty());
    // A group only groups; a command does something.
    BOOST_TEST(bool(c.read) == c.below.empty(), name);
  });
  BOOST_TEST(pages.size() == commands);
}

BOOST_AUTO_TEST_CASE(no_line_of_text_is_taken_for_a_request) {
  static const std::set<std::string> requests{"TH", "SH", "TP", "PP", "RS", "RE", "EX", "EE", "B", "I", "BR"};
  for (const auto& [file, text] : man_pages(program_spec())) {
    int examples = 0;
    for (const auto line : split(text, '\n')) {
      if (line.starts_with("'")) BOOST_ERROR(file << ": " << line);
      if (!line.starts_with('.')) continue;
      const std::string word(
          line.substr(1, line.find(' ') == std::string_view::npos ? line.size() : line.find(' ') - 1));
      BOOST_TEST(requests.contains(word), file << ": " << line);
      examples += word == "EX" ? 1 : word == "EE" ? -1 : 0;
    }
    BOOST_TEST(examples == 0, file);
  }
}

BOOST_AUTO_TEST_SUITE_END()
