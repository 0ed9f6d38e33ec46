#pragma once

#include "core/random.hpp"
#include "net/link.hpp"
#include "testing/timeline.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace attune::testing {

class fake_wire;

/// How a connection between two fake ends is. What goes in at one end comes out at the other in its order, each frame
/// after a time that is drawn between `least` and `most`.
struct wire_options {
  nanoseconds least = std::chrono::microseconds(100), most = std::chrono::milliseconds(2);
  std::size_t queued_bytes = std::size_t{32} << 20; ///< on their way from one end; beyond it that end breaks off
  std::size_t greeting_bytes = 4096;                ///< the longest frame before an end is established
  std::size_t frame_bytes = std::size_t{16} << 20;  ///< the longest after it
  nanoseconds handshake = std::chrono::seconds(5);  ///< from start() to established(), at each end
  nanoseconds write = std::chrono::seconds(20);     ///< that what was sent waits for an end that does not read
  std::string here = "here", there = "there";       ///< what the other end's peer() answers
  /// Runs what an end hears, as its loop does; empty: at once, while time moves.
  std::function<void(std::function<void()>)> at_here{}, at_there{};
};

/// Names a wire of a network; never reused.
using wire_id = std::uint64_t;
/// An end of a wire.
enum class side : std::uint8_t { here, there };

/// Links in memory on virtual time, with one seed: what two programs say to each other, and what can go wrong between
/// them. The ends behave as those of net/connection.hpp do: bounded queues, frames that are too long, a greeting that
/// does not come, the order in which ends are told.
///
///   timeline time;
///   network net(time, 7);
///   const auto [here, there, wire] = net.connect({});
///   server->adopt(here);
///   agent->attach(there);
///   time.advance(1s);
///   net.cut(wire);
///
/// Faults on a wire that is over, or was never there, are of no effect. Threads: one owner.
class network {
public:
  network(timeline& time, std::uint64_t seed) : time_(time), rng_(seed) {}
  network(const network&) = delete;
  network& operator=(const network&) = delete;

  struct pair {
    net::link_ptr here, there;
    wire_id wire = 0;
  };
  pair connect(const wire_options& how);

  /// Both ends hear that it is over, each at its own time. Of what is on its way some still arrives, the rest is lost.
  void cut(wire_id wire);
  /// That end alone hears that it is over. What the other one says goes nowhere, and nobody tells it.
  void half_close(wire_id wire, side which);
  /// Nothing arrives any more, in either direction, and nobody is told.
  void freeze(wire_id wire);
  /// Both ends hear that it is over, as TCP's own probes find out about one on which nothing arrives any more.
  void time_out(wire_id wire);
  /// From now on frames take a time between these.
  void slow(wire_id wire, nanoseconds least, nanoseconds most);
  /// That end reads nothing while `on`: what is sent to it waits, in the sender's bounded queue.
  void stop_reading(wire_id wire, side which, bool on);
  /// The next frame for that end arrives twice.
  void double_next(wire_id wire, side which);
  /// The next frame for that end arrives cut short.
  void truncate_next(wire_id wire, side which);

  /// Neither end has closed.
  bool open(wire_id wire) const;
  bool closed(wire_id wire, side which) const;
  bool frozen(wire_id wire) const;

  /// Over all wires.
  struct figures {
    std::uint64_t wires = 0, sent = 0, arrived = 0, lost = 0; ///< frames
    std::uint64_t bytes = 0;
    std::size_t most_queued = 0; ///< bytes, at one end
  };
  const figures& counted() const noexcept { return counted_; }

private:
  friend class fake_wire;
  std::shared_ptr<fake_wire> find(wire_id wire) const;
  nanoseconds between(nanoseconds least, nanoseconds most);

  timeline& time_;
  random_engine rng_;
  figures counted_;
  std::map<wire_id, std::weak_ptr<fake_wire>> wires_;
  wire_id next_ = 1;
};

} // namespace attune::testing
