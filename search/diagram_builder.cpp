#include "search/diagram.hpp"

#include <algorithm>
#include <cstring>

namespace attune::search {

namespace {

/// Fixed-size records of words, each held once and numbered in the order of their coming.
class state_table {
public:
  explicit state_table(std::size_t width) : width_(width), slots_(64, empty) {}

  /// The record's number, and whether it is new.
  std::pair<std::uint32_t, bool> insert(const std::uint64_t* words) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    const auto mask = slots_.size() - 1;
    for (auto at = hash(words) & mask;; at = (at + 1) & mask) {
      if (slots_[at] == empty) {
        slots_[at] = static_cast<std::uint32_t>(count_);
        words_.insert(words_.end(), words, words + width_);
        payload.push_back(empty);
        return {static_cast<std::uint32_t>(count_++), true};
      }
      if (width_ == 0 || std::memcmp(&words_[slots_[at] * width_], words, width_ * sizeof *words) == 0)
        return {slots_[at], false};
    }
  }
  const std::uint64_t* words(std::uint32_t number) const { return words_.data() + number * width_; }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return words_.capacity() * 8 + slots_.capacity() * 4 + payload.capacity() * 4; }

  static constexpr std::uint32_t empty = 0xffffffffu;
  std::vector<std::uint32_t> payload; ///< a word for each record

private:
  std::size_t hash(const std::uint64_t* words) const {
    std::uint64_t h = 0x9e3779b97f4a7c15u;
    for (std::size_t i = 0; i < width_; ++i) {
      h = (h ^ words[i]) * 0xff51afd7ed558ccdu;
      h ^= h >> 32;
    }
    return static_cast<std::size_t>(h);
  }
  void grow() {
    slots_.assign(slots_.size() * 2, empty);
    const auto mask = slots_.size() - 1;
    for (std::uint32_t i = 0; i < count_; ++i) {
      auto at = hash(words(i)) & mask;
      while (slots_[at] != empty) at = (at + 1) & mask;
      slots_[at] = i;
    }
  }

  std::size_t width_;
  std::size_t count_ = 0;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> slots_;
};

} // namespace

/// Builds from the top, layer by layer, joining partial assignments with the same open parts and the same needed
/// values; then reduces from the bottom, joining nodes with the same edges.
class diagram_builder {
public:
  diagram_builder(const program& p, const build_limits& limits, build_report& report)
      : program_(p), limits_(limits), report_(report), frame_(p) {}

  std::unique_ptr<diagram> run() {
    const auto layers = program_.layers();
    edges_.resize(layers);
    const bool done = program_.broken() || expand();
    report_.overflowed = frame_.overflowed;
    report_.faulted = frame_.faulted;
    if (!done) {
      report_.over_limit = true;
      return nullptr;
    }
    auto out = std::make_unique<diagram>();
    out->order_.assign(program_.order().begin(), program_.order().end());
    out->first_ = {0, 0}; // the end
    out->count_ = {1};
    if (program_.broken() || !reduce(*out)) {
      if (report_.over_limit) return nullptr;
      // Nothing valid: a root without edges.
      out->first_ = {0, 0, 0};
      out->count_ = {1, 0};
      out->root_ = 1;
    }
    return out;
  }

private:
  struct layer_edges {
    std::vector<std::uint32_t> first{0}; ///< by node, and one more
    std::vector<std::uint32_t> label, target;
  };

  std::size_t width(std::size_t layer) const {
    const auto k = program_.needed(layer).size();
    return k + (k + 7) / 8 + program_.all_open().size();
  }

  /// The record of the frame's needed values and the open parts; what no open part needs is zero.
  void pack(std::size_t layer, const open_parts& open, std::vector<std::uint64_t>& out) {
    const auto needed = program_.needed(layer);
    program_.needed_by(layer, open, mask_);
    const auto k = needed.size();
    out.assign(width(layer), 0);
    for (std::size_t i = 0; i < k; ++i) {
      if (!mask_[i]) continue;
      const auto& c = frame_.values[needed[i]];
      out[i] = c.bits;
      out[k + i / 8] |= static_cast<std::uint64_t>(c.what) << (i % 8 * 8);
    }
    std::copy(open.begin(), open.end(), out.begin() + static_cast<std::ptrdiff_t>(k + (k + 7) / 8));
  }

  void unpack(std::size_t layer, const std::uint64_t* words, open_parts& open) {
    const auto needed = program_.needed(layer);
    const auto k = needed.size();
    for (std::size_t i = 0; i < k; ++i)
      frame_.values[needed[i]] = {words[i], static_cast<cell::kind>(words[k + i / 8] >> (i % 8 * 8) & 0xff)};
    std::copy_n(words + k + (k + 7) / 8, open.size(), open.begin());
  }

