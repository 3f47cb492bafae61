// Two equal deformable balls against Hertz: curvatures and compliances add.
#include <gtest/gtest.h>

#include "fem_server/backends/fem_condensed/deformable_partner.hpp"
#include "tests/validation/fem/hertz_ball.hpp"

namespace heelstrike::fem {
namespace {

using namespace hertz;

constexpr double h = 3e-3;
constexpr double fine = 0.015;

/// The ball of ball_model turned about x: its pole looks up.
std::shared_ptr<const DeformablePartner> ball_below() {
  VolumeMesh mesh = test::ball_mesh(R, h, fine, 1.25);
  for (Vector3& p : mesh.nodes) p = Vector3(p.x(), -p.y(), -p.z());
  const BodyModel body(std::move(mesh),
                       std::vector<Material>{{.youngs_modulus = E, .poissons_ratio = nu, .density = 238.7, .set = ""}});
  const ContactNodes surface = contact_nodes(body, boundary_faces(body.mesh()));
  std::vector<bool> keep;
  for (const std::uint32_t node : surface.nodes) {
    const Vector3& x = body.mesh().nodes[node];
    keep.push_back(x.z() > 0.0 && x.head<2>().norm() < 1.2 * fine);
  }
  const ContactNodes candidates = selected(surface, keep);
  SurfaceCompliance compliance = condense(body, {.inertia_relief = true, .clamped_nodes = {}}, candidates.nodes,
                                          [](std::string_view, double) {}, {});
  return std::make_shared<const DeformablePartner>(boundary_surface(body.mesh()), std::vector<std::uint32_t>{},
                                                   candidates.nodes, std::move(compliance));
}

// By symmetry the plane of contact stays plane, so that two balls pressed together by 2 d carry exactly what one ball
// pressed on a rigid plane by d carries; the linearised gap differs by a^2 / R^2, below 1 %. Against Hertz with
// relative curvature 2 / R and E* = E / (2 (1 - nu^2)): radius and pressure as for one ball at this mesh.
TEST(TwoSpheres, FollowHertzWithRelativeCurvatureAndCommonModulus) {
  const auto one = make_ball(h, fine, 1.25);
  CondensedModel model = one->model();
  model.partner = make_analytic_partner(SphereSurface{.radius = R, .center = Vector3::Zero()});
  model.deformable = ball_below();
  const CondensedContact two("fem_condensed", std::move(model), ParameterMap{});
  const double R_relative = 0.5 * R;
  const double E_common = 0.5 * E_star;
  std::printf("%10s %12s %12s %8s %8s %8s %8s\n", "depth [mm]", "two [N]", "one, half", "ratio", "F/Hertz", "a/aH",
              "p0/pH");
  for (const double depth : {1.5e-3, 2.5e-3, 3.5e-3}) {
    PairState state;
    state.X_AB.p = Vector3(0.0, 0.0, -2.0 * R + depth);
    const Response r = two.evaluate(*two.initial_history(), state);
    const Response half = one->evaluate(*one->initial_history(), pressed(0.5 * depth));
    const double P = r.F_A.force.z();
    const double hertz_force = 4.0 / 3.0 * E_common * std::sqrt(R_relative) * std::pow(depth, 1.5);
    const double a = std::cbrt(0.75 * P * R_relative / E_common);
    const double p0 = 1.5 * P / (std::numbers::pi * a * a);
    const double radius = std::sqrt(r.area / std::numbers::pi);
    std::printf("%10.2f %12.3f %12.3f %8.5f %8.4f %8.4f %8.4f\n", 1e3 * depth, P, half.F_A.force.z(),
                P / half.F_A.force.z(), P / hertz_force, radius / a, r.peak_pressure / p0);
    EXPECT_NEAR(P, half.F_A.force.z(), 0.01 * P);
    // Finite balls are stiffer than half spaces: delta_Hertz(P) - delta = 2 c P / (E R), c about 0.5 for each of them;
    // the mesh, 2 to 4 elements over the contact radius here, adds to it where the contact is small.
    const double delta_hertz = std::pow(P / hertz_force, 2.0 / 3.0) * depth;
    EXPECT_NEAR((delta_hertz - depth) * E * R / (2.0 * P), 0.5, 0.1);
    EXPECT_NEAR(radius / a, 1.0, 0.07);
    // At three elements over the radius and below the recovery of the pressure flattens the contact.
    EXPECT_NEAR(r.peak_pressure / p0, 1.0, a < 3.5 * h ? 0.08 : 0.05);
    EXPECT_LT(r.F_A.force.head<2>().norm(), 1e-3 * P);
  }
}

}  // namespace
}  // namespace heelstrike::fem
