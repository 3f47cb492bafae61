#include "fem_server/fem/gmres.hpp"

#include <cmath>

namespace heelstrike::fem {

bool gmres(const LinearMap& apply, const LinearMap& precondition, const Eigen::VectorXd& rhs, double tolerance,
           Eigen::Index limit, Eigen::Ref<Eigen::VectorXd> x, int& iterations) {
  // Flexible form, x = Z y: avoids a final application of the preconditioner.
  Eigen::VectorXd residual = rhs;
  if (!x.isZero(0.0)) residual -= apply(x);
  const double target = tolerance * rhs.norm();
  const double beta = residual.norm();
  if (beta <= target) return true;
  Eigen::MatrixXd V(rhs.size(), limit + 1);
  Eigen::MatrixXd Z(rhs.size(), limit);
  Eigen::MatrixXd H = Eigen::MatrixXd::Zero(limit + 1, limit);
  Eigen::VectorXd g = Eigen::VectorXd::Zero(limit + 1);
  Eigen::Matrix<double, 2, Eigen::Dynamic> rotations(2, limit);
  V.col(0) = residual / beta;
  g[0] = beta;
  Eigen::Index n = 0;
  bool good = false;
  while (n < limit && !good) {
    ++iterations;
    Z.col(n) = precondition(V.col(n));
    Eigen::VectorXd w = apply(Z.col(n));
    for (Eigen::Index i = 0; i <= n; ++i) {
      // Modified Gram-Schmidt: products use the updated w, which preserves orthogonality better than the original w.
      H(i, n) = V.col(i).dot(w);
      w -= H(i, n) * V.col(i);
    }
    H(n + 1, n) = w.norm();
    // Zero is the lucky breakdown: the Krylov space contains the solution and the rotation below zeroes the residual.
    if (H(n + 1, n) > 0.0) V.col(n + 1) = w / H(n + 1, n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const double upper = rotations(0, i) * H(i, n) + rotations(1, i) * H(i + 1, n);
      H(i + 1, n) = -rotations(1, i) * H(i, n) + rotations(0, i) * H(i + 1, n);
      H(i, n) = upper;
    }
    // A zero column: the matrix is singular on this space, and x is unchanged.
    const double length = std::hypot(H(n, n), H(n + 1, n));
    if (!(length > 0.0) || !std::isfinite(length)) return false;
    rotations.col(n) << H(n, n) / length, H(n + 1, n) / length;
    H(n, n) = length;
    g[n + 1] = -rotations(1, n) * g[n];
    g[n] *= rotations(0, n);
    ++n;
    // The last entry of the rotated right-hand side is the norm of the residual.
    good = std::abs(g[n]) <= target;
  }
  const Eigen::VectorXd y = H.topLeftCorner(n, n).triangularView<Eigen::Upper>().solve(g.head(n));
  x += Z.leftCols(n) * y;
  return good;
}

}  // namespace heelstrike::fem
