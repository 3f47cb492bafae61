/// Interface to the deal.II module: tabulated shape functions, cells of a body and sums over them, eigenvalues. It is
/// loaded when the first body is prepared: deal.II depends on 200 shared libraries, and mapping them takes longer than
/// most runs of the programs.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "fem_server/fem/rank_group.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// A quadrature rule on a reference simplex, prism or cube with the shape functions at its points, tabulated once by
/// deal.II.
struct ShapeTable {
  std::vector<double> weights;             ///< [-] they sum to the reference volume (1/6; 1/2; 1) or area (1/2; 1)
  std::vector<Eigen::VectorXd> values;     ///< per point: n_nodes
  std::vector<Eigen::MatrixXd> gradients;  ///< per point: n_nodes x dimension, with respect to reference coordinates
};

/// Tables of a Lagrange tetrahedron with 4 or 10 nodes, of the prism with 6, or of the hexahedron with 8 or 27.
/// Nodes are numbered as in VolumeMesh.
struct ReferenceElement {
  std::uint32_t n_nodes = 4;
  ShapeTable
      stiffness;  ///< exact for constant strain energy (4 nodes) or quadratic integrands (10 nodes, straight sides)
  std::vector<Eigen::VectorXd> corners;  ///< [-] linear shape functions of the corners at the points of
                                         ///< `stiffness`
  ShapeTable mass;                       ///< exact for products of two shape functions (straight sides)
  ShapeTable triangle;                   ///< side with 3 or 6 nodes: corners, then mid-sides of (0,1), (1,2), (2,0)
  ShapeTable quadrilateral;              ///< side with 4 or 9 nodes: corners, mid-sides of (0,1), (1,2), (2,3),
                                         ///< (3,0), centre
};

/// @pre n_nodes is 4, 6, 8, 10 or 27
/// @throws Error{internal} if the node numbering of deal.II does not match VolumeMesh
[[nodiscard]] ReferenceElement make_reference_element(std::uint32_t n_nodes);

/// Contribution of one cell to sums over all cells. Row 3 a + k of its matrices belongs to local node a in direction k;
/// nodes are numbered as in VolumeMesh.
struct CellTerms {
  std::size_t cell = 0;            ///< its number; in a serial run the element number of the mesh
  std::vector<std::int64_t> dofs;  ///< global numbers of the rows
  Eigen::MatrixXd matrix;          ///< 3 n_nodes square, or n_nodes square if identical in the three directions
  Eigen::MatrixXd vectors;         ///< 3 n_nodes rows, or one value for each pressure of the cell
  Eigen::MatrixXd couplings;       ///< [m^2] 3 n_nodes rows, one column for each pressure of the cell
  double energy = 0.0;             ///< [J]
  bool valid = true;               ///< false: the law is undefined in it; the other values are then incomplete
};

/// Consumes the contribution of a cell. Called sequentially in cell order, independent of the computing thread: sums
/// have identical bits for any number of threads.
using AddCell = std::function<void(const CellTerms& terms)>;

/// Cells of a mesh on one process: dof 3 n + k is node n in direction k. Thread-safe.
class BodyCells {
 public:
  BodyCells() = default;
  BodyCells(const BodyCells&) = delete;
  BodyCells& operator=(const BodyCells&) = delete;
  virtual ~BodyCells() = default;

  /// Computes the terms of a cell whose number and dofs are set; other members hold values of a previous cell. Called
  /// concurrently.
  using Compute = std::function<void(CellTerms& terms)>;
  /// Sum over all cells by the WorkStream of deal.II.
  /// @param n_threads  maximum; 0 = the limit of deal.II, fewer for small bodies
  /// @throws the first exception of `compute` or `add`; the sum is then incomplete
  virtual void sum(const Compute& compute, const AddCell& add, unsigned n_threads = 0) const = 0;

  /// Calls work(begin, end) concurrently for parts of [0, n). @param n_threads  as in sum()
  /// @throws the exception of `work`
  virtual void parallel_for(std::size_t n, const std::function<void(std::size_t, std::size_t)>& work,
                            unsigned n_threads = 0) const = 0;
};

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
  /// Initialises MPI, once in a process; null for a single rank. @throws Error{unavailable} when MPI cannot start
  std::unique_ptr<RankGroup> (*join_ranks)() = nullptr;
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
