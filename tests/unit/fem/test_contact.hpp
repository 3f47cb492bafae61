/// A soft block over a partner, and differences of its wrench.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backends/fem_condensed/condensed_contact.hpp"
#include "fem_server/fem/body_model.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem::test {

/// Half space z < 0 of B.
class Plane final : public SignedDistance {
 public:
  [[nodiscard]] SurfacePoint closest(const Vector3& p_BQ) const override {
    return {.gap = p_BQ.z(), .normal = Vector3::UnitZ(), .curvature = Matrix3::Zero(), .bend = 0.0};
  }
};

struct BlockOptions {
  bool quadratic = false;
  double poissons_ratio = 0.3;
  bool inertia_relief = false;
  std::size_t n = 4;  ///< elements along x and y
  ContactOptions options{.max_penetration = 0.02};
  bool deformed_gap = false;
  double compression = 0.0;  ///< tolerance; 0 = dense compliance
};

inline Material soft_material(double poissons_ratio) {
  return {.youngs_modulus = 3.62e6, .poissons_ratio = poissons_ratio, .density = 1000.0, .set = ""};
}

/// Boundary faces in the plane z = 0.
inline std::vector<ElementFace> bottom_faces(const VolumeMesh& mesh) {
  std::vector<ElementFace> bottom;
  for (const ElementFace face : boundary_faces(mesh)) {
    const Triangle corners = face_corners(mesh, face);
    if (std::all_of(corners.begin(), corners.end(), [&](std::uint32_t n) { return mesh.nodes[n].z() == 0.0; })) {
      bottom.push_back(face);
    }
  }
  return bottom;
}

/// Block 40 x 40 x 30 mm, clamped at the top z = 30 mm (or free), contact nodes at the bottom z = 0.
inline std::unique_ptr<CondensedContact> make_block(const BlockOptions& options,
                                                    std::shared_ptr<const SignedDistance> partner) {
  VolumeMesh mesh = block_mesh({0.01, -0.02, 0.0}, {0.05, 0.02, 0.03}, options.n, options.n, 3);
  if (options.quadratic) mesh = to_quadratic(mesh);
  const BodyModel body(std::move(mesh), std::vector<Material>{soft_material(options.poissons_ratio)});
  const auto& top = body.mesh().node_sets.at("z1");
  CondensedModel model;
  std::vector<std::uint32_t> candidates;
  const ContactNodes nodes = contact_nodes(body, bottom_faces(body.mesh()));
  for (std::size_t i = 0; i < nodes.nodes.size(); ++i) {
    candidates.push_back(nodes.nodes[i]);
    model.points.push_back(body.mesh().nodes[nodes.nodes[i]]);
    model.areas.push_back(nodes.areas[i]);
  }
  Support support{.inertia_relief = options.inertia_relief, .clamped_nodes = {}};
  if (!options.inertia_relief) support.clamped_nodes = top;
  const auto no_progress = [](std::string_view, double) {};
  model.compliance = options.compression > 0.0
                         ? condense_compressed(body, support, candidates, options.compression, no_progress, {})
                         : condense(body, support, candidates, no_progress, {});
  model.pressure = PressureRecovery(body.mesh(), nodes);
  model.partner = std::move(partner);
  model.options = options.options;
  model.deformed_gap = options.deformed_gap;
  return std::make_unique<CondensedContact>("fem_condensed", std::move(model), ParameterMap{});
}

/// Moves B by a small rotation and translation, both expressed in A.
inline PairState moved(PairState state, const Vector6& step) {
  state.X_AB.R = rotation_from_vector(step.head<3>()) * state.X_AB.R;
  state.X_AB.p += step.tail<3>();
  return state;
}

/// dF/dX with step h_X [rad, m] and dF/dV with step h_V [rad/s, m/s].
inline std::pair<Matrix6, Matrix6> central_difference(const ContactBackend& contact, const History& history,
                                                      const PairState& state, double h_X, double h_V) {
  const EvaluateOptions forces{.tangents = false};
  Matrix6 dX;
  Matrix6 dV;
  for (int k = 0; k < 6; ++k) {
    const Vector6 e = Vector6::Unit(k);
    const Vector6 forth = contact.evaluate(history, moved(state, h_X * e), forces).F_A.vector();
    const Vector6 back = contact.evaluate(history, moved(state, -h_X * e), forces).F_A.vector();
    dX.col(k) = (forth - back) / (2.0 * h_X);
    const auto with_twist = [&](double h) {
      PairState other = state;
      other.V_AB.w += h * e.head<3>();
      other.V_AB.v += h * e.tail<3>();
      return contact.evaluate(history, other, forces).F_A.vector();
    };
    dV.col(k) = (with_twist(h_V) - with_twist(-h_V)) / (2.0 * h_V);
  }
  return {dX, dV};
}

/// Largest error of the four 3x3 blocks (their units differ), each relative to its largest entry or, where a block is
/// small by symmetry, to what the other blocks imply with a length of 0.05 m.
inline double block_error(const Matrix6& analytic, const Matrix6& numeric) {
  constexpr double length = 0.05;
  const auto scaled = [&](Matrix6 m) {
    m.topRows<3>() /= length;
    m.leftCols<3>() /= length;
    return m;
  };
  const double scale = scaled(numeric).cwiseAbs().maxCoeff();
  return scale > 0.0 ? scaled(analytic - numeric).cwiseAbs().maxCoeff() / scale
                     : scaled(analytic).cwiseAbs().maxCoeff();
}

/// Without assets; progress is not reported.
inline PrepareContext quiet() {
  return {.asset = {}, .on_progress = [](std::string_view, double) {}, .stop = {}};
}

/// Error of a pair whose preparation is rejected; "accepted" otherwise.
inline std::string rejection_error(const PairSpec& pair, const PrepareContext& context = quiet()) {
  try {
    (void)make_backend(pair, context);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

/// @param depth  [m] of the origin of B above that of A
inline PairState tilted_state(double depth) {
  PairState state;
  state.X_AB.R = rotation_from_vector(Vector3(0.02, -0.03, 0.4));
  state.X_AB.p = Vector3(0.004, -0.003, depth);
  state.V_AB = {.w = Vector3(0.2, -0.1, 0.3), .v = Vector3(0.01, 0.02, 0.1)};
  return state;
}

}  // namespace heelstrike::fem::test
