// Every spring: forces from the energy, tangents against differences, dissipation against power.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "mbs_server/formulation/deformation_force.hpp"
#include "mbs_server/formulation/line_force.hpp"
#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {
namespace {

VectorX random_vector(Eigen::Index n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> u(-1.0, 1.0);
  return VectorX::NullaryExpr(n, [&] { return u(random); });
}

Model two_bodies() {
  Model model;
  for (int i = 0; i < 2; ++i) {
    Body body{.name = i == 0 ? "one" : "two",
              .mass_properties = {.mass = 1.0, .center_of_mass = Vector3::Zero(), .inertia = Matrix3::Identity()},
              .X_WB = {.R = rotation_from_vector({0.4 * i, -0.3, 0.2 + i}), .p = {0.1 * i, 0.5, -0.2}},
              .V_WB = {}};
    model.bodies.push_back(body);
  }
  Joint joint{.name = "hinge", .type = "revolute", .a = {.body = 0, .X_BF = {}}, .b = {.body = 1, .X_BF = {}}};
  joint.a.X_BF.R = rotation_from_vector({0.3, 0.5, -0.2});
  model.joints = {joint};
  return model;
}

SpringElement spring_of(const std::string& type, BodyIndex a, BodyIndex b) {
  SpringElement spring{.name = type, .type = type, .a = {.body = a, .X_BF = {}}, .b = {.body = b, .X_BF = {}}};
  spring.a.X_BF = {.R = rotation_from_vector({0.1, 0.2, 0.3}), .p = {0.3, -0.1, 0.2}};
  spring.b.X_BF = {.R = rotation_from_vector({-0.2, 0.1, 0.4}), .p = {-0.2, 0.7, 0.4}};
  spring.joint = 0;
  spring.k = 3.0;
  spring.c = 0.7;
  spring.length = type == "torsional_spring" ? 0.2 : 0.5;
  spring.toe_strain = 0.03;
  const Matrix6 A = Eigen::Map<const Matrix6>(random_vector(36, 5).data());
  spring.K = A * A.transpose();
  spring.C = 0.1 * spring.K + Matrix6::Identity();
  return spring;
}

struct Point {
  VectorX q, qd;
};

VectorX force_at(ForceElement& force, const VectorX& q, const VectorX& qd, EnergyTerms* terms = nullptr) {
  VectorX g = VectorX::Zero(q.size());
  EnergyTerms energy;
  force.add_forces(0.0, q, qd, g, energy);
  if (terms != nullptr) *terms = energy;
  return g;
}

void expect_consistent(ForceElement& force, const Point& at) {
  const double h = 1e-6;
  const auto n = static_cast<int>(at.q.size());
  SparseAssembler K(n, n), C(n, n);
  K.begin();
  C.begin();
  force.add_tangents(0.0, at.q, at.qd, K, C);
  K.end();
  C.end();
  EnergyTerms energy;
  const VectorX g = force_at(force, at.q, at.qd, &energy);
  const double scale = 1.0 + g.cwiseAbs().maxCoeff();
  for (int i = 0; i < n; ++i) {
    const VectorX e = VectorX::Unit(n, i) * h;
    const VectorX by_q = (force_at(force, at.q + e, at.qd) - force_at(force, at.q - e, at.qd)) / (2 * h);
    const VectorX by_qd = (force_at(force, at.q, at.qd + e) - force_at(force, at.q, at.qd - e)) / (2 * h);
    EXPECT_LT((Eigen::MatrixXd(K.matrix()).col(i) - by_q).cwiseAbs().maxCoeff(), 1e-7 * scale) << force.name() << i;
    EXPECT_LT((Eigen::MatrixXd(C.matrix()).col(i) - by_qd).cwiseAbs().maxCoeff(), 1e-7 * scale) << force.name() << i;
    // Without motion, the force is minus the slope of the energy.
    EnergyTerms plus, minus;
    const VectorX rest = VectorX::Zero(n);
    (void)force_at(force, at.q + e, rest, &plus);
    (void)force_at(force, at.q - e, rest, &minus);
    EXPECT_NEAR(force_at(force, at.q, rest)[i], -(plus.potential - minus.potential) / (2 * h), 1e-7 * scale)
        << force.name() << i;
  }
  // What the damping part takes out per time is the dissipated power.
  const double power = (g - force_at(force, at.q, VectorX::Zero(n))).dot(at.qd);
  EXPECT_NEAR(-power, energy.dissipated_power, 1e-12 * (1.0 + std::abs(power))) << force.name();
}

TEST(Springs, TangentsEnergyAndDissipationBelongTogether) {
  const Model model = two_bodies();
  const VectorX q = System(model).initial_q() + 0.01 * random_vector(24, 1);
  const VectorX qd = random_vector(24, 2);
  for (const char* type : {"spring_damper", "ligament_quadratic", "ligament_toe", "torsional_spring", "bushing"}) {
    for (const auto& [a, b] : {std::pair{0, 1}, std::pair{ground, 1}, std::pair{0, ground}}) {
      const auto force = make_spring(model, spring_of(type, a, b));
      expect_consistent(*force, {q, qd});
    }
  }
}

TEST(Springs, LigamentLawsMeetTheirSources) {
  SpringElement quadratic{.name = "mcl", .type = "ligament_quadratic", .a = {}, .b = {}};
  quadratic.k = 93e3;
  quadratic.length = 0.074;
  // Anterior medial collateral ligament at strains of 1, 3, 5 %.
  EXPECT_NEAR(line_tension(quadratic, 0.074 * 1.01).force, 9.3, 1e-9);
  EXPECT_NEAR(line_tension(quadratic, 0.074 * 1.03).force, 83.7, 1e-9);
  EXPECT_NEAR(line_tension(quadratic, 0.074 * 1.05).force, 232.5, 1e-9);
  EXPECT_EQ(line_tension(quadratic, 0.073).force, 0.0);
  SpringElement toe = quadratic;
  toe.type = "ligament_toe";
  toe.k = 72.22e3;
  toe.length = 0.059571;
  toe.toe_strain = 0.03;
  // Continuous with its slope and energy where the line begins, 6 % strain.
  const double l = 1.06 * toe.length;
  const Tension below = line_tension(toe, l * (1 - 1e-12));
  const Tension above = line_tension(toe, l * (1 + 1e-12));
  EXPECT_NEAR(below.force, above.force, 1e-6);
  EXPECT_NEAR(below.stiffness, above.stiffness, 1e-5);
  EXPECT_NEAR(below.energy, above.energy, 1e-9);
  EXPECT_NEAR(above.force, 72.22e3 * 0.03 * 0.059571, 1e-6);
}

}  // namespace
}  // namespace heelstrike::mbs
