#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "core/clock.hpp"
#include "core/value.hpp"
#include "net/audit_log.hpp"
#include "net/tls.hpp"
#include "net/tokens.hpp"

#include <iomanip>
#include <ostream>
#include <unistd.h>

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
  if (io.json()) {
    io.document({{"token", made->text()},
                 {"id", made->id_text()},
                 {"role", net::to_string(options.role)},
                 {"name", options.name},
                 {"weight", number_json(options.share.weight)},
                 {"limit", options.share.limit == 0 ? json() : json(options.share.limit)},
                 {"fingerprint", pin ? json(pin->hex()) : json()}});
    return exit_code::done;
  }
  io.out() << made->text() << '\n';
  io.message("token " + made->id_text() + " (" + net::to_string(options.role) + ", " + options.name +
             "): it is shown this once; attune token revoke " + made->id_text() + " ends it");
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

} // namespace attune::cli
