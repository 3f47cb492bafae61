#include "common/friction/min_norm_reactions.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <vector>

namespace heelstrike::friction {
namespace {

using Eigen::Index;
using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::VectorXd;

/// Admissible reactions of one point for its motion: none, a ray, or the whole cone.
struct Admissible {
  enum class Set { none, ray, cone } set = Set::cone;
  double mu = 0.0;
  Vector3d ray = Vector3d::UnitX();  ///< unit length

  /// Projects y on them, in place. @returns the derivative
  [[nodiscard]] Matrix3d project(Eigen::Ref<Vector3d> y) const {
    if (set == Set::none) return zero(y);
    if (set == Set::ray) {
      const double along = ray.dot(y);
      if (along <= 0.0) return zero(y);
      y = along * ray;
      return ray * ray.transpose();
    }
    const double tangential = y.tail<2>().norm();
    if (tangential <= mu * y[0]) return Matrix3d::Identity();
    if (mu * tangential <= -y[0]) return zero(y);
    const Vector2d t = y.tail<2>() / tangential;
    const double normal = (y[0] + mu * tangential) / (1.0 + mu * mu);
    Vector3d edge(1.0, mu * t[0], mu * t[1]);
    Matrix3d D = edge * edge.transpose() / (1.0 + mu * mu);
    D.bottomRightCorner<2, 2>() += mu * normal / tangential * (Eigen::Matrix2d::Identity() - t * t.transpose());
    y = normal * edge;
    return D;
  }

 private:
  [[nodiscard]] static Matrix3d zero(Eigen::Ref<Vector3d> y) {
    y.setZero();
    return Matrix3d::Zero();
  }
};

[[nodiscard]] Admissible admissible(double mu, const Vector3d& u, const Vector3d& r, double rest) {
  using Set = Admissible::Set;
  if (u[0] > rest) return {.set = Set::none, .mu = mu};
  const double slip = u.tail<2>().norm();
  if (slip <= rest) return {.set = Set::cone, .mu = mu};
  // The direction of an existing reaction is more accurate than that of a slow slip.
  Vector3d ray = r;
  if (!(r[0] > 0.0)) ray << 1.0, -mu / slip * u.tail<2>();
  return {.set = Set::ray, .mu = mu, .ray = ray.normalized()};
}

/// Basis of the range of W, by columns.
[[nodiscard]] MatrixXd range_of(const MatrixXd& W) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(W);
  // Far above the rounding of W and far below the required accuracy of the motion.
  constexpr double singular = 1e-12;
  const double least = singular * eigen.eigenvalues().maxCoeff();
  return eigen.eigenvectors().rightCols((eigen.eigenvalues().array() > least).count());
}

}  // namespace

VectorXd find_min_norm_reactions(const MatrixXd& W, const VectorXd& mu, const VectorXd& u, const VectorXd& r,
                                 double rest) {
  const MatrixXd V = range_of(W);
  if (V.cols() == W.cols() || r.isZero(0.0)) return r;
  std::vector<Admissible> sets;
  for (Index i = 0; i < mu.size(); ++i) {
    sets.push_back(admissible(mu[i], u.segment<3>(3 * i), r.segment<3>(3 * i), rest));
  }
  const VectorXd b = V.transpose() * r;
  const auto value_of = [&](const VectorXd& projected, const VectorXd& x) {
    return 0.5 * projected.squaredNorm() - b.dot(x);
  };
  MatrixXd DV(V.rows(), V.cols());
  const auto project = [&](const VectorXd& x, bool differentiate) {
    VectorXd y = V * x;
    for (Index i = 0; i < mu.size(); ++i) {
      const Matrix3d D = sets[static_cast<std::size_t>(i)].project(y.segment<3>(3 * i));
      if (differentiate) DV.middleRows<3>(3 * i).noalias() = D * V.middleRows<3>(3 * i);
    }
    return y;
  };
  constexpr double accurate = 1e-14, enough = 1e-12;
  constexpr int max_steps = 50;
  VectorXd x = b;
  for (int step = 0;; ++step) {
    const VectorXd y = project(x, true);
    const VectorXd slope = V.transpose() * y - b;
    const double error = slope.norm() / b.norm();
    const VectorXd limited = y.norm() < r.norm() ? y : r;
    if (error <= accurate) return limited;
    if (step == max_steps) return error <= enough ? limited : r;
    // The second derivative is singular for motions that no point can oppose; the shift decreases with the error.
    MatrixXd H = V.transpose() * DV;
    H.diagonal().array() += std::clamp(error, accurate, 1e-3);
    const VectorXd way = -H.llt().solve(slope);
    const double value = value_of(y, x), fall = slope.dot(way);
    double length = 1.0;
    while (length > 1e-9 && value_of(project(x + length * way, false), x + length * way) >
                                value + 1e-4 * length * fall + 1e-15 * std::abs(value)) {
      length *= 0.5;
    }
    x += length * way;
  }
}

}  // namespace heelstrike::friction
