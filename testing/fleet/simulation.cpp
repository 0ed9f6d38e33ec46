#include "testing/fleet/simulation.hpp"

#include "net/handshake.hpp"
#include "net/manifest.hpp"
#include "net/store_messages.hpp"
#include "net/tokens.hpp"
#include "storage/spec_reader.hpp"
#include "testing/fleet/customer.hpp"
#include "testing/fleet/hub_process.hpp"
#include "testing/fleet/machine.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <unistd.h>

namespace attune::testing {

using namespace actors;
using namespace std::chrono_literals;
using wire::v1::Envelope;

namespace {

/// Everything must have ended by then, of virtual time.
constexpr nanoseconds fleet_patience = 6h;
/// What is settled by then, after it went wrong, must be settled: a frame's way, and somebody's turn.
constexpr nanoseconds to_settle = 3s;
/// What is submitted with constraints that nothing satisfies: that shows only when there is a device.
constexpr const char* unsatisfiable = "unsatisfiable.yaml";
/// Bytes that wait for one peer at any time.
constexpr std::size_t most_queued = std::size_t{4} << 20;

/// A number from 0 to 1 that belongs to a configuration.
double fleet_luck(const std::string& canonical, std::uint64_t seed, const char* what) {
  std::uint64_t h = seed * 0x9e3779b97f4a7c15u;
  for (const char c : canonical + what) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return random_engine(h).uniform();
}

/// A folder that goes with it.
struct own_folder {
  own_folder() {
    std::error_code ec;
    auto root = std::filesystem::path("/dev/shm");
    if (!std::filesystem::is_directory(root, ec) || ::access(root.c_str(), W_OK) != 0)
      root = std::filesystem::temp_directory_path();
    std::string name = (root / "attune-fleet-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path = name;
  }
  ~own_folder() {
    std::error_code ec;
    if (!path.empty()) std::filesystem::remove_all(path, ec);
  }
  std::string path;
};

/// Made once: making one takes longer than many a play.
std::string blank_store() {
  static const own_folder made;
  static const bool good = storage::open_exclusive(made.path + "/store").ok();
  return good ? made.path + "/store" : std::string();
}

class fleet_play {
public:
  explicit fleet_play(const fleet_plan& p)
      : plan_(p),
        rng_(p.seed),
        net_(time_, p.seed + 1),
        disk_(folder_.path + "/store", blank_store(), p.seed + 2),
        books_(time_,
               [this](const std::string& how) {
                 if (!broken_) broken_ = how;
               }),
        begun_(time_.monotonic()) {
    disk_.written = [this](auto records) {
      books_.written(records);
      if (std::exchange(dies_at_write_, false)) hub_dies_ = true;
    };
    disk_.torn = [this] { hub_dies_ = true; };
    begin_hub();
    for (std::uint32_t i = 0; i < plan_.agents; ++i) {
      add_machine("board" + std::to_string(i), "board" + std::to_string(i));
      machines_.back()->begin();
    }
    for (std::uint32_t i = 0; i < plan_.jobs; ++i) add_customer(i);
    for (const auto& f : plan_.faults) time_.after(f.at, [this, f] { strike(f); });
  }

  ~fleet_play() {
    customers_.clear();
    machines_.clear();
    hub_.reset();
    time_.clear();
  }

  void run() {
    for (;;) {
      settle();
      if (hub_dies_) {
        hub_dies_ = false;
        kill_hub(death_lasts_, disk_.is_torn());
        continue;
      }
      if (over()) return finish();
      if (time_.monotonic() - begun_ > fleet_patience) books_.broken("every loop ends", what_is_left());
      auto next = time_.next();
      if (hub_ && !hub_stalled_)
        if (const auto own = hub_->next(); own && (!next || time_.monotonic() + *own < *next))
          next = time_.monotonic() + *own;
      if (!next) books_.broken("every loop ends", "nothing is to happen any more; " + what_is_left());
      step(*next);
    }
  }

  void fill(fleet_end& out) const {
    out.trace = books_.trace();
    out.runs = books_.runs();
    out.records = books_.records();
    out.aheads = books_.aheads();
    out.builds = books_.builds();
    out.lives = hub_lives_;
    out.frames = net_.counted().sent;
    out.messages = past_.steps();
    out.virtual_time = time_.monotonic() - begun_;
  }
  std::string past() const {
    return what_is_left() + "\nthe last messages (step, time, sender -> receiver):\n" + past_.text();
  }

private:
  // --- turns ---

  void settle() {
    const auto count = machines_.size();
    for (std::uint64_t n = 0;; ++n) {
      if (n > 2'000'000) books_.broken("every loop ends", "the actors never come to rest");
      if (broken_) throw failed(*broken_);
      if (hub_dies_) return;
      bool any = hub_ && !hub_stalled_ && hub_->turn();
      if (count > 0) {
        const auto first = static_cast<std::size_t>(rng_.below(count));
        for (std::size_t i = 0; i < count; ++i) {
          const bool turned = machines_[(first + i) % count]->turn();
          any = any || turned;
          if (turned) break;
        }
      }
      if (!any) return;
    }
  }

