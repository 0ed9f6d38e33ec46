#include "storage/bundle_writer.hpp"

#include "include/attune/bundle.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <unistd.h>
#include <unordered_map>

namespace attune::storage {

namespace {

using namespace bundle_format;

template <class Number>
void put(std::string& out, Number n) {
  char bytes[sizeof n];
  std::memcpy(bytes, &n, sizeof n);
  out.append(bytes, sizeof n);
}

template <class Number>
void put_at(std::string& out, std::size_t at, Number n) {
  std::memcpy(out.data() + at, &n, sizeof n);
}

/// The texts of a bundle, each once.
class text_pool {
public:
  void put_reference(std::string& out, const std::string& text) {
    const auto [at, fresh] = offsets_.try_emplace(text, all_.size());
    if (fresh) all_ += text;
    put(out, static_cast<std::uint32_t>(at->second));
    put(out, static_cast<std::uint32_t>(text.size()));
  }
  const std::string& all() const { return all_; }

private:
  std::string all_;
  std::unordered_map<std::string, std::size_t> offsets_;
};

/// A value as the reader has it; a permutation's text is `joined`.
bundle_value as_read(const value& v, std::string& joined) {
  switch (v.type()) {
  case value::kind::absent:
    return {};
  case value::kind::boolean:
    return {v.as_bool()};
  case value::kind::integer:
    return {static_cast<long long>(v.as_integer())};
  case value::kind::real:
    return {v.as_real()};
  case value::kind::text:
  case value::kind::order:
    break;
  }
  joined = v.text();
  bundle_value out{std::string_view(joined)};
  if (v.type() == value::kind::order) out.type = bundle_value::kind::permutation;
  return out;
}

void put_value(std::string& out, text_pool& texts, const std::string& name, const value& v) {
  std::string joined;
  const auto b = as_read(v, joined);
  texts.put_reference(out, name);
  put(out, static_cast<std::uint32_t>(b.type));
  put(out, std::uint32_t{0});
  if (b.type == bundle_value::kind::real)
    put(out, b.real);
  else if (b.type == bundle_value::kind::text || b.type == bundle_value::kind::permutation)
    texts.put_reference(out, joined);
  else
    put(out, b.integer);
}

std::uint64_t workload_hash(const bundle_item& item) {
  std::vector<std::string> joined(item.args.size());
  std::vector<bundle_named> args;
  for (std::size_t i = 0; i < item.args.size(); ++i)
    args.push_back({item.args[i].first, as_read(item.args[i].second, joined[i])});
  return hash_of(item.workload, args.data(), args.size());
}

/// A hash table as the reader looks into it.
class slot_table {
public:
  explicit slot_table(std::size_t keys) {
    std::size_t n = 4;
    while (n < 2 * keys) n *= 2;
    slots_.resize(n);
  }
  void insert(std::uint64_t hash, std::uint32_t slot) {
    auto i = hash & (slots_.size() - 1);
    while (slots_[i] != 0) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = slot;
  }
  const std::vector<std::uint32_t>& all() const { return slots_; }

private:
  std::vector<std::uint32_t> slots_;
};

std::string named(const bundle_item& item) {
  std::string out = item.workload + "(";
  for (std::size_t i = 0; i < item.args.size(); ++i)
    out += (i == 0 ? "" : ", ") + item.args[i].first + "=" + item.args[i].second.text();
  return out + ") on " + item.target;
}

} // namespace

result<std::string> bundle_bytes(const std::vector<bundle_item>& items) {
  text_pool texts;
  std::string entries, values;
  std::unordered_map<std::uint64_t, std::size_t> first_with; // of each workload's hash
  std::unordered_map<std::uint64_t, std::size_t> seen;       // of each with its target
  std::vector<std::uint32_t> flags;
  std::vector<std::uint64_t> hashes, wholes;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto h = workload_hash(items[i]);
    hashes.push_back(h);
    wholes.push_back(with_target(h, items[i].target));
    flags.push_back(items[i].direction == goal::maximize ? more_is_better : 0);
    if (const auto [at, fresh] = seen.try_emplace(wholes[i], i); !fresh)
      return error{errc::invalid_spec,
                   "two tasks are of one workload and target, " + named(items[i]) +
                       ": an application could not tell which it gets; bundle them into two files",
                   {}};
    if (const auto [at, fresh] = first_with.try_emplace(h, i); !fresh) {
      flags[i] |= other_targets;
      flags[at->second] |= other_targets;
    }
  }
  slot_table slots(items.size() + first_with.size());
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& item = items[i];
    put(entries, wholes[i]);
    put(entries, hashes[i]);
    texts.put_reference(entries, item.workload);
    texts.put_reference(entries, item.target);
    texts.put_reference(entries, item.unit);
    put(entries, count);
    put(entries, static_cast<std::uint32_t>(item.args.size()));
    put(entries, static_cast<std::uint32_t>(count + item.args.size()));
    put(entries, static_cast<std::uint32_t>(item.config.values().size()));
    put(entries, item.measured);
    put(entries, item.spread);
    put(entries, flags[i]);
    put(entries, std::uint32_t{0});
    entries += item.record.view();
    for (const auto& [name, v] : item.args) put_value(values, texts, name, v);
    for (std::size_t k = 0; k < item.config.values().size(); ++k)
      put_value(values, texts, (*item.config.names())[k], item.config.values()[k]);
    count += static_cast<std::uint32_t>(item.args.size() + item.config.values().size());
    slots.insert(wholes[i], static_cast<std::uint32_t>(i + 1));
    if (first_with.at(hashes[i]) == i) slots.insert(hashes[i], static_cast<std::uint32_t>(i + 1) | any_target);
  }
  std::string out;
  out.append(magic, 8);
  put(out, version);
  put(out, static_cast<std::uint32_t>(items.size()));
  put(out, std::uint64_t{0});
  put(out, std::uint64_t{0});
  put(out, static_cast<std::uint32_t>(slots.all().size()));
  put(out, count);
  put(out, static_cast<std::uint32_t>(texts.all().size()));
  put(out, std::uint32_t{0});
  out += entries + values;
  for (const auto slot : slots.all()) put(out, slot);
  out += texts.all();
  out.resize((out.size() + 7) / 8 * 8);
  if (out.size() > std::numeric_limits<std::uint32_t>::max())
    return error{errc::invalid_spec, "the bundle would be larger than 4 GB", {}};
  put_at(out, 16, static_cast<std::uint64_t>(out.size()));
  put_at(out, 24, checksum(reinterpret_cast<const unsigned char*>(out.data()), out.size()));
  return out;
}

status replace_file(const std::string& where, std::string_view contents) {
  std::string path = where;
  struct stat s {};
  if (::stat(path.c_str(), &s) == 0) {
    // A device or a folder is not to be replaced; what a link names is, and not the link.
    if (!S_ISREG(s.st_mode)) return error{errc::io, "cannot write '" + path + "': it is not a file", {}};
    if (char* real = ::realpath(path.c_str(), nullptr)) {
      path = real;
      std::free(real);
    }
  }
  const std::string fresh = path + ".new";
  const auto failed = [&](const char* what) {
    error why{errc::io, std::string("cannot ") + what + " '" + path + "': " + std::strerror(errno), {}};
    ::unlink(fresh.c_str());
    return why;
  };
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return failed("write");
  for (auto left = contents; !left.empty();) {
    const auto n = ::write(file, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const auto why = failed("write");
      ::close(file);
      return why;
    }
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(file) != 0) {
    const auto why = failed("write");
    ::close(file);
    return why;
  }
  ::close(file);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return failed("write");
  return {};
}

} // namespace attune::storage
