// The store as a whole: its space, its copies.
#include "storage/store_impl.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
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
  // Under its name only when it is whole; closed to other users from the first file on, whatever the umask.
  const std::string closed = place + ".partial", fresh = closed + "/copy";
  fs::remove_all(closed, ec);
  if (::mkdir(closed.c_str(), 0700) != 0)
    return error{errc::io, "cannot make '" + closed + "': " + std::strerror(errno), {}};
  // No write in between: the numbers belong to what is copied.
  const std::lock_guard writer(i.write_lock);
  auto done = i.db->copy_to(fresh);
  if (done) done = i.place.seal_copy(fresh, i.next_record - 1);
  if (done) {
    fs::permissions(fresh, fs::perms::owner_all, ec);
    if (!ec) fs::rename(fresh, place, ec);
    if (ec) done = error{errc::io, "cannot make '" + folder + "': " + ec.message(), {}};
  }
  std::error_code ignored;
  fs::remove_all(closed, ignored);
  return done;
}

} // namespace attune::storage
