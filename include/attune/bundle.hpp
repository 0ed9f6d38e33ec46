// The reader of bundles, which `attune bundle` writes: the best known configuration of each task, for an application to
// look up where it runs. It needs this header alone: C++17, the standard library, POSIX mmap.
//
//   std::string why;
//   const auto tuned = attune::bundle::open("tuned.bundle", why);
//   if (!tuned) …why…
//   if (const auto best = tuned.find("gemm", {{"m", 512}, {"n", 512}, {"dtype", "f32"}}, "local"))
//     tile = best.entry.integer("tile_m", 16);
//
// The file (little-endian): a header of 48 bytes, the entries (96 bytes each), their arguments and values (24 each), a
// hash table (4 bytes a slot, open addressing), the texts, zeros up to a multiple of 8. The header:
//    0 "ATTUNEB\n"   8 version (1)   12 entries   16 bytes of the file   24 checksum of the file, this word being zero
//   32 slots, a power of two   36 arguments and values   40 bytes of text   44 zero
// An entry: 0 hash of workload and target   8 hash of the workload   16 name   24 target   32 unit (texts: offset and
// length, 4 bytes each)   40 first argument   44 how many   48 first value   52 how many   56 measured   64 spread
//   72 flags (1: more is better, 2: the workload has other targets too)   76 zero   80 the record's key, 16 bytes
// An argument or value: 0 name   8 kind   12 zero   16 the number's bits, or a text. A slot: 0, or an entry's number
// from 1 on; with the top bit set it stands under the workload's hash, for any target.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace attune {

/// A typed value; a text is the bundle's or the caller's. A permutation is its items with commas between.
struct bundle_value {
  enum class kind : std::uint32_t { absent, boolean, integer, real, text, permutation };
  kind type = kind::absent;
  std::int64_t integer = 0; ///< also of a boolean: 0 or 1
  double real = 0;
  std::string_view text;

  constexpr bundle_value() noexcept = default;
  // NOLINTBEGIN(google-explicit-constructor): values are written as they are.
  constexpr bundle_value(bool v) noexcept : type(kind::boolean), integer(v ? 1 : 0) {}
  constexpr bundle_value(int v) noexcept : type(kind::integer), integer(v) {}
  constexpr bundle_value(long v) noexcept : type(kind::integer), integer(v) {}
  constexpr bundle_value(long long v) noexcept : type(kind::integer), integer(v) {}
  constexpr bundle_value(unsigned v) noexcept : type(kind::integer), integer(v) {}
  constexpr bundle_value(unsigned long v) noexcept : type(kind::integer), integer(static_cast<std::int64_t>(v)) {}
  constexpr bundle_value(unsigned long long v) noexcept : type(kind::integer), integer(static_cast<std::int64_t>(v)) {}
  constexpr bundle_value(double v) noexcept : type(kind::real), real(v) {}
  constexpr bundle_value(std::string_view v) noexcept : type(kind::text), text(v) {}
  constexpr bundle_value(const char* v) noexcept : type(kind::text), text(v) {}
  bundle_value(const std::string& v) noexcept : type(kind::text), text(v) {}
  // NOLINTEND(google-explicit-constructor)

  bool is_number() const noexcept { return type == kind::integer || type == kind::real; }
  double number() const noexcept { return type == kind::real ? real : static_cast<double>(integer); }
  /// Numbers are compared by their value: 512 is 512.0.
  friend bool operator==(const bundle_value& a, const bundle_value& b) noexcept {
    if (a.is_number() && b.is_number())
      return a.type == b.type && a.type == kind::integer ? a.integer == b.integer : a.number() == b.number();
    return a.type == b.type && a.integer == b.integer && a.text == b.text;
  }
  friend bool operator!=(const bundle_value& a, const bundle_value& b) noexcept { return !(a == b); }
};

struct bundle_named {
  std::string_view name;
  bundle_value value;
};

