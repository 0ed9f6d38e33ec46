#pragma once

#include "search/strategy.hpp"
#include "storage/store.hpp"

#include <limits>
#include <vector>

namespace attune::actors {

/// What similar tasks are, and how much of them is looked at.
struct similar_options {
  bool own = false;              ///< the task's own records too, as search::own_source with similarity 1
  double least_similarity = 0.5; ///< less alike than this, a task says nothing about another
  std::size_t most_tasks = 8;    ///< the most similar ones
  storage::record_id up_to = std::numeric_limits<storage::record_id>::max(); ///< no later records than this one
};

struct similar_results {
  std::vector<search::prior_record> records; ///< the newest of each configuration, in this task's space
  std::size_t tasks = 0;                     ///< similar ones among their sources
};

/// What the store knows of similar tasks: those of the same name, metric and goal (another workload, target, source or
/// way of measuring) whose configurations lie in this space, by the cosine of workload and target
/// (search/similarity.hpp). Infrastructure faults are left out. Reads all records of the tasks concerned.
/// Errors: the store's.
result<similar_results> find_similar(const storage::store& from, const task& of, const search::space& over,
                                     const similar_options& options);

} // namespace attune::actors
