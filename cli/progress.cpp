#include "cli/progress.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace attune::cli {

namespace {

constexpr nanoseconds window = std::chrono::seconds(30);

/// `4.1/s`, or `12/min` where a trial takes its time.
std::string rate_text(double per_second) {
  if (per_second <= 0) return {};
  auto with = [](double d, const char* unit) {
    // human_value writes "4.10 " and the unit; the rate wants two digits only.
    const double rounded = d >= 10 ? std::round(d) : std::round(d * 10) / 10;
    return shortest(rounded) + unit;
  };
  if (per_second >= 1) return with(per_second, "/s");
  if (per_second >= 1.0 / 60) return with(per_second * 60, "/min");
  return with(per_second * 3600, "/h");
}

std::string done_text(const progress_view& v) {
  auto text = std::to_string(v.done);
  if (v.budget) text += "/" + std::to_string(*v.budget);
  return text;
}

std::string best_text(const progress_view& v) {
  if (v.tasks > 1) return std::to_string(v.tasks_with_best) + " of " + std::to_string(v.tasks) + " tasks have a best";
  return v.best ? "best " + human_value(*v.best, v.unit) : "no best yet";
}

double fraction_done(const progress_view& v) {
  double f = 0;
  if (v.budget && *v.budget > 0) f = static_cast<double>(v.done) / static_cast<double>(*v.budget);
  if (v.time_limit && v.time_limit->count() > 0) f = std::max(f, seconds(v.elapsed) / seconds(*v.time_limit));
  return std::clamp(f, 0.0, 1.0);
}

std::string bar_text(double fraction, std::size_t cells, bool blocks) {
  std::string out = blocks ? "" : "[";
  const auto full = static_cast<std::size_t>(fraction * static_cast<double>(cells) + 1e-9);
  for (std::size_t i = 0; i < cells; ++i) {
    if (blocks) {
      out += i < full ? "█" : "░";
    } else {
      out += i < full ? '#' : '.';
    }
  }
  return blocks ? out : out + "]";
}

/// A value for each cell, from the lowest to the highest of them; empty where there is nothing to see.
std::string curve_text(const std::vector<double>& values) {
  static constexpr std::array<const char*, 8> heights{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double v : values)
    if (std::isfinite(v)) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
  if (!(high > low)) return {};
  std::string out;
  for (const double v : values)
    out += std::isfinite(v) ? heights[static_cast<std::size_t>(std::lround((v - low) / (high - low) * 7))] : " ";
  return out;
}

std::string work_text(const progress_view& v) {
  std::string out = v.running > 0 ? std::to_string(v.running) + " running" : "";
  if (v.building > 0) out += (out.empty() ? "" : ", ") + std::to_string(v.building) + " building";
  return out;
}

} // namespace

void best_curve::add(std::uint64_t done, std::optional<double> best) {
  if (best && (steps_.empty() || steps_.back().second != *best)) steps_.emplace_back(done, *best);
}

std::vector<double> best_curve::at(std::uint64_t done, std::size_t parts) const {
  std::vector<double> out(parts, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t k = 0; k < parts; ++k) {
    const auto until = static_cast<double>(done) * static_cast<double>(k + 1) / static_cast<double>(parts);
    for (const auto& [from, best] : steps_)
      if (static_cast<double>(from) <= until) out[k] = best;
  }
  return out;
}

void rate_meter::add(nanoseconds now, std::uint64_t done) {
  // A few samples a second are enough to go by; more would only cost memory.
  if (samples_.size() >= 2 && now - samples_[samples_.size() - 2].at < std::chrono::milliseconds(200)) {
    samples_.back() = {now, done};
  } else {
    samples_.push_back({now, done});
  }
  while (samples_.size() > 2 && now - samples_.front().at > window) samples_.pop_front();
}

double rate_meter::per_second() const {
  if (samples_.size() < 2) return 0;
  const auto span = seconds(samples_.back().at - samples_.front().at);
  return span <= 0 ? 0 : static_cast<double>(samples_.back().done - samples_.front().done) / span;
}

