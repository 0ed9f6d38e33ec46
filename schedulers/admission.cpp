#include "schedulers/admission.hpp"

namespace attune::schedulers {

std::vector<admission> admission_ladder(std::uint32_t slots, bool slots_move, std::uint32_t builders,
                                        bool builders_move) {
  std::vector<admission> out;
  admission now{slots_move ? 1 : slots, builders, 0};
  out.push_back(now);
  const auto raise = [&](std::uint32_t admission::*what) {
    ++(now.*what);
    out.push_back(now);
  };
  if (builders_move) raise(&admission::beside);
  while (now.slots < slots) raise(&admission::slots);
  while (builders_move && now.beside < builders) raise(&admission::beside);
  return out;
}

} // namespace attune::schedulers
