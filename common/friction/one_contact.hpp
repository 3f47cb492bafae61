/// Frictional contact of one point, solved exactly: what Gauss-Seidel over many contacts asks for, many times.
#pragma once

#include <Eigen/Core>

namespace heelstrike::friction {

class OneContact {
 public:
  /// @param W   own block of the Delassus matrix, normal component first, with a positive normal entry; in the plane
  /// the
  ///            third row and column are those of the identity
  /// @param mu  [-] >= 0
  OneContact(const Eigen::Matrix3d& W, double mu);

  /// Solves u = W r + q with u + mu |u_t| n in K*, r in K, perpendicular.
  /// @param r  in: estimate, whose direction of friction is tried first; out: the solution
  /// @return whether there is one; r is untouched otherwise
  [[nodiscard]] bool solve(const Eigen::Vector3d& q, Eigen::Vector3d& r) const;

  [[nodiscard]] const Eigen::Matrix3d& W() const { return W_; }

 private:
  /// The contact slides, and its friction acts in a direction: r = r_n (1, mu t) with u_n = 0.
  struct Sliding {
    Eigen::Vector3d r;
    double along = 0.0;   ///< u_t . t, negative where friction opposes the motion
    double across = 0.0;  ///< u_t x t, zero at a solution
    double slope = 0.0;   ///< d across / d angle of t
    double scale = 0.0;   ///< of the terms of u_t
    bool possible = false;
  };
  [[nodiscard]] Sliding sliding(const Eigen::Vector3d& q, double angle) const;
  [[nodiscard]] bool slide_near(const Eigen::Vector3d& q, double angle, Eigen::Vector3d& r) const;
  [[nodiscard]] bool slide_anywhere(const Eigen::Vector3d& q, double angle, Eigen::Vector3d& r) const;

  Eigen::Matrix3d W_;
  Eigen::Matrix3d inverse_;
  bool can_stick_ = false;  ///< W can be inverted
  double mu_;
};

}  // namespace heelstrike::friction
