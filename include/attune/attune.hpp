// Attune inside a program: finds the configuration that runs best here, and remembers it. This header is all that a
// program needs; attune/actors.hpp is for those who talk to the actors themselves.
//
//   attune::space s("transpose");
//   const auto height = s.powers_of_two("height", 4, 512), width = s.powers_of_two("width", 4, 512);
//   s.constraint("height * width <= 16384");
//   const auto tuned = attune::tune(s, [&](attune::config_view c) { transpose(c[height], c[width]); }, {.trials =
//   100}); if (tuned && tuned->best) use((*tuned->best)[height], (*tuned->best)[width]);
//
// Errors are values (attune::result, attune::status). C++20.
#pragma once

#include "attune/bundle.hpp"
#include "attune/engine.hpp"
#include "attune/live.hpp"
#include "attune/objective.hpp"
#include "attune/space.hpp"

namespace attune {

using Space = space;
using Engine = engine;
using Bundle = bundle;
template <class T>
using Live = live<T>;

} // namespace attune
