/// What acts on the bodies: generalised forces, their tangents, and their part in the energy balance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/results/run_records.hpp"
#include "mbs_server/formulation/constraint.hpp"

namespace heelstrike::mbs {

/// Contribution of a force element to the energy balance at one state.
struct EnergyTerms {
  double potential = 0.0;         ///< [J] energy that can be given back
  double dissipated_power = 0.0;  ///< [W]
  double external_power = 0.0;    ///< [W] brought in from outside the model
};

class ForceElement {
 public:
  virtual ~ForceElement() = default;

  [[nodiscard]] virtual std::string name() const = 0;

  /// Adds the generalised forces to `g` and the energy terms to `energy`.
  /// @throws RecoverableError when a smaller step may help, Error when not
  virtual void add_forces(double t, const ConstVector& q, const ConstVector& qd, Eigen::Ref<VectorX> g,
                          EnergyTerms& energy) = 0;

  /// Adds K = dg/dq and C = dg/dqd. The sequence of contributions is the same at every call.
  virtual void add_tangents(double t, const ConstVector& q, const ConstVector& qd, SparseAssembler& K,
                            SparseAssembler& C) = 0;

  /// Columns of the time series that the element writes, "NAME.length_m" and so on; the same at every call.
  [[nodiscard]] virtual std::vector<Column> columns() const { return {}; }
  /// Appends a value per column. @throws RecoverableError where the element has no force either
  virtual void append_values(double /*t*/, const ConstVector& /*q*/, const ConstVector& /*qd*/,
                             std::vector<double>& /*row*/) const {}
};

}  // namespace heelstrike::mbs
