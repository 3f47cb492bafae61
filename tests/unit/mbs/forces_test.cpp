// Every spring: forces from the energy, tangents compared with differences, dissipation with power.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/elements/forces/line_force.hpp"
#include "mbs_server/formulation/system.hpp"
#include "tests/support/local_run.hpp"
#include "tests/support/random_vector.hpp"

namespace heelstrike::mbs {
namespace {

using test::random_vector;

Model two_bodies() {
  Model model;
  for (int i = 0; i < 2; ++i) {
    Body body{.name = i == 0 ? "one" : "two",
              .mass_properties = {.mass = 1.0, .center_of_mass = Vector3::Zero(), .inertia = Matrix3::Identity()},
              .X_WB = {.R = rotation_from_vector({0.4 * i, -0.3, 0.2 + i}), .p = {0.1 * i, 0.5, -0.2}},
              .V_WB = {}};
    model.bodies.push_back(body);
  }
  return model;
}

/// The force element of a scenario with these keys between or about `two_bodies`.
std::unique_ptr<ForceElement> element_of(const std::string& keys) {
  const std::string yaml = R"(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  one: {mass: 1, inertia: [1, 1, 1], position: [0, 0.5, -0.2]}
  two: {mass: 1, inertia: [1, 1, 1], position: [0.1, 0.5, -0.2]}
joints:
  hinge: {type: revolute, bodies: [one, two], points: [[0, 0, 0], [0.1, 0.2, 0]], axes: [[0.3, 0.5, 1], [0.1, 0.2, 1]]}
forces:
  spring: {)" + keys + R"(}
analysis: {end_time: 1}
output: {interval: 1}
)";
  return build_model(test::scenario_from(yaml)).forces.at(0).make();
}

std::vector<std::string> some_springs() {
  VectorX numbers = random_vector(36, 5);
  const Matrix6 A = Eigen::Map<const Matrix6>(numbers.data());
  const Matrix6 K = A * A.transpose();
  const auto entries = [](const Matrix6& M) { return fmt::format("[{}]", fmt::join(M.reshaped(), ", ")); };
  const Matrix6 C = 0.1 * K + Matrix6::Identity();
  std::vector<std::string> all = {"type: torsional_spring, joint: hinge, stiffness: 3, damping: 0.7, neutral: 0.2"};
  for (const char* bodies : {"[one, two]", "[ground, two]", "[one, ground]"}) {
    const std::string ends = fmt::format("bodies: {}, points: [[0.3, -0.1, 0.2], [-0.2, 0.7, 0.4]]", bodies);
    for (const char* type : {"spring_damper", "ligament_quadratic", "ligament_toe"}) {
      // 1.36 m from ground to `two`, 0.7 and 0.9 m between the others: no ligament begins overstretched.
      const double length = bodies == std::string("[ground, two]") ? 0.7 : 0.5;
      all.push_back(fmt::format("type: {}, {}, stiffness: 3, damping: 0.7, length: {}", type, ends, length));
    }
    all.push_back(fmt::format(
        "type: viscoelastic_spring, {}, stiffness: 3, damping: 0.7, length: 0.5, branch_stiffnesses: [2, 5], "
        "relaxation_times: [0.3, 2]",
        ends));
    // Slack behind, taut in front, and one over an ellipsoid with a point between.
    for (const char* law : {"toe_linear", "quadratic"}) {
      all.push_back(fmt::format(
          "type: ligament, law: {}, stiffness: 3, damping: 0.7, transition_strain: 0.3, surfaces: {{egg: {{body: one, "
          "ellipsoid: [0.3, 0.2, 0.15], position: [-0.05, 0.02, 0.03], orientation: [0.8, 0, 0.6, 0]}}}}, lines: "
          "{{tight: {{slack_length: 0.75, path: [{{body: {}, point: [0.3, -0.1, 0.2]}}, {{body: {}, point: [-0.2, 0.7, "
          "0.4]}}]}}, over: {{slack_length: 0.8, path: [{{body: two, point: [-0.4, 0.3, 0.1]}}, {{body: one, point: "
          "[-0.4, "
          "0.02, 0.1], wrap: [egg]}}, {{body: {}, point: [0.35, 0.04, -0.1]}}]}}}}",
          law, bodies == std::string("[ground, two]") ? "ground" : "one",
          bodies == std::string("[one, ground]") ? "ground" : "two",
          bodies == std::string("[one, two]") ? "two" : "ground"));
    }
    all.push_back(
        fmt::format("type: bushing, {}, stiffness_matrix: {}, damping_matrix: {}", ends, entries(K), entries(C)));
  }
  return all;
}

struct Point {
  VectorX q, qd, s;
};

VectorX force_at(ForceElement& force, const Point& at, EnergyTerms* terms = nullptr) {
  VectorX g = VectorX::Zero(at.q.size());
  EnergyTerms energy;
  force.add_forces({0.0, at.q, at.qd, at.s}, g, energy);
  if (terms != nullptr) *terms = energy;
  return g;
}

int n_states(const ForceElement& force) {
  return force.internal_states() == nullptr ? 0 : force.internal_states()->n_states();
}

VectorX rates_at(const ForceElement& force, const Point& at) {
  VectorX f(n_states(force));
  if (f.size() > 0) force.internal_states()->state_rates({0.0, at.q, at.qd, at.s}, f);
  return f;
}

/// Central differences of `f` along entry `i` of one part of a point, h = 1e-6.
template <typename F>
auto difference(const F& f, Point at, VectorX Point::*part, int i) -> std::decay_t<decltype(f(at))> {
  const double h = 1e-6;
  (at.*part)[i] += h;
  const auto plus = f(at);
  (at.*part)[i] -= 2.0 * h;
  return (plus - f(at)) / (2.0 * h);
}

/// Tangents of the element's states, in all coordinates.
void expect_exact_state_tangents(ForceElement& force, const Point& at, double scale) {
  const InternalStates& states = *force.internal_states();
  StateTangents exact;
  states.state_tangents({0.0, at.q, at.qd, at.s}, exact);
  const auto local = [&](const VectorX& g) { return VectorX(g(states.coordinates())); };
  const auto forces = [&](const Point& x) { return force_at(force, x); };
  const auto rates = [&](const Point& x) { return rates_at(force, x); };
  for (int i = 0; i < states.n_states(); ++i) {
    EXPECT_LT((exact.g_s.col(i) - local(difference(forces, at, &Point::s, i))).lpNorm<Eigen::Infinity>(), 1e-7 * scale);
    EXPECT_LT((exact.f_s.col(i) - difference(rates, at, &Point::s, i)).lpNorm<Eigen::Infinity>(), 1e-7 * scale);
  }
  for (std::size_t k = 0; k < states.coordinates().size(); ++k) {
    const int i = states.coordinates()[k];
    const auto column = static_cast<Eigen::Index>(k);
    EXPECT_LT((exact.f_q.col(column) - difference(rates, at, &Point::q, i)).lpNorm<Eigen::Infinity>(), 1e-7 * scale);
    EXPECT_LT((exact.f_qd.col(column) - difference(rates, at, &Point::qd, i)).lpNorm<Eigen::Infinity>(), 1e-7 * scale);
  }
}

void expect_consistent(ForceElement& force, const Point& at) {
  const auto n = static_cast<int>(at.q.size());
  SparseAssembler K(n, n), C(n, n);
  K.begin();
  C.begin();
  force.add_tangents({0.0, at.q, at.qd, at.s}, K, C);
  K.end();
  C.end();
  EnergyTerms energy;
  const VectorX g = force_at(force, at, &energy);
  const double scale = 1.0 + g.cwiseAbs().maxCoeff();
  const Point at_rest{at.q, VectorX::Zero(n), at.s};
  const auto forces = [&](const Point& x) { return force_at(force, x); };
  const auto potential = [&](const Point& x) {
    EnergyTerms terms;
    (void)force_at(force, x, &terms);
    return terms.potential;
  };
  for (int i = 0; i < n; ++i) {
    EXPECT_LT((Eigen::MatrixXd(K.matrix()).col(i) - difference(forces, at, &Point::q, i)).cwiseAbs().maxCoeff(),
              1e-7 * scale)
        << force.name() << i;
    EXPECT_LT((Eigen::MatrixXd(C.matrix()).col(i) - difference(forces, at, &Point::qd, i)).cwiseAbs().maxCoeff(),
              1e-7 * scale)
        << force.name() << i;
    // Without motion, the force is minus the slope of the energy.
    EXPECT_NEAR(force_at(force, at_rest)[i], -difference(potential, at_rest, &Point::q, i), 1e-7 * scale)
        << force.name() << i;
  }
  // The power of the damping part and the energy loss of the states during their change equal the dissipated power.
  double power = (g - force_at(force, at_rest)).dot(at.qd);
  const VectorX rates = rates_at(force, at);
  for (int i = 0; i < rates.size(); ++i) power += difference(potential, at, &Point::s, i) * rates[i];
  // The slope of the energy by a state is a difference, all else is exact.
  const double tolerance = rates.size() > 0 ? 1e-7 : 1e-12;
  EXPECT_NEAR(-power, energy.dissipated_power, tolerance * (1.0 + std::abs(power))) << force.name();
  if (rates.size() > 0) expect_exact_state_tangents(force, at, scale);
}

TEST(Springs, TangentsEnergyAndDissipationAreConsistent) {
  const Model model = two_bodies();
  const VectorX q = System(model).initial_q() + 0.01 * random_vector(24, 1);
  const VectorX qd = random_vector(24, 2);
  for (const std::string& keys : some_springs()) {
    SCOPED_TRACE(keys);
    const auto element = element_of(keys);
    expect_consistent(*element, {q, qd, 0.3 * random_vector(n_states(*element), 3)});
  }
}

double value_of(const ForceElement& element, const std::string& column, const Point& at) {
  const auto columns = element.columns();
  std::vector<double> row;
  element.append_values({0.0, at.q, at.qd, at.s}, row);
  EXPECT_EQ(row.size(), columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == column) return row.at(i);
  }
  ADD_FAILURE() << "no column " << column;
  return 0.0;
}

