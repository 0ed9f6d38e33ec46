#pragma once

#include "core/error.hpp"
#include "storage/store.hpp"
#include "web/model.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::web {

/// The steps of a session that have a result: what was estimated has none. Errors: the store's.
status steps_with_results(const storage::store& from, std::string_view session,
                          const std::function<void(const storage::session_step&)>& visit);

/// The sessions that a word means: an id or the beginning of one (at least four digits), or a task's name. Oldest
/// first. Errors: not_found; the store's.
result<std::vector<storage::session_entry>> find_sessions(const storage::store& in, const std::string& word);
/// Every session, oldest first. Errors: the store's.
result<std::vector<storage::session_entry>> all_sessions(const storage::store& in);

/// Puts a session and its trials into the model, under a number that is free there. Errors: the store's.
status add_stored(model& to, actors::session_number number, const storage::store& from,
                  const storage::session_entry& session);
/// Puts the trials alone of a session that the model knows. Errors: the store's.
status add_steps(model& to, actors::session_number number, const storage::store& from, const std::string& id,
                 nanoseconds started);

/// What the store has of one trial beyond its columns, as JSON; none where it has nothing.
std::optional<std::string> stored_life(const storage::store& in, const std::string& session, trial_number trial,
                                       const std::optional<key128>& key);
/// The lives of a session's trials as members of a JSON object, `"NUMBER/TRIAL":{…},…`: of all, or, of more than
/// `most`, of the best and of the first failures of each kind. Errors: the store's.
result<std::string> stored_lives(const storage::store& in, actors::session_number number,
                                 const storage::session_entry& session, std::size_t most);

/// The figures of a store as JSON, those of each task with them. Errors: the store's.
result<std::string> store_json(const storage::store& of);

} // namespace attune::web