namespace bundle_format {

inline constexpr char magic[9] = "ATTUNEB\n";
inline constexpr std::uint32_t version = 1;
inline constexpr std::size_t header_bytes = 48, entry_bytes = 96, value_bytes = 24, slot_bytes = 4;
inline constexpr std::uint32_t any_target = std::uint32_t{1} << 31, more_is_better = 1, other_targets = 2;

template <class Number>
inline Number load(const unsigned char* at) noexcept {
  Number out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

/// Steele, Lea and Flood's mixing (splitmix64).
inline std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t h = 0x9e3779b97f4a7c15u + text.size();
  while (text.size() >= 8) {
    h = (h ^ load<std::uint64_t>(reinterpret_cast<const unsigned char*>(text.data()))) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
    text.remove_prefix(8);
  }
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return mix(h);
}

inline std::uint64_t hash_of(const bundle_value& v) noexcept {
  using kind = bundle_value::kind;
  if (v.type == kind::text || v.type == kind::permutation) return hash_of(v.text) + static_cast<std::uint64_t>(v.type);
  if (v.type == kind::real && (v.real != std::floor(v.real) || std::fabs(v.real) > 9007199254740992.0)) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &v.real, sizeof bits);
    return mix(bits + 1);
  }
  const auto whole = v.type == kind::real ? static_cast<std::int64_t>(v.real) : v.integer;
  return mix(static_cast<std::uint64_t>(whole) * 2 + (v.type == kind::boolean ? 0x5bd1e995u : 0) +
             (v.type == kind::absent ? 0x1b873593u : 0));
}

/// In whatever order the arguments stand.
inline std::uint64_t hash_of(std::string_view workload, const bundle_named* args, std::size_t count) noexcept {
  std::uint64_t sum = count;
  for (std::size_t i = 0; i < count; ++i) sum += mix(hash_of(args[i].name) + 3 * hash_of(args[i].value));
  return mix(hash_of(workload) ^ mix(sum));
}

inline std::uint64_t with_target(std::uint64_t workload, std::string_view target) noexcept {
  return mix(workload + 5 * hash_of(target));
}

/// Every step can be undone, so that two files which differ in one word never have the same.
inline std::uint64_t checksum(const unsigned char* data, std::size_t bytes) noexcept {
  std::uint64_t h = 0x2545f4914f6cdd1du;
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    h = (h ^ (i == 24 ? 0 : load<std::uint64_t>(data + i))) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
  }
  return h;
}

} // namespace bundle_format

class bundle;

/// One task's best, as it lies in the bundle: valid as long as the bundle lives and is not moved from. Nothing here
/// allocates or fails.
class bundle_entry {
public:
  bundle_entry() noexcept = default;
  explicit operator bool() const noexcept { return of_ != nullptr; }

  std::string_view workload() const noexcept;
  std::string_view target() const noexcept; ///< the device's name
  std::size_t arguments() const noexcept;
  bundle_named argument(std::size_t i) const noexcept; ///< @pre i < arguments()

  std::size_t size() const noexcept;                     ///< of the configuration
  bundle_named operator[](std::size_t i) const noexcept; ///< @pre i < size()
  /// The parameter's value; absent where there is no such one.
  bundle_value find(std::string_view name) const noexcept;
  /// The parameter as a type; `otherwise` where there is none, or it is of another type. A whole real is an integer
  /// too, an integer a real.
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const noexcept;
  double real(std::string_view name, double otherwise) const noexcept;
  bool boolean(std::string_view name, bool otherwise) const noexcept;
  std::string_view text(std::string_view name, std::string_view otherwise) const noexcept;

  double measured() const noexcept; ///< the cleaned median, in unit()
  double spread() const noexcept;   ///< relative half width of its 95 % interval
  std::string_view unit() const noexcept;
  bool more_is_better() const noexcept;
  /// 16 bytes: the key of the record in the store from which it comes.
  std::string_view record() const noexcept;

private:
  friend class bundle;
  bundle_entry(const bundle* of, const unsigned char* at) noexcept : of_(of), at_(at) {}
  const bundle* of_ = nullptr;
  const unsigned char* at_ = nullptr;
};

/// What a lookup found, and how near it is.
struct bundle_answer {
  bundle_entry entry;
  bool exact = false;
  /// 0 where exact. 1 for another target; for each argument that differs 1, or, of two numbers, the absolute binary
  /// logarithm of (|a| + 1) / (|b| + 1), and 1 where their signs differ.
  double distance = 0;
  explicit operator bool() const noexcept { return static_cast<bool>(entry); }
};

/// An open bundle. Thread-safety: everything const is safe from any thread. The file is mapped: replace it by renaming
/// another one over it (as `attune bundle` does), never write into it.
class bundle {
public:
  /// Reads and checks the whole file. An empty bundle, and in `why` the reason, where it cannot be read, is not a
  /// bundle, is damaged or cut off, or was written by a newer version.
  static bundle open(const char* path, std::string& why);
  /// The same of bytes that the caller keeps.
  static bundle view(const void* data, std::size_t bytes, std::string& why);

