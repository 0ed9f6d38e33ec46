#include "search/domain.hpp"

#include "core/text.hpp"
#include "search/expression.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <numeric>
#include <unordered_map>

namespace attune::search {

namespace {

__extension__ using int128 = __int128;

error wrong(std::string message) { return {errc::invalid_spec, std::move(message), {}}; }

/// A decimal number: digits × 10^-places.
struct decimal {
  int128 digits = 0;
  int places = 0;
};

/// The shortest decimal that reads back as `d`, exactly; none where it needs more than 18 digits or places.
std::optional<decimal> decimal_of(double d) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), d, std::chars_format::scientific).ptr;
  const std::string_view s(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const auto e = s.find('e');
  decimal out;
  int exponent = 0;
  const auto* from = s.data() + e + 1;
  std::from_chars(*from == '+' ? from + 1 : from, s.data() + s.size(), exponent);
  bool fraction = false;
  for (const char c : s.substr(0, e)) {
    if (c == '.') {
      fraction = true;
    } else if (c != '-') {
      out.digits = out.digits * 10 + (c - '0');
      if (fraction) ++out.places;
    }
  }
  out.places -= exponent;
  if (s[0] == '-') out.digits = -out.digits;
  for (; out.places < 0 && out.places > -18; ++out.places) out.digits *= 10;
  if (out.places < 0 || out.places > 18) return std::nullopt;
  return out;
}

double to_double(std::int64_t digits, int places) {
  // The exact decimal is read as a text would be, so 8 of 10^-1 is the double of "0.8".
  std::array<char, 64> buffer{};
  auto* end = std::to_chars(buffer.data(), buffer.data() + 32, digits).ptr;
  *end++ = 'e';
  end = std::to_chars(end, buffer.data() + buffer.size(), -places).ptr;
  double d = 0;
  std::from_chars(buffer.data(), end, d);
  return d;
}

std::string key_of(const value& v) {
  // Equal numbers have one key, whatever their type.
  if (v.type() == value::kind::real && v.as_real() == std::floor(v.as_real()) && std::fabs(v.as_real()) < 9e18)
    return key_of(value(static_cast<std::int64_t>(v.as_real())));
  std::string s;
  attune::encode(v, s);
  return s;
}

std::uint64_t factorial(std::size_t n) {
  std::uint64_t f = 1;
  for (std::size_t i = 2; i <= n; ++i) f *= i;
  return f;
}

} // namespace

result<domain> domain::make(const parameter& p) {
  domain d;
  const auto read = std::visit(
      [&](const auto& form) -> status {
        using type = std::decay_t<decltype(form)>;
        if constexpr (std::is_same_v<type, value_list>) {
          return d.list(form.values);
        } else if constexpr (std::is_same_v<type, integer_range>) {
          return d.integers(form);
        } else if constexpr (std::is_same_v<type, real_range>) {
          return d.reals(form);
        } else if constexpr (std::is_same_v<type, real_grid>) {
          return d.grid(form);
        } else if constexpr (std::is_same_v<type, power_range>) {
          return d.powers(form);
        } else if constexpr (std::is_same_v<type, permutation_of>) {
          return d.orders(form);
        } else {
          auto values = read_list(form.text);
          if (!values) return values.err();
          return d.list(std::move(*values));
        }
      },
      p.domain);
  if (!read) return error{errc::invalid_spec, "parameter `" + p.name + "`: " + read.err().message, p.place.text()};
  return d;
}

status domain::list(std::vector<value> values) {
  if (values.empty()) return wrong("it has no values; give at least one");
  if (values.size() > size_max) return wrong("it has too many values");
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& v = values[i];
    if (v.is_absent()) return wrong("value " + std::to_string(i + 1) + " is missing");
    if (v.type() == value::kind::real && !std::isfinite(v.as_real()))
      return wrong("value " + std::to_string(i + 1) + " is not a finite number");
    if (!seen.emplace(key_of(v), i).second) return wrong("the value `" + v.text() + "` stands there twice");
  }
  form_ = form::listed;
  size_ = static_cast<std::uint32_t>(values.size());
  values_ = std::move(values);
  ordinal_ = std::ranges::all_of(values_, &value::is_number);
  measure();
  return {};
}

