// Fully Cartesian coordinates of one body, compared with Newton-Euler.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {
namespace {

Body asymmetric_body() {
  Body body;
  body.name = "body";
  body.mass_properties = {.mass = 2.0,
                          .center_of_mass = Vector3::Zero(),
                          .inertia = Vector3(0.02, 0.03, 0.04).asDiagonal().toDenseMatrix()};
  body.X_WB.R = Eigen::AngleAxisd(0.3, Vector3::UnitZ()).toRotationMatrix();
  body.X_WB.p = {0.1, 0.2, 0.3};
  body.V_WB.w = body.X_WB.R * Vector3(1.0, 2.0, 3.0);
  return body;
}

// Values of an independent calculation with ten digits: differences below 1e-10 are its rounding. Its multipliers are
// not compared: it applies point forces instead of a wrench, and the two differ by a part that only loads the
// rigid-body constraints.
TEST(CartesianCoordinates, AccelerationsOfASpinningLoadedBody) {
  Model model;
  model.gravity = {0.0, 0.0, -9.81};
  model.bodies = {asymmetric_body()};
  model.loads = {{.body = 0, .force = {0.0, 0.0, 5.0}, .torque = Vector3::Zero(), .point = {0.1, -0.05, -0.02}}};
  System system(model);
  const VectorX found = system.accelerations({0.0, system.initial_q(), system.initial_qd()}).qdd;

  Vector12 qdd;
  qdd << 0, 0, -7.31, -12.8626546686, -2.4087579529, 17.6666666667, 5.3435432894, -8.8145643746, -9.5, -17.4992768164,
      17.0919987718, -5;
  EXPECT_LT((found - qdd).cwiseAbs().maxCoeff(), 1e-9) << found.transpose();

  const Twist acceleration = acceleration_from_rates(system.initial_q(), system.initial_qd(), found);
  const Vector3 alpha_B = model.bodies[0].X_WB.R.transpose() * acceleration.w;
  EXPECT_LT((alpha_B - Vector3(-15.5, -14.6666666667, -0.5)).norm(), 1e-9) << alpha_B.transpose();
}

// A centre of mass away from the origin: F = m a_C and the moment equation about the centre of mass.
TEST(CartesianCoordinates, OffsetCentreOfMassObeysNewtonEuler) {
  Model model;
  model.gravity = {0.3, -0.2, -9.81};
  Body body = asymmetric_body();
  body.mass_properties.center_of_mass = {0.05, -0.03, 0.02};
  body.V_WB.v = {0.4, -0.7, 0.2};
  model.bodies = {body};
  model.loads = {{.body = 0, .force = {3.0, -1.0, 5.0}, .torque = {0.1, 0.2, -0.3}, .point = {0.1, -0.05, -0.02}}};
  System system(model);
  const VectorX q = system.initial_q();
  const VectorX qd = system.initial_qd();
  const Twist A = acceleration_from_rates(q, qd, system.accelerations({0.0, q, qd}).qdd);

  const Matrix3& R = body.X_WB.R;
  const Vector3 w = body.V_WB.w;
  const Vector3 c = R * body.mass_properties.center_of_mass;
  const Vector3 a_C = A.v + A.w.cross(c) + w.cross(w.cross(c));
  const Matrix3 I = R * body.mass_properties.inertia * R.transpose();
  const auto& load = model.loads[0];
  const Vector3 force_error = 2.0 * (a_C - model.gravity) - load.force;
  const Vector3 moment = load.torque + (R * load.point - c).cross(load.force);
  const Vector3 moment_error = I * A.w + w.cross(I * w) - moment;
  EXPECT_LT(force_error.norm(), 1e-13);
  EXPECT_LT(moment_error.norm(), 1e-13);
}

TEST(CartesianCoordinates, MassMatrixGivesTheKineticEnergyOfPointMasses) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  MassProperties properties;
  std::vector<std::pair<double, Vector3>> points;
  for (int i = 0; i < 7; ++i)
    points.emplace_back(1.5 + uniform(random), Vector3(uniform(random), uniform(random), uniform(random)));
  for (const auto& [m, p] : points) {
    properties.mass += m;
    properties.center_of_mass += m * p;
  }
  properties.center_of_mass /= properties.mass;
  for (const auto& [m, p] : points) {
    const Vector3 s = p - properties.center_of_mass;
    properties.inertia += m * (s.squaredNorm() * Matrix3::Identity() - s * s.transpose());
  }
  Body body = asymmetric_body();
  body.mass_properties = properties;
  body.V_WB = {.w = {0.3, -1.1, 0.7}, .v = {0.2, 0.5, -0.4}};
  Model model;
  model.bodies = {body};
  const System system(model);
  double expected = 0.0;
  for (const auto& [m, p] : points) expected += 0.5 * m * point_velocity(body.V_WB, body.X_WB.R * p).squaredNorm();
  EXPECT_NEAR(system.kinetic_energy(system.initial_qd()), expected, 1e-14 * expected * 10);
}

TEST(MassProperties, RejectsInvalidValues) {
  const auto expect_rejected_inertia = [](double mass, const Vector3& principal) {
    const MassProperties p{
        .mass = mass, .center_of_mass = Vector3::Zero(), .inertia = principal.asDiagonal().toDenseMatrix()};
    EXPECT_ANY_THROW(p.check("body")) << mass << " " << principal.transpose();
  };
  expect_rejected_inertia(0.0, {1, 1, 1});
  expect_rejected_inertia(-1.0, {1, 1, 1});
  expect_rejected_inertia(1.0, {1, 1, 0});
  expect_rejected_inertia(1.0, {1, 1, 2.1});
  const MassProperties plate{
      .mass = 1, .center_of_mass = Vector3::Zero(), .inertia = Vector3(1, 1, 2).asDiagonal().toDenseMatrix()};
  EXPECT_NO_THROW(plate.check("plate"));
}

}  // namespace
}  // namespace heelstrike::mbs