  bundle() noexcept = default;
  bundle(bundle&& o) noexcept { *this = std::move(o); }
  bundle& operator=(bundle&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(bytes_, o.bytes_);
    std::swap(mapped_, o.mapped_);
    return *this;
  }
  ~bundle() {
    if (mapped_) ::munmap(const_cast<unsigned char*>(data_), bytes_);
  }

  explicit operator bool() const noexcept { return data_ != nullptr; }
  std::size_t size() const noexcept { return data_ == nullptr ? 0 : word(12); }
  bundle_entry operator[](std::size_t i) const noexcept { return {this, entry(i)}; } ///< @pre i < size()

  /// The best for this workload on this target, in O(1). Where that target is not in the bundle, the first of the same
  /// workload on another one, which is not exact. Without a target any will do; it is exact where there is but one.
  bundle_answer find(std::string_view workload, const bundle_named* args, std::size_t count,
                     std::string_view target = {}) const noexcept;
  bundle_answer find(std::string_view workload, std::initializer_list<bundle_named> args,
                     std::string_view target = {}) const noexcept {
    return find(workload, args.begin(), args.size(), target);
  }
  /// The same; where the workload's arguments are not in the bundle, the entry of that workload with the least distance
  /// (one look at each entry).
  bundle_answer nearest(std::string_view workload, const bundle_named* args, std::size_t count,
                        std::string_view target = {}) const noexcept;
  bundle_answer nearest(std::string_view workload, std::initializer_list<bundle_named> args,
                        std::string_view target = {}) const noexcept {
    return nearest(workload, args.begin(), args.size(), target);
  }

private:
  friend class bundle_entry;
  std::uint32_t word(std::size_t at) const noexcept { return bundle_format::load<std::uint32_t>(data_ + at); }
  const unsigned char* entry(std::size_t i) const noexcept {
    return data_ + bundle_format::header_bytes + i * bundle_format::entry_bytes;
  }
  const unsigned char* value(std::size_t i) const noexcept { return entry(word(12)) + i * bundle_format::value_bytes; }
  const unsigned char* slots() const noexcept { return value(word(36)); }
  const char* texts() const noexcept {
    return reinterpret_cast<const char*>(slots() + word(32) * bundle_format::slot_bytes);
  }
  std::string_view text(const unsigned char* at) const noexcept {
    using bundle_format::load;
    return {texts() + load<std::uint32_t>(at), load<std::uint32_t>(at + 4)};
  }
  bundle_named named(std::size_t i) const noexcept;
  bool is_whole(std::string& why) const;
  bool has_arguments(const unsigned char* e, const bundle_named* args, std::size_t count) const noexcept;
  const unsigned char* look(std::uint64_t hash, bool any, std::string_view workload, const bundle_named* args,
                            std::size_t count, std::string_view target) const noexcept;

  const unsigned char* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool mapped_ = false;
};

// --- how ---

inline bundle_named bundle::named(std::size_t i) const noexcept {
  using bundle_format::load;
  const auto* v = value(i);
  bundle_named out;
  out.name = text(v);
  out.value.type = static_cast<bundle_value::kind>(load<std::uint32_t>(v + 8));
  if (out.value.type == bundle_value::kind::real)
    out.value.real = load<double>(v + 16);
  else if (out.value.type == bundle_value::kind::text || out.value.type == bundle_value::kind::permutation)
    out.value.text = text(v + 16);
  else
    out.value.integer = load<std::int64_t>(v + 16);
  return out;
}

inline std::string_view bundle_entry::workload() const noexcept { return of_->text(at_ + 16); }
inline std::string_view bundle_entry::target() const noexcept { return of_->text(at_ + 24); }
inline std::string_view bundle_entry::unit() const noexcept { return of_->text(at_ + 32); }
inline std::size_t bundle_entry::arguments() const noexcept { return bundle_format::load<std::uint32_t>(at_ + 44); }
inline bundle_named bundle_entry::argument(std::size_t i) const noexcept {
  return of_->named(bundle_format::load<std::uint32_t>(at_ + 40) + i);
}
inline std::size_t bundle_entry::size() const noexcept { return bundle_format::load<std::uint32_t>(at_ + 52); }
inline bundle_named bundle_entry::operator[](std::size_t i) const noexcept {
  return of_->named(bundle_format::load<std::uint32_t>(at_ + 48) + i);
}
inline double bundle_entry::measured() const noexcept { return bundle_format::load<double>(at_ + 56); }
inline double bundle_entry::spread() const noexcept { return bundle_format::load<double>(at_ + 64); }
inline bool bundle_entry::more_is_better() const noexcept {
  return (bundle_format::load<std::uint32_t>(at_ + 72) & bundle_format::more_is_better) != 0;
}
inline std::string_view bundle_entry::record() const noexcept { return {reinterpret_cast<const char*>(at_ + 80), 16}; }

