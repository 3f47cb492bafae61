// Orders of convergence for u = d sin(k . x), with the body force of this solution.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/element_kind.hpp"
#include "fem_server/fem/sparse_cholesky.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem {
namespace {

const Vector3 k(2.0, 1.0, -1.5);

/// Displacement and material.
struct Problem {
  ElementKind kind;
  double nu = 0.3;
  Vector3 d = Vector3(0.6, -0.3, 0.8);
};

struct Errors {
  double displacement = 0.0;  ///< root mean square over the body, of |d|
  double stress = 0.0;        ///< root mean square, of the largest stress component
};

Vector3 exact(const Vector3& x, const Vector3& d) {
  return d * std::sin(k.dot(x));
}

Matrix3 exact_stress(const Vector3& x, const Vector3& d, const LameConstants& c) {
  const Matrix3 gradient = d * k.transpose() * std::cos(k.dot(x));
  Matrix3 stress = c.mu * (gradient + gradient.transpose());
  stress.diagonal().array() += c.lambda * gradient.trace();
  return stress;
}

Eigen::VectorXd solve(const BodyModel& body, const Vector3& d) {
  const auto& nodes = body.mesh().nodes;
  const LameConstants& c = body.material(0);
  const Vector3 amplitude = (c.lambda + c.mu) * d.dot(k) * k + c.mu * k.squaredNorm() * d;
  Eigen::MatrixXd force(static_cast<Eigen::Index>(body.n_dofs()), 1);
  Eigen::VectorXd u = Eigen::VectorXd::Zero(force.rows());
  std::vector<std::int64_t> inner;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto row = 3 * static_cast<Eigen::Index>(n);
    force.block<3, 1>(row, 0) = amplitude * std::sin(k.dot(nodes[n]));
    const bool fixed = nodes[n].minCoeff() < 1e-12 || nodes[n].maxCoeff() > 1.0 - 1e-12;
    if (fixed) u.segment<3>(row) = exact(nodes[n], d);
    for (Eigen::Index i = 0; i < 3 && !fixed; ++i) inner.push_back(row + i);
  }
  const SparseMatrix K = linear_stiffness(body);
  SparseCholesky factor(K, inner, std::vector<std::int64_t>{});
  EXPECT_TRUE(factor.factorize(K));
  const Eigen::MatrixXd rhs = mass_times(body, force) - K * u;  // density 1
  return u + factor.solve(rhs);
}

Errors errors(std::size_t n, const Problem& problem) {
  const Vector3& d = problem.d;
  const BodyModel body(
      test::block_mesh_of(problem.kind.n_nodes, Vector3::Zero(), Vector3::Ones(), n, n, n),
      std::vector<Material>{{.youngs_modulus = 1.0, .poissons_ratio = problem.nu, .density = 1.0, .set = ""}},
      problem.kind.pressure);
  const Eigen::VectorXd u = solve(body, d);
  Errors result;
  double volume = 0.0;
  const ShapeTable& mass = body.reference().mass;
  const ShapeTable& rule = body.reference().stiffness;
  const auto stresses = linear_stress(body, u);
  const LameConstants& c = body.material(0);
  const double stress_scale = exact_stress(Vector3::Zero(), d, c).cwiseAbs().maxCoeff();
  for (std::size_t e = 0; e < body.mesh().n_elements(); ++e) {
    const auto nodes = body.mesh().element(e);
    const auto at = [&](const ShapeTable& table, std::size_t q, auto&& value) {
      Vector3 sum = Vector3::Zero();
      for (std::size_t a = 0; a < nodes.size(); ++a) sum += table.values[q][static_cast<Eigen::Index>(a)] * value(a);
      return sum;
    };
    const auto place = [&](std::size_t a) -> Vector3 { return body.mesh().nodes[nodes[a]]; };
    for (std::size_t q = 0; q < mass.weights.size(); ++q) {
      const double weight = body.point_geometry(mass, e, q).weight;
      const Vector3 found = at(mass, q, [&](std::size_t a) -> Vector3 { return u.segment<3>(3 * nodes[a]); });
      result.displacement += weight * (found - exact(at(mass, q, place), d)).squaredNorm();
      volume += weight;
    }
    for (std::size_t q = 0; q < rule.weights.size(); ++q) {
      const double weight = body.point_geometry(rule, e, q).weight;
      const Matrix3 s = exact_stress(at(rule, q, place), d, c);
      Eigen::Matrix<double, 6, 1> reference;
      reference << s(0, 0), s(1, 1), s(2, 2), s(0, 1), s(1, 2), s(2, 0);
      const auto column = static_cast<Eigen::Index>(e * rule.weights.size() + q);
      result.stress += weight * (stresses.col(column) - reference).squaredNorm();
    }
  }
  result.displacement = std::sqrt(result.displacement / volume) / d.norm();
  result.stress = std::sqrt(result.stress / volume) / stress_scale;
  return result;
}

