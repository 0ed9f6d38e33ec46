#include "search/operation.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace attune::search {

namespace {

using kind = cell::kind;
__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
constexpr auto highest = std::numeric_limits<std::int64_t>::max();

struct function_entry {
  std::string_view name;
  operation op;
  std::size_t least, most;
};
constexpr std::size_t any_number = 1000;
constexpr std::array functions{
    function_entry{"min", operation::call_min, 1, any_number},
    function_entry{"max", operation::call_max, 1, any_number},
    function_entry{"abs", operation::call_abs, 1, 1},
    function_entry{"round", operation::call_round, 1, 2},
    function_entry{"int", operation::call_int, 0, 1},
    function_entry{"float", operation::call_float, 0, 1},
    function_entry{"bool", operation::call_bool, 0, 1},
    function_entry{"len", operation::call_len, 1, 1},
    function_entry{"sum", operation::call_sum, 1, 2},
    function_entry{"range", operation::call_range, 1, 3},
    function_entry{"list", operation::call_list, 0, 1},
    function_entry{"tuple", operation::call_tuple, 0, 1},
    function_entry{"set", operation::call_set, 0, 1},
    function_entry{"sorted", operation::call_sorted, 1, 1},
    function_entry{"any", operation::call_any, 1, 1},
    function_entry{"all", operation::call_all, 1, 1},
    function_entry{"pow", operation::call_pow, 2, 2},
};
constexpr std::array methods{
    function_entry{"index", operation::method_index, 2, 2},
    function_entry{"count", operation::method_count, 2, 2},
    function_entry{"startswith", operation::method_startswith, 2, 2},
    function_entry{"endswith", operation::method_endswith, 2, 2},
};

int bit_width(std::uint64_t x) noexcept { return 64 - std::countl_zero(x | 1); }

/// The correctly rounded quotient, as Python's int / int is (Objects/longobject.c, long_true_divide). @pre b != 0
double true_quotient(std::int64_t a, std::int64_t b) noexcept {
  constexpr std::int64_t exact = std::int64_t{1} << 53;
  if (a >= -exact && a <= exact && b >= -exact && b <= exact) return static_cast<double>(a) / static_cast<double>(b);
  const bool minus = (a < 0) != (b < 0);
  const auto ua = a < 0 ? 0 - static_cast<std::uint64_t>(a) : static_cast<std::uint64_t>(a);
  const auto ub = b < 0 ? 0 - static_cast<std::uint64_t>(b) : static_cast<std::uint64_t>(b);
  // Enough bits for rounding (55), the rest folded into the last one.
  const int shift = std::max(0, 55 + bit_width(ub) - bit_width(ua));
  const uint128 wide = static_cast<uint128>(ua) << shift;
  auto q = static_cast<std::uint64_t>(wide / ub);
  if (wide % ub != 0) q |= 1;
  const double d = std::ldexp(static_cast<double>(q), -shift);
  return minus ? -d : d;
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) noexcept {
  const auto q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

std::int64_t floor_remainder(std::int64_t a, std::int64_t b) noexcept {
  if (b == -1) return 0;
  const auto r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

double real_remainder(double a, double b) noexcept {
  double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  if ((b < 0) != (r < 0)) r += b;
  return r;
}

/// Objects/floatobject.c, _float_div_mod.
double real_floor_quotient(double a, double b) noexcept {
  double r = std::fmod(a, b);
  double q = (a - r) / b;
  if (r != 0 && (b < 0) != (r < 0)) q -= 1;
  if (q == 0) return std::copysign(0.0, a / b);
  double f = std::floor(q);
  if (q - f > 0.5) f += 1;
  return f;
}

cell integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return cell::of(fault::division_by_zero);
    return cell::of(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  if (base == 0 || base == 1) return cell::of(exponent == 0 ? std::int64_t{1} : base);
  if (base == -1) return cell::of(exponent % 2 == 0 ? std::int64_t{1} : std::int64_t{-1});
  if (exponent > 63) return cell::of(fault::overflow);
  std::int64_t result = 1;
  for (; exponent > 0; --exponent)
    if (__builtin_mul_overflow(result, base, &result)) return cell::of(fault::overflow);
  return cell::of(result);
}

cell real_power(double base, double exponent) {
  if (exponent == 0 || base == 1) return cell::of(1.0);
  if (base == 0 && exponent < 0) return cell::of(fault::division_by_zero);
  if (base < 0 && std::isfinite(base) && std::isfinite(exponent) && exponent != std::floor(exponent))
    return cell::of(fault::value);
  const double r = std::pow(base, exponent);
  if (std::isinf(r) && std::isfinite(base) && std::isfinite(exponent)) return cell::of(fault::overflow);
  return cell::of(r);
}

cell to_integer(double d) {
  if (std::isnan(d)) return cell::of(fault::value);
  d = std::trunc(d);
  if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0)) return cell::of(fault::overflow);
  return cell::of(static_cast<std::int64_t>(d));
}

/// Digits with Python's single underscores between them taken out; none where they stand elsewhere.
std::optional<std::string> without_underscores(std::string_view s) {
  std::string out;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '_') {
      out += s[i];
    } else if (i == 0 || i + 1 == s.size() || !digit(s[i - 1]) || !digit(s[i + 1])) {
      return std::nullopt;
    }
  }
  return out;
}