/// The order of listed numbers, and whether they grow by factors.
void domain::measure() {
  if (!ordinal_) return;
  std::vector<double> numbers;
  for (const auto& v : values_) numbers.push_back(v.to_double());
  by_rank_.resize(size_);
  std::iota(by_rank_.begin(), by_rank_.end(), 0u);
  std::ranges::stable_sort(by_rank_, {}, [&](auto i) { return numbers[i]; });
  if (std::ranges::is_sorted(by_rank_)) {
    by_rank_.clear();
  } else {
    rank_.resize(size_);
    for (std::uint32_t r = 0; r < size_; ++r) rank_[by_rank_[r]] = r;
  }
  std::ranges::sort(numbers);
  geometric_ = size_ >= 3 && numbers[0] > 0;
  for (std::size_t i = 1; i < numbers.size() && geometric_; ++i)
    geometric_ = numbers[i] / numbers[i - 1] >= 1.3 && numbers[i] / numbers[i - 1] <= 16.5;
  // 1 2 3 4 grows by steps, though its first factors are large.
  if (geometric_) geometric_ = numbers[size_ - 1] / numbers[size_ - 2] >= 0.8 * (numbers[1] / numbers[0]);
}

status domain::integers(const integer_range& r) {
  if (r.step == 0) return wrong("the step is 0; give a positive one");
  const int128 span = static_cast<int128>(r.last) - r.first;
  if ((span > 0 && r.step < 0) || (span < 0 && r.step > 0))
    return wrong("the range from " + std::to_string(r.first) + " to " + std::to_string(r.last) + " by " +
                 std::to_string(r.step) + " is empty; give the smaller end first");
  const int128 n = span / r.step + 1;
  if (n > static_cast<int128>(size_max)) return wrong("it has more than 4,294,967,294 values; give a larger step");
  form_ = form::integers;
  first_ = r.first;
  step_ = r.step;
  size_ = static_cast<std::uint32_t>(n);
  geometric_ = r.log && std::min(r.first, r.last) > 0;
  if (r.log && !geometric_) return wrong("a logarithmic range has only positive values");
  return {};
}

status domain::reals(const real_range& r) {
  if (!std::isfinite(r.first) || !std::isfinite(r.last) || !std::isfinite(r.step))
    return wrong("a range has finite ends and a finite step");
  if (r.step == 0) return wrong("the step is 0; give a positive one");
  if ((r.last > r.first && r.step < 0) || (r.last < r.first && r.step > 0))
    return wrong("the range from " + shortest(r.first) + " to " + shortest(r.last) + " by " + shortest(r.step) +
                 " is empty; give the smaller end first");
  auto first = decimal_of(r.first), last = decimal_of(r.last), step = decimal_of(r.step);
  if (first && last && step) {
    // In units of the smallest decimal place all three are integers, and so are the values.
    const int places = std::max({first->places, last->places, step->places});
    bool fits = true;
    for (auto* d : {&*first, &*last, &*step}) {
      for (; d->places < places; ++d->places) d->digits *= 10;
      fits = fits && d->digits < (int128{1} << 62) && d->digits > -(int128{1} << 62);
    }
    if (fits) {
      const int128 n = (last->digits - first->digits) / step->digits + 1;
      if (n > static_cast<int128>(size_max)) return wrong("it has more than 4,294,967,294 values; give a larger step");
      form_ = form::reals;
      first_ = static_cast<std::int64_t>(first->digits);
      step_ = static_cast<std::int64_t>(step->digits);
      digits_ = places;
      size_ = static_cast<std::uint32_t>(n);
      return {};
    }
  }
  // Ends and step of such different sizes have no common decimal: then as near as doubles come, with the last value in
  // if it is within a billionth of a step.
  const long double n = std::floor((static_cast<long double>(r.last) - r.first) / r.step + 1e-9L);
  if (!(n < 1'000'000)) return wrong("it has too many values; give a larger step");
  std::vector<value> values;
  for (int i = 0; i <= static_cast<int>(n); ++i)
    values.emplace_back(static_cast<double>(static_cast<long double>(r.first) + i * static_cast<long double>(r.step)));
  return list(std::move(values));
}

status domain::grid(const real_grid& g) {
  if (!std::isfinite(g.first) || !std::isfinite(g.last)) return wrong("a grid has finite ends");
  if (g.count == 0 || g.count > 10'000'000) return wrong("a grid has between 1 and 10,000,000 points");
  if (g.log && !(g.first > 0 && g.last > 0)) return wrong("a logarithmic grid has only positive values");
  std::vector<value> values;
  values.reserve(g.count);
  for (std::uint32_t i = 0; i < g.count; ++i) {
    const double f = g.count == 1 ? 0 : static_cast<double>(i) / (g.count - 1);
    double v = g.log ? std::exp(std::log(g.first) + f * (std::log(g.last) - std::log(g.first)))
                     : g.first * (1 - f) + g.last * f;
    if (i == 0)
      v = g.first;
    else if (i + 1 == g.count)
      v = g.last;
    values.emplace_back(v);
  }
  auto done = list(std::move(values));
  geometric_ = geometric_ || g.log;
  return done;
}

