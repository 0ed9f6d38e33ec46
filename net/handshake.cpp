#include "net/handshake.hpp"

#include <algorithm>

namespace attune::net {

namespace {

template <class Theirs>
std::vector<std::string> common(const std::vector<std::string>& mine, const Theirs& theirs) {
  std::vector<std::string> out;
  for (const auto& f : mine)
    if (std::find(theirs.begin(), theirs.end(), f) != theirs.end()) out.push_back(f);
  return out;
}

std::string range(std::uint32_t oldest, std::uint32_t newest) {
  return oldest == newest ? std::to_string(oldest) : std::to_string(oldest) + " to " + std::to_string(newest);
}

} // namespace

bool agreement::has(std::string_view feature) const noexcept {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

wire::v1::Hello hello_of(const abilities& mine, std::string_view peer) {
  wire::v1::Hello out;
  out.set_magic(mine.magic);
  out.set_oldest(mine.oldest);
  out.set_newest(mine.newest);
  for (const auto& f : mine.features) out.add_features(f);
  out.set_program(mine.program);
  out.set_peer(peer.data(), peer.size());
  return out;
}

result<agreement> agree(const abilities& mine, const wire::v1::Hello& theirs) {
  if (theirs.magic() != mine.magic) return error{errc::network, "this is not what was looked for", {}};
  if (theirs.peer().size() != 16) return error{errc::network, "the greeting does not say who it is", {}};
  const auto version = std::min(mine.newest, theirs.newest());
  if (theirs.oldest() > theirs.newest() || version < std::max(mine.oldest, theirs.oldest()))
    return error{errc::network,
                 "the processes are of versions that do not understand each other: protocol " +
                     range(mine.oldest, mine.newest) + " here, " + range(theirs.oldest(), theirs.newest()) +
                     " there: update the older one",
                 {}};
  return agreement{version, common(mine.features, theirs.features())};
}

wire::v1::Welcome welcome_of(const abilities& mine, const agreement& agreed) {
  wire::v1::Welcome out;
  out.set_version(agreed.version);
  for (const auto& f : agreed.features) out.add_features(f);
  out.set_program(mine.program);
  return out;
}

result<agreement> agree(const abilities& mine, const wire::v1::Welcome& theirs) {
  if (theirs.version() < mine.oldest || theirs.version() > mine.newest)
    return error{errc::network, "the other process answers in a version that was not offered", {}};
  return agreement{theirs.version(), common(mine.features, theirs.features())};
}

} // namespace attune::net
