#pragma once

#include "core/measurement.hpp"
#include "core/task.hpp"
#include "proto/attune.pb.h"
#include "storage/store.hpp"

namespace attune::storage::convert {

// Between the values of core and the messages of proto/attune.proto. Outwards it is total. Inwards everything is
// checked (kinds, sizes, finiteness): a damaged message is an error (store_corrupt, saying what is wrong), never a
// crash, and leaves `out` in an unspecified, valid state. The messages given to `to` may be used ones: they are
// overwritten, and keep their memory.

void to(const value& from, v1::Value& out);
status from(const v1::Value& in, value& out);

void to(const arguments& from, google::protobuf::RepeatedPtrField<v1::NamedValue>& out);
status from(const google::protobuf::RepeatedPtrField<v1::NamedValue>& in, arguments& out);

void to(const configuration& from, v1::Configuration& out);
status from(const v1::Configuration& in, configuration& out);

/// The values alone, in the order of their names.
void to(std::span<const value> from, google::protobuf::RepeatedPtrField<v1::Value>& out);
/// Errors: also where the number of values is not that of the names.
status from(const google::protobuf::RepeatedPtrField<v1::Value>& in, const parameter_names& names, configuration& out);

void to(const outcome& from, v1::Outcome& out);
status from(const v1::Outcome& in, outcome& out);
void to(const amendment& from, v1::Amendment& out);
amendment from(const v1::Amendment& in);
void to(const estimate& from, v1::Estimate& out);
status from(const v1::Estimate& in, estimate& out);

void to(const task_entry& from, std::uint32_t number, v1::Task& out);
/// Computes the digests from the forms.
status from(const v1::Task& in, task_entry& out);

void to(const session_entry& from, v1::Session& out);
/// Leaves `id` and `steps` alone: they are the key's and the steps' business.
status from(const v1::Session& in, session_entry& out);

/// The 128 bits, where there are 128.
status from(const std::string& in, key128& out);

error damaged(std::string what);

} // namespace attune::storage::convert