cell repeat(cell what, std::int64_t times, pool& p) {
  const auto n = static_cast<std::size_t>(std::max<std::int64_t>(times, 0));
  if (what.what == kind::text) {
    const auto s = p.text_of(what);
    if (s.empty()) return what;
    if (n > pool::text_max / s.size()) return cell::of(fault::limit);
    std::string out;
    for (std::size_t i = 0; i < n; ++i) out += s;
    return p.text(out);
  }
  if (p.sequence_of(what) == sequence::range || p.sequence_of(what) == sequence::set) return cell::of(fault::type);
  const auto items = p.items_of(what);
  if (items.empty()) return what;
  if (n > pool::items_max / items.size()) return cell::of(fault::limit);
  std::vector<cell> out;
  for (std::size_t i = 0; i < n; ++i) out.insert(out.end(), items.begin(), items.end());
  return p.list(out, p.sequence_of(what));
}

bool equal(cell a, cell b, pool& p);

bool holds(std::span<const cell> items, cell c, pool& p) {
  return std::ranges::any_of(items, [&](cell i) { return i == c || equal(i, c, p); });
}

bool equal(cell a, cell b, pool& p) {
  if (a.number() && b.number()) return compare_numbers(a, b) == 0;
  if (a.what != kind::list || b.what != kind::list) return a == b && a.present();
  if (a == b) return true;
  const auto x = p.items_of(a), y = p.items_of(b);
  if (p.sequence_of(a) != p.sequence_of(b) || x.size() != y.size() || !p.step(x.size() + 1)) return false;
  if (p.sequence_of(a) == sequence::set) return std::ranges::all_of(x, [&](cell i) { return holds(y, i, p); });
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != y[i] && !equal(x[i], y[i], p)) return false;
  return true;
}

/// -1, 0, 1; 2: unordered; none: a TypeError.
std::optional<int> order(cell a, cell b, pool& p) {
  if (a.number() && b.number()) return compare_numbers(a, b);
  if (a.what != b.what) return std::nullopt;
  if (a.what == kind::text) {
    const int c = p.text_of(a).compare(p.text_of(b));
    return c < 0 ? -1 : c > 0 ? 1 : 0;
  }
  if (a.what != kind::list || p.sequence_of(a) != p.sequence_of(b) || p.sequence_of(a) == sequence::set ||
      p.sequence_of(a) == sequence::range)
    return std::nullopt;
  const auto x = p.items_of(a), y = p.items_of(b);
  if (!p.step(x.size() + 1)) return std::nullopt;
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i)
    if (x[i] != y[i] && !equal(x[i], y[i], p)) return order(x[i], y[i], p);
  return x.size() < y.size() ? -1 : x.size() > y.size() ? 1 : 0;
}

cell membership(cell item, cell where, pool& p, bool wanted) {
  if (where.what == kind::text) {
    if (item.what != kind::text) return cell::of(fault::type);
    return cell::of((p.text_of(where).find(p.text_of(item)) != std::string_view::npos) == wanted);
  }
  if (where.what != kind::list) return cell::of(fault::type);
  const auto items = p.items_of(where);
  if (!p.step(items.size())) return cell::of(fault::limit);
  return cell::of(holds(items, item, p) == wanted);
}

