#include "search/cell.hpp"

#include "core/hash.hpp"

#include <algorithm>

namespace attune::search {

namespace {

std::uint64_t hash_of(std::span<const cell> items, sequence order) {
  std::uint64_t h = static_cast<std::uint64_t>(order) + 0x9e3779b97f4a7c15u;
  for (const auto& c : items) h = (h ^ c.bits ^ (static_cast<std::uint64_t>(c.what) << 56)) * 0xff51afd7ed558ccdu + 1;
  return h ^ (h >> 29);
}

} // namespace

const std::uint64_t* pool::find(std::uint64_t hash, cell::kind what, std::string_view s, std::span<const cell> items,
                                sequence order) const {
  const auto [from, to] = index_.equal_range(hash);
  for (auto i = from; i != to; ++i) {
    const auto& o = objects_[i->second - offset_];
    if (o.what == what && o.order == order && o.text == s && std::ranges::equal(o.items, items)) return &i->second;
  }
  return base_ ? base_->find(hash, what, s, items, order) : nullptr;
}

cell pool::add(std::uint64_t hash, object o, std::size_t bytes) {
  if (bytes_ + bytes > bytes_max) return cell::of(fault::limit);
  bytes_ += bytes;
  const std::uint64_t number = size();
  const auto what = o.what;
  objects_.push_back(std::move(o));
  index_.emplace(hash, number);
  return {number, what};
}

cell pool::text(std::string_view s) {
  if (s.size() > text_max) return cell::of(fault::limit);
  const auto h = hash64(s, 1);
  if (const auto* found = find(h, cell::kind::text, s, {}, sequence::list)) return {*found, cell::kind::text};
  object o;
  o.text = s;
  return add(h, std::move(o), s.size() + sizeof(object));
}

cell pool::list(std::span<const cell> items, sequence kind) {
  if (items.size() > items_max) return cell::of(fault::limit);
  const auto h = hash_of(items, kind);
  if (const auto* found = find(h, cell::kind::list, {}, items, kind)) return {*found, cell::kind::list};
  object o;
  o.items.assign(items.begin(), items.end());
  o.order = kind;
  o.what = cell::kind::list;
  return add(h, std::move(o), items.size() * sizeof(cell) + sizeof(object));
}

cell to_cell(const value& v, pool& where) {
  switch (v.type()) {
  case value::kind::absent:
    return {};
  case value::kind::boolean:
    return cell::of(v.as_bool());
  case value::kind::integer:
    return cell::of(v.as_integer());
  case value::kind::real:
    return cell::of(v.as_real());
  case value::kind::text:
    return where.text(v.as_text());
  case value::kind::order:
    break;
  }
  std::vector<cell> items;
  for (const auto& name : v.as_order().order) items.push_back(where.text(name));
  return where.list(items);
}

value to_value(cell c, const pool& where) {
  switch (c.what) {
  case cell::kind::boolean:
    return value(c.bits != 0);
  case cell::kind::integer:
    return value(c.integer());
  case cell::kind::real:
    return value(c.real());
  case cell::kind::text:
    return value(where.text_of(c));
  case cell::kind::list: {
    permutation p;
    for (const auto& i : where.items_of(c)) p.order.push_back(to_value(i, where).text());
    return value(std::move(p));
  }
  case cell::kind::absent:
  case cell::kind::failed:
    break;
  }
  return {};
}

std::string text(cell c, const pool& where) {
  constexpr std::size_t longest = 60;
  switch (c.what) {
  case cell::kind::absent:
    return "absent";
  case cell::kind::failed:
    return std::string(to_string(c.why()));
  case cell::kind::boolean:
    return c.bits != 0 ? "True" : "False";
  case cell::kind::integer:
    return std::to_string(c.integer());
  case cell::kind::real: {
    auto s = shortest(c.real());
    if (s.find_first_of(".eni") == std::string::npos) s += ".0";
    return s;
  }
  case cell::kind::text: {
    const auto s = where.text_of(c);
    return "'" + std::string(s.substr(0, longest)) + (s.size() > longest ? "…'" : "'");
  }
  case cell::kind::list:
    break;
  }
  const auto order = where.sequence_of(c);
  std::string out(order == sequence::tuple ? "(" : order == sequence::set ? "{" : "[");
  bool first = true;
  for (const auto& i : where.items_of(c)) {
    if (!first) out += ", ";
    first = false;
    if (out.size() > longest) {
      out += "…";
      break;
    }
    out += text(i, where);
  }
  return out + (order == sequence::tuple ? ")" : order == sequence::set ? "}" : "]");
}

std::string_view type_name(cell c, const pool& where) noexcept {
  switch (c.what) {
  case cell::kind::absent:
    return "absent";
  case cell::kind::failed:
    return "nothing";
  case cell::kind::boolean:
    return "bool";
  case cell::kind::integer:
    return "int";
  case cell::kind::real:
    return "float";
  case cell::kind::text:
    return "str";
  case cell::kind::list:
    break;
  }
  switch (where.sequence_of(c)) {
  case sequence::tuple:
    return "tuple";
  case sequence::range:
    return "range";
  case sequence::set:
    return "set";
  case sequence::list:
    break;
  }
  return "list";
}

std::string_view to_string(fault f) noexcept {
  switch (f) {
  case fault::division_by_zero:
    return "division by zero";
  case fault::overflow:
    return "a number beyond 64 bits";
  case fault::type:
    return "operands of the wrong type";
  case fault::value:
    return "an operand out of range";
  case fault::limit:
    break;
  }
  return "a text, list or loop that is too long";
}

} // namespace attune::search
