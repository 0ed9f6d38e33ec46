// How fast an artifact goes from a hub to its agents over TLS on loopback, each agent in a process of its own.
// Usage: artifact_bench [MEGABYTES [AGENTS [plain]]]   (64 8)
// Prints one line of JSON: megabytes, agents, the time from the first ask to the last agent's check of the hash, and
// the rate in all. The contents are written to temporary folders by each agent, and read back from none.
#include "core/random.hpp"
#include "net/artifact_store.hpp"
#include "net/artifact_transfer.hpp"
#include "net/dial.hpp"
#include "net/listen.hpp"
#include "net/manifest.hpp"
#include "net/tls.hpp"
#include "proto/wire.pb.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

using namespace attune;
using namespace attune::net;
namespace fs = std::filesystem;

namespace {

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "artifact_bench: %s\n", why.c_str());
  std::exit(1);
}

int agent(const std::string& folder, const address& hub, const tls_ptr& tls, const manifest& what) {
  asio::io_context loop;
  auto store = artifact_store::open(folder, std::uint64_t{4} << 30);
  if (!store) die(store.err().message);
  dial_options o;
  o.to = hub;
  o.tls = tls;
  link_ptr wire;
  std::unique_ptr<artifact_receiver> receiver;
  bool good = false;
  dial(loop, o, [&](const result<link_ptr>& l) {
    if (!l) die(l.err().message);
    wire = *l;
    receiver = std::make_unique<artifact_receiver>(*store, [&](const wire::v1::ArtifactFetch& f) {
      wire::v1::Envelope out;
      *out.mutable_artifact_fetch() = f;
      wire->send(out.SerializeAsString());
    });
    wire->start(
        [&](std::string_view body) {
          if (const auto part = read_part(body)) {
            if (const auto taken = receiver->take(*part); !taken) die(taken.err().message);
            return;
          }
          wire::v1::Envelope in;
          if (!in.ParseFromArray(body.data(), static_cast<int>(body.size()))) die("not a message");
          if (in.has_hello()) { // go
            wire->established();
            receiver->want(what, [&](const status& s) {
              if (!s) die(s.err().message);
              good = true;
              wire::v1::Envelope out;
              out.mutable_done();
              wire->send(out.SerializeAsString());
              wire->close_after_writing();
            });
          }
        },
        [](const error& why) { die(why.message); });
    wire::v1::Envelope out;
    out.mutable_ping();
    wire->send(out.SerializeAsString());
  });
  loop.run();
  return good ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  const std::size_t megabytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 64;
  const std::size_t agents = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 8;
  const bool plain = argc > 3 && std::strcmp(argv[3], "plain") == 0;
  std::string top = (fs::temp_directory_path() / "attune-bench-XXXXXX").string();
  if (::mkdtemp(top.data()) == nullptr || megabytes == 0 || agents == 0) die("no folder, or nothing to do");
  {
    std::string text(megabytes << 20, '\0');
    random_engine rng(1);
    for (std::size_t i = 0; i + 8 <= text.size(); i += 8) {
      const auto r = rng();
      std::memcpy(text.data() + i, &r, 8);
    }
    fs::create_directories(top + "/hub");
    std::ofstream(top + "/hub/kernel", std::ios::binary) << text;
  }
  const auto listed = list_files(top + "/hub", {"kernel"});
  if (!listed) die(listed.err().message);
  const auto& what = *listed;
  const auto now = system_time().wall();
  const auto identity = make_identity("bench", now - std::chrono::hours(1), now + std::chrono::hours(1));
  if (!identity) die(identity.err().message);
  const auto server = tls_for_hub(*identity);
  const auto client = tls_for_client({identity->fingerprint, {}});
  if (!server || !client) die("no TLS");

  asio::io_context loop;
  struct peer {
    link_ptr wire;
    artifact_sender sender;
    bool done = false;
  };
  std::map<const net::link*, peer> peers;
  std::size_t ready = 0, done = 0;
  std::uint64_t sent = 0;
  std::string bytes;
  std::chrono::steady_clock::time_point started, ended;
  listen_options o;
  o.at = {"127.0.0.1", 0};
  if (!plain) o.tls = *server;
  const auto take = [&](const net::link* who, std::string_view body) {
    auto& p = peers.at(who);
    wire::v1::Envelope in, out;
    if (!in.ParseFromArray(body.data(), static_cast<int>(body.size()))) die("not a message");
    if (in.has_ping()) {
      p.wire->established();
      if (++ready < agents) return;
      started = std::chrono::steady_clock::now();
      out.mutable_hello();
      for (auto& [w, each] : peers) each.wire->send(out.SerializeAsString());
    } else if (in.has_artifact_fetch()) {
      if (const auto answered = p.sender.answer(in.artifact_fetch(), bytes); !answered) die(answered.err().message);
      sent += in.artifact_fetch().length();
      p.wire->send(bytes);
    } else if (in.has_done()) {
      p.done = true;
      ended = std::chrono::steady_clock::now();
      if (++done == agents) loop.stop();
    }
  };
  const auto door = listener::open(loop, o,
                                   {[&](const link_ptr& l) {
                                      auto& p = peers.try_emplace(l.get(), peer{l, {}, false}).first->second;
                                      p.sender.offer(what, top + "/hub");
                                      l->start([&, who = l.get()](std::string_view body) { take(who, body); },
                                               [&, who = l.get()](const error& why) {
                                                 if (!peers.at(who).done) die(why.message);
                                               });
                                    },
                                    [](const std::string&, const error& why) { die(why.message); }});
  if (!door) die(door.err().message);
  const auto at = (*door)->bound().front();
  std::vector<pid_t> children;
  loop.notify_fork(asio::io_context::fork_prepare);
  for (std::size_t i = 0; i < agents; ++i) {
    const auto pid = ::fork();
    if (pid < 0) die("fork");
    if (pid == 0) ::_exit(agent(top + "/agent" + std::to_string(i), at, plain ? nullptr : *client, what));
    children.push_back(pid);
  }
  loop.notify_fork(asio::io_context::fork_parent);
  loop.run();
  bool good = done == agents && sent == what.bytes() * agents;
  for (auto& [w, p] : peers) p.wire->close();
  for (const auto pid : children) {
    int how = 1;
    good = ::waitpid(pid, &how, 0) == pid && how == 0 && good;
  }
  rusage mine{}, theirs{};
  ::getrusage(RUSAGE_SELF, &mine);
  ::getrusage(RUSAGE_CHILDREN, &theirs);
  const auto cpu = [](const rusage& u) {
    return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
  };
  const double s = std::chrono::duration<double>(ended - started).count();
  const double all = static_cast<double>(what.bytes()) * static_cast<double>(agents) / 1e6;
  std::printf(
      "{\"megabytes\": %zu, \"agents\": %zu, \"tls\": %s, \"s\": %.3f, \"mb_per_s\": %.0f, \"hub_cpu_s\": %.2f, "
      "\"agents_cpu_s\": %.2f, \"whole\": %s}\n",
      megabytes, agents, plain ? "false" : "true", s, all / s, cpu(mine), cpu(theirs), good ? "true" : "false");
  fs::remove_all(top);
  return good ? 0 : 1;
}