std::size_t characters(std::string_view s) noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(s, [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

cell element(cell from, cell at, pool& p) {
  if (!at.whole() || (from.what != kind::text && from.what != kind::list)) return cell::of(fault::type);
  if (from.what == kind::list && p.sequence_of(from) == sequence::set) return cell::of(fault::type);
  const auto items = iterate(from, p);
  if (!items) return cell::of(fault::limit);
  const auto n = static_cast<std::int64_t>(items->size());
  auto i = at.integer();
  if (i < -n || i >= n) return cell::of(fault::value);
  if (i < 0) i += n;
  return (*items)[static_cast<std::size_t>(i)];
}

cell arithmetic(operation op, cell a, cell b, pool& p) {
  if (a.whole() && b.whole()) {
    const auto x = a.integer(), y = b.integer();
    std::int64_t r = 0;
    bool over = false;
    switch (op) {
    case operation::add:
      over = __builtin_add_overflow(x, y, &r);
      break;
    case operation::subtract:
      over = __builtin_sub_overflow(x, y, &r);
      break;
    case operation::multiply:
      over = __builtin_mul_overflow(x, y, &r);
      break;
    case operation::divide:
      return y == 0 ? cell::of(fault::division_by_zero) : cell::of(true_quotient(x, y));
    case operation::floor_divide:
      if (y == 0) return cell::of(fault::division_by_zero);
      if (y == -1) {
        over = __builtin_sub_overflow(std::int64_t{0}, x, &r);
      } else {
        r = floor_quotient(x, y);
      }
      break;
    case operation::modulo:
      if (y == 0) return cell::of(fault::division_by_zero);
      r = floor_remainder(x, y);
      break;
    default:
      return integer_power(x, y);
    }
    return over ? cell::of(fault::overflow) : cell::of(r);
  }
  if (a.number() && b.number()) {
    const double x = a.to_double(), y = b.to_double();
    switch (op) {
    case operation::add:
      return cell::of(x + y);
    case operation::subtract:
      return cell::of(x - y);
    case operation::multiply:
      return cell::of(x * y);
    case operation::divide:
      return y == 0 ? cell::of(fault::division_by_zero) : cell::of(x / y);
    case operation::floor_divide:
      return y == 0 ? cell::of(fault::division_by_zero) : cell::of(real_floor_quotient(x, y));
    case operation::modulo:
      return y == 0 ? cell::of(fault::division_by_zero) : cell::of(real_remainder(x, y));
    default:
      return real_power(x, y);
    }
  }
  if (op == operation::add && a.what == kind::text && b.what == kind::text)
    return p.text(std::string(p.text_of(a)).append(p.text_of(b)));
  if (op == operation::add && a.what == kind::list && b.what == kind::list) {
    if (p.sequence_of(a) != p.sequence_of(b) || p.sequence_of(a) == sequence::range ||
        p.sequence_of(a) == sequence::set)
      return cell::of(fault::type);
    const auto x = p.items_of(a), y = p.items_of(b);
    std::vector<cell> all(x.begin(), x.end());
    all.insert(all.end(), y.begin(), y.end());
    return p.list(all, p.sequence_of(a));
  }
  if (op == operation::multiply && (a.what == kind::text || a.what == kind::list) && b.whole())
    return repeat(a, b.integer(), p);
  if (op == operation::multiply && (b.what == kind::text || b.what == kind::list) && a.whole())
    return repeat(b, a.integer(), p);
  return cell::of(fault::type);
}

cell bitwise(operation op, cell a, cell b) {
  if (!a.whole() || !b.whole()) return cell::of(fault::type);
  const auto x = a.integer(), y = b.integer();
  if (op == operation::shift_left || op == operation::shift_right) {
    if (y < 0) return cell::of(fault::value);
    if (op == operation::shift_right) return cell::of(x >> std::min<std::int64_t>(y, 63));
    if (x == 0) return cell::of(std::int64_t{0});
    if (y > 63 || x > highest >> y || x < lowest >> y) return cell::of(fault::overflow);
    return cell::of(static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << y));
  }
  const auto r = op == operation::bit_and ? x & y : op == operation::bit_or ? x | y : x ^ y;
  if (a.what == kind::boolean && b.what == kind::boolean) return cell::of(r != 0);
  return cell::of(r);
}

cell comparison(operation op, cell a, cell b, pool& p) {
  if (op == operation::equal) return cell::of(equal(a, b, p));
  if (op == operation::not_equal) return cell::of(!equal(a, b, p));
  const auto c = order(a, b, p);
  if (!c) return cell::of(fault::type);
  if (*c == 2) return cell::of(false);
  switch (op) {
  case operation::less:
    return cell::of(*c < 0);
  case operation::less_equal:
    return cell::of(*c <= 0);
  case operation::greater:
    return cell::of(*c > 0);
  default:
    return cell::of(*c >= 0);
  }
}

cell round_to(cell x, std::optional<cell> digits) {
  if (!x.number() || (digits && !digits->whole())) return cell::of(fault::type);
  const std::int64_t n = digits ? digits->integer() : 0;
  if (x.whole()) {
    if (n >= 0) return cell::of(x.integer());
    if (n < -19) return cell::of(std::int64_t{0}); // half of 10^20 is beyond every 64-bit integer
    int128 unit = 1;
    for (std::int64_t i = 0; i > n; --i) unit *= 10;
    const int128 v = x.integer();
    int128 down = v / unit * unit;
    if (down > v) down -= unit;
    const int128 twice = 2 * (v - down);
    const bool odd = (down / unit) % 2 != 0;
    if (twice > unit || (twice == unit && odd)) down += unit;
    if (down > highest || down < lowest) return cell::of(fault::overflow);
    return cell::of(static_cast<std::int64_t>(down));
  }
  const double d = x.real();
  if (!digits) {
    if (std::isinf(d)) return cell::of(fault::overflow);
    return to_integer(std::nearbyint(d)); // the default rounding is half to even, as Python's
  }
  // Python rounds the exact decimal expansion half to even: what printing with n decimals does.
  if (!std::isfinite(d) || n > 323) return x;
  if (n < -308) return cell::of(std::copysign(0.0, d));
  std::array<char, 800> buffer{};
  if (n >= 0) {
    const auto end =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), d, std::chars_format::fixed, static_cast<int>(n))
            .ptr;
    double r = 0;
    std::from_chars(buffer.data(), end, r, std::chars_format::fixed);
    return cell::of(r);
  }
  // Tens and up: the digits before the point, rounded in decimal by hand.
  const auto end =
      std::to_chars(buffer.data() + 1, buffer.data() + buffer.size(), std::fabs(d), std::chars_format::fixed, 0).ptr;
  std::string s(buffer.data() + 1, end);
  const bool below = std::fabs(d) < std::nearbyint(std::fabs(d)); // what printing rounded up
  const bool above = std::fabs(d) > std::nearbyint(std::fabs(d));
  const auto cut = static_cast<std::size_t>(-n);
  if (s.size() < cut) return cell::of(std::copysign(0.0, d));
  s.insert(s.begin(), '0');
  const auto head = s.size() - cut;
  const auto rest = std::string_view(s).substr(head);
  const bool half = rest[0] == '5' && rest.find_first_not_of('0', 1) == std::string_view::npos;
  bool up = rest[0] >= '5';
  if (half) up = above || (!below && (s[head - 1] - '0') % 2 != 0);
  if (up)
    for (auto i = head; i-- > 0;) {
      if (s[i] != '9') {
        ++s[i];
        break;
      }
      s[i] = '0';
    }
  std::fill(s.begin() + static_cast<std::ptrdiff_t>(head), s.end(), '0');
  double r = 0;
  std::from_chars(s.data(), s.data() + s.size(), r, std::chars_format::fixed);
  if (std::isinf(r)) return cell::of(fault::overflow);
  return cell::of(std::copysign(r, d));
}

