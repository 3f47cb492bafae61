// Muscles: curves of the sources, derivatives compared with differences, equilibria, activation, input errors.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "gait/motion_columns.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/elements/forces/hill_muscle.hpp"
#include "mbs_server/formulation/system.hpp"
#include "mbs_server/simulation/coupled_model.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::mbs {
namespace {

using testing::AllOf;
using testing::HasSubstr;

HillMuscle soleus(std::shared_ptr<const MuscleCurves> curves = millard_curves()) {
  return {.max_force = 3000.0,
          .optimal_length = 0.05,
          .slack_length = 0.25,
          .pennation = 0.4,
          .max_velocity = 10.0,
          .fiber_damping = 0.1,
          .curves = std::move(curves)};
}

template <typename F>
double slope_of(const F& f, double x, double h = 1e-6) {
  return (f(x + h) - f(x - h)) / (2.0 * h);
}

TEST(MuscleCurves, InterpolateThePointsOfTheirSources) {
  const auto curves = millard_curves();
  const auto& millard = *curves;
  // Softer passive fibres, as those of the quadriceps of [lenhart2015].
  EXPECT_NEAR(millard_curves({.passive = 2.0})->passive(3.0).value, 1.0, 1e-12);
  EXPECT_NEAR(thelen_curves({.passive = 0.5})->passive(1.5).value, 1.0, 1e-12);
  EXPECT_EQ(millard.active(1.0).value, 1.0);
  EXPECT_EQ(millard.active(0.4441).value, 0.0);
  EXPECT_EQ(millard.active(1.9).value, 0.0);
  // The shallow part of the ascent has its slope through (0.73, 1 - 0.8616 (0.95 - 0.73)).
  EXPECT_NEAR(millard.active(0.84).slope, 0.8616, 0.02);
  EXPECT_EQ(millard.passive(0.9).value, 0.0);
  EXPECT_NEAR(millard.passive(1.7).value, 1.0, 1e-12);
  EXPECT_NEAR(millard.passive(1.8).value, 1.0 + 0.1 * 2.0 / 0.7, 1e-12);
  EXPECT_NEAR(millard.velocity(0.0, 1.0).value, 1.0, 1e-12);
  EXPECT_NEAR(millard.velocity(0.0, 1.0).slope, 5.0, 1e-9);
  EXPECT_EQ(millard.velocity(-1.0, 1.0).value, 0.0);
  EXPECT_EQ(millard.velocity(2.0, 1.0).value, 1.4);
  EXPECT_NEAR(millard.tendon(0.049).value, 1.0, 1e-12);
  EXPECT_EQ(millard.tendon(-0.01).value, 0.0);
  const auto others = thelen_curves();
  const auto& thelen = *others;
  EXPECT_EQ(thelen.active(1.0).value, 1.0);
  EXPECT_NEAR(thelen.passive(1.6).value, 1.0, 1e-12);
  EXPECT_NEAR(thelen.tendon(0.04).value, 1.0, 1e-12);
  EXPECT_EQ(thelen.velocity(0.0, 0.3).value, 1.0);
  EXPECT_NEAR(millard_curves({.tendon = 0.1})->tendon(0.1).value, 1.0, 1e-12);
  EXPECT_NEAR(thelen_curves({.tendon = 0.033})->tendon(0.033).value, 1.0, 1e-12);
  // The maximum velocity is lower where less of the muscle is active.
  EXPECT_EQ(thelen.velocity(-0.4, 0.2).value, 0.0);
  EXPECT_GT(thelen.velocity(-0.4, 1.0).value, 0.0);
}

/// Tables of a few points; the slopes of a spline need no more.
CurveTables some_tables() {
  return {.active = make_table({0.4, 0.7, 1.0, 1.3, 1.6}, {0.05, 0.6, 1.0, 0.6, 0.05}, Joining::spline),
          .tendon = make_table({0.0, 0.01, 0.02, 0.05, 0.1}, {0.0, 0.15, 0.5, 1.8, 4.0}, Joining::spline)};
}

TEST(MuscleCurves, DeGrooteHasThePointsOfItsSource) {
  const auto curves = degroote_curves({.passive = 0.5, .tendon = 0.06});
  EXPECT_NEAR(curves->tendon(0.06).value, 1.0, 1e-12);
  EXPECT_EQ(curves->tendon(0.0).value, 0.0);
  EXPECT_NEAR(curves->passive(1.5).value, 1.0, 1e-12);
  EXPECT_NEAR(curves->passive(0.2).value, 0.0, 1e-15);
  // The constants of the source are fitted: about one at the optimal length and at rest, nothing at the fastest
  // shortening.
  EXPECT_NEAR(curves->active(1.0).value, 1.0, 0.01);
  EXPECT_NEAR(curves->velocity(0.0, 1.0).value, 1.0, 0.01);
  EXPECT_NEAR(curves->velocity(-1.0, 1.0).value, 0.0, 0.01);
}

// Hill's hyperbola with a curvature of 0.15 while it shortens, a limit of 1.4 while it lengthens, and both equal to one
// at rest.
TEST(MuscleCurves, SchutteHasTheVelocityOfItsSource) {
  const auto curves = schutte_curves(some_tables());
  EXPECT_EQ(curves->velocity(-1.0, 1.0).value, 0.0);
  EXPECT_EQ(curves->velocity(0.0, 1.0).value, 1.0);
  EXPECT_NEAR(curves->velocity(-1e-9, 1.0).value, 1.0, 1e-7);
  EXPECT_NEAR(curves->velocity(-0.15, 1.0).value, 0.15 * 0.85 / 0.3, 1e-12);
  EXPECT_NEAR(curves->velocity(1e6, 1.0).value, 1.4, 1e-7);
  EXPECT_NEAR(curves->passive(1.5).value, 1.0, 1e-12);
  EXPECT_EQ(curves->tendon(-0.1).value, 0.0);
  EXPECT_NEAR(curves->tendon(0.05).value, 1.8, 1e-12);
}

TEST(MuscleCurves, SlopesAreDerivatives) {
  for (const auto& c : {millard_curves(), thelen_curves(), degroote_curves(), schutte_curves(some_tables())}) {
    for (int i = 0; i < 200; ++i) {
      // Away from the joints of the pieces.
      const double x = 0.3003 + 0.0101 * i;
      const double v = -1.3 + 0.0133 * i;
      const double e = -0.01 + 0.000413 * i;
      EXPECT_NEAR(c->active(x).slope, slope_of([&](double y) { return c->active(y).value; }, x), 2e-5) << x;
      EXPECT_NEAR(c->passive(x).slope, slope_of([&](double y) { return c->passive(y).value; }, x), 2e-4) << x;
      EXPECT_NEAR(c->velocity(v, 0.6).slope, slope_of([&](double y) { return c->velocity(y, 0.6).value; }, v), 2e-5)
          << v;
      EXPECT_NEAR(c->velocity(v, 0.6).by_activation, slope_of([&](double a) { return c->velocity(v, a).value; }, 0.6),
                  2e-5)
          << v;
      EXPECT_NEAR(c->tendon(e).slope, slope_of([&](double y) { return c->tendon(y).value; }, e, 1e-7), 2e-3) << e;
    }
  }
}

TEST(HillMuscle, IsometricForcesFollowTheCurves) {
  const HillMuscle m = soleus();
  const double length = m.slack_length + m.optimal_length * std::cos(m.pennation);
  const auto full = m.with_rigid_tendon(length, 0.0, 1.0);
  EXPECT_NEAR(full.tension.force, 3000.0 * std::cos(0.4), 1e-9);
  EXPECT_NEAR(full.fiber, 0.05, 1e-15);
  // An elastic tendon in equilibrium with its fibres has their force.
  for (const double a : {0.05, 0.5, 1.0}) {
    for (const double l : {0.27, 0.29, 0.31, 0.33}) {
      const double n = m.solve_fiber_equilibrium(l, a);
      EXPECT_NEAR(m.fiber_rate(l, n, a).rate, 0.0, 1e-9) << a << " " << l;
      const double cosine = std::sqrt(1.0 - std::pow(std::sin(m.pennation) / n, 2));
      const double fibers = 3000.0 * (a * m.curves->active(n).value + m.curves->passive(n).value) * cosine;
      EXPECT_NEAR(m.tendon_force(l, n).force, fibers, 1e-8 * 3000.0) << a << " " << l;
    }
  }
}

TEST(HillMuscle, DerivativesAreExact) {
  for (const auto& curves : {millard_curves(), thelen_curves(), degroote_curves(), schutte_curves(some_tables())}) {
    const HillMuscle m = soleus(curves);
    for (const double l : {0.283, 0.2987, 0.3212}) {
      for (const double speed : {-0.21, -0.03, 0.11}) {
        const auto force = [&](double x, double v, double a) { return m.with_rigid_tendon(x, v, a).tension.force; };
        const auto at = m.with_rigid_tendon(l, speed, 0.7);
        const double scale = 1e-6 * m.max_force / m.optimal_length;
        EXPECT_NEAR(at.tension.stiffness, slope_of([&](double x) { return force(x, speed, 0.7); }, l), scale);
        EXPECT_NEAR(at.tension.by_speed, slope_of([&](double v) { return force(l, v, 0.7); }, speed), scale);
        EXPECT_NEAR(at.by_activation, slope_of([&](double a) { return force(l, speed, a); }, 0.7), scale);
      }
      for (const double n : {0.71, 0.93, 1.11}) {
        const auto tendon = m.tendon_force(l, n);
        const auto rate = m.fiber_rate(l, n, 0.7);
        const auto relative = [](double value) { return 1e-5 * (1.0 + std::abs(value)); };
        const double h = 1e-7;
        EXPECT_NEAR(tendon.by_length, slope_of([&](double x) { return m.tendon_force(x, n).force; }, l, h),
                    relative(tendon.by_length));
        EXPECT_NEAR(tendon.by_fiber, slope_of([&](double x) { return m.tendon_force(l, x).force; }, n, h),
                    relative(tendon.by_fiber));
        EXPECT_NEAR(rate.by_length, slope_of([&](double x) { return m.fiber_rate(x, n, 0.7).rate; }, l, h),
                    relative(rate.by_length));
        EXPECT_NEAR(rate.by_fiber, slope_of([&](double x) { return m.fiber_rate(l, x, 0.7).rate; }, n, h),
                    relative(rate.by_fiber));
        EXPECT_NEAR(rate.by_activation, slope_of([&](double a) { return m.fiber_rate(l, n, a).rate; }, 0.7, h),
                    relative(rate.by_activation));
      }
    }
  }
  for (const double a : {0.1, 0.6}) {
    const auto rate = [](double x) { return activation_rate(0.3, x, 0.01, 0.04).rate; };
    EXPECT_NEAR(activation_rate(0.3, a, 0.01, 0.04).by_activation, slope_of(rate, a), 1e-6);
  }
}

/// A weight on a muscle that hangs from the ground, along y.
std::string hanging(const std::string& keys, double length, const std::string& analysis) {
  return fmt::format(R"(heelstrike: 1
gravity: [0, -10, 0]
bodies:
  weight: {{mass: 20, inertia: [1, 1, 1], position: [0, {}, 0]}}
joints:
  rail: {{type: prismatic, bodies: [ground, weight], point: [0, 0, 0], axis: [0, 1, 0]}}
forces:
  soleus: {{type: muscle, max_isometric_force: 3000, optimal_fiber_length: 0.05, tendon_slack_length: 0.25,
           pennation_angle: 0.4, {}, path: [{{body: ground, point: [0, 0, 0]}}, {{body: weight, point: [0, 0, 0]}}]}}
{})",
                     -length, keys, analysis);
}

