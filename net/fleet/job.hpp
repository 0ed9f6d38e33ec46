#pragma once

#include "core/budget.hpp"
#include "core/task.hpp"
#include "net/artifact_store.hpp"
#include "proto/wire.pb.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace attune::net::fleet {

/// What a client has submitted, as it lies in a folder of its own until it is forgotten: `job` is the submission,
/// `files/` the spec and the files that it names, `decided` where it runs, `ended` how it ended. So a
/// hub that is started again goes on with it.
///
/// Its name is made from all that was submitted: the same again is the same job.
class job_folder {
public:
  /// Writes the submission below `jobs`, its files from `contents`: it outlives a power failure from then on. One that
  /// is there already is opened, and is no longer ended. Errors: io; invalid_spec.
  static result<job_folder> create(const std::string& jobs, const wire::v1::Submit& what, artifact_store& contents);
  /// The name of a submission: from all that makes the job, but for who sends it and how urgent it is.
  static std::string name_of(const wire::v1::Submit& what);
  /// Errors: io (it is damaged), not_found.
  static result<job_folder> open(const std::string& jobs, const std::string& name);
  /// The names of all that are there, the longest unchanged first.
  static std::vector<std::string> list(const std::string& jobs);

  const std::string& name() const noexcept { return name_; }
  const wire::v1::Submit& submission() const noexcept { return what_; }
  std::string files() const { return folder_ + "/files"; }

  /// The tasks as they were submitted, with the options of the command line. Errors: invalid_spec.
  result<std::vector<task_spec>> read() const;
  /// The budget that they share; none where each has its own. Errors: invalid_spec: also a policy without one.
  result<std::optional<budget_spec>> budget() const;

  /// The text of the spec file, as it is on the disk. Errors: io.
  result<std::string> spec_text() const;

  /// Where a task runs.
  struct decision {
    target where;
    std::set<std::string> asked; ///< the entries of the spec's target that a device must have
  };
  /// For each task, in the spec's order, once it is decided; empty before.
  std::vector<decision> decisions() const;
  status decide(const std::vector<decision>& where);
  std::optional<wire::v1::Ended> ended() const;
  status end(const wire::v1::Ended& how);
  /// Of the options. Errors: io.
  status set_priority(int priority);
  /// It has ended: what it was made of goes, what it came to stays.
  void thin();
  /// All of it goes.
  void remove();

private:
  job_folder(std::string folder, std::string name) : folder_(std::move(folder)), name_(std::move(name)) {}
  std::string folder_, name_;
  wire::v1::Submit what_;
};

} // namespace attune::net::fleet
