#include "search/models/boosted_trees.hpp"

#include <nlohmann/json.hpp>
#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <cstdlib>
static double knob(const char*n,double d){const char*v=getenv(n);return v?atof(v):d;}
static const char* sknob(const char*n,const char*d){const char*v=getenv(n);return v?v:d;}

namespace attune::search {
namespace {

const std::size_t members = (size_t)knob("MM",4), rounds = (size_t)knob("RR",14); constexpr std::size_t partners = 4;
/// Categories of up to so many values are spread over a feature each.
constexpr std::uint32_t spread = 32;

error library_error(const char* what) {
  return {errc::internal, std::string("XGBoost: ") + what + ": " + XGBGetLastError(), {}};
}

class data_matrix {
public:
  ~data_matrix() {
    if (handle != nullptr) XGDMatrixFree(handle);
  }
  data_matrix() = default;
  data_matrix(const data_matrix&) = delete;
  data_matrix& operator=(const data_matrix&) = delete;
  DMatrixHandle handle = nullptr;
};

class booster {
public:
  ~booster() {
    if (handle != nullptr) XGBoosterFree(handle);
  }
  booster() = default;
  booster(const booster&) = delete;
  booster& operator=(const booster&) = delete;
  BoosterHandle handle = nullptr;
};

/// One number that the library sees: a column's code, or whether it is one category.
struct feature {
  std::uint16_t column = 0;
  std::uint32_t category = none;
  static constexpr std::uint32_t none = ~std::uint32_t{0};
};

using nlohmann::json;

/// The library's tree as one of ours: its nodes renumbered from the root, its cuts as codes.
std::optional<decision_tree> convert(const json& tree, std::span<const feature> features, std::size_t columns) {
  const auto& left = tree.at("left_children");
  const auto& right = tree.at("right_children");
  const auto& index = tree.at("split_indices");
  const auto& condition = tree.at("split_conditions");
  std::vector<tree_node> nodes(1);
  std::vector<std::pair<std::size_t, std::uint32_t>> open{{0, 0}}; // theirs, ours
  while (!open.empty()) {
    auto [theirs, ours] = open.back();
    open.pop_back();
    for (;;) {
      if (theirs >= left.size() || nodes.size() > left.size()) return std::nullopt;
      const auto cut = condition.at(theirs).get<float>();
      if (left.at(theirs).get<int>() < 0) {
        nodes[ours].value = cut;
        break;
      }
      const auto& f = features[index.at(theirs).get<std::size_t>()];
      // A number goes left where it is below the cut. One that none is below is no decision.
      if (cut <= 0) {
        theirs = right.at(theirs).get<std::size_t>();
        continue;
      }
      tree_node& n = nodes[ours];
      n.how = f.category == feature::none ? tree_node::test::below : tree_node::test::other;
      n.column = f.column;
      n.cut = f.category == feature::none ? static_cast<std::uint32_t>(std::ceil(std::min(cut, 1e6f))) - 1 : f.category;
      n.left = static_cast<std::uint32_t>(nodes.size());
      n.right = n.left + 1;
      open.emplace_back(right.at(theirs).get<std::size_t>(), n.right);
      open.emplace_back(left.at(theirs).get<std::size_t>(), n.left);
      nodes.emplace_back();
      nodes.emplace_back();
      break;
    }
  }
  return decision_tree::make(std::move(nodes), columns);
}

class boosted_trees final : public cost_model {
public:
  boosted_trees(boosting lowers, std::span<const rank_features::column> columns)
      : cost_model(columns), lowers_(lowers) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto column = static_cast<std::uint16_t>(c);
      if (columns[c].ordered || columns[c].size <= 2 || columns[c].size > spread)
        features_.push_back({column});
      else
        for (std::uint32_t v = 0; v < columns[c].size; ++v) features_.push_back({column, v});
    }
  }

  std::string_view name() const override { return lowers_ == boosting::pairwise ? "ranking" : "boosted"; }
  bool predicts_costs() const override { return lowers_ == boosting::squared_error; }

  status train(const training_rows& rows, std::uint64_t seed) override {
    const auto used = usable(rows);
    if (!used) return used.err();
    sample s;
    for (const auto r : *used) {
      s.y.push_back(rows.y[r]);
      s.weight.push_back(rows.weight[r]);
      s.censored.push_back(rows.what[r] == observation::status::censored);
    }
    // A single-precision library: costs are learned from their middle.
    if (predicts_costs()) {
      double mass = 0, sum = 0;
      for (std::size_t i = 0; i < s.y.size(); ++i) {
        mass += s.weight[i];
        sum += double{s.weight[i]} * s.y[i];
      }
      s.middle = static_cast<float>(sum / mass);
      for (auto& v : s.y) v -= s.middle;
    }
    data_matrix data;
    const auto x = matrix(rows.x, *used);
    if (XGDMatrixCreateFromMat(x.data(), used->size(), features_.size(), std::numeric_limits<float>::quiet_NaN(),
                               &data.handle) != 0)
      return library_error("data");
    std::vector<member> grown;
    for (std::size_t m = 0; m < members; ++m) {
      auto one = grow(data.handle, s, random_engine(seed).fork(std::string(1, static_cast<char>('a' + m))));
      if (!one) return one.err();
      grown.push_back(std::move(*one));
    }
    become(std::move(grown));
    return {};
  }

private:
  struct sample {
    std::vector<float> y, weight;
    std::vector<bool> censored;
    float middle = 0;
  };

