#include "fem_server/fem/hyperelastic.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

StretchLaw StretchLaw::mooney_rivlin(double share) {
  // I2 is the sum of the inverse squares because the product of the stretches is one.
  return {fmt::format("mooney_rivlin with c01/(c10 + c01) = {}", share),
          {{.power = 2.0, .weight = 0.5 * (1.0 - share)}, {.power = -2.0, .weight = 0.5 * share}}};
}

StretchLaw StretchLaw::yeoh(double r2, double r3) {
  StretchLaw law(fmt::format("yeoh with c20/c10 = {}, c30/c10 = {}", r2, r3), {{.power = 2.0, .weight = 0.5}});
  law.square_ = 0.5 * r2;
  law.cube_ = 0.5 * r3;
  return law;
}

StretchLaw StretchLaw::ogden(const std::vector<double>& exponents, const std::vector<double>& shares) {
  std::vector<Term> terms;
  for (std::size_t p = 0; p < exponents.size(); ++p) {
    terms.push_back({.power = exponents[p], .weight = 2.0 * shares[p] / (exponents[p] * exponents[p])});
  }
  return {
      fmt::format("ogden with exponents [{}] and fractions [{}]", fmt::join(exponents, ", "), fmt::join(shares, ", ")),
      std::move(terms)};
}

StretchLaw StretchLaw::neo_hookean() {
  return {"neo_hookean", {{.power = 2.0, .weight = 0.5}}};
}

StretchEnergy StretchLaw::at(const Vector3& stretches) const {
  StretchEnergy energy;
  for (const Term& term : terms_) {
    for (Eigen::Index i = 0; i < 3; ++i) {
      const double l = stretches[i];
      const double power = std::pow(l, term.power);
      energy.value += term.weight * (power - 1.0);
      energy.slope[i] += term.weight * term.power * power / l;
      energy.curvature(i, i) += term.weight * term.power * (term.power - 1.0) * power / (l * l);
    }
  }
  if (square_ == 0.0 && cube_ == 0.0) return energy;
  // Yeoh terms in x = I1 - 3, with dI1 / dl_i = 2 l_i.
  const double x = stretches.squaredNorm() - 3.0;
  const double first = (2.0 * square_ + 3.0 * cube_ * x) * x;
  const double second = 2.0 * square_ + 6.0 * cube_ * x;
  energy.value += (square_ + cube_ * x) * x * x;
  energy.slope += 2.0 * first * stretches;
  energy.curvature += 4.0 * second * stretches * stretches.transpose();
  energy.curvature.diagonal().array() += 2.0 * first;
  return energy;
}

