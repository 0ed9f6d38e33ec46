#include "core/file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace attune {

result<std::string> file_contents(const std::string& path, std::uint64_t most) {
  struct closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  // No stream of the library's: its buffer throws where a read fails.
  const std::unique_ptr<std::FILE, closer> in(std::fopen(path.c_str(), "rbe"));
  if (!in) return error{errc::io, std::strerror(errno), path};
  std::string out;
  std::array<char, 65536> block{};
  while (out.size() < most) {
    const auto got = std::fread(block.data(), 1, std::min<std::uint64_t>(block.size(), most - out.size()), in.get());
    out.append(block.data(), got);
    if (got == 0) break;
  }
  if (std::ferror(in.get()) != 0) return error{errc::io, std::strerror(errno), path};
  return out;
}

} // namespace attune
