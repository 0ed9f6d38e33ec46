#include "attune/space.hpp"

#include "core/spec.hpp"
#include "search/space.hpp"

#include <utility>

namespace attune {

space::space(std::string name) : spec_(std::make_unique<task_spec>()) { spec_->name = std::move(name); }
space::~space() = default;
space::space(const space& other) : spec_(std::make_unique<task_spec>(*other.spec_)) {}
space::space(space&& other) noexcept = default;
space& space::operator=(space other) noexcept {
  std::swap(spec_, other.spec_);
  return *this;
}

space& space::workload(std::string name, value v) {
  spec_->workload.emplace_back(std::move(name), std::move(v));
  return *this;
}

space& space::target(std::string name, value v) {
  spec_->target.emplace_back(std::move(name), std::move(v));
  return *this;
}

std::size_t space::add(std::string name, void* domain) {
  spec_->parameters.push_back({.name = std::move(name), .domain = std::move(*static_cast<parameter_domain*>(domain))});
  return spec_->parameters.size() - 1;
}

param<std::int64_t> space::integers(std::string name, std::int64_t first, std::int64_t last, std::int64_t step,
                                    spread how) {
  parameter_domain d = integer_range{first, last, step, how == spread::log};
  return param<std::int64_t>(add(std::move(name), &d));
}

param<std::int64_t> space::powers_of_two(std::string name, std::int64_t first, std::int64_t last) {
  parameter_domain d = power_range{first, last};
  return param<std::int64_t>(add(std::move(name), &d));
}

param<double> space::reals(std::string name, double first, double last, double step) {
  parameter_domain d = real_range{first, last, step};
  return param<double>(add(std::move(name), &d));
}

param<double> space::grid(std::string name, double first, double last, std::uint32_t count, spread how) {
  parameter_domain d = real_grid{first, last, count, how == spread::log};
  return param<double>(add(std::move(name), &d));
}

param<bool> space::boolean(std::string name) {
  parameter_domain d = value_list{{false, true}};
  return param<bool>(add(std::move(name), &d));
}

param<std::int64_t> space::one_of(std::string name, std::initializer_list<std::int64_t> values) {
  parameter_domain d = value_list{std::vector<value>(values.begin(), values.end())};
  return param<std::int64_t>(add(std::move(name), &d));
}

param<double> space::one_of(std::string name, std::initializer_list<double> values) {
  parameter_domain d = value_list{std::vector<value>(values.begin(), values.end())};
  return param<double>(add(std::move(name), &d));
}

param<std::string> space::one_of(std::string name, std::initializer_list<const char*> values) {
  parameter_domain d = value_list{std::vector<value>(values.begin(), values.end())};
  return param<std::string>(add(std::move(name), &d));
}

param<value> space::one_of(std::string name, std::vector<value> values) {
  parameter_domain d = value_list{std::move(values)};
  return param<value>(add(std::move(name), &d));
}

param<permutation> space::permutations(std::string name, std::vector<std::string> items) {
  parameter_domain d = permutation_of{std::move(items)};
  return param<permutation>(add(std::move(name), &d));
}

space& space::set_condition(std::size_t parameter, std::string condition) {
  if (parameter < spec_->parameters.size()) spec_->parameters[parameter].when = std::move(condition);
  return *this;
}

space& space::set_standard(std::size_t parameter, value v) {
  if (parameter < spec_->parameters.size()) spec_->parameters[parameter].standard = std::move(v);
  return *this;
}

space& space::constraint(std::string expression) {
  spec_->constraints.push_back({.expression = std::move(expression)});
  return *this;
}

space& space::add_callable(std::string name, const std::vector<std::size_t>& over,
                           std::function<bool(std::span<const value>)> accept) {
  callable_constraint c;
  for (const auto i : over) c.over.push_back(i < spec_->parameters.size() ? spec_->parameters[i].name : std::string());
  c.accept = std::move(accept);
  c.name = std::move(name);
  spec_->constraints.push_back({.expression = {}, .callable = std::move(c)});
  return *this;
}

const std::string& space::name() const noexcept { return spec_->name; }

status space::check() const {
  const auto compiled = search::space::compile(spec_->parameters, spec_->constraints, spec_->workload, spec_->target);
  if (!compiled) return compiled.err();
  return {};
}

result<std::string> space::count() const {
  const auto compiled = search::space::compile(spec_->parameters, spec_->constraints, spec_->workload, spec_->target);
  if (!compiled) return compiled.err();
  const auto n = (*compiled)->count();
  return n ? search::to_string(*n) : std::string("too many to count");
}

} // namespace attune