  /// Time goes on, at most to `next`.
  void step(nanoseconds next) {
    const auto before = time_.monotonic();
    time_.step(next);
    const auto passed = time_.monotonic() - before;
    if (hub_ && !hub_stalled_)
      hub_->pass(std::exchange(hub_missed_, nanoseconds(0)) + passed);
    else
      hub_missed_ += passed;
  }

  /// The fleet as an administrator sees it when all jobs have ended: each device once, and nothing runs.
  void look_at_devices() {
    if (!hub_ || hub_stalled_) return;
    const auto until = time_.monotonic() + 10s;
    bool heard = false;
    Envelope ask;
    ask.mutable_list_devices();
    call(ask, [this, &heard](const Envelope* e) {
      heard = true;
      if (e == nullptr || !e->has_devices()) return;
      std::set<std::string> names;
      for (const auto& d : e->devices().devices()) {
        if (!names.insert(d.name()).second) books_.broken("one agent of a name", d.name() + " is there twice");
        if (d.busy() > 0)
          books_.broken("a lost lease ends", d.name() + " has a lease when every job has ended: " + d.holders(0));
      }
      for (const auto& job : e->devices().jobs())
        if (job.find(unsatisfiable) == std::string::npos)
          books_.broken("every loop ends", "a job is under way that has ended: " + job);
    });
    const auto life = hub_lives_;
    while (!heard && time_.monotonic() < until && hub_ && hub_lives_ == life && !hub_dies_) {
      settle();
      step(std::min(time_.next().value_or(until), until));
    }
    if (broken_) throw failed(*broken_);
    time_.clear(); // what was to answer is gone with this
  }

  bool over() const {
    return strangers_here_ == 0 &&
           std::all_of(customers_.begin(), customers_.end(), [](const auto& c) { return c->ended().has_value(); });
  }

  std::string what_is_left() const {
    std::string out;
    for (std::size_t i = 0; i < customers_.size(); ++i)
      if (!customers_[i]->ended()) out += "job " + std::to_string(i) + " has not ended; ";
    for (const auto& m : machines_)
      out += m->place() +
             (m->is_let_in() ? " is in"
              : m->alive()   ? " is out"
                             : " is down") +
             (m->idle() ? "" : ", busy") + (net_.open(m->wire()) ? ", its wire is open" : "") +
             (net_.frozen(m->wire()) ? " and frozen; " : "; ");
    return out;
  }

  void finish() {
    look_at_devices();
    if (net_.counted().most_queued > most_queued)
      books_.broken("every queue is bounded",
                    std::to_string(net_.counted().most_queued) + " bytes waited for one peer");
    look_at_jobs();
    // Where the hub is down it is read anew in any case.
    if (hub_ && !plan_.reopened)
      if (const auto view = hub_->view()) return books_.look_at_store(*view);
    if (hub_) {
      disk_.dies(false);
      hub_.reset();
      disk_.comes_back();
    }
    const auto again = disk_.connect();
    if (!again) books_.broken("a hub starts again", "the store cannot be opened: " + again.err().text());
    const auto view = (*again)->view();
    if (!view) books_.broken("durable before told", "the store cannot be read: " + view.err().text());
    books_.look_at_store(**view);
  }

  /// Of what was refused nothing is kept.
  void look_at_jobs() {
    std::error_code ec;
    for (const auto& job : std::filesystem::directory_iterator(net::hub_folder(disk_.folder()) + "/jobs", ec))
      if (!std::filesystem::exists(job.path() / "ended") &&
          !std::filesystem::exists(job.path() / "files" / unsatisfiable))
        books_.broken("nothing is ignored",
                      "a job is kept that is neither under way nor has ended: " + job.path().filename().string());
  }

  // --- who there is ---

  void begin_hub() {
    hub_process::setting how;
    how.time = &time_;
    how.rng = &rng_;
    how.books = &books_;
    how.past = &past_;
    how.disk = &disk_;
    how.configurations = plan_.size;
    how.folder = folder_.path + "/hub" + std::to_string(hub_lives_);
    how.make = [this](const build_order& o, const auto& folder) { return make_at_hub(o, folder); };
    how.died = [this] {
      hub_dies_ = true;
      death_lasts_ = 1s;
    };
    hub_missed_ = nanoseconds(0);
    hub_ = std::make_unique<hub_process>(how);
    ++hub_lives_;
    drained_.clear();
    banned_.clear();
  }

  void kill_hub(nanoseconds lasts, bool power = false) {
    if (!hub_) return;
    for (const auto wire : wires()) {
      must_let_go(wire);
      if (rng_.chance(0.2))
        net_.freeze(wire); // the machine is gone, not the process alone
      else
        net_.cut(wire);
    }
    disk_.dies(power);
    hub_.reset();
    disk_.comes_back();
    hub_stalled_ = false;
    time_.after(lasts, [this] {
      if (!hub_) begin_hub();
    });
    // Of clients nobody hears by silence: the kernel's probes do.
    for (const auto& c : customers_) probe(c->wire());
  }

