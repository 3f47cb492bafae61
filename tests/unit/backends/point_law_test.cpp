// Stiffness from radii and materials, parameters, rules of the history and estimates of the point laws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numbers>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/hysteresis.hpp"
#include "fem_server/backends/point_laws/point_contact.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "tests/unit/backends/example_pairs.hpp"

namespace heelstrike::fem {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::example_geometries;
using testing_support::example_pair;
using testing_support::make_example;

Material metal(double E) {
  return {.youngs_modulus = E, .poissons_ratio = 0.3, .density = 0.0, .set = {}};
}

PairSpec spheres(double radius_A, double radius_B, double E) {
  PairSpec pair;
  pair.name = "spheres";
  pair.backend = "hertz";
  pair.main = {
      .name = "A", .surface = SphereSurface{.radius = radius_A, .center = Vector3::Zero()}, .materials = {metal(E)}};
  pair.partner = {
      .name = "B", .surface = SphereSurface{.radius = radius_B, .center = Vector3::Zero()}, .materials = {metal(E)}};
  return pair;
}

double derived(const PairSpec& pair) {
  return number(make_example(pair)->traits().parameters, "stiffness");
}

std::string message_of(const PairSpec& pair) {
  try {
    (void)make_example(pair);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "accepted";
}

// Five printed digits.
TEST(Stiffness, FollowsGoldsmith) {
  EXPECT_NEAR(derived(spheres(0.02, 0.02, 75e9)), 5.4945e9, 5e4);
  EXPECT_NEAR(derived(spheres(0.0085, 0.0085, 200e9)), 9.5519e9, 5e4);
  EXPECT_NEAR(derived(spheres(0.02, 0.025, 207e9)), 1.5985e10, 5e5);
  EXPECT_NEAR(derived(spheres(0.02, -0.025, 207e9)), 4.7955e10, 5e5);
  EXPECT_NEAR(derived(spheres(-0.025, 0.02, 207e9)), 4.7955e10, 5e5);
  PairSpec plane = spheres(0.02, 0.02, 207e9);
  plane.partner.surface = PlaneSurface{};
  EXPECT_NEAR(derived(plane), 2.1446e10, 5e5);
}

// A rigid partner contributes no compliance: twice the stiffness of two equal bodies.
TEST(Stiffness, RigidPartner) {
  PairSpec pair = spheres(0.02, 0.02, 75e9);
  const double both = derived(pair);
  pair.partner.materials.clear();
  EXPECT_NEAR(derived(pair), 2.0 * both, 1e-12 * both);
}

TEST(Stiffness, GivenValueHasPrecedence) {
  PairSpec pair = spheres(0.02, 0.02, 75e9);
  pair.parameters["stiffness"] = 3e9;
  EXPECT_EQ(derived(pair), 3e9);
}

TEST(Stiffness, ReportsTheMissingInput) {
  PairSpec pair = spheres(0.02, 0.02, 75e9);
  pair.main.materials.clear();
  pair.partner.materials.clear();
  EXPECT_THAT(message_of(pair), AllOf(HasSubstr("contact.spheres.parameters.stiffness"), HasSubstr("N/m^1.5"),
                                      HasSubstr("youngs_modulus")));
  pair.main.materials = {metal(75e9)};
  pair.parameters["exponent"] = 2.0;
  EXPECT_THAT(message_of(pair), AllOf(HasSubstr("exponent 2"), HasSubstr("N/m^2")));
  pair.parameters.clear();
  pair.main.materials = {metal(75e9), metal(1e9)};
  EXPECT_THAT(message_of(pair), HasSubstr("one material"));
  pair.main.materials = {metal(-1.0)};
  EXPECT_THAT(message_of(pair), HasSubstr("-1 Pa"));
  pair.backend = "hooke";
  EXPECT_THAT(message_of(pair), AllOf(HasSubstr("stiffness"), HasSubstr("N/m")));
}

TEST(PointLaw, RejectsInvalidGeometry) {
  EXPECT_THAT(message_of(spheres(0.02, -0.02, 75e9)), AllOf(HasSubstr("wider"), HasSubstr("-0.02")));
  EXPECT_THAT(message_of(spheres(-0.02, -0.03, 75e9)), HasSubstr("convex"));
  EXPECT_THAT(message_of(spheres(0.0, 0.03, 75e9)), HasSubstr("radius 0 m"));
  PairSpec socket_on_plane = spheres(-0.02, 0.02, 75e9);
  socket_on_plane.partner.surface = PlaneSurface{};
  EXPECT_THAT(message_of(socket_on_plane), HasSubstr("socket"));
  PairSpec long_normal = spheres(0.02, 0.02, 75e9);
  long_normal.partner.surface = PlaneSurface{.normal = {0, 0, 2}, .point = Vector3::Zero()};
  EXPECT_THAT(message_of(long_normal), AllOf(HasSubstr("unit length"), HasSubstr("length 2")));
}

TEST(PointLaw, RejectsParametersOutOfRange) {
  PairSpec pair = example_pair("flores", example_geometries()[0]);
  for (const double c_r : {0.0, -0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    pair.parameters["restitution"] = c_r;
    EXPECT_THAT(message_of(pair), AllOf(HasSubstr("contact.example.parameters.restitution"), HasSubstr("in (0, 1]")));
  }
  pair.parameters["restitution"] = 0.5;
  pair.parameters["stiffness"] = -1.0;
  EXPECT_THAT(message_of(pair), HasSubstr("> 0"));
  pair.parameters["stiffness"] = 1e6;
  pair.parameters["restitutoin"] = 0.5;
  EXPECT_THAT(message_of(pair), HasSubstr("did you mean 'restitution'?"));
}

TEST(PointLaw, ReportsDerivedParameters) {
  const auto parameters = make_example(example_pair("flores", example_geometries()[0]))->traits().parameters;
  EXPECT_EQ(number(parameters, "exponent"), 1.5);
  EXPECT_EQ(number(parameters, "min_approach_velocity"), 1e-3);
  EXPECT_NEAR(number(parameters, "hysteresis_factor"), 1.0666666666666667, 1e-15);
  EXPECT_NEAR(number(parameters, "effective_restitution"), 0.5773, 5e-5);
}

TEST(PointLaw, GonthierFormIsSelectable) {
  PairSpec pair = example_pair("gonthier", example_geometries()[0]);
  EXPECT_EQ(number(make_example(pair)->traits().parameters, "hysteresis_factor"), gonthier_factor(0.6));
  pair.parameters["hysteresis_factor_form"] = std::string("approximate");
  EXPECT_EQ(number(make_example(pair)->traits().parameters, "hysteresis_factor"), (1.0 - 0.6) * (1.0 + 0.6) / 0.6);
}

// p0 = 3 F / (2 pi a^2), a^2 = R d.
TEST(PointLaw, HertzEstimates) {
  const auto pair = example_pair("hertz", example_geometries()[2]);
  const auto backend = make_example(pair);
  const Response r = backend->evaluate(*backend->initial_history(),
                                       testing_support::placed(pair, example_geometries()[2].X_AB, 1e-4, 0.0));
  const double R = 0.1 * 0.06 / 0.16;
  const double area = std::numbers::pi * R * 1e-4;
  EXPECT_NEAR(r.area, area, 1e-9 * area);
  EXPECT_NEAR(r.F_A.force.norm(), 1.4e8 * 1e-6, 1e-9 * 140);
  EXPECT_NEAR(r.peak_pressure, 1.5 * 140 / area, 1e-9 * 140 / area);
  EXPECT_NEAR(r.mean_pressure(), 140 / area, 1e-9 * 140 / area);
  EXPECT_NEAR(r.stored_energy, 1.4e8 * 1e-10 / 2.5, 1e-12);
}

/// A ball of radius 0.1 m over the ground; gap and approach velocity [m, m/s] are arbitrary. Gaps of binary fractions
/// are exact.
class ApproachVelocity : public testing::Test {
 protected:
  ApproachVelocity() {
    pair.name = "ball-ground";
    pair.backend = "hunt_crossley";
    pair.parameters = {{"stiffness", 1e8}, {"restitution", 0.5}};
    pair.main.surface = SphereSurface{.radius = 0.125, .center = Vector3::Zero()};
    pair.partner.surface = PlaneSurface{};
    backend = make_example(pair);
    history = backend->initial_history();
  }

  void commit(double gap, double closing) { history = backend->commit(*history, state(gap, closing)).history; }

  static PairState state(double gap, double closing) {
    return {.t = 0.0,
            .X_AB = {.R = Matrix3::Identity(), .p = {0, 0, -0.125 - gap}},
            .V_AB = {.w = Vector3::Zero(), .v = {0, 0, closing}}};
  }

  [[nodiscard]] std::optional<double> latched() const { return PointHistory::from(*history).approach_velocity; }

  PairSpec pair;
  std::unique_ptr<ContactBackend> backend;
  std::shared_ptr<const History> history;
};

constexpr double tiny = 0x1p-40;  // [m] about 1e-12

TEST_F(ApproachVelocity, IsStoredAtOnsetAndClearedAtSeparation) {
  commit(0.25, 2.0);
  EXPECT_EQ(latched(), std::nullopt) << "still apart";
  commit(-tiny, 2.5);
  EXPECT_EQ(latched(), 2.5) << "onset";
  commit(-1e-3, 1.0);
  EXPECT_EQ(latched(), 2.5) << "compression keeps the value of the onset";
  commit(-1e-3, -1.0);
  EXPECT_EQ(latched(), 2.5) << "restitution";
  commit(0.0, -0.5);
  EXPECT_EQ(latched(), std::nullopt) << "separation at gap 0";
  commit(0.0, 0.75);
  EXPECT_EQ(latched(), 0.75) << "onset at gap 0";
  commit(tiny, -0.5);
  EXPECT_EQ(latched(), std::nullopt);
}

// Requirement: bodies at rest with zero gap are in contact; separating bodies with zero gap are not.
TEST_F(ApproachVelocity, ZeroGapIsAnOnsetUnlessSeparating) {
  commit(0.0, -1.0);
  EXPECT_EQ(latched(), std::nullopt);
  commit(0.0, 0.0);
  EXPECT_EQ(latched(), 1e-3);
  commit(0.0, -1.0);
  EXPECT_EQ(latched(), std::nullopt);
}

TEST_F(ApproachVelocity, SlowOnsetIsRaisedToTheMinimum) {
  commit(-tiny, 1e-7);
  EXPECT_EQ(latched(), 1e-3);
}

TEST_F(ApproachVelocity, InitialPenetrationAtRestStoresTheMinimum) {
  commit(-1e-4, 0.0);
  EXPECT_EQ(latched(), 1e-3);
  commit(-1e-4, 5.0);
  EXPECT_EQ(latched(), 1e-3) << "one contact, one approach speed";
}

// F = K d^n (1 + H d'/v0), H = 0.75: the factor reveals the v0 that was used.
TEST_F(ApproachVelocity, CurrentVelocityIsUsedWithoutAStoredValue) {
  const double elastic = 1e8 * std::pow(1e-4, 1.5);
  const auto factor = [&](double closing) {
    return backend->evaluate(*history, state(-1e-4, closing)).F_A.force.z() / elastic;
  };
  EXPECT_NEAR(factor(3.0), 1.75, 1e-9);
  EXPECT_NEAR(factor(5e-4), 1.375, 1e-9);
  EXPECT_NEAR(factor(-5e-4), 0.625, 1e-9);
  EXPECT_EQ(factor(-1.0), 0.0) << "cut: no adhesion";
  commit(-tiny, 3.0);
  EXPECT_NEAR(factor(1.5), 1.375, 1e-9);
}

TEST_F(ApproachVelocity, MinimumIsAParameter) {
  pair.parameters["min_approach_velocity"] = 0.5;
  backend = make_example(pair);
  commit(-tiny, 0.25);
  EXPECT_EQ(latched(), 0.5);
}

// Parts of the cut-off phase: all energy released by the spring is dissipated.
TEST_F(ApproachVelocity, TensileCutOffDissipatesTheStoredEnergy) {
  commit(-tiny, 0.1);
  const Response r = backend->evaluate(*history, state(-1e-4, -1.0));
  const double elastic = 1e8 * std::pow(1e-4, 1.5);
  EXPECT_EQ(r.F_A.force.norm(), 0.0);
  EXPECT_NEAR(r.dissipated_power, elastic * 1.0, 1e-9 * elastic);
}

TEST(KelvinVoigt, TensileForceIsCutOffByDefault) {
  PairSpec pair = example_pair("kelvin_voigt", example_geometries()[0]);
  const PairState opening = testing_support::placed(pair, example_geometries()[0].X_AB, 1e-6, -1.0);
  const auto force = [&] {
    const auto backend = make_example(pair);
    const Response r = backend->evaluate(*backend->initial_history(), opening);
    // On A along the outward normal of the plane: positive pushes.
    return r.F_A.force.dot(opening.X_AB.R * PlaneSurface::of(pair.partner.surface).value().normal);
  };
  EXPECT_EQ(force(), 0.0);
  pair.parameters["tensile_phase"] = std::string("keep");
  EXPECT_NEAR(force(), 1e6 * 1e-6 - 50.0 * 1.0, 1e-6);
}

TEST(PointLaw, HasNoFields) {
  const auto backend = make_example(example_pair("hertz", example_geometries()[0]));
  try {
    (void)backend->fields(*backend->initial_history(), {}, {});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unimplemented);
  }
}

}  // namespace
}  // namespace heelstrike::fem
