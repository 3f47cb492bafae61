// Applied forces and torques as functions of time: tangents compared with differences, motions in closed form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "mbs_server/formulation/load_force.hpp"
#include "mbs_server/formulation/system.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using mbs::VectorX;

mbs::Load load_of_time() {
  mbs::Load load{.name = "push", .body = 0, .force = {1.0, -2.0, 0.5}, .torque = {0.1, 0.0, -0.3}};
  load.point = {0.1, -0.05, 0.2};
  load.functions[1] = make_expression("3*sin(2*t)");
  load.functions[2] = make_polynomial({0.0, 4.0});
  load.functions[3] = make_spline({0.0, 0.5, 1.0}, {0.0, 2.0, 1.0}, 3);
  return load;
}

TEST(Loads, TangentsAreTheDerivativesAtEveryTime) {
  // Body 0 is loaded; axes and point belong to it, to another body, to one other for both, or to the world.
  struct Frames {
    mbs::BodyIndex axes;
    std::optional<mbs::BodyIndex> point;
  };
  for (const Frames frames : {Frames{mbs::ground, {}}, Frames{0, {}}, Frames{mbs::ground, mbs::ground},
                              Frames{1, mbs::ground}, Frames{0, 1}, Frames{1, 1}, Frames{2, 1}}) {
    mbs::Load load = load_of_time();
    load.axes_body = frames.axes;
    load.point_body = frames.point;
    load.functions[6] = make_expression("0.3*t");
    load.functions[8] = make_expression("0.1*cos(t)");
    mbs::LoadForce force(load);
    VectorX q(36);
    q << 0.3, -0.1, 0.2, mbs::coordinates_from_pose({.R = rotation_from_vector({0.4, -0.7, 0.3}), .p = {}}).tail<9>(),
        mbs::coordinates_from_pose({.R = rotation_from_vector({-0.2, 0.9, 0.5}), .p = {0.2, 0.1, -0.4}}),
        mbs::coordinates_from_pose({.R = rotation_from_vector({1.1, 0.2, -0.6}), .p = {-0.5, 0.3, 0.1}});
    const VectorX qd = VectorX::LinSpaced(36, -1.0, 1.0);
    for (const double t : {0.0, 0.3, 0.8}) {
      const auto forces = [&](const VectorX& x) {
        VectorX g = VectorX::Zero(36);
        mbs::EnergyTerms energy;
        force.add_forces({t, x, qd}, g, energy);
        return g;
      };
      mbs::SparseAssembler K(36, 36), C(36, 36);
      K.begin();
      C.begin();
      force.add_tangents({t, q, qd}, K, C);
      K.end();
      C.end();
      const double h = 1e-6;
      for (int i = 0; i < 36; ++i) {
        const VectorX e = VectorX::Unit(36, i) * h;
        const VectorX numeric = (forces(q + e) - forces(q - e)) / (2.0 * h);
        // Forces are cubic in q, with third derivatives below 1e2: rounding, 1e-16 * 10 / h, prevails.
        EXPECT_LT((Eigen::MatrixXd(K.matrix()).col(i) - numeric).cwiseAbs().maxCoeff(), 1e-8)
            << t << " " << i << " " << frames.axes << " " << frames.point.value_or(0);
      }
      EXPECT_EQ(C.matrix().nonZeros(), 0);
    }
  }
}

std::string free_body(const std::string& load) {
  return R"(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  box: {mass: 2.0, inertia: [0.3, 0.2, 0.1]}
loads:
  push: )" +
         load + R"(
analysis: {end_time: 2, integrator: {rtol: 1.0e-10, atol: 1.0e-12}}
output: {interval: 0.25}
)";
}

