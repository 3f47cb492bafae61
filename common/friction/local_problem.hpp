/// The local frictional contact problem of many points in the form of nonsmooth mechanics [acary2014]:
///
///     u = W r + q,        K* contains  u + mu |u_t| n   perpendicular to   r in K
///
/// for each contact, with K = { |r_t| <= mu r_n } its Coulomb cone and K* the dual cone. W is the Delassus matrix: the
/// relative motion at the contacts (velocity [m/s] or displacement [m]) that unit reactions (impulse [N s] or force
/// [N]) cause. Components of a contact are contiguous, normal first.
///
/// Exact solution of the frictional contact of one point, the local solver of Gauss-Seidel.
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

/// Projection of y, normal component first, on the cone |y_t| <= mu y_n, in place: the return map of Coulomb friction.
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

/// Solves u = W r + q with u + mu |u_t| n in K*, r in K, perpendicular, of one contact.
/// @tparam d  components: 3 in space, 2 in the plane
template <int d>
class SingleContact;

template <>
class SingleContact<3> {
 public:
  /// @param W  diagonal block of the Delassus matrix, normal component first, with a positive normal entry
  /// @param mu  [-] >= 0
  SingleContact(const Eigen::Matrix3d& W, double mu);

  /// @param r  in: estimate, whose friction direction is tried first; out: the solution
  /// @return true if a solution exists; r is unchanged otherwise
  [[nodiscard]] bool solve(const Eigen::Vector3d& q, Eigen::Vector3d& r) const;

  [[nodiscard]] const Eigen::Matrix3d& W() const { return W_; }

 private:
  /// Sliding contact with friction in direction t: r = r_n (1, mu t) with u_n = 0.
  struct Sliding {
    Eigen::Vector3d r;
    double along = 0.0;   ///< u_t . t, negative where friction opposes the motion
    double across = 0.0;  ///< u_t x t, zero at a solution
    double slope = 0.0;   ///< d across / d angle of t
    double scale = 0.0;   ///< of the terms of u_t
    bool possible = false;
  };
  /// @param t  [-] unit length
  [[nodiscard]] Sliding sliding(const Eigen::Vector3d& q, const Eigen::Vector2d& t) const;
  [[nodiscard]] bool solve_slip_near(const Eigen::Vector3d& q, Eigen::Vector2d t, Eigen::Vector3d& r) const;
  [[nodiscard]] bool solve_slip_globally(const Eigen::Vector3d& q, const Eigen::Vector2d& t, Eigen::Vector3d& r) const;

  Eigen::Matrix3d W_;
  Eigen::Matrix3d inverse_;
  bool has_stick_ = false;  ///< W is invertible
  double mu_;
};

template <>
class SingleContact<2> {
 public:
  SingleContact(const Eigen::Matrix2d& W, double mu);
  [[nodiscard]] bool solve(const Eigen::Vector2d& q, Eigen::Vector2d& r) const;
  [[nodiscard]] const Eigen::Matrix2d& W() const { return W_; }

 private:
  Eigen::Matrix2d W_;
  Eigen::Matrix2d inverse_;
  bool has_stick_ = false;
  double mu_;
};

template <int d>
SingleContact(const Eigen::Matrix<double, d, d>& W, double mu) -> SingleContact<d>;

}  // namespace heelstrike::friction