  std::optional<network::pair> dial(const std::string& from, const std::function<void(std::function<void()>)>& at) {
    if (!hub_) return std::nullopt;
    wire_options how;
    how.least = 50us;
    how.most = plan_.slowest;
    how.here = "hub:7431";
    how.there = from;
    how.at_here = hub_->runner();
    how.at_there = at;
    auto made = net_.connect(how);
    hub_->adopt(std::move(made.here));
    return made;
  }

  void add_machine(const std::string& place, const std::string& name) {
    machine::setting how;
    how.time = &time_;
    how.books = &books_;
    how.place = place;
    how.name = name;
    how.folder = folder_.path + "/" + place;
    how.slots = plan_.slots;
    how.seed = plan_.seed * 31 + machines_.size();
    how.dial = [this, place](const auto& at) { return dial(place + ":1", at); };
    how.behave = [this, name, i = machines_.size()](const run_order& o, std::uint64_t run) {
      look_at_order(*machines_[i], name);
      return behave(o, run);
    };
    how.make = [this, name, i = machines_.size()](const build_order& o, const auto& folder) {
      look_at_order(*machines_[i], name);
      return make(o, folder);
    };
    how.let_in = [this](machine& m) { let_in(m); };
    how.died = [this](machine& m) {
      m.kill();
      back_after(m, 5s);
    };
    machines_.push_back(std::make_unique<machine>(std::move(how)));
  }

  void back_after(machine& m, nanoseconds d) {
    time_.after(d, [this, name = m.place(), life = m.lives()] {
      for (auto& other : machines_)
        if (other->place() == name && other->lives() == life) {
          if (!other->alive())
            other->begin();
          else if (other->leaving())
            back_after(*other, 5s);
        }
    });
  }

