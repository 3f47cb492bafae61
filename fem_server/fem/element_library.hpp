/// Interface to the deal.II module, which is loaded when the first body is prepared: deal.II depends on 200 shared
/// libraries, and mapping them takes longer than most runs of the programs.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "fem_server/fem/body_cells.hpp"
#include "fem_server/fem/reference_element.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Matrix-free K x = lambda M x with symmetric matrices; M is positive definite on the range of K^-1 M.
struct EigenProblem {
  std::size_t size = 0;                                            ///< unknowns
  std::size_t n_modes = 0;                                         ///< requested, < size
  std::function<Eigen::VectorXd(const Eigen::VectorXd&)> mass;     ///< M x
  std::function<Eigen::VectorXd(const Eigen::VectorXd&)> inverse;  ///< K^-1 x; generalised inverse for a free body
};

/// Number of Lanczos vectors: twice the number of modes, as recommended by the authors of ARPACK, with a minimum
/// surplus for few modes.
constexpr std::size_t lanczos_vectors(std::size_t n_modes) {
  return 2 * n_modes + 10;
}

struct Eigenpairs {
  Eigen::VectorXd values;   ///< unordered
  Eigen::MatrixXd vectors;  ///< one column each, not normalised
};

/// Functions of the module. Errors cross its boundary as exceptions.
struct ElementLibrary {
  std::string_view version;  ///< of the program with which it was built
  ReferenceElement (*reference_element)(std::uint32_t n_nodes) = nullptr;
  /// Cells of a mesh. @throws Error{invalid_input} for adjacent elements that do not share their common nodes
  std::unique_ptr<const BodyCells> (*body_cells)(const VolumeMesh& mesh,
                                                 std::span<const std::uint32_t> material_of) = nullptr;
  /// Pairs with the smallest eigenvalues > 0; thread-safe, with identical bits in every run.
  Eigenpairs (*lowest_modes)(const EigenProblem& problem) = nullptr;
};

/// File name of the module. Its single entry point is
/// `extern "C" const ElementLibrary* heelstrike_element_library()`.
inline constexpr const char* element_library_file = "libheelstrike_elements.so";
inline constexpr const char* element_library_function = "heelstrike_element_library";

/// Loads the module at the first call and retains it. In a shared library it is the module beside the library at load
/// time, even if the folder has been removed since. Thread-safe.
/// @throws Error{file} when it is in none of the install or build folders or cannot be loaded (with the message of the
///         loader); Error{version_mismatch} for a module of another version
[[nodiscard]] const ElementLibrary& element_library();

}  // namespace heelstrike::fem
