#pragma once

#include <string>
#include <string_view>

namespace attune::net::fleet {

/// Whether the process behind a TCP connection from `peer` (`127.0.0.1:4711`, `[::1]:4711`) is on this machine and the
/// same user's (or root's): by the kernel's table of sockets. False where that cannot be told. Blocks for the time of
/// reading a file in /proc.
bool same_user_on_loopback(const std::string& peer);

/// The user of the socket with this local address in a table as /proc/net/tcp has it; -1: there is none. Pure. `local`
/// is its hexadecimal form, as in the table.
long owner_in_table(std::string_view table, std::string_view local);
/// `0100007F:1A2B` for 127.0.0.1:6699; the form of tcp6 for an IPv6 address. Empty for what is no address in figures.
std::string table_form(const std::string& peer, bool six);

} // namespace attune::net::fleet
