/// What a material answers to deformation, one object per law: elements ask it at their quadrature points.
///
/// Laws are parameter sets without a modulus: shear and bulk modulus come from the LameConstants of the element, so
/// that every law is Hooke's law of the same mu and lambda for small strain (fibres of fiber_law.hpp come on top), and
/// the linear back-ends are its linearisation about the unloaded state.
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
  bool valid = true;  ///< false: the law has no value here, e.g. the element is inside out; the rest is then incomplete
};

/// What a point of a law with a memory knows of its past.
struct PointHistoryVariables {
  std::span<const double> values{};  ///< PointLaw::memory_size() numbers of the last commit; empty = always at rest
  double dt = 0.0;                   ///< [s] >= 0 since then
};

/// Thread-safe and immutable.
class PointLaw {
 public:
  PointLaw() = default;
  PointLaw(const PointLaw&) = delete;
  PointLaw& operator=(const PointLaw&) = delete;
  virtual ~PointLaw() = default;

  /// Stress and stiffness are the same for all displacements.
  [[nodiscard]] virtual bool is_linear() const { return false; }
  /// [-] the volume change theta that the pressure lambda theta belongs to: ln J, or tr G of the linear law. Not finite
  /// where the law has no value.
  [[nodiscard]] virtual double dilatation(const Matrix3& G) const;
  /// Adds the stiffness of one quadrature point to that of its element (3 n_nodes square, dof-wise, symmetric).
  /// @param G      [-] gradient of the displacement, F - 1
  /// @param mixed  [-] in a mixed body the volume change that its pressures see. Its stress lambda mixed F^-T takes the
  ///               place of that of the point; energy and stiffness of lambda / 2 theta^2 are then those of the
  ///               pressures (pressure_space.hpp) and are left out
  [[nodiscard]] virtual PointPower add_point(const PointGeometry& geometry, const LameConstants& constants,
                                            const Matrix3& G, std::optional<double> mixed, const PointHistoryVariables& memory,
                                            Eigen::MatrixXd& tangent) const = 0;
  /// [Pa] symmetric. @pre det(1 + G) > 0 unless the law is linear
  [[nodiscard]] virtual Matrix3 cauchy_stress(const LameConstants& constants, const Matrix3& G,
                                              std::optional<double> mixed, const PointHistoryVariables& memory) const = 0;

  /// Numbers that each point remembers of a commit; 0 = the law is elastic.
  [[nodiscard]] virtual std::size_t memory_size() const { return 0; }
  /// What it remembers of a commit at G. @param after  memory_size() numbers
  /// @return [J/m^3] >= 0 turned into heat since the commit before
  [[nodiscard]] virtual double update_history(const LameConstants& constants, const Matrix3& G, const PointHistoryVariables& memory,
                                        std::span<double> after) const;
};

/// A law by value. Copies share it.
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

/// The laws of a body, one for each of its materials.
class MaterialLaws {
 public:
  /// One for all. Not explicit: most bodies have one.
  MaterialLaws(MaterialLaw law) : laws_{std::move(law)} {}  // NOLINT(google-explicit-constructor)
  /// @param laws  in the order of the materials of the body; not empty
  explicit MaterialLaws(std::vector<MaterialLaw> laws) : laws_(std::move(laws)) {}

  [[nodiscard]] const PointLaw& of(const BodyModel& body, std::size_t element) const {
    return *laws_[laws_.size() == 1 ? 0 : body.material_index(element)];
  }
  /// All are.
  [[nodiscard]] bool is_linear() const {
    return std::ranges::all_of(laws_, [](const MaterialLaw& law) { return law->is_linear(); });
  }
  /// Some law has a memory.
  [[nodiscard]] bool has_history() const {
    return std::ranges::any_of(laws_, [](const MaterialLaw& law) { return law->memory_size() > 0; });
  }

 private:
  std::vector<MaterialLaw> laws_;
};

}  // namespace heelstrike::fem
