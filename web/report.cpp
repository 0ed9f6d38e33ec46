#include "web/report.hpp"

#include "web/assets.hpp"

#include <ostream>
#include <string>

namespace attune::web {

namespace {

/// JSON inside a script element: what would end the element is written as an escape.
void put_data(std::ostream& to, std::string_view json) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] != '<') continue;
    to.write(json.data() + begin, static_cast<std::streamsize>(i - begin));
    to << "\\u003c";
    begin = i + 1;
  }
  to.write(json.data() + begin, static_cast<std::streamsize>(json.size() - begin));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

void replace(std::string& in, std::string_view what, const std::string& by) {
  if (const auto at = in.find(what); at != std::string::npos) in.replace(at, what.size(), by);
}

} // namespace

void write_report(std::ostream& to, std::string_view title, std::string_view view, std::string_view extra) {
  std::string page(asset("index.html"));
  replace(page, "<title>Attune</title>", "<title>" + escaped(title) + "</title>");
  replace(page, "<meta charset=\"utf-8\">",
          "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">");
  replace(page, "<link rel=\"stylesheet\" href=\"app.css\">", "<style>\n" + std::string(asset("app.css")) + "</style>");
  constexpr std::string_view script = "<script type=\"module\" src=\"app.js\"></script>";
  const auto at = page.find(script);
  to << page.substr(0, at) << "<script type=\"application/json\" id=\"attune-view\">";
  put_data(to, view);
  to << "</script>\n<script type=\"application/json\" id=\"attune-extra\">";
  put_data(to, extra);
  to << "</script>\n<script type=\"module\">\n" << app_script() << "</script>" << page.substr(at + script.size());
}

} // namespace attune::web