namespace {

/// Minimum tangent stiffness for isochoric changes of the logarithmic strains, relative to the shear modulus.
double min_tangent_stiffness(const StretchLaw& law, const Vector3& stretches) {
  const StretchEnergy energy = law.at(stretches);
  // Hessian in logarithmic strains: l_i l_j w_ij + delta_ij l_i w_i.
  Matrix3 by_strains = stretches.asDiagonal() * energy.curvature * stretches.asDiagonal();
  by_strains.diagonal() += stretches.cwiseProduct(energy.slope);
  // Orthonormal basis of the isochoric strains, which sum to zero.
  Eigen::Matrix<double, 3, 2> isochoric;
  isochoric << std::sqrt(0.5), std::sqrt(1.0 / 6.0), -std::sqrt(0.5), std::sqrt(1.0 / 6.0), 0.0, -std::sqrt(2.0 / 3.0);
  const Eigen::Matrix2d resistance = isochoric.transpose() * by_strains * isochoric;
  return Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d>(resistance, Eigen::EigenvaluesOnly).eigenvalues()[0];
}

struct Mode {
  const char* name;
  double second, third;  ///< exponents: stretches l, l^second, l^third
};
constexpr std::array<Mode, 3> modes{{{"uniaxial", -0.5, -0.5}, {"biaxial", 1.0, -2.0}, {"planar shear", 0.0, -1.0}}};

std::optional<Instability> first_instability(const StretchLaw& law) {
  // From 1 outwards in steps of 1 %: laws vary on a scale of tens of per cent.
  constexpr int n_steps = 70;
  for (int step = 0; step <= n_steps; ++step) {
    for (const Mode& mode : modes) {
      for (const double sign : {1.0, -1.0}) {
        const double l = std::exp2(sign * step / n_steps);
        const Vector3 stretches(l, std::pow(l, mode.second), std::pow(l, mode.third));
        if (!(min_tangent_stiffness(law, stretches) > 0.0)) return Instability{.mode = mode.name, .stretch = l};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void require_stable(const StretchLaw& law, const std::string& where) {
  const auto found = first_instability(law);
  if (!found) return;
  throw input_error(
      where, fmt::format("{}: {} is not stable (Drucker): expected increasing stress for stretches from 0.5 to 2, "
                         "found a decrease at {} stretch {:.3g}; fit the constants to data of both tension "
                         "and shear, or use fewer terms",
                         where, law.description(), found->mode, found->stretch));
}

namespace {

/// Energy, stress and stiffness of the isotropic part of one point, in its principal axes.
struct PrincipalPoint {
  Matrix3 U = Matrix3::Identity();         ///< current principal axes
  Matrix3 V = Matrix3::Identity();         ///< reference principal axes
  Vector3 slope = Vector3::Zero();         ///< [Pa] W_i
  Matrix3 normal = Matrix3::Zero();        ///< [Pa] W_ij: dP_ii / dF_jj
  Matrix3 normal_terms = Matrix3::Zero();  ///< [Pa] dP_ij / dF_ij, i != j
  Matrix3 shear_terms = Matrix3::Zero();   ///< [Pa] dP_ij / dF_ji, i != j
  double energy = 0.0;                     ///< [J/m^3] isochoric
  double volume_energy = 0.0;              ///< [J/m^3]
  Matrix3 isochoric = Matrix3::Zero();     ///< [Pa] S of prony_series.hpp, elastic

  [[nodiscard]] Matrix3 stress() const { return U * slope.asDiagonal() * V.transpose(); }
  /// sum_JL a_J (dP_iJ / dF_kL) b_L.
  [[nodiscard]] Matrix3 block(const Vector3& a, const Vector3& b) const {
    const Vector3 x = V.transpose() * a;
    const Vector3 y = V.transpose() * b;
    Matrix3 B = x.asDiagonal() * normal * y.asDiagonal();
    for (Eigen::Index i = 0; i < 3; ++i) {
      for (Eigen::Index j = 0; j < 3; ++j) {
        if (i == j) continue;
        B(i, i) += normal_terms(i, j) * x[j] * y[j];
        B(i, j) += shear_terms(i, j) * x[j] * y[i];
      }
    }
    return U * B * U.transpose();
  }
};

/// @param factor  of the isochoric stress and stiffness
/// @param mixed   as in PointLaw::add_point: the part lambda of K = lambda + 2/3 mu belongs to the pressures
/// @pre det F > 0
PrincipalPoint principal_point(const StretchLaw& law, const LameConstants& c, const Matrix3& F, double factor,
                               std::optional<double> mixed) {
  const Eigen::SelfAdjointEigenSolver<Matrix3> axes(F.transpose() * F);
  PrincipalPoint point;
  point.V = axes.eigenvectors();
  const Matrix3 FV = F * point.V;
  const Vector3 l = FV.colwise().norm();
  point.U = FV * l.cwiseInverse().asDiagonal();
  const double J = l.prod();
  const double log_J = std::log(J);
  const double K = 2.0 / 3.0 * c.mu + (mixed ? 0.0 : c.lambda);
  const double pressure = K * log_J + (mixed ? c.lambda * *mixed : 0.0);
  const Vector3 l_iso = l / std::cbrt(J);
  const StretchEnergy w = law.at(l_iso);
  point.energy = c.mu * w.value;
  point.volume_energy = 0.5 * K * log_J * log_J;
  // In logarithmic strains, whose deviator is the isochoric part: t_i = l dw/dl and its derivatives.
  const Vector3 t = l_iso.cwiseProduct(w.slope);
  Matrix3 t_by_strain = l_iso.asDiagonal() * w.curvature * l_iso.asDiagonal();
  t_by_strain.diagonal() += t;
  const Matrix3 deviator = Matrix3::Identity() - Matrix3::Constant(1.0 / 3.0);
  const Vector3 kirchhoff = factor * c.mu * (deviator * t) + Vector3::Constant(pressure);
  const Matrix3 kirchhoff_by_strain = factor * c.mu * (deviator * t_by_strain * deviator) + Matrix3::Constant(K);
  const Vector3 inverse = l.cwiseInverse();
  const Vector3 S = c.mu * (deviator * t).cwiseQuotient(l_iso.cwiseProduct(l_iso));
  point.isochoric = point.V * S.asDiagonal() * point.V.transpose();
  point.slope = inverse.cwiseProduct(kirchhoff);
  point.normal = inverse.asDiagonal() * kirchhoff_by_strain * inverse.asDiagonal();
  point.normal.diagonal() -= inverse.cwiseProduct(point.slope);
  // For nearly equal stretches the quotient suffers cancellation in their difference; the error of its limit is
  // quadratic in it.
  const double nearly_equal = std::cbrt(std::numeric_limits<double>::epsilon());
  for (Eigen::Index i = 0; i < 3; ++i) {
    for (Eigen::Index j = 0; j < 3; ++j) {
      if (i == j) continue;
      const double difference = l[i] - l[j];
      const double symmetric = std::abs(difference) > nearly_equal * l[i]
                                   ? (point.slope[i] - point.slope[j]) / difference
                                   : 0.5 * (point.normal(i, i) + point.normal(j, j)) - point.normal(i, j);
      const double antisymmetric = (point.slope[i] + point.slope[j]) / (l[i] + l[j]);
      point.normal_terms(i, j) = 0.5 * (symmetric + antisymmetric);
      point.shear_terms(i, j) = 0.5 * (symmetric - antisymmetric);
    }
  }
  return point;
}

/// Energy, stress and stiffness of one family of fibres: W_f(H : C).
struct FiberPoint {
  Matrix3 H = Matrix3::Zero();   ///< [-] structure: E = H : C - 1
  Matrix3 FH = Matrix3::Zero();  ///< [-]
  double energy = 0.0;           ///< [J/m^3]
  double slope = 0.0;            ///< [Pa] q / 2, dW_f / dE for elastic fibres
  double curvature = 0.0;        ///< [Pa]
  double dissipated = 0.0;       ///< [J/m^3] since the commit

  [[nodiscard]] Matrix3 stress() const { return 2.0 * slope * FH; }
  [[nodiscard]] Matrix3 block(const Vector3& a, const Vector3& b) const {
    Matrix3 B = 4.0 * curvature * (FH * a) * (FH * b).transpose();
    B.diagonal().array() += 2.0 * slope * a.dot(H * b);
    return B;
  }
};

double fiber_energy(const FiberFamilies& fibers, double E) {
  return 0.5 * fibers.stiffness / fibers.exponent * std::expm1(fibers.exponent * E * E);
}

/// [-] E of a fibre with the elastic tension s = 2 k1 E exp(k2 E^2) > 0 [Pa].
double strain_of_tension(const FiberFamilies& fibers, double s) {
  // In ln E the equation is convex and increasing: Newton's method from the right does not overshoot.
  const double target = std::log(s / (2.0 * fibers.stiffness));
  double log_E = target;
  for (int i = 0; i < 200; ++i) {
    const double bend = fibers.exponent * std::exp(2.0 * log_E);
    const double step = (log_E + bend - target) / (1.0 + 2.0 * bend);
    log_E -= step;
    if (!(step > 1e-15 * std::max(1.0, std::abs(log_E)))) break;
  }
  return std::exp(log_E);
}

/// Tension of relaxing fibres. @param s [Pa] elastic tension at the strain of the body @param after as
/// PronySeries::advance
void relax(const FiberFamilies& fibers, double s, const PointHistoryVariables& memory, std::span<double> after,
           FiberPoint& point) {
  const auto step = fibers.prony.step<double>(memory);
  const double q = step.factor * s + step.offset;
  double energy = point.energy;
  if (q > 0.0) {
    point.slope = 0.5 * q;
    point.curvature *= step.factor;
  } else {
    // Slack: the fibre takes the length at which its tension is zero.
    point.slope = 0.0;
    point.curvature = 0.0;
    s = std::max(0.0, -step.offset / step.factor);
    energy = s > 0.0 ? fiber_energy(fibers, strain_of_tension(fibers, s)) : 0.0;
  }
  const PronySeries::Energies energies = fibers.prony.advance(memory, s, 2.0 * fibers.stiffness, energy, after);
  point.energy = energies.elastic_fraction * energy + energies.stored;
  point.dissipated = energies.dissipated;
}

/// Evaluated from the displacement gradient, so that E is exactly zero in the reference state.
/// @param memory  history variables of this family
FiberPoint fiber_point(const FiberFamilies& fibers, const Vector3& direction, const Matrix3& G,
                       const PointHistoryVariables& memory, std::span<double> after = {}) {
  FiberPoint point;
  point.H = (1.0 - 3.0 * fibers.dispersion) * direction * direction.transpose();
  point.H.diagonal().array() += fibers.dispersion;
  point.FH = point.H + G * point.H;
  // H : (C - 1), as the trace of H is one.
  const double E = std::max(0.0, point.H.cwiseProduct(G + G.transpose() + G.transpose() * G).sum());
  if (E > 0.0) {
    const double growth = std::exp(fibers.exponent * E * E);
    point.energy = fiber_energy(fibers, E);
    point.slope = fibers.stiffness * E * growth;
    point.curvature = fibers.stiffness * (1.0 + 2.0 * fibers.exponent * E * E) * growth;
  }
  if (!fibers.prony.empty()) relax(fibers, 2.0 * point.slope, memory, after, point);
  return point;
}

/// Stress and stiffness of h : C_iso / 2, the part of the isochoric stress known before the step.
struct MemoryPoint {
  Matrix3 h = Matrix3::Zero();                    ///< [Pa]
  Matrix3 Fh = Matrix3::Zero();                   ///< [Pa]
  Matrix3 inverse_transpose_F = Matrix3::Zero();  ///< [-] F^-T
  double size = 0.0;                              ///< [Pa] h : C
  double scale = 1.0;                             ///< [-] J^-2/3

  MemoryPoint(const Matrix3& offset, const Matrix3& F)
      : h(offset),
        Fh(F * offset),
        inverse_transpose_F(F.inverse().transpose()),
        size(Fh.cwiseProduct(F).sum()),
        scale(1.0 / std::cbrt(F.determinant() * F.determinant())) {}

  [[nodiscard]] Matrix3 stress() const { return scale * (Fh - size / 3.0 * inverse_transpose_F); }
  [[nodiscard]] Matrix3 block(const Vector3& a, const Vector3& b) const {
    const Vector3 ma = inverse_transpose_F * a;
    const Vector3 mb = inverse_transpose_F * b;
    Matrix3 B = 2.0 / 9.0 * size * ma * mb.transpose() + size / 3.0 * mb * ma.transpose() -
                2.0 / 3.0 * (Fh * a * mb.transpose() + ma * (Fh * b).transpose());
    B.diagonal().array() += a.dot(h * b);
    return scale * B;
  }
};

/// Offsets of the isotropic part and of each fibre family in the history variables of a point.
template <class T>
std::span<T> isotropic_part(const HyperelasticLaw& law, std::span<T> values) {
  return values.empty() ? values : values.first(law.prony.memory_size());
}
template <class T>
std::span<T> fiber_part(const HyperelasticLaw& law, std::size_t family, std::span<T> values) {
  const std::size_t size = law.fibers.prony.n_scalar_history_variables();
  return values.empty() ? values : values.subspan(law.prony.memory_size() + family * size, size);
}

/// Passes stress and stiffness of all parts of the law to `add` and returns the energy.
/// @pre det F > 0
template <class Add>
double visit_parts(const HyperelasticLaw& law, const LameConstants& constants, const Matrix3& G,
                   std::optional<double> mixed, const PointHistoryVariables& memory, const Add& add) {
  const Matrix3 F = Matrix3::Identity() + G;
  const bool relaxes = !law.prony.empty();
  const PointHistoryVariables own{.values = isotropic_part(law, memory.values), .dt = memory.dt};
  const auto step = law.prony.step<Matrix3>(own);
  const PrincipalPoint isotropic = principal_point(law.isotropic, constants, F, step.factor, mixed);
  add(isotropic);
  double energy = isotropic.energy;
  if (relaxes) {
    const PronySeries::Energies energies =
        law.prony.advance(own, isotropic.isochoric, constants.mu, isotropic.energy, {});
    energy = energies.elastic_fraction * isotropic.energy + energies.stored;
    if (!own.values.empty()) add(MemoryPoint(step.offset, F));
  }
  energy += isotropic.volume_energy;
  for (std::size_t i = 0; i < law.fibers.directions.size(); ++i) {
    const PointHistoryVariables of_family{.values = fiber_part(law, i, memory.values), .dt = memory.dt};
    const FiberPoint fiber = fiber_point(law.fibers, law.fibers.directions[i], G, of_family);
    energy += fiber.energy;
    if (fiber.slope > 0.0) add(fiber);
  }
  return energy;
}

class HyperelasticPoints final : public PointLaw {
 public:
  explicit HyperelasticPoints(HyperelasticLaw law) : law_(std::move(law)) {}

  [[nodiscard]] PointPower add_point(const QuadraturePoint& geometry, const LameConstants& constants, const Matrix3& G,
                                     std::optional<double> mixed, const PointHistoryVariables& memory,
                                     Eigen::MatrixXd& tangent) const override {
    const auto& g = geometry.gradients;
    PointPower work;
    work.forces.setZero(3, g.rows());
    // The logarithms are undefined: the caller reduces the step.
    if (!((Matrix3::Identity() + G).determinant() > 0.0)) {
      work.valid = false;
      return work;
    }
    const double energy = visit_parts(law_, constants, G, mixed, memory, [&](const auto& part) {
      work.forces += geometry.weight * part.stress() * g.transpose();
      for (Eigen::Index b = 0; b < g.rows(); ++b) {
        for (Eigen::Index a = 0; a < g.rows(); ++a) {
          tangent.block<3, 3>(3 * a, 3 * b) += geometry.weight * part.block(g.row(a), g.row(b));
        }
      }
    });
    work.energy = geometry.weight * energy;
    // Exponentials and powers may overflow if the step is too large.
    work.valid = std::isfinite(work.energy) && work.forces.allFinite();
    return work;
  }

  [[nodiscard]] Matrix3 cauchy_stress(const LameConstants& constants, const Matrix3& G, std::optional<double> mixed,
                                      const PointHistoryVariables& memory) const override {
    const Matrix3 F = Matrix3::Identity() + G;
    Matrix3 P = Matrix3::Zero();
    (void)visit_parts(law_, constants, G, mixed, memory, [&](const auto& part) { P += part.stress(); });
    return P * F.transpose() / F.determinant();
  }

  [[nodiscard]] std::size_t memory_size() const override {
    return law_.prony.memory_size() + law_.fibers.directions.size() * law_.fibers.prony.n_scalar_history_variables();
  }
  [[nodiscard]] double update_history(const LameConstants& constants, const Matrix3& G,
                                      const PointHistoryVariables& memory, std::span<double> after) const override {
    if (memory_size() == 0) return 0.0;
    double dissipated = 0.0;
    if (!law_.prony.empty()) {
      const PrincipalPoint now = principal_point(law_.isotropic, constants, Matrix3::Identity() + G, 1.0, std::nullopt);
      const PointHistoryVariables own{.values = isotropic_part(law_, memory.values), .dt = memory.dt};
      dissipated +=
          law_.prony.advance(own, now.isochoric, constants.mu, now.energy, isotropic_part(law_, after)).dissipated;
    }
    for (std::size_t i = 0; i < law_.fibers.directions.size(); ++i) {
      const PointHistoryVariables own{.values = fiber_part(law_, i, memory.values), .dt = memory.dt};
      dissipated += fiber_point(law_.fibers, law_.fibers.directions[i], G, own, fiber_part(law_, i, after)).dissipated;
    }
    return dissipated;
  }

 private:
  HyperelasticLaw law_;
};

}  // namespace

Hyperelastic hyperelastic_response(const HyperelasticLaw& law, const LameConstants& constants, const Matrix3& F,
                                   const PointHistoryVariables& memory) {
  Hyperelastic response;
  response.energy = visit_parts(law, constants, F - Matrix3::Identity(), std::nullopt, memory, [&](const auto& part) {
    response.P += part.stress();
    for (Eigen::Index J = 0; J < 3; ++J) {
      for (Eigen::Index L = 0; L < 3; ++L) {
        response.tangent.block<3, 3>(3 * J, 3 * L) += part.block(Vector3::Unit(J), Vector3::Unit(L));
      }
    }
  });
  return response;
}

MaterialLaw material_of(HyperelasticLaw law) {
  return MaterialLaw(std::make_shared<const HyperelasticPoints>(std::move(law)));
}

}  // namespace heelstrike::fem
