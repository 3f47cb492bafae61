#include "fem_server/fem/nodal_stress.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace heelstrike::fem {

NodalStress nodal_stress(const BodyModel& body, const Eigen::Matrix<double, 6, Eigen::Dynamic>& stress) {
  const VolumeMesh& mesh = body.mesh();
  const ShapeTable& rule = body.reference().stiffness;
  const std::size_t n_points = rule.weights.size();
  Eigen::Matrix<double, 6, Eigen::Dynamic> sum =
      Eigen::Matrix<double, 6, Eigen::Dynamic>::Zero(6, static_cast<Eigen::Index>(mesh.nodes.size()));
  std::vector<double> volume(mesh.nodes.size(), 0.0);
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    Eigen::Matrix<double, 6, 1> mean = Eigen::Matrix<double, 6, 1>::Zero();
    double weight = 0.0;
    for (std::size_t q = 0; q < n_points; ++q) {
      const double w = body.point_geometry(rule, e, q).weight;
      mean += w * stress.col(static_cast<Eigen::Index>(e * n_points + q));
      weight += w;
    }
    for (const std::uint32_t node : mesh.element(e)) {
      sum.col(node) += mean;
      volume[node] += weight;
    }
  }
  NodalStress result;
  for (std::size_t n = 0; n < mesh.nodes.size(); ++n) {
    const Eigen::Matrix<double, 6, 1> s = sum.col(static_cast<Eigen::Index>(n)) / volume[n];
    Matrix3 tensor;
    tensor << s[0], s[3], s[5], s[3], s[1], s[4], s[5], s[4], s[2];
    const Vector3 p = Eigen::SelfAdjointEigenSolver<Matrix3>(tensor, Eigen::EigenvaluesOnly).eigenvalues();
    result.principal.insert(result.principal.end(), {p[2], p[1], p[0]});
    result.von_mises.push_back(std::sqrt(
        0.5 * ((p[0] - p[1]) * (p[0] - p[1]) + (p[1] - p[2]) * (p[1] - p[2]) + (p[2] - p[0]) * (p[2] - p[0]))));
  }
  return result;
}

}  // namespace heelstrike::fem