inline bundle_value bundle_entry::find(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < size(); ++i)
    if (const auto v = (*this)[i]; v.name == name) return v.value;
  return {};
}
inline std::int64_t bundle_entry::integer(std::string_view name, std::int64_t otherwise) const noexcept {
  const auto v = find(name);
  if (v.type == bundle_value::kind::integer) return v.integer;
  const bool whole = v.type == bundle_value::kind::real && v.real == std::floor(v.real) && std::fabs(v.real) < 9.2e18;
  return whole ? static_cast<std::int64_t>(v.real) : otherwise;
}
inline double bundle_entry::real(std::string_view name, double otherwise) const noexcept {
  const auto v = find(name);
  return v.is_number() ? v.number() : otherwise;
}
inline bool bundle_entry::boolean(std::string_view name, bool otherwise) const noexcept {
  const auto v = find(name);
  return v.type == bundle_value::kind::boolean ? v.integer != 0 : otherwise;
}
inline std::string_view bundle_entry::text(std::string_view name, std::string_view otherwise) const noexcept {
  const auto v = find(name);
  return v.type == bundle_value::kind::text || v.type == bundle_value::kind::permutation ? v.text : otherwise;
}

inline bool bundle::has_arguments(const unsigned char* e, const bundle_named* args, std::size_t count) const noexcept {
  using bundle_format::load;
  if (load<std::uint32_t>(e + 44) != count) return false;
  const std::size_t first = load<std::uint32_t>(e + 40);
  for (std::size_t i = 0; i < count; ++i) {
    bool same = false;
    // They mostly stand in the same order.
    for (std::size_t k = 0; k < count && !same; ++k) {
      const auto mine = named(first + (i + k) % count);
      same = mine.name == args[i].name && mine.value == args[i].value;
    }
    if (!same) return false;
  }
  return true;
}

inline const unsigned char* bundle::look(std::uint64_t hash, bool any, std::string_view workload,
                                         const bundle_named* args, std::size_t count,
                                         std::string_view target) const noexcept {
  using bundle_format::load;
  const std::uint32_t mask = word(32) - 1;
  const auto* table = slots();
  for (auto i = static_cast<std::uint32_t>(hash) & mask;; i = (i + 1) & mask) {
    const auto slot = load<std::uint32_t>(table + i * bundle_format::slot_bytes);
    if (slot == 0) return nullptr;
    if (((slot & bundle_format::any_target) != 0) != any) continue;
    const auto* e = entry((slot & ~bundle_format::any_target) - 1);
    if (load<std::uint64_t>(e + (any ? 8 : 0)) == hash && text(e + 16) == workload && (any || text(e + 24) == target) &&
        has_arguments(e, args, count))
      return e;
  }
}

inline bundle_answer bundle::find(std::string_view workload, const bundle_named* args, std::size_t count,
                                  std::string_view target) const noexcept {
  bundle_answer out;
  if (data_ == nullptr) return out;
  const auto hash = bundle_format::hash_of(workload, args, count);
  if (!target.empty())
    if (const auto* e = look(bundle_format::with_target(hash, target), false, workload, args, count, target)) {
      out.entry = {this, e};
      out.exact = true;
      return out;
    }
  if (const auto* e = look(hash, true, workload, args, count, target)) {
    out.entry = {this, e};
    out.exact = target.empty() && (bundle_format::load<std::uint32_t>(e + 72) & bundle_format::other_targets) == 0;
    out.distance = out.exact ? 0 : 1;
  }
  return out;
}

