/// A constraint composed of scalar equations of one type that provide their derivatives.
///
/// Constraints at most quadratic in the coordinates: rigid bodies and almost all joints in fully Cartesian coordinates.
/// Every derivative is exact and follows from the list of terms.
///
/// Constraints prescribed in time: sum_k f_k(t) Q_k(q) = 0 with Q_k at most quadratic.
///
/// A unilateral constraint: a gap Phi(q) >= 0 whose force pushes and never pulls.
///
/// Closed, it is the equation Phi = 0 with the force N = -lambda >= 0 along Phi_q; open, it has no rows. The stepping
/// algorithm switches between both: docs/theory/rigid_contact.md, "Unilateral joints".
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/motion/time_function.hpp"
#include "mbs_server/formulation/constraint.hpp"

namespace heelstrike::mbs {

/// One row for each equation. `Equation` has the functions of Constraint for a single row, with numbers instead of
/// blocks of rows; its `prescribed_in_time` is true if it depends on time.
template <class Equation>
class EquationConstraint : public Constraint {
 public:
  EquationConstraint(std::string name, std::vector<Equation> equations)
      : name_(std::move(name)), equations_(std::move(equations)) {}

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] int rows() const override { return static_cast<int>(equations_.size()); }
  [[nodiscard]] bool depends_on_time() const override { return Equation::prescribed_in_time; }

  void keep_rows(const std::vector<int>& kept) override {
    std::vector<Equation> equations;
    for (const int row : kept) equations.push_back(equations_[static_cast<std::size_t>(row)]);
    equations_ = std::move(equations);
  }

  void residual(double t, const ConstVector& q, Eigen::Ref<VectorX> phi) const override {
    for (Eigen::Index r = 0; r < rows(); ++r) phi[r] = row(r).residual(t, q);
  }
  [[nodiscard]] bool on_intended_branch(double t, const ConstVector& q) const override {
    return std::ranges::all_of(equations_, [&](const Equation& equation) { return equation.on_intended_branch(t, q); });
  }
  void velocity_rhs(double t, const ConstVector& q, Eigen::Ref<VectorX> nu) const override {
    for (Eigen::Index r = 0; r < rows(); ++r) nu[r] = row(r).velocity_rhs(t, q);
  }
  void acceleration_rhs(double t, const ConstVector& q, const ConstVector& qd,
                        Eigen::Ref<VectorX> gamma) const override {
    for (Eigen::Index r = 0; r < rows(); ++r) gamma[r] = row(r).acceleration_rhs(t, q, qd);
  }

  void add_jacobian(double t, const ConstVector& q, int row0, SparseAssembler& Phi_q) const override {
    for (const Equation& equation : equations_) equation.add_jacobian(t, q, row0++, Phi_q);
  }
  void add_velocity_tangent(double t, const ConstVector& q, const ConstVector& qd, int row0,
                            SparseAssembler& V_q) const override {
    for (const Equation& equation : equations_) equation.add_velocity_tangent(t, q, qd, row0++, V_q);
  }
  void add_force_tangent(double t, const ConstVector& q, const ConstVector& lambda, SparseAssembler& K) const override {
    for (Eigen::Index r = 0; r < rows(); ++r) row(r).add_force_tangent(t, q, lambda[r], K);
  }
  void add_acceleration_tangents(double t, const ConstVector& q, const ConstVector& qd, const ConstVector& qdd,
                                 int row0, SparseAssembler& G_q, SparseAssembler& G_v) const override {
    for (const Equation& equation : equations_) equation.add_acceleration_tangents(t, q, qd, qdd, row0++, G_q, G_v);
  }

 private:
  [[nodiscard]] const Equation& row(Eigen::Index r) const { return equations_[static_cast<std::size_t>(r)]; }

  std::string name_;

 protected:
  std::vector<Equation> equations_;
};

/// One scalar equation: Q(q) = sum c q_i q_j + sum b q_i + constant = 0.
struct QuadraticEquation {
  struct Quadratic {
    int i = 0;
    int j = 0;
    double c = 0.0;
  };
  struct Linear {
    int i = 0;
    double b = 0.0;
  };
  std::vector<Quadratic> quadratic;
  std::vector<Linear> linear;
  double constant = 0.0;

  static constexpr bool prescribed_in_time = false;

