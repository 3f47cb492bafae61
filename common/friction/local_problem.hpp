/// The local frictional contact problem of many points in the form of nonsmooth mechanics [acary2014]:
///
///     u = W r + q,        K* contains  u + mu |u_t| n   perpendicular to   r in K
///
/// for each contact, with K = { |r_t| <= mu r_n } its Coulomb cone and K* the dual cone. W is the Delassus matrix: the
/// relative motion at the contacts (velocity [m/s] or displacement [m]) that unit reactions (impulse [N s] or force
/// [N]) cause. Components of a contact are contiguous, normal first.
#pragma once

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <string>

namespace heelstrike::friction {

/// Compressed rows, because the solver iterates over the contacts.
using DelassusMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;

struct LocalProblem {
  int dimension = 3;   ///< components per contact: 3 in space, 2 in the plane
  DelassusMatrix W;    ///< square, `dimension` rows per contact
  Eigen::VectorXd q;   ///< motion without reactions
  Eigen::VectorXd mu;  ///< [-] >= 0, one per contact

  [[nodiscard]] Eigen::Index n_contacts() const { return mu.size(); }
};

/// @throws Error{invalid_input} if sizes do not match, or a number is not finite or out of range
/// @param where  beginning of the message: the file
void check_problem(const LocalProblem& problem, const std::string& where);

/// Projection of y, normal component first, on the cone |y_t| <= mu y_n, in place.
template <typename Vector>
void project_on_cone(Vector& y, double mu) {
  const double tangential = y.tail(y.size() - 1).norm();
  if (tangential <= mu * y[0]) return;
  if (mu * tangential <= -y[0]) {
    y.setZero();
    return;
  }
  const double normal = (y[0] + mu * tangential) / (1.0 + mu * mu);
  y[0] = normal;
  y.tail(y.size() - 1) *= mu * normal / tangential;
}

/// Error measure of FCLIB: |r - P_K(r - u - mu |u_t| n)| / |q|, zero exactly at solutions. P_K is the projection on the
/// cones, u = W r + q. For q = 0 only the numerator: r = 0 is the solution.
[[nodiscard]] double compute_natural_map_error(const LocalProblem& problem, const Eigen::VectorXd& r);

}  // namespace heelstrike::friction
