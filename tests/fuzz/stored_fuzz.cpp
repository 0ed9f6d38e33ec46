// Reads any bytes as each kind of stored value and as a message between processes: what is refused is refused with a
// reason, and what is taken is written again and read as the same.
#include "net/store_messages.hpp"
#include "proto/attune.pb.h"
#include "proto/wire.pb.h"
#include "storage/convert.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

using namespace attune;
using namespace attune::storage;

namespace {

void must(bool holds) {
  if (!holds) __builtin_trap();
}

/// As `Value` by way of `Message`, and back.
template <class Message, class Value>
void through(const std::string& bytes) {
  Message in;
  if (!in.ParseFromString(bytes)) return;
  Value first;
  if (const auto read = convert::from(in, first); !read) return must(!read.err().message.empty());
  Message out;
  convert::to(first, out);
  Value second;
  must(convert::from(out, second).ok());
  Message again;
  convert::to(second, again);
  must(out.SerializeAsString() == again.SerializeAsString());
}

void task_through(const std::string& bytes) {
  v1::Task in, out, again;
  if (!in.ParseFromString(bytes)) return;
  task_entry first, second;
  if (const auto read = convert::from(in, first); !read) return must(!read.err().message.empty());
  convert::to(first, in.number(), out);
  must(convert::from(out, second).ok() && second.task == first.task);
  convert::to(second, in.number(), again);
  must(out.SerializeAsString() == again.SerializeAsString());
}

/// What an owner does with a message before it believes it.
void taken(const wire::v1::Envelope& in) {
  using namespace attune::net;
  for (const auto& item : in.claim().items()) {
    claim_ask what;
    if (const auto read = from(item, what); !read) must(!read.err().message.empty());
  }
  for (const auto& item : in.claimed().items()) {
    claim_answer what;
    if (const auto read = from(item, what); !read) must(!read.err().message.empty());
  }
  known_tasks tasks;
  for (const auto& t : in.append().tasks())
    if (const auto read = tasks.take(t); !read) must(!read.err().message.empty());
  for (const auto& r : in.append().records()) {
    record_item item;
    if (const auto read = from(r, tasks, item); read) must(item.what && item.result);
  }
  for (const auto& s : in.append().steps()) {
    step_item item;
    if (const auto read = from(s, tasks, item); read)
      must(item.what && (item.record != 0 || item.result || item.guess));
  }
  import_group group;
  if (from(in.import(), group))
    for (const auto& r : group.records) must(r.task && r.config && r.result);
  std::vector<digest> digests;
  must(from(in.forget().tasks(), digests).ok() || !in.forget().tasks().empty());
  [[maybe_unused]] const auto how = retention_of(in.forget());
  std::vector<forgotten> gone;
  if (const auto read = from(in.forgotten(), gone); !read) must(!read.err().message.empty());
  [[maybe_unused]] const auto why = error_of(in.failed());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  through<v1::Outcome, outcome>(bytes);
  through<v1::Configuration, configuration>(bytes);
  through<v1::Session, session_entry>(bytes);
  through<v1::Estimate, estimate>(bytes);
  task_through(bytes);
  wire::v1::Envelope message;
  if (message.ParseFromString(bytes)) taken(message);
  return 0;
}
