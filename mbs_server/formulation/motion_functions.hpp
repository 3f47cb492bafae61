/// Scalar functions h(q) of the coordinates of some bodies with exact derivatives to third order, for constraints and
/// forces on joint coordinates.
#pragma once

#include <memory>
#include <vector>

#include "mbs_server/formulation/constraint.hpp"

namespace heelstrike::mbs {

/// h_q along q(e) = q + e qd + e^2 qdd / 2: value, first and second derivative by e, one row for each function, one
/// column for each entry of MotionFunctions::indices(). With these
///   h_q = f,  (h_q qd)_q = d,  qd' h_qq qd = d . qd,  (h_q qdd + qd' h_qq qd)_q = dd.
struct GradientsAlong {
  Eigen::MatrixXd f, d, dd;
};

class MotionFunctions {
 public:
  virtual ~MotionFunctions() = default;
  [[nodiscard]] virtual int size() const = 0;
  /// Entries of q on which the functions depend.
  [[nodiscard]] virtual const std::vector<int>& indices() const = 0;
  /// @throws RecoverableError where a function is undefined
  [[nodiscard]] virtual VectorX values(const ConstVector& q) const = 0;
  virtual void gradients(const ConstVector& q, const ConstVector& qd, const ConstVector& qdd,
                         GradientsAlong& out) const = 0;
  /// See Constraint::on_intended_branch.
  [[nodiscard]] virtual bool on_intended_branch(const ConstVector& /*q*/) const { return true; }
};

using MotionFunctionsPtr = std::shared_ptr<const MotionFunctions>;

/// The entries of x on which the functions depend.
[[nodiscard]] VectorX local(const MotionFunctions& functions, const ConstVector& x);
/// sum_r weight_r h_r,qq in the indices of the functions. @param q  all coordinates
[[nodiscard]] Eigen::MatrixXd weighted_hessian(const MotionFunctions& functions, const ConstVector& q,
                                               const ConstVector& weights);

}  // namespace heelstrike::mbs
