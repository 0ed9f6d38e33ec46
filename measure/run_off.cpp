#include "measure/run_off.hpp"

#include "core/median.hpp"
#include "measure/statistics.hpp"

#include <algorithm>

namespace attune::measure {

namespace {

std::vector<std::vector<double>> samples_of(const std::vector<run_off::entrant>& all) {
  std::vector<std::vector<double>> out;
  out.reserve(all.size());
  for (const auto& e : all) out.push_back(e.samples);
  return out;
}

} // namespace

run_off::run_off(std::vector<entrant> all, goal direction, std::optional<std::size_t> reference,
                 finalists_options options, std::uint32_t turns)
    : all_(std::move(all)),
      direction_(direction),
      reference_(reference),
      options_(options),
      turns_(std::max<std::uint32_t>(turns, 1)),
      ran_(all_.size()),
      failed_(all_.size()),
      was_in_(all_.size()),
      now_(samples_of(all_), direction, reference, options) {}

void run_off::add(double value) {
  ++runs_;
  now_.add(value);
  step();
}

void run_off::fail() {
  ++runs_;
  failed_[*now_.next()] = true;
  now_.fail();
  step();
}

void run_off::end() {
  now_.end();
  turns_ = 1;
  step();
}

void run_off::step() {
  if (now_.next() || turns_ == 0) return;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const auto values = now_.values(i);
    if (values.empty()) continue;
    ran_[i].assign(values.begin(), values.end());
    was_in_[i] = true;
  }
  if (--turns_ == 0) return;
  const auto leader = now_.winner();
  std::vector<std::size_t> next;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (all_[i].samples.empty() || was_in_[i] || failed_[i]) continue;
    // Where the whole field has failed, whoever is left is asked.
    if (leader && !better(all_[i].value, summarize(ran_[*leader]).value)) continue;
    next.push_back(i);
  }
  if (next.empty()) return;
  std::stable_sort(next.begin(), next.end(),
                   [this](std::size_t a, std::size_t b) { return better(all_[a].value, all_[b].value); });
  next.resize(std::min(next.size(), std::max<std::size_t>(options_.most, 2) - (leader ? 1 : 0)));
  std::vector<std::vector<double>> field(all_.size());
  for (const auto i : next) field[i] = all_[i].samples;
  if (leader) field[*leader] = ran_[*leader];
  auto reference = reference_;
  if (reference && failed_[*reference]) reference.reset();
  if (reference && field[*reference].empty())
    field[*reference] = ran_[*reference].empty() ? all_[*reference].samples : ran_[*reference];
  // They look better than the winner: whatever their intervals say, they are in.
  auto options = options_;
  options.drift = 1;
  now_ = finalists(field, direction_, reference, options);
}

std::vector<run_off::standing> run_off::standings() const {
  std::vector<standing> out;
  const auto leader = now_.winner();
  const auto tied = now_.tied();
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (failed_[i]) {
      out.push_back({i, {}, 0, false, false, false, true});
      continue;
    }
    if (!was_in_[i]) continue;
    standing s;
    s.who = i;
    s.values = ran_[i];
    s.value = summarize(s.values).value;
    s.winner = leader == i;
    s.tied = std::find(tied.begin(), tied.end(), i) != tied.end();
    out.push_back(std::move(s));
  }
  if (!leader) return out;
  const auto& best = ran_[*leader];
  if (best.empty()) return out;
  const double value = summarize(best).value;
  for (auto& s : out) {
    if (s.failed || s.winner || !better(s.value, value)) continue;
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(best.size(), s.values.size()); ++i)
      if (best[i] > 0 && s.values[i] > 0) ratios.push_back(s.values[i] / best[i]);
    const double ratio = ratios.empty() ? 1 : median(ratios);
    s.value = better(value * ratio, value) ? value : value * ratio;
    s.beside_winner = true;
  }
  return out;
}

} // namespace attune::measure