  void add_customer(std::uint32_t i) {
    const auto dir = folder_.path + "/client" + std::to_string(plan_.same ? 0 : i);
    std::filesystem::create_directories(dir);
    const auto path = dir + "/spec.yaml";
    const bool one = plan_.shared || plan_.same;
    const auto task = "t" + std::to_string(plan_.seed) + (one ? "" : "_" + std::to_string(i));
    const auto of = plan_.same ? 0 : i;
    if (plan_.file_bytes > 0) std::ofstream(dir + "/data", std::ios::binary) << contents_of(of);
    std::ofstream(path) << spec_of(task, of);
    const auto tasks = storage::read_spec(path);
    if (!tasks) throw failed("the spec is wrong: " + tasks.err().text());
    auto what = net::fleet::submission_of(path, *tasks);
    if (!what) throw failed("nothing to submit: " + what.err().text());
    what->message.set_client("client" + std::to_string(i));
    customer::setting how;
    how.time = &time_;
    how.books = &books_;
    how.name = "client" + std::to_string(i);
    how.task = task;
    how.what = std::move(*what);
    how.seed = plan_.seed * 37 + i;
    how.dial = [this, i] { return dial("client" + std::to_string(i) + ":1", {}); };
    customers_.push_back(std::make_unique<customer>(std::move(how)));
    time_.after(nanoseconds(static_cast<std::int64_t>(rng_.below(3'000'000'000))),
                [c = customers_.back().get()] { c->begin(); });
  }

  /// The `i`-th client's.
  std::string spec_of(const std::string& task, std::uint32_t i) const {
    using part = fleet_plan::part;
    const auto n = std::to_string(i + 1);
    const auto differs = [&](part p, const std::string& so) { return plan_.differ == p ? so : std::string(); };
    const std::string sources = plan_.file_bytes > 0 ? ", sources: [data]" : "";
    std::string out = "task: " + task + "\nparameters: {x: {range: [0, " + std::to_string(plan_.size - 1) + "]}}\n";
    out += differs(part::workload, "workload: {n: " + n + "}\n");
    out += differs(part::target, "target: {flavour: f" + n + "}\n");
    if (plan_.builds || plan_.hub_builds)
      out += "build: {command: \"make {artifact}\"" + std::string(plan_.builds ? ", on: runner" : "") +
             ", timeout: 10s" + sources + "}\n";
    out += "run:\n  command: \"run" + differs(part::command, n) + " {x}\"\n";
    out += "  timeout: 1" + differs(part::timeout, n) + "0s\n";
    out += differs(part::repeats, "  repeats: " + n + "\n");
    out += differs(part::metric, "  metric: {name: cost" + n + ", unit: count}\n");
    if (plan_.file_bytes > 0 && !plan_.builds) out += "  files: [data]\n";
    out += "search: {strategy: " + std::string(i % 2 == 0 ? "random" : "genetic") +
           ", seed: " + std::to_string(seed_of(i)) + "}\n";
    if (plan_.finals > 0) out += "measure: {finalists: " + std::to_string(plan_.finals) + "}\n";
    return out;
  }
  std::uint64_t seed_of(std::uint32_t i) const { return plan_.seed % 1000 + i; }
  const std::string& contents_of(std::uint32_t i) {
    if (plan_.differ != fleet_plan::part::contents) i = 0;
    const auto [at, fresh] = contents_.try_emplace(i);
    auto& out = at->second;
    if (!fresh) return out;
    random_engine bytes(plan_.seed * 41 + i);
    out.resize(plan_.file_bytes);
    for (auto& c : out) c = static_cast<char>(bytes.below(256));
    return out;
  }

  /// What came to the machine is what was sent.
  void look_at_files(const trial& what, bool built_here) {
    const auto& s = what.of->spec;
    auto names = s.run.files;
    if (s.build && built_here) names.insert(names.end(), s.build->sources.begin(), s.build->sources.end());
    for (const auto& name : names) {
      const auto& sent = contents_of(static_cast<std::uint32_t>(s.search.seed - seed_of(0)));
      const auto path = s.directory + "/" + name;
      if (const auto here = text_of(path); here != sent)
        books_.broken("files arrive whole", name + " of " + s.name + " is another one (" + std::to_string(here.size()) +
                                                " bytes, " + std::to_string(sent.size()) + " were sent) where {" +
                                                what.config.text() + "} is built or run: " + path);
    }
  }
  static std::string text_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    std::string out(in ? static_cast<std::size_t>(in.tellg()) : 0, '\0');
    in.seekg(0);
    in.read(out.data(), static_cast<std::streamsize>(out.size()));
    return out;
  }

  // --- what candidates do ---

  /// What goes wrong with a candidate by its luck with `what`: the plan's shares, one behind the other. None where
  /// something does, and `a` is that; else the luck that is left. `why` makes a failure's report: `late` where its own
  /// supervisor ends it at the limit, `wrong` where it fails by itself.
  template <class Report, class Why>
  std::optional<double> luck_left(act<Report>& a, const std::string& canonical, const char* what, Why why,
                                  failure_kind late, failure_kind wrong) const {
    double luck = fleet_luck(canonical, plan_.seed, what);
    const auto falls_to = [&luck](double share) { return (luck -= share) < 0; };
    if (falls_to(plan_.hangs)) {
      a.after = 10s;
      a.report = why(late);
    } else if (falls_to(plan_.deaf)) {
      // Nobody can end it: in the end somebody resets the board.
      a.deaf = a.dies = true;
      a.after = 60s;
    } else if (falls_to(plan_.kills)) {
      a.deaf = a.dies = true;
    } else if (falls_to(plan_.crashes)) {
      a.report = why(wrong);
    } else if (falls_to(plan_.fails)) {
      a.report = why(failure_kind::internal);
    } else {
      return luck;
    }
    return std::nullopt;
  }

  act<build_report> make(const build_order& o, const std::function<std::string()>& folder) {
    look_at_files(*o.what, true);
    const auto& c = o.what->canonical;
    act<build_report> a;
    a.after = plan_.brief ? nanoseconds(10ms) : nanoseconds(200ms);
    const auto why = [](failure_kind k) { return build_failed(k); };
    if (!luck_left(a, c, "make", why, failure_kind::build_timeout, failure_kind::build_error)) return a;
    const auto there = folder();
    std::ofstream(there + "/made") << c;
    a.report = build_report{std::make_shared<const measure::build_result>(
        measure::build_result{std::make_shared<const measure::artifact>(there, there + "/made"), a.after, {}, {}})};
    return a;
  }

  /// A candidate takes the hub's machine down once: then its machine knows it.
  act<build_report> make_at_hub(const build_order& o, const std::function<std::string()>& folder) {
    auto a = make(o, folder);
    if (a.dies && !fatal_at_hub_.insert(o.what->of->spec.name + o.what->canonical).second) {
      a = {};
      a.report = build_failed(failure_kind::build_error);
    }
    return a;
  }

  act<run_report> behave(const run_order& o, std::uint64_t run) {
    look_at_files(*o.what, plan_.builds);
    const auto& c = o.what->canonical;
    if (o.what->of->spec.build && (!o.built || text_of(o.built->path) != c))
      books_.broken("what runs was built for it", "{" + o.what->config.text() + "} runs what was not");
    const auto seed = plan_.seed;
    act<run_report> a;
    a.after = fleet_luck(c, seed, "slow") < plan_.slow ? nanoseconds(4s) : nanoseconds(plan_.brief ? 20ms : 300ms);
    const auto why = [](failure_kind k) { return run_failed(k); };
    const auto left = luck_left(a, c, "how", why, failure_kind::run_timeout, failure_kind::run_error);
    if (!left) return a;
    if (*left < plan_.lies) {
      a.report = measured(std::numeric_limits<double>::quiet_NaN());
      return a;
    }
    const double value = 1 + fleet_luck(c, seed, "value") + 1e-9 * static_cast<double>(run);
    auto told = measured(value);
    auto sampled = std::get<measurement>(told.result->data);
    // No statistic of them by itself is the value.
    sampled.samples = {1.02 * value, 1.01 * value};
    books_.will_measure(run, sampled);
    told.result = std::make_shared<measure::run_result>(measure::run_result{sampled, told.result->elapsed, {}, {}});
    if (fleet_luck(c, seed, "flood") < plan_.floods) {
      auto loud = std::make_shared<measure::run_result>(*told.result);
      for (int i = 0; i < 200; ++i) loud->notes.push_back("note " + std::to_string(i) + std::string(100, '.'));
      told.result = loud;
    }
    a.report = told;
    return a;
  }

  // --- what goes wrong ---

  std::vector<wire_id> wires() const {
    std::vector<wire_id> out;
    for (const auto& m : machines_)
      if (m->wire() != 0 && net_.open(m->wire())) out.push_back(m->wire());
    for (const auto& c : customers_)
      if (c->wire() != 0 && net_.open(c->wire())) out.push_back(c->wire());
    return out;
  }

  /// TCP's probes: a connection on which nothing arrives is over for both ends in the end.
  void probe(wire_id wire) {
    time_.after(60s, [this, wire] { net_.time_out(wire); });
  }

  machine* machine_of(wire_id wire) {
    for (auto& m : machines_)
      if (m->wire() == wire) return m.get();
    return nullptr;
  }

  /// Both ends must notice by themselves that nothing comes any more.
  void must_be_noticed(wire_id wire) {
    auto* m = machine_of(wire);
    if (m == nullptr || !m->is_let_in()) return probe(wire);
    const auto lives = std::pair(hub_lives_, m->lives());
    const auto stalls = stalls_;
    time_.after(5s + 5s / 4 + 1s + to_settle, [this, wire, m, lives, stalls] {
      if (hub_lives_ != lives.first || stalls_ != stalls || !hub_ || hub_stalled_ || m->stalled()) return;
      if (!net_.closed(wire, side::here))
        books_.broken("a lost lease ends", "the hub has not noticed the silence of " + m->place());
      if (m->lives() != lives.second || m->wire() != wire) return;
      if (!net_.closed(wire, side::there))
        books_.broken("a lost lease ends", m->place() + " has not noticed the hub's silence");
      if (!m->heeds())
        books_.broken("a lost lease ends", m->place() + " goes on with what the hub has given to others");
    });
  }

  /// An agent that sees its connection end ends at once what was built and run for it.
  void must_let_go(wire_id wire) {
    auto* m = machine_of(wire);
    if (m == nullptr || !m->is_let_in()) return;
    time_.after(150ms, [this, wire, m, lives = m->lives(), stalls = stalls_] {
      if (m->lives() != lives || m->wire() != wire || stalls_ != stalls || m->stalled()) return;
      if (net_.closed(wire, side::there) && !m->heeds())
        books_.broken("a lost lease ends", m->place() + " goes on without its connection");
    });
  }

  void let_in(machine& m) {
    // Of two that are alive at one time under one name the first stays.
    for (const auto& other : machines_) {
      if (other.get() == &m || other->name() != m.name() || !other->is_let_in() || other->stalled()) continue;
      if (hub_stalled_ || stalled_lately() || !healthy(other->wire())) continue;
      books_.broken("one agent of a name",
                    m.place() + " is let in as " + m.name() + " while " + other->place() + " is alive");
    }
  }
  bool healthy(wire_id wire) const { return net_.open(wire) && !net_.frozen(wire) && !disturbed_.contains(wire); }
  bool is_untouched(wire_id wire) const { return !disturbed_.contains(wire) && !struck_.contains(wire); }
  bool stalled_lately() const { return last_stall_ && time_.monotonic() - *last_stall_ < 10s; }

  void strike(const fleet_fault& f) {
    using kind = fleet_fault::kind;
    auto& m = *machines_[f.which % machines_.size()];
    const auto open = wires();
    const auto wire = open.empty() ? wire_id(0) : open[f.which % open.size()];
    const auto end = rng_.chance(0.5) ? side::here : side::there;
    switch (f.what) {
    case kind::agent_killed:
      if (!m.alive()) return;
      if (f.at.count() % 3 == 0) { // the machine is gone, not the process alone
        struck_.insert(m.wire());
        must_be_noticed(m.wire());
        net_.freeze(m.wire());
      } else {
        net_.cut(m.wire());
      }
      m.kill();
      return back_after(m, f.lasts);
    case kind::disk_spoils:
      if (!m.alive()) return;
      net_.cut(m.wire());
      m.kill();
      m.spoil(static_cast<std::uint64_t>(f.at.count()));
      return back_after(m, f.lasts);
    case kind::agent_stalls:
      if (!m.alive() || m.stalled()) return;
      m.stall(true);
      note_stall();
      return time_.after(f.lasts, [this, &m] {
        m.stall(false);
        note_stall();
      });
    case kind::agent_leaves:
      if (!m.alive()) return;
      m.leave();
      return back_after(m, f.lasts + 15s);
    case kind::twin_comes: {
      const auto place = "twin" + std::to_string(machines_.size());
      add_machine(place, m.name());
      machines_.back()->begin();
      return time_.after(f.lasts, [this, place] {
        for (auto& other : machines_)
          if (other->place() == place && other->alive()) {
            net_.cut(other->wire());
            other->kill();
          }
      });
    }
    case kind::link_cut:
      struck_.insert(wire);
      must_let_go(wire);
      return net_.cut(wire);
    case kind::link_half_closed:
      if (wire == 0) return;
      disturbed_.insert(wire);
      net_.half_close(wire, end);
      return must_be_noticed(wire);
    case kind::link_freezes:
      if (wire == 0) return;
      struck_.insert(wire);
      net_.freeze(wire);
      return must_be_noticed(wire);
    case kind::link_slows:
      disturbed_.insert(wire);
      net_.slow(wire, 200ms, 2s);
      return time_.after(f.lasts, [this, wire] { net_.slow(wire, 50us, plan_.slowest); });
    case kind::link_not_read:
      disturbed_.insert(wire);
      net_.stop_reading(wire, end, true);
      return time_.after(f.lasts, [this, wire, end] { net_.stop_reading(wire, end, false); });
    case kind::frame_doubled:
      disturbed_.insert(wire);
      return net_.double_next(wire, end);
    case kind::frame_truncated:
      disturbed_.insert(wire);
      return net_.truncate_next(wire, end);
    case kind::hub_killed:
      return kill_hub(f.lasts);
    case kind::hub_killed_at_write:
      if (!hub_) return;
      dies_at_write_ = true;
      death_lasts_ = f.lasts;
      return;
    case kind::hub_torn_at_write:
      if (!hub_) return;
      disk_.tears = true;
      death_lasts_ = f.lasts;
      return;
    case kind::hub_power_cut:
      return kill_hub(f.lasts, true);
    case kind::hub_stalls:
      if (!hub_ || hub_stalled_) return;
      hub_stalled_ = true;
      note_stall();
      return time_.after(f.lasts, [this] {
        hub_stalled_ = false;
        note_stall();
        books_.hub_was_away();
      });
    case kind::store_fails:
      disk_.trouble = error{errc::store_unusable, "no space left", {}};
      return time_.after(f.lasts, [this] { disk_.trouble.reset(); });
    case kind::client_goes:
    case kind::client_asks_again:
      return customers_[f.which % customers_.size()]->go_away(f.lasts, f.what == kind::client_asks_again);
    case kind::device_drained:
    case kind::device_banned:
      return manage(m.name(), f.what == kind::device_banned, f.lasts);
    case kind::stranger_comes:
      return stranger(f.which);
    case kind::careless_comes:
      return careless(f.which);
    case kind::wall_steps:
      return time_.step_wall(f.which % 2 == 0 ? nanoseconds(26h) : nanoseconds(-2h));
    }
  }

  /// Who was taken out of service gets no order any more.
  void look_at_order(const machine& m, const std::string& name) {
    if (!healthy(m.wire()) || stalled_lately()) return;
    for (const auto* since : {&drained_, &banned_})
      if (const auto at = since->find(name); at != since->end() && time_.monotonic() - at->second > to_settle)
        books_.broken("who is drained or banned gets nothing", name + " begins a run");
  }

  void note_stall() {
    ++stalls_;
    last_stall_ = time_.monotonic();
  }

  /// An administrator's command, and its opposite `lasts` later.
  void manage(const std::string& name, bool ban, nanoseconds lasts) {
    using W = wire::v1::Manage;
    auto& since = ban ? banned_ : drained_;
    if (!managed_.insert({name, ban}).second) return;
    for (const auto& m : machines_)
      if (ban && m->name() == name) struck_.insert(m->wire());
    call(order_of(ban ? W::BAN : W::DRAIN, name),
         [this, name, ban, lasts, &since, life = hub_lives_](const Envelope* e) {
           const bool done = e != nullptr && e->has_done();
           if (done && life == hub_lives_) since[name] = time_.monotonic();
           // Where nothing was answered it may still be on its way.
           time_.after(lasts + (done ? 0s : 10s), [this, name, ban, &since] {
             since.erase(name);
             take_back(order_of(ban ? W::UNBAN : W::UNDRAIN, name));
             managed_.erase({name, ban});
           });
         });
  }

  static Envelope order_of(wire::v1::Manage::What what, const std::string& name) {
    Envelope out;
    out.mutable_manage()->set_what(what);
    out.mutable_manage()->set_name(name);
    return out;
  }

  /// Until the hub has answered: that it is done, or that it does not know the device.
  void take_back(const Envelope& order) {
    call(order, [this, order](const Envelope* e) {
      if (e == nullptr) time_.after(2s, [this, order] { take_back(order); });
    });
  }

  /// Somebody who asks the hub one thing, and has these files. `answered` is called once; with null where there is no
  /// answer.
  void call(const Envelope& what, std::function<void(const Envelope*)> answered,
            const std::vector<std::pair<net::artifact_file, std::string>>& files = {}) {
    auto made = dial("admin:1", {});
    if (!made) return answered(nullptr);
    auto line = std::make_shared<std::shared_ptr<net::fleet::client>>();
    auto once = std::make_shared<std::function<void(const Envelope*)>>(std::move(answered));
    const auto tell_once = [once](const Envelope* e) {
      if (const auto then = std::exchange(*once, nullptr)) then(e);
    };
    net::fleet::client::events tell;
    tell.ready = [weak = std::weak_ptr(line), what] {
      if (const auto self = weak.lock()) (*self)->ask(what);
    };
    tell.said = [tell_once](const Envelope& e) {
      if (!e.has_submitted() && !e.has_progress()) tell_once(&e);
    };
    tell.lost = [tell_once](const error&) { tell_once(nullptr); };
    *line = std::make_shared<net::fleet::client>(std::move(tell));
    for (const auto& [file, path] : files) (*line)->offer(file, path);
    (*line)->attach(std::move(made->there));
    time_.after(30s, [line, tell_once] {
      (*line)->close();
      tell_once(nullptr);
    });
  }

  /// Submits what is to be refused, as a client does that has not looked at it.
  void careless(std::uint32_t which) {
    struct slip {
      const char *instead, *more, *named; ///< of the run's command, more of the spec, what the refusal must name
    };
    static constexpr slip slips[] = {
        {"", "serch: {seed: 1}\n", "serch"},
        {"", "parameters: {y: [1]}\n", "parameters"},
        {"", "constraints: [\"x > 100\"]\n", "constraint"},
        {"", "search: {strategy: guess}\n", "guess"},
        {"  timeout: 10\n", "", "timeout"},
        {"  repeats: {min: 3, max: 5}\n", "", "until"},
        {"  metric: {name: cost, unit: count, gaol: minimize}\n", "", "gaol"},
    };
    const auto& s = slips[which % std::size(slips)];
    const auto task = "careless" + std::to_string(careless_);
    const auto dir = folder_.path + "/" + task;
    ++careless_;
    std::filesystem::create_directories(dir);
    const std::string file = std::string(s.named) == "constraint" ? unsatisfiable : "careless.yaml";
    std::ofstream(dir + "/" + file) << "task: " << task << "\nparameters: {x: {range: [0, 3]}}\n"
                                    << s.more << "run:\n  command: \"run {x}\"\n"
                                    << s.instead;
    const auto files = net::list_files(dir, {file});
    if (!files) throw failed("nothing to submit: " + files.err().text());
    books_.refused(task);
    Envelope out;
    out.mutable_submit()->set_file(file);
    out.mutable_submit()->set_client("careless");
    net::to(*files, *out.mutable_submit()->mutable_files());
    call(out,
         [this, named = std::string(s.named), task](const Envelope* e) {
           if (e == nullptr) return;
           std::string why;
           if (e->has_failed()) why = net::error_of(e->failed()).text();
           if (e->has_ended() && e->ended().code() != 0)
             for (const auto& m : e->ended().messages()) why += m + "; ";
           if (why.find(named) == std::string::npos)
             books_.broken("nothing is ignored", task + " with a wrong '" + named + "' hears: " + why);
         },
         {{files->files.front(), dir + "/" + file}});
  }

  /// Bytes that are no message.
  std::string noise() {
    for (;;) {
      std::string out(1 + static_cast<std::size_t>(rng_.below(300)), '\0');
      for (auto& c : out) c = static_cast<char>(rng_.below(256));
      Envelope by_luck;
      if (!by_luck.ParseFromString(out) || by_luck.body_case() == Envelope::BODY_NOT_SET) return out;
    }
  }

  /// What the `which`-th of the strangers says, one frame after the other, before he falls silent. What the first
  /// `mute_strangers` say is right, and not enough.
  static constexpr std::uint32_t strangers = 8, mute_strangers = 2;
  std::vector<std::string> words_of_stranger(std::uint32_t which) {
    Envelope hello, answer;
    *hello.mutable_hello() = net::hello_of(net::fleet::fleet_abilities(), std::string(16, 'x'));
    answer.mutable_answers()->add_answers()->set_lease(1 + rng_.below(20));
    const auto greeting = hello.SerializeAsString();
    switch (which % strangers) {
    case 0:
      return {};
    case 1:
      return {greeting};
    case 2:
      return {noise()};
    case 3:
      return {greeting, noise()};
    case 4:
      return {greeting, greeting};
    case 5:
      return {greeting.substr(0, 1 + static_cast<std::size_t>(rng_.below(greeting.size() - 1)))};
    case 6: { // with another subject, in no version, without an id
      const auto slip = rng_.below(3);
      auto& h = *hello.mutable_hello();
      if (slip == 0) h.set_magic("attune store");
      if (slip == 1) h.set_oldest(h.newest() + 1);
      if (slip == 2) h.set_peer("x");
      return {hello.SerializeAsString()};
    }
    default: // for an agent that it is not
      if (rng_.chance(0.5)) return {answer.SerializeAsString()};
      return {greeting, answer.SerializeAsString()};
    }
  }

  /// Somebody dials in who does not keep to the protocol. He must be gone as soon as he has said what is wrong, or when
  /// the time is over in which he was to say what he is; and he costs nobody else's connection.
  void stranger(std::uint32_t which) {
    if (hub_stalled_) return;
    auto made = dial("stranger:1", {});
    if (!made) return;
    const auto link = made->there;
    link->start([](std::string_view) {}, [](const error&) {});
    link->established(); // he is in no hurry
    nanoseconds said{0};
    for (const auto& word : words_of_stranger(which)) {
      said += 100ms;
      time_.after(said, [link, word] { link->send(word); });
    }
    const bool mute = which % strangers < mute_strangers;
    const auto within = mute ? nanoseconds(10s) + nanoseconds(5s) / 4 : said + plan_.slowest;
    struct guest {
      const machine* who;
      wire_id wire;
      std::uint64_t life;
    };
    std::vector<guest> others;
    // Whose agent says what is no value may lose its connection at any time.
    for (const auto& m : machines_)
      if (plan_.lies == 0 && m->is_let_in() && !m->stalled() && !m->leaving() && net_.open(m->wire()) &&
          is_untouched(m->wire()))
        others.push_back({m.get(), m->wire(), m->lives()});
    ++strangers_here_;
    time_.after(within + to_settle, [this, link, mute, others, wire = made->wire, life = hub_lives_, stalls = stalls_] {
      --strangers_here_;
      const bool there = !net_.closed(wire, side::here);
      link->close();
      if (!hub_ || hub_lives_ != life || stalls_ != stalls) return;
      if (there)
        books_.broken("the network is hostile", mute ? "somebody who does not say what he is is still there"
                                                     : "somebody who does not keep to the protocol is still there");
      for (const auto& o : others)
        if (o.who->alive() && o.who->lives() == o.life && !o.who->leaving() && is_untouched(o.wire) &&
            net_.closed(o.wire, side::here))
          books_.broken("the network is hostile", o.who->place() + " has lost its connection to a stranger");
    });
  }

  fleet_plan plan_;
  own_folder folder_;
  random_engine rng_;
  timeline time_;
  network net_;
  fleet_disk disk_;
  history past_{2000};
  fleet_ledger books_;
  nanoseconds begun_;
  std::unique_ptr<hub_process> hub_;
  std::vector<std::unique_ptr<machine>> machines_;
  std::vector<std::unique_ptr<customer>> customers_;
  std::map<std::uint32_t, std::string> contents_;       ///< of clients' files
  std::map<std::string, nanoseconds> drained_, banned_; ///< since when an administrator knows
  std::set<std::pair<std::string, bool>> managed_;      ///< whom an administrator has in hand
  std::set<std::string> fatal_at_hub_;                  ///< candidates whose builds have taken the hub down
  std::set<wire_id> disturbed_;
  std::set<wire_id> struck_; ///< that were cut or frozen, or may have been ended by an administrator
  int strangers_here_ = 0;   ///< whose time is not over
  std::optional<std::string> broken_;
  std::optional<nanoseconds> last_stall_;
  nanoseconds hub_missed_{0}, death_lasts_{0};
  std::uint64_t hub_lives_ = 0, stalls_ = 0, careless_ = 0;
  bool hub_stalled_ = false, hub_dies_ = false, dies_at_write_ = false;
};

} // namespace

fleet_end play_fleet(const fleet_plan& p) {
  fleet_end out;
  std::optional<fleet_play> play;
  try {
    play.emplace(p);
    play->run();
  } catch (const failed& f) {
    out.broken = f.what();
  }
  if (!play) return out;
  play->fill(out);
  if (out.broken) *out.broken += "\n" + play->past();
  return out;
}

fleet_plan shrunk(fleet_plan p) {
  const auto fails = [](const fleet_plan& less) { return play_fleet(less).broken.has_value(); };
  for (std::size_t i = p.faults.size(); i-- > 0;) {
    auto less = p;
    less.faults.erase(less.faults.begin() + static_cast<std::ptrdiff_t>(i));
    if (fails(less)) p = std::move(less);
  }
  for (const auto share : {&fleet_plan::hangs, &fleet_plan::deaf, &fleet_plan::crashes, &fleet_plan::fails,
                           &fleet_plan::kills, &fleet_plan::slow, &fleet_plan::lies, &fleet_plan::floods}) {
    if (p.*share == 0) continue;
    auto less = p;
    less.*share = 0;
    if (fails(less)) p = std::move(less);
  }
  for (const auto count : {&fleet_plan::jobs, &fleet_plan::agents, &fleet_plan::slots}) {
    while (p.*count > 1) {
      auto less = p;
      --(less.*count);
      if (!fails(less)) break;
      p = std::move(less);
    }
  }
  return p;
}

} // namespace attune::testing
