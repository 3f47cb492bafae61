/// Linear elastic problems with given tractions and supports, solved with any finite element.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/element_kind.hpp"
#include "fem_server/fem/sparse_cholesky.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem::test {

/// Traction [Pa] at a position [m] of the boundary with its outward normal.
using Traction = std::function<Vector3(const Vector3& x, const Vector3& normal)>;

/// Consistent nodal forces [N] of a traction.
inline Eigen::VectorXd traction_forces(const BodyModel& body, const Traction& traction) {
  const VolumeMesh& mesh = body.mesh();
  Eigen::VectorXd force = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(body.n_dofs()));
  for (const ElementFace face : boundary_faces(mesh)) {
    const bool in_parts = mesh.parts_of_side(face.face) > 1;
    if (in_parts && mesh.part_of_side(face.face) > 0) continue;  // the first part represents the side
    const ShapeTable& rule = in_parts ? body.reference().quadrilateral : body.reference().triangle;
    const std::vector<std::uint32_t> nodes = side_nodes(mesh, face);
    for (std::size_t q = 0; q < rule.weights.size(); ++q) {
      Eigen::Matrix<double, 3, 2> J = Eigen::Matrix<double, 3, 2>::Zero();
      Vector3 x = Vector3::Zero();
      for (std::size_t a = 0; a < nodes.size(); ++a) {
        J += mesh.nodes[nodes[a]] * rule.gradients[q].row(static_cast<Eigen::Index>(a));
        x += mesh.nodes[nodes[a]] * rule.values[q][static_cast<Eigen::Index>(a)];
      }
      const Vector3 area = J.col(0).cross(J.col(1));
      const Vector3 f = rule.weights[q] * area.norm() * traction(x, area.normalized());
      for (std::size_t a = 0; a < nodes.size(); ++a) {
        force.segment<3>(3 * Eigen::Index{nodes[a]}) += rule.values[q][static_cast<Eigen::Index>(a)] * f;
      }
    }
  }
  return force;
}

struct Solution {
  Eigen::VectorXd u;            ///< [m]
  std::size_t n_free = 0;       ///< degrees of freedom
  double factor_entries = 0.0;  ///< of the Cholesky factor: memory
  double factor_work = 0.0;     ///< floating-point operations of the factorisation
};

/// @param fixed  whether direction k of a node at a position is fixed
inline Solution solve(const BodyModel& body, const Traction& traction,
                      const std::function<bool(const Vector3& x, Eigen::Index k)>& fixed) {
  std::vector<std::int64_t> free;
  for (std::size_t dof = 0; dof < body.n_dofs(); ++dof) {
    if (!fixed(body.mesh().nodes[dof / 3], static_cast<Eigen::Index>(dof % 3))) {
      free.push_back(static_cast<std::int64_t>(dof));
    }
  }
  const SparseMatrix K = linear_stiffness(body);
  SparseCholesky factor(K, free, std::vector<std::int64_t>{});
  if (!factor.factorize(K)) throw std::runtime_error("the stiffness is not positive definite");
  return {.u = factor.solve(traction_forces(body, traction)),
          .n_free = free.size(),
          .factor_entries = factor.n_entries(),
          .factor_work = factor.n_operations()};
}

/// A mesh of linear elements in the nodes of `kind`; `place` moves all nodes, the added ones too.
inline BodyModel body_of(VolumeMesh linear, const ElementKind& kind, const Material& material,
                         const std::function<Vector3(const Vector3&)>& place) {
  VolumeMesh mesh = element_topology(kind.n_nodes).quadratic() ? to_quadratic(linear) : std::move(linear);
  for (Vector3& node : mesh.nodes) node = place(node);
  return {std::move(mesh), std::vector<Material>{material}, kind.pressure};
}

}  // namespace heelstrike::fem::test