inline bundle_answer bundle::nearest(std::string_view workload, const bundle_named* args, std::size_t count,
                                     std::string_view target) const noexcept {
  bundle_answer out = find(workload, args, count, target);
  if (out) return out;
  for (std::size_t n = 0; n < size(); ++n) {
    const auto e = (*this)[n];
    if (e.workload() != workload) continue;
    double far = target.empty() || e.target() == target ? 0 : 1;
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < e.arguments(); ++k) {
        const auto mine = e.argument(k);
        if (mine.name != args[i].name) continue;
        ++found;
        const auto &a = mine.value, &b = args[i].value;
        if (a == b) break;
        if (!a.is_number() || !b.is_number()) {
          far += 1;
        } else {
          far += std::fabs(std::log2((std::fabs(a.number()) + 1) / (std::fabs(b.number()) + 1)));
          if ((a.number() < 0) != (b.number() < 0)) far += 1;
        }
        break;
      }
    far += static_cast<double>(count - found) + static_cast<double>(e.arguments() > found ? e.arguments() - found : 0);
    if (!(far >= 0) || (out && far >= out.distance)) continue;
    out.entry = e;
    out.distance = far;
  }
  return out;
}

inline bool bundle::is_whole(std::string& why) const {
  using namespace bundle_format;
  if (bytes_ < header_bytes || std::memcmp(data_, magic, 8) != 0) {
    why = bytes_ < header_bytes ? "is no bundle, or is cut off" : "is no bundle";
    return false;
  }
  if (word(8) != version) {
    why = "was written by another version (format " + std::to_string(word(8)) + ", this program reads " +
          std::to_string(version) + ")";
    return false;
  }
  if (load<std::uint64_t>(data_ + 16) != bytes_) {
    why = "is cut off, or something was added: it has " + std::to_string(bytes_) + " bytes of " +
          std::to_string(load<std::uint64_t>(data_ + 16));
    return false;
  }
  why = "is damaged";
  const std::uint64_t entries = word(12), table = word(32), values = word(36), text_bytes = word(40);
  const auto used = header_bytes + entries * entry_bytes + values * value_bytes + table * slot_bytes + text_bytes;
  if (bytes_ % 8 != 0 || (used + 7) / 8 * 8 != bytes_ || checksum(data_, bytes_) != load<std::uint64_t>(data_ + 24))
    return false;
  // What is written by no Attune can still have a right checksum: no lookup may leave the file.
  if (table == 0 || (table & (table - 1)) != 0) return false;
  const auto text_in = [&](const unsigned char* at) {
    return std::uint64_t{load<std::uint32_t>(at)} + load<std::uint32_t>(at + 4) <= text_bytes;
  };
  for (std::size_t i = 0; i < entries; ++i) {
    const auto* e = entry(i);
    for (std::size_t at = 16; at <= 32; at += 8)
      if (!text_in(e + at)) return false;
    for (std::size_t at = 40; at <= 48; at += 8)
      if (std::uint64_t{load<std::uint32_t>(e + at)} + load<std::uint32_t>(e + at + 4) > values) return false;
  }
  for (std::size_t i = 0; i < values; ++i) {
    const auto* v = value(i);
    const auto kind = load<std::uint32_t>(v + 8);
    if (!text_in(v) || kind > 5 || (kind >= 4 && !text_in(v + 16))) return false;
  }
  std::size_t free = 0;
  for (std::size_t i = 0; i < table; ++i) {
    const auto slot = load<std::uint32_t>(slots() + i * slot_bytes);
    if (slot == 0) ++free;
    if ((slot & ~any_target) > entries || slot == any_target) return false;
  }
  if (free == 0) return false;
  why.clear();
  return true;
}

inline bundle bundle::view(const void* data, std::size_t bytes, std::string& why) {
  bundle out;
  out.data_ = static_cast<const unsigned char*>(data);
  out.bytes_ = bytes;
  if (out.is_whole(why)) return out;
  why = "the bundle " + why;
  return {};
}

inline bundle bundle::open(const char* path, std::string& why) {
  const auto failed = [&](const std::string& what) {
    why = std::string("'") + path + "' " + what;
    return bundle();
  };
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed(std::string("cannot be read: ") + std::strerror(errno));
  struct stat s {};
  const bool regular = ::fstat(file, &s) == 0 && S_ISREG(s.st_mode);
  const auto bytes = regular ? static_cast<std::size_t>(s.st_size) : 0;
  void* at = bytes == 0 ? MAP_FAILED : ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  const std::string reason = std::strerror(errno);
  ::close(file);
  if (!regular || bytes == 0) return failed(regular ? "is empty" : "is not a file");
  if (at == MAP_FAILED) return failed("cannot be mapped: " + reason);
  bundle out;
  out.data_ = static_cast<const unsigned char*>(at);
  out.bytes_ = bytes;
  out.mapped_ = true;
  if (out.is_whole(why)) return out;
  return failed(why);
}

} // namespace attune
