/// The compliance in the local axes of a few hundred nodes, B = F^T C F: the matrix of the friction solver.
///
/// A product is memory-bound, so the matrix is stored in **two halves of 16 bits**. With D the square root of the
/// diagonal, every entry of D^-1 B D^-1 lies in [-1, 1] (Cauchy-Schwarz, B is positive definite), and fixed-point
/// numbers are sufficient: the upper halves alone have an error of 1.5e-5 of that range, which nearly always suffices
/// for search directions and sweeps, at a quarter of the memory of double precision; both halves equal single
/// precision. Only the lower triangle is stored.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "fem_server/contact_solver/kernels/fixed_point_panel.hpp"
#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

class LocalCompliance {
 public:
  /// @param nodes   ascending
  /// @param frames  columns are the local axes of each node, in A
  /// @throws Error{internal}  the compliance is not positive definite
  LocalCompliance(const SurfaceCompliance& compliance, std::span<const std::uint32_t> nodes,
                  std::span<const Matrix3> frames);

  [[nodiscard]] std::size_t n_nodes() const { return own_.size(); }
  /// B x with both halves, in single precision. @param x  three rows per node
  [[nodiscard]] Eigen::VectorXd product(const Eigen::VectorXd& x) const;
  /// The same for several fields, one per column.
  [[nodiscard]] Eigen::MatrixXd products(const Eigen::MatrixXd& x) const;
  /// B x with the upper halves: accurate to about a thousandth.
  [[nodiscard]] Eigen::VectorXd approximate_product(const Eigen::VectorXd& x) const;

  /// [m/N] the block of one node.
  [[nodiscard]] const Eigen::Matrix3f& own(std::size_t node) const { return own_[node]; }
  /// Rows and columns of `nodes` (ascending) in one direction (0 to 2); lower triangle.
  [[nodiscard]] Eigen::MatrixXf part(int direction, std::span<const std::uint32_t> nodes) const;
  [[nodiscard]] Eigen::MatrixXd dense() const;

 private:
  friend class SweptDisplacements;

  /// The blocks below the diagonal in the columns of one node: three columns, with zeros above and below.
  struct Panel {
    std::size_t start;  ///< position of the first column in each half
    std::size_t first;  ///< first row of a column in the matrix, a multiple of panel_group
    std::size_t rows;   ///< of a column
  };
  void fill(const SurfaceCompliance& compliance, std::span<const std::uint32_t> nodes, std::span<const Matrix3> frames);
  [[nodiscard]] PanelView view(std::size_t node) const;
  /// In units of scale_i scale_j. @param row  of the matrix, below the node's own
  [[nodiscard]] float entry(std::size_t node, std::size_t column, std::size_t row) const;
  [[nodiscard]] std::vector<float> zero_rows() const;
  /// result := B x. @param x, result  three columns
  void multiply_three(Eigen::Ref<const Eigen::MatrixXd> x, Eigen::Ref<Eigen::MatrixXd> result) const;
  template <class PanelProduct>
  [[nodiscard]] Eigen::VectorXd multiply(const Eigen::VectorXd& x, PanelProduct panel_times) const;

  std::vector<Eigen::Matrix3f> own_;  // [m/N]
  std::vector<float> scale_;          // of a row: B = scale_i (upper + lower) scale_j
  std::vector<Panel> panels_;
  std::vector<std::int16_t> upper_;
  std::vector<std::int16_t> lower_;
};

/// Displacements during Gauss-Seidel sweeps, in which forces change node by node in ascending order; upper halves. A
/// column adds its change to the nodes below at once, and gathers their changes of the previous sweep at its turn: half
/// of the matrix is read, once per sweep.
class SweptDisplacements {
 public:
  /// @param B  outlives this
  /// @param u  [m] initial, local axes
  SweptDisplacements(const LocalCompliance& B, const Eigen::VectorXd& u);

  /// [m] under the current forces, local axes. Once per sweep and node, in ascending order; nodes whose force never
  /// changes may be omitted from all sweeps.
  [[nodiscard]] Eigen::Vector3f at(std::size_t node);
  /// Call directly after `at`. @param change  [N] of the force on that node
  void load(std::size_t node, const Eigen::Vector3f& change);

 private:
  const LocalCompliance& B_;
  std::vector<float> state_;    // over scale
  std::vector<float> changes_;  // times scale, of the last sweep
};

}  // namespace heelstrike::fem
