// The Newton systems of implicit methods: (1 - gamma J) x = b with J compared with differences of the right-hand side,
// in contact, with two moving bodies, without symmetries.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "fem_server/sessions/local_contact.hpp"
#include "mbs_server/coupling/contact_force.hpp"
#include "mbs_server/coupling/coupling_scheme.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/simulation/run_problem.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

constexpr const char* scenario = R"(
heelstrike: 1
gravity: [0.1, 0.2, -9.81]
bodies:
  left: {mass: 0.5, inertia: [0.002, 0.003, 0.004], center_of_mass: [0.001, 0.002, -0.001], position: [-0.0199, 0.001, 0.002],
         velocity: [0.5, 0.1, -0.05], angular_velocity: [1, -2, 3]}
  right: {mass: 0.7, inertia: [0.003, 0.004, 0.005], position: [0.0199, -0.002, 0.001], velocity: [-0.4, 0.02, 0.1],
          angular_velocity: [-3, 1, 2]}
loads:
  push: {body: left, force: [1, 2, 3], torque: [0.1, -0.2, 0.3], point: [0.01, 0.02, 0.03], frame: body}
forces:
  relaxing: {type: viscoelastic_spring, bodies: [left, right], point: [-0.03, 0.01, 0], second_point: [0.03, -0.02, 0.01],
             stiffness: 300, branch_stiffnesses: [2000, 500], relaxation_times: [0.003, 0.05], length: 0.05}
  held: {type: viscoelastic_spring, bodies: [ground, right], point: [0.1, 0.1, 0], second_point: [0.03, 0.02, 0.01],
         stiffness: 0, branch_stiffnesses: [800], relaxation_times: [0.01]}
contact:
  pair:
    main: {body: left, surface: {sphere: {radius: 0.02, center: [0.001, 0, 0.0005]}}}
    partner: {body: right, surface: {sphere: {radius: 0.02}}}
    backend: flores
    parameters: {stiffness: 1.0e6, restitution: 0.6}
analysis: {end_time: 1}
output: {interval: 0.1}
)";

TEST(NewtonSystem, SolvesWithTheExactJacobianOfTheAccelerations) {
  const Scenario s = scenario_from(scenario);
  mbs::System system(mbs::build_model(s));
  const auto contact = fem::open_local_contact(std::vector{s.pairs[0].spec}, {}, {});
  mbs::ContactExchange exchange(system.model(), contact.get());
  mbs::ContactStates states(1);
  const auto scheme = mbs::monolithic().make(s, exchange, states);
  system.add_force(std::make_unique<mbs::ContactForce>(system.model(), exchange.kinematics(), *scheme));
  mbs::RigidContactSet rigid(system, exchange);
  mbs::RunProblem problem(system, *scheme, states, rigid, {}, std::numeric_limits<std::int64_t>::max());
  Eigen::VectorXd y = system.start_y(0.0, system.initial_q(), system.initial_qd());
  ASSERT_EQ(system.n_states(), 3);
  y.tail<3>() += Eigen::Vector3d(0.002, -0.001, 0.003);
  const auto n = system.n_q();
  const auto responses = exchange.commit(0.0, y.head(n), y.segment(n, n));
  ASSERT_LT(responses[0].gap, -1e-4);
  states.set_closed(0, true);

  const auto size = problem.size();
  Eigen::MatrixXd J(size, size);
  for (int k = 0; k < size; ++k) {
    // Fourth-order central difference; coordinates of order 0.01 to 5. Truncation h^4 = 1e-20 f'''''/30, rounding 1e-16
    // |f| / h.
    const double h = 1e-5;
    Eigen::VectorXd f[4];
    const double offsets[4] = {-2 * h, -h, h, 2 * h};
    for (int i = 0; i < 4; ++i) {
      Eigen::VectorXd shifted = y;
      shifted[k] += offsets[i];
      f[i].resize(size);
      problem.rhs(0.0, shifted, f[i]);
    }
    J.col(k) = (f[0] - 8.0 * f[1] + 8.0 * f[2] - f[3]) / (12.0 * h);
  }
  const double gamma = 1e-2;  // [s] makes gamma^2 K / m of order one, so that every block contributes
  problem.linearize(0.0, y);
  ASSERT_EQ(size, system.n_y());
  Eigen::MatrixXd J_tangent(size, size);
  for (int k = 0; k < size; ++k) J_tangent.col(k) = system.rate_change(Eigen::VectorXd::Unit(size, k));
  EXPECT_LT(gamma * (J_tangent - J).cwiseAbs().maxCoeff(), 1e-6) << "see below";
  problem.factor_newton(gamma);
  Eigen::MatrixXd residual(size, size);
  for (int k = 0; k < size; ++k) {
    Eigen::VectorXd x = Eigen::VectorXd::Unit(size, k);
    problem.solve_newton(x);
    residual.col(k) = x - gamma * J * x - Eigen::VectorXd::Unit(size, k);
  }
  // Entries of gamma J are up to about 1e3; the differences carry about 1e-10 relative.
  EXPECT_LT(residual.cwiseAbs().maxCoeff(), 1e-6);
}

