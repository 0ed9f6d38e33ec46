#include "core/error.hpp"

int code_of_nothing() { return 0; }
