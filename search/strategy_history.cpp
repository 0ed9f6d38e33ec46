#include "search/strategy_history.hpp"

#include "core/text.hpp"

#include <charconv>

namespace attune::search {
namespace {

constexpr std::string_view history_magic = "attune-strategy-1";

error refuse_history(std::string why) { return {errc::invalid_spec, std::move(why), "saved strategy"}; }

std::string space_name(const space& over) {
  std::string out = over.count() ? to_string(*over.count()) : "uncounted";
  for (const auto& p : over.parameters()) out += " " + std::to_string(p.size);
  return out;
}

std::string head_of(std::string_view name, const space& over, const strategy_options& options) {
  return std::string(history_magic) + ' ' + std::string(name) + ' ' + std::to_string(options.seed) + ' ' +
         (options.budget ? std::to_string(*options.budget) : "open") + ' ' + space_name(over) + '\n';
}

void write_point(std::span<const std::uint32_t> p, std::string& out) {
  for (std::size_t d = 0; d < p.size(); ++d) {
    if (d > 0) out += ',';
    out += p[d] == inactive ? "-" : std::to_string(p[d]);
  }
}

std::optional<point> read_point(std::string_view text) {
  point out;
  if (text.empty()) return out;
  for (const auto part : split(text, ',')) {
    std::uint32_t v = inactive;
    if (part != "-") {
      const auto [end, wrong] = std::from_chars(part.data(), part.data() + part.size(), v);
      if (wrong != std::errc() || end != part.data() + part.size()) return std::nullopt;
    }
    out.push_back(v);
  }
  return out;
}

constexpr std::string_view kinds = "mcfd"; // in the order of observation::status

std::string tell_line(std::span<const std::uint32_t> p, const observation& o) {
  std::string out = "t ";
  write_point(p, out);
  out += ' ';
  out += kinds[static_cast<std::size_t>(o.what)];
  // Hexadecimal, which is exact; NaN and infinities have names that are read back.
  char cost[64];
  const auto end = std::to_chars(cost, cost + sizeof cost, o.cost, std::chars_format::hex);
  out += ' ';
  out.append(cost, end.ptr);
  return out + '\n';
}

std::string ask_line(const std::optional<point>& p) {
  std::string out = p ? "a " : "e";
  if (p) write_point(*p, out);
  return out + '\n';
}

} // namespace

result<std::unique_ptr<remembering_strategy>> remembering_strategy::make(std::string_view name, space_ptr over,
                                                                         strategy_options options) {
  std::string head = head_of(name, *over, options);
  auto made = make_strategy(name, std::move(over), std::move(options));
  if (!made) return made.err();
  return std::unique_ptr<remembering_strategy>(new remembering_strategy(std::move(*made), std::move(head)));
}

result<std::unique_ptr<remembering_strategy>> remembering_strategy::restore(std::string_view saved, space_ptr over,
                                                                            strategy_options options) {
  const auto lines = split(saved, '\n');
  const auto words = split(lines[0], ' ');
  if (words.size() < 4 || words[0] != history_magic) return refuse_history("is no saved strategy");
  if (!saved.ends_with('\n')) return refuse_history("is cut off");
  if (std::string(lines[0]) + '\n' != head_of(words[1], *over, options))
    return refuse_history("is of another space, seed or budget");
  auto made = make(words[1], std::move(over), std::move(options));
  if (!made) return made.err();
  auto& how = **made;
  for (std::size_t k = 1; k + 1 < lines.size(); ++k) {
    const auto parts = split(lines[k], ' ');
    const std::string place = "step " + std::to_string(k);
    if (parts[0] == "e" || (parts[0] == "a" && parts.size() == 2)) {
      if (ask_line(how.ask()) != std::string(lines[k]) + '\n')
        return refuse_history(place + ": the strategy now proposes something else");
      continue;
    }
    const auto at = parts.size() == 4 && parts[0] == "t" ? read_point(parts[1]) : std::nullopt;
    const auto kind = parts.size() == 4 && parts[2].size() == 1 ? kinds.find(parts[2][0]) : kinds.npos;
    observation o;
    const auto* end = parts.size() == 4 ? parts[3].data() + parts[3].size() : nullptr;
    if (!at || kind == kinds.npos || std::from_chars(parts[3].data(), end, o.cost, std::chars_format::hex).ptr != end)
      return refuse_history(place + " is damaged");
    o.what = static_cast<observation::status>(kind);
    how.tell(*at, o);
  }
  return made;
}

std::string remembering_strategy::save() const { return head_ + steps_; }

std::optional<point> remembering_strategy::ask() {
  auto p = of_->ask();
  steps_ += ask_line(p);
  return p;
}

void remembering_strategy::tell(std::span<const std::uint32_t> p, const observation& o) {
  of_->tell(p, o);
  steps_ += tell_line(p, o);
}

} // namespace attune::search
