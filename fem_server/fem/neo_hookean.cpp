#include "fem_server/fem/neo_hookean.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "fem_server/fem/assembly.hpp"

namespace heelstrike::fem {

namespace {

/// @param dilatation  [-] ln J, or its interpolated value in a mixed body
Matrix3 piola_stress(const LameConstants& constants, const Matrix3& F, double dilatation) {
  const Matrix3 inverse_transposed = F.inverse().transpose();
  return constants.mu * (F - inverse_transposed) + constants.lambda * dilatation * inverse_transposed;
}

double log_volume(const Matrix3& F) {
  return std::log(F.determinant());
}

}  // namespace

Matrix3 first_piola_stress(const LameConstants& constants, const Matrix3& F) {
  return piola_stress(constants, F, log_volume(F));
}

Matrix3 cauchy_stress(const LameConstants& constants, const Matrix3& F) {
  return first_piola_stress(constants, F) * F.transpose() / F.determinant();
}

double strain_energy_density(const LameConstants& constants, const Matrix3& F) {
  const double log_J = std::log(F.determinant());
  return 0.5 * constants.mu * (F.squaredNorm() - 3.0) - constants.mu * log_J + 0.5 * constants.lambda * log_J * log_J;
}

double PointLaw::dilatation(const Matrix3& G) const {
  return log_volume(Matrix3::Identity() + G);
}

namespace {

/// @param dilatation  [-] tr G, or its interpolated value in a mixed body
Matrix3 hooke_stress(const LameConstants& c, const Matrix3& G, double dilatation) {
  Matrix3 stress = c.mu * (G + G.transpose());
  stress.diagonal().array() += c.lambda * dilatation;
  return stress;
}

PointPower linear_point(const QuadraturePoint& geometry, const LameConstants& c, const Matrix3& G,
                        std::optional<double> mixed, Eigen::MatrixXd& tangent) {
  // Hooke's law for P: for infinitesimal rotations all stress tensors coincide.
  const Matrix3 stress = hooke_stress(c, G, mixed.value_or(G.trace()));
  // In a mixed body the energy lambda / 2 theta^2 belongs to the pressures.
  const Matrix3 own = mixed ? hooke_stress(c, G, 0.0) : stress;
  LameConstants pointwise = c;
  if (mixed) pointwise.lambda = 0.0;
  add_linear_point(geometry, pointwise, tangent);
  return {.forces = geometry.weight * stress * geometry.gradients.transpose(),
          .energy = 0.5 * geometry.weight * own.cwiseProduct(G).sum(),
          .valid = true};
}

/// dP = mu dF + (mu - lambda ln J) F^-T dF^T F^-T + lambda (F^-T : dF) F^-T; with h = F^-T grad N the blocks are
/// mu (ga.gb) 1 + (mu - lambda ln J) hb ha^T + lambda ha hb^T. In a mixed body ln J is interpolated from the pressures,
/// and the last term belongs to them.
PointPower neo_hookean_point(const QuadraturePoint& geometry, const LameConstants& c, const Matrix3& G,
                             std::optional<double> mixed, Eigen::MatrixXd& tangent) {
  const Matrix3 F = Matrix3::Identity() + G;
  const double J = F.determinant();
  PointPower work;
  work.forces.setZero(3, geometry.gradients.rows());
  // ln J is undefined: the caller reduces the step.
  if (!(J > 0.0)) {
    work.valid = false;
    return work;
  }
  const auto& g = geometry.gradients;
  const CellGradients h = g * F.inverse();
  const double dilatation = mixed ? *mixed : std::log(J);
  const double lambda = mixed ? 0.0 : c.lambda;
  // Negative under strong expansion; the tangent may then be indefinite, as is the material.
  const double second = c.mu - c.lambda * dilatation;
  for (Eigen::Index b = 0; b < g.rows(); ++b) {
    for (Eigen::Index a = 0; a < g.rows(); ++a) {
      Matrix3 block = second * h.row(b).transpose() * h.row(a) + lambda * h.row(a).transpose() * h.row(b);
      block.diagonal().array() += c.mu * g.row(a).dot(g.row(b));
      tangent.block<3, 3>(3 * a, 3 * b) += geometry.weight * block;
    }
  }
  work.forces = geometry.weight * piola_stress(c, F, dilatation) * g.transpose();
  LameConstants pointwise = c;
  pointwise.lambda = lambda;
  work.energy = geometry.weight * strain_energy_density(pointwise, F);
  return work;
}

class LinearLaw final : public PointLaw {
 public:
  [[nodiscard]] bool is_linear() const override { return true; }
  [[nodiscard]] double dilatation(const Matrix3& G) const override { return G.trace(); }
  [[nodiscard]] PointPower add_point(const QuadraturePoint& geometry, const LameConstants& constants, const Matrix3& G,
                                     std::optional<double> mixed, const PointHistoryVariables& /*memory*/,
                                     Eigen::MatrixXd& tangent) const override {
    return linear_point(geometry, constants, G, mixed, tangent);
  }
  [[nodiscard]] Matrix3 cauchy_stress(const LameConstants& constants, const Matrix3& G, std::optional<double> mixed,
                                      const PointHistoryVariables& /*memory*/) const override {
    return hooke_stress(constants, G, mixed.value_or(G.trace()));
  }
};

class NeoHookeanLaw final : public PointLaw {
 public:
  [[nodiscard]] PointPower add_point(const QuadraturePoint& geometry, const LameConstants& constants, const Matrix3& G,
                                     std::optional<double> mixed, const PointHistoryVariables& /*memory*/,
                                     Eigen::MatrixXd& tangent) const override {
    return neo_hookean_point(geometry, constants, G, mixed, tangent);
  }
  [[nodiscard]] Matrix3 cauchy_stress(const LameConstants& constants, const Matrix3& G, std::optional<double> mixed,
                                      const PointHistoryVariables& /*memory*/) const override {
    const Matrix3 F = Matrix3::Identity() + G;
    return piola_stress(constants, F, mixed.value_or(log_volume(F))) * F.transpose() / F.determinant();
  }
};

}  // namespace

double PointLaw::update_history(const LameConstants& /*constants*/, const Matrix3& /*G*/,
                                const PointHistoryVariables& /*memory*/, std::span<double> /*after*/) const {
  return 0.0;
}

const MaterialLaw MaterialLaw::linear(std::make_shared<const LinearLaw>());
const MaterialLaw MaterialLaw::neo_hookean(std::make_shared<const NeoHookeanLaw>());

namespace {

/// Offset of the history variables of each element, followed by the total number.
std::vector<std::size_t> history_variable_offsets(const BodyModel& body, const MaterialLaws& laws) {
  const std::size_t n_points = body.reference().stiffness.weights.size();
  std::vector<std::size_t> first{0};
  for (std::size_t e = 0; e < body.mesh().n_elements(); ++e) {
    first.push_back(first.back() + n_points * laws.of(body, e).memory_size());
  }
  return first;
}

}  // namespace

std::size_t memory_size(const BodyModel& body, const MaterialLaws& laws) {
  return history_variable_offsets(body, laws).back();
}

StressColumns stress(const BodyModel& body, const MaterialLaws& laws, const Eigen::VectorXd& u,
                     const BodyHistoryVariables& memory) {
  // Points are visited in the order of the history variables.
  std::size_t first = 0;
  return point_stresses(
      body, u,
      {.dilatation = [&](std::size_t element, const Matrix3& G) { return laws.of(body, element).dilatation(G); },
       .stress = [&](std::size_t element, const Matrix3& G, std::optional<double> mixed) -> Matrix3 {
         const PointLaw& law = laws.of(body, element);
         const PointHistoryVariables own = memory.at(first, law.memory_size());
         first += law.memory_size();
         return law.cauchy_stress(body.material(element), G, mixed, own);
       }});
}

HistoryUpdate update_history_variables(const BodyModel& body, const MaterialLaws& laws, const Eigen::VectorXd& u,
                                       const BodyHistoryVariables& memory) {
  HistoryUpdate after;
  after.values.resize(static_cast<Eigen::Index>(memory_size(body, laws)));
  const std::span<double> values(after.values.data(), static_cast<std::size_t>(after.values.size()));
  const ShapeTable& rule = body.reference().stiffness;
  std::size_t first = 0;
  for (std::size_t e = 0; e < body.mesh().n_elements(); ++e) {
    const PointLaw& law = laws.of(body, e);
    const std::size_t size = law.memory_size();
    if (size == 0) continue;
    const CellNodes own = body.of_nodes(e, u);
    for (std::size_t q = 0; q < rule.weights.size(); ++q, first += size) {
      const auto geometry = body.point_geometry(rule, e, q);
      const Matrix3 G = displacement_gradient(geometry, own);
      after.dissipated += geometry.weight *
                          law.update_history(body.material(e), G, memory.at(first, size), values.subspan(first, size));
    }
  }
  return after;
}

void deformed_cell(const ReferenceElement& reference, PressureKind kind, const CellNodes& places, const CellNodes& u,
                   const PointLaw& law, const LameConstants& constants, const BodyHistoryVariables& memory,
                   std::span<const double> mixed, CellTerms& terms) {
  const Eigen::Index n = 3 * places.cols();
  terms.matrix.setZero(n, n);
  terms.vectors.setZero(n, 1);
  terms.couplings.setZero(n, n_cell_pressures(reference, kind));
  terms.energy = 0.0;
  terms.valid = true;
  Eigen::Map<CellNodes> forces(terms.vectors.data(), 3, places.cols());
  double volume = 0.0;
  for (std::size_t q = 0; q < reference.stiffness.weights.size() && terms.valid; ++q) {
    const QuadraturePoint geometry = point_geometry(reference.stiffness, places, q);
    const Matrix3 G = displacement_gradient(geometry, u);
    std::optional<double> dilatation;
    if (!mixed.empty()) dilatation = mixed[q];
    const PointHistoryVariables own = memory.at(q * law.memory_size(), law.memory_size());
    const PointPower work = law.add_point(geometry, constants, G, dilatation, own, terms.matrix);
    terms.valid = work.valid;
    terms.energy += work.energy;
    forces += work.forces;
    volume += geometry.weight;
    if (kind == PressureKind::pointwise || !work.valid) continue;
    const Matrix3 F = Matrix3::Identity() + G;
    const CellGradients gradients =
        law.is_linear() ? geometry.gradients : CellGradients(geometry.gradients * F.inverse());
    add_coupling_terms(reference, kind, q, geometry.weight, gradients, terms.couplings);
  }
  if (kind == PressureKind::element) condense_pressure(constants, volume, terms);
}

BodyEquations assemble_equations(const BodyModel& body, const MaterialLaws& laws, const Eigen::VectorXd& u,
                                 SparseMatrix& tangent, unsigned n_threads, const BodyHistoryVariables& memory) {
  std::fill_n(tangent.valuePtr(), tangent.nonZeros(), 0.0);
  const std::size_t n_points = body.reference().stiffness.weights.size();
  BodyEquations equations;
  equations.force = Eigen::VectorXd::Zero(u.size());
  const std::vector<double> means = mean_dilatations(
      body, u, [&](std::size_t element, const Matrix3& G) { return laws.of(body, element).dilatation(G); }, n_threads);
  // The logarithm of a non-positive determinant is NaN.
  equations.valid = std::ranges::all_of(means, [](double mean) { return std::isfinite(mean); });
  if (!equations.valid) return equations;
  for (std::size_t a = 0; a < means.size(); ++a) {
    equations.energy += 0.5 * body.pressure_lambda(a) * body.pressure_volume(a) * means[a] * means[a];
  }
  const std::vector<std::size_t> places = history_variable_offsets(body, laws);
  NodalPressures pressures(body);
  body.cells().sum(
      [&](CellTerms& terms) {
        const std::size_t e = terms.cell;
        std::array<double, 27> mixed{};  // size of the largest rule
        for (std::size_t q = 0; q < n_points && !means.empty(); ++q) mixed[q] = dilatation_at(body, means, e, q);
        const PointHistoryVariables own = memory.at(places[e], places[e + 1] - places[e]);
        deformed_cell(body.reference(), body.pressures().kind(), body.places(e), body.of_nodes(e, u), laws.of(body, e),
                      body.material(e), {.values = own.values, .dt = own.dt},
                      std::span(mixed).first(means.empty() ? 0 : n_points), terms);
      },
      [&](const CellTerms& terms) {
        equations.valid = equations.valid && terms.valid;
        equations.energy += terms.energy;
        add_vectors(terms, equations.force);
        add_matrix(terms, tangent);
        pressures.add(terms);
      },
      n_threads);
  pressures.add_stiffness(tangent, n_threads);
  return equations;
}

}  // namespace heelstrike::fem