cell make_range(std::span<const cell> o, pool& p) {
  for (const auto& c : o)
    if (!c.whole()) return cell::of(fault::type);
  const std::int64_t from = o.size() == 1 ? 0 : o[0].integer();
  const std::int64_t to = o.size() == 1 ? o[0].integer() : o[1].integer();
  const std::int64_t by = o.size() == 3 ? o[2].integer() : 1;
  if (by == 0) return cell::of(fault::value);
  const int128 span = by > 0 ? static_cast<int128>(to) - from : static_cast<int128>(from) - to;
  const int128 width = by > 0 ? static_cast<int128>(by) : -static_cast<int128>(by);
  const int128 n = span <= 0 ? 0 : (span + width - 1) / width;
  if (n > static_cast<int128>(pool::items_max) || !p.step(static_cast<std::uint64_t>(n))) return cell::of(fault::limit);
  std::vector<cell> items;
  items.reserve(static_cast<std::size_t>(n));
  int128 at = from;
  for (int128 i = 0; i < n; ++i, at += by) items.push_back(cell::of(static_cast<std::int64_t>(at)));
  return p.list(items, sequence::range);
}

cell make_set(std::span<const cell> items, pool& p) {
  std::vector<cell> out;
  for (const auto& i : items) {
    if (i.what == kind::list && p.sequence_of(i) != sequence::tuple) return cell::of(fault::type); // not hashable
    if (!p.step(out.size() + 1)) return cell::of(fault::limit);
    if (!holds(out, i, p)) out.push_back(i);
  }
  return p.list(out, sequence::set);
}

