// A real browser, driven through its debugging pipe (Chrome DevTools Protocol): Chromium without a window, in a folder
// of its own, with nothing of the network.
#pragma once

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace attune::testing {

class browser {
public:
  /// Null where no Chromium is installed. Throws std::runtime_error where it does not start.
  static std::unique_ptr<browser> start();
  ~browser();
  browser(const browser&) = delete;
  browser& operator=(const browser&) = delete;

  void open(const std::string& url);
  /// CSS pixels; `phone`: with touch, and two device pixels each.
  void size(int width, int height, bool phone = false);
  void scheme(const std::string& light_or_dark);
  /// The value of an expression; a promise is waited for. Throws with the exception's text.
  nlohmann::json value(const std::string& expression);
  /// Waits until the expression is true; throws after a minute.
  void until(const std::string& expression);
  /// Types one key, as DevTools name it.
  void key(const std::string& name, const std::string& code, int number);
  /// Errors on the console, exceptions, and requests for anything but `data:`, `blob:`, `file:` and `allowed`.
  std::vector<std::string> complaints(const std::string& allowed);
  /// Memory of the process that draws the page, MB: what is its alone, and its share of the rest (PSS). Of the
  /// processes that draw, it is the largest: those of pages that were left are gone.
  double renderer_mb() const;
  /// A picture of the whole page, however long, PNG.
  std::string picture();

private:
  struct impl;
  explicit browser(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

} // namespace attune::testing