TEST(ManufacturedSolution, DisplacementAndStressConvergeWithTheirOrders) {
  std::printf("%10s %6s %14s %7s %14s %7s\n", "element", "1/h", "displacement", "order", "stress", "order");
  for (const bool quadratic : {false, true}) {
    const Problem problem{.kind = default_element(quadratic ? 10 : 4)};
    Errors before;
    for (const std::size_t n : quadratic ? std::vector<std::size_t>{2, 4, 8} : std::vector<std::size_t>{4, 8, 16}) {
      const Errors now = errors(n, problem);
      const double order_u = before.stress > 0.0 ? std::log2(before.displacement / now.displacement) : 0.0;
      const double order_s = before.stress > 0.0 ? std::log2(before.stress / now.stress) : 0.0;
      std::printf("%10s %6zu %14.4e %7.2f %14.4e %7.2f\n", quadratic ? "quadratic" : "linear", n, now.displacement,
                  order_u, now.stress, order_s);
      if (before.stress > 0.0) {
        // Theory: p + 1 and p; meshes this coarse are a little below.
        EXPECT_GT(order_u, quadratic ? 2.8 : 1.8);
        EXPECT_GT(order_s, quadratic ? 1.8 : 0.8);
      }
      before = now;
    }
  }
}

// At nu = 0.4999 with an isochoric motion, d perpendicular to k: locking elements do not converge before they are much
// smaller than here.
TEST(ManufacturedSolution, MixedElementsConvergeForIsochoricMotion) {
  std::printf("%12s %6s %14s %7s %14s %7s   nu = 0.4999\n", "element", "1/h", "displacement", "order", "stress",
              "order");
  for (const ElementKind& kind : element_kinds()) {
    const Problem problem{.kind = kind, .nu = 0.4999, .d = Vector3(0.6, 0.3, 1.0)};
    ASSERT_EQ(problem.d.dot(k), 0.0);
    const bool quadratic = element_topology(kind.n_nodes).quadratic();
    std::vector<Errors> all;
    for (const std::size_t n : quadratic ? std::vector<std::size_t>{2, 4, 8} : std::vector<std::size_t>{4, 8, 16}) {
      all.push_back(errors(n, problem));
      const bool first = all.size() == 1;
      const Errors& before = all[first ? 0 : all.size() - 2];
      std::printf("%12s %6zu %14.4e %7.2f %14.4e %7.2f\n", std::string(kind.name).c_str(), n, all.back().displacement,
                  std::log2(before.displacement / all.back().displacement), all.back().stress,
                  std::log2(before.stress / all.back().stress));
    }
    if (!kind.mixed()) continue;
    EXPECT_GT(std::log2(all[1].displacement / all[2].displacement), quadratic ? 2.5 : 1.5) << kind.name;
  }
}

}  // namespace
}  // namespace heelstrike::fem
