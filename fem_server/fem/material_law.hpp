/// Constitutive response, one object per law, evaluated at the quadrature points.
///
/// Laws are parameter sets without a modulus: shear and bulk modulus come from the LameConstants of the element, so
/// that every law is Hooke's law of the same mu and lambda for small strain (fibres of fiber_law.hpp are additional),
/// and the linear back-ends are its linearisation about the unloaded state.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fem_server/fem/body_model.hpp"

namespace heelstrike::fem {

/// Contribution of one quadrature point; columns of `forces` are the nodes.
struct PointPower {
  Eigen::Matrix<double, 3, Eigen::Dynamic, 0, 3, 27> forces;  ///< [N]
  double energy = 0.0;                                        ///< [J]
  bool valid = true;  ///< false: the law is undefined, e.g. in an inverted element; other values are incomplete
};

/// History variables of a point of a history-dependent law.
struct PointHistoryVariables {
  std::span<const double> values{};  ///< PointLaw::memory_size() numbers of the last commit; empty = never loaded
  double dt = 0.0;                   ///< [s] >= 0 since then
};

/// Thread-safe and immutable.
class PointLaw {
 public:
  PointLaw() = default;
  PointLaw(const PointLaw&) = delete;
  PointLaw& operator=(const PointLaw&) = delete;
  virtual ~PointLaw() = default;

  /// Whether the stiffness is independent of the displacement.
  [[nodiscard]] virtual bool is_linear() const { return false; }
  /// [-] volume change theta conjugate to the pressure lambda theta: ln J, or tr G for the linear law. Not finite where
  /// the law is undefined.
  [[nodiscard]] virtual double dilatation(const Matrix3& G) const;
  /// Adds the stiffness of one quadrature point to the element stiffness (3 n_nodes square, dof-wise, symmetric).
  /// @param G      [-] gradient of the displacement, F - 1
  /// @param mixed  [-] in a mixed body the volume change interpolated from its pressures. The stress lambda mixed F^-T
  ///               replaces the volumetric stress of the point; energy and stiffness of lambda / 2 theta^2 belong to
  ///               the pressures (PressureSpace) and are omitted
  [[nodiscard]] virtual PointPower add_point(const QuadraturePoint& geometry, const LameConstants& constants,
                                             const Matrix3& G, std::optional<double> mixed,
                                             const PointHistoryVariables& memory, Eigen::MatrixXd& tangent) const = 0;
  /// [Pa] symmetric. @pre det(1 + G) > 0 unless the law is linear
  [[nodiscard]] virtual Matrix3 cauchy_stress(const LameConstants& constants, const Matrix3& G,
                                              std::optional<double> mixed,
                                              const PointHistoryVariables& memory) const = 0;

  /// Number of history variables per point; 0 = elastic law.
  [[nodiscard]] virtual std::size_t memory_size() const { return 0; }
  /// History variables after a commit at G. @param after  memory_size() numbers
  /// @return [J/m^3] >= 0 dissipated since the previous commit
  [[nodiscard]] virtual double update_history(const LameConstants& constants, const Matrix3& G,
                                              const PointHistoryVariables& memory, std::span<double> after) const;
};

/// Value handle of a law; copies share it.
class MaterialLaw {
 public:
  /// @param law  not null
  explicit MaterialLaw(std::shared_ptr<const PointLaw> law) : law_(std::move(law)) {}
  const PointLaw* operator->() const { return law_.get(); }
  const PointLaw& operator*() const { return *law_; }

  static const MaterialLaw linear;       ///< Hooke's law
  static const MaterialLaw neo_hookean;  ///< see neo_hookean.hpp

 private:
  std::shared_ptr<const PointLaw> law_;
};

/// Laws of a body, one for each of its materials.
class MaterialLaws {
 public:
  /// One law for all materials. Not explicit: most bodies have one.
  MaterialLaws(MaterialLaw law) : laws_{std::move(law)} {}  // NOLINT(google-explicit-constructor)
  /// @param laws  in the order of the materials of the body; not empty
  explicit MaterialLaws(std::vector<MaterialLaw> laws) : laws_(std::move(laws)) {}

  [[nodiscard]] const PointLaw& of(const BodyModel& body, std::size_t element) const {
    return *laws_[laws_.size() == 1 ? 0 : body.material_index(element)];
  }
  /// Whether all laws are linear.
  [[nodiscard]] bool is_linear() const {
    return std::ranges::all_of(laws_, [](const MaterialLaw& law) { return law->is_linear(); });
  }
  /// Whether any law is history-dependent.
  [[nodiscard]] bool has_history() const {
    return std::ranges::any_of(laws_, [](const MaterialLaw& law) { return law->memory_size() > 0; });
  }

 private:
  std::vector<MaterialLaw> laws_;
};

}  // namespace heelstrike::fem
