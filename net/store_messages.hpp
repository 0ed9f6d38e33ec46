#pragma once

#include "core/error.hpp"
#include "core/task.hpp"
#include "net/handshake.hpp"
#include "proto/wire.pb.h"
#include "storage/store_port.hpp"

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace attune::net {

/// What processes of one store can do.
abilities store_abilities();

/// How many claims a process may have asked for at one time.
inline constexpr std::size_t claims_most = 65536;

/// A claim as the owner needs it.
struct claim_ask {
  key128 key;
  digest task;
  std::string canonical; ///< of the configuration: compared with what is known
  bool anew = false;
  nanoseconds limit{0};
};
claim_ask ask_of(const trial& what, bool anew, nanoseconds limit);

// Between values and messages. Inwards everything is checked: errors are network's, and `out` is unspecified then.

void to(const error& from, wire::v1::Failed& out);
error error_of(const wire::v1::Failed& in);

void to(const claim_ask& from, wire::v1::Claim::Item& out);
status from(const wire::v1::Claim::Item& in, claim_ask& out);
void to(const storage::claim_answer& from, wire::v1::Claimed::Item& out);
status from(const wire::v1::Claimed::Item& in, storage::claim_answer& out);

/// The tasks that one side of a connection has named to the other.
class named_tasks {
public:
  /// The task's number; names it in `with` where that is the first time.
  std::uint32_t number_of(const task_ptr& t, wire::v1::Append& with);

private:
  std::unordered_map<task_ptr, std::uint32_t> numbers_;
};

/// The tasks that the other side has named. They have what a store keeps of a task, and nothing to measure with.
class known_tasks {
public:
  static constexpr std::size_t most = 65536;
  status take(const attune::v1::Task& in);
  /// Null where that number was not named.
  task_ptr find(std::uint32_t number) const;

private:
  std::unordered_map<std::uint32_t, task_ptr> tasks_;
};

/// The ability of an owner to take what changes the store as a whole: imports, forgetting, compaction.
inline constexpr const char* changes_feature = "changes";

void to(std::span<const storage::foreign_record> from, wire::v1::Import& out);
/// Records from elsewhere with all that they point to.
struct import_group {
  std::vector<storage::task_entry> tasks;
  std::vector<configuration> configurations;
  std::vector<outcome> results;
  std::vector<storage::foreign_record> records; ///< the sessions' texts stay in the message
};
status from(const wire::v1::Import& in, import_group& out);
void to(const storage::retention& from, wire::v1::Forget& out);
storage::retention retention_of(const wire::v1::Forget& in);
void to(const std::vector<storage::forgotten>& from, wire::v1::Forgotten& out);
status from(const wire::v1::Forgotten& in, std::vector<storage::forgotten>& out);
/// Digests of tasks.
void to(std::span<const digest> from, google::protobuf::RepeatedPtrField<std::string>& out);
status from(const google::protobuf::RepeatedPtrField<std::string>& in, std::vector<digest>& out);

void add(const storage::record_item& item, named_tasks& names, wire::v1::Append& out);
void add(const storage::step_item& item, named_tasks& names, wire::v1::Append& out);
/// `out.session` stays in the message.
status from(const wire::v1::AppendRecord& in, const known_tasks& tasks, storage::record_item& out);
status from(const wire::v1::AppendStep& in, const known_tasks& tasks, storage::step_item& out);

} // namespace attune::net