cell extreme(operation op, std::span<const cell> o, pool& p) {
  std::vector<cell> items;
  if (o.size() == 1) {
    auto all = iterate(o[0], p);
    if (!all) return cell::of(o[0].number() ? fault::type : fault::limit);
    items = std::move(*all);
    if (items.empty()) return cell::of(fault::value);
  } else {
    items.assign(o.begin(), o.end());
  }
  auto best = items[0];
  for (std::size_t i = 1; i < items.size(); ++i) {
    const auto c = order(items[i], best, p);
    if (!c) return cell::of(fault::type);
    if (op == operation::call_min ? *c == -1 : *c == 1) best = items[i];
  }
  return best;
}

cell convert_to_integer(cell c, const pool& p) {
  if (c.whole()) return cell::of(c.integer());
  if (c.what == kind::real) return std::isinf(c.real()) ? cell::of(fault::overflow) : to_integer(c.real());
  if (c.what != kind::text) return cell::of(fault::type);
  const auto digits = without_underscores(trim(p.text_of(c)));
  if (!digits || digits->find_first_not_of("0123456789+-") != std::string::npos) return cell::of(fault::value);
  const auto at = digits->find_first_of("0123456789");
  if (at == std::string::npos || at > 1 || // NOLINT(misc-redundant-expression): there is a digit, and one sign at most
      digits->find_first_of("+-", at) != std::string::npos)
    return cell::of(fault::value);
  const auto i = parse_integer(*digits);
  return i ? cell::of(*i) : cell::of(fault::overflow);
}

cell convert_to_real(cell c, const pool& p) {
  if (c.number()) return cell::of(c.to_double());
  if (c.what != kind::text) return cell::of(fault::type);
  const auto digits = without_underscores(trim(p.text_of(c)));
  if (!digits || digits->find_first_of("xXpP(") != std::string::npos) return cell::of(fault::value);
  const auto d = parse_double(*digits);
  return d ? cell::of(*d) : cell::of(fault::value);
}

cell length(cell c, const pool& p) {
  if (c.what == kind::text) return cell::of(static_cast<std::int64_t>(characters(p.text_of(c))));
  if (c.what == kind::list) return cell::of(static_cast<std::int64_t>(p.items_of(c).size()));
  return cell::of(fault::type);
}

cell sum(std::span<const cell> o, pool& p) {
  const auto items = iterate(o[0], p);
  if (!items) return cell::of(o[0].number() ? fault::type : fault::limit);
  cell total = o.size() == 2 ? o[1] : cell::of(std::int64_t{0});
  if (total.what == kind::text) return cell::of(fault::type); // Python refuses to sum strings
  for (const auto& i : *items) total = operate(operation::add, total, i, p);
  return total;
}

cell method(operation op, cell object, cell argument, pool& p) {
  if (op == operation::method_startswith || op == operation::method_endswith) {
    if (object.what != kind::text || argument.what != kind::text) return cell::of(fault::type);
    const auto s = p.text_of(object), t = p.text_of(argument);
    return cell::of(op == operation::method_startswith ? s.starts_with(t) : s.ends_with(t));
  }
  if (object.what == kind::text) {
    if (argument.what != kind::text) return cell::of(fault::type);
    const auto s = p.text_of(object), t = p.text_of(argument);
    if (op == operation::method_index) {
      const auto at = s.find(t);
      if (at == std::string_view::npos) return cell::of(fault::value);
      return cell::of(static_cast<std::int64_t>(characters(s.substr(0, at))));
    }
    if (t.empty()) return cell::of(static_cast<std::int64_t>(characters(s)) + 1);
    std::int64_t n = 0;
    for (auto at = s.find(t); at != std::string_view::npos; at = s.find(t, at + t.size())) ++n;
    return cell::of(n);
  }
  if (object.what != kind::list || p.sequence_of(object) == sequence::set) return cell::of(fault::type);
  const auto items = p.items_of(object);
  if (!p.step(items.size())) return cell::of(fault::limit);
  std::int64_t n = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i] != argument && !equal(items[i], argument, p)) continue;
    if (op == operation::method_index) return cell::of(static_cast<std::int64_t>(i));
    ++n;
  }
  return op == operation::method_index ? cell::of(fault::value) : cell::of(n);
}

