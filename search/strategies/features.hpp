#pragma once

#include "search/space.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace attune::search {

/// How often 2 divides each value of an ordinal parameter's domain (at most 8): what alignment, vector widths and warps
/// are about, and what no order of the values shows. Empty where it says nothing: values that are no integers, or where
/// it is constant or rises with the order.
std::vector<std::uint8_t> alignment(const space& over, std::size_t parameter);

/// True for an ordinal parameter that may be codes of things without an order (methods, kinds of memory): three to
/// eight integers that follow each other.
bool may_be_codes(const space& over, std::size_t parameter);

/// Small integers for tree models: each parameter's index in its domain, its alignment, and the rank of the product of
/// each pair of numeric parameters (the size of a block, the work of a thread: what limits of hardware and constraints
/// are about). Their number is fixed by the space. Threads: immutable.
class rank_features {
public:
  struct column {
    bool ordered = true;    ///< split by order; false: by sets of values
    std::uint32_t size = 0; ///< codes are below it
  };
  /// `pairs`: at most so many products.
  explicit rank_features(const space& over, std::size_t pairs = 64);
  std::span<const column> columns() const noexcept { return columns_; }
  std::size_t size() const noexcept { return columns_.size(); }
  /// The codes of a point. @pre out.size() == size()
  void encode(std::span<const std::uint32_t> p, std::span<std::uint16_t> out) const;

private:
  struct product {
    std::size_t a = 0, b = 0;
    std::uint32_t stride = 0;        ///< codes of b
    std::vector<std::uint16_t> rank; ///< by code of a × stride + code of b
  };
  struct aligned {
    std::size_t parameter = 0;
    std::vector<std::uint8_t> of; ///< by index
  };
  std::vector<std::uint32_t> sizes_;
  std::vector<aligned> aligned_;
  std::vector<column> columns_;
  std::vector<product> products_;
};

} // namespace attune::search
