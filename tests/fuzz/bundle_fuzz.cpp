// Opens any bytes as a bundle, as they are and with a header, a size and a checksum that are right: whatever is taken
// for one answers every question without leaving its bytes.
#include "include/attune/bundle.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

using attune::bundle;
namespace format = attune::bundle_format;

namespace {

void must(bool holds) {
  if (!holds) __builtin_trap();
}

std::size_t looked = 0;

void look(const bundle& b) {
  for (std::size_t i = 0; i < b.size() && i < 64; ++i) {
    const auto e = b[i];
    std::vector<attune::bundle_named> args;
    for (std::size_t k = 0; k < e.arguments() && k < 64; ++k) args.push_back(e.argument(k));
    for (const auto& a : args) looked += a.name.size() + a.value.text.size();
    for (std::size_t k = 0; k < e.size() && k < 64; ++k) {
      const auto v = e[k];
      looked += v.name.size() + v.value.text.size() + static_cast<std::size_t>(e.find(v.name).type);
      looked += static_cast<std::size_t>(e.integer(v.name, 1) != 0) + e.text(v.name, "").size();
      looked += static_cast<std::size_t>(e.real(v.name, 1) > 0) + static_cast<std::size_t>(e.boolean(v.name, true));
    }
    looked += e.unit().size() + e.record().size() + static_cast<std::size_t>(e.measured() > e.spread());
    for (const auto target : {e.target(), std::string_view(), std::string_view("elsewhere")}) {
      const auto found = b.find(e.workload(), args.data(), args.size(), target);
      const auto near = b.nearest(e.workload(), args.data(), args.size(), target);
      must(!found || found.entry.workload() == e.workload());
      must(!found || !found.exact || found.distance == 0);
      must(!found || near);
      must(!b.find("no such workload", args.data(), args.size(), target).exact || e.workload() == "no such workload");
    }
    must(static_cast<bool>(b.nearest(e.workload(), {{"m", 3}, {"x", "y"}})) || true);
  }
}

/// A block of exactly these bytes, so that a sanitizer sees a look beyond it.
std::unique_ptr<std::uint64_t[]> aligned(const std::uint8_t* data, std::size_t size) {
  auto out = std::make_unique<std::uint64_t[]>((size + 7) / 8);
  std::memcpy(out.get(), data, size);
  return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string why;
  if (size == 0) return 0;
  const auto as_it_is = aligned(data, size);
  if (const auto b = bundle::view(as_it_is.get(), size, why))
    look(b);
  else
    must(!why.empty());
  const auto whole = size / 8 * 8;
  if (whole < format::header_bytes) return 0;
  const auto mended = aligned(data, whole);
  auto* bytes = reinterpret_cast<unsigned char*>(mended.get());
  std::memcpy(bytes, format::magic, 8);
  const std::uint64_t length = whole;
  std::memcpy(bytes + 8, &format::version, 4);
  std::memcpy(bytes + 16, &length, 8);
  const auto sum = format::checksum(bytes, whole);
  std::memcpy(bytes + 24, &sum, 8);
  if (const auto b = bundle::view(bytes, whole, why)) look(b);
  return 0;
}