TEST(Muscle, SupportsAWeightAtTheEquilibriumForce) {
  for (const char* keys : {"activation: {polynomial: [0.3]}", "activation: {polynomial: [0.3]}, tendon: elastic",
                           "excitation: {polynomial: [0.3]}, tendon: elastic", "excitation: {polynomial: [0.3]}",
                           "activation: {polynomial: [0.3]}, tendon: elastic, curves: thelen2003"}) {
    SCOPED_TRACE(keys);
    const auto run = test::run_local(
        test::scenario_from(hanging(keys, 0.29, "analysis: {type: static, end_time: 1}\noutput: {interval: 1}\n")));
    ASSERT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
    EXPECT_NEAR(run.column("soleus.force_N").back(), 200.0, 1e-6);
    EXPECT_NEAR(run.column("soleus.activation").back(), 0.3, 1e-12);
    EXPECT_NEAR(run.column("soleus.length_m").back(), -run.column("weight.y_m").back(), 1e-12);
  }
}

/// Message at the start of a muscle whose path has this length [m], with 0.3 m of slack tendon and fibre.
std::string start_of(double length) {
  const std::string rest = "analysis: {end_time: 1}\noutput: {interval: 1}\n";
  try {
    const auto notes =
        describe_model(test::scenario_from(hanging("activation: {polynomial: [0.3]}", length, rest))).notes;
    return fmt::format("{}", fmt::join(notes, "; "));
  } catch (const Error& error) {
    return error.what();
  }
}

