#include "storage/formats/format.hpp"

#include "core/text.hpp"
#include "storage/formats/common.hpp"
#include "storage/formats/document.hpp"

#include <algorithm>

namespace attune::storage::formats {
namespace {

constexpr format formats[] = {
    {"attune", "our own JSON lines: everything that is known of a record", read_attune, write_attune},
    {"autotvm-0.2", "TVM AutoTVM logs (also autotvm); 0.1 is read as well", read_autotvm, write_autotvm_0_2},
    {"autotvm-0.1", "TVM AutoTVM logs as older versions wrote them", read_autotvm, write_autotvm_0_1},
    {"ansor", "TVM auto_scheduler (Ansor) logs", read_ansor, write_ansor},
    {"metaschedule", "TVM MetaSchedule databases: workload and tuning_record lines", read_metaschedule,
     write_metaschedule},
    {"kernel-tuner", "Kernel Tuner cache files", read_kernel_tuner, write_kernel_tuner},
    {"t4", "T4, the results format of the Auto-Tuning Association", read_t4, write_t4},
    {"ktt", "KTT's own JSON", read_ktt, write_ktt},
    {"csv", "one record a line, with a header", read_csv, write_csv},
    {"history", "what attune history --json prints; for replays", read_history, nullptr, false},
};

/// The format of a document by the name of its long member, which tells before it is read.
result<const format*> recognise_document(source& from) {
  if (auto back = from.rewind(); !back) return back.err();
  document_walker walk(from, {"cache", "results", "Results", "records"});
  while (walk.next() == document_walker::step::member && walk.list().empty())
    if (walk.key() == "tune_params_keys") return find_format("kernel-tuner");
  if (!walk.error()) return walk.error().err();
  const auto& list = walk.list();
  return list == "cache"     ? find_format("kernel-tuner")
         : list == "results" ? find_format("t4")
         : list == "Results" ? find_format("ktt")
         : list == "records" ? find_format("history")
                             : nullptr;
}

result<const format*> look(source& from) {
  const auto wrong = [&](std::string why) { return error{errc::invalid_spec, std::move(why), from.name()}; };
  line_reader lines(from);
  json_document parsed;
  std::string first;
  bool any = false, object = false, array = false;
  // One good line tells; a log whose first lines are damaged is a log still.
  for (std::size_t looked = 0; looked < 200 && lines.next();) {
    const auto text = trim(lines.text());
    if (text.empty()) continue;
    any = true;
    if (text.find('\0') != text.npos) return wrong("is no text: it is none of the formats that are known");
    if (text.front() == '#') continue;
    ++looked;
    if (first.empty()) first = text.substr(0, 4096);
    if (lines.too_long() || text.size() > (std::size_t{4} << 20)) break;
    const bool braces = text.front() == '{' && text.back() == '}', brackets = text.front() == '[' && text.back() == ']';
    object |= text.front() == '{';
    array |= looked == 1 && text.front() == '[';
    if (!braces && !brackets) continue;
    if (!parsed.parse(lines.data(), lines.text().size())) continue;
    const auto root = parsed.root();
    if (is_attune(root)) return find_format("attune");
    if (is_autotvm(root)) return find_format("autotvm-0.2");
    if (is_ansor(root)) return find_format("ansor");
    if (is_metaschedule(root)) return find_format("metaschedule");
    if (is_history(root)) return find_format("history");
  }
  if (!lines.error()) return lines.error().err();
  if (!any) return wrong("is empty");
  if (first.empty()) return wrong("holds nothing but comments");
  if (first.front() == '{') {
    auto found = recognise_document(from);
    if (!found || *found != nullptr) return found;
    return wrong("is JSON, but none of the formats that are known");
  }
  if (array) return wrong("is a JSON array: none of the formats that are known begins like that");
  if (std::any_of(first.begin(), first.end(),
                  [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t'); }))
    return wrong("is no text: it is none of the formats that are known");
  if (is_csv_header(first)) return find_format("csv");
  if (object) return wrong("is JSON, but none of the formats that are known");
  return wrong("is none of the formats that are known");
}

} // namespace

std::span<const format> all_formats() { return formats; }

const format* find_format(std::string_view name) {
  if (name == "autotvm") name = "autotvm-0.2";
  if (name == "jsonl" || name == "json-lines") name = "attune";
  const auto at = std::find_if(std::begin(formats), std::end(formats), [&](const format& f) { return f.name == name; });
  return at == std::end(formats) ? nullptr : at;
}

result<const format*> recognise(source& from) {
  auto found = look(from);
  if (auto back = from.rewind(); !back) return back.err();
  return found;
}

} // namespace attune::storage::formats
