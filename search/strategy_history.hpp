#pragma once

#include "search/strategy.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace attune::search {

/// A strategy whose state can be saved and restored in the middle of a run. A strategy is a function of its options and
/// of the asks and tells that it has seen, so that is what is kept: restoring makes the strategy anew and plays them to
/// it, which also proves that it is in the same state (each proposal must come again). Costs, beside the strategy's
/// own: one line of text a step; restoring takes the time of all its asks and tells (about 1 ms a trial for `auto`, 1
/// µs for those without a model).
class remembering_strategy final : public strategy {
public:
  /// Errors: what make_strategy says.
  static result<std::unique_ptr<remembering_strategy>> make(std::string_view name, space_ptr over,
                                                            strategy_options options);
  /// @param saved what save() gave @param over the same space @param options the same options
  /// Errors (invalid_spec): the text is not save()'s, or is damaged; it is of another space, seed or budget; the
  /// strategy now proposes something else (another version of it, other first points, another prior).
  static result<std::unique_ptr<remembering_strategy>> restore(std::string_view saved, space_ptr over,
                                                               strategy_options options);

  /// The state as text: a line that names strategy, seed, budget and space, then a line for each step. Costs are
  /// written exactly.
  std::string save() const;

  std::string_view name() const override { return of_->name(); }
  std::optional<point> ask() override;
  void tell(std::span<const std::uint32_t> p, const observation& o) override;
  std::optional<forecast> last_forecast() const override { return of_->last_forecast(); }

private:
  remembering_strategy(std::unique_ptr<strategy> of, std::string head) : of_(std::move(of)), head_(std::move(head)) {}
  std::unique_ptr<strategy> of_;
  std::string head_, steps_;
};

} // namespace attune::search