  bool expand() {
    const auto layers = program_.layers();
    open_parts open = program_.all_open(), after;
    std::vector<std::uint64_t> record;
    std::unique_ptr<state_table> table;
    std::vector<std::uint32_t> states{0}; // records of `table`; at the top one without a record
    std::uint64_t total = 0, bytes = 0;
    for (std::size_t l = 0; l < layers; ++l) {
      const bool last = l + 1 == layers;
      auto next = std::make_unique<state_table>(width(l));
      std::vector<std::uint32_t> next_states;
      auto& edges = edges_[l];
      const auto choices = program_.variable_at(l).choices();
      const auto values = program_.variable_at(l).values->size();
      for (const auto state : states) {
        if (table) unpack(l - 1, table->words(state), open);
        report_.steps += choices;
        if (report_.steps > limits_.steps) return false;
        for (std::uint64_t c = 0; c < choices; ++c) {
          after = open;
          if (!program_.assign(frame_, l, c, after)) continue;
          std::uint32_t child = 0;
          if (!last) {
            pack(l, after, record);
            const auto [raw, fresh] = next->insert(record.data());
            if (fresh) next->payload[raw] = settle(l, after, raw, *next, record, next_states);
            child = next->payload[raw];
            if (child == dead) continue;
          }
          edges.label.push_back(c < values ? static_cast<std::uint32_t>(c) : inactive);
          edges.target.push_back(child);
        }
        edges.first.push_back(static_cast<std::uint32_t>(edges.label.size()));
        if (total + next_states.size() > limits_.states) return false;
      }
      total += next_states.size();
      bytes += edges.label.size() * 8 + edges.first.size() * 4;
      if (bytes + next->bytes() > limits_.bytes || edges.label.size() > 0xf0000000u) return false;
      table = std::move(next);
      states = std::move(next_states);
    }
    return true;
  }

  /// A record that was not seen before: its node in the next layer, after looking ahead; dead where nothing follows.
  std::uint32_t settle(std::size_t layer, open_parts& open, std::uint32_t raw, state_table& table,
                       std::vector<std::uint64_t>& record, std::vector<std::uint32_t>& states) {
    const auto before = open;
    if (!program_.look_ahead(frame_, layer, open)) return dead;
    if (open == before) {
      states.push_back(raw);
      return static_cast<std::uint32_t>(states.size() - 1);
    }
    pack(layer, open, record);
    const auto [settled, fresh] = table.insert(record.data());
    if (fresh) {
      states.push_back(settled);
      table.payload[settled] = static_cast<std::uint32_t>(states.size() - 1);
    }
    return table.payload[settled];
  }

  /// False where nothing is valid or a count is beyond 128 bits.
  bool reduce(diagram& out) {
    std::vector<std::uint32_t> below{diagram::end}; // the final nodes of the layer below; dead ones are `dead`
    std::vector<std::uint64_t> key;
    for (auto l = edges_.size(); l-- > 0;) {
      const auto& edges = edges_[l];
      std::vector<std::uint32_t> here(edges.first.size() - 1, dead);
      std::vector<std::uint32_t> slots(std::bit_ceil(here.size() * 2 + 2), dead);
      const auto mask = slots.size() - 1;
      for (std::size_t n = 0; n < here.size(); ++n) {
        key.clear();
        std::uint64_t h = 0x9e3779b97f4a7c15u;
        for (auto e = edges.first[n]; e < edges.first[n + 1]; ++e) {
          const auto child = below[edges.target[e]];
          if (child == dead) continue;
          key.push_back(std::uint64_t{edges.label[e]} << 32 | child);
          h = (h ^ key.back()) * 0xff51afd7ed558ccdu;
          h ^= h >> 32;
        }
        if (key.empty()) continue;
        for (auto at = h & mask;; at = (at + 1) & mask) {
          if (slots[at] == dead) {
            if (!add(out, key)) return false;
            slots[at] = static_cast<std::uint32_t>(out.count_.size() - 1);
          } else if (!same(out, slots[at], key)) {
            continue;
          }
          here[n] = slots[at];
          break;
        }
      }
      below = std::move(here);
      edges_[l] = {};
    }
    out.root_ = below[0];
    return below[0] != dead;
  }

  static bool same(const diagram& d, std::uint32_t node, const std::vector<std::uint64_t>& key) {
    const auto from = d.first_[node];
    if (d.first_[node + 1] - from != key.size()) return false;
    for (std::size_t i = 0; i < key.size(); ++i)
      if (d.label_[from + i] != key[i] >> 32 || d.target_[from + i] != (key[i] & 0xffffffffu)) return false;
    return true;
  }

  bool add(diagram& d, const std::vector<std::uint64_t>& key) {
    uint128 total = 0;
    for (const auto k : key) {
      d.label_.push_back(static_cast<std::uint32_t>(k >> 32));
      d.target_.push_back(static_cast<std::uint32_t>(k));
      d.before_.push_back(total);
      if (__builtin_add_overflow(total, d.count_[static_cast<std::uint32_t>(k)], &total)) {
        report_.over_limit = true;
        return false;
      }
    }
    d.count_.push_back(total);
    d.first_.push_back(static_cast<std::uint32_t>(d.label_.size()));
    return true;
  }

  static constexpr std::uint32_t dead = 0xffffffffu;
  const program& program_;
  const build_limits& limits_;
  build_report& report_;
  program::frame frame_;
  std::vector<layer_edges> edges_;
  std::vector<std::uint8_t> mask_;
};

std::unique_ptr<diagram> diagram::build(const program& p, const build_limits& limits, build_report& report) {
  return diagram_builder(p, limits, report).run();
}

} // namespace attune::search
