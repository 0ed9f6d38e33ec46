#include "search/space.hpp"

#include "core/text.hpp"
#include "search/compiled_space.hpp"

#include <algorithm>

namespace attune::search {

std::string to_string(uint128 n) {
  if (n == 0) return "0";
  std::string digits;
  for (; n > 0; n /= 10) digits += static_cast<char>('0' + static_cast<int>(n % 10));
  std::ranges::reverse(digits);
  return digits;
}

result<std::shared_ptr<const space>> space::compile(std::span<const parameter> parameters,
                                                    std::span<const constraint> constraints, const arguments& workload,
                                                    const arguments& target) {
  auto parts = compile_parts(parameters, constraints, workload, target);
  if (!parts) return parts.err();
  return std::shared_ptr<const space>(std::make_shared<compiled_space>(std::move(*parts)));
}

space_description space::describe() const {
  space_description out;
  for (const auto& i : parameters()) {
    out.parameters.push_back({i.name, i.size, i.size, i.ordinal, i.conditional, 0});
    if (out.groups.empty()) out.groups.emplace_back();
    out.groups[0].parameters.push_back(i.name);
  }
  if (!out.groups.empty()) out.groups[0].count = count();
  return out;
}

std::optional<std::uint32_t> space::index_of_value(std::size_t parameter, const value& v) const {
  for (std::uint32_t i = 0; i < parameters()[parameter].size; ++i) {
    const auto mine = value_at(parameter, i);
    if (mine == v || (mine.is_number() && v.is_number() && mine.to_double() == v.to_double()) ||
        (mine.type() == value::kind::order && v.type() == value::kind::text && mine.text() == v.text()))
      return i;
  }
  return std::nullopt;
}

std::size_t space::changes(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) noexcept {
  std::size_t n = 0;
  for (std::size_t i = 0; i < a.size(); ++i) n += a[i] != b[i] && a[i] != inactive && b[i] != inactive ? 1 : 0;
  return n;
}

std::vector<point> space::neighbours_within(std::span<const std::uint32_t> p, std::size_t k, std::size_t most) const {
  std::vector<point> out;
  for_each([&](auto q) {
    if (out.size() >= most) return false;
    if (const auto n = changes(p, q); n > 0 && n <= k) out.emplace_back(q.begin(), q.end());
    return true;
  });
  return out;
}

std::optional<point> space::neighbour_within(std::span<const std::uint32_t> p, std::size_t k,
                                             random_engine& rng) const {
  const auto in = [&](auto q) {
    const auto n = changes(p, q);
    return n > 0 && n <= k;
  };
  std::uint64_t all = 0;
  for_each([&](auto q) { return all += in(q) ? 1 : 0, true; });
  if (all == 0) return std::nullopt;
  auto left = rng.below(all);
  point out;
  for_each([&](auto q) {
    if (!in(q)) return true;
    if (left == 0) out.assign(q.begin(), q.end());
    return left-- > 0;
  });
  return out;
}

configuration space::to_configuration(std::span<const std::uint32_t> p) const {
  std::vector<value> values;
  values.reserve(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) values.push_back(value_at(i, p[i]));
  return {names_, std::move(values)};
}

result<point> space::to_point(const configuration& c) const {
  const auto& names = *names_;
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (std::ranges::find(names, c.name(i)) != names.end()) continue;
    const auto near = nearest_word(c.name(i), names);
    return error{errc::invalid_spec,
                 "there is no parameter `" + c.name(i) + "`" + (near ? "; did you mean `" + *near + "`?" : ""),
                 {}};
  }
  point out(names.size(), inactive);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto* v = c.find(names[i]);
    if (!v || v->is_absent()) {
      if (!parameters()[i].conditional)
        return error{errc::invalid_spec, "the parameter `" + names[i] + "` is missing", {}};
      continue;
    }
    const auto index = index_of_value(i, *v);
    if (!index)
      return error{errc::invalid_spec, "`" + v->text() + "` is not a value of the parameter `" + names[i] + "`", {}};
    out[i] = *index;
  }
  return out;
}

} // namespace attune::search