  std::vector<float> matrix(const code_table& from, std::span<const std::uint32_t> rows) const {
    std::vector<float> out(rows.size() * features_.size());
    for (std::size_t f = 0; f < features_.size(); ++f) {
      const auto& codes = from.column(features_[f].column);
      const auto category = features_[f].category;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto code = codes[rows[i]];
        out[i * features_.size() + f] = category == feature::none ? static_cast<float>(code) : code == category ? 1.0f : 0.0f;
      }
    }
    return out;
  }

  void squares(const sample& s, std::span<const float> weight, const float* at, std::span<float> gradient,
               std::span<float> hessian) const {
    for (std::size_t i = 0; i < s.y.size(); ++i) {
      const float off = at[i] - s.y[i];
      const bool content = s.censored[i] && off >= 0;
      gradient[i] = content ? 0 : weight[i] * off;
      hessian[i] = content ? 0 : weight[i];
    }
  }

  void pairs(const sample& s, std::span<const float> weight, const float* at, std::span<float> gradient,
             std::span<float> hessian, random_engine& rng) const {
    std::fill(gradient.begin(), gradient.end(), 0.0f);
    std::fill(hessian.begin(), hessian.end(), 0.0f);
    const std::size_t n = s.y.size();
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < partners; ++k) {
        std::size_t better = i, worse = rng.below(n);
        if (s.y[better] > s.y[worse]) std::swap(better, worse);
        // At least so much: it is known to be worse than what is below its bound, and to be better than nothing.
        if (s.y[better] == s.y[worse] || s.censored[better]) continue;
        const float w = weight[better] * weight[worse];
        const float wrong = 1 / (1 + std::exp(at[worse] - at[better]));
        const float curved = std::max(wrong * (1 - wrong), 1e-6f) * w;
        gradient[better] += wrong * w;
        gradient[worse] -= wrong * w;
        hessian[better] += curved;
        hessian[worse] += curved;
      }
  }

  result<member> grow(DMatrixHandle data, const sample& s, random_engine rng) const {
    booster b;
    if (XGBoosterCreate(&data, 1, &b.handle) != 0) return library_error("create");
    const std::string seed = std::to_string(rng() >> 33);
    const std::pair<const char*, const char*> settings[] = {{"nthread", "1"},
                                                            {"verbosity", "0"},
                                                            {"tree_method", "hist"},
                                                            {"max_bin", "64"},
                                                            {"max_depth", sknob("DEP","5")},
                                                            {"eta", sknob("ETA","0.3")},
                                                            {"lambda", "1"},
                                                            {"min_child_weight", sknob("MCW","1")},
                                                            {"colsample_bynode", sknob("COL","0.4")},
                                                            {"base_score", "0"},
                                                            {"disable_default_eval_metric", "1"},
                                                            {"seed", seed.c_str()}};
    for (const auto& [key, value] : settings)
      if (XGBoosterSetParam(b.handle, key, value) != 0) return library_error(key);
    const std::size_t n = s.y.size();
    std::vector<float> weight(n), gradient(n), hessian(n);
    for (std::size_t i = 0; i < n; ++i) weight[i] = s.weight[i] * static_cast<float>(-std::log(1 - rng.uniform()));
    for (std::size_t r = 0; r < rounds; ++r) {
      const bst_ulong* shape = nullptr;
      bst_ulong dimensions = 0;
      const float* at = nullptr;
      if (XGBoosterPredictFromDMatrix(b.handle, data,
                                      R"({"type":1,"training":true,"iteration_begin":0,"iteration_end":0,)"
                                      R"("strict_shape":false})",
                                      &shape, &dimensions, &at) != 0)
        return library_error("predict");
      if (lowers_ == boosting::pairwise)
        pairs(s, weight, at, gradient, hessian, rng);
      else
        squares(s, weight, at, gradient, hessian);
      if (XGBoosterBoostOneIter(b.handle, data, gradient.data(), hessian.data(), n) != 0) return library_error("boost");
    }
    bst_ulong length = 0;
    const char* bytes = nullptr;
    if (XGBoosterSaveModelToBuffer(b.handle, R"({"format":"ubj"})", &length, &bytes) != 0) return library_error("save");
    return trees(bytes, length, s.middle);
  }

  result<member> trees(const char* bytes, std::size_t length, float middle) const {
    const error strange{errc::internal, "XGBoost: a model of an unknown form", {}};
    member out;
    try {
      const auto model = json::from_ubjson(bytes, bytes + length);
      for (const auto& tree : model.at("learner").at("gradient_booster").at("model").at("trees")) {
        auto ours = convert(tree, features_, columns().size());
        if (!ours) return strange;
        out.push_back(std::move(*ours));
      }
    } catch (const json::exception&) {
      return strange;
    }
    tree_node leaf;
    leaf.value = middle;
    out.push_back(*decision_tree::make({leaf}, columns().size()));
    return out;
  }

  boosting lowers_;
  std::vector<feature> features_;
};

} // namespace

std::unique_ptr<cost_model> make_boosted_trees(boosting lowers, std::span<const rank_features::column> columns) {
  return std::make_unique<boosted_trees>(lowers, columns);
}

} // namespace attune::search