cell unary(operation op, cell a, pool& p) {
  if (op == operation::logical_not) return cell::of(!truth(a, p));
  if (op == operation::invert) return a.whole() ? cell::of(~a.integer()) : cell::of(fault::type);
  if (!a.number()) return cell::of(fault::type);
  if (a.what == kind::real)
    return cell::of(op == operation::negate ? -a.real() : op == operation::plus ? a.real() : std::fabs(a.real()));
  const auto i = a.integer();
  if (op == operation::plus || (op == operation::call_abs && i >= 0)) return cell::of(i);
  return i == lowest ? cell::of(fault::overflow) : cell::of(-i);
}

cell call(operation op, std::span<const cell> o, pool& p) {
  switch (op) {
  case operation::call_min:
  case operation::call_max:
    return extreme(op, o, p);
  case operation::call_round:
    return round_to(o[0], o.size() == 2 ? std::optional(o[1]) : std::nullopt);
  case operation::call_int:
    return o.empty() ? cell::of(std::int64_t{0}) : convert_to_integer(o[0], p);
  case operation::call_float:
    return o.empty() ? cell::of(0.0) : convert_to_real(o[0], p);
  case operation::call_bool:
    return cell::of(!o.empty() && truth(o[0], p));
  case operation::call_len:
    return length(o[0], p);
  case operation::call_sum:
    return sum(o, p);
  case operation::call_range:
    return make_range(o, p);
  default:
    break;
  }
  std::vector<cell> items;
  if (!o.empty()) {
    auto all = iterate(o[0], p);
    if (!all) return cell::of(o[0].number() ? fault::type : fault::limit);
    items = std::move(*all);
  }
  switch (op) {
  case operation::call_list:
    return p.list(items);
  case operation::call_tuple:
    return p.list(items, sequence::tuple);
  case operation::call_set:
    return make_set(items, p);
  case operation::call_any:
    return cell::of(std::ranges::any_of(items, [&](cell c) { return truth(c, p); }));
  case operation::call_all:
    return cell::of(std::ranges::all_of(items, [&](cell c) { return truth(c, p); }));
  default:
    break;
  }
  bool comparable = true;
  std::ranges::stable_sort(items, [&](cell a, cell b) {
    const auto c = order(a, b, p);
    if (!c) comparable = false;
    // Any strict weak order will do once a comparison failed; unordered NaNs keep their places.
    return c == -1;
  });
  return comparable ? p.list(items) : cell::of(fault::type);
}

} // namespace

std::optional<operation> function_named(std::string_view name) noexcept {
  for (const auto& e : functions)
    if (e.name == name) return e.op;
  return std::nullopt;
}

std::optional<operation> method_named(std::string_view name) noexcept {
  for (const auto& e : methods)
    if (e.name == name) return e.op;
  return std::nullopt;
}

std::pair<std::size_t, std::size_t> arity(operation op) noexcept {
  for (const auto& e : functions)
    if (e.op == op) return {e.least, e.most};
  for (const auto& e : methods)
    if (e.op == op) return {e.least, e.most};
  return {0, any_number};
}

std::string_view spelling(operation op) noexcept {
  constexpr std::array<std::string_view, 31> signs{"+", "-", "*",   "/",   "//", "%",  "**", "<<", ">>",     "&",  "|",
                                                   "^", "<", "<=",  ">",   ">=", "==", "!=", "in", "not in", "[]", "-",
                                                   "+", "~", "not", "and", "or", "if", "[]", "()", "{}"};
  for (const auto& e : functions)
    if (e.op == op) return e.name;
  for (const auto& e : methods)
    if (e.op == op) return e.name;
  return signs[static_cast<std::size_t>(op)];
}

