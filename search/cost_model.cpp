#include "search/cost_model.hpp"

#include "core/hash.hpp"
#include "search/models/boosted_trees.hpp"
#include "search/models/forest.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace attune::search {
namespace {

constexpr std::string_view magic = "attune cost model 1\n";

void put(std::string& out, std::uint64_t v, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(v >> (8 * i) & 0xff);
}

/// Reads little-endian numbers; after the first that is not there, only zeros.
class reader {
public:
  explicit reader(std::string_view from) : left_(from) {}
  std::uint64_t number(int bytes) {
    if (left_.size() < static_cast<std::size_t>(bytes)) {
      bad_ = true;
      left_ = {};
      return 0;
    }
    std::uint64_t v = 0;
    for (int i = 0; i < bytes; ++i)
      v |= std::uint64_t{static_cast<unsigned char>(left_[static_cast<std::size_t>(i)])} << (8 * i);
    left_.remove_prefix(static_cast<std::size_t>(bytes));
    return v;
  }
  /// A count of things that take at least `each` bytes: so no memory is taken for more than there can be.
  std::size_t count(std::size_t each) {
    const auto n = number(4);
    if (n * each <= left_.size()) return static_cast<std::size_t>(n);
    bad_ = true;
    return 0;
  }
  std::string_view text(std::size_t n) {
    if (n > left_.size()) {
      bad_ = true;
      return {};
    }
    const auto out = left_.substr(0, n);
    left_.remove_prefix(n);
    return out;
  }
  bool bad() const noexcept { return bad_; }
  bool at_end() const noexcept { return left_.empty(); }

private:
  std::string_view left_;
  bool bad_ = false;
};

constexpr std::size_t node_bytes = 19;

error damaged(const char* why) {
  return {errc::store_corrupt, std::string("a saved cost model cannot be used: ") + why, {}};
}

} // namespace

void cost_model::predict(const code_table& x, prediction& out) const {
  const std::size_t n = x.rows();
  out.score.assign(n, 0);
  out.deviation.assign(n, 0);
  std::vector<float> one(n);
  std::vector<std::uint32_t> scratch;
  for (const auto& m : members_) {
    std::fill(one.begin(), one.end(), 0.0f);
    for (const auto& tree : m) tree.add_to(one, x, scratch);
    for (std::size_t i = 0; i < n; ++i) {
      out.score[i] += one[i];
      out.deviation[i] += one[i] * one[i];
    }
  }
  const auto count = static_cast<float>(members_.size());
  for (std::size_t i = 0; i < n; ++i) {
    out.score[i] /= count;
    out.deviation[i] = std::sqrt(std::max(0.0f, out.deviation[i] / count - out.score[i] * out.score[i]));
  }
}

std::string cost_model::save() const {
  std::string out(magic);
  put(out, name().size(), 1);
  out += name();
  put(out, version_, 4);
  put(out, columns_.size(), 4);
  for (const auto& c : columns_) {
    put(out, c.ordered ? 1 : 0, 1);
    put(out, c.size, 4);
  }
  put(out, members_.size(), 4);
  for (const auto& m : members_) {
    put(out, m.size(), 4);
    for (const auto& tree : m) {
      put(out, tree.nodes().size(), 4);
      for (const auto& n : tree.nodes()) {
        put(out, static_cast<std::uint64_t>(n.how), 1);
        put(out, n.column, 2);
        put(out, n.cut, 4);
        put(out, n.left, 4);
        put(out, n.right, 4);
        put(out, std::bit_cast<std::uint32_t>(n.value), 4);
      }
    }
  }
  put(out, hash64(out), 8);
  return out;
}

status cost_model::restore(std::string_view bytes) {
  if (bytes.size() > largest) return damaged("too long");
  if (bytes.size() < magic.size() + 8 || bytes.substr(0, magic.size()) != magic) return damaged("not one");
  const auto body = bytes.substr(0, bytes.size() - 8);
  if (reader(bytes.substr(body.size())).number(8) != hash64(body)) return damaged("its bytes are not what was written");
  reader in(body.substr(magic.size()));
  if (in.text(static_cast<std::size_t>(in.number(1))) != name()) return damaged("another kind of model");
  const auto version = static_cast<std::uint32_t>(in.number(4));
  if (in.count(5) != columns_.size()) return damaged("other features");
  for (const auto& c : columns_) {
    const bool ordered = in.number(1) != 0;
    if (in.number(4) != c.size || ordered != c.ordered) return damaged("other features");
  }
  std::vector<member> members(in.count(4));
  for (auto& m : members) {
    const auto trees = in.count(4);
    for (std::size_t t = 0; t < trees; ++t) {
      std::vector<tree_node> nodes(in.count(node_bytes));
      for (auto& n : nodes) {
        n.how = static_cast<tree_node::test>(in.number(1));
        n.column = static_cast<std::uint16_t>(in.number(2));
        n.cut = static_cast<std::uint32_t>(in.number(4));
        n.left = static_cast<std::uint32_t>(in.number(4));
        n.right = static_cast<std::uint32_t>(in.number(4));
        n.value = std::bit_cast<float>(static_cast<std::uint32_t>(in.number(4)));
      }
      auto tree = decision_tree::make(std::move(nodes), columns_.size());
      if (!tree) return damaged("a tree that is none");
      m.push_back(std::move(*tree));
    }
  }
  if (in.bad() || !in.at_end()) return damaged("its length is wrong");
  members_ = std::move(members);
  version_ = version;
  return {};
}

result<std::vector<std::uint32_t>> cost_model::usable(const training_rows& rows) {
  std::vector<std::uint32_t> out;
  std::size_t measured = 0, first = 0;
  bool other_cost = false, other_row = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool value = rows.what[i] == observation::status::measured;
    if ((!value && rows.what[i] != observation::status::censored) || !std::isfinite(rows.y[i])) continue;
    if (out.empty()) first = i;
    other_cost = other_cost || rows.y[i] != rows.y[first];
    for (std::size_t c = 0; c < rows.x.columns() && !other_row; ++c)
      other_row = rows.x.column(c)[i] != rows.x.column(c)[first];
    measured += value ? 1 : 0;
    out.push_back(static_cast<std::uint32_t>(i));
  }
  const auto nothing = [](std::string why) { return error{errc::not_found, std::move(why), {}}; };
  if (measured < least_results)
    return nothing(std::to_string(measured) + " results are too few to learn from (" + std::to_string(least_results) +
                   " are needed)");
  if (!other_cost) return nothing("all results are equal: there is nothing to learn");
  if (!other_row) return nothing("all configurations look the same to the model");
  return out;
}

std::span<const std::string_view> cost_models() {
#ifdef ATTUNE_XGBOOST
  static constexpr std::string_view names[] = {"boosted", "ranking", "forest"};
#else
  static constexpr std::string_view names[] = {"forest"};
#endif
  return names;
}

result<std::unique_ptr<cost_model>> make_cost_model(std::string_view name,
                                                    std::span<const rank_features::column> columns) {
  if (name == "forest") return std::unique_ptr<cost_model>(std::make_unique<forest_model>(columns));
#ifdef ATTUNE_XGBOOST
  if (name == "boosted") return make_boosted_trees(boosting::squared_error, columns);
  if (name == "ranking") return make_boosted_trees(boosting::pairwise, columns);
#endif
  std::string message = "unknown cost model '" + std::string(name) + "'; known:";
  for (const auto known : cost_models()) message += " " + std::string(known);
  return error{errc::invalid_spec, message, {}};
}

} // namespace attune::search
