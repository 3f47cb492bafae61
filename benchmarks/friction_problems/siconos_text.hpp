/// Frictional contact problems in Siconos' text format: dimension, number of contacts, W (dense, in blocks, or sparse),
/// q and mu, blank-separated; further text is ignored.
#pragma once

#include <iosfwd>
#include <string>

#include "common/friction/local_problem.hpp"

namespace heelstrike::friction {

/// @param name  of the file, for messages
/// @throws Error{invalid_input} with the expected item where the text ends early or differs
[[nodiscard]] LocalProblem read_siconos_text(std::istream& in, const std::string& name);
/// W in blocks; numbers are written exactly.
void write_siconos_text(const LocalProblem& problem, std::ostream& out);

}  // namespace heelstrike::friction