// A pose that a model can be moved to is no error; millimetres are.
TEST(Muscle, ReportsPosesOutsideItsRange) {
  EXPECT_EQ(start_of(0.29), "");
  EXPECT_EQ(start_of(0.16), "");
  EXPECT_THAT(start_of(0.14), HasSubstr("warning: forces.soleus: 0.14 m long at the start, where 0.3 m"));
  EXPECT_THAT(start_of(0.65), HasSubstr("warning: forces.soleus: 0.65 m long"));
  EXPECT_THAT(start_of(290.0), HasSubstr("forces.soleus.path: expected"));
  EXPECT_THAT(start_of(0.00029), HasSubstr("in another unit"));
}

// Excess length beyond the fibre hangs slack: the path is shorter than the tendon, and neither an error nor a
// non-finite force results.
TEST(Muscle, SlackensOnATooShortPath) {
  for (const char* keys : {"activation: {polynomial: [0.3]}", "excitation: {polynomial: [0.3]}, tendon: elastic"}) {
    for (const double length : {0.2, 0.249, 0.25}) {
      SCOPED_TRACE(fmt::format("{} {}", keys, length));
      const std::string yaml = hanging(
          keys, length, "drivers: {hand: {body: weight, y: {polynomial: [-" + fmt::format("{}", length) + R"(]}}}
analysis: {end_time: 0.1}
output: {interval: 0.05}
)");
      const auto run = test::run_local(test::scenario_from(yaml));
      ASSERT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
      for (const double force : run.column("soleus.force_N")) EXPECT_EQ(force, 0.0);
      // 0.4441 l_o; at the pennation of 0.4 its angle there is below the maximum.
      EXPECT_NEAR(run.column("soleus.fiber_length_m").back(), 0.4441 * 0.05, 1e-9);
    }
  }
  // Steeper fibres stop at their maximum pennation, acos(0.1).
  HillMuscle steep = soleus();
  steep.pennation = 0.6;
  EXPECT_NEAR(steep.shortest(), 0.05 * std::sin(0.6) / std::sin(std::acos(0.1)), 1e-12);
  EXPECT_EQ(steep.with_rigid_tendon(0.2, 0.0, 1.0).tension.force, 0.0);
}

