// The store as a whole: its space, its copies.
#include "storage/store_impl.hpp"

#include <filesystem>

namespace attune::storage {

bool store::is_current() const noexcept { return impl_->place.schema().value_or(keys::schema) == keys::schema; }

status store::compact() {
  auto& i = *impl_;
  if (i.read_only) return error{errc::store_unusable, "the store '" + path() + "' is open for reading only", {}};
  return i.db->compact();
}

void store::end_compaction() { impl_->db->end_compaction(); }

status store::backup(const std::string& folder) const {
  namespace fs = std::filesystem;
  auto& i = *impl_;
  std::error_code ec;
  if (fs::exists(folder, ec) && !(fs::is_directory(folder, ec) && fs::is_empty(folder, ec)))
    return error{errc::io, "'" + folder + "' is there already, and is not empty", {}};
  std::string place = folder;
  while (place.size() > 1 && place.back() == '/') place.pop_back();
  if (const auto above = fs::path(place).parent_path(); !above.empty()) fs::create_directories(above, ec);
  // Under its name only when it is whole.
  const std::string fresh = place + ".partial";
  fs::remove_all(fresh, ec);
  // No write in between: the numbers belong to what is copied.
  const std::lock_guard writer(i.write_lock);
  auto done = i.db->copy_to(fresh);
  if (done) done = i.place.seal_copy(fresh, i.next_record - 1);
  if (done) {
    fs::rename(fresh, place, ec);
    if (!ec) return {};
    done = error{errc::io, "cannot make '" + folder + "': " + ec.message(), {}};
  }
  fs::remove_all(fresh, ec);
  return done;
}

} // namespace attune::storage