status domain::powers(const power_range& r) {
  if (r.first < 1 || r.last < r.first)
    return wrong("powers of two go from at least 1 upwards; give the smaller end first");
  const int from = std::bit_width(static_cast<std::uint64_t>(r.first) - 1);
  const int to = std::bit_width(static_cast<std::uint64_t>(r.last)) - 1;
  if (from > to)
    return wrong("there is no power of two between " + std::to_string(r.first) + " and " + std::to_string(r.last));
  form_ = form::powers;
  first_ = from;
  size_ = static_cast<std::uint32_t>(to - from + 1);
  geometric_ = true;
  return {};
}

status domain::orders(const permutation_of& p) {
  if (p.items.empty()) return wrong("a permutation has at least one item");
  if (p.items.size() > 12) return wrong("a permutation has at most 12 items (479,001,600 orders)");
  for (std::size_t i = 0; i < p.items.size(); ++i)
    if (std::find(p.items.begin(), p.items.begin() + static_cast<std::ptrdiff_t>(i), p.items[i]) !=
        p.items.begin() + static_cast<std::ptrdiff_t>(i))
      return wrong("the item `" + p.items[i] + "` stands there twice");
  form_ = form::orders;
  items_ = p.items;
  size_ = static_cast<std::uint32_t>(factorial(items_.size()));
  ordinal_ = false;
  return {};
}

value domain::at(std::uint32_t index) const {
  switch (form_) {
  case form::listed:
    return values_[index];
  case form::integers:
    return value(first_ + static_cast<std::int64_t>(index) * step_);
  case form::reals:
    return value(to_double(first_ + static_cast<std::int64_t>(index) * step_, digits_));
  case form::powers:
    return value(std::int64_t{1} << (first_ + index));
  case form::orders:
    break;
  }
  // The index in the factorial number system (Lehmer code): lexicographic in the order of the items.
  auto left = items_;
  permutation out;
  std::uint64_t rest = index;
  for (auto n = items_.size(); n > 0; --n) {
    const auto f = factorial(n - 1);
    const auto at = static_cast<std::ptrdiff_t>(rest / f);
    rest %= f;
    out.order.push_back(left[static_cast<std::size_t>(at)]);
    left.erase(left.begin() + at);
  }
  return value(std::move(out));
}

std::optional<std::uint32_t> domain::find(const value& v) const {
  const auto number = [&]() -> std::optional<std::int64_t> {
    if (v.type() == value::kind::integer) return v.as_integer();
    if (v.type() == value::kind::real && v.as_real() == std::floor(v.as_real()) && std::fabs(v.as_real()) < 9e18)
      return static_cast<std::int64_t>(v.as_real());
    return std::nullopt;
  };
  switch (form_) {
  case form::listed: {
    const auto key = key_of(v);
    for (std::uint32_t i = 0; i < size_; ++i)
      if (key_of(values_[i]) == key) return i;
    return std::nullopt;
  }
  case form::integers: {
    const auto n = number();
    if (!n) return std::nullopt;
    const int128 off = static_cast<int128>(*n) - first_;
    if (off % step_ != 0 || off / step_ < 0 || off / step_ >= size_) return std::nullopt;
    return static_cast<std::uint32_t>(off / step_);
  }
  case form::reals: {
    if (!v.is_number()) return std::nullopt;
    const double guess = std::round((v.to_double() - to_double(first_, digits_)) / to_double(step_, digits_));
    if (!(guess >= -1 && guess <= size_)) return std::nullopt;
    const auto near = static_cast<std::int64_t>(guess);
    for (auto i = std::max<std::int64_t>(near - 1, 0); i <= near + 1 && i < size_; ++i)
      if (at(static_cast<std::uint32_t>(i)).as_real() == v.to_double()) return static_cast<std::uint32_t>(i);
    return std::nullopt;
  }
  case form::powers: {
    const auto n = number();
    if (!n || *n <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(*n))) return std::nullopt;
    const std::int64_t exponent = std::bit_width(static_cast<std::uint64_t>(*n)) - 1;
    if (exponent < first_ || exponent - first_ >= static_cast<std::int64_t>(size_)) return std::nullopt;
    return static_cast<std::uint32_t>(exponent - first_);
  }
  case form::orders:
    break;
  }
  std::vector<std::string> order;
  if (v.type() == value::kind::order) {
    order = v.as_order().order;
  } else if (v.type() == value::kind::text) {
    for (const auto part : split(v.as_text(), ',')) order.emplace_back(trim(part));
  }
  if (order.size() != items_.size()) return std::nullopt;
  auto left = items_;
  std::uint64_t index = 0;
  for (const auto& item : order) {
    const auto found = std::ranges::find(left, item);
    if (found == left.end()) return std::nullopt;
    index += static_cast<std::uint64_t>(found - left.begin()) * factorial(left.size() - 1);
    left.erase(found);
  }
  return static_cast<std::uint32_t>(index);
}

} // namespace attune::search
