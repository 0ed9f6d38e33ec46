#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/store_access.hpp"
#include "measure/protocol.hpp"
#include "net/shared_store.hpp"
#include "storage/formats/export.hpp"
#include "storage/formats/import.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <ostream>
#include <unistd.h>
#include <zlib.h>

namespace attune::cli {

namespace {

namespace formats = storage::formats;

/// The statistic that ranks what is measured here: without a cold start and outliers, the median.
void restate(measurement& m) {
  if (m.samples.empty()) return;
  measure::protocol p(0, {});
  p.add(m.samples);
  std::vector<std::string> notes;
  auto cleaned = p.result(notes);
  m.value = cleaned.value;
  m.spread = cleaned.spread;
  m.rejected = cleaned.rejected;
}

std::string counted(std::uint64_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

/// What became of one file.
struct imported {
  std::string file;
  formats::import_report report;
  bool good = true; ///< records, or something else that was understood
};

json damaged_json(const std::vector<imported>& files) {
  json out = json::array();
  for (const auto& f : files)
    for (const auto& d : f.report.damaged) {
      json one{{"line", d.line}, {"why", d.why}};
      if (d.line == 0) one["line"] = nullptr;
      if (files.size() > 1) one["file"] = f.file;
      out.push_back(std::move(one));
    }
  return out;
}

json counts_json(const formats::import_report& r) {
  return {{"read", count_json(r.read)},
          {"added", count_json(r.added)},
          {"duplicates", count_json(r.duplicates)},
          {"failures", count_json(r.failures)},
          {"comments", count_json(r.comments)}};
}

json document_of(const std::vector<imported>& files) {
  formats::import_report sum;
  json warnings = json::array(), each = json::array();
  for (const auto& f : files) {
    const auto& r = f.report;
    sum.read += r.read;
    sum.added += r.added;
    sum.duplicates += r.duplicates;
    sum.failures += r.failures;
    sum.comments += r.comments;
    sum.damages += r.damages;
    sum.by_median += r.by_median;
    for (const auto& w : r.warnings) warnings.push_back(files.size() > 1 ? f.file + ": " + w : w);
    auto one = counts_json(r);
    one["damaged"] = count_json(r.damages);
    one["format"] = r.format.empty() ? json(nullptr) : json(r.format);
    one["file"] = f.file;
    each.push_back(std::move(one));
  }
  const bool one_format = std::all_of(files.begin(), files.end(),
                                      [&](const imported& f) { return f.report.format == files[0].report.format; });
  auto out = counts_json(sum);
  out["damaged"] = damaged_json(files);
  out["damaged_count"] = count_json(sum.damages);
  out["format"] = one_format && !files[0].report.format.empty() ? json(files[0].report.format) : json(nullptr);
  // Which statistic the values are: these are never ranked against each other.
  out["ranked_by"] = {{"median", count_json(sum.by_median)},
                      {"stated", count_json(sum.read - sum.failures - sum.by_median)}};
  out["warnings"] = std::move(warnings);
  if (files.size() > 1) out["files"] = std::move(each);
  return out;
}

void tell(const imported& f, output& io) {
  const auto& r = f.report;
  auto& out = io.out();
  out << f.file << ": " << r.format << ": " << counted(r.read, "record") << " read, " << r.added << " added, "
      << counted(r.duplicates, "duplicate") << ", " << counted(r.failures, "failure");
  if (r.comments > 0) out << ", " << counted(r.comments, "comment");
  if (r.damages > 0) out << ", " << r.damages << " damaged";
  out << '\n';
  const auto stated = r.read - r.failures - r.by_median;
  if (r.by_median > 0) out << "  ranked by the cleaned median of their samples: " << r.by_median << '\n';
  if (stated > 0 && r.format != "attune")
    out << "  ranked by the value that the file states, apart from those by a median: " << stated << '\n';
}

/// Writes text to a file, packed where its name ends in .gz, beside its place until it is whole; or to standard output.
class target_file {
public:
  static result<std::unique_ptr<target_file>> open(const std::string& path, std::ostream& out) {
    std::unique_ptr<target_file> made(new target_file(path, out));
    if (path == "-") return made;
    made->beside_ = path + ".part-" + std::to_string(::getpid());
    const int descriptor = ::open(made->beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor < 0) return error{errc::io, std::string("cannot be written: ") + std::strerror(errno), path};
    made->file_ = gzdopen(descriptor, path.ends_with(".gz") ? "wb" : "wbT");
    if (made->file_ == nullptr) {
      ::close(descriptor);
      return error{errc::io, "cannot be written", path};
    }
    return made;
  }
  ~target_file() {
    if (file_ != nullptr) gzclose(file_);
    if (!beside_.empty()) ::unlink(beside_.c_str());
  }
  target_file(const target_file&) = delete;
  target_file& operator=(const target_file&) = delete;

  bool write(std::string_view text) {
    if (file_ == nullptr) return static_cast<bool>(out_.write(text.data(), static_cast<std::streamsize>(text.size())));
    while (!text.empty()) {
      const auto part = text.substr(0, 1u << 20);
      if (gzwrite(file_, part.data(), static_cast<unsigned>(part.size())) != static_cast<int>(part.size()))
        return false;
      text.remove_prefix(part.size());
    }
    return true;
  }
  /// Takes its place.
  status keep() {
    if (file_ == nullptr) {
      if (out_.flush()) return {};
      return error{errc::io, "cannot be written", path_};
    }
    errno = 0;
    const bool closed = gzclose(std::exchange(file_, nullptr)) == Z_OK;
    if (!closed || ::rename(beside_.c_str(), path_.c_str()) != 0)
      return error{errc::io, std::string("cannot be written: ") + std::strerror(errno), path_};
    beside_.clear();
    return {};
  }

private:
  target_file(std::string path, std::ostream& out) : path_(std::move(path)), out_(out) {}
  std::string path_, beside_;
  std::ostream& out_;
  gzFile file_ = nullptr;
};

error unknown_format(const std::string& name, bool reading) {
  std::string known;
  std::vector<std::string> words;
  for (const auto& f : formats::all_formats())
    if (reading ? f.importable : f.write != nullptr) {
      known += (known.empty() ? "" : ", ") + std::string(f.name);
      words.emplace_back(f.name);
    }
  return {errc::invalid_spec, "--format: no format '" + name.substr(0, 60) + "'; there are " + known, {}};
}

} // namespace

int run_import(const import_command_options& options, const std::string& folder, output& io) {
  const formats::format* given = nullptr;
  if (options.format != "auto") {
    given = formats::find_format(options.format);
    if (given == nullptr || !given->importable) return io.fail(unknown_format(options.format, true));
  }
  // Everything that can be said without a store first: what is no file of ours makes none.
  std::vector<imported> done;
  std::unique_ptr<storage::store_port> store;
  std::vector<std::string> workloads;
  bool nothing = true, all = true;
  const auto refuse = [&](const std::string& file, const error& why, std::string_view format) {
    auto& f = done.emplace_back();
    f.file = file;
    f.good = false;
    f.report.format = format;
    f.report.damages = 1;
    f.report.damaged.push_back({0, why.message});
    io.message(file + ": " + why.message);
    all = false;
  };
  for (const auto& file : options.files) {
    auto from = formats::source::open(file);
    if (!from) {
      refuse(file, from.err(), {});
      continue;
    }
    const auto* as = given;
    if (as == nullptr) {
      const auto found = formats::recognise(**from);
      if (!found) {
        refuse(file, found.err(), {});
        continue;
      }
      as = *found;
    }
    if (!as->importable) {
      refuse(file,
             {errc::invalid_spec,
              "is a " + std::string(as->name) +
                  " document, which does not say of which workload and target it is; attune db export writes "
                  "what can be imported, and attune replay plays this one",
              {}},
             {});
      continue;
    }
    if (!store) {
      auto opened = net::open_shared(folder);
      if (!opened) return io.fail(opened.err());
      store = std::move(*opened);
      for (const auto& notice : store->notices()) io.message(notice);
    }
    formats::import_options how;
    how.read.stated = options.stated;
    how.read.task = options.task;
    how.read.workloads = &workloads;
    if (!options.stated) how.restate = restate;
    std::uint64_t told = 0;
    constexpr std::uint64_t most_told = 1000;
    how.damaged = [&](const formats::damage& d) {
      if (++told <= most_told) io.message(file + (d.line == 0 ? "" : ":" + std::to_string(d.line)) + ": " + d.why);
    };
    auto report = formats::import_records([&](auto records) { return store->append_new(records); }, **from, *as, how);
    if (!report) return io.fail(report.err());
    if (told > most_told) io.message(file + ": and " + std::to_string(told - most_told) + " more that are damaged");
    for (const auto& w : report->warnings) io.message(file + ": " + w);
    auto& f = done.emplace_back();
    f.file = file;
    f.report = std::move(*report);
    f.good = f.report.read > 0 || (f.report.others > 0 && f.report.damages == 0);
    if (f.good) nothing = false;
    if (!f.good || f.report.damages > 0) all = false;
    if (!f.good && f.report.damages == 0) {
      f.report.damages = 1;
      f.report.damaged.push_back({0, "there is no record in it"});
      io.message(file + ": there is no record in it");
    }
    if (!io.json()) tell(f, io);
  }
  if (io.json()) io.document(document_of(done));
  return all ? exit_code::done : nothing ? exit_code::no_result : exit_code::partial;
}

int run_export(const export_command_options& options, const std::string& folder, output& io) {
  const auto* as = formats::find_format(options.format);
  if (as == nullptr || as->write == nullptr) return io.fail(unknown_format(options.format, false));
  const auto store = open_to_read(folder);
  if (!store) return io.fail(store.err());
  if (!*store) return io.fail({errc::store_unusable, "there is no store yet; attune tune makes one", folder});
  for (const auto& notice : (*store)->notices()) io.message(notice);
  auto file = target_file::open(options.file, io.out());
  if (!file) return io.fail(file.err());
  formats::sink to([&](std::string_view text) { return (*file)->write(text); });
  const auto report = formats::export_records(**store, to, *as, {options.task, options.best});
  if (!report) {
    const auto code = io.fail(report.err());
    return report.err().code == errc::not_found ? exit_code::no_result : code;
  }
  if (auto kept = (*file)->keep(); !kept) return io.fail(kept.err());
  const auto& lost = report->lost;
  for (const auto& [what, n] : lost.counts())
    io.message(std::string(as->name) + " cannot express: " + what + " (" + std::to_string(n) + ")");
  if (lost.left_out() > 0) io.message(counted(lost.left_out(), "record") + " left out");
  if (io.json()) {
    json not_expressed = json::object();
    for (const auto& [what, n] : lost.counts()) not_expressed[what] = count_json(n);
    io.document({{"written", count_json(report->records)},
                 {"tasks", count_json(report->tasks)},
                 {"left_out", count_json(lost.left_out())},
                 {"not_expressed", std::move(not_expressed)},
                 {"format", as->name},
                 {"file", options.file}});
  } else if (options.file != "-") {
    io.out() << options.file << ": " << as->name << ": " << counted(report->records, "record") << " of "
             << counted(report->tasks, "task") << '\n';
  }
  return lost.left_out() > 0 ? exit_code::partial : exit_code::done;
}

command_spec import_command() {
  struct words {
    std::vector<std::string> files;
    std::string format, task;
    bool stated = false;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"import", "Take the records of other tools, or of another store"};
  c.places("FILE", "", w->files, "The files, also gzip; - is standard input").required = true;
  c.value("--format", "F", w->format, "auto (by content), or one of those below");
  c.value("--task", "NAME", w->task, "The workload's name where a format does not say it (the file's name)");
  c.flag("--stated", w->stated, "Rank by the value that a file states even where it has samples");
  c.more = R"help(Formats: attune (our own JSON lines), autotvm-0.2, autotvm-0.1, ansor, metaschedule,
kernel-tuner, t4, ktt, csv. A MetaSchedule database is two files: give its workloads
first. CSV: a header names the columns; value (or time_ms, time_us ...) or failure, and
parameters as config.NAME, or simply every other column.

Values are kept in seconds. A value is the cleaned median of the file's own samples,
as what is measured here; where a file has none (or with --stated), it is what the
file states, and the two are never ranked against each other. A failure stays one, with
the tool's own code. What the store has already is not added again.

Each damaged line is told with its number, and the rest is taken: exit code 4. A file
that holds nothing that is known adds nothing: exit code 1.

  attune db import tuning.log cache.json.gz
  attune db import database_workload.json database_tuning_record.json
  zcat old.log.gz | attune db import -
  attune db import results.t4.json --task gemm && attune best gemm.yaml --imported)help";
  c.read = [w](const typed_line& line) -> reading {
    import_command_options o;
    o.files = w->files;
    if (std::count(o.files.begin(), o.files.end(), "-") > 1) throw usage_fault{"standard input can be read once"};
    if (line.given("--format")) o.format = w->format;
    if (line.given("--task") && w->task.empty()) throw usage_fault{"--task is empty"};
    o.task = w->task;
    o.stated = w->stated;
    return o;
  };
  return c;
}

command_spec export_command() {
  struct words {
    std::string file, format, task;
    bool best_only = false;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"export", "Write records for other tools, or for another store"};
  c.place("FILE", w->file, "The file, packed where it ends in .gz; - is standard output");
  c.value("--format", "F", w->format, "One of those below").required = true;
  c.value("--task", "T", w->task, "Of one task: its name, or the beginning of its key");
  c.flag("--best", w->best_only, "Only the best record of each task");
  c.more = R"help(Formats: attune keeps everything, and is the same to the byte when it is imported into
an empty store and exported again. The others are autotvm-0.2, autotvm-0.1, ansor,
metaschedule, kernel-tuner, t4, ktt and csv: what they cannot express is told with
how often. kernel-tuner and t4 hold one task in a file. Records that a format cannot
hold at all are left out: exit code 4.

  attune db export all.jsonl.gz --format attune
  attune db export best.log --format autotvm-0.2 --best
  attune db export - --format csv --task gemm)help";
  c.read = [w](const typed_line& line) -> reading {
    if (line.json && w->file == "-") throw usage_fault{"--json and - exclude each other: both want standard output"};
    if (line.given("--task") && w->task.empty()) throw usage_fault{"--task is empty"};
    return export_command_options{w->file, w->format, w->task, w->best_only};
  };
  return c;
}

} // namespace attune::cli