TEST(Loads, EveryKindOfFunctionFollowsItsClosedForm) {
  struct Case {
    const char* load;
    const char* column;
    double (*expected)(double);
    double tolerance;
  };
  // Forces of 2 kg; errors of the integration at rtol 1e-10 over 2 s stay below 1e-7.
  const Case cases[] = {
      {"{body: box, fz: {expression: \"2*cos(t)\"}}", "box.z_m", [](double t) { return 1.0 - std::cos(t); }, 1e-7},
      {"{body: box, force: [2, 0, 0], fx: {polynomial: [0, 6]}}", "box.x_m",
       [](double t) { return 0.5 * t * t + 0.5 * t * t * t; }, 1e-7},
      // A cubic spline through a straight line is the line.
      {"{body: box, fy: {table: {times: [0, 0.7, 2], values: [0, 0.7, 2], scale: 12}}}", "box.y_m",
       [](double t) { return t * t * t; }, 1e-7},
      {"{body: box, frame: body, tz: {expression: \"0.1*exp(-t)\"}}", "box.wz_rad_s",
       [](double t) { return 1.0 - std::exp(-t); }, 1e-7},
  };
  for (const Case& c : cases) {
    const auto run = run_local(scenario_from(free_body(c.load)));
    ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
    const auto t = run.column("time_s");
    const auto x = run.column(c.column);
    ASSERT_GE(t.size(), 9U);
    for (std::size_t i = 0; i < t.size(); ++i) {
      EXPECT_NEAR(x[i], c.expected(t[i]), c.tolerance) << c.load << " at t = " << t[i];
    }
    // The work of the load is the energy gained by the body.
    EXPECT_NEAR(run.summary.energy.balance_error, 0.0, 1e-7 * (1.0 + run.summary.energy.final)) << c.load;
  }
}

TEST(Loads, BodyFixedForceRotatesWithItsBody) {
  // Constant spin W about z with 1 N along the body's x: m a = (cos W t, sin W t).
  const std::string text = free_body("{body: box, frame: body, fx: {polynomial: [2]}}");
  for (const char* integrator : {"cvode_index1", "ida_ggl", "arkode_dirk"}) {
    const auto run = run_local(scenario_from(
        text, {"bodies.box.angular_velocity=[0, 0, 3]", std::string("analysis.integrator.name=") + integrator}));
    ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
    const auto t = run.column("time_s");
    const auto x = run.column("box.x_m");
    for (std::size_t i = 0; i < t.size(); ++i)
      EXPECT_NEAR(x[i], (1.0 - std::cos(3.0 * t[i])) / 9.0, 1e-7) << integrator;
  }
}

TEST(Loads, ForceAtAPointOfTheWorldHasItsMomentAboutTheBody) {
  // The point moves along x as 0.1 t in the world, the box of 2 kg with 1 N along y by t^2/4 along y, and turns about
  // z: the point has no arm along y that matters, because the force is along y. I alpha = 0.1 t * 1, from rest.
  const auto run = run_local(
      scenario_from(free_body("{body: box, point_frame: world, px: {polynomial: [0, 0.1]}, force: [0, 1, 0]}")));
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  const auto t = run.column("time_s");
  const auto w = run.column("box.wz_rad_s");
  for (std::size_t i = 0; i < t.size(); ++i) EXPECT_NEAR(w[i], 0.05 * t[i] * t[i] / 0.1, 1e-7) << t[i];
}

TEST(Loads, FramesOfAnotherBodyAreThoseOfItsName) {
  // The plate spins about z with 3 rad/s; force and point turn with it, and the box does not turn with the force at its
  // own origin: m a = (cos 3t, sin 3t).
  std::string text = free_body("{body: box, frame: plate, force: [2, 0, 0]}");
  text.insert(text.find("loads:"), "  plate: {mass: 1.0, inertia: [1, 1, 1], angular_velocity: [0, 0, 3]}\n");
  const auto run = run_local(scenario_from(text));
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  const auto t = run.column("time_s");
  const auto x = run.column("box.x_m");
  for (std::size_t i = 0; i < t.size(); ++i) EXPECT_NEAR(x[i], (1.0 - std::cos(3.0 * t[i])) / 9.0, 1e-7);
}

TEST(Loads, ErrorsNameTheKey) {
  const std::pair<const char*, const char*> cases[] = {
      {"{body: box, fx: {table: {times: [0, 1], values: [0, 1]}}}", "loads.push.fx.table: expected times that cover"},
      {"{body: box, fx: {table: {times: [0, 2, 1], values: [0, 1, 2]}}}", "expected increasing times"},
      {"{body: box, fx: {expression: \"2*x\"}}", "loads.push.fx.expression"},
      {"{body: box, fq: {polynomial: [1]}}", "fq"},
      {"{body: box, frame: bix}",
       "loads.push.frame: expected `world`, `body`, or the name of a body (box), found 'bix'"},
      {"{body: box, point_frame: ground}", "loads.push.point_frame: expected `world`"},
  };
  for (const auto& [load, expected] : cases) {
    try {
      (void)scenario_from(free_body(load));
      ADD_FAILURE() << load << " was accepted";
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr(expected));
      EXPECT_THAT(e.what(), ::testing::HasSubstr("test.yaml:6")) << "the line of the load";
    }
  }
}

}  // namespace
}  // namespace heelstrike::test
