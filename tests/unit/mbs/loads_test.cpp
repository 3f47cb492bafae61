// Applied forces and torques as functions of time: tangents compared with differences, motions in closed form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "mbs_server/formulation/load_force.hpp"
#include "mbs_server/formulation/system.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using mbs::VectorX;

mbs::Load load_of_time(bool body_fixed) {
  mbs::Load load{.name = "push", .body = 0, .force = {1.0, -2.0, 0.5}, .torque = {0.1, 0.0, -0.3}};
  load.point = {0.1, -0.05, 0.2};
  load.body_fixed = body_fixed;
  load.functions[1] = make_expression("3*sin(2*t)");
  load.functions[2] = make_polynomial({0.0, 4.0});
  load.functions[3] = make_spline({0.0, 0.5, 1.0}, {0.0, 2.0, 1.0}, 3);
  return load;
}

TEST(Loads, TangentsAreTheDerivativesAtEveryTime) {
  for (const bool body_fixed : {false, true}) {
    mbs::LoadForce force(load_of_time(body_fixed));
    VectorX q(12);
    q << 0.3, -0.1, 0.2, mbs::coordinates_from_pose({.R = rotation_from_vector({0.4, -0.7, 0.3}), .p = {}}).tail<9>();
    const VectorX qd = VectorX::LinSpaced(12, -1.0, 1.0);
    for (const double t : {0.0, 0.3, 0.8}) {
      const auto forces = [&](const VectorX& x) {
        VectorX g = VectorX::Zero(12);
        mbs::EnergyTerms energy;
        force.add_forces({t, x, qd}, g, energy);
        return g;
      };
      mbs::SparseAssembler K(12, 12), C(12, 12);
      K.begin();
      C.begin();
      force.add_tangents({t, q, qd}, K, C);
      K.end();
      C.end();
      const double h = 1e-6;
      for (int i = 0; i < 12; ++i) {
        const VectorX e = VectorX::Unit(12, i) * h;
        const VectorX numeric = (forces(q + e) - forces(q - e)) / (2.0 * h);
        // Forces are quadratic in q: only rounding, 1e-16 * 10 / h.
        EXPECT_LT((Eigen::MatrixXd(K.matrix()).col(i) - numeric).cwiseAbs().maxCoeff(), 1e-8) << t << " " << i;
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

TEST(Loads, ErrorsNameTheKey) {
  const std::pair<const char*, const char*> cases[] = {
      {"{body: box, fx: {table: {times: [0, 1], values: [0, 1]}}}", "loads.push.fx.table: expected times that cover"},
      {"{body: box, fx: {table: {times: [0, 2, 1], values: [0, 1, 2]}}}", "expected increasing times"},
      {"{body: box, fx: {expression: \"2*x\"}}", "loads.push.fx.expression"},
      {"{body: box, fq: {polynomial: [1]}}", "fq"},
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
