/// A constraint composed of scalar equations of one type that provide their derivatives.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace heelstrike::mbs
