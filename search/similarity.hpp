#pragma once

#include "core/configuration.hpp"

namespace attune::search {

/// How alike two tasks are by their workloads' arguments and their targets' facts, in [0, 1]: the cosine of their
/// feature vectors. A number is a feature by its name, of the size log2(2 + |x|); anything else a feature by name and
/// value, of the size 1. Equal ones: 1. Nothing in common (or nothing at all on one side alone): 0.
double task_similarity(const arguments& workload_a, const arguments& target_a, const arguments& workload_b,
                       const arguments& target_b);

} // namespace attune::search
