#include "fem_server/fem/approximate_partner.hpp"

#include <fmt/format.h>
#include <Eigen/LU>
#include <Eigen/SparseCholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/surfaces/mesh_distance.hpp"

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

namespace {

struct Box {
  Vector3 low;
  Vector3 high;
};

template <class Points>
Box box_of(const Points& points) {
  Box box{points.front(), points.front()};
  for (const Vector3& p : points) box = {box.low.cwiseMin(p), box.high.cwiseMax(p)};
  return box;
}

/// Finds the tetrahedron that contains a point.
class ElementGrid {
 public:
  explicit ElementGrid(const VolumeMesh& mesh) : mesh_(mesh), box_(box_of(mesh.nodes)) {
    const Vector3 extent = box_.high - box_.low;
    // A few elements per cell on average: finer cells would only list large elements repeatedly.
    cell_ = std::cbrt(extent.prod() / static_cast<double>(mesh.n_elements())) * 1.5;
    for (Eigen::Index k = 0; k < 3; ++k) n_[k] = static_cast<std::int64_t>(extent[k] / cell_) + 1;
    cells_.resize(static_cast<std::size_t>(n_[0] * n_[1] * n_[2]));
    for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) {
      const Box around = box_of(corners(e));
      const auto from = cell_of(around.low);
      const auto to = cell_of(around.high);
      for (std::int64_t z = from[2]; z <= to[2]; ++z) {
        for (std::int64_t y = from[1]; y <= to[1]; ++y) {
          for (std::int64_t x = from[0]; x <= to[0]; ++x) cells_[index(x, y, z)].push_back(e);
        }
      }
    }
  }

  struct Place {
    std::uint32_t element = 0;
    std::array<double, 4> weights{};
  };
  [[nodiscard]] std::optional<Place> find(const Vector3& p) const {
    if (distance_to_box(p) > 0.0) return std::nullopt;
    const auto c = cell_of(p);
    for (const std::uint32_t e : cells_[index(c[0], c[1], c[2])]) {
      const auto x = corners(e);
      Matrix3 edges;
      edges << x[1] - x[0], x[2] - x[0], x[3] - x[0];
      // Barycentric coordinates, non-negative inside. Points on a common face belong to either element.
      const Vector3 w = edges.inverse() * (p - x[0]);
      constexpr double rounding = -1e-12;  // accepts points on common faces
      const double first = 1.0 - w.sum();
      if (w.minCoeff() < rounding || first < rounding) continue;
      return Place{.element = e, .weights = {first, w[0], w[1], w[2]}};
    }
    return std::nullopt;
  }

  [[nodiscard]] double distance_to_box(const Vector3& p) const {
    return (p - p.cwiseMax(box_.low).cwiseMin(box_.high)).norm();
  }

 private:
  [[nodiscard]] std::array<Vector3, 4> corners(std::uint32_t e) const {
    const auto nodes = mesh_.element(e);
    return {mesh_.nodes[nodes[0]], mesh_.nodes[nodes[1]], mesh_.nodes[nodes[2]], mesh_.nodes[nodes[3]]};
  }
  [[nodiscard]] std::array<std::int64_t, 3> cell_of(const Vector3& p) const {
    std::array<std::int64_t, 3> cell{};
    for (std::size_t k = 0; k < 3; ++k) {
      const auto axis = static_cast<Eigen::Index>(k);
      cell[k] = std::clamp<std::int64_t>(static_cast<std::int64_t>((p[axis] - box_.low[axis]) / cell_), 0, n_[k] - 1);
    }
    return cell;
  }
  [[nodiscard]] std::size_t index(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return static_cast<std::size_t>((z * n_[1] + y) * n_[0] + x);
  }

  const VolumeMesh& mesh_;
  Box box_;
  double cell_ = 0.0;
  std::array<std::int64_t, 3> n_{};
  std::vector<std::vector<std::uint32_t>> cells_;
};

class ApproximatePartner final : public SignedDistance {
 public:
  ApproximatePartner(const BodyModel& body, double length)
      : mesh_(body.mesh()),
        distance_(approximate_distance(body, length)),
        gradients_(mesh_.nodes.size(), Vector3::Zero()),
        surface_(mesh_distance(boundary_surface(mesh_).surface)),
        grid_(mesh_) {
    std::vector<double> volumes(mesh_.nodes.size(), 0.0);
    for (std::size_t e = 0; e < mesh_.n_elements(); ++e) {
      const auto nodes = mesh_.element(e);
      const auto geometry = body.point_geometry(body.reference().stiffness, e, 0);
      Vector3 gradient = Vector3::Zero();
      for (std::size_t a = 0; a < 4; ++a) {
        gradient += distance_[nodes[a]] * geometry.gradients.row(static_cast<Eigen::Index>(a)).transpose();
      }
      if (gradient.isZero(0.0)) continue;  // all nodes on the surface: the function is constant
      for (std::size_t a = 0; a < 4; ++a) {
        // Volume-weighted mean: the rule of linear elements has one point, whose weight is the volume.
        gradients_[nodes[a]] += geometry.weight * gradient;
        volumes[nodes[a]] += geometry.weight;
      }
    }
    for (std::size_t n = 0; n < volumes.size(); ++n) {
      if (volumes[n] > 0.0) gradients_[n] /= volumes[n];
    }
  }

  [[nodiscard]] SurfacePoint closest(const Vector3& p_BQ) const override {
    const auto place = grid_.find(p_BQ);
    if (!place) return surface_->closest(p_BQ);
    double distance = 0.0;
    Vector3 inward = Vector3::Zero();
    const auto nodes = mesh_.element(place->element);
    for (std::size_t a = 0; a < 4; ++a) {
      distance += place->weights[a] * distance_[nodes[a]];
      inward += place->weights[a] * gradients_[nodes[a]];
    }
    const bool flat = std::ranges::all_of(nodes, [&](std::uint32_t n) { return distance_[n] == 0.0; });
    const double slope = inward.norm();
    constexpr double min_slope = 0.2;  // midway between two faces the direction outwards is undefined
    if (flat || slope < min_slope) return surface_->closest(p_BQ);
    // Linear extrapolation along steepest descent reaches zero at distance / slope. The function increases inwards, the
    // gap outwards.
    return {.gap = -distance / slope, .normal = -inward / slope, .curvature = Matrix3::Zero(), .bend = 0.0};
  }

  [[nodiscard]] double gap(const Vector3& p_BQ, double reach) const override {
    const double outside = grid_.distance_to_box(p_BQ);
    return outside > reach && outside > 0.0 ? outside : closest(p_BQ).gap;
  }

 private:
  VolumeMesh mesh_;
  std::vector<double> distance_;
  std::vector<Vector3> gradients_;  ///< [-] at the nodes, mean of the adjacent elements
  std::unique_ptr<SignedDistance> surface_;
  ElementGrid grid_;
};

}  // namespace

std::unique_ptr<SignedDistance> make_approximate_partner(const BodyModel& body, double length) {
  return std::make_unique<ApproximatePartner>(body, length);
}

}  // namespace heelstrike::fem
