// What is tuned, as a C++ program states it: parameters, constraints, conditions, the workload.
#pragma once

#include "core/configuration.hpp"
#include "core/error.hpp"

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune {

struct task_spec;
class space;

namespace detail {
struct space_access;

template <class T>
decltype(auto) read(const value& v) {
  if constexpr (std::same_as<T, std::int64_t>)
    return v.as_integer();
  else if constexpr (std::same_as<T, double>)
    return v.to_double();
  else if constexpr (std::same_as<T, bool>)
    return v.as_bool();
  else if constexpr (std::same_as<T, std::string>)
    return v.as_text();
  else if constexpr (std::same_as<T, permutation>)
    return v.as_order();
  else
    return (v);
}

template <class T>
T read_or_none(const value& v) {
  return v.is_absent() ? T{} : T(read<T>(v));
}
} // namespace detail

/// Names a parameter of one space with the type of its values: what reads them without a look at the name.
/// T is std::int64_t, double, bool, std::string, attune::permutation, or attune::value (a list of mixed types).
template <class T>
class param {
public:
  std::size_t index() const noexcept { return index_; }

private:
  friend class space;
  explicit param(std::size_t index) noexcept : index_(index) {}
  std::size_t index_;
};

/// One configuration to be read; it owns nothing and is valid as long as what it looks at.
class config_view {
public:
  explicit config_view(const configuration& c) noexcept : of_(&c) {}

  /// The parameter's value. @pre has(p) (std::bad_variant_access otherwise, std::out_of_range for another space's)
  template <class T>
  decltype(auto) operator[](const param<T>& p) const {
    return detail::read<T>(raw(p.index()));
  }
  /// False where the parameter is not there: its condition is false.
  template <class T>
  bool has(const param<T>& p) const {
    return !raw(p.index()).is_absent();
  }
  /// The value under a name; null: there is none.
  const value* find(std::string_view name) const noexcept { return of_->find(name); }
  /// `tile=32 unroll=4`.
  std::string text() const { return of_->text(); }
  const configuration& all() const noexcept { return *of_; }

private:
  const value& raw(std::size_t index) const {
    if (index >= of_->size()) throw std::out_of_range("attune: a parameter of another space");
    return (*of_)[index];
  }
  const configuration* of_;
};

/// How the values of a range are spread.
enum class spread : std::uint8_t { even, log };

/// The search space of one task. What is wrong with it (doubled names, a constraint that does not parse, no valid
/// configuration) is said when it is first used: check(), tune(), engine::tune().
/// Threads: a value; one owner while it is changed.
class space {
public:
  /// `name`: the workload's, part of every measurement's identity.
  explicit space(std::string name);
  ~space();
  space(const space& other);
  space(space&& other) noexcept;
  space& operator=(space other) noexcept;

  /// An argument of the workload (a shape, a type): identity, and readable in expressions as `workload.m`.
  space& workload(std::string name, value v);
  /// A further property of where it runs, beside this machine's own: identity, readable as `target.x`.
  space& target(std::string name, value v);

  /// Integers, both ends in.
  param<std::int64_t> integers(std::string name, std::int64_t first, std::int64_t last, std::int64_t step = 1,
                               spread how = spread::even);
  /// The powers of two in [first, last].
  param<std::int64_t> powers_of_two(std::string name, std::int64_t first, std::int64_t last);
  /// Exact decimal steps, both ends in.
  param<double> reals(std::string name, double first, double last, double step);
  /// `count` points, both ends in.
  param<double> grid(std::string name, double first, double last, std::uint32_t count, spread how = spread::even);
  param<bool> boolean(std::string name);
  /// One of these, no two equal: numbers are ordered, texts are categories.
  param<std::int64_t> one_of(std::string name, std::initializer_list<std::int64_t> values);
  param<double> one_of(std::string name, std::initializer_list<double> values);
  param<std::string> one_of(std::string name, std::initializer_list<const char*> values);
  param<value> one_of(std::string name, std::vector<value> values);
  /// Every order of the items.
  param<permutation> permutations(std::string name, std::vector<std::string> items);

  /// The parameter is there only where the condition (an expression over other parameters) holds.
  template <class T>
  space& when(const param<T>& p, std::string condition) { // NOLINT(performance-unnecessary-value-param): it is moved
    return set_condition(p.index(), std::move(condition));
  }
  /// Its default value: of the default configuration, which is measured first. Without one: the first value.
  template <class T>
  space& standard(const param<T>& p, std::type_identity_t<T> v) {
    return set_standard(p.index(), value(std::move(v)));
  }

  /// An expression in Python's meaning that every configuration fulfils: "tile % vec == 0", "1 <= a * b < 64".
  space& constraint(std::string expression);
  /// A callable that says whether the values of these parameters go together; one that is not there comes as T{}. It
  /// must be pure and safe from any thread. `name` stands for it in messages and in a session's identity.
  template <class Accept, class... T>
  requires(sizeof...(T) > 0 && std::predicate<const Accept&, const T&...>) space& constraint(
      std::string name, // NOLINT(performance-unnecessary-value-param): it is moved
      Accept accept, const param<T>&... over) {
    return add_callable(std::move(name), {over.index()...}, [accept = std::move(accept)](std::span<const value> v) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return static_cast<bool>(accept(detail::read_or_none<T>(v[I])...));
      }
      (std::index_sequence_for<T...>{});
    });
  }

  const std::string& name() const noexcept;
  /// Compiles it. Errors: invalid_spec.
  status check() const;
  /// How many valid configurations there are, in decimal; "too many to count" where that is so. Errors: invalid_spec.
  result<std::string> count() const;

private:
  friend struct detail::space_access;
  std::size_t add(std::string name, void* domain);
  space& set_condition(std::size_t parameter, std::string condition);
  space& set_standard(std::size_t parameter, value v);
  space& add_callable(std::string name, const std::vector<std::size_t>& over,
                      std::function<bool(std::span<const value>)> accept);
  std::unique_ptr<task_spec> spec_;
};

} // namespace attune
