#include "fem_server/fem/cell_kernels.hpp"

#include <Eigen/LU>
#include <cmath>

namespace heelstrike::fem {

QuadraturePoint point_geometry(const ShapeTable& table, const CellNodes& places, std::size_t point) {
  const Eigen::MatrixXd& reference_gradients = table.gradients[point];
  Matrix3 J = Matrix3::Zero();  // J(i, k) = d x_i / d xi_k
  for (Eigen::Index a = 0; a < places.cols(); ++a) J += places.col(a) * reference_gradients.row(a);
  QuadraturePoint geometry;
  const double determinant = J.determinant();
  geometry.weight = determinant * table.weights[point];
  // grad_x N = grad_xi N dxi/dx.
  if (determinant > 0.0) geometry.gradients = reference_gradients * J.inverse();
  return geometry;
}

Matrix3 displacement_gradient(const QuadraturePoint& geometry, const CellNodes& u) {
  Matrix3 G = Matrix3::Zero();
  for (Eigen::Index a = 0; a < u.cols(); ++a) G += u.col(a) * geometry.gradients.row(a);
  return G;
}

Eigen::Index n_cell_pressures(const ReferenceElement& reference, PressureKind kind) {
  if (kind == PressureKind::pointwise) return 0;
  return kind == PressureKind::nodal ? reference.corners.front().size() : 1;
}

double pressure_value(const ReferenceElement& reference, PressureKind kind, std::size_t k, std::size_t point) {
  return kind == PressureKind::nodal ? reference.corners[point][static_cast<Eigen::Index>(k)] : 1.0;
}

void add_coupling_terms(const ReferenceElement& reference, PressureKind kind, std::size_t point, double weight,
                        const CellGradients& gradients, Eigen::MatrixXd& couplings) {
  for (Eigen::Index k = 0; k < couplings.cols(); ++k) {
    const double value = weight * pressure_value(reference, kind, static_cast<std::size_t>(k), point);
    Eigen::Map<CellNodes>(couplings.col(k).data(), 3, gradients.rows()) += value * gradients.transpose();
  }
}

void condense_pressure(const LameConstants& constants, double volume, CellTerms& terms) {
  // The square root on both factors makes the sum symmetric to the bit.
  const Eigen::VectorXd b = std::sqrt(constants.lambda / volume) * terms.couplings.col(0);
  terms.matrix.noalias() += b * b.transpose();
}

/// In 3x3 blocks of nodes (a, b): lambda ga gb^T + mu (gb ga^T + ga.gb I).
void add_linear_point(const QuadraturePoint& geometry, const LameConstants& constants, Eigen::MatrixXd& matrix) {
  const auto& g = geometry.gradients;
  for (Eigen::Index b = 0; b < g.rows(); ++b) {
    for (Eigen::Index a = 0; a < g.rows(); ++a) {
      Matrix3 block =
          constants.lambda * g.row(a).transpose() * g.row(b) + constants.mu * g.row(b).transpose() * g.row(a);
      block.diagonal().array() += constants.mu * g.row(a).dot(g.row(b));
      // Block (b, a) is the transpose of block (a, b).
      matrix.block<3, 3>(3 * a, 3 * b) += geometry.weight * block;
    }
  }
}

void linear_cell(const ReferenceElement& reference, PressureKind kind, const CellNodes& places,
                 const LameConstants& constants, CellTerms& terms) {
  terms.matrix.setZero(3 * places.cols(), 3 * places.cols());
  terms.couplings.setZero(3 * places.cols(), n_cell_pressures(reference, kind));
  LameConstants at_points = constants;
  if (kind != PressureKind::pointwise) at_points.lambda = 0.0;  // contributed by the pressures
  double volume = 0.0;
  for (std::size_t q = 0; q < reference.stiffness.weights.size(); ++q) {
    const QuadraturePoint geometry = point_geometry(reference.stiffness, places, q);
    volume += geometry.weight;
    add_linear_point(geometry, at_points, terms.matrix);
    add_coupling_terms(reference, kind, q, geometry.weight, geometry.gradients, terms.couplings);
  }
  if (kind == PressureKind::element) condense_pressure(constants, volume, terms);
}

Eigen::MatrixXd cell_mass(const ReferenceElement& reference, const CellNodes& places, double density) {
  const ShapeTable& rule = reference.mass;
  Eigen::MatrixXd mass = Eigen::MatrixXd::Zero(places.cols(), places.cols());
  for (std::size_t q = 0; q < rule.weights.size(); ++q) {
    const Eigen::VectorXd& N = rule.values[q];
    mass += point_geometry(rule, places, q).weight * density * N * N.transpose();
  }
  return mass;
}

}  // namespace heelstrike::fem
