/// The linear interior of a body behind its nonlinear outer layer, eliminated once [melo2023, section 4.3].
///
///     K* = K_bb - K_ba K_aa^-1 K_ab        a: interior nodes only, b: interface to the layer
///
/// is added to the equations of the layer. In free flight the inertia of the interior is eliminated with it; see
/// BodySystem. Derivation: docs/theory/contact_fem.md, section 9.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "fem_server/bodies/body_preparation.hpp"
#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/neo_hookean.hpp"
#include "fem_server/fem/rigid_motion.hpp"
#include "fem_server/fem/sparse_cholesky.hpp"

namespace heelstrike::fem {

/// Elements with a contact node, and those whose centre is within `depth` [m] of one; ascending.
[[nodiscard]] std::vector<std::uint32_t> layer_of_depth(const BodyModel& body, const ContactNodes& contact,
                                                        double depth);

/// Elements of a set, ascending.
/// @throws Error{invalid_input} for a set that does not exist or is empty, and when contact nodes lie outside it
[[nodiscard]] std::vector<std::uint32_t> layer_of_set(const BodyModel& body, const ContactNodes& contact,
                                                      const std::string& set, const std::string& key);

/// Expensive results of the condensation: computed once, cached on disk, shared by concurrent sessions.
struct InteriorProduct {
  Eigen::MatrixXd stiffness;  ///< [N/m] K* of the interface
  SixColumns inertia_loads;   ///< [1/m, -] B* in the dofs of the layer; no rows without inertia relief
  Matrix6 inertia_compliance = Matrix6::Zero();  ///< D
};

/// Thread-safe.
class CondensedInterior {
 public:
  /// @param layer  elements of the outer layer, ascending; neither none nor all; they contain all contact nodes
  /// @param max_interface_nodes  maximum number of interface nodes
  /// @param context  its cache and locks are used for the product; its stop is checked between the stages of the
  ///                 factorisation and between blocks of columns, but not within the numerical factorisation
  /// @throws Error{limit} above this number, Error{invalid_input} without support or mass, Error{cancelled}
  CondensedInterior(PreparedBody whole, std::span<const std::uint32_t> layer, double max_interface_nodes,
                    const PrepareContext& context);

  /// The body that contains the layer.
  [[nodiscard]] const PreparedBody& whole() const { return whole_; }
  /// The layer as a body: its nodes, clamp and contact nodes in its own numbering.
  [[nodiscard]] PreparedBody layer() const;
  /// Nodes shared by layer and interior, ascending, except those on the clamp.
  [[nodiscard]] const std::vector<std::uint32_t>& interface() const { return interface_; }

  /// Matrix of the layer, with the dense pattern of the interface and K* added.
  [[nodiscard]] SparseMatrix widened(const SparseMatrix& layer_matrix) const;
  /// Adds the interior's forces, energy (without that of inertia forces) and K* to those of the layer.
  void add(const Eigen::VectorXd& u_layer, BodyEquations& equations, SparseMatrix& tangent) const;

  /// Rigid motions of the whole body at the nodes of the layer.
  [[nodiscard]] SixColumns layer_modes() const;
  /// B* in the dofs of the layer [1/m, -]: loads by unit inertia loads, those of the interior condensed to the
  /// interface.
  [[nodiscard]] const SixColumns& inertia_loads() const { return product_.inertia_loads; }
  /// D = B_a^T K_aa^-1 B_a, zero without inertia relief.
  [[nodiscard]] const Matrix6& inertia_compliance() const { return product_.inertia_compliance; }

  /// [m] of all nodes of the whole body. @param contact_forces  [N] on the contact nodes
  [[nodiscard]] Eigen::VectorXd displacement(const Eigen::VectorXd& u_layer,
                                             std::span<const Vector3> contact_forces) const;
  /// [Pa] of the whole body: `of_layer` in the layer, linear stresses in the interior; columns as in linear_stress.
  [[nodiscard]] StressColumns stress(const StressColumns& of_layer, const Eigen::VectorXd& u) const;

 private:
  void find_interface();
  [[nodiscard]] InteriorProduct condense(const PrepareContext& context) const;
  void condense_inertia(InteriorProduct& product, const PrepareContext& context) const;
  /// Solves K_aa u = r, in dofs of the interior.
  [[nodiscard]] Eigen::MatrixXd solve_interior(const Eigen::MatrixXd& rhs, const std::stop_token& stop = {}) const;

  PreparedBody whole_;
  std::vector<std::uint32_t> layer_elements_, interior_elements_;
  std::vector<std::uint32_t> layer_nodes_, interior_nodes_;  ///< numbers in the whole body
  BodyModel layer_, interior_;
  std::vector<std::uint32_t> interface_;           ///< in the layer
  std::vector<std::uint32_t> interior_interface_;  ///< the same nodes in the interior
  std::vector<std::uint32_t> interior_clamp_;      ///< in the interior
  InteriorProduct product_;
  SixColumns modes_;       ///< of the whole body; empty when it is clamped
  SixColumns mass_modes_;  ///< B of the whole body
  SparseMatrix interior_matrix_;
  mutable std::mutex mutex_;  ///< guards the factor
  mutable std::unique_ptr<SparseCholesky> inside_;
};

}  // namespace heelstrike::fem
