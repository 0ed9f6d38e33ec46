// What the logs of TVM's three tuners (AutoTVM, Ansor, MetaSchedule) have in common. Internal to storage/formats.
#pragma once

#include "storage/formats/common.hpp"

#include <string>
#include <string_view>

namespace attune::storage::formats {

/// The facts of a TVM target as text (`cuda -model=titanx`) or as the JSON object that newer ones are: `device` (the
/// model, else the device, else the kind), `kind`, and the whole as `target`.
target tvm_target(const json_ref& written);
/// Appends the target as it was read; for one of our own its device, and whether something is lost.
bool write_tvm_target(const task_entry& task, std::string& out);
/// The arguments of a workload as TVM writes them in a list: arg0, arg1, …
void tvm_arguments(const json_ref& list, arguments& out);

/// What TVM's error numbers mean, which AutoTVM and Ansor share (MeasureErrorNo): 1 instantiation, 2 and 3 the host's
/// and the device's compilation, 4 and 8 the run, 5 a wrong answer, 6 and 7 the build's and the run's limit.
failure_kind tvm_failure(std::int64_t number);
/// The number for a failure: the one in its message where that is `prefix` and a number that means its kind.
int tvm_number(const failure& f, std::string_view prefix);

/// The mean of a list of costs in seconds as the value, the costs as samples. False, and nothing is taken, where there
/// is none or the mean is not below `most`.
bool take_tvm_costs(entry& out, const json_ref& list, double most);
/// [costs, error, all_cost, timestamp], as AutoTVM and Ansor write it: the value or the failure (its message is
/// `prefix` and the number), the build's time and when it was. False where it is no such list.
bool take_tvm_result(entry& out, const json_ref& measured, std::string_view prefix);
/// The rest of such a list behind its costs: `, error, all_cost, timestamp`.
void put_tvm_ending(const outcome& o, std::string_view prefix, std::string& out);

} // namespace attune::storage::formats
