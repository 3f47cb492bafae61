// Relaxing materials: closed forms of one point, and a pad that is pressed, kept and released.
#include "fem_server/fem/prony_series.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <cstdio>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/fem/hyperelastic.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/plane.hpp"

namespace heelstrike::fem {
namespace {

const LameConstants soft_tissue =
    lame_constants({.youngs_modulus = 1e6, .poissons_ratio = 0.45, .density = 0.0, .set = ""});
const std::vector<double> shares{0.3, 0.2};
const std::vector<double> times{0.1, 2.0};

HyperelasticLaw relaxing() {
  return {.isotropic = StretchLaw::yeoh(0.4, 0.05), .prony = PronySeries(shares, times)};
}

/// Fraction left of a sudden load [-].
double left(double t) {
  double g = 1.0;
  for (std::size_t i = 0; i < shares.size(); ++i) g += shares[i] * std::expm1(-t / times[i]);
  return g;
}

/// A material point driven through time.
class Point {
 public:
  Point(HyperelasticLaw law, const LameConstants& constants)
      : law_(law), constants_(constants), material_(material_of(std::move(law))) {}
  [[nodiscard]] PointHistoryVariables memory(double dt) const { return {.values = values_, .dt = dt}; }
  [[nodiscard]] Hyperelastic at(const Matrix3& F, double dt) const {
    return hyperelastic_response(law_, constants_, F, memory(dt));
  }
  /// @return [J/m^3] dissipated
  double commit(const Matrix3& F, double dt) {
    std::vector<double> after(material_->memory_size());
    const double heat = material_->update_history(constants_, F - Matrix3::Identity(), memory(dt), after);
    values_ = after;
    return heat;
  }

