#include "net/fleet/fleet_messages.hpp"

#include "net/network_error.hpp"
#include "storage/convert.hpp"

#include <algorithm>

namespace attune::net::fleet {

namespace convert = storage::convert;

namespace {

constexpr std::uint32_t most_slots = 4096;
constexpr std::size_t longest_name = 256, notes_most = 64, text_most = 8192;

status good(const status& s) { return s ? s : status(network_error(s.err().message)); }

} // namespace

abilities fleet_abilities() {
  abilities out;
  out.magic = "attune fleet";
  out.program = "attune";
  out.features = {"ahead", "forget", "output"};
  return out;
}

wire::v1::Envelope showing(const token& t) {
  wire::v1::Envelope out;
  out.mutable_authenticate()->set_id(t.id.data(), t.id.size());
  out.mutable_authenticate()->set_secret(t.secret.data(), t.secret.size());
  return out;
}

void to(const description& from, wire::v1::AgentHello& out) {
  out.set_name(from.name);
  out.set_boot(from.boot.view().data(), from.boot.view().size());
  convert::to(from.labels, *out.mutable_labels());
  convert::to(from.facts, *out.mutable_facts());
  out.set_slots(from.slots);
}

status from(const wire::v1::AgentHello& in, description& out) {
  out.name = in.name();
  if (out.name.empty() || out.name.size() > longest_name ||
      std::any_of(out.name.begin(), out.name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return network_error("an agent's name is 1 to 256 characters, none of them control characters");
  if (in.slots() < 1 || in.slots() > most_slots)
    return network_error("an agent has 1 to " + std::to_string(most_slots) + " slots");
  out.slots = in.slots();
  if (auto done = convert::from(in.boot(), out.boot); !done) return good(done);
  if (auto done = convert::from(in.labels(), out.labels); !done) return good(done);
  return good(convert::from(in.facts(), out.facts));
}

// The store's messages of an outcome are the same values.

void to(const measure::run_result& from, wire::v1::Answer& out) {
  outcome o;
  v1::Outcome message;
  std::visit([&](const auto& d) { o.data = d; }, from.data);
  convert::to(o, message);
  if (message.has_measured()) out.mutable_measured()->Swap(message.mutable_measured());
  if (message.has_failed()) out.mutable_failed()->Swap(message.mutable_failed());
  if (message.has_bounded()) out.mutable_bounded()->Swap(message.mutable_bounded());
  out.set_elapsed_ns(from.elapsed.count());
  out.set_cpu_ns(from.used.cpu.count());
  out.set_peak_bytes(from.used.peak_bytes);
  for (const auto& n : from.notes) out.add_notes(n);
}

status from(const wire::v1::Answer& in, measure::run_result& out) {
  v1::Outcome message;
  switch (in.data_case()) {
  case wire::v1::Answer::kMeasured:
    *message.mutable_measured() = in.measured();
    break;
  case wire::v1::Answer::kFailed:
    *message.mutable_failed() = in.failed();
    break;
  case wire::v1::Answer::kBounded:
    *message.mutable_bounded() = in.bounded();
    break;
  case wire::v1::Answer::DATA_NOT_SET:
    return network_error("an answer says nothing");
  }
  outcome o;
  if (auto done = convert::from(message, o); !done) return good(done);
  std::visit([&](auto& d) { out.data = std::move(d); }, o.data);
  // A clock that steps on the other side must not make a time run backwards here.
  out.elapsed = nanoseconds(std::max<std::int64_t>(0, in.elapsed_ns()));
  out.used.cpu = nanoseconds(std::max<std::int64_t>(0, in.cpu_ns()));
  out.used.peak_bytes = in.peak_bytes();
  out.notes.assign(in.notes().begin(), in.notes().end());
  // What an agent says is kept for long: no more of it than a run of this machine would have said.
  if (out.notes.size() > notes_most) out.notes.resize(notes_most);
  for (auto& n : out.notes)
    if (n.size() > text_most) n.resize(text_most);
  if (auto* f = std::get_if<failure>(&out.data); f && f->message.size() > text_most) f->message.resize(text_most);
  return {};
}

} // namespace attune::net::fleet
