#include "net/fleet/local_peer.hpp"

#include "core/text.hpp"
#include "net/address.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <netinet/in.h>
#include <sstream>
#include <unistd.h>
#include <vector>

namespace attune::net::fleet {

std::string table_form(const std::string& peer, bool six) {
  const auto at = parse_address(peer);
  if (!at) return {};
  // The kernel prints the address as words of the machine's own order.
  std::array<std::uint32_t, 4> words{};
  std::size_t count = 1;
  in_addr four{};
  in6_addr long_form{};
  if (::inet_pton(AF_INET, at->host.c_str(), &four) == 1) {
    words[0] = four.s_addr;
    if (six) { // an IPv4 peer of a socket that takes both
      words = {0, 0, htonl(0xffff), four.s_addr};
      count = 4;
    }
  } else if (six && ::inet_pton(AF_INET6, at->host.c_str(), &long_form) == 1) {
    std::memcpy(words.data(), &long_form, sizeof long_form);
    count = 4;
  } else {
    return {};
  }
  std::string out;
  std::array<char, 16> text{};
  for (std::size_t i = 0; i < count; ++i) {
    std::snprintf(text.data(), text.size(), "%08X", words[i]);
    out += text.data();
  }
  std::snprintf(text.data(), text.size(), ":%04X", static_cast<unsigned>(at->port));
  return out + text.data();
}

long owner_in_table(std::string_view table, std::string_view local) {
  for (auto at = table.find(local); at != std::string_view::npos; at = table.find(local, at + 1)) {
    const auto begin = table.rfind('\n', at) + 1, end = std::min(table.find('\n', at), table.size());
    // sl local remote state queues timer retransmissions uid timeout inode ...
    std::vector<std::string_view> words;
    for (const auto w : split(table.substr(begin, end - begin), ' '))
      if (!w.empty()) words.push_back(w);
    // Of a socket that its process has closed already nobody can be told; the kernel says root.
    if (words.size() < 10 || words[1] != local || words[3] != "01" || words[9] == "0") continue;
    if (const auto uid = parse_integer(words[7])) return static_cast<long>(*uid);
  }
  return -1;
}

bool same_user_on_loopback(const std::string& peer) {
  const auto at = parse_address(peer);
  if (!at || !is_loopback(at->host)) return false;
  for (const bool six : {false, true}) {
    const auto form = table_form(peer, six);
    if (form.empty()) continue;
    std::ifstream in(six ? "/proc/net/tcp6" : "/proc/net/tcp");
    std::ostringstream table;
    table << in.rdbuf();
    const auto owner = owner_in_table(table.view(), form);
    if (owner >= 0) return owner == 0 || owner == static_cast<long>(::getuid());
  }
  return false;
}

} // namespace attune::net::fleet
