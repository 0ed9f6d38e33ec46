#include "net/fleet/agent.hpp"

#include "measure/command_builder.hpp"
#include "measure/command_runner.hpp"
#include "measure/scratch.hpp"
#include "measure/substitution.hpp"
#include "measure/trial_process.hpp"
#include "net/network_error.hpp"
#include "net/store_messages.hpp"
#include "storage/convert.hpp"
#include "storage/spec_reader.hpp"

#include <asio/post.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <span>
#include <thread>
#include <unistd.h>

namespace attune::net::fleet {

using wire::v1::Envelope;

namespace {

key128 draw() {
  std::random_device source;
  key128 out;
  for (auto& b : out.bytes) b = static_cast<std::uint8_t>(source());
  return out;
}

measure::run_result failed(failure_kind kind, std::string message) {
  return {failure{kind, std::move(message), {}, {}}, {}, {}, {}};
}

/// A program cannot be started while anybody has it open for writing, and a child of another slot that is just being
/// born has what was open here. The kernel says when nobody has: then alone it grants a lease on the file.
void wait_until_closed(const manifest& entries, const std::string& folder) {
  for (const auto& e : entries.files) {
    if (!e.has_contents() || (e.mode & 0111) == 0) continue;
    const int file = ::open((folder + "/" + e.path).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    for (int i = 0; i < 200 && ::fcntl(file, F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::fcntl(file, F_SETLEASE, F_UNLCK);
    ::close(file);
  }
}

/// What of a trial's output travels in all, and of one process.
constexpr std::size_t output_each = 64 << 10, output_once = 4096;

wire::v1::Output output_of(const measure::process_result& r, std::span<const double> samples) {
  wire::v1::Output out;
  std::string text = measure::printable(r.out.text());
  if (r.err.total > 0) text += (text.empty() || text.back() == '\n' ? "" : "\n") + measure::printable(r.err.text());
  std::uint64_t left = r.out.total + r.err.total - std::min<std::uint64_t>(r.out.total + r.err.total, text.size());
  if (text.size() > output_once) {
    left += text.size() - output_once;
    text.resize(output_once);
  }
  out.set_text(text);
  out.set_left_out(left);
  for (const auto v : samples.last(std::min<std::size_t>(64, samples.size()))) out.add_samples(v);
  return out;
}

bool builds_here(const task_spec& spec) {
  return spec.build && (spec.build->on == building_place::runner || measure::builds_in_place(spec));
}

} // namespace

agent::agent(asio::io_context& loop, agent_options options, events tell)
    : loop_(loop), options_(std::move(options)), tell_(std::move(tell)), greeting_(options_.shown), timer_(loop) {
  if (options_.self.boot == key128()) options_.self.boot = draw();
  slots_.resize(options_.self.slots);
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (options_.make_runner) {
      slots_[i].run = options_.make_runner(i);
      if (options_.make_builder) slots_[i].build = options_.make_builder(i);
      continue;
    }
    measure::command_options how;
    if (i < options_.cpus.size()) how.limits.cpus = options_.cpus[i];
    // Called between two processes of a trial, on the supervisor's thread; what it is about, the loop's thread knows.
    how.ended = [to = hearing_, i](const measure::process_result& r, std::span<const double> samples) {
      if (!to->wanted.load(std::memory_order_relaxed)) return;
      std::shared_ptr<agent> self;
      {
        const std::lock_guard guard(to->lock);
        self = to->who.lock();
      }
      if (!self) return;
      auto out = output_of(r, samples);
      auto& loop = self->loop_;
      asio::post(loop, [self = std::move(self), i, out = std::move(out)]() mutable { self->heard(i, std::move(out)); });
    };
    slots_[i].build = std::make_shared<measure::command_builder>(options_.processes, how);
    slots_[i].run = std::make_shared<measure::command_runner>(options_.processes, how);
  }
}

agent::~agent() {
  if (laying_) laying_->join();
}

void agent::lay_aside(std::function<void()> what) {
  if (options_.desk != nullptr) return asio::post(*options_.desk, std::move(what));
  if (!laying_) laying_.emplace(1);
  asio::post(*laying_, std::move(what));
}

void agent::attach(link_ptr link) {
  wire_ = std::move(link);
  let_in_ = false;
  lost_.reset();
  tasks_.clear();
  next_.Clear();
  bring_ = std::make_unique<artifact_receiver>(options_.files,
                                               [weak = std::weak_ptr(wire_)](const wire::v1::ArtifactFetch& ask) {
                                                 Envelope out;
                                                 *out.mutable_artifact_fetch() = ask;
                                                 if (const auto to = weak.lock()) to->send(out.SerializeAsString());
                                               });
  heard_ = options_.clock->monotonic();
  const std::weak_ptr<agent> weak = weak_from_this();
  {
    const std::lock_guard guard(hearing_->lock);
    hearing_->who = weak;
  }
  greeting_.begin(
      wire_, options_.self.boot.view(),
      [weak](std::string_view body) {
        if (const auto self = weak.lock()) self->take(body);
      },
      [weak](const error& why) {
        if (const auto self = weak.lock()) self->lose(why);
      });
  beat(); // one that says nothing more in the middle of its greeting is gone as well
}

void agent::take(std::string_view body) {
  if (!wire_) return;
  Envelope message;
  status done;
  if (const auto part = let_in_ ? read_part(body) : std::nullopt) {
    heard_ = options_.clock->monotonic();
    done = bring_->take(*part);
  } else if (!message.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    done = network_error("a message cannot be read");
  } else {
    done = handle(message);
  }
  if (!done) lose(done.err());
}

status agent::handle(const Envelope& message) {
  heard_ = options_.clock->monotonic();
  if (!greeting_.over()) {
    if (auto good = greeting_.take(*wire_, message); !good) return good;
    Envelope out;
    to(options_.self, *out.mutable_agent_hello());
    wire_->send(out.SerializeAsString());
    return {};
  }
  if (message.has_failed()) return error_of(message.failed());
  switch (message.body_case()) {
  case Envelope::kAgentWelcome: {
    const auto& w = message.agent_welcome();
    if (w.heartbeat_ns() <= 0 || w.lease_ns() <= w.heartbeat_ns())
      return network_error("the hub's times make no sense");
    heartbeat_ = nanoseconds(w.heartbeat_ns());
    lease_ = nanoseconds(w.lease_ns());
    let_in_ = true;
    beat();
    if (tell_.let_in) tell_.let_in();
    return {};
  }
  case Envelope::kAuthenticated:
  case Envelope::kHeartbeat:
    return {};
  case Envelope::kOrders:
    if (!let_in_) break;
    for (const auto& t : message.orders().tasks())
      if (auto good = notice(t); !good) return good;
    for (const auto& o : message.orders().orders())
      if (auto good = order(o); !good) return good;
    for (const auto lease : message.orders().stop()) stop(lease);
    for (const auto task : message.orders().forget()) forget(task);
    return {};
  default:
    break;
  }
  return network_error("a message that is not expected");
}

void agent::beat() {
  timer_.expires_after(heartbeat_);
  timer_.async_wait([weak = weak_from_this()](const asio::error_code& ec) {
    const auto self = weak.lock();
    if (ec || !self || !self->wire_) return;
    if (self->options_.clock->monotonic() - self->heard_ > self->lease_)
      return self->lose({errc::network, "nothing was heard of the hub for too long", {}});
    if (self->let_in_) {
      Envelope out;
      out.mutable_heartbeat()->set_number(++self->beats_);
      self->wire_->send(out.SerializeAsString());
    }
    self->beat();
  });
}

status agent::notice(const wire::v1::TaskNotice& in) {
  // What is laid out under its number, and may run, would be another's.
  if (tasks_.contains(in.number())) return network_error("a task is told of twice");
  auto t = std::make_shared<known_task>();
  auto files = from(in.files());
  if (!files) return files.err();
  t->files = std::move(*files);
  if (only_runs()) {
    auto made = std::make_shared<task>();
    made->spec.name = in.task();
    t->of = std::move(made);
    tasks_[in.number()] = std::move(t);
    return {};
  }
  auto folder = folders().make_folder();
  if (!folder) return folder.err();
  t->folder = *folder;
  auto specs = storage::read_spec_text(in.spec(), in.file(), t->folder);
  if (!specs) return network_error("a task cannot be understood: " + specs.err().text());
  const auto spec = std::find_if(specs->begin(), specs->end(), [&](const auto& s) { return s.name == in.task(); });
  if (spec == specs->end()) return network_error("a task is not in its spec");
  target where;
  if (auto good = storage::convert::from(in.target(), where.facts); !good) return good;
  if (options_.confine) options_.confine(*spec);
  auto made = std::make_shared<task>();
  made->load = {spec->name, spec->workload};
  made->where = std::move(where);
  made->spec = std::move(*spec);
  t->of = std::move(made);
  tasks_[in.number()] = std::move(t);
  return {};
}

status agent::order(const wire::v1::Order& in) {
  const auto of = tasks_.find(in.task());
  if (in.slot() >= slots_.size() || of == tasks_.end() || in.lease() == 0) return network_error("an order is not one");
  auto& s = slots_[in.slot()];
  if (leaving_) {
    say_answer(in.lease(), failed(failure_kind::internal, "its agent was ended in order"));
    return {};
  }
  if (s.lease != 0) {
    if (s.next || in.lease() == s.lease) return network_error("an order for a slot that is taken");
    s.next = in;
    return {};
  }
  auto what = std::make_shared<trial>();
  what->of = of->second->of;
  what->number = in.number();
  if (auto good = storage::convert::from(in.configuration(), what->config); !good) return good;
  what->canonical = what->config.canonical();
  if (in.has_rival()) what->rival = in.rival();
  if (in.has_noise()) what->noise = in.noise();
  if (in.purpose() > static_cast<std::uint32_t>(purpose::reference)) return network_error("an order is not one");
  what->why = static_cast<purpose>(in.purpose());
  auto folder = from(in.folder());
  if (!folder) return folder.err();
  if (!in.artifact().empty() && !stays_below(in.artifact())) return network_error("an order is not one");
  s.lease = in.lease();
  s.stopped = s.building = s.running = s.called_back = false;
  s.loud = in.output();
  if (s.loud) hearing_->wanted = true;
  s.told = 0;
  s.epoch = ++epochs_;
  ++busy_;
  if (only_runs()) {
    run(in.slot(), s.epoch, std::move(what), nullptr, {});
    return {};
  }

  auto limit = std::make_shared<timer>(loop_, options_.bring_limit);
  limit->async_wait([weak = weak_from_this(), at = in.slot(), epoch = s.epoch](const asio::error_code& ec) {
    if (const auto self = weak.lock(); self && !ec)
      self->answer(at, epoch, failed(failure_kind::internal, "its files did not come in time"));
  });
  auto needed = of->second->files;
  // The task's and the build's are two folders: a name may be in both.
  for (const auto& f : folder->files) needed.files.push_back(f);
  const auto at_once = std::make_shared<bool>(true); // all was there
  bring(needed, [weak = weak_from_this(), limit, at_once, at = in.slot(), epoch = s.epoch, what, number = in.task(),
                 folder = std::move(*folder), built = in.built(), artifact = in.artifact()](const status& came) {
    limit->cancel();
    const auto self = weak.lock();
    if (!self) return;
    if (!came) return self->answer(at, epoch, failed(failure_kind::internal, came.err().text()));
    if (!*at_once) self->arrived(at, epoch);
    self->begin(at, epoch, what, number, folder, built, artifact);
  });
  *at_once = false;
  return {};
}

/// What had to be fetched for this slot's run is here: the hub shows that.
void agent::arrived(std::uint32_t at, std::uint64_t epoch) {
  const auto& s = slots_[at];
  if (s.epoch != epoch || s.lease == 0 || !wire_ || !let_in_) return;
  next_.add_arrived(s.lease);
  if (!std::exchange(flushing_, true)) asio::post(loop_, [self = shared_from_this()] { self->flush(); });
}

/// Brings what is not there yet. What an earlier process has kept is read through before it is believed, which takes
/// its time: on another thread.
void agent::bring(const manifest& needed, std::function<void(const status&)> then) {
  if (std::none_of(needed.files.begin(), needed.files.end(), [](const auto& f) { return f.has_contents(); }))
    return then({});
  if (!takes_long_to_check(needed, *options_.files)) return bring_->want(needed, then);
  lay_aside([self = shared_from_this(), needed, wire = wire_, then = std::move(then)]() mutable {
    for (const auto& f : needed.files)
      if (f.has_contents()) self->options_.files->has(f.contents);
    // Not the last owner here: it would wait for this thread.
    auto& loop = self->loop_;
    asio::post(loop,
               [self = std::move(self), needed = std::move(needed), wire = std::move(wire), then = std::move(then)] {
                 if (!self->bring_ || self->wire_ != wire)
                   return then(error{errc::network, "the connection was lost", {}});
                 self->bring_->want(needed, then);
               });
  });
}

/// As it was sent, and for whoever runs here.
status agent::lay_out_here(const manifest& files, const std::string& folder) {
  if (auto laid = lay_out(files, *options_.files, folder); !laid) return laid;
  wait_until_closed(files, folder);
  return folders().hand_over(folder);
}

/// All that it needs is here: laid out, on another thread, then built or run.
void agent::begin(std::uint32_t at, std::uint64_t epoch, const std::shared_ptr<trial>& what, std::uint32_t number,
                  manifest folder, bool built, std::string artifact) {
  auto& s = slots_[at];
  if (s.epoch != epoch || s.lease == 0) return;
  if (s.stopped) return answer(at, epoch, failed(failure_kind::cancelled, "cancelled"));
  const auto known = tasks_.find(number);
  if (known == tasks_.end()) return answer(at, epoch, failed(failure_kind::cancelled, "its task is over"));
  auto of = known->second;
  const bool here = builds_here(of->of->spec), own = here && measure::builds_in_place(of->of->spec);
  auto mine = s.own.contains(number) && own ? s.own.at(number) : nullptr;
  auto work = [self = shared_from_this(), at, epoch, what, number, of, folder = std::move(folder), built,
               artifact = std::move(artifact), here, own, mine]() mutable {
    status good;
    measure::artifact_ptr made;
    auto& scratch = self->folders();
    if (!of->laid_out) {
      good = self->lay_out_here(of->files, of->folder);
      of->laid_out = good.ok();
    }
    if (good && own && !mine) {
      // What is written in place must meet no other slot's.
      auto there = scratch.make_folder();
      if (!there) {
        good = there.err();
      } else if (good = self->lay_out_here(of->files, *there); good) {
        auto copy = std::make_shared<task>(*of->of);
        copy->spec.directory = *there;
        mine = std::move(copy);
      }
    }
    if (good && built) {
      auto there = scratch.make_folder();
      if (!there) {
        good = there.err();
      } else {
        made = std::make_shared<const measure::artifact>(*there, artifact.empty() ? "" : *there + "/" + artifact);
        good = self->lay_out_here(folder, *there);
      }
    }
    auto& loop = self->loop_;
    asio::post(loop, [self = std::move(self), at, epoch, what, number, here, own, mine, good, made]() mutable {
      auto& place = self->slots_[at];
      if (place.epoch != epoch || place.lease == 0) return;
      if (!good) return self->answer(at, epoch, failed(failure_kind::internal, good.err().text()));
      if (own) {
        if (place.own.try_emplace(number, mine).second) self->folders_.push_back(mine->spec.directory);
        what->of = mine;
      }
      if (place.stopped) return self->answer(at, epoch, failed(failure_kind::cancelled, "cancelled"));
      if (!here) return self->run(at, epoch, what, made, {});
      place.building = true;
      place.build->build(what, [self, at, epoch, what](measure::build_result r) {
        asio::post(self->loop_, [self, at, epoch, what, r = std::move(r)]() mutable {
          auto& mine_ = self->slots_[at];
          if (mine_.epoch != epoch) return;
          mine_.building = false;
          measure::run_result so_far;
          so_far.elapsed = r.elapsed;
          so_far.used = r.used;
          so_far.notes = std::move(r.notes);
          if (auto* why = std::get_if<failure>(&r.data)) {
            so_far.data = std::move(*why);
            return self->answer(at, epoch, std::move(so_far));
          }
          auto* made_ = std::get_if<measure::artifact_ptr>(&r.data);
          self->run(at, epoch, what, *made_, std::move(so_far));
        });
      });
    });
  };
  lay_aside(std::move(work));
}

void agent::run(std::uint32_t at, std::uint64_t epoch, trial_ptr what, measure::artifact_ptr built,
                measure::run_result so_far) {
  auto& s = slots_[at];
  if (s.stopped) return answer(at, epoch, failed(failure_kind::cancelled, "cancelled"));
  s.running = true;
  s.run->run(std::move(what), std::move(built),
             [self = shared_from_this(), at, epoch, so_far = std::move(so_far)](measure::run_result r) {
               asio::post(self->loop_, [self, at, epoch, so_far, r = std::move(r)]() mutable {
                 r.elapsed += so_far.elapsed;
                 r.used.cpu += so_far.used.cpu;
                 r.used.peak_bytes = std::max(r.used.peak_bytes, so_far.used.peak_bytes);
                 r.notes.insert(r.notes.begin(), so_far.notes.begin(), so_far.notes.end());
                 self->answer(at, epoch, std::move(r));
               });
             });
}

/// Of this output the hub gets no more than a part.
void agent::heard(std::uint32_t at, wire::v1::Output what) {
  auto& s = slots_[at];
  if (!s.loud || s.lease == 0 || !wire_ || !let_in_) return;
  if (s.told >= output_each) {
    what.set_left_out(what.left_out() + what.text().size());
    what.clear_text();
  }
  s.told += what.text().size();
  what.set_lease(s.lease);
  Envelope out;
  *out.mutable_output() = std::move(what);
  wire_->send(out.SerializeAsString());
}

/// No order will name it again. What is laid out for it goes when nothing of it runs: at the latest with the
/// connection.
void agent::forget(std::uint32_t task) {
  const auto node = tasks_.extract(task);
  if (node.empty()) return;
  for (auto& s : slots_)
    if (s.next && s.next->task() == task) {
      say_answer(s.next->lease(), failed(failure_kind::cancelled, "its task is over"));
      s.next.reset();
    }
  std::vector<std::string> gone;
  if (!node.mapped()->folder.empty()) gone.push_back(node.mapped()->folder);
  for (auto& s : slots_)
    if (const auto own = s.own.extract(task); !own.empty()) {
      gone.push_back(own.mapped()->spec.directory);
      std::erase(folders_, own.mapped()->spec.directory);
    }
  if (gone.empty()) return;
  lay_aside([gone = std::move(gone)] {
    for (const auto& folder : gone) measure::remove_tree(folder);
  });
}

void agent::stop(std::uint64_t lease) {
  for (std::uint32_t at = 0; at < slots_.size(); ++at) {
    auto& s = slots_[at];
    if (s.next && s.next->lease() == lease) {
      s.next.reset();
      say_answer(lease, failed(failure_kind::cancelled, "cancelled before it began"));
      return;
    }
    if (s.lease != lease || lease == 0) continue;
    s.stopped = true;
    if (!leaving_) s.called_back = true;
    if (s.building && s.build) s.build->cancel();
    if (s.running) s.run->cancel();
  }
}

/// The slot is free: its answer goes out, with others of this moment, where there is a hub.
void agent::answer(std::uint32_t at, std::uint64_t epoch, const measure::run_result& r) {
  auto& s = slots_[at];
  if (s.epoch != epoch || s.lease == 0) return;
  const auto lease = std::exchange(s.lease, 0);
  s.building = s.running = false;
  --busy_;
  // Nobody has called it back: it is to be run elsewhere, and that is not the candidate's doing.
  if (const auto* f = std::get_if<failure>(&r.data);
      leaving_ && !s.called_back && f != nullptr && f->kind == failure_kind::cancelled) {
    say_answer(lease, failed(failure_kind::internal, "its agent was ended in order"));
    when_idle();
    return;
  }
  if (wire_ && let_in_) {
    // What waits begins at once; the answer follows.
    if (s.next && !leaving_) {
      const auto next = *std::exchange(s.next, std::nullopt);
      if (auto good = order(next); !good) return lose(good.err());
    }
    say_answer(lease, r);
  }
  when_idle();
}

void agent::say_answer(std::uint64_t lease, const measure::run_result& r) {
  if (!wire_ || !let_in_) return;
  auto& out = *next_.add_answers();
  out.set_lease(lease);
  to(r, out);
  if (!std::exchange(flushing_, true)) asio::post(loop_, [self = shared_from_this()] { self->flush(); });
}

void agent::flush() {
  flushing_ = false;
  if (!wire_ || (next_.answers_size() == 0 && next_.arrived_size() == 0)) return;
  Envelope out;
  out.mutable_answers()->Swap(&next_);
  next_.Clear();
  wire_->send(out.SerializeAsString());
}

void agent::lose(const error& why) {
  if (!wire_) return;
  const auto wire = std::exchange(wire_, nullptr);
  wire->close();
  timer_.cancel();
  next_.Clear();
  lost_ = why;
  let_in_ = false;
  // The hub has given them to others, or will.
  for (auto& s : slots_) {
    s.own.clear();
    s.next.reset();
    if (s.lease != 0) stop(s.lease);
  }
  // Whoever waits for files is answered now.
  if (const auto bring = std::exchange(bring_, nullptr)) bring->fail(why);
  when_idle();
}

void agent::when_idle() {
  if (busy_ > 0) return;
  if (leaving_) {
    flush();
    if (wire_) {
      Envelope out;
      out.mutable_goodbye();
      wire_->send(out.SerializeAsString());
      std::exchange(wire_, nullptr)->close_after_writing();
      timer_.cancel();
    }
    std::exchange(leaving_, nullptr)();
    return;
  }
  if (!lost_) return;
  for (const auto& [number, t] : tasks_)
    if (!t->folder.empty()) measure::remove_tree(t->folder);
  for (const auto& f : std::exchange(folders_, {})) measure::remove_tree(f);
  tasks_.clear();
  const auto why = *std::exchange(lost_, std::nullopt);
  // Not now: it may be in the middle of something.
  asio::post(loop_, [self = shared_from_this(), why] {
    if (self->tell_.lost) self->tell_.lost(why);
  });
}

void agent::leave(std::function<void()> then) {
  leaving_ = std::move(then);
  for (auto& s : slots_) {
    if (const auto next = std::exchange(s.next, std::nullopt))
      say_answer(next->lease(), failed(failure_kind::internal, "its agent was ended in order"));
    if (s.lease != 0) stop(s.lease);
  }
  when_idle();
}

} // namespace attune::net::fleet
