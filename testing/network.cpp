#include "testing/network.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

namespace attune::testing {

/// What is between two ends, and what each of them knows. It lives as long as either end.
class fake_wire : public std::enable_shared_from_this<fake_wire> {
public:
  struct end_state {
    std::string peer;
    std::function<void(std::function<void()>)> at;
    std::shared_ptr<const net::link::take> take;
    net::link::ended end;
    bool started = false, established = false, closed = false, reads = true;
    bool deaf = false; ///< what is sent to it is lost
    bool mute = false; ///< nobody tells it that it is over
    std::uint64_t pauses = 0;
    // What is on its way to this end.
    std::deque<std::string> coming;
    std::size_t bytes = 0, due = 0;
    nanoseconds last{0}; ///< when the last of it arrives
    bool doubles = false, truncates = false;
  };

  fake_wire(network& of, const wire_options& how) : of_(of), how_(how) {
    ends_[0].peer = how.there;
    ends_[0].at = how.at_here;
    ends_[1].peer = how.here;
    ends_[1].at = how.at_there;
  }

  end_state& at(side s) { return ends_[s == side::here ? 0 : 1]; }
  static side other(side s) { return s == side::here ? side::there : side::here; }

  void start(side s, net::link::take each, net::link::ended end) {
    auto& e = at(s);
    e.take = std::make_shared<const net::link::take>(std::move(each));
    e.end = std::move(end);
    e.started = true;
    of_.time_.after(how_.handshake, [weak = weak_from_this(), s] {
      const auto self = weak.lock();
      if (self && !self->at(s).established && !self->frozen_) self->finish(s, "the greeting did not come in time");
    });
    deliver(s);
  }

  void send(side from, std::string_view body) {
    auto& me = at(from);
    auto& to = at(other(from));
    if (me.closed) return;
    if (body.empty() || body.size() > how_.frame_bytes) return finish(from, "a message is too long to be sent");
    if (to.bytes + body.size() > how_.queued_bytes) return finish(from, "the other side does not read");
    ++of_.counted_.sent;
    of_.counted_.bytes += body.size();
    if (frozen_ || to.closed || to.deaf) {
      ++of_.counted_.lost;
      return;
    }
    put(other(from), std::string(body));
    if (std::exchange(to.doubles, false)) put(other(from), std::string(body));
    of_.counted_.most_queued = std::max(of_.counted_.most_queued, to.bytes);
  }

  void close(side s) {
    auto& e = at(s);
    if (std::exchange(e.closed, true)) return;
    drop(s, 0);
    e.end = nullptr;
    // What it has said last may be lost with it.
    auto& to = at(other(s));
    drop(other(s), to.coming.empty() ? 0 : static_cast<std::size_t>(of_.rng_.below(to.coming.size() + 1)));
    hang_up(other(s));
    // Not now: it may be one of them that calls.
    of_.time_.after(nanoseconds(0), [self = shared_from_this(), s] { self->at(s).take = nullptr; });
  }

  void close_after_writing(side s) {
    auto& e = at(s);
    if (std::exchange(e.closed, true)) return;
    e.end = nullptr;
    drop(s, 0);
    hang_up(other(s));
    of_.time_.after(nanoseconds(0), [self = shared_from_this(), s] { self->at(s).take = nullptr; });
  }

  void finish(side s, const char* why) {
    auto& e = at(s);
    if (e.closed) return;
    const auto end = std::exchange(e.end, nullptr);
    close(s);
    if (!end) return;
    run(s, [end, why] { end(error{errc::network, why, {}}); });
  }

  void cut() {
    for (const auto s : {side::here, side::there}) {
      auto& e = at(s);
      drop(s, e.coming.empty() ? 0 : static_cast<std::size_t>(of_.rng_.below(e.coming.size() + 1)));
      e.deaf = true;
      hang_up(s);
    }
  }
  void half_close(side s) {
    drop(other(s), 0);
    at(s).deaf = at(other(s)).deaf = at(other(s)).mute = true;
    hang_up(s);
  }
  void freeze() {
    frozen_ = true;
    for (const auto s : {side::here, side::there}) drop(s, 0);
  }
  void time_out() {
    for (const auto s : {side::here, side::there}) {
      drop(s, 0);
      run(s, [self = shared_from_this(), s] { self->finish(s, "the other side does not answer any more"); });
    }
  }
  void slow(nanoseconds least, nanoseconds most) {
    how_.least = least;
    how_.most = most;
  }
  void stop_reading(side s, bool on) {
    auto& e = at(s);
    e.reads = !on;
    ++e.pauses;
    if (!on) return deliver(s);
    of_.time_.after(how_.write, [weak = weak_from_this(), s, pause = e.pauses] {
      const auto self = weak.lock();
      if (!self || self->at(s).pauses != pause || self->at(s).coming.empty()) return;
      self->finish(other(s), "the other side does not read");
    });
  }
  bool frozen() const noexcept { return frozen_; }