// Written columns equal the acting loads: rates are derivatives of deflections, and the power of the written loads is
// that of the generalised forces.
TEST(Springs, ColumnsReportActiveForces) {
  const Model model = two_bodies();
  const double h = 1e-6;
  for (const std::string& keys : some_springs()) {
    SCOPED_TRACE(keys);
    const auto element = element_of(keys);
    const Point at{System(model).initial_q() + 0.01 * random_vector(24, 1), random_vector(24, 2),
                   0.3 * random_vector(n_states(*element), 3)};
    const Point before{at.q - h * at.qd, at.qd, at.s};
    const Point after{at.q + h * at.qd, at.qd, at.s};
    const auto rate = [&](const std::string& column) {
      return (value_of(*element, column, after) - value_of(*element, column, before)) / (2.0 * h);
    };
    const auto value = [&](const std::string& column) { return value_of(*element, "spring." + column, at); };
    double power = 0.0;  // directed into the bodies
    if (keys.find("bushing") != std::string::npos) {
      for (const char* axis : {"x", "y", "z"}) {
        power += value(fmt::format("torque_{}_Nm", axis)) * rate(fmt::format("spring.turn_{}_rad", axis));
        power += value(fmt::format("force_{}_N", axis)) * rate(fmt::format("spring.shift_{}_m", axis));
      }
    } else if (keys.find("torsional") != std::string::npos) {
      // Central differences: errors of h^2 and of rounding over h.
      EXPECT_NEAR(value("rate_rad_s"), rate("spring.angle_rad"), 1e-8);
      power = value("torque_Nm") * value("rate_rad_s");
    } else if (keys.find("lines") != std::string::npos) {
      double sum = 0.0;
      for (const char* line : {"tight", "over"}) {
        const auto of_line = [&](const char* what) { return value(fmt::format("{}.{}", line, what)); };
        EXPECT_NEAR(of_line("rate_m_s"), rate(fmt::format("spring.{}.length_m", line)), 1e-8);
        power -= of_line("force_N") * of_line("rate_m_s");
        sum += of_line("force_N");
      }
      EXPECT_NEAR(value("force_N"), sum, 1e-12 * sum);
    } else {
      EXPECT_NEAR(value("rate_m_s"), rate("spring.length_m"), 1e-8);
      power = -value("force_N") * value("rate_m_s");
    }
    if (keys.find("ligament_") != std::string::npos) {
      const std::string key = "length: ";
      const double slack = std::stod(keys.substr(keys.rfind(key) + key.size()));
      EXPECT_NEAR(value("strain"), value("length_m") / slack - 1.0, 1e-14);
    }
    EXPECT_NEAR(power, force_at(*element, at).dot(at.qd), 1e-7 * (1.0 + std::abs(power)));
  }
}