std::optional<nanoseconds> time_left(const progress_view& v) {
  std::optional<nanoseconds> left;
  if (v.budget && v.rate > 0)
    left = from_seconds(static_cast<double>(*v.budget - std::min(v.done, *v.budget)) / v.rate);
  if (v.time_limit) {
    const auto by_time = std::max(nanoseconds(0), *v.time_limit - v.elapsed);
    left = left ? std::min(*left, by_time) : by_time;
  }
  return left;
}

std::string failures_text(const std::array<std::uint64_t, all_failure_kinds.size()>& failed) {
  std::uint64_t sum = 0;
  std::string kinds;
  for (std::size_t i = 0; i < failed.size(); ++i) {
    if (failed[i] == 0) continue;
    sum += failed[i];
    kinds +=
        (kinds.empty() ? "" : ", ") + std::string(to_string(all_failure_kinds[i])) + " " + std::to_string(failed[i]);
  }
  return sum == 0 ? std::string{} : std::to_string(sum) + " failed (" + kinds + ")";
}

std::size_t columns(std::string_view text) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
      continue;
    }
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) ++n;
  }
  return n;
}

std::string render_bar(const progress_view& v, const display_style& style) {
  struct part {
    std::string text;
    const char* colour;
    int importance; ///< the lowest goes first where there is no room
  };
  std::uint64_t failed = 0;
  for (const auto n : v.failed) failed += n;
  std::vector<part> parts;
  parts.push_back({v.name, "1", 3});
  if (v.budget || v.time_limit) parts.push_back({bar_text(fraction_done(v), 20, style.blocks), "36", 2});
  parts.push_back({done_text(v), "", 8});
  parts.push_back({best_text(v), v.best || v.tasks_with_best > 0 ? "32" : "", 9});
  if (const auto curve = style.blocks ? curve_text(v.curve) : std::string(); !curve.empty())
    parts.push_back({curve, "36", 1});
  if (const auto rate = rate_text(v.rate); !rate.empty()) parts.push_back({rate, "", 4});
  if (v.cached > 0) parts.push_back({std::to_string(v.cached) + " cached", "", 5});
  if (failed > 0) parts.push_back({failures_text(v.failed), "33", 6});
  if (const auto work = work_text(v); !work.empty()) parts.push_back({work, "", 0});
  if (const auto left = time_left(v); left && left->count() > 0)
    parts.push_back({human_duration(*left) + " left", "", 7});
  if (!v.note.empty()) parts.push_back({v.note, "33", 10});
  const auto width_of = [&] {
    std::size_t n = 0;
    for (const auto& p : parts) n += columns(p.text) + 2;
    return n - 2;
  };
  while (parts.size() > 1 && width_of() > style.width) {
    const auto least = std::min_element(parts.begin(), parts.end(),
                                        [](const part& a, const part& b) { return a.importance < b.importance; });
    // Before anything that matters more than the bar goes, the failures lose their kinds: the number is worth more.
    const auto kinds = std::find_if(parts.begin(), parts.end(), [](const part& p) {
      return p.importance == 6 && p.text.find(" (") != std::string::npos;
    });
    if (least->importance > 3 && kinds != parts.end()) {
      kinds->text = std::to_string(failed) + " failed";
      continue;
    }
    parts.erase(least);
  }
  std::string out;
  for (const auto& p : parts) {
    if (!out.empty()) out += "  ";
    if (style.colour && *p.colour != '\0')
      out += std::string("\x1b[") + p.colour + "m" + p.text + "\x1b[0m";
    else
      out += p.text;
  }
  if (columns(out) > style.width) {
    // One part alone that is too long: it is cut, without its colour.
    out = parts[0].text.substr(0, style.width);
  }
  return out;
}

std::string render_line(const progress_view& v) {
  std::string out = v.name + ": " + done_text(v) + " done, " + best_text(v);
  if (v.tasks == 1 && v.best && !v.best_config.empty()) out += " (" + v.best_config + ")";
  if (v.cached > 0) out += ", " + std::to_string(v.cached) + " cached";
  if (const auto f = failures_text(v.failed); !f.empty()) out += ", " + f;
  if (const auto r = rate_text(v.rate); !r.empty()) out += ", " + r;
  if (const auto left = time_left(v); left && left->count() > 0) out += ", " + human_duration(*left) + " left";
  if (!v.note.empty()) out += ", " + v.note;
  return out;
}

} // namespace attune::cli
