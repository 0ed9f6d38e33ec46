#include "cli/commands.hpp"
#include "cli/want.hpp"

#include <exception>
#include <iostream>

int main(int argc, char** argv) {
  attune::cli::be_ready_for_want();
  try {
    return attune::cli::run_program({argv + 1, argv + argc}, std::cout, std::cerr);
  } catch (const std::exception& e) {
    // Errors are values in Attune; what comes here is a defect, or something that the system has no more of.
    std::cerr << "attune: " << attune::cli::told_of(e) << '\n';
    return attune::cli::exit_code::partial;
  }
}