TEST(Springs, LigamentLawsEqualTheirSources) {
  // Anterior medial collateral ligament at strains of 1, 3, 5 %.
  const auto medial = [](double length) { return quadratic_ligament_tension(93e3, 0.074, length).force; };
  EXPECT_NEAR(medial(0.074 * 1.01), 9.3, 1e-9);
  EXPECT_NEAR(medial(0.074 * 1.03), 83.7, 1e-9);
  EXPECT_NEAR(medial(0.074 * 1.05), 232.5, 1e-9);
  EXPECT_EQ(medial(0.073), 0.0);
  // Continuous with its slope and energy where the line begins, 6 % strain.
  const double k = 72.22e3;
  const double l0 = 0.059571;
  const double l = 1.06 * l0;
  const Tension below = toe_ligament_tension(k, 0.03, l0, l * (1 - 1e-12));
  const Tension above = toe_ligament_tension(k, 0.03, l0, l * (1 + 1e-12));
  EXPECT_NEAR(below.force, above.force, 1e-6);
  EXPECT_NEAR(below.stiffness, above.stiffness, 1e-5);
  EXPECT_NEAR(below.energy, above.energy, 1e-9);
  EXPECT_NEAR(above.force, k * 0.03 * l0, 1e-6);
}

/// A line along x from the ground to body one, of length `l`, that grows at `speed`.
double force_of(ForceElement& force, double l, double speed) {
  Point at{System(two_bodies()).initial_q(), VectorX::Zero(24), VectorX()};
  at.q.head<3>() = Vector3(l, 0.0, 0.0);
  at.qd[0] = speed;
  return value_of(force, "spring.force_N", at);
}

// A rope has no compression at any rate of shortening, and a ligament that tightens at a velocity has no jump in force.
TEST(Springs, DampedLigamentHasNoCompressionAndNoJump) {
  for (const char* type : {"ligament_quadratic", "ligament_toe"}) {
    const auto element = element_of(
        fmt::format("type: {}, bodies: [ground, one], points: [[0, 0, 0], [0, 0, 0]], stiffness: 1000, damping: 50, "
                    "length: 0.4",
                    type));
    double before = 0.0;
    for (int i = 0; i <= 4000; ++i) {
      const double l = 0.392 + 4e-6 * i;
      EXPECT_GE(force_of(*element, l, -2.0), 0.0) << l;
      // Damping of 100 N begins over 4 mm with a slope of at most 37.5 N/mm, and the ligament's own is below 1 N/mm.
      const double force = force_of(*element, l, 2.0);
      EXPECT_LT(std::abs(force - before), 0.154) << l;
      before = force;
    }
    EXPECT_GT(before, 100.0);
  }
}

}  // namespace
}  // namespace heelstrike::mbs