// A crank that rotates with t^2 and pulls a rod: quadratic, gear and rheonomic constraints, so that every term of the
// index-2 form contributes, including Phi_tq.
constexpr const char* driven_crank = R"yaml(
heelstrike: 1
gravity: [0, -9.81, 0]
bodies:
  crank: {mass: 1, inertia: [0.01, 0.02, 0.03], position: [0.3, 0.1, 0]}
  rod: {mass: 0.5, inertia: [0.004, 0.005, 0.006], position: [0.9, 0.2, 0.1]}
  wheel: {mass: 2, inertia: [0.1, 0.1, 0.1], position: [0, 0, 0.5]}
joints:
  pin: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 0, 1]}
  eye: {type: spherical, bodies: [crank, rod], point: [0.6, 0.2, 0]}
  axle: {type: revolute, bodies: [ground, wheel], point: [0, 0, 0.5], axis: [0, 0, 1]}
  teeth: {type: gear, joints: [pin, axle], teeth: [2, -3]}
drivers:
  motor: {joint: pin, angle: {polynomial: [0, 0.4, 1]}}
  lift: {body: rod, z: {expression: "0.1 + 0.05*sin(3*t)"}}
forces:
  spring: {type: spring_damper, bodies: [ground, rod], point: [2, 0, 0], second_point: [1.2, 0.3, 0.2], stiffness: 20, damping: 3}
  relaxing: {type: viscoelastic_spring, bodies: [crank, rod], point: [0.2, 0.4, 0.1], second_point: [1.1, 0.1, 0.3],
             stiffness: 30, branch_stiffnesses: [50, 20], relaxation_times: [0.02, 0.3], length: 0.5}
analysis: {end_time: 1}
output: {interval: 0.1}
)yaml";

TEST(IndexTwoForm, NewtonMatrixIsExactWithDrivers) {
  const Scenario s = scenario_from(driven_crank);
  mbs::System system(mbs::build_model(s));
  mbs::GglForm form(system);
  const auto n = system.n_q();
  const int m = system.n_constraints();
  Eigen::VectorXd x = Eigen::VectorXd::LinSpaced(form.size(), -0.7, 0.9);
  x.head(n) = system.initial_q();
  x.tail(m) *= 0.1;
  const Eigen::VectorXd xd = Eigen::VectorXd::LinSpaced(form.size(), 0.3, -0.4);
  const double t = 0.2;
  const double c = 30.0;  // [1/s]
  const auto size = form.size();
  Eigen::MatrixXd A(size, size);
  for (int k = 0; k < size; ++k) {
    const double h = 1e-5;  // truncation h^2 of cubic terms, rounding 1e-15 / h
    const Eigen::VectorXd e = h * Eigen::VectorXd::Unit(size, k);
    Eigen::VectorXd plus(size), minus(size);
    form.residual(t, x + e, xd + c * e, plus);
    form.residual(t, x - e, xd - c * e, minus);
    A.col(k) = (plus - minus) / (2.0 * h);
  }
  form.factor(t, x, c);
  Eigen::MatrixXd residual(size, size);
  for (int k = 0; k < size; ++k) {
    Eigen::VectorXd b = A.col(k);
    form.solve(b);
    residual.col(k) = b - Eigen::VectorXd::Unit(size, k);
  }
  EXPECT_LT(residual.cwiseAbs().maxCoeff(), 1e-5);
}

}  // namespace
}  // namespace heelstrike::test
