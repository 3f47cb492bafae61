#include "fem_server/fem/approximate_distance.hpp"

#include <fmt/format.h>

#include <Eigen/SparseCholesky>
#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

/// About exp(-599), far above the smallest double: below, underflow would falsify the logarithm.
constexpr double min_phi = 1e-260;

std::vector<bool> surface_nodes(const VolumeMesh& mesh) {
  std::vector<bool> on_surface(mesh.nodes.size(), false);
  for (const ElementFace face : boundary_faces(mesh)) {
    for (const std::uint32_t node : face_corners(mesh, face)) on_surface[node] = true;
  }
  return on_surface;
}

}  // namespace

double mean_edge_length(const BodyModel& body) {
  const VolumeMesh& mesh = body.mesh();
  double sum = 0.0;
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    const auto nodes = mesh.element(e);
    for (const auto& [a, b] : tetrahedron_edges) sum += (mesh.nodes[nodes[a]] - mesh.nodes[nodes[b]]).norm();
  }
  return sum / (6.0 * static_cast<double>(mesh.n_elements()));
}

std::vector<double> approximate_distance(const BodyModel& body, double length) {
  const VolumeMesh& mesh = body.mesh();
  if (!(length > 0.0)) {
    throw input_error("length", fmt::format("the length parameter of the distance must be > 0 m, found {} m", length));
  }
  if (mesh.nodes_per_element != 4) {
    throw input_error("mesh", fmt::format("the approximate distance needs tetrahedra with 4 nodes, found {}",
                                          mesh.nodes_per_element));
  }
  const std::vector<bool> fixed = surface_nodes(mesh);
  std::vector<Eigen::Index> row(mesh.nodes.size(), -1);
  Eigen::Index n = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!fixed[i]) row[i] = n++;
  }
  // With lumped mass and without obtuse dihedral angles the matrix satisfies a discrete maximum principle, and phi
  // stays positive on meshes coarser than c.
  std::vector<Eigen::Triplet<double>> entries;
  Eigen::VectorXd rhs = Eigen::VectorXd::Zero(n);
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    const auto nodes = mesh.element(e);
    // Gradients of linear shape functions are constant, so that one point and the volume give the exact matrix.
    const auto geometry = body.point_geometry(body.reference().stiffness, e, 0);
    double volume = 0.0;
    for (std::size_t q = 0; q < body.reference().stiffness.weights.size(); ++q) {
      volume += body.point_geometry(body.reference().stiffness, e, q).weight;
    }
    for (std::size_t a = 0; a < 4; ++a) {
      const Eigen::Index i = row[nodes[a]];
      if (i < 0) continue;
      entries.emplace_back(i, i, volume / 4.0);
      for (std::size_t b = 0; b < 4; ++b) {
        const double value = length * length * volume *
                             geometry.gradients.row(static_cast<Eigen::Index>(a))
                                 .dot(geometry.gradients.row(static_cast<Eigen::Index>(b)));
        if (row[nodes[b]] < 0) {
          // phi = 1 on the surface; the lumped mass does not couple to it.
          rhs[i] -= value;
        } else {
          entries.emplace_back(i, row[nodes[b]], value);
        }
      }
    }
  }
  Eigen::SparseMatrix<double> matrix(n, n);
  matrix.setFromTriplets(entries.begin(), entries.end());
  // Symmetric and positive definite: a stiffness plus a positive diagonal.
  const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> factor(matrix);
  const Eigen::VectorXd phi = factor.solve(rhs);
  std::vector<double> distance(mesh.nodes.size(), 0.0);
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] < 0) continue;
    const double value = phi[row[i]];
    if (!(value > min_phi)) {
      throw input_error("length",
                        fmt::format("the approximate distance is undefined at node {} for c = {} m: phi = {}; "
                                    "use a larger c or a finer mesh",
                                    i, length, value));
    }
    // Where the mesh violates the maximum principle phi may slightly exceed one.
    distance[i] = std::max(0.0, -length * std::log(value));
  }
  return distance;
}

}  // namespace heelstrike::fem