bool truth(cell c, const pool& p) noexcept {
  switch (c.what) {
  case kind::boolean:
  case kind::integer:
    return c.bits != 0;
  case kind::real:
    return c.real() != 0; // NaN is true
  case kind::text:
    return !p.text_of(c).empty();
  case kind::list:
    return !p.items_of(c).empty();
  case kind::absent:
  case kind::failed:
    break;
  }
  return false;
}

int compare_numbers(cell a, cell b) noexcept {
  if (a.whole() && b.whole()) return a.integer() < b.integer() ? -1 : a.integer() > b.integer() ? 1 : 0;
  if (a.whole()) {
    const int c = compare_numbers(b, a);
    return c == 2 ? 2 : -c;
  }
  const double x = a.real();
  if (std::isnan(x)) return 2;
  if (b.what == kind::real) {
    const double y = b.real();
    return std::isnan(y) ? 2 : x < y ? -1 : x > y ? 1 : 0;
  }
  // A float against an integer, exactly: compare the whole parts, then the fraction.
  if (x >= 9223372036854775808.0) return 1;
  if (x < -9223372036854775808.0) return -1;
  const double whole = std::floor(x);
  const auto i = static_cast<std::int64_t>(whole);
  if (i != b.integer()) return i < b.integer() ? -1 : 1;
  return x > whole ? 1 : 0;
}

std::optional<std::vector<cell>> iterate(cell c, pool& p) {
  std::vector<cell> out;
  if (c.what == kind::list) {
    const auto items = p.items_of(c);
    if (!p.step(items.size())) return std::nullopt;
    out.assign(items.begin(), items.end());
    return out;
  }
  if (c.what != kind::text) return std::nullopt;
  const std::string s(p.text_of(c)); // a copy: the pool grows below
  if (!p.step(s.size())) return std::nullopt;
  for (std::size_t i = 0; i < s.size();) {
    auto j = i + 1;
    while (j < s.size() && (static_cast<unsigned char>(s[j]) & 0xc0u) == 0x80u) ++j;
    out.push_back(p.text(std::string_view(s).substr(i, j - i)));
    if (out.back().failed()) return std::nullopt;
    i = j;
  }
  return out;
}

cell operate(operation op, cell a, cell b, pool& p) {
  if (!a.present()) return a;
  if (!b.present()) return b;
  switch (op) {
  case operation::add:
  case operation::subtract:
  case operation::multiply:
  case operation::divide:
  case operation::floor_divide:
  case operation::modulo:
  case operation::power:
  case operation::call_pow:
    return arithmetic(op, a, b, p);
  case operation::shift_left:
  case operation::shift_right:
  case operation::bit_and:
  case operation::bit_or:
  case operation::bit_xor:
    return bitwise(op, a, b);
  case operation::contains:
    return membership(a, b, p, true);
  case operation::excludes:
    return membership(a, b, p, false);
  case operation::subscript:
    return element(a, b, p);
  case operation::method_index:
  case operation::method_count:
  case operation::method_startswith:
  case operation::method_endswith:
    return method(op, a, b, p);
  default:
    return comparison(op, a, b, p);
  }
}

cell operate(operation op, std::span<const cell> o, pool& p) {
  switch (op) {
  case operation::logical_and:
  case operation::logical_or:
    for (std::size_t i = 0; i + 1 < o.size(); ++i) {
      if (!o[i].present()) return o[i];
      if (truth(o[i], p) == (op == operation::logical_or)) return o[i];
    }
    return o.back();
  case operation::choose:
    if (!o[0].present()) return o[0];
    return truth(o[0], p) ? o[1] : o[2];
  default:
    break;
  }
  for (const auto& c : o)
    if (!c.present()) return c;
  switch (op) {
  case operation::make_list:
    return p.list(o);
  case operation::make_tuple:
    return p.list(o, sequence::tuple);
  case operation::make_set:
    return make_set(o, p);
  case operation::negate:
  case operation::plus:
  case operation::invert:
  case operation::logical_not:
  case operation::call_abs:
    return unary(op, o[0], p);
  default:
    break;
  }
  if (op >= operation::call_min && op < operation::call_pow) return call(op, o, p);
  return operate(op, o[0], o[1], p);
}

} // namespace attune::search
