/// Ball on a plane compared with Hertz' half space, at equal force.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>

#include "fem_server/backends/fem_condensed/condensed_contact.hpp"
#include "fem_server/fem/body_model.hpp"
#include "fem_server/geometry/primitives.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/surface_kind.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem {
namespace hertz {

constexpr double R = 0.1;      // [m]
constexpr double E = 302.2e6;  // [Pa]
constexpr double nu = 0.3;
constexpr double E_star = E / (1.0 - nu * nu);

/// Free ball on a plane. @param reach  [m] of the candidates around the axis through the pole z = -R
inline CondensedModel ball_model(VolumeMesh mesh, double reach) {
  const BodyModel body(std::move(mesh),
                       std::vector<Material>{{.youngs_modulus = E, .poissons_ratio = nu, .density = 238.7, .set = ""}});
  const ContactNodes surface = contact_nodes(body, boundary_faces(body.mesh()));
  CondensedModel model;
  std::vector<bool> keep;
  for (const std::uint32_t node : surface.nodes) {
    const Vector3& x = body.mesh().nodes[node];
    keep.push_back(x.z() < 0.0 && x.head<2>().norm() < reach);
  }
  const ContactNodes candidates = selected(surface, keep);
  for (const std::uint32_t node : candidates.nodes) model.points.push_back(body.mesh().nodes[node]);
  model.areas = candidates.areas;
  model.pressure = PressureRecovery(body.mesh(), candidates);
  const auto quiet = [](std::string_view, double) {};
  model.compliance = condense(body, {.inertia_relief = true, .clamped_nodes = {}}, candidates.nodes, quiet, {});
  std::printf("%zu nodes, %zu elements, %zu candidates\n", body.mesh().nodes.size(), body.mesh().n_elements(),
              candidates.nodes.size());
  model.partner = signed_distance(PlaneSurface{});
  model.options.max_penetration = 0.02;
  return model;
}

struct Meshed {
  double h;  // [m] edge length at the pole
  std::uint32_t order;
  Vector3 direction;  // of the pole; along -z it is a pole of the mesher's sphere, the worst place
};

/// Ball of the mesher about the origin, rotated so that its pole is at z = -R. @param fine  [m] around the pole
inline VolumeMesh meshed_ball(const Meshed& mesh, double fine) {
  ::setenv("HEELSTRIKE_MESHER", HEELSTRIKE_BIN_DIR "/heelstrike-mesher", 1);
  BallOptions options;
  options.radius = R;
  options.size = 0.02;
  options.contact_size = mesh.h;
  options.contact_radius = fine;
  options.contact_direction = mesh.direction;
  options.meshing.order = mesh.order;
  VolumeMesh ball = fem::make_ball(options).mesh;
  const Matrix3 rotation = Quaternion::FromTwoVectors(mesh.direction, Vector3(-Vector3::UnitZ())).toRotationMatrix();
  for (Vector3& p : ball.nodes) p = rotation * p;
  return ball;
}

inline std::unique_ptr<CondensedContact> make_ball(double h, double fine, double ratio) {
  return std::make_unique<CondensedContact>("fem_condensed", ball_model(test::ball_mesh(R, h, fine, ratio), 1.2 * fine),
                                            ParameterMap{});
}

inline PairState pressed(double depth) {
  PairState state;
  state.X_AB.p = Vector3(0.0, 0.0, -R + depth);
  return state;
}

struct Row {
  double delta, radius, peak;
};

inline Row at_force(const CondensedContact& ball, double force) {
  double depth = std::pow(0.75 * force / (E_star * std::sqrt(R)), 2.0 / 3.0);
  Response r;
  const auto history = ball.initial_history();
  for (int i = 0; i < 30; ++i) {
    r = ball.evaluate(*history, pressed(depth));
    if (std::abs(r.F_A.force.z() - force) < 1e-9 * force) break;
    depth -= (r.F_A.force.z() - force) / r.dF_A_dX(5, 5);
  }
  return {depth, std::sqrt(r.area / std::numbers::pi), r.peak_pressure};
}

/// @param min_force  [N] below it the contact has fewer than three elements per radius
/// @param spread       of c around its middle
inline void check_ball(double h, double fine, double tolerance, double min_force, double spread) {
  const auto ball = make_ball(h, fine, 1.25);
  std::printf("%8s %10s %10s %10s %10s %8s %8s %8s\n", "P [N]", "delta[mm]", "Hertz[mm]", "a [mm]", "p0 [MPa]", "a/aH",
              "p0/pH", "c");
  double c_min = 1e9;
  double c_max = -1e9;
  for (const double P : {1000.0, 2000.0, 4000.0, 7000.0, 10000.0, 13000.0}) {
    const Row row = at_force(*ball, P);
    const double a = std::cbrt(0.75 * P * R / E_star);
    const double p0 = 1.5 * P / (std::numbers::pi * a * a);
    const double c = (a * a / R - row.delta) * E * R / P;
    std::printf("%8.0f %10.5f %10.5f %10.4f %10.4f %8.4f %8.4f %8.4f\n", P, 1e3 * row.delta, 1e3 * a * a / R,
                1e3 * row.radius, 1e-6 * row.peak, row.radius / a, row.peak / p0, c);
    if (P < min_force) continue;
    EXPECT_NEAR(row.radius / a, 1.0, tolerance) << "contact radius at " << P << " N";
    EXPECT_NEAR(row.peak / p0, 1.0, tolerance) << "peak pressure at " << P << " N";
    c_min = std::min(c_min, c);
    c_max = std::max(c_max, c);
  }
  // One constant for all loads, about 0.5.
  std::printf("c between %.4f and %.4f\n", c_min, c_max);
  const double middle = 0.5 * (c_min + c_max);
  EXPECT_LT(c_max - middle, spread * middle);
  EXPECT_NEAR(middle, 0.5, 0.1);
}

}  // namespace hertz
}  // namespace heelstrike::fem
