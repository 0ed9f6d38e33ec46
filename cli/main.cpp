#include "cli/commands.hpp"

#include <exception>
#include <iostream>

int main(int argc, char** argv) {
  try {
    return attune::cli::run_program({argv + 1, argv + argc}, std::cout, std::cerr);
  } catch (const std::exception& e) {
    // Errors are values in Attune; what comes here is a defect, or memory that is out.
    std::cerr << "attune: unexpected: " << e.what() << '\n';
    return attune::cli::exit_code::partial;
  }
}
