// Two equal deformable balls compared with Hertz: curvatures and compliances add.
#include <gtest/gtest.h>

#include "tests/unit/fem/two_bodies.hpp"
#include "tests/validation/fem/hertz_ball.hpp"

namespace heelstrike::fem {
namespace {

using namespace hertz;

/// Ball about the origin of its frame, free, with contact nodes around its south pole.
/// @param fine  [m] radius of the fine part of the mesh
/// @param X  pose of the mesh in that frame
test::SolidBody solid_ball(VolumeMesh mesh, double fine, const Pose& X, double modulus = E) {
  for (Vector3& p : mesh.nodes) p = X * p;
  const auto near_pole = [&](const Vector3& p) {
    const Vector3 q = X.inverse() * p;
    return q.z() < 0.0 && q.head<2>().norm() < 1.2 * fine;
  };
  return test::solid_body(
      std::move(mesh), {.youngs_modulus = modulus, .poissons_ratio = nu, .density = 238.7, .set = ""}, "", near_pole);
}

test::SolidBody ball(double h, double fine, double growth, const Pose& X) {
  return solid_ball(test::ball_mesh(R, h, fine, growth), fine, X);
}

/// The south pole points up; the mesh is rotated about the vertical by `angle` [rad].
Pose upside_down(double angle) {
  return {
      .R = rotation_from_vector(Vector3(0.0, 0.0, angle)) * rotation_from_vector(Vector3(std::numbers::pi, 0.0, 0.0)),
      .p = Vector3::Zero()};
}

/// Two balls pressed together by `depth`.
PairState approached(double depth) {
  PairState state;
  state.X_AB.p = Vector3(0.0, 0.0, -2.0 * R + depth);
  return state;
}

struct HertzContact {
  double force, radius, peak;
};

/// Half spaces with relative curvature 2 / R and E* = E / (2 (1 - nu^2)): radius and peak pressure under a force, and
/// the force at a depth.
HertzContact under_force(double P) {
  const double a = std::cbrt(0.75 * P * (0.5 * R) / (0.5 * E_star));
  return {.force = P, .radius = a, .peak = 1.5 * P / (std::numbers::pi * a * a)};
}
double force_at(double depth) {
  return 4.0 / 3.0 * (0.5 * E_star) * std::sqrt(0.5 * R) * std::pow(depth, 1.5);
}

// By symmetry the plane of contact stays plane, so that two balls pressed together by 2 d carry exactly what one ball
// pressed on a rigid plane by d carries; the linearised gap differs by a^2 / R^2, below 1 %. Against Hertz radius and
// pressure as for one ball at this mesh.
TEST(TwoSpheres, FollowHertzWithRelativeCurvatureAndCommonModulus) {
  constexpr double h = 3e-3;
  constexpr double fine = 0.015;
  const auto one = make_ball(h, fine, 1.25);
  const auto two =
      test::two_bodies(ball(h, fine, 1.25, Pose{}), ball(h, fine, 1.25, upside_down(0.0)), {.max_penetration = 0.02});
  std::printf("%10s %12s %12s %8s %8s %8s %8s\n", "depth [mm]", "two [N]", "one, half", "ratio", "F/Hertz", "a/aH",
              "p0/pH");
  for (const double depth : {1.5e-3, 2.5e-3, 3.5e-3}) {
    const Response r = two->evaluate(*two->initial_history(), approached(depth));
    const Response half = one->evaluate(*one->initial_history(), pressed(0.5 * depth));
    const double P = r.F_A.force.z();
    const HertzContact exact = under_force(P);
    const double radius = std::sqrt(r.area / std::numbers::pi);
    std::printf("%10.2f %12.3f %12.3f %8.5f %8.4f %8.4f %8.4f\n", 1e3 * depth, P, half.F_A.force.z(),
                P / half.F_A.force.z(), P / force_at(depth), radius / exact.radius, r.peak_pressure / exact.peak);
    EXPECT_NEAR(P, half.F_A.force.z(), 0.01 * P);
    // Finite balls are stiffer than half spaces: delta_Hertz(P) - delta = 2 c P / (E R), c about 0.5 for each of them;
    // the mesh, 2 to 4 elements over the contact radius here, adds to it where the contact is small.
    const double delta_hertz = std::pow(P / force_at(depth), 2.0 / 3.0) * depth;
    EXPECT_NEAR((delta_hertz - depth) * E * R / (2.0 * P), 0.5, 0.1);
    // The border lies between two rings of nodes, one with and one without force: half an element.
    EXPECT_NEAR(radius / exact.radius, 1.0, 0.5 * h / exact.radius);
    // The requirement is 3 % with ten elements over the contact radius; its error is of first order here, as that of
    // the border.
    EXPECT_NEAR(r.peak_pressure / exact.peak, 1.0, 0.3 * h / exact.radius);
    EXPECT_LT(r.F_A.force.head<2>().norm(), 1e-3 * P);
  }
}

// Requirement: non-matching meshes, 3 % in the peak pressure with ten elements over the contact radius. Neither lines
// nor sizes of the meshes agree, the balls are offset by a third of an element, and either has the pressures.
TEST(TwoSpheres, NonMatchingMeshesFollowHertz) {
  constexpr double h = 1.4e-3;
  constexpr double fine = 0.016;
  constexpr double depth = 4e-3;  // a = 14 mm = 10 h
  std::printf("%16s %12s %10s %10s %8s %8s %8s\n", "h of A, B [mm]", "F [N]", "F_t/F", "F/Hertz", "a/aH", "p0/pH", "c");
  for (const auto& [h_A, h_B] : {std::pair{h, 1.37 * h}, {1.37 * h, h}}) {
    const auto two = test::two_bodies(ball(h_A, fine, 1.4, Pose{}), ball(h_B, fine, 1.4, upside_down(0.37)),
                                      {.max_penetration = 0.02});
    PairState state = approached(depth);
    state.X_AB.p += Vector3(0.3 * h, 0.2 * h, 0.0);
    const Response r = two->evaluate(*two->initial_history(), state);
    const double P = r.F_A.force.norm();
    const HertzContact exact = under_force(P);
    const double radius = std::sqrt(r.area / std::numbers::pi);
    const double c = (std::pow(P / force_at(depth), 2.0 / 3.0) * depth - depth) * E * R / (2.0 * P);
    std::printf("%8.2f %7.2f %12.3f %10.2e %10.4f %8.4f %8.4f %8.4f\n", 1e3 * h_A, 1e3 * h_B, P,
                r.F_A.force.head<2>().norm() / P, P / force_at(depth), radius / exact.radius,
                r.peak_pressure / exact.peak, c);
    EXPECT_NEAR(r.peak_pressure / exact.peak, 1.0, 0.03);
    EXPECT_NEAR(radius / exact.radius, 1.0, 0.5 * h_A / exact.radius) << "half an element, as above";
    EXPECT_NEAR(c, 0.5, 0.1) << "as in the test above";
    // The line between the centres is inclined by 0.54 mm / 200 mm.
    EXPECT_LT(r.F_A.force.head<2>().norm(), 4e-3 * P);
  }
}

/// Peak pressure over that of Hertz at equal force. @param R_pair  [m] of the pair. @param E_pair  [Pa] its modulus
double peak_over_hertz(const test::SolidBody& A, const test::SolidBody& B, const PairState& state, double R_pair,
                       double E_pair) {
  const auto two = test::two_bodies(A, B, {.max_penetration = 0.02});
  const Response r = two->evaluate(*two->initial_history(), state);
  const double P = r.F_A.force.norm();
  const double radius = std::cbrt(0.75 * P * R_pair / E_pair);
  const double peak = r.peak_pressure / (1.5 * P / (std::numbers::pi * radius * radius));
  std::printf("%10.1f N, contact radius %.2f mm, p0/pH %.4f\n", P, 1e3 * radius, peak);
  return peak;
}

// Requirement: 3 % with ten of the finer elements over the contact radius, on any meshes. The facets of the coarser
// elements, five over the radius, deform the finer surface, whose own pressure is 3 to 9 % too high.
TEST(TwoSpheres, PeakPressureOfAnyTwoMeshes) {
  constexpr double h = 1.3e-3;
  constexpr double a = 10.0 * h;
  const Vector3 pole(0.0, 0.0, -1.0);
  const Vector3 side(0.3, 0.5, -0.8);
  const auto make = [&](double size, std::uint32_t order, const Vector3& direction, const Pose& X) {
    return solid_ball(meshed_ball({.h = size, .order = order, .direction = direction}, 1.15 * a), 1.1 * a, X);
  };
  const Pose up = upside_down(0.37);
  const test::SolidBody fine_B = make(h, 1, side, up);
  const test::SolidBody coarse_B = make(2.0 * h, 1, pole, up);
  struct Case {
    const char* name;
    double size;
    std::uint32_t order;
    const test::SolidBody* B;
  };
  // By the depth of Hertz; the force, and the radius with it, then differ by a few percent.
  PairState state = approached(a * a / (0.5 * R));
  state.X_AB.p += Vector3(0.3 * h, 0.2 * h, 0.0);
  for (const Case& c : {Case{"equal", h, 1, &fine_B}, Case{"1:2", h, 1, &coarse_B}, Case{"2:1", 2.0 * h, 1, &fine_B},
                        Case{"quadratic on linear", 2.0 * h, 2, &coarse_B}}) {
    const test::SolidBody A = make(c.size, c.order, side, Pose{});
    EXPECT_NEAR(peak_over_hertz(A, *c.B, state, 0.5 * R, 0.5 * E_star), 1.0, 0.03) << c.name;
  }
}

// A stiff plane with elements as wide as the contact radius does not deform: the elements of the soft body alone
// resolve the pressure, which a mean over the elements of the plane would smooth.
TEST(TwoSpheres, StiffPartnerWithLargeElementsDoesNotSmoothThePressure) {
  constexpr double h = 1.3e-3;
  constexpr double a = 10.0 * h;
  const auto soft =
      solid_ball(meshed_ball({.h = h, .order = 1, .direction = {0.3, 0.5, -0.8}}, 1.15 * a), 1.1 * a, Pose{});
  const auto stiff =
      test::solid_body(test::block_mesh({-4.0 * a, -4.0 * a, -2.0 * a}, {4.0 * a, 4.0 * a, 0.0}, 8, 8, 2),
                       {.youngs_modulus = 1e4 * E, .poissons_ratio = nu, .density = 238.7, .set = ""}, "z0",
                       [](const Vector3& p) { return p.z() == 0.0; });
  EXPECT_NEAR(peak_over_hertz(soft, stiff, pressed(a * a / R), R, E_star), 1.0, 0.03);
}

}  // namespace
}  // namespace heelstrike::fem
