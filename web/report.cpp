#include "web/report.hpp"

#include "web/assets.hpp"
#include "web/model.hpp"

#include <openssl/evp.h>

#include <new>
#include <ostream>
#include <string>
#include <zlib.h>

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

/// As zlib packs it (what a browser's DecompressionStream calls "deflate"), in base64. @pre below 1 GB, which a model's
/// rows are far from
std::string packed(const std::string& bytes) {
  auto size = ::compressBound(static_cast<uLong>(bytes.size()));
  std::string small(size, '\0');
  const auto* from = reinterpret_cast<const Bytef*>(bytes.data());
  auto* into = reinterpret_cast<Bytef*>(small.data());
  if (::compress2(into, &size, from, static_cast<uLong>(bytes.size()), Z_DEFAULT_COMPRESSION) != Z_OK)
    throw std::bad_alloc();                        // there is no other way to fail, with room for the worst
  std::string out(4 * ((size + 2) / 3) + 1, '\0'); // the encoder ends it with a NUL
  const int n = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                  reinterpret_cast<const unsigned char*>(small.data()), static_cast<int>(size));
  out.resize(static_cast<std::size_t>(n));
  return out;
}

} // namespace

void write_report(std::ostream& to, std::string_view title, const model& shown, std::string_view extra) {
  std::string page(asset("index.html"));
  replace(page, "<title>Attune</title>", "<title>" + escaped(title) + "</title>");
  replace(page, "<meta charset=\"utf-8\">",
          "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">");
  replace(page, "<link rel=\"stylesheet\" href=\"app.css\">", "<style>\n" + std::string(asset("app.css")) + "</style>");
  constexpr std::string_view script = "<script type=\"module\" src=\"app.js\"></script>";
  const auto at = page.find(script);
  model_cursor fresh;
  to << page.substr(0, at) << "<script type=\"application/json\" id=\"attune-view\">";
  put_data(to, shown.json(fresh, nanoseconds(0), model::row_form::apart));
  to << "</script>\n<script type=\"application/json\" id=\"attune-extra\">";
  put_data(to, extra);
  to << "</script>\n";
  for (const auto& [number, session] : shown.sessions())
    if (session.rows.size() > 0)
      to << "<script type=\"text/plain\" id=\"attune-rows-" << number << "\">"
         << packed(*shown.rows(number, session.rows.size())) << "</script>\n";
  to << "<script type=\"module\">\n" << app_script() << "</script>" << page.substr(at + script.size());
}

} // namespace attune::web
