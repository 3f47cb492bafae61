/// Frictional contact problems in Siconos' text format: dimension, number of contacts, W (dense, in blocks, or sparse),
/// q and mu, blank-separated; what follows is not read.
#pragma once

#include <iosfwd>
#include <string>

#include "common/friction/local_problem.hpp"

namespace heelstrike::friction {

/// @param name  of the file, for messages
/// @throws Error{invalid_input} with what was expected where the text ends early or says something else
[[nodiscard]] LocalProblem read_siconos_text(std::istream& in, const std::string& name);
/// W in blocks; numbers survive exactly.
void write_siconos_text(const LocalProblem& problem, std::ostream& out);

}  // namespace heelstrike::friction
