// Laws of large strain at one point against closed forms and differences.
#include "fem_server/fem/hyperelastic.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <random>

#include "fem_server/fem/neo_hookean.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem {
namespace {

const LameConstants tissue = lame_constants({.youngs_modulus = 1e6, .poissons_ratio = 0.45, .density = 0.0, .set = ""});
const LameConstants nearly_incompressible =
    lame_constants({.youngs_modulus = 1e6, .poissons_ratio = 0.4999, .density = 0.0, .set = ""});

struct LawCase {
  std::string name;
  StretchLaw law;
  FiberFamilies fibers{};
  /// t_a - t_b per mu at isochoric stretches (a, b and the third one), as printed in textbooks.
  std::function<double(double a, double b, double third)> difference{};
};

/// t_a - t_b = 2 (a^2 - b^2) (W_1 + third^2 W_2) with the derivatives by the invariants [ogden1984, section 4.3].
std::function<double(double, double, double)> by_invariants(std::function<double(double I1)> W1, double W2) {
  return [=](double a, double b, double third) {
    return 2.0 * (a * a - b * b) * (W1(a * a + b * b + third * third) + third * third * W2);
  };
}

std::vector<LawCase> cases() {
  std::vector<LawCase> all;
  all.push_back(
      {"mooney_rivlin", StretchLaw::mooney_rivlin(0.3), {}, by_invariants([](double) { return 0.35; }, 0.15)});
  all.push_back({"yeoh",
                 StretchLaw::yeoh(0.4, 0.05),
                 {},
                 by_invariants(
                     [](double I1) {
                       const double x = I1 - 3.0;
                       return 0.5 * (1.0 + 0.8 * x + 0.15 * x * x);
                     },
                     0.0)});
  all.push_back({"ogden", StretchLaw::ogden({1.3, 8.0, -2.0}, {0.7, 0.1, 0.2}), {}, [](double a, double b, double) {
                   // mu_p = 2 mu share / alpha.
                   return 2.0 * 0.7 / 1.3 * (std::pow(a, 1.3) - std::pow(b, 1.3)) +
                          2.0 * 0.1 / 8.0 * (std::pow(a, 8.0) - std::pow(b, 8.0)) -
                          0.2 * (std::pow(a, -2.0) - std::pow(b, -2.0));
                 }});
  all.push_back({"neo_hookean", StretchLaw::neo_hookean(), {}, by_invariants([](double) { return 0.5; }, 0.0)});
  return all;
}

FiberFamilies two_families(double dispersion = 0.0) {
  return {
      .stiffness = 4e5, .exponent = 0.8, .dispersion = dispersion, .directions = {Vector3::UnitX(), Vector3::UnitY()}};
}

std::vector<LawCase> cases_with_fibers() {
  std::vector<LawCase> all = cases();
  all.push_back({"fibres", StretchLaw::neo_hookean(), two_families()});
  all.push_back({"dispersed fibres", StretchLaw::neo_hookean(), two_families(0.2)});
  return all;
}

double bulk_modulus(const LameConstants& c) {
  return c.lambda + 2.0 / 3.0 * c.mu;
}

Matrix3 diagonal(double a, double b, double c) {
  return Vector3(a, b, c).asDiagonal();
}

/// Deformations: random, equal and nearly equal stretches, also rotated.
std::vector<Matrix3> deformations() {
  std::mt19937 generator(7);  // NOLINT: the same numbers every time
  std::uniform_real_distribution<double> change(-0.35, 0.35);
  std::vector<Matrix3> all{Matrix3::Identity(), 1.2 * Matrix3::Identity(), diagonal(1.25, 1.25, 0.7),
                           diagonal(1.1, 1.1 + 1e-7, 0.9), diagonal(0.8, 1.2 + 3e-5, 1.2)};
  const Matrix3 R = rotation_from_vector(Vector3(0.4, -1.1, 0.7));
  const Matrix3 Q = rotation_from_vector(Vector3(-0.2, 0.5, 1.3));
  for (int i = 0; i < 5; ++i) all.push_back(R * all[static_cast<std::size_t>(i)] * Q);
  while (all.size() < 40) {
    Matrix3 F = Matrix3::Identity();
    for (Eigen::Index k = 0; k < 9; ++k) F(k) += change(generator);
    if (F.determinant() > 0.2) all.push_back(F);
  }
  return all;
}

TEST(Hyperelastic, StressAndTangentAreDerivatives) {
  for (const LawCase& c : cases_with_fibers()) {
    double worst_stress = 0.0;
    double worst_tangent = 0.0;
    for (const Matrix3& F : deformations()) {
      const Hyperelastic at = hyperelastic_response({c.law, c.fibers}, tissue, F);
      // Slack fibres have a kink in their stress: differences need both sides on one of them.
      const double E = (F.transpose() * F)(0, 0) - 1.0;
      if (!c.fibers.directions.empty() && std::abs(E) < 1e-4) continue;
      const double h = 1e-5;  // truncation h^2 = 1e-10, rounding 1e-16 / h = 1e-11
      Matrix3 P;
      Eigen::Matrix<double, 9, 9> tangent;
      for (Eigen::Index k = 0; k < 9; ++k) {
        Matrix3 forth = F;
        Matrix3 back = F;
        forth(k) += h;
        back(k) -= h;
        const Hyperelastic a = hyperelastic_response({c.law, c.fibers}, tissue, forth);
        const Hyperelastic b = hyperelastic_response({c.law, c.fibers}, tissue, back);
        P(k) = (a.energy - b.energy) / (2.0 * h);
        tangent.col(k) = (a.P - b.P).reshaped() / (2.0 * h);
      }
      worst_stress = std::max(worst_stress, (P - at.P).norm() / (at.P.norm() + tissue.mu));
      worst_tangent = std::max(worst_tangent, (tangent - at.tangent).norm() / at.tangent.norm());
      EXPECT_LT((at.tangent - at.tangent.transpose()).norm(), 1e-12 * at.tangent.norm()) << c.name;
    }
    std::printf("%-18s stress to energy %.1e, tangent to stress %.1e\n", c.name.c_str(), worst_stress, worst_tangent);
    EXPECT_LT(worst_stress, 3e-8) << c.name;
    EXPECT_LT(worst_tangent, 3e-8) << c.name;
  }
}

TEST(Hyperelastic, RotationsRotateStressesWithoutWork) {
  const Matrix3 Q = rotation_from_vector(Vector3(0.9, -0.4, 2.0));
  for (const LawCase& c : cases_with_fibers()) {
    for (const Matrix3& F : deformations()) {
      const Hyperelastic a = hyperelastic_response({c.law, c.fibers}, tissue, F);
      const Hyperelastic b = hyperelastic_response({c.law, c.fibers}, tissue, Q * F);
      // 1e-12: stiffness times the rounding of F.
      EXPECT_LT((b.P - Q * a.P).norm(), 1e-12 * a.tangent.norm()) << c.name;
      EXPECT_NEAR(a.energy, b.energy, 1e-12 * a.tangent.norm()) << c.name;
      if (!c.fibers.directions.empty()) continue;
      const Hyperelastic isotropic = hyperelastic_response({c.law, c.fibers}, tissue, F * Q);
      EXPECT_LT((isotropic.P - a.P * Q).norm(), 1e-12 * a.tangent.norm()) << c.name;
    }
  }
}

TEST(Hyperelastic, IsHookeAtZeroStrainForEveryLaw) {
  for (const LameConstants& c : {tissue, nearly_incompressible}) {
    Eigen::Matrix<double, 9, 9> hooke;
    for (Eigen::Index k = 0; k < 9; ++k) {
      Matrix3 G = Matrix3::Zero();
      G(k) = 1.0;
      const Matrix3 stress = c.mu * (G + G.transpose()) + c.lambda * G.trace() * Matrix3::Identity();
      hooke.col(k) = stress.reshaped();
    }
    for (const LawCase& law : cases_with_fibers()) {
      const Hyperelastic rest = hyperelastic_response({law.law, law.fibers}, c, Matrix3::Identity());
      // 1e-14 of the largest entry.
      EXPECT_LT(rest.P.norm(), 1e-14 * hooke.norm()) << law.name;
      EXPECT_LT((rest.tangent - hooke).norm(), 1e-13 * hooke.norm()) << law.name;
    }
  }
}

// At the given isochoric stretches, the stress follows from the textbook's difference of principal stresses, the volume
// from its mean, 3 K ln J = sum of the Kirchhoff stresses, and the free faces have no stress.
TEST(Hyperelastic, UniaxialAndBiaxialTensionFollowTheClosedForms) {
  for (const LameConstants& material : {tissue, nearly_incompressible}) {
    const double K = bulk_modulus(material);
    for (const LawCase& c : cases()) {
      for (const double l : {0.6, 0.85, 1.0, 1.2, 1.8}) {
        const double lateral = 1.0 / std::sqrt(l);
        const double uniaxial = material.mu * c.difference(l, lateral, lateral);
        const double s = std::exp(uniaxial / (9.0 * K));  // cube root of J
        const Hyperelastic one =
            hyperelastic_response({c.law, {}}, material, diagonal(s * l, s * lateral, s * lateral));
        // 1e-12 of the bulk modulus: rounding of J.
        EXPECT_NEAR(one.P(0, 0) * s * l, uniaxial, 1e-12 * K) << c.name << " " << l;
        EXPECT_LT(std::abs(one.P(1, 1)) + std::abs(one.P(2, 2)), 1e-12 * K) << c.name << " " << l;

        const double thin = 1.0 / (l * l);
        const double biaxial = material.mu * c.difference(l, thin, l);
        const double r = std::exp(2.0 * biaxial / (9.0 * K));
        const Hyperelastic two = hyperelastic_response({c.law, {}}, material, diagonal(r * l, r * l, r * thin));
        EXPECT_NEAR(two.P(0, 0) * r * l, biaxial, 1e-12 * K) << c.name << " " << l;
        EXPECT_NEAR(two.P(1, 1) * r * l, biaxial, 1e-12 * K) << c.name << " " << l;
        EXPECT_LT(std::abs(two.P(2, 2)), 1e-11 * K) << c.name << " " << l;
      }
    }
  }
}

TEST(Hyperelastic, SimpleShearFollowsTheClosedForm) {
  for (const LawCase& c : cases()) {
    for (const double gamma : {-0.7, 0.1, 0.4, 1.0}) {
      Matrix3 F = Matrix3::Identity();
      F(0, 1) = gamma;
      const Matrix3 sigma = hyperelastic_response({c.law, {}}, tissue, F).P * F.transpose();
      const double l = 0.5 * (std::abs(gamma) + std::sqrt(gamma * gamma + 4.0));
      const double shear = std::copysign(tissue.mu * c.difference(l, 1.0 / l, 1.0) / (l + 1.0 / l), gamma);
      EXPECT_NEAR(sigma(0, 1), shear, 1e-11 * bulk_modulus(tissue)) << c.name << " " << gamma;
      // Universal, for any law [rivlin1948].
      EXPECT_NEAR(sigma(0, 0) - sigma(1, 1), gamma * sigma(0, 1), 1e-11 * bulk_modulus(tissue)) << c.name;
      EXPECT_NEAR(sigma.trace(), 0.0, 1e-11 * bulk_modulus(tissue)) << c.name << ": shear has no volumetric response";
    }
  }
}

TEST(Hyperelastic, FibresPullInTheirDirectionAndAreSlackInCompression) {
  const FiberFamilies one{.stiffness = 4e5, .exponent = 0.8, .dispersion = 0.0, .directions = {Vector3::UnitX()}};
  const double K = bulk_modulus(tissue);
  const auto fiber = [&](double l) {  // [Pa] Kirchhoff stress
    const double E = std::max(l * l - 1.0, 0.0);
    return 2.0 * 4e5 * E * std::exp(0.8 * E * E) * l * l;
  };
  for (const double l : {0.7, 1.1, 1.4}) {
    const double lateral = 1.0 / std::sqrt(l);
    const double matrix = tissue.mu * (l * l - 1.0 / l);
    const double s = std::exp(matrix / (9.0 * K));
    const Matrix3 F = diagonal(s * l, s * lateral, s * lateral);
    const Hyperelastic pulled = hyperelastic_response({StretchLaw::neo_hookean(), one}, tissue, F);
    EXPECT_NEAR(pulled.P(0, 0) * s * l, matrix + fiber(s * l), 1e-12 * K) << l;
    EXPECT_LT(std::abs(pulled.P(1, 1)), 1e-12 * K);
    const double thin = 1.0 / (l * l);
    const double both = tissue.mu * (l * l - thin * thin);
    const double r = std::exp(2.0 * both / (9.0 * K));
    const Hyperelastic two =
        hyperelastic_response({StretchLaw::neo_hookean(), two_families()}, tissue, diagonal(r * l, r * l, r * thin));
    EXPECT_NEAR(two.P(0, 0) * r * l, both + fiber(r * l), 1e-12 * K) << l;
    EXPECT_LT(std::abs(two.P(2, 2)), 1e-11 * K);
  }
  Matrix3 F = Matrix3::Identity();
  F(0, 1) = 0.5;  // a fibre along y turns to (0.5, 1): C_yy - 1 = 0.25
  const FiberFamilies upright{.stiffness = 4e5, .exponent = 0.8, .dispersion = 0.0, .directions = {Vector3::UnitY()}};
  const Matrix3 sigma = hyperelastic_response({StretchLaw::neo_hookean(), upright}, tissue, F).P * F.transpose();
  const double pull = 2.0 * 4e5 * 0.25 * std::exp(0.8 * 0.0625);
  EXPECT_NEAR(sigma(0, 1), tissue.mu * 0.5 + pull * 0.5, 1e-11 * K);
  // In all directions alike: the response is isotropic.
  const FiberFamilies measured_force{
      .stiffness = 4e5, .exponent = 0.8, .dispersion = 1.0 / 3.0, .directions = {Vector3::UnitY()}};
  const Matrix3 Q = rotation_from_vector(Vector3(0.9, -0.4, 2.0));
  const Matrix3 P = hyperelastic_response({StretchLaw::neo_hookean(), measured_force}, tissue, F).P;
  EXPECT_LT((hyperelastic_response({StretchLaw::neo_hookean(), measured_force}, tissue, F * Q).P - P * Q).norm(),
            1e-10 * P.norm());
}

TEST(Hyperelastic, ElementTangentsAreDerivativesOfTheirForces) {
  for (const LawCase& c : cases_with_fibers()) {
    for (const ElementKind& kind : element_kinds()) {
      const BodyModel body(
          test::block_mesh_of(kind.n_nodes, {0.0, 0.0, 0.0}, {0.02, 0.02, 0.02}, 1, 1, 1),
          std::vector<Material>{{.youngs_modulus = 1e6, .poissons_ratio = 0.45, .density = 0.0, .set = ""}},
          kind.pressure);
      const MaterialLaw law = material_of({c.law, c.fibers});
      SparseMatrix K = sparsity_pattern(body);
      SparseMatrix unused = K;
      Eigen::VectorXd u(static_cast<Eigen::Index>(body.n_dofs()));
      for (Eigen::Index i = 0; i < u.size(); ++i) u[i] = 1e-3 * std::sin(3.0 * static_cast<double>(i) + 1.0);
      const BodyEquations at = assemble_equations(body, law, u, K);
      ASSERT_TRUE(at.valid);
      const Eigen::MatrixXd tangent(K);
      const double h = 1e-7;  // [m] truncation (h / 1 cm)^2 = 1e-10, rounding 1e-16 / 1e-5 = 1e-11
      for (Eigen::Index i = 0; i < u.size(); i += 5) {
        Eigen::VectorXd v = u;
        v[i] += h;
        const BodyEquations forth = assemble_equations(body, law, v, unused);
        v[i] -= 2.0 * h;
        const BodyEquations back = assemble_equations(body, law, v, unused);
        const Eigen::VectorXd column = (forth.force - back.force) / (2.0 * h);
        EXPECT_LT((column - tangent.col(i)).cwiseAbs().maxCoeff(), 1e-7 * tangent.cwiseAbs().maxCoeff())
            << c.name << " " << kind.name;
        EXPECT_NEAR((forth.energy - back.energy) / (2.0 * h), at.force[i], 1e-6 * at.force.cwiseAbs().maxCoeff());
      }
      u[2] = 0.05;
      EXPECT_FALSE(assemble_equations(body, law, u, K).valid) << "an element is inside out";
    }
  }
}

}  // namespace
}  // namespace heelstrike::fem
