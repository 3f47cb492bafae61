/// What of finite elements is deal.II's stands in a module of its own, which is loaded when the first body is prepared:
/// deal.II brings 200 shared libraries along, whose mapping takes longer than most programs here run.
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

/// K x = lambda M x with symmetric matrices of which products are known; M is positive definite where K^-1 M maps to.
struct EigenProblem {
  std::size_t size = 0;                                            ///< unknowns
  std::size_t n_modes = 0;                                         ///< wanted, < size
  std::function<Eigen::VectorXd(const Eigen::VectorXd&)> mass;     ///< M x
  std::function<Eigen::VectorXd(const Eigen::VectorXd&)> inverse;  ///< K^-1 x; of a free body its generalised inverse
};

/// Vectors that the Lanczos iteration keeps: twice as many as wanted is what ARPACK's authors advise, and some more for
/// few.
constexpr std::size_t lanczos_vectors(std::size_t n_modes) {
  return 2 * n_modes + 10;
}

struct Eigenpairs {
  Eigen::VectorXd values;   ///< in no order
  Eigen::MatrixXd vectors;  ///< one column each, of any length
};

/// The module's functions. Errors pass its border as exceptions.
struct ElementLibrary {
  std::string_view version;  ///< of the program that it was built with
  ReferenceElement (*reference_element)(std::uint32_t n_nodes) = nullptr;
  /// The cells of a mesh. @throws Error{invalid_input} for elements that do not share the nodes where they meet
  std::unique_ptr<const BodyCells> (*body_cells)(const VolumeMesh& mesh,
                                                 std::span<const std::uint32_t> material_of) = nullptr;
  /// Pairs with the smallest eigenvalues > 0; thread-safe, the same bits in every run.
  Eigenpairs (*lowest_modes)(const EigenProblem& problem) = nullptr;
};

/// Name of the module's file, and of the one function in it that is found by name:
/// `extern "C" const ElementLibrary* heelstrike_element_library()`.
inline constexpr const char* element_library_file = "libheelstrike_elements.so";
inline constexpr const char* element_library_function = "heelstrike_element_library";

/// Loads the module when it is called first, and keeps it; from within a shared library the one that lay beside it when
/// it was loaded, even if the folder is gone. Thread-safe.
/// @throws Error{file} when it is in none of the folders where it is installed or built, or cannot be loaded (with what
///         the loader says); Error{version_mismatch} when it is that of another version
[[nodiscard]] const ElementLibrary& element_library();

}  // namespace heelstrike::fem
