#pragma once

#include "cli/load.hpp"
#include "cli/render.hpp"
#include "core/task.hpp"
#include "storage/store.hpp"
#include "storage/store_port.hpp"

#include <memory>
#include <string>
#include <vector>

namespace attune::cli {

/// Opens the store to look at it: nothing in its folder changes, and whoever owns it goes on. Null where there is no
/// store yet. Errors: as storage::store::open.
result<std::unique_ptr<storage::store>> open_to_read(const std::string& folder);

/// Opens it to change it, where it is there: as its owner, or through the process that owns it. Errors: as
/// storage::store::open.
result<std::unique_ptr<storage::store_port>> open_to_change(const std::string& folder);
/// The same as its owner alone. Errors: as storage::store::open.
result<std::unique_ptr<storage::store>> open_as_owner(const std::string& folder);

/// A known result with where it was measured.
struct known_result : ranked {
  arguments target;
  std::string device;
};

/// The `count` best known results of a task, best first, among the configurations of `space`: by each configuration's
/// newest record that says something about it (measured, or failed by its own fault). Looks into the best table, and
/// reads all records only where the table has too few inside the space. Errors: the store's.
result<std::vector<known_result>> best_inside(const storage::store& from, const storage::task_entry& task,
                                              const search::space& space, std::size_t count);

/// Those of the results from before parameters were added to the spec (actors/earlier.hpp) that have a value, as what
/// they mean today; `record` is the key under which each was measured. In no order. Errors: the store's, a source's.
result<std::vector<known_result>> best_of_earlier(const storage::store& from, const task& of,
                                                  const search::space& space);

/// Whether `--target TEXT` means these facts: a device's name, or `key=value[,key=value…]` that all hold.
bool matches_target(const arguments& facts, const std::string& text);

} // namespace attune::cli
