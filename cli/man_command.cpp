#include "cli/commands.hpp"
#include "cli/man_page.hpp"

#include <filesystem>
#include <fstream>

namespace attune::cli {

command_spec man_command() {
  struct words {
    std::vector<std::string> of;
    std::string folder;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"man", "Print the manual page of a command, or write those of all"};
  c.places("COMMAND", "", w->of, "The command, as in: attune man db forget (attune itself)");
  c.value("--directory", "DIR", w->folder, "Write every page into this folder, for man's search path");
  c.more = R"(The pages are made of what --help prints, so they say the same.

  attune man tune | man -l -
  attune man --directory ~/.local/share/man/man1)";
  c.read = [w](const typed_line& line) -> reading {
    if (!line.store.empty()) throw usage_fault{"--store has no effect on a manual page"};
    const auto pages = man_pages(line.program);
    if (w->folder.empty()) {
      if (line.json) throw usage_fault{"--json has no effect on a manual page"};
      std::string name = "attune";
      for (const auto& word : w->of) name += "-" + word;
      for (const auto& [file, text] : pages)
        if (file == name + ".1") return early_end{0, text, "", false};
      throw usage_fault{"there is no command '" + name.substr(name.find('-') + 1, 60) + "'"};
    }
    if (!w->of.empty()) throw usage_fault{"--directory is for all pages: it goes without a COMMAND"};
    std::error_code ec;
    std::filesystem::create_directories(w->folder, ec);
    for (const auto& [file, text] : pages) {
      const auto path = w->folder + "/" + file;
      std::ofstream to(path, std::ios::binary | std::ios::trunc);
      to << text;
      to.close();
      if (!to) throw usage_fault{"cannot write '" + path + "'"};
    }
    return early_end{0, line.json ? "{\"pages\":" + std::to_string(pages.size()) + "}\n" : std::string(), "",
                     line.json};
  };
  return c;
}

} // namespace attune::cli