  std::size_t queued(side s) { return at(other(s)).bytes; }

private:
  void put(side to, std::string body) {
    auto& e = at(to);
    e.bytes += body.size();
    e.coming.push_back(std::move(body));
    const auto now = of_.time_.monotonic();
    e.last = std::max(e.last, now + of_.between(how_.least, how_.most));
    of_.time_.after(e.last - now, [weak = weak_from_this(), to] {
      const auto self = weak.lock();
      if (!self) return;
      ++self->at(to).due;
      self->deliver(to);
    });
  }

  /// Of what is on its way to `s` only the first `left` arrive.
  void drop(side s, std::size_t left) {
    auto& e = at(s);
    while (e.coming.size() > left) {
      e.bytes -= e.coming.back().size();
      e.coming.pop_back();
      ++of_.counted_.lost;
    }
  }

  void deliver(side s) {
    auto& e = at(s);
    while (e.due > 0 && e.started && e.reads && !e.closed && !frozen_) {
      --e.due;
      if (e.coming.empty()) continue; // it was lost
      auto body = std::move(e.coming.front());
      e.coming.pop_front();
      e.bytes -= body.size();
      ++of_.counted_.arrived;
      if (std::exchange(e.truncates, false)) body.resize(1 + static_cast<std::size_t>(of_.rng_.below(body.size())));
      run(s, [self = shared_from_this(), s, body = std::move(body)] {
        auto& me = self->at(s);
        if (me.closed) return;
        if (!me.established && body.size() > self->how_.greeting_bytes)
          return self->finish(s, "a frame is longer than it may be");
        const auto take = me.take;
        if (take) (*take)(body);
      });
    }
  }

  /// After all that is on its way to it, `s` hears that the other side has hung up.
  void hang_up(side s) {
    auto& e = at(s);
    if (frozen_ || e.closed || e.mute) return;
    const auto now = of_.time_.monotonic();
    e.last = std::max(e.last, now + of_.between(how_.least, how_.most));
    of_.time_.after(e.last - now, [self = shared_from_this(), s] {
      self->run(s, [self, s] {
        if (!self->frozen_) self->finish(s, "the other side has hung up");
      });
    });
  }

  void run(side s, std::function<void()> what) {
    if (at(s).at)
      at(s).at(std::move(what));
    else
      what();
  }

  network& of_;
  wire_options how_;
  std::array<end_state, 2> ends_;
  bool frozen_ = false;
};

namespace {

class fake_end final : public net::link {
public:
  fake_end(std::shared_ptr<fake_wire> wire, side which) : wire_(std::move(wire)), which_(which) {}
  ~fake_end() override { wire_->close(which_); }
  void start(take each, ended end) override { wire_->start(which_, std::move(each), std::move(end)); }
  void established() override { wire_->at(which_).established = true; }
  void send(std::string_view body) override { wire_->send(which_, body); }
  std::size_t queued() const noexcept override { return wire_->queued(which_); }
  void close_after_writing() override { wire_->close_after_writing(which_); }
  void close() override { wire_->close(which_); }
  void break_off(const char* why) override { wire_->finish(which_, why); }
  bool closed() const noexcept override { return wire_->at(which_).closed; }
  const std::string& peer() const noexcept override { return wire_->at(which_).peer; }

private:
  std::shared_ptr<fake_wire> wire_;
  side which_;
};

} // namespace

network::pair network::connect(const wire_options& how) {
  auto wire = std::make_shared<fake_wire>(*this, how);
  const auto id = next_++;
  std::erase_if(wires_, [](const auto& w) { return w.second.expired(); });
  wires_.emplace(id, wire);
  ++counted_.wires;
  return {std::make_shared<fake_end>(wire, side::here), std::make_shared<fake_end>(wire, side::there), id};
}

std::shared_ptr<fake_wire> network::find(wire_id wire) const {
  const auto at = wires_.find(wire);
  return at == wires_.end() ? nullptr : at->second.lock();
}

nanoseconds network::between(nanoseconds least, nanoseconds most) {
  if (most <= least) return least;
  return least +
         nanoseconds(static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>((most - least).count()) + 1)));
}

void network::cut(wire_id wire) {
  if (const auto w = find(wire)) w->cut();
}
void network::half_close(wire_id wire, side which) {
  if (const auto w = find(wire)) w->half_close(which);
}
void network::freeze(wire_id wire) {
  if (const auto w = find(wire)) w->freeze();
}
void network::time_out(wire_id wire) {
  if (const auto w = find(wire)) w->time_out();
}
void network::slow(wire_id wire, nanoseconds least, nanoseconds most) {
  if (const auto w = find(wire)) w->slow(least, most);
}
void network::stop_reading(wire_id wire, side which, bool on) {
  if (const auto w = find(wire)) w->stop_reading(which, on);
}
void network::double_next(wire_id wire, side which) {
  if (const auto w = find(wire)) w->at(which).doubles = true;
}
void network::truncate_next(wire_id wire, side which) {
  if (const auto w = find(wire)) w->at(which).truncates = true;
}
bool network::open(wire_id wire) const { return !closed(wire, side::here) && !closed(wire, side::there); }
bool network::closed(wire_id wire, side which) const {
  const auto w = find(wire);
  return !w || w->at(which).closed;
}
bool network::frozen(wire_id wire) const {
  const auto w = find(wire);
  return w && w->frozen();
}

} // namespace attune::testing
