#include "cli/store_access.hpp"

#include "actors/earlier.hpp"
#include "core/text.hpp"
#include "net/shared_store.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

namespace attune::cli {

namespace {

/// How many the best table answers at most.
constexpr std::size_t table_answers = 16;

bool inside(const search::space& space, const configuration& c) {
  const auto p = space.to_point(c);
  // A number that matches by value only (64 for 64.0) is another configuration.
  return p && space.contains(*p) && space.to_configuration(*p) == c;
}

known_result to_known(const storage::record& r, const measurement& m, const arguments& facts) {
  known_result k;
  k.config = r.config;
  k.measured = m;
  k.record = r.key.hex();
  k.at = r.result.at;
  k.target = facts;
  k.device = target{facts}.device();
  return k;
}

} // namespace

result<std::unique_ptr<storage::store>> open_to_read(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code ec;
  if (folder.empty())
    return error{errc::store_unusable, "no folder for the store is known: give --store DIR or set ATTUNE_STORE", {}};
  if (!fs::exists(folder, ec) && !ec) return std::unique_ptr<storage::store>{};
  if (fs::is_directory(folder, ec) && fs::is_empty(folder, ec) && !ec) return std::unique_ptr<storage::store>{};
  return storage::store::open(folder, {.read_only = true, .create = false});
}

namespace {

status is_there(const std::string& folder) {
  const auto there = open_to_read(folder);
  if (!there) return there.err();
  if (!*there) return error{errc::store_unusable, "there is no store yet; attune tune makes one", folder};
  return {};
}

} // namespace

result<std::unique_ptr<storage::store_port>> open_to_change(const std::string& folder) {
  if (auto good = is_there(folder); !good) return good.err();
  return net::open_shared(folder);
}

result<std::unique_ptr<storage::store>> open_as_owner(const std::string& folder) {
  if (auto good = is_there(folder); !good) return good.err();
  return storage::store::open(folder, {.create = false});
}

result<std::vector<known_result>> best_inside(const storage::store& from, const storage::task_entry& task,
                                              const search::space& space, std::size_t count) {
  std::vector<known_result> out;
  const auto table = from.best(task.task, table_answers);
  if (!table) return table.err();
  for (const auto& r : *table)
    if (const auto* m = r.result.measured(); m != nullptr && out.size() < count && inside(space, r.config))
      out.push_back(to_known(r, *m, task.target_facts));
  // A table that is not full has everything that was ever good.
  if (out.size() >= count || table->size() < table_answers) return out;

  std::map<key128, known_result> newest;
  const auto read = from.records_of(task.task, [&](const storage::record& r) {
    if (const auto* f = r.result.failed()) {
      if (!is_infrastructure(f->kind)) newest.erase(r.key);
    } else if (r.result.bounded() != nullptr) {
      newest.erase(r.key);
    } else if (const auto* m = r.result.measured(); m != nullptr && std::isfinite(m->value) && m->value >= 0) {
      newest[r.key] = to_known(r, *m, task.target_facts);
    }
    return true;
  });
  if (!read) return read.err();
  out.clear();
  for (auto& [key, k] : newest)
    if (inside(space, k.config)) out.push_back(std::move(k));
  std::stable_sort(out.begin(), out.end(), [&](const known_result& a, const known_result& b) {
    const double x = a.measured.value, y = b.measured.value;
    return task.direction == goal::minimize ? x < y : x > y;
  });
  if (out.size() > count) out.resize(count);
  return out;
}

result<std::vector<known_result>> best_of_earlier(const storage::store& from, const task& of,
                                                  const search::space& space) {
  std::vector<known_result> out;
  auto earlier = actors::earlier_results(from, of, space);
  if (!earlier) return earlier.err();
  for (auto& e : *earlier) {
    const auto* m = e.from.result.measured();
    if (m == nullptr || !std::isfinite(m->value) || m->value < 0) continue;
    out.push_back(to_known(e.from, *m, of.where.facts));
    out.back().config = std::move(e.config);
  }
  return out;
}

bool matches_target(const arguments& facts, const std::string& text) {
  if (text.find('=') == std::string::npos) return target{facts}.device() == text;
  for (const auto part : split(text, ',')) {
    const auto equals = part.find('=');
    const auto name = trim(part.substr(0, equals));
    const auto wanted = equals == std::string_view::npos ? std::string_view{} : trim(part.substr(equals + 1));
    const auto* fact = find(facts, name);
    if (name == "device" ? target{facts}.device() != wanted : fact == nullptr || fact->text() != wanted) return false;
  }
  return true;
}

} // namespace attune::cli