TEST(Muscle, ActivationFollowsTheExcitation) {
  const std::string yaml = hanging("excitation: {expression: \"0.02 + 0.9 * step(t, 0.1, 0.101)\"}, tendon: elastic",
                                   0.29, R"(drivers: {hand: {body: weight, y: {polynomial: [-0.29]}}}
analysis: {end_time: 0.4}
output: {interval: 0.01}
)");
  const auto run = test::run_local(test::scenario_from(yaml));
  ASSERT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
  const auto a = run.column("soleus.activation");
  const auto force = run.column("soleus.force_N");
  EXPECT_NEAR(a[5], 0.02, 1e-6);
  // Time constants of 10 ms (0.5 + 1.5 a): after 10 ms between a third and two thirds, after 0.2 s complete.
  EXPECT_GT(a[11], 0.3);
  EXPECT_LT(a[11], 0.8);
  EXPECT_NEAR(a[30], 0.92, 1e-3);
  // The fibres follow after that, and end where the curves are in equilibrium.
  const HillMuscle m = soleus();
  EXPECT_NEAR(force.back(), m.tendon_force(0.29, m.solve_fiber_equilibrium(0.29, 0.92)).force, 1e-3 * 3000.0);
  EXPECT_TRUE(std::ranges::is_sorted(force.begin() + 10, force.begin() + 15));
}

