// The starvation matrix: takes descriptors, processes, threads, memory, disk, folders, streams, the processor and the
// clock from the real program, from its start or in the middle of its work, and prints a table: how it ended, what the
// user reads. In every cell the program ends or goes on in order, the ledger of what was run, recorded and told is
// exact, the same command in plenty goes on from there, and no process or file is left.
//
//   starve [--quick] [WORD…]     the cells whose name (SUBJECT/WHAT) has one of the words in it
#include "tests/scenarios/starve_cells.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iterator>

using namespace attune::testing;

namespace {

bool wanted(const std::string& name, const starved_words& words) {
  return words.empty() ||
         std::any_of(words.begin(), words.end(), [&](const auto& w) { return name.find(w) != std::string::npos; });
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

} // namespace

int main(int argc, char** argv) {
  bool quick = false;
  starved_words words;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0)
      quick = true;
    else
      words.emplace_back(argv[i]);
  }
  auto cells = tune_cells();
  for (const auto more : {stream_cells, fleet_cells}) {
    auto those = more();
    std::move(those.begin(), those.end(), std::back_inserter(cells));
  }
  std::size_t rows = 0, wrong = 0, played = 0;
  std::printf("| of | what is taken away | it ends | what is read | right |\n| --- | --- | --- | --- | --- |\n");
  for (const auto& c : cells) {
    if ((quick && !c.quick) || !wanted(c.name, words)) continue;
    ++played;
    try {
      for (const auto& r : c.play()) {
        ++rows;
        std::printf("| %s | %s | %s | %s | %s |\n", r.subject.c_str(), r.what.c_str(), r.ended.c_str(),
                    one_line(r.message).c_str(), r.wrong.empty() ? "yes" : "NO");
        if (!r.wrong.empty()) {
          ++wrong;
          std::printf("BROKEN: %s: %s\n", c.name.c_str(), r.wrong.c_str());
        }
      }
    } catch (const not_here& n) {
      std::printf("| %s | | | not played here: %s | - |\n", c.name.c_str(), n.why.c_str());
    } catch (const broken& b) {
      ++wrong;
      std::printf("BROKEN: %s: %s\n", c.name.c_str(), b.what.c_str());
    } catch (const std::exception& e) {
      ++wrong;
      std::printf("BROKEN: %s: %s\n", c.name.c_str(), e.what());
    }
    std::fflush(stdout);
  }
  if (played == 0) {
    std::fprintf(stderr, "starve: no cell is named so\n");
    return 2;
  }
  std::printf("%zu rows, %zu of them wrong\n", rows, wrong);
  return wrong == 0 ? 0 : 1;
}
