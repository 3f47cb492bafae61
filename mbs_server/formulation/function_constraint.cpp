#include "mbs_server/formulation/function_constraint.hpp"

#include <cmath>
#include <numeric>
#include <utility>

namespace heelstrike::mbs {

VectorX local(const MotionFunctions& functions, const ConstVector& x) {
  return x(functions.indices());
}

Eigen::MatrixXd MotionFunctions::weighted_hessian(const ConstVector& q, const ConstVector& weights) const {
  const auto n = static_cast<Eigen::Index>(indices().size());
  Eigen::MatrixXd hessian(n, n);
  const VectorX zero = VectorX::Zero(q.size());
  VectorX unit = zero;
  GradientsAlong along;
  for (Eigen::Index k = 0; k < n; ++k) {
    // The derivative of the gradients along the unit rate of coordinate i is column i of the second derivatives.
    const int i = indices()[static_cast<std::size_t>(k)];
    unit[i] = 1.0;
    gradients(q, unit, zero, along);
    hessian.col(k) = along.d.transpose() * weights;
    unit[i] = 0.0;
  }
  return hessian;
}

FunctionConstraint::FunctionConstraint(std::string name, MotionFunctionsPtr functions,
                                       std::vector<TimeFunctionPtr> targets, std::vector<double> periods)
    : name_(std::move(name)),
      functions_(std::move(functions)),
      targets_(std::move(targets)),
      periods_(std::move(periods)),
      kept_(static_cast<std::size_t>(functions_->size())) {
  std::iota(kept_.begin(), kept_.end(), 0);
}

void FunctionConstraint::keep_rows(const std::vector<int>& kept) {
  std::vector<int> rows;
  for (const int row : kept) rows.push_back(kept_.at(static_cast<std::size_t>(row)));
  kept_ = std::move(rows);
}

Jet FunctionConstraint::target(std::size_t row, double t) const {
  return targets_.empty() ? Jet{} : targets_[static_cast<std::size_t>(kept_[row])]->at(t);
}

void FunctionConstraint::add_rows(double factor, const Eigen::MatrixXd& rows, int row0, SparseAssembler& target) const {
  const auto& indices = functions_->indices();
  for (const int row : kept_) {
    for (std::size_t k = 0; k < indices.size(); ++k) {
      target.add(row0, indices[k], factor * rows(row, static_cast<Eigen::Index>(k)));
    }
    ++row0;
  }
}

void FunctionConstraint::residual(double t, const ConstVector& q, Eigen::Ref<VectorX> phi) const {
  if (kept_.empty()) return;
  const VectorX values = functions_->values(q);
  for (std::size_t r = 0; r < kept_.size(); ++r) {
    const double error = values[kept_[r]] - target(r, t).f;
    const double period = periods_.empty() ? 0.0 : periods_[static_cast<std::size_t>(kept_[r])];
    // Angles are equal up to whole rotations; the remainder is smooth near the solution.
    phi[static_cast<Eigen::Index>(r)] = period > 0.0 ? std::remainder(error, period) : error;
  }
}

void FunctionConstraint::velocity_rhs(double t, const ConstVector& /*q*/, Eigen::Ref<VectorX> nu) const {
  for (std::size_t r = 0; r < kept_.size(); ++r) nu[static_cast<Eigen::Index>(r)] = target(r, t).d;
}

void FunctionConstraint::acceleration_rhs(double t, const ConstVector& q, const ConstVector& qd,
                                          Eigen::Ref<VectorX> gamma) const {
  if (kept_.empty()) return;
  GradientsAlong along;
  functions_->gradients(q, qd, VectorX::Zero(q.size()), along);
  // h_q qdd = f'' - (h_q qd)_q qd
  const VectorX curvature = along.d * local(*functions_, qd);
  for (std::size_t r = 0; r < kept_.size(); ++r) {
    gamma[static_cast<Eigen::Index>(r)] = target(r, t).dd - curvature[kept_[r]];
  }
}

void FunctionConstraint::add_jacobian(double /*t*/, const ConstVector& q, int row0, SparseAssembler& Phi_q) const {
  if (kept_.empty()) return;
  const VectorX zero = VectorX::Zero(q.size());
  GradientsAlong along;
  functions_->gradients(q, zero, zero, along);
  add_rows(1.0, along.f, row0, Phi_q);
}

void FunctionConstraint::add_velocity_tangent(double /*t*/, const ConstVector& q, const ConstVector& qd, int row0,
                                              SparseAssembler& V_q) const {
  if (kept_.empty()) return;
  GradientsAlong along;
  functions_->gradients(q, qd, VectorX::Zero(q.size()), along);
  add_rows(1.0, along.d, row0, V_q);
}

void FunctionConstraint::add_force_tangent(double /*t*/, const ConstVector& q, const ConstVector& lambda,
                                           SparseAssembler& K) const {
  if (kept_.empty()) return;
  if (!K.reads(functions_->indices())) {
    K.add_zeros(functions_->indices());
    return;
  }
  VectorX weights = VectorX::Zero(functions_->size());
  for (std::size_t r = 0; r < kept_.size(); ++r) weights[kept_[r]] = lambda[static_cast<Eigen::Index>(r)];
  K.add_dense(functions_->indices(), -functions_->weighted_hessian(q, weights));
}

void FunctionConstraint::add_acceleration_tangents(double /*t*/, const ConstVector& q, const ConstVector& qd,
                                                   const ConstVector& qdd, int row0, SparseAssembler& G_q,
                                                   SparseAssembler& G_v) const {
  if (kept_.empty()) return;
  GradientsAlong along;
  functions_->gradients(q, qd, qdd, along);
  add_rows(-1.0, along.dd, row0, G_q);
  add_rows(-2.0, along.d, row0, G_v);
}

}  // namespace heelstrike::mbs
