#include "net/line_limit.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <utility>

namespace attune::net {

namespace {

std::string with_number(const std::string& line, bool of_others, std::uint64_t n, nanoseconds in) {
  const auto number = std::to_string(n);
  const auto what =
      of_others ? "one of " + number + " of other kinds" : "again " + number + (n == 1 ? " time" : " times");
  return line + " (" + what + " in the last " + human_duration(in) + ")";
}

} // namespace

std::vector<std::string> line_limit::take(const std::string& kind, std::string line, nanoseconds now) {
  auto out = due(now);
  if (kinds_.empty() && others_.again == 0) next_ = now + limits_.period;
  auto at = kinds_.find(kind);
  if (at == kinds_.end() && kinds_.size() < limits_.kinds) {
    at = kinds_.try_emplace(kind).first;
    at->second.since = now;
  }
  if (at != kinds_.end() && at->second.told < limits_.first) {
    ++at->second.told;
    out.push_back(std::move(line));
    return out;
  }
  auto& counted = at == kinds_.end() ? others_ : at->second;
  if (at == kinds_.end() && others_.again == 0) others_.since = now;
  ++counted.again;
  counted.last = std::move(line);
  return out;
}

std::vector<std::string> line_limit::due(nanoseconds now) {
  std::vector<std::string> out;
  if (now < next_) return out;
  next_ = now + limits_.period;
  const auto over = [&](const seen& s) { return now - s.since >= limits_.period; };
  const auto tell = [&](seen& s, bool of_others) {
    out.push_back(with_number(s.last, of_others, s.again, now - s.since));
    // What goes on is told by its number alone.
    s = {now, limits_.first, 0, {}};
  };
  std::erase_if(kinds_, [&](const auto& k) { return over(k.second) && k.second.again == 0; });
  for (auto& [kind, s] : kinds_) {
    if (over(s)) tell(s, false);
    next_ = std::min(next_, s.since + limits_.period);
  }
  if (others_.again > 0 && over(others_)) tell(others_, true);
  if (others_.again > 0) next_ = std::min(next_, others_.since + limits_.period);
  return out;
}

std::vector<std::string> line_limit::rest(nanoseconds now) {
  std::vector<std::string> out;
  for (const auto& [kind, s] : kinds_)
    if (s.again > 0) out.push_back(with_number(s.last, false, s.again, now - s.since));
  if (others_.again > 0) out.push_back(with_number(others_.last, true, others_.again, now - others_.since));
  kinds_.clear();
  others_ = {};
  return out;
}

std::string without_port(const std::string& address) {
  const auto colon = address.rfind(':');
  return colon == std::string::npos ? address : address.substr(0, colon);
}

} // namespace attune::net
