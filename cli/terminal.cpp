#include "cli/terminal.hpp"

#include <sys/ioctl.h>

#include <algorithm>
#include <ostream>

namespace attune::cli {

terminal_traits traits_of(bool is_terminal, const environment& env) {
  const auto get = [&](const char* name) {
    const char* text = env(name);
    return std::string(text == nullptr ? "" : text);
  };
  terminal_traits t;
  t.bar = is_terminal && get("TERM") != "dumb" && !get("TERM").empty();
  t.colour = t.bar && get("NO_COLOR").empty();
  for (const auto* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    auto locale = get(name);
    if (locale.empty()) continue;
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    t.blocks = t.bar && (locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos);
    break;
  }
  return t;
}

std::size_t terminal_width(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void progress_display::draw(const progress_view& v, std::size_t width) {
  if (!traits_.bar) return;
  // A line of the full width would wrap on some terminals.
  to_ << "\r\x1b[K" << render_bar(v, {std::max<std::size_t>(width, 2) - 1, traits_.colour, traits_.blocks})
      << std::flush;
  drawn_ = true;
}

void progress_display::line(std::string_view text) {
  clear();
  to_ << text << '\n' << std::flush;
}

void progress_display::clear() {
  if (drawn_) to_ << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

} // namespace attune::cli
