/// Exact solution of the frictional contact of one point, the local solver of Gauss-Seidel.
#pragma once

#include <Eigen/Core>

namespace heelstrike::friction {

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
