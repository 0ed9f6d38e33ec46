// search: what to try next: spaces, constraints, strategies, cost models. Pure: no I/O, no threads, no clock.
#pragma once

#include "core/configuration.hpp"
#include "core/error.hpp"
#include "core/random.hpp"
#include "core/spec.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attune::search {

using attune::uint128;

/// Decimal text of a 128-bit count.
std::string to_string(uint128 n);

/// A point: for each parameter, in the order of declaration, the index of its value in its domain, or `inactive` where
/// the parameter's condition is false.
using point = std::vector<std::uint32_t>;
inline constexpr std::uint32_t inactive = 0xffffffffu;

/// What a strategy may know about one parameter.
struct parameter_info {
  std::string name;
  std::uint32_t size = 0; ///< values in the domain
  bool ordinal = true; ///< neighbours in the domain are alike (numbers); false: categories (strings, booleans, orders)
  bool conditional = false; ///< may be inactive
};

/// Which configurations count as neighbours of one.
enum class neighbourhood : std::uint8_t {
  adjacent, ///< one parameter moved to the next or previous value that gives a valid configuration
  hamming,  ///< any one parameter changed to any value
};

/// What a person wants to see of a compiled space.
struct space_description {
  struct parameter {
    std::string name;
    std::uint32_t size = 0; ///< values in the domain
    std::uint32_t used = 0; ///< of them in valid configurations (where that is not known: all)
    bool ordinal = true;
    bool conditional = false;
    std::size_t group = 0;
  };
  struct constraint {
    std::string text;                    ///< the expression, or the callable's name
    std::string place;                   ///< `file:line`, or empty
    std::vector<std::string> parameters; ///< that it reads
    std::optional<std::size_t> group;    ///< none: it reads no parameter
    std::optional<double> cuts;          ///< the fraction of its own parameters' combinations that it forbids
    std::optional<double> cuts_last; ///< of what all the others leave, the fraction that it removes; none: too costly
    bool estimated = false;          ///< `cuts` is a random sample's
  };
  struct group {
    std::vector<std::string> parameters; ///< in the order in which the structure decides them
    std::optional<uint128> count;        ///< none: too big, searched
    std::size_t nodes = 0, edges = 0;    ///< of its diagram; 0 where there is none
  };
  std::vector<parameter> parameters;
  std::vector<constraint> constraints;
  std::vector<group> groups;
};

/// The valid configurations of a search space. Immutable once compiled; safe to share between threads without locks.
/// See the functions' comments for what holds where the space is too big to be counted.
class space {
public:
  /// Compiles parameters and constraints.
  /// Errors (invalid_spec, with place and remedy): empty or doubled names, empty or doubled values, a constraint that
  /// does not parse or names something unknown (`references` are the workload's and target's arguments, readable as
  /// `workload.m`), cyclic conditions, no valid configuration (naming the smallest set of constraints that conflict).
  static result<std::shared_ptr<const space>> compile(std::span<const parameter> parameters,
                                                      std::span<const constraint> constraints,
                                                      const arguments& workload = {}, const arguments& target = {});
  virtual ~space() = default;

  virtual std::span<const parameter_info> parameters() const = 0;
  /// The value behind an index (absent for `inactive`).
  virtual value value_at(std::size_t parameter, std::uint32_t index) const = 0;

  /// How many points the product has (saturating at 2^128 - 1).
  virtual uint128 cartesian() const = 0;
  /// How many valid configurations there are; none where the space is too big to be counted.
  virtual std::optional<uint128> count() const = 0;

  /// The i-th valid configuration, in the order of for_each(): the lexicographic order of the points. Where tightly
  /// tied parameters could only be counted in another order than declared, they take each other's places in it (a
  /// remark says so). @pre count() and i < *count()
  virtual point at(uint128 i) const = 0;
  /// The inverse; none for an invalid point. @pre count()
  virtual std::optional<uint128> index_of(std::span<const std::uint32_t> p) const = 0;
  virtual bool contains(std::span<const std::uint32_t> p) const = 0;

  /// A uniformly drawn valid configuration (where count() is none: a valid one, not exactly uniform).
  virtual point sample(random_engine& rng) const = 0;

  /// Every neighbour of `p`, in a fixed order.
  virtual std::vector<point> neighbours(std::span<const std::uint32_t> p, neighbourhood kind) const = 0;
  /// One neighbour drawn at random; none where there is none. Costs far less than neighbours().
  virtual std::optional<point> neighbour(std::span<const std::uint32_t> p, neighbourhood kind,
                                         random_engine& rng) const = 0;

  /// The valid configurations at a distance of 1 to `k` from `p` (which may be invalid), at most `most` of them, in a
  /// fixed order. The distance counts the parameters that differ (Hamming), but for conditional ones that are there in
  /// one of the two only: they follow their conditions. With `k` the number of parameters: all valid ones but `p`.
  virtual std::vector<point> neighbours_within(std::span<const std::uint32_t> p, std::size_t k, std::size_t most) const;
  /// One of them, each drawn with the same probability (not exactly so where count() is none); none where there is
  /// none.
  virtual std::optional<point> neighbour_within(std::span<const std::uint32_t> p, std::size_t k,
                                                random_engine& rng) const;

  /// A valid configuration that keeps as much of `p` (which may be invalid) as a random repair finds.
  virtual point repair(std::span<const std::uint32_t> p, random_engine& rng) const = 0;

  /// Calls `visit` for each valid configuration in order until it returns false.
  virtual void for_each(const std::function<bool(std::span<const std::uint32_t>)>& visit) const = 0;

  /// 0 for equal points, at most 1: the mean over parameters of the ordinals' rank distance and the categories'
  /// inequality.
  virtual double distance(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) const = 0;

  /// Fixed-length numeric features for models: an ordinal is one number (its value, log2 of it where the domain is
  /// geometric), a category is one-hot, an inactive parameter NaN or all zero.
  virtual std::size_t features() const = 0;
  virtual void encode(std::span<const std::uint32_t> p, std::span<float> out) const = 0;

  /// What compiling had to say: constraints that cut nothing, parameters that are never free, a fall-back.
  virtual std::span<const std::string> remarks() const = 0;

  /// The parameters, constraints and groups in figures. Takes up to some seconds for large spaces: for people.
  virtual space_description describe() const;

  /// The index of a value in a parameter's domain, none if it is not there. Numbers match by value (`64` finds `64.0`),
  /// a permutation also as its text `i,j,k`. The default looks at every value.
  virtual std::optional<std::uint32_t> index_of_value(std::size_t parameter, const value& v) const;

  /// The configuration of a point, sharing this space's names.
  configuration to_configuration(std::span<const std::uint32_t> p) const;
  /// The point of a configuration; errors (invalid_spec) name an unknown parameter, a value not in its domain, a
  /// missing one. Numbers match by value here (`64` finds `64.0`), since people and other tools write them so. Validity
  /// is contains().
  result<point> to_point(const configuration& c) const;
  /// The configuration of declared defaults (each parameter's `standard`, else its first value), repaired in a fixed
  /// way if it is invalid.
  virtual point standard() const = 0;

protected:
  /// The distance of neighbours_within(). @pre the same length
  static std::size_t changes(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) noexcept;

  parameter_names names_; ///< set by the implementation
};
using space_ptr = std::shared_ptr<const space>;

} // namespace attune::search
