#pragma once

#include "cli/command_line.hpp"
#include "cli/progress.hpp"

#include <iosfwd>
#include <string>
#include <string_view>

namespace attune::cli {

/// How progress is shown on a stream: a bar that is drawn over itself where a person watches a terminal, else plain
/// lines. Colour only on a terminal, and not where NO_COLOR is set (to anything but the empty text) or TERM is dumb.
struct terminal_traits {
  bool bar = false;
  bool colour = false;
  bool blocks = false; ///< the terminal shows UTF-8
};

/// `is_terminal`: isatty() of the stream.
terminal_traits traits_of(bool is_terminal, const environment& env);

/// The columns of the terminal behind `fd`; 80 where it does not say.
std::size_t terminal_width(int fd);

/// A line of progress on a stream, kept apart from the messages that go there too. One owner.
class progress_display {
public:
  progress_display(std::ostream& to, terminal_traits traits) : to_(to), traits_(traits) {}
  ~progress_display() { clear(); }
  progress_display(const progress_display&) = delete;
  progress_display& operator=(const progress_display&) = delete;

  bool bar() const noexcept { return traits_.bar; }
  /// Draws the bar over the last one; does nothing where there is no bar.
  void draw(const progress_view& v, std::size_t width);
  /// A whole line, above the bar.
  void line(std::string_view text);
  /// Takes the bar away.
  void clear();

private:
  std::ostream& to_;
  terminal_traits traits_;
  bool drawn_ = false;
};

} // namespace attune::cli
