/// Scalar functions h(q) of the coordinates of some bodies with exact derivatives to third order, for constraints and
/// forces on joint coordinates.
///
/// Constraints that set functions of the motion to zero or to functions of time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/motion/time_function.hpp"
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
  /// sum_r weight_r h_r,qq in indices(). @param q  all coordinates
  [[nodiscard]] virtual Eigen::MatrixXd weighted_hessian(const ConstVector& q, const ConstVector& weights) const;
  /// See Constraint::on_intended_branch.
  [[nodiscard]] virtual bool on_intended_branch(const ConstVector& /*q*/) const { return true; }
};

using MotionFunctionsPtr = std::shared_ptr<const MotionFunctions>;

/// The entries of x on which the functions depend.
[[nodiscard]] VectorX local(const MotionFunctions& functions, const ConstVector& x);

/// h_r(q) - f_r(t) = 0.
class FunctionConstraint final : public Constraint {
 public:
  /// @param targets  f_r, one for each function; empty = all zero
  /// @param periods  of the functions, which are equations modulo their period; 0 or empty = none
  FunctionConstraint(std::string name, MotionFunctionsPtr functions, std::vector<TimeFunctionPtr> targets = {},
                     std::vector<double> periods = {});

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] int rows() const override { return static_cast<int>(kept_.size()); }
  [[nodiscard]] bool depends_on_time() const override { return !targets_.empty(); }
  void keep_rows(const std::vector<int>& kept) override;
  void residual(double t, const ConstVector& q, Eigen::Ref<VectorX> phi) const override;
  [[nodiscard]] bool on_intended_branch(double /*t*/, const ConstVector& q) const override {
    return functions_->on_intended_branch(q);
  }
  void velocity_rhs(double t, const ConstVector& q, Eigen::Ref<VectorX> nu) const override;
  void acceleration_rhs(double t, const ConstVector& q, const ConstVector& qd,
                        Eigen::Ref<VectorX> gamma) const override;
  void add_jacobian(double t, const ConstVector& q, int row0, SparseAssembler& Phi_q) const override;
  void add_velocity_tangent(double t, const ConstVector& q, const ConstVector& qd, int row0,
                            SparseAssembler& V_q) const override;
  void add_force_tangent(double t, const ConstVector& q, const ConstVector& lambda, SparseAssembler& K) const override;
  void add_acceleration_tangents(double t, const ConstVector& q, const ConstVector& qd, const ConstVector& qdd,
                                 int row0, SparseAssembler& G_q, SparseAssembler& G_v) const override;

 private:
  [[nodiscard]] Jet target(std::size_t row, double t) const;
  void add_rows(double factor, const Eigen::MatrixXd& rows, int row0, SparseAssembler& target) const;

  std::string name_;
  MotionFunctionsPtr functions_;
  std::vector<TimeFunctionPtr> targets_;
  std::vector<double> periods_;
  std::vector<int> kept_;  ///< active rows
};

}  // namespace heelstrike::mbs
