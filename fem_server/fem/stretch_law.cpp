#include "fem_server/fem/stretch_law.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Eigenvalues>
#include <array>
#include <cmath>
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

}  // namespace heelstrike::fem