TEST(Muscle, TangentsAreConsistentWithItsForces) {
  for (const char* keys :
       {"activation: {polynomial: [0.5]}", "excitation: {polynomial: [0.5]}",
        "activation: {polynomial: [0.5]}, tendon: elastic", "excitation: {polynomial: [0.5]}, tendon: elastic"}) {
    SCOPED_TRACE(keys);
    const auto model =
        build_model(test::scenario_from(hanging(keys, 0.29, "analysis: {end_time: 1}\noutput: {interval: 1}\n")));
    const auto force = model.forces.at(0).make();
    const VectorX q = System(model).initial_q();
    const VectorX qd = 0.05 * VectorX::LinSpaced(12, -1.0, 1.0);
    VectorX s(force->internal_states() == nullptr ? 0 : force->internal_states()->n_states());
    if (s.size() > 0) force->internal_states()->start_states({0.0, q, qd}, s);
    const auto forces = [&](const VectorX& x, const VectorX& v) {
      VectorX g = VectorX::Zero(12);
      EnergyTerms energy;
      force->add_forces({0.0, x, v, s}, g, energy);
      // Its energy is external work.
      EXPECT_NEAR(energy.external_power, g.dot(v), 1e-9 * (1.0 + g.norm()));
      return g;
    };
    SparseAssembler K(12, 12), C(12, 12);
    K.begin();
    C.begin();
    force->add_tangents({0.0, q, qd, s}, K, C);
    K.end();
    C.end();
    const double h = 1e-7;
    for (int i = 0; i < 12; ++i) {
      const VectorX e = h * VectorX::Unit(12, i);
      const VectorX by_q = (forces(q + e, qd) - forces(q - e, qd)) / (2.0 * h);
      const VectorX by_v = (forces(q, qd + e) - forces(q, qd - e)) / (2.0 * h);
      EXPECT_LT((Eigen::MatrixXd(K.matrix()).col(i) - by_q).norm(), 1e-5 * (1.0 + by_q.norm())) << i;
      EXPECT_LT((Eigen::MatrixXd(C.matrix()).col(i) - by_v).norm(), 1e-5 * (1.0 + by_v.norm())) << i;
    }
  }
}

std::string memory_error_of(const std::string& yaml, const std::string& table = "time soleus\n0 0.1\n1 0.2\n2 0.2\n") {
  try {
    auto scenario = test::scenario_from(yaml);
    read_motion_columns(scenario, [&](const std::string&) { return &table; });
    const auto run = test::run_local(scenario);
    return run.summary.error ? run.summary.error->what() : "accepted";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Muscle, ErrorsAreReported) {
  const auto with = [](const std::string& keys, double length = 0.29) {
    return memory_error_of(hanging(keys, length, "analysis: {type: static, end_time: 1}\noutput: {interval: 0.5}\n"));
  };
  EXPECT_EQ(with("activation: {file: {name: emg.csv, column: soleus}}"), "accepted");
  EXPECT_THAT(with("activation: {file: {name: emg.csv, column: soleos}}"),
              AllOf(HasSubstr("emg.csv"), HasSubstr("'soleos'"), HasSubstr("soleus")));
  EXPECT_THAT(with("activation: {polynomial: [0.1]}, excitation: {polynomial: [0.1]}"),
              AllOf(HasSubstr("excitation"), HasSubstr("both")));
  EXPECT_THAT(with("activation: {polynomial: [30]}"), AllOf(HasSubstr("forces.soleus"), HasSubstr("found 30")));
  EXPECT_THAT(with("activation: {polynomial: [0.1]}", 290.0), HasSubstr("another unit"));
}

}  // namespace
}  // namespace heelstrike::mbs