  [[nodiscard]] double residual(double t, const ConstVector& q) const;
  [[nodiscard]] static bool on_intended_branch(double /*t*/, const ConstVector& /*q*/) { return true; }
  [[nodiscard]] double velocity_rhs(double t, const ConstVector& q) const;
  [[nodiscard]] double acceleration_rhs(double t, const ConstVector& q, const ConstVector& qd) const;
  void add_jacobian(double t, const ConstVector& q, int row, SparseAssembler& Phi_q) const;
  void add_velocity_tangent(double t, const ConstVector& q, const ConstVector& qd, int row, SparseAssembler& V_q) const;
  void add_force_tangent(double t, const ConstVector& q, double lambda, SparseAssembler& K) const;
  void add_acceleration_tangents(double t, const ConstVector& q, const ConstVector& qd, const ConstVector& qdd, int row,
                                 SparseAssembler& G_q, SparseAssembler& G_v) const;

  /// Q_q x
  [[nodiscard]] double slope(const ConstVector& q, const ConstVector& x) const;
  /// x' Q_qq x
  [[nodiscard]] double curvature(const ConstVector& x) const;
  /// factor * Q_q into `row`
  void add_gradient(double factor, const ConstVector& q, int row, SparseAssembler& target) const;
  /// factor * (Q_qq x) into `row`
  void add_hessian_product(double factor, const ConstVector& x, int row, SparseAssembler& target) const;
};

using QuadraticConstraint = EquationConstraint<QuadraticEquation>;

/// The six conditions that keep {v1, v2, v3} orthonormal (Melo 2023, eqs 3.9-3.12), in the order
/// v1.v1 - 1, v2.v2 - 1, v3.v3 - 1, v1.v2, v2.v3, v3.v1.
/// @param first  index of the body's first coordinate
[[nodiscard]] QuadraticConstraint rigid_body_constraint(const std::string& body, int first);

/// Phi = sum_k f_k(t) Q_k(q). Everything follows exactly from f, f', f'' and the terms of Q:
///   Phi_q = sum f Q_q,  nu = -sum f' Q,
///   gamma = -sum ( f qd' Q_qq qd + 2 f' Q_q qd + f'' Q ).
struct RheonomicEquation {
  struct Term {
    std::function<Jet(double)> factor;
    QuadraticEquation form;
  };
  std::vector<Term> terms;
  /// A sum that is positive on the intended branch, e.g. the cosine for a sine; none = always.
  std::vector<Term> positive = {};

  static constexpr bool prescribed_in_time = true;

  [[nodiscard]] double residual(double t, const ConstVector& q) const;
  [[nodiscard]] bool on_intended_branch(double t, const ConstVector& q) const;
  [[nodiscard]] double velocity_rhs(double t, const ConstVector& q) const;
  [[nodiscard]] double acceleration_rhs(double t, const ConstVector& q, const ConstVector& qd) const;
  void add_jacobian(double t, const ConstVector& q, int row, SparseAssembler& Phi_q) const;
  void add_velocity_tangent(double t, const ConstVector& q, const ConstVector& qd, int row, SparseAssembler& V_q) const;
  void add_force_tangent(double t, const ConstVector& q, double lambda, SparseAssembler& K) const;
  void add_acceleration_tangents(double t, const ConstVector& q, const ConstVector& qd, const ConstVector& qdd, int row,
                                 SparseAssembler& G_q, SparseAssembler& G_v) const;
};

using RheonomicConstraint = EquationConstraint<RheonomicEquation>;

/// Impact law at closure of the gap.
struct ImpactAtGap {
  double restitution = 0.0;            ///< [-] in [0, 1], Newton's law
  double restitution_threshold = 0.0;  ///< [m/s] slower approaches end without rebound
};

class UnilateralConstraint final : public QuadraticConstraint {
 public:
  /// Initially open. @param gap  [m], with a gradient of unit norm at the constrained points
  UnilateralConstraint(std::string name, QuadraticEquation gap, const ImpactAtGap& impact)
      : QuadraticConstraint(std::move(name), {}), gap_(std::move(gap)), impact_(impact) {}

  [[nodiscard]] UnilateralConstraint* unilateral() override { return this; }
  [[nodiscard]] const ImpactAtGap& impact() const { return impact_; }
  [[nodiscard]] bool closed() const { return !equations_.empty(); }
  /// Called by System, which counts rows.
  void set_closed(bool closed) {
    equations_.clear();
    if (closed) equations_.push_back(gap_);
  }
  /// The gap [m] and its derivatives, whether closed or open.
  [[nodiscard]] const QuadraticEquation& gap() const { return gap_; }

 private:
  QuadraticEquation gap_;
  ImpactAtGap impact_;
};

}  // namespace heelstrike::mbs
