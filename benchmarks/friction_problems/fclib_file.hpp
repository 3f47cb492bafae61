/// Frictional contact problems in FCLIB's HDF5 files [acary2014]: the local form `/fclib_local` (W, q, mu) unchanged,
/// the global one `/fclib_global` (M v = H r + f, u = H^T v + w) reduced to it: W = H^T M^-1 H, q = w + H^T M^-1 f.
/// Equality constraints (V, R, s of local problems, G, b of global ones) are eliminated.
#pragma once

#include <filesystem>
#include <string>

#include "common/friction/local_problem.hpp"

namespace heelstrike::friction {

/// Metadata of a file.
struct FclibInfo {
  std::string title;
  std::string description;
  std::string math_info;
};

/// @throws Error{file} when the file cannot be read as HDF5, Error{invalid_input} when a part is missing or of
/// inconsistent size, and when M with G, or R, is singular
[[nodiscard]] LocalProblem read_fclib(const std::filesystem::path& file);
/// Writes the local form, W in compressed rows; replaces the file.
/// @throws Error{file}
void write_fclib(const LocalProblem& problem, const FclibInfo& info, const std::filesystem::path& file);

}  // namespace heelstrike::friction
