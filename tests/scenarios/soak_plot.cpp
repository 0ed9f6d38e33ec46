#include "tests/scenarios/soak_plot.hpp"

#include <algorithm>
#include <cstdio>

namespace attune::testing {

namespace {

std::string short_number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, v >= 100 || v == static_cast<long long>(v) ? "%.0f" : "%.1f", v);
  return text;
}

} // namespace

double median_of_part(const soak_series& s, std::size_t first, std::size_t last, std::size_t parts) {
  const auto begin = s.values.begin() + static_cast<std::ptrdiff_t>(s.values.size() * first / parts);
  const auto end = s.values.begin() + static_cast<std::ptrdiff_t>(s.values.size() * last / parts);
  std::vector<double> v(begin, end);
  if (v.empty()) return 0;
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

std::string soak_table(const std::vector<double>& seconds, const std::vector<soak_series>& all) {
  std::string out = "| over " + short_number(seconds.empty() ? 0 : seconds.back() / 60) +
                    " min | first third | second | last | most |\n| --- | --- | --- | --- | --- |\n";
  for (const auto& s : all) {
    out += "| " + s.name + (s.unit.empty() ? "" : ", " + s.unit);
    for (std::size_t i = 0; i < 3; ++i) out += " | " + short_number(median_of_part(s, i, i + 1, 3));
    const auto most = std::max_element(s.values.begin(), s.values.end());
    out += " | " + short_number(most == s.values.end() ? 0 : *most) + " |\n";
  }
  return out;
}

std::string soak_drawing(const std::vector<double>& seconds, const std::vector<soak_series>& all) {
  constexpr int width = 760, left = 200, right = 740, panel = 64, gap = 18;
  const int height = static_cast<int>(all.size()) * (panel + gap) + 40;
  const double last = seconds.empty() ? 1 : std::max(1.0, seconds.back());
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) + "\" height=\"" +
                    std::to_string(height) + "\" font-family=\"sans-serif\" font-size=\"12\">\n" +
                    "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  int top = 10;
  for (const auto& s : all) {
    const auto most = std::max_element(s.values.begin(), s.values.end());
    const double scale = most == s.values.end() || *most <= 0 ? 1 : *most;
    out += "<text x=\"10\" y=\"" + std::to_string(top + 24) + "\">" + s.name + "</text><text x=\"10\" y=\"" +
           std::to_string(top + 42) + "\" fill=\"#666\">0 to " + short_number(scale) + " " + s.unit + "</text>\n" +
           "<rect x=\"" + std::to_string(left) + "\" y=\"" + std::to_string(top) + "\" width=\"" +
           std::to_string(right - left) + "\" height=\"" + std::to_string(panel) +
           "\" fill=\"none\" stroke=\"#ccc\"/>\n<polyline fill=\"none\" stroke=\"#1f6fb4\" points=\"";
    for (std::size_t i = 0; i < s.values.size() && i < seconds.size(); ++i) {
      char point[64];
      std::snprintf(point, sizeof point, "%.1f,%.1f ", left + (right - left) * seconds[i] / last,
                    top + panel - panel * std::clamp(s.values[i] / scale, 0.0, 1.0));
      out += point;
    }
    out += "\"/>\n";
    top += panel + gap;
  }
  for (int i = 0; i <= 4; ++i)
    out += "<text text-anchor=\"middle\" x=\"" + std::to_string(left + (right - left) * i / 4) + "\" y=\"" +
           std::to_string(top + 8) + "\">" + short_number(last * i / 240) + " min</text>\n";
  return out + "</svg>\n";
}

} // namespace attune::testing
