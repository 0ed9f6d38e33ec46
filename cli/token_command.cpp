#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/new_file.hpp"
#include "core/clock.hpp"
#include "core/value.hpp"
#include "net/audit_log.hpp"
#include "net/tls.hpp"
#include "net/tokens.hpp"

#include <charconv>
#include <iomanip>
#include <ostream>
#include <unistd.h>
#include <utility>

namespace attune::cli {

namespace {

json time_json(nanoseconds t) { return t.count() == 0 ? json() : json(rfc3339(t)); }

json entry_json(const net::token_entry& e) {
  return {{"id", e.id_text()},
          {"role", net::to_string(e.role)},
          {"name", e.name},
          {"weight", number_json(e.share.weight)},
          {"limit", e.share.limit == 0 ? json() : json(e.share.limit)},
          {"created", time_json(e.created)},
          {"used", time_json(e.used)},
          {"revoked", time_json(e.revoked)}};
}

/// What was done with a token is done already: a log that cannot be written is told and no more.
void write_down(const net::token_book& book, const char* did, const std::string& id, net::token_role role,
                const std::string& name, output& io) {
  auto folder = net::private_folder::open(book.folder().path(), false);
  if (!folder) return io.message(folder.err().message);
  net::audit_log log(std::move(*folder));
  const auto written = log.write(system_time().wall(), {"", "local", "uid " + std::to_string(::getuid()), ""}, did,
                                 {{"of", id}, {"role", net::to_string(role)}, {"name", name}});
  if (!written) io.message(written.err().message);
}

int create(net::token_book& book, const token_options& options, output& io) {
  const auto now = system_time().wall();
  std::optional<digest> pin;
  if (!options.unpinned) {
    const auto identity = net::own_identity(book.folder(), now);
    if (!identity) return io.fail(identity.err());
    pin = identity->fingerprint;
  }
  const auto made = book.create(options.role, options.name, pin, now, options.share);
  if (!made) return io.fail(made.err());
  write_down(book, "made a token", made->id_text(), options.role, options.name, io);
  const bool kept = !options.output.empty();
  if (kept)
    if (const auto done = make_new_file(options.output, made->text() + "\n", 0600); !done) {
      // Nobody will ever show it.
      if (book.revoke(made->id_text(), now))
        write_down(book, "revoked a token", made->id_text(), options.role, options.name, io);
      return io.fail(done.err());
    }
  if (io.json()) {
    io.document({{"token", kept ? json() : json(made->text())},
                 {"file", kept ? json(options.output) : json()},
                 {"id", made->id_text()},
                 {"role", net::to_string(options.role)},
                 {"name", options.name},
                 {"weight", number_json(options.share.weight)},
                 {"limit", options.share.limit == 0 ? json() : json(options.share.limit)},
                 {"fingerprint", pin ? json(pin->hex()) : json()}});
    return exit_code::done;
  }
  if (!kept) io.out() << made->text() << '\n';
  io.message("token " + made->id_text() + " (" + net::to_string(options.role) + ", " + options.name + ") " +
             (kept ? "is in " + options.output + ", which you alone may read" : "is shown this once") +
             "; attune token revoke " + made->id_text() + " ends it");
  return exit_code::done;
}

int list(net::token_book& book, output& io) {
  const auto all = book.list();
  if (!all) return io.fail(all.err());
  if (io.json()) {
    auto tokens = json::array();
    for (const auto& e : *all) tokens.push_back(entry_json(e));
    io.document({{"tokens", std::move(tokens)}});
    return exit_code::done;
  }
  if (all->empty()) io.message("there are no tokens; attune token create makes one");
  const auto shown = [](nanoseconds t) { return t.count() == 0 ? std::string("never") : rfc3339(t); };
  if (!all->empty())
    io.out() << std::left << std::setw(14) << "id" << std::setw(8) << "role" << std::setw(22) << "created"
             << std::setw(22) << "last used" << std::setw(22) << "revoked" << std::setw(8) << "weight" << std::setw(7)
             << "limit"
             << "name\n";
  for (const auto& e : *all)
    io.out() << std::left << std::setw(14) << e.id_text() << std::setw(8) << net::to_string(e.role) << std::setw(22)
             << shown(e.created) << std::setw(22) << shown(e.used) << std::setw(22)
             << (e.revoked.count() == 0 ? "-" : rfc3339(e.revoked)) << std::setw(8) << shortest(e.share.weight)
             << std::setw(7) << (e.share.limit == 0 ? "-" : std::to_string(e.share.limit)) << e.name << '\n';
  return exit_code::done;
}

int revoke(net::token_book& book, const token_options& options, output& io) {
  const auto done = book.revoke(options.id, system_time().wall());
  if (!done) {
    // A word that is no id of ours is the line's mistake, and nothing was done.
    if (done.err().code != errc::not_found) return io.fail(done.err());
    return io.fail(
        {errc::invalid_spec, "there is no token '" + options.id.substr(0, 60) + "'; attune token list shows them", {}});
  }
  write_down(book, "revoked a token", done->id_text(), done->role, done->name, io);
  if (io.json())
    io.document(entry_json(*done));
  else
    io.message("token " + done->id_text() + " (" + net::to_string(done->role) + ", " + done->name + ") is revoked");
  return exit_code::done;
}

} // namespace

int run_token(const token_options& options, const std::string& store, output& io) {
  if (store.empty()) return io.fail({errc::store_unusable, "no store is named: give --store", {}});
  const bool makes = options.action == token_options::what::create;
  auto folder = net::private_folder::open(net::hub_folder(store), makes);
  if (!folder) {
    if (makes || folder.err().code != errc::not_found) return io.fail({errc::store_unusable, folder.err().message, {}});
    // Nothing was ever made.
    if (options.action == token_options::what::list) {
      if (io.json())
        io.document({{"tokens", json::array()}});
      else
        io.message("there are no tokens; attune token create makes one");
      return exit_code::done;
    }
    return io.fail({errc::invalid_spec, "there are no tokens in this store; attune token create makes one", {}});
  }
  auto book = net::token_book::open(std::move(*folder));
  if (!book) return io.fail(book.err());
  switch (options.action) {
  case token_options::what::create:
    return create(*book, options, io);
  case token_options::what::revoke:
    return revoke(*book, options, io);
  case token_options::what::list:
    break;
  }
  return list(*book, io);
}

namespace {

command_spec token_create_command() {
  struct words {
    std::string role, name, weight, limit, output;
    bool unpinned = false;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"create", "Make a token and print it, this once"};
  c.value("--role", "R", w->role, "agent, client or admin").required = true;
  c.value("--name", "N", w->name, "Whose it is; stands in lists and logs").required = true;
  c.flag("--unpinned", w->unpinned,
         "Do not say by what the hub is known: for a hub with a certificate from a CA of yours");
  c.value("--weight", "W", w->weight, "A client's part of the slots, beside others' (1)");
  c.value("--limit", "N", w->limit, "A client's trials in flight, at most (no limit)");
  c.value("-o,--output", "FILE", w->output, "Put it into a new file that only you can read, in place of printing it");
  c.more = R"(An agent offers devices, a client tunes, an admin also drains, bans and ends what others
began. The token says by what certificate the hub is known (made in the store's folder HUB
when there is none yet), so it is all that the other machine needs. The hub keeps only a
hash of it. Whoever has the token has its role: a file that others could read is not taken.

Clients share the slots' time in proportion to their weights, as long as they want it: one
of weight 3 gets three times what one of weight 1 gets, and none is kept waiting for ever.

  attune token create --role agent --name board1 -o board1.token
  attune agent --hub big:7410 --name board1 --token-file board1.token)";
  c.read = [w](const typed_line&) -> reading {
    token_options o;
    o.action = token_options::what::create;
    const auto role = net::parse_role(w->role);
    if (!role) throw usage_fault{"--role must be agent, client or admin, not '" + w->role.substr(0, 60) + "'"};
    o.role = *role;
    if (w->name.empty()) throw usage_fault{"--name is empty"};
    o.name = w->name;
    o.unpinned = w->unpinned;
    o.output = w->output;
    for (const auto& [option, given] :
         {std::pair{"--weight", !w->weight.empty()}, std::pair{"--limit", !w->limit.empty()}})
      if (given && o.role == net::token_role::agent)
        throw usage_fault{std::string(option) + " is of a client's part, and an agent has none"};
    if (!w->weight.empty()) {
      double weight = 0;
      const auto* end = w->weight.data() + w->weight.size();
      const auto read = std::from_chars(w->weight.data(), end, weight);
      if (read.ec != std::errc() || read.ptr != end || !(weight >= 0.01 && weight <= 100))
        throw usage_fault{"--weight must be a number from 0.01 to 100, not '" + w->weight.substr(0, 60) + "'"};
      o.share.weight = weight;
    }
    if (!w->limit.empty()) o.share.limit = read_count<std::uint32_t>("--limit", w->limit, 1, 1'000'000);
    return o;
  };
  return c;
}

command_spec token_list_command() {
  command_spec c{"list", "The tokens: id, role, name, made, last used, revoked"};
  c.read = [](const typed_line&) -> reading { return token_options{}; };
  return c;
}

command_spec token_revoke_command() {
  struct words {
    std::string id;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"revoke", "Let a token count no longer, also for those who are connected by it"};
  c.place("ID", w->id, "As list shows it");
  c.read = [w](const typed_line&) -> reading {
    token_options o;
    o.action = token_options::what::revoke;
    o.id = w->id;
    return o;
  };
  return c;
}

} // namespace

command_spec token_command() {
  command_spec c{"token", "Make and revoke what agents and clients prove themselves to a hub with"};
  c.below = {token_create_command(), token_list_command(), token_revoke_command()};
  return c;
}

} // namespace attune::cli