 private:
  HyperelasticLaw law_;
  LameConstants constants_;
  MaterialLaw material_;
  std::vector<double> values_;
};

Matrix3 kirchhoff(const Hyperelastic& h, const Matrix3& F) {
  return h.P * F.transpose();
}

Matrix3 deviator(const Matrix3& s) {
  return s - s.trace() / 3.0 * Matrix3::Identity();
}

TEST(Prony, StressRelaxationFollowsTheSeriesForAnySteps) {
  Point point(relaxing(), soft_tissue);
  const Matrix3 F = Vector3(1.5, 0.8, 0.9).asDiagonal();
  const Matrix3 at_once = kirchhoff(point.at(F, 0.0), F);
  HyperelasticLaw elastic = relaxing();
  elastic.prony = {};
  EXPECT_LT((at_once - kirchhoff(hyperelastic_response(elastic, soft_tissue, F), F)).norm(), 1e-12 * at_once.norm());
  EXPECT_EQ(point.commit(F, 0.0), 0.0) << "nothing relaxes in no time";
  double t = 0.0;
  for (const double dt : {0.001, 0.03, 0.2, 0.0, 1.7, 40.0}) {
    t += dt;
    const Matrix3 s = kirchhoff(point.at(F, dt), F);
    EXPECT_LT((deviator(s) - left(t) * deviator(at_once)).norm(), 1e-12 * at_once.norm()) << t;
    EXPECT_NEAR(s.trace(), at_once.trace(), 1e-12 * at_once.norm()) << "volume does not relax";
    EXPECT_GE(point.commit(F, dt), 0.0);
  }
}

TEST(Prony, SteadyShearFollowsTheClosedFormForAnySteps) {
  Point point(relaxing(), soft_tissue);
  const double rate = 1e-5;  // [1/s]; strains of 2e-5, whose squares are the tolerance
  double t = 0.0;
  for (const double dt : {0.01, 0.4, 0.05, 1.5}) {
    t += dt;
    Matrix3 F = Matrix3::Identity();
    F(0, 1) = rate * t;
    double g = (1.0 - shares[0] - shares[1]) * t;
    for (std::size_t i = 0; i < 2; ++i) g -= shares[i] * times[i] * std::expm1(-t / times[i]);
    EXPECT_NEAR(kirchhoff(point.at(F, dt), F)(0, 1), soft_tissue.mu * rate * g, 1e-8 * soft_tissue.mu * rate * g) << t;
    point.commit(F, dt);
  }
}

/// Axial and lateral stretch under an axial nominal stress [Pa] on free sides.
Vector3 pulled(const Point& point, double stress, double dt, Vector3 l) {
  for (int i = 0; i < 30; ++i) {
    const Hyperelastic h = point.at(l.asDiagonal(), dt);
    Eigen::Matrix2d K;
    const auto A = [&](Eigen::Index a, Eigen::Index b) { return h.tangent(4 * a, 4 * b); };
    K << A(0, 0), A(0, 1) + A(0, 2), A(1, 0), A(1, 1) + A(1, 2);
    const Eigen::Vector2d change = K.inverse() * Eigen::Vector2d(stress - h.P(0, 0), -h.P(1, 1));
    l += Vector3(change[0], change[1], change[1]);
  }
  return l;
}

// One branch: J(t) = (1 / g_inf - g / g_inf exp(-g_inf t / tau)) / mu in shear, with an instantaneous volumetric
// response.
TEST(Prony, CreepFollowsTheClosedForm) {
  const double g = 0.4;
  const double tau = 0.5;
  Point point({.isotropic = StretchLaw::mooney_rivlin(0.2), .prony = PronySeries({g}, {tau})}, soft_tissue);
  const double stress = 1.0;  // [Pa] strains of 1e-6
  const double K = soft_tissue.lambda + 2.0 / 3.0 * soft_tissue.mu;
  Vector3 l = pulled(point, stress, 0.0, Vector3::Ones());
  const auto closed = [&](double t) {
    const double creep = (1.0 - g * std::exp(-(1.0 - g) * t / tau)) / (1.0 - g) / soft_tissue.mu;
    return stress * (creep / 3.0 + 1.0 / (9.0 * K));
  };
  EXPECT_NEAR(l[0] - 1.0, closed(0.0), 1e-5 * closed(0.0));
  point.commit(l.asDiagonal(), 0.0);
  const double dt = 0.005;  // the stress is linear over a step to (dt / tau)^2 / 12 = 1e-5
  for (int step = 1; step <= 300; ++step) {
    l = pulled(point, stress, dt, l);
    point.commit(l.asDiagonal(), dt);
    if (step % 50 == 0) {
      EXPECT_NEAR(l[0] - 1.0, closed(step * dt), 1e-5 * closed(step * dt)) << step * dt;
    }
  }
  std::printf("creep from %.6e to %.6e, closed form %.6e\n", closed(0.0), l[0] - 1.0, closed(1.5));
}

TEST(Prony, TangentsAreDerivativesAndRotationInvariant) {
  Point point(relaxing(), soft_tissue);
  Matrix3 first;
  first << 1.2, 0.1, -0.2, 0.05, 0.9, 0.3, 0.1, -0.1, 1.1;
  point.commit(first, 0.0);
  Matrix3 second;
  second << 0.8, -0.2, 0.1, 0.15, 1.1, 0.0, 0.2, 0.1, 0.95;
  point.commit(second, 0.05);
  const double dt = 0.07;
  const Matrix3 Q = rotation_from_vector(Vector3(0.9, -0.4, 2.0));
  for (const Matrix3& F : {first, second, Matrix3(Matrix3::Identity())}) {
    const Hyperelastic at = point.at(F, dt);
    Eigen::Matrix<double, 9, 9> tangent;
    const double h = 1e-5;  // truncation h^2 = 1e-10, rounding 1e-16 / h = 1e-11
    for (Eigen::Index k = 0; k < 9; ++k) {
      Matrix3 forth = F;
      Matrix3 back = F;
      forth(k) += h;
      back(k) -= h;
      tangent.col(k) = (point.at(forth, dt).P - point.at(back, dt).P).reshaped() / (2.0 * h);
    }
    EXPECT_LT((tangent - at.tangent).norm(), 1e-8 * at.tangent.norm());
    EXPECT_LT((at.tangent - at.tangent.transpose()).norm(), 1e-13 * at.tangent.norm());
    EXPECT_LT((point.at(Q * F, dt).P - Q * at.P).norm(), 1e-13 * at.tangent.norm());
  }
}

TEST(Prony, EnergyIsConserved) {
  for (const double amplitude : {1e-4, 0.4}) {
    Point point(relaxing(), soft_tissue);
    const int n = 4000;
    const double dt = 1.5 / n;
    double work = 0.0;
    double heat = 0.0;
    double least = 0.0;
    Matrix3 F = Matrix3::Identity();
    Hyperelastic before = point.at(F, 0.0);
    for (int i = 1; i <= n; ++i) {
      Matrix3 next = Matrix3::Identity();
      next(0, 1) = amplitude * std::sin(8.0 * i * dt);
      next(2, 2) = 1.0 + 0.5 * amplitude * std::sin(5.0 * i * dt);
      const Hyperelastic now = point.at(next, dt);
      work += 0.5 * (before.P + now.P).cwiseProduct(next - F).sum();
      const double own = point.commit(next, dt);
      least = std::min(least, own);
      heat += own;
      F = next;
      before = now;
    }
    std::printf("amplitude %g: work %.6e, stored %.6e, heat %.6e J/m^3, difference %.1e\n", amplitude, work,
                before.energy, heat, (work - before.energy - heat) / heat);
    EXPECT_EQ(least, 0.0);
    EXPECT_GT(heat, 0.0);
    // Small strain: trapezoids are accurate to (8 dt)^2 / 12 = 1e-6 of the work, terms of third order to 1e-4; large
    // strain has an estimate only.
    EXPECT_NEAR(work, before.energy + heat, (amplitude < 1e-3 ? 1e-4 : 0.05) * heat);
  }
}

// Where the stress is linear in time, the dissipation does not depend on the steps: long ones use the closed form,
// short ones Simpson's rule.
TEST(Prony, DissipationDoesNotDependOnTheSteps) {
  const auto heat = [](int n_steps) {
    Point point(relaxing(), soft_tissue);
    double sum = 0.0;
    for (int i = 1; i <= n_steps; ++i) {
      Matrix3 F = Matrix3::Identity();
      F(0, 1) = 5e-6 * i / n_steps;
      sum += point.commit(F, 1.0 / n_steps);
    }
    return sum;
  };
  const double fine = heat(1000);
  EXPECT_GT(fine, 0.0);
  for (const int n : {1, 3, 40}) EXPECT_NEAR(heat(n), fine, 1e-6 * fine) << n;
}

/// Two families of relaxing fibres, in an elastic or a relaxing matrix.
HyperelasticLaw relaxing_fibers(bool matrix_too) {
  HyperelasticLaw law{.fibers = {.stiffness = 5e5,
                                 .exponent = 2.0,
                                 .dispersion = 0.1,
                                 .directions = {Vector3(1.0, 0.5, 0.0).normalized(), Vector3::UnitY()},
                                 .prony = PronySeries(shares, times)}};
  if (matrix_too) law.prony = PronySeries({0.4}, {0.3});
  return law;
}

// A fibre along z pulls along z only: at a constant stretch l in z with free sides, the body is the matrix in uniaxial
// tension, whose sides do not move in time, and the fibre's l q with q = 4 k1 E exp(k2 E^2) (remaining fraction), E =
// l^2 - 1.
TEST(FiberProny, UniaxialRelaxationFollowsTheClosedForm) {
  const HyperelasticLaw law{
      .fibers = {
          .stiffness = 5e5, .exponent = 1.5, .directions = {Vector3::UnitZ()}, .prony = PronySeries(shares, times)}};
  Point point(law, soft_tissue);
  const double l = 1.3;
  const double E = l * l - 1.0;
  const double fiber = 2.0 * l * 5e5 * E * std::exp(1.5 * E * E);
  HyperelasticLaw matrix = law;
  matrix.fibers.directions.clear();
  double side = 1.0;
  for (int i = 0; i < 30; ++i) {
    const Hyperelastic h = hyperelastic_response(matrix, soft_tissue, Vector3(side, side, l).asDiagonal());
    side -= h.P(0, 0) / (h.tangent(0, 0) + h.tangent(0, 4));
  }
  const Matrix3 F = Vector3(side, side, l).asDiagonal();
  const double of_matrix = hyperelastic_response(matrix, soft_tissue, F).P(2, 2);
  point.commit(F, 0.0);
  double t = 0.0;
  for (const double dt : {0.001, 0.03, 0.2, 0.0, 1.7, 40.0}) {
    t += dt;
    const Hyperelastic relaxed = point.at(F, dt);
    std::printf("%8.3f s: %.9e Pa, closed form %.9e Pa\n", t, relaxed.P(2, 2), of_matrix + left(t) * fiber);
    EXPECT_NEAR(relaxed.P(2, 2), of_matrix + left(t) * fiber, 1e-12 * fiber) << t;
    EXPECT_NEAR(relaxed.P(0, 0), 0.0, 1e-9 * fiber) << t;
    EXPECT_GE(point.commit(F, dt), 0.0);
  }
}

// One branch, small strain, a fibre released after relaxation: it is slack, and its natural length recovers as
// exp(-g_inf t / tau) from g s. It pulls again when stretched beyond that, and never pushes.
TEST(FiberProny, ReleasedFibreIsSlackUntilItHasRecovered) {
  const double g = 0.4;
  const double tau = 0.5;
  const double k1 = 5e5;
  const HyperelasticLaw law{
      .fibers = {.stiffness = k1, .exponent = 1.0, .directions = {Vector3::UnitZ()}, .prony = PronySeries({g}, {tau})}};
  HyperelasticLaw matrix = law;
  matrix.fibers.directions.clear();
  Point point(law, soft_tissue);
  const auto stretch = [](double e) -> Matrix3 { return Vector3(1.0, 1.0, 1.0 + e).asDiagonal(); };
  const auto pull = [&](double e, double dt) {
    const double all = point.at(stretch(e), dt).P(2, 2);
    return all - hyperelastic_response(matrix, soft_tissue, stretch(e)).P(2, 2);
  };
  const double e = 1e-5;  // strain; its square is the tolerance
  const double s = 4.0 * k1 * e;
  point.commit(stretch(e), 0.0);
  point.commit(stretch(e), 100.0);
  point.commit(stretch(e), 100.0);
  EXPECT_NEAR(pull(e, 0.0), (1.0 - g) * s, 1e-4 * s);
  point.commit(stretch(0.0), 0.0);
  const double dt = 0.0025;
  for (int step = 1; step <= 400; ++step) {
    EXPECT_EQ(pull(-e, dt), 0.0);
    EXPECT_EQ(pull(0.0, dt), 0.0);
    EXPECT_GE(point.commit(stretch(0.0), dt), 0.0);
    if (step % 80 != 0) continue;
    const double own = g * e * std::exp(-(1.0 - g) * step * dt / tau);
    EXPECT_EQ(pull(0.999 * own, 0.0), 0.0) << step * dt;
    // A step's error is (dt / tau)^2 / 12 of its change.
    EXPECT_NEAR(pull(own + 0.1 * e, 0.0), 0.1 * s, 1e-3 * s) << step * dt;
  }
  // Its commits include the slack: once recovered, it responds like the initial state.
  for (int i = 0; i < 3; ++i) point.commit(stretch(0.0), 1e3);
  EXPECT_NEAR(pull(e, 0.0), s, 1e-4 * s);
}

TEST(FiberProny, TangentsAreDerivativesAndRotationInvariant) {
  Matrix3 first;
  first << 1.2, 0.1, -0.2, 0.05, 1.1, 0.3, 0.1, -0.1, 1.1;
  Matrix3 second;
  second << 1.1, -0.2, 0.1, 0.15, 1.05, 0.0, 0.2, 0.1, 0.95;
  Matrix3 shortened;
  shortened << 0.9, 0.0, 0.1, 0.0, 0.95, 0.0, 0.0, 0.1, 1.1;
  const double dt = 0.07;
  const Matrix3 Q = rotation_from_vector(Vector3(0.9, -0.4, 2.0));
  for (const bool matrix_too : {false, true}) {
    Point point(relaxing_fibers(matrix_too), soft_tissue);
    point.commit(first, 0.0);
    point.commit(second, 0.05);
    for (const Matrix3& F : {first, second, shortened}) {
      const Hyperelastic at = point.at(F, dt);
      Eigen::Matrix<double, 9, 9> tangent;
      const double h = 1e-5;  // truncation h^2 = 1e-10, rounding 1e-16 / h = 1e-11
      for (Eigen::Index k = 0; k < 9; ++k) {
        Matrix3 forth = F;
        Matrix3 back = F;
        forth(k) += h;
        back(k) -= h;
        tangent.col(k) = (point.at(forth, dt).P - point.at(back, dt).P).reshaped() / (2.0 * h);
      }
      EXPECT_LT((tangent - at.tangent).norm(), 1e-8 * at.tangent.norm());
      EXPECT_LT((at.tangent - at.tangent.transpose()).norm(), 1e-13 * at.tangent.norm());
      EXPECT_LT((point.at(Q * F, dt).P - Q * at.P).norm(), 1e-13 * at.tangent.norm());
    }
  }
}

// Through slack and tension: work is stored or dissipated, and dissipation is never negative.
TEST(FiberProny, EnergyIsConserved) {
  const HyperelasticLaw law{
      .fibers = {
          .stiffness = 5e5, .exponent = 1.0, .directions = {Vector3::UnitZ()}, .prony = PronySeries(shares, times)}};
  for (const double amplitude : {1e-4, 0.2}) {
    Point point(law, soft_tissue);
    const int n = 8000;
    const double dt = 1.5 / n;
    double work = 0.0;
    double heat = 0.0;
    double least = 0.0;
    Matrix3 F = Matrix3::Identity();
    Hyperelastic before = point.at(F, 0.0);
    for (int i = 1; i <= n; ++i) {
      Matrix3 next = Matrix3::Identity();
      next(2, 2) = 1.0 + amplitude * std::sin(12.0 * i * dt);
      const Hyperelastic now = point.at(next, dt);
      work += 0.5 * (before.P + now.P).cwiseProduct(next - F).sum();
      const double own = point.commit(next, dt);
      least = std::min(least, own);
      heat += own;
      F = next;
      before = now;
    }
    std::printf("amplitude %g: work %.6e, stored %.6e, heat %.6e J/m^3, difference %.1e\n", amplitude, work,
                before.energy, heat, (work - before.energy - heat) / heat);
    EXPECT_EQ(least, 0.0);
    EXPECT_GT(heat, 0.0);
    // As for Prony.EnergyIsConserved, and where the fibre begins to pull a step is divided by a kink.
    EXPECT_NEAR(work, before.energy + heat, (amplitude < 1e-3 ? 2e-3 : 0.1) * heat);
  }
}

/// Pad 40 x 40 x 20 mm on a plate.
class RelaxingPad : public testing::Test {
 protected:
  RelaxingPad() {
    pair_.name = "pad-plate";
    pair_.backend = "fem_full";
    pair_.main.surface = BlockSurface{.lengths = {0.04, 0.04, 0.02}, .center = {0.0, 0.0, 0.01}};
    pair_.main.materials = {{.youngs_modulus = 1e6, .poissons_ratio = 0.4, .density = 1000.0, .set = ""}};
    pair_.partner.surface = PlaneSurface{};
    pair_.parameters = {{"element_size", 0.01},
                        {"clamped_box", std::vector<double>{-1.0, -1.0, 0.0199, 1.0, 1.0, 1.0}},
                        {"contact_direction", std::vector<double>{0.0, 0.0, -1.0}},
                        {"max_penetration", 0.01},
                        {"material_law", std::string("mooney_rivlin")},
                        {"mooney_fraction", 0.3},
                        {"prony_coefficients", shares},
                        {"prony_times", times}};
  }
  [[nodiscard]] std::unique_ptr<ContactBackend> make() const {
    PrepareContext context;
    context.on_progress = [](std::string_view, double) {};
    return make_backend(pair_, context);
  }
  [[nodiscard]] static PairState state(double t, double depth) {
    PairState state;
    state.t = t;
    state.X_AB.p = Vector3(0.0, 0.0, depth);
    return state;
  }
  [[nodiscard]] std::string rejection_error() const {
    try {
      (void)checked_pair(pair_);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
  /// The elastic pad after complete relaxation: the shear modulus decreases, the bulk modulus is constant.
  [[nodiscard]] PairSpec relaxed() const {
    PairSpec pair = pair_;
    Material& m = pair.main.materials.front();
    const LameConstants c = lame_constants(m);
    const double mu = (1.0 - shares[0] - shares[1]) * c.mu;
    const double K = c.lambda + 2.0 / 3.0 * c.mu;
    m.poissons_ratio = (3.0 * K - 2.0 * mu) / (6.0 * K + 2.0 * mu);
    m.youngs_modulus = 2.0 * mu * (1.0 + m.poissons_ratio);
    pair.parameters.erase("prony_coefficients");
    pair.parameters.erase("prony_times");
    return pair;
  }

  PairSpec pair_;
};

TEST_F(RelaxingPad, RelaxesFromTheInstantaneousToTheLongTermForce) {
  const auto pad = make();
  const double depth = 4e-3;
  const Committed pressed = pad->commit(*pad->initial_history(), state(3.0, depth));
  const double sudden = pressed.response.F_A.force.z();
  pair_ = relaxed();
  const auto slow = make();
  const double last = slow->evaluate(*slow->initial_history(), state(0.0, depth)).F_A.force.z();
  std::printf("%8s %12s\n%8.3f %12.4f\n", "t [s]", "F [N]", 3.0, sudden);
  auto history = pressed.history;
  double before = sudden;
  double heat = 0.0;
  // Over a long step the stress is assumed linear in time, so that the last one has to follow a long one.
  for (const double t : {3.05, 3.2, 4.0, 8.0, 100.0, 1e4, 1e7}) {
    const Committed relaxed = pad->commit(*history, state(t, depth));
    history = relaxed.history;
    const double force = relaxed.response.F_A.force.z();
    std::printf("%8.3f %12.4f\n", t, force);
    EXPECT_LT(force, before);
    EXPECT_GE(force, last * (1.0 - 1e-9));
    EXPECT_GT(relaxed.response.dissipated_increment, 0.0);
    EXPECT_GT(relaxed.response.stored_energy, 0.0);
    heat += relaxed.response.dissipated_increment;
    before = force;
  }
  EXPECT_LT(heat, pressed.response.stored_energy) << "energy dissipated without motion was stored before";
  // Newton's method ends at 1e-10 of the force.
  EXPECT_NEAR(before, last, 1e-8 * last) << "[N] of the elastic pad with the slow modulus";
  EXPECT_GT(sudden, 1.2 * last);
}

TEST_F(RelaxingPad, EvaluationsArePureAndHistoriesAreRestoredBitForBit) {
  const auto pad = make();
  const Committed first = pad->commit(*pad->initial_history(), state(0.1, 2e-3));
  const Committed second = pad->commit(*first.history, state(0.15, 3e-3));
  const Response evaluated = pad->evaluate(*second.history, state(0.2, 3.5e-3));
  (void)pad->evaluate(*second.history, state(5.0, 1e-3));
  (void)pad->evaluate(*first.history, state(0.12, 2.5e-3));
  const auto restored = pad->load_history(second.history->save());
  EXPECT_EQ(restored->save(), second.history->save());
  for (const History* history : {second.history.get(), restored.get()}) {
    const Response again = pad->evaluate(*history, state(0.2, 3.5e-3));
    EXPECT_EQ(again.F_A.vector(), evaluated.F_A.vector());
    EXPECT_EQ(again.dF_A_dX, evaluated.dF_A_dX);
    EXPECT_EQ(again.dissipated_increment, evaluated.dissipated_increment);
  }
  const Response after = pad->evaluate(*second.history, state(0.15, 3e-3));
  EXPECT_LT((after.F_A.vector() - second.response.F_A.vector()).norm(), 1e-9 * after.F_A.vector().norm())
      << "a commit responds like an evaluation with the new history";
  EXPECT_GT(second.response.dissipated_increment, 0.0);
  const double h = 1e-7;
  const double difference = (pad->evaluate(*second.history, state(0.2, 3.5e-3 + h)).F_A.force.z() -
                             pad->evaluate(*second.history, state(0.2, 3.5e-3 - h)).F_A.force.z()) /
                            (2.0 * h);
  EXPECT_NEAR(evaluated.dF_A_dX(5, 5), difference, 1e-6 * difference) << "[N/m]";
  EXPECT_THROW((void)pad->evaluate(*second.history, state(0.14, 3e-3)), Error) << "a time before the commit";
}

TEST_F(RelaxingPad, RecoversItsIndentationWithDelay) {
  const auto pad = make();
  const double fresh = pad->evaluate(*pad->initial_history(), state(0.0, 1e-3)).F_A.force.z();
  auto history = pad->initial_history();
  for (const double t : {0.0, 1.0, 2.0, 3.0}) history = pad->commit(*history, state(t, 5e-3)).history;
  const Committed apart = pad->commit(*history, state(3.001, -1e-3));
  EXPECT_EQ(apart.response.F_A.vector(), Vector6(Vector6::Zero()));
  EXPECT_GT(apart.response.gap, 1e-3) << "the surface is still dented";
  EXPECT_EQ(apart.response.stored_energy, 0.0) << "no energy can be recovered";
  EXPECT_GT(apart.response.dissipated_increment, 0.0) << "with the energy left in the indentation";
  EXPECT_EQ(pad->evaluate(*apart.history, state(3.1, -1e-3)).dissipated_increment, 0.0) << "reported once";
  const Response soon = pad->evaluate(*apart.history, state(3.002, 1e-3));
  const Response grazing = pad->evaluate(*apart.history, state(3.002, 1e-5));
  std::printf("1 mm deep: fresh %.4f N, 1 ms after the release %.4f N; gap while apart %.4f mm\n", fresh,
              soon.F_A.force.z(), 1e3 * apart.response.gap);
  EXPECT_LT(soon.F_A.force.z(), 0.9 * fresh);
  EXPECT_EQ(grazing.F_A.vector(), Vector6(Vector6::Zero())) << "in the dent";
  EXPECT_GT(grazing.gap, 0.0);
  Committed later = apart;
  for (const double t : {10.0, 100.0, 1e4, 1e7}) later = pad->commit(*later.history, state(t, -1e-3));
  EXPECT_NEAR(later.response.gap, 1e-3, 1e-9);
  EXPECT_NEAR(pad->evaluate(*later.history, state(1e7, 1e-3)).F_A.force.z(), fresh, 1e-6 * fresh) << "recovered";
}

TEST_F(RelaxingPad, RelaxesAsALayerAndWithFriction) {
  pair_.parameters["friction"] = 0.4;
  for (const char* backend : {"fem_full", "fem_layered"}) {
    pair_.backend = backend;
    if (pair_.backend == "fem_layered") pair_.parameters["layer_depth"] = 0.008;
    const auto pad = make();
    const Committed pressed = pad->commit(*pad->initial_history(), state(0.0, 2e-3));
    const Committed relaxed = pad->commit(*pressed.history, state(1.0, 2e-3));
    std::printf("%-12s %.4f N at once, %.4f N after 1 s\n", backend, pressed.response.F_A.force.z(),
                relaxed.response.F_A.force.z());
    EXPECT_LT(relaxed.response.F_A.force.z(), 0.97 * pressed.response.F_A.force.z());
    EXPECT_GT(relaxed.response.F_A.force.z(), 0.5 * pressed.response.F_A.force.z());
    const Committed apart = pad->commit(*relaxed.history, state(1.1, -1e-3));
    EXPECT_EQ(apart.response.F_A.vector(), Vector6(Vector6::Zero()));
    Committed recovered = apart;
    for (const double t : {10.0, 100.0, 1e4, 1e7}) recovered = pad->commit(*recovered.history, state(t, -1e-3));
    EXPECT_NEAR(recovered.response.gap, 1e-3, 1e-9);
  }
}

// Fibres across the pressure resist the spreading; they relax beside an elastic matrix, and the commit includes them.
TEST_F(RelaxingPad, RelaxesByItsFibres) {
  for (const char* name : {"mooney_fraction", "prony_coefficients", "prony_times"}) pair_.parameters.erase(name);
  pair_.parameters["material_law"] = std::string("holzapfel_gasser_ogden");
  pair_.parameters["fiber_stiffness"] = 1e6;
  pair_.parameters["fiber_exponent"] = 1.0;
  pair_.parameters["fiber_directions"] = std::vector<double>{1.0, 0.0, 0.0, 0.0, 1.0, 0.0};
  const double depth = 4e-3;
  const auto elastic = make();
  const double first = elastic->evaluate(*elastic->initial_history(), state(0.0, depth)).F_A.force.z();
  pair_.parameters["fiber_stiffness"] = 0.5e6;
  const auto half = make();
  const double last = half->evaluate(*half->initial_history(), state(0.0, depth)).F_A.force.z();
  pair_.parameters["fiber_stiffness"] = 1e6;
  pair_.parameters["fiber_prony_coefficients"] = shares;  // half of it decays
  pair_.parameters["fiber_prony_times"] = times;
  const auto pad = make();
  Committed relaxed = pad->commit(*pad->initial_history(), state(0.0, depth));
  EXPECT_NEAR(relaxed.response.F_A.force.z(), first, 1e-8 * first);
  for (const double t : {0.1, 1.0, 10.0, 1e4, 1e7}) {
    const double before = relaxed.response.F_A.force.z();
    relaxed = pad->commit(*pad->load_history(relaxed.history->save()), state(t, depth));
    EXPECT_LT(relaxed.response.F_A.force.z(), before * (1.0 + 1e-9)) << t;
  }
  std::printf("pressed %.4f N, relaxed %.4f N, half the fibres %.4f N\n", first, relaxed.response.F_A.force.z(), last);
  EXPECT_NEAR(relaxed.response.F_A.force.z(), last, 1e-7 * last);
  EXPECT_GT(first, 1.05 * last);
}

TEST_F(RelaxingPad, InvalidSeriesAreReported) {
  using testing::AllOf;
  using testing::HasSubstr;
  EXPECT_EQ(rejection_error(), "accepted");
  pair_.parameters["prony_times"] = std::vector<double>{0.1};
  EXPECT_THAT(rejection_error(),
              AllOf(HasSubstr("contact.pad-plate.parameters.prony_times"), HasSubstr("found 1 and 2")));
  pair_.parameters["prony_times"] = std::vector<double>{0.1, -2.0};
  EXPECT_THAT(rejection_error(), HasSubstr("prony_times"));
  pair_.parameters["prony_times"] = times;
  pair_.parameters["prony_coefficients"] = std::vector<double>{0.5, 0.6};
  EXPECT_THAT(rejection_error(), AllOf(HasSubstr("prony_coefficients"), HasSubstr("sum below 1"), HasSubstr("1.1")));
  pair_.parameters["prony_coefficients"] = shares;
  pair_.parameters["fiber_prony_coefficients"] = shares;
  EXPECT_THAT(rejection_error(),
              AllOf(HasSubstr("parameters.fiber_prony_coefficients"), HasSubstr("holzapfel_gasser_ogden")));
  pair_.parameters.erase("mooney_fraction");
  pair_.parameters["material_law"] = std::string("holzapfel_gasser_ogden");
  pair_.parameters["fiber_stiffness"] = 1e6;
  pair_.parameters["fiber_exponent"] = 1.0;
  pair_.parameters["fiber_directions"] = std::vector<double>{1.0, 0.0, 0.0};
  EXPECT_THAT(rejection_error(), AllOf(HasSubstr("parameters.fiber_prony_times"), HasSubstr("found 0 and 2")));
  pair_.parameters["fiber_prony_times"] = times;
  EXPECT_EQ(rejection_error(), "accepted");
  pair_.parameters["fiber_prony_coefficients"] = std::vector<double>{0.5, 0.6};
  EXPECT_THAT(rejection_error(), AllOf(HasSubstr("fiber_prony_coefficients"), HasSubstr("sum below 1")));
  pair_.parameters["fiber_prony_coefficients"] = shares;
  pair_.parameters["fiber_stiffness"] = 0.0;
  EXPECT_THAT(rejection_error(), AllOf(HasSubstr("fiber_prony_coefficients"), HasSubstr("have no tension to relax")));
  for (const char* name :
       {"fiber_prony_coefficients", "fiber_prony_times", "fiber_stiffness", "fiber_exponent", "fiber_directions"}) {
    pair_.parameters.erase(name);
  }
  for (const char* law : {"linear", "neo_hookean"}) {
    pair_.parameters["material_law"] = std::string(law);
    EXPECT_THAT(rejection_error(), AllOf(HasSubstr("prony_coefficients"), HasSubstr(std::string(law) + " is elastic"),
                                         HasSubstr("mooney_fraction: 0")));
  }
  pair_.parameters.erase("material_law");
  pair_.backend = "fem_condensed";
  EXPECT_THAT(rejection_error(), HasSubstr("prony")) << "linear and elastic: not a key of this back-end";
}

}  // namespace
}  // namespace heelstrike::fem
