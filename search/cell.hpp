// The values that expressions compute with, small enough to be copied by the million.
#pragma once

#include "core/value.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attune::search {

/// Why an evaluation has no value. A configuration for which a constraint has none is invalid.
enum class fault : std::uint8_t {
  division_by_zero, ///< `/`, `//`, `%` by zero, 0 to a negative power
  overflow,         ///< an integer beyond 64 bits, a float beyond its range
  type,             ///< the operands do not go together (Python's TypeError)
  value,            ///< the operand is out of the operation's reach (ValueError, IndexError, a complex result)
  limit,            ///< a text or list larger than pool allows, or too many steps
};

/// Which kind of sequence a list is; they are never equal across kinds, as in Python.
enum class sequence : std::uint8_t { list, tuple, range, set };

/// One value of the constraint language: 16 bytes, compared bit for bit. Texts and lists live in a `pool`, each only
/// once, so equal bits are equal values. Thread-safety: a plain value.
struct cell {
  enum class kind : std::uint8_t { absent, failed, boolean, integer, real, text, list };

  std::uint64_t bits = 0;
  kind what = kind::absent;

  static cell of(bool b) noexcept { return {b ? 1u : 0u, kind::boolean}; }
  static cell of(std::int64_t i) noexcept { return {static_cast<std::uint64_t>(i), kind::integer}; }
  static cell of(double d) noexcept { return {std::bit_cast<std::uint64_t>(d), kind::real}; }
  static cell of(fault f) noexcept { return {static_cast<std::uint64_t>(f), kind::failed}; }

  std::int64_t integer() const noexcept { return static_cast<std::int64_t>(bits); } ///< @pre boolean or integer
  double real() const noexcept { return std::bit_cast<double>(bits); }              ///< @pre real
  fault why() const noexcept { return static_cast<fault>(bits); }                   ///< @pre failed
  bool failed() const noexcept { return what == kind::failed; }
  bool absent() const noexcept { return what == kind::absent; }
  /// Neither failed nor absent.
  bool present() const noexcept { return what > kind::failed; }
  bool whole() const noexcept { return what == kind::integer || what == kind::boolean; }
  bool number() const noexcept { return what >= kind::boolean && what <= kind::real; }
  /// The number as a double. @pre number()
  double to_double() const noexcept { return what == kind::real ? real() : static_cast<double>(integer()); }

  friend bool operator==(const cell&, const cell&) = default;
};

/// Where texts and lists live, each only once. A pool may stand on another one, which it reads and never changes: that
/// is how threads share one and evaluate each with its own on top. Bounded: at most `text_max` bytes a text,
/// `items_max` items a list, `bytes_max` in all; beyond that cells are failed(limit).
/// Thread-safety: one owner while it is written; any number of readers afterwards.
class pool {
public:
  static constexpr std::size_t text_max = 1u << 20;
  static constexpr std::size_t items_max = 1u << 20;
  static constexpr std::size_t bytes_max = 64u << 20;
  static constexpr std::uint64_t steps_max = 20'000'000;

  explicit pool(const pool* base = nullptr) noexcept : base_(base), offset_(base ? base->size() : 0) {}
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;

  cell text(std::string_view s);
  cell list(std::span<const cell> items, sequence kind = sequence::list);
  /// @pre c.what == text
  std::string_view text_of(cell c) const { return at(c).text; }
  /// @pre c.what == list
  std::span<const cell> items_of(cell c) const { return at(c).items; }
  sequence sequence_of(cell c) const { return at(c).order; }

  /// Counts work that an expression's size does not bound (iterations, comparisons of lists); false once the limit is
  /// reached.
  bool step(std::uint64_t n = 1) noexcept {
    steps_ += n;
    return steps_ <= steps_max;
  }
  /// Starts the count of steps anew.
  void rest() noexcept { steps_ = 0; }

private:
  struct object {
    std::string text;
    std::vector<cell> items;
    sequence order = sequence::list;
    cell::kind what = cell::kind::text;
  };
  std::size_t size() const noexcept { return offset_ + objects_.size(); }
  const object& at(cell c) const { return c.bits < offset_ ? base_->at(c) : objects_[c.bits - offset_]; }
  const std::uint64_t* find(std::uint64_t hash, cell::kind what, std::string_view s, std::span<const cell> items,
                            sequence order) const;
  cell add(std::uint64_t hash, object o, std::size_t bytes);

  const pool* base_;
  std::uint64_t offset_;
  std::deque<object> objects_;
  std::unordered_multimap<std::uint64_t, std::uint64_t> index_; ///< hash to number
  std::size_t bytes_ = 0;
  std::uint64_t steps_ = 0;
};

/// A value as a cell: a permutation is the list of its names, an absent value absent.
cell to_cell(const value& v, pool& where);
/// The inverse for booleans, numbers, texts and absent; a list of texts is a permutation. @pre not failed
value to_value(cell c, const pool& where);
/// The cell as Python would write it, cut off where it is long: for messages.
std::string text(cell c, const pool& where);
/// "int", "str", …: Python's name of the type.
std::string_view type_name(cell c, const pool& where) noexcept;
/// "division by zero" and so on.
std::string_view to_string(fault f) noexcept;

} // namespace attune::search
