#include "search/bounds.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace attune::search {

namespace {

__extension__ using int128 = __int128;

constexpr auto int64_lowest = std::numeric_limits<std::int64_t>::min();
constexpr auto int64_highest = std::numeric_limits<std::int64_t>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();

struct interval {
  double lo, hi;
};

double below(double d) noexcept { return std::nextafter(d, -infinity); }
double above(double d) noexcept { return std::nextafter(d, infinity); }

/// All numbers as a real interval, outward.
interval hull(const bounds& b) noexcept {
  if (b.types & bounds::real) return {b.real_lo, b.real_hi};
  return {below(static_cast<double>(b.lo)), above(static_cast<double>(b.hi))};
}

bounds real_between(double lo, double hi) noexcept {
  bounds out;
  out.types = bounds::real;
  lo = below(lo);
  hi = above(hi);
  if (std::isfinite(lo) && std::isfinite(hi)) {
    out.real_lo = lo;
    out.real_hi = hi;
  } else {
    out.nan = true; // infinities may cancel
  }
  return out;
}

bounds whole_between(int128 lo, int128 hi) noexcept {
  bounds out;
  out.types = bounds::integer;
  out.fails = lo < int64_lowest || hi > int64_highest;
  if (lo > int64_highest || hi < int64_lowest) { // nothing but overflow
    out.types = 0;
    return out;
  }
  out.lo = static_cast<std::int64_t>(std::max<int128>(lo, int64_lowest));
  out.hi = static_cast<std::int64_t>(std::min<int128>(hi, int64_highest));
  return out;
}

bounds flag(bool may_false, bool may_true, bool fails) noexcept {
  bounds out;
  out.types = bounds::boolean;
  out.lo = may_false ? 0 : 1;
  out.hi = may_true ? 1 : 0;
  out.fails = fails;
  return out;
}

bounds multiply(const bounds& a, const bounds& b) noexcept {
  const std::array<int128, 4> corners{static_cast<int128>(a.lo) * b.lo, static_cast<int128>(a.lo) * b.hi,
                                      static_cast<int128>(a.hi) * b.lo, static_cast<int128>(a.hi) * b.hi};
  return whole_between(*std::ranges::min_element(corners), *std::ranges::max_element(corners));
}

int128 floor_of(int128 a, int128 b) noexcept {
  const int128 q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

bounds floor_divide(const bounds& a, const bounds& b) noexcept {
  const bool zero = b.lo <= 0 && b.hi >= 0;
  bool any = false;
  int128 lo = 0, hi = 0;
  for (const std::int64_t d : {b.lo, b.hi, std::int64_t{-1}, std::int64_t{1}}) {
    if (d == 0 || d < b.lo || d > b.hi) continue;
    for (const auto n : {a.lo, a.hi}) {
      const auto q = floor_of(n, d);
      lo = any ? std::min(lo, q) : q;
      hi = any ? std::max(hi, q) : q;
      any = true;
    }
  }
  bounds out;
  if (any) out = whole_between(lo, hi);
  out.fails |= zero;
  return out;
}

bounds modulo(const bounds& a, const bounds& b) noexcept {
  bounds out;
  out.fails = b.lo <= 0 && b.hi >= 0;
  if (b.lo == 0 && b.hi == 0) return out;
  out.types = bounds::integer;
  out.lo = b.lo < 0 ? b.lo + 1 : 0;
  out.hi = b.hi > 0 ? b.hi - 1 : 0;
  if (b.lo >= 0 && a.lo >= 0) {
    if (a.hi < b.lo) out.lo = a.lo;
    out.hi = std::min(out.hi, a.hi);
  }
  return out;
}

bounds power(const bounds& a, const bounds& b) noexcept {
  if (a.lo < 0 || b.lo < 0) return bounds::of_types(bounds::integer | bounds::real, true);
  const auto raise = [](std::int64_t base, std::int64_t exponent) -> int128 {
    int128 r = 1;
    for (std::int64_t i = 0; i < exponent && r <= int64_highest && base > 1; ++i) r *= base;
    return base == 0 && exponent > 0 ? 0 : r;
  };
  return whole_between(a.lo == 0 ? 0 : raise(a.lo, b.lo), std::max<int128>(raise(a.hi, b.hi), 1));
}

bounds bitwise(operation op, const bounds& a, const bounds& b) noexcept {
  bounds out = bounds::of_types(bounds::whole, false);
  if (op == operation::shift_left) {
    if (b.lo < 0 || b.hi > 62) return bounds::of_types(bounds::integer, true);
    return multiply(a, bounds::between(std::int64_t{1} << b.lo, std::int64_t{1} << b.hi));
  }
  if (op == operation::shift_right) {
    out.types = bounds::integer;
    out.fails = b.lo < 0;
    if (a.lo >= 0) {
      out.lo = a.lo >> std::clamp<std::int64_t>(b.hi, 0, 63);
      out.hi = a.hi >> std::clamp<std::int64_t>(b.lo, 0, 63);
    }
    return out;
  }
  if (a.lo < 0 || b.lo < 0) return out;
  out.lo = 0;
  if (op == operation::bit_and) {
    out.hi = std::min(a.hi, b.hi);
  } else {
    const auto width = 64 - std::countl_zero(static_cast<std::uint64_t>(a.hi | b.hi) | 1);
    out.hi = width >= 63 ? int64_highest : (std::int64_t{1} << width) - 1;
  }
  return out;
}

bounds real_arithmetic(operation op, const bounds& a, const bounds& b) noexcept {
  const auto x = hull(a), y = hull(b);
  bounds out = bounds::of_types(bounds::real, false);
  out.nan = true;
  const bool known =
      !a.nan && !b.nan && std::isfinite(x.lo) && std::isfinite(x.hi) && std::isfinite(y.lo) && std::isfinite(y.hi);
  const bool zero = !(b.types & bounds::real) ? b.lo <= 0 && b.hi >= 0 : !known || (y.lo <= 0 && y.hi >= 0);
  switch (op) {
  case operation::add:
    return known ? real_between(x.lo + y.lo, x.hi + y.hi) : out;
  case operation::subtract:
    return known ? real_between(x.lo - y.hi, x.hi - y.lo) : out;
  case operation::multiply:
  case operation::divide: {
    if (op == operation::divide) out.fails = zero;
    if (!known) return out;
    auto lo = y.lo, hi = y.hi;
    if (op == operation::divide && zero) {
      // A whole divisor is at least one away from zero; a real one may be as near as it likes.
      if ((b.types & bounds::real) || (b.lo < 0 && b.hi > 0) || (b.lo == 0 && b.hi == 0)) return out;
      if (b.lo == 0) lo = 1;
      if (b.hi == 0) hi = -1;
    }
    const auto f = [op](double p, double q) { return op == operation::divide ? p / q : p * q; };
    if (op == operation::divide && lo <= 0 && hi >= 0) return out;
    const std::array corners{f(x.lo, lo), f(x.lo, hi), f(x.hi, lo), f(x.hi, hi)};
    auto made = real_between(*std::ranges::min_element(corners), *std::ranges::max_element(corners));
    made.fails = op == operation::divide && zero;
    return made;
  }
  case operation::modulo:
    out.fails = zero;
    if (known && !zero) {
      out = y.lo > 0 ? real_between(0, y.hi) : real_between(y.lo, 0);
      out.fails = false;
    }
    return out;
  case operation::floor_divide:
    out.fails = zero;
    return out;
  default:
    break;
  }
  out.fails = true;
  return out;
}

bounds arithmetic(operation op, const bounds& a, const bounds& b) noexcept {
  if (!a.numbers_only() || !b.numbers_only()) {
    // Texts and lists: add and multiply make them; whatever does not go together fails.
    const std::uint8_t sequences = (a.types | b.types) & (bounds::text | bounds::list);
    const std::uint8_t numbers = (a.types & bounds::number) && (b.types & bounds::number) ? bounds::number : 0;
    const bool joins = op == operation::add || op == operation::multiply;
    auto out = bounds::of_types(static_cast<std::uint8_t>((joins ? sequences : 0) | numbers), true);
    out.nan = true;
    return out;
  }
  if (op == operation::divide || !a.whole_only() || !b.whole_only()) {
    auto out = real_arithmetic(op, a, b);
    if ((a.types & bounds::whole) && (b.types & bounds::whole) && op != operation::divide) {
      // Both whole as well: the sum is then an integer of the same size, or beyond 64 bits.
      out.types |= bounds::integer;
      out.fails = true;
    }
    return out;
  }
  switch (op) {
  case operation::add:
    return whole_between(static_cast<int128>(a.lo) + b.lo, static_cast<int128>(a.hi) + b.hi);
  case operation::subtract:
    return whole_between(static_cast<int128>(a.lo) - b.hi, static_cast<int128>(a.hi) - b.lo);
  case operation::multiply:
    return multiply(a, b);
  case operation::floor_divide:
    return floor_divide(a, b);
  case operation::modulo:
    return modulo(a, b);
  default:
    return power(a, b);
  }
}

bounds comparison(operation op, const bounds& a, const bounds& b) noexcept {
  const bool equality = op == operation::equal || op == operation::not_equal;
  if (!a.numbers_only() || !b.numbers_only()) {
    if (!equality) return flag(true, true, true);
    // Equal only within one type, numbers being one.
    const auto family = [](std::uint8_t t) { return (t & bounds::number) ? (t | bounds::number) : t; };
    const bool apart = (family(a.types) & family(b.types)) == 0;
    return flag(!(apart && op == operation::not_equal), !(apart && op == operation::equal), false);
  }
  // -1: always less, 1: always greater, 0: always equal, 2: open; less or equal, greater or equal alike.
  bool less = false, greater = false, not_less = false, not_greater = false;
  if (a.whole_only() && b.whole_only()) {
    less = a.hi < b.lo;
    greater = a.lo > b.hi;
    not_greater = a.hi <= b.lo;
    not_less = a.lo >= b.hi;
  } else if (!a.nan && !b.nan) {
    const auto x = hull(a), y = hull(b);
    less = x.hi < y.lo;
    greater = x.lo > y.hi;
    not_greater = less;
    not_less = greater;
    if (x.lo == x.hi && y.lo == y.hi && x.lo == y.lo) not_greater = not_less = true;
  }
  // A NaN makes every order false, and ordering is then never certain above.
  switch (op) {
  case operation::less:
    return flag(!less, !not_less, false);
  case operation::less_equal:
    return flag(!not_greater, !greater, false);
  case operation::greater:
    return flag(!greater, !not_greater, false);
  case operation::greater_equal:
    return flag(!not_less, !less, false);
  case operation::equal:
    return flag(!(not_less && not_greater), !(less || greater), false);
  default:
    return flag(!(less || greater), !(not_less && not_greater), false);
  }
}

bounds logical(operation op, std::span<const bounds> o) noexcept {
  bounds out;
  out.lo = int64_highest;
  out.hi = int64_lowest;
  out.real_lo = infinity;
  out.real_hi = -infinity;
  for (std::size_t i = 0; i < o.size(); ++i) {
    if (i + 1 == o.size()) {
      out.join(o[i]);
      break;
    }
    const bool stays = op == operation::logical_or ? o[i].may_be_true() : o[i].may_be_false();
    const bool goes_on = op == operation::logical_or ? o[i].may_be_false() : o[i].may_be_true();
    if (stays) {
      auto kept = o[i];
      // What ends an `and` is false, what ends an `or` is true.
      if (kept.whole_only()) {
        if (op == operation::logical_and)
          kept.lo = kept.hi = 0;
        else if (kept.lo == 0 && kept.hi > 0)
          kept.lo = 1;
        else if (kept.hi == 0 && kept.lo < 0)
          kept.hi = -1;
      }
      out.join(kept);
    } else {
      out.fails |= o[i].fails;
      out.absent |= o[i].absent;
    }
    if (!goes_on) break;
  }
  return out;
}

bounds extreme(operation op, std::span<const bounds> o) noexcept {
  if (o.size() < 2 || !std::ranges::all_of(o, &bounds::numbers_only)) return bounds::unknown();
  bounds out = o[0];
  for (const auto& b : o.subspan(1)) {
    const auto x = hull(out), y = hull(b);
    const bool low = op == operation::call_min;
    const auto whole_lo = low ? std::min(out.lo, b.lo) : std::max(out.lo, b.lo);
    const auto whole_hi = low ? std::min(out.hi, b.hi) : std::max(out.hi, b.hi);
    out.join(b);
    if (out.whole_only()) {
      out.lo = whole_lo;
      out.hi = whole_hi;
    } else if (!out.nan) {
      out.real_lo = low ? std::min(x.lo, y.lo) : std::max(x.lo, y.lo);
      out.real_hi = low ? std::min(x.hi, y.hi) : std::max(x.hi, y.hi);
    }
  }
  return out;
}

bounds unary(operation op, const bounds& a) noexcept {
  if (op == operation::logical_not) return flag(a.may_be_true(), a.may_be_false(), false);
  if (!a.numbers_only()) return bounds::of_types(bounds::number, true);
  if (op == operation::invert)
    return a.whole_only() ? whole_between(-static_cast<int128>(a.hi) - 1, -static_cast<int128>(a.lo) - 1)
                          : bounds::of_types(bounds::integer, true);
  if (a.whole_only()) {
    if (op == operation::plus) return whole_between(a.lo, a.hi);
    const auto lo = -static_cast<int128>(a.hi), hi = -static_cast<int128>(a.lo);
    if (op == operation::negate) return whole_between(lo, hi);
    const int128 least = a.lo > 0 ? a.lo : a.hi < 0 ? lo : 0;
    return whole_between(least, std::max<int128>(a.hi, hi));
  }
  auto out = a;
  if (op == operation::plus) return out;
  if (a.types & bounds::whole) out.fails = true;
  out.real_lo = op == operation::negate ? -a.real_hi : 0;
  out.real_hi = op == operation::negate ? -a.real_lo : std::max(std::fabs(a.real_lo), std::fabs(a.real_hi));
  if (out.types & bounds::boolean) out.types |= bounds::integer;
  return out;
}

bounds call(operation op, std::span<const bounds> o) noexcept {
  switch (op) {
  case operation::call_min:
  case operation::call_max:
    return extreme(op, o);
  case operation::call_bool:
    return o.empty() ? flag(true, false, false) : flag(o[0].may_be_false(), o[0].may_be_true(), false);
  case operation::call_int:
  case operation::call_round:
    if (o.size() == 1 && o[0].whole_only()) return whole_between(o[0].lo, o[0].hi);
    return bounds::of_types(o.size() == 1 ? bounds::integer : bounds::number, true);
  case operation::call_len: {
    auto out = bounds::between(0, static_cast<std::int64_t>(pool::items_max));
    out.fails = o.empty() || (o[0].types & bounds::number) != 0;
    return out;
  }
  case operation::call_any:
  case operation::call_all:
    return flag(true, true, true);
  default:
    break;
  }
  return bounds::unknown();
}

} // namespace

bounds bounds::of(cell c) noexcept {
  bounds out;
  switch (c.what) {
  case cell::kind::absent:
    out.absent = true;
    break;
  case cell::kind::failed:
    out.fails = true;
    break;
  case cell::kind::boolean:
  case cell::kind::integer:
    out.types = c.what == cell::kind::boolean ? boolean : integer;
    out.lo = out.hi = c.integer();
    break;
  case cell::kind::real:
    out.types = real;
    if (std::isnan(c.real())) {
      out.nan = true;
    } else {
      out.real_lo = out.real_hi = c.real();
    }
    break;
  case cell::kind::text:
    out.types = text;
    break;
  case cell::kind::list:
    out.types = list;
    break;
  }
  return out;
}

bounds bounds::unknown() noexcept {
  auto out = of_types(any, true);
  out.absent = out.nan = true;
  return out;
}

bounds bounds::of_types(std::uint8_t types, bool fails) noexcept {
  bounds out;
  out.types = types;
  out.fails = fails;
  out.nan = (types & real) != 0;
  return out;
}

bounds bounds::between(std::int64_t lo, std::int64_t hi) noexcept {
  bounds out;
  out.types = integer;
  out.lo = lo;
  out.hi = hi;
  return out;
}

bounds& bounds::join(const bounds& other) noexcept {
  fails |= other.fails;
  absent |= other.absent;
  nan |= other.nan;
  if ((other.types & number) == 0) {
    types |= other.types;
    return *this;
  }
  if ((types & number) == 0) {
    const auto mine = types;
    const bool f = fails, a = absent, n = nan;
    *this = other;
    types |= mine;
    fails = f;
    absent = a;
    nan = n;
    return *this;
  }
  if ((types | other.types) & real) {
    const auto x = hull(*this), y = hull(other);
    real_lo = std::min(x.lo, y.lo);
    real_hi = std::max(x.hi, y.hi);
  } else {
    lo = std::min(lo, other.lo);
    hi = std::max(hi, other.hi);
  }
  types |= other.types;
  return *this;
}

bool bounds::may_be_true() const noexcept {
  if (types & (text | list)) return true;
  if ((types & number) == 0) return false;
  if (types & real) return nan || real_lo < 0 || real_hi > 0;
  return lo < 0 || hi > 0;
}

bool bounds::may_be_false() const noexcept {
  if (types & (text | list)) return true;
  if ((types & number) == 0) return false;
  if (types & real) return real_lo <= 0 && real_hi >= 0;
  return lo <= 0 && hi >= 0;
}

bounds operate(operation op, std::span<const bounds> o) noexcept {
  if (op == operation::logical_and || op == operation::logical_or) return logical(op, o);
  if (op == operation::choose) {
    bounds out;
    if (o[0].may_be_true()) out.join(o[1]);
    if (o[0].may_be_false()) out.join(o[2]);
    out.fails |= o[0].fails;
    out.absent |= o[0].absent;
    return out;
  }
  bool fails = false, absent = false, present = true;
  for (const auto& b : o) {
    fails |= b.fails;
    absent |= b.absent;
    present &= b.types != 0;
  }
  bounds out;
  if (present) {
    switch (op) {
    case operation::add:
    case operation::subtract:
    case operation::multiply:
    case operation::divide:
    case operation::floor_divide:
    case operation::modulo:
    case operation::call_pow:
    case operation::power:
      out = arithmetic(op, o[0], o[1]);
      break;
    case operation::shift_left:
    case operation::shift_right:
    case operation::bit_and:
    case operation::bit_or:
    case operation::bit_xor:
      out = o[0].whole_only() && o[1].whole_only() ? bitwise(op, o[0], o[1]) : bounds::of_types(bounds::whole, true);
      break;
    case operation::less:
    case operation::less_equal:
    case operation::greater:
    case operation::greater_equal:
    case operation::equal:
    case operation::not_equal:
      out = comparison(op, o[0], o[1]);
      break;
    case operation::contains:
    case operation::excludes:
      out = flag(true, true, true);
      break;
    case operation::negate:
    case operation::plus:
    case operation::invert:
    case operation::logical_not:
    case operation::call_abs:
      out = unary(op, o[0]);
      break;
    case operation::make_list:
    case operation::make_tuple:
    case operation::make_set:
      out = bounds::of_types(bounds::list, true);
      break;
    default:
      out = call(op, o);
      break;
    }
  }
  out.fails |= fails;
  out.absent |= absent;
  return out;
}

bool clash(operation op, std::span<const bounds> o) noexcept {
  for (const auto& b : o)
    if (b.types == 0) return false;
  const auto both = [&](std::uint8_t mask) { return (o[0].types & mask) && (o[1].types & mask); };
  switch (op) {
  case operation::add:
    return !both(bounds::number) && !both(bounds::text) && !both(bounds::list);
  case operation::multiply:
    return !both(bounds::number) && !((o[0].types & (bounds::text | bounds::list)) && (o[1].types & bounds::whole)) &&
           !((o[1].types & (bounds::text | bounds::list)) && (o[0].types & bounds::whole));
  case operation::subtract:
  case operation::divide:
  case operation::floor_divide:
  case operation::modulo:
  case operation::power:
  case operation::call_pow:
    return !both(bounds::number);
  case operation::less:
  case operation::less_equal:
  case operation::greater:
  case operation::greater_equal:
    return !both(bounds::number) && !both(bounds::text) && !both(bounds::list);
  case operation::shift_left:
  case operation::shift_right:
  case operation::bit_and:
  case operation::bit_or:
  case operation::bit_xor:
    return !both(bounds::whole);
  case operation::contains:
  case operation::excludes:
    return !(o[1].types & bounds::list) && !((o[1].types & bounds::text) && (o[0].types & bounds::text));
  case operation::negate:
  case operation::plus:
  case operation::call_abs:
  case operation::call_round:
    return !(o[0].types & bounds::number);
  case operation::invert:
    return !(o[0].types & bounds::whole);
  default:
    return false;
  }
}

verdict judge(const bounds& b) noexcept {
  if (!b.fails && !b.may_be_false()) return verdict::holds;
  if (!b.absent && !b.may_be_true()) return verdict::broken;
  return verdict::open;
}

} // namespace attune::search
