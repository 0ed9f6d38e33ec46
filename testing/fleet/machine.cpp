#include "testing/fleet/machine.hpp"

#include "core/hash.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

namespace attune::testing {

using namespace actors;
namespace fs = std::filesystem;

namespace {

/// Of what the hub has sent, at most.
constexpr std::uint64_t kept_bytes = 64u << 20;

/// A runner that keeps the books: which runs are under way at which slot.
class booked_runner final : public measure::runner {
public:
  booked_runner(std::shared_ptr<scripted_runner> how, std::function<void()> ended)
      : how_(std::move(how)), ended_(std::move(ended)) {}
  void run(trial_ptr what, measure::artifact_ptr built, callback done) override {
    how_->run(std::move(what), std::move(built), [ended = ended_, done = std::move(done)](measure::run_result r) {
      ended();
      done(std::move(r));
    });
  }
  void cancel() override { how_->cancel(); }

private:
  std::shared_ptr<scripted_runner> how_;
  std::function<void()> ended_;
};

} // namespace

machine::machine(setting how)
    : how_(std::move(how)), pause_(std::chrono::milliseconds(200), std::chrono::seconds(5), how_.seed) {}

void machine::begin() {
  life_ = std::make_unique<life>(*how_.time);
  ++lives_;
  net::fleet::agent_options o;
  o.self.name = how_.name;
  o.self.slots = how_.slots;
  o.self.boot = truncate(sha256(how_.place + "/" + std::to_string(lives_) + "/" + std::to_string(how_.seed)));
  o.clock = how_.time;
  o.desk = &life_->desk.loop();
  const auto temporary = how_.folder + "/" + std::to_string(lives_);
  fs::create_directories(temporary);
  auto folders = measure::scratch::open(temporary);
  auto files = net::artifact_store::open(how_.folder + "/files", kept_bytes);
  if (!folders || !files) how_.books->broken("an agent starts again", (folders ? files.err() : folders.err()).text());
  life_->folders = std::move(*folders);
  o.folders = life_->folders.get();
  o.files = std::move(*files);
  o.make_builder = [this](std::uint32_t slot) {
    auto script = [this, slot](const build_order& order) {
      how_.books->builds(how_.place, slot, *order.what);
      return how_.make(order, [this] { return *life_->folders->make_folder(); });
    };
    auto made = std::make_shared<scripted_builder>(
        *how_.time, script, [this, slot] { how_.books->ended(how_.place, slot); }, [this] { how_.died(*this); });
    life_->makers.push_back(made);
    return made;
  };
  o.make_runner = [this](std::uint32_t slot) {
    auto script = [this, slot](const run_order& order) {
      const auto run = how_.books->began(how_.place, slot, *order.what);
      return how_.behave(order, run);
    };
    auto made = std::make_shared<scripted_runner>(*how_.time, script, [this] { how_.died(*this); });
    life_->slots.push_back(made);
    return std::make_shared<booked_runner>(made, [this, slot] { how_.books->ended(how_.place, slot); });
  };
  net::fleet::agent::events tell;
  tell.let_in = [this] {
    life_->in = true;
    pause_.reset();
    how_.let_in(*this);
  };
  tell.lost = [this](const error&) {
    life_->in = false;
    again();
  };
  life_->self = std::make_shared<net::fleet::agent>(life_->loop.loop(), std::move(o), std::move(tell));
  asio::post(life_->loop.loop(), [this] { dial(); });
}

void machine::dial() {
  if (life_->leaving) return;
  auto made = how_.dial(life_->loop.runner());
  if (!made) return again();
  life_->wire = made->wire;
  life_->self->attach(std::move(made->there));
}

void machine::again() {
  if (life_->leaving) return;
  life_->wait = std::make_unique<net::timer>(life_->loop.loop(), pause_.next());
  life_->wait->async_wait([this](const asio::error_code& ec) {
    if (!ec) dial();
  });
}

void machine::kill() {
  stalled_ = false;
  if (!life_) return;
  auto last = std::move(life_);
  for (std::uint32_t i = 0; i < last->slots.size(); ++i) {
    last->slots[i]->kill();
    last->makers[i]->kill();
    how_.books->ended(how_.place, i);
  }
  last->self.reset();
}

void machine::leave() {
  if (!life_ || std::exchange(life_->leaving, true)) return;
  asio::post(life_->loop.loop(), [this, self = life_->self] {
    self->leave([this] {
      // Not now: it is the agent that calls.
      how_.time->after(nanoseconds(0), [this, number = lives_] {
        if (life_ && lives_ == number && life_->leaving) kill();
      });
    });
  });
}

void machine::spoil(std::uint64_t luck) {
  std::vector<fs::path> files;
  std::error_code ec;
  for (const auto& entry : fs::recursive_directory_iterator(how_.folder + "/files", ec))
    if (entry.is_regular_file() && entry.file_size() > 0) files.push_back(entry.path());
  if (files.empty()) return;
  std::sort(files.begin(), files.end());
  const auto& one = files[luck % files.size()];
  const auto size = fs::file_size(one);
  if (luck % 3 == 0) return fs::resize_file(one, luck % size);
  std::fstream file(one, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(luck % size));
  const char was = static_cast<char>(file.get());
  file.seekp(static_cast<std::streamoff>(luck % size));
  file.put(static_cast<char>(was ^ 1));
}

bool machine::heeds() const {
  const auto still = [](const auto& s) { return s->in_hand() == nullptr || s->deaf(); };
  return !life_ || (std::all_of(life_->slots.begin(), life_->slots.end(), still) &&
                    std::all_of(life_->makers.begin(), life_->makers.end(), still));
}

bool machine::idle() const {
  const auto free = [](const auto& s) { return s->in_hand() == nullptr; };
  return !life_ || (std::all_of(life_->slots.begin(), life_->slots.end(), free) &&
                    std::all_of(life_->makers.begin(), life_->makers.end(), free));
}

} // namespace attune::testing
