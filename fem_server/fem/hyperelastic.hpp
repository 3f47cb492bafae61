/// Isotropic finite strain by principal stretches, and fibres that resist tension.
///
///     W = mu w(J^-1/3 l_i) + K / 2 (ln J)^2,    K = lambda + 2/3 mu
///
/// with w of stretch_law.hpp. Stress and stiffness come from the singular values l_i of F = U diag(l) V^T
/// [ogden1984, section 6.1.4]: P = U diag(W_i) V^T, and in these axes dP_ii = sum W_ij dF_jj, while a pair of shears
/// i != j has the stiffnesses (W_i - W_j) / (l_i - l_j) of its symmetric and (W_i + W_j) / (l_i + l_j) of its
/// antisymmetric part.
///
/// Fibres add, for each family of them with the direction a at rest [gasser2006],
///
///     W_f = k1 / (2 k2) (exp(k2 <E>^2) - 1),    E = kappa tr C + (1 - 3 kappa) a.C a - 1,    <E> = max(E, 0)
///
/// with the whole C and not its isochoric part, so that stretched fibres pull in compressible materials too
/// [nolan2014]. Being slack under compression, they leave the stiffness at rest that of the isotropic part.
///
/// The tension s = 2 dW_f/dE of fibres relaxes by a series of its own: q = A s + h with A and h of prony_series.hpp. A
/// fibre cannot push: where q would be negative, because the fibre is shortened faster than it recovers, it is slack,
/// and the s that its branches follow is the one that makes q zero, that of its own length and not of the body around.
#pragma once

#include <vector>

#include "fem_server/fem/material_law.hpp"
#include "fem_server/fem/prony_series.hpp"
#include "fem_server/fem/stretch_law.hpp"

namespace heelstrike::fem {

/// Families of fibres with the same stiffness.
struct FiberFamilies {
  double stiffness = 0.0;           ///< [Pa] k1 >= 0
  double exponent = 0.0;            ///< [-] k2 > 0
  double dispersion = 0.0;          ///< [-] kappa in [0, 1/3]: 0 = all parallel, 1/3 = in all directions alike
  std::vector<Vector3> directions;  ///< [-] unit vectors in the frame of the body at rest; empty = no fibres
  PronySeries prony{};              ///< of their tension; needs stiffness > 0
};

/// [Pa], [Pa] and [J/m^3] of one point.
struct Hyperelastic {
  Matrix3 P = Matrix3::Zero();                                                ///< first Piola-Kirchhoff stress
  Eigen::Matrix<double, 9, 9> tangent = Eigen::Matrix<double, 9, 9>::Zero();  ///< dP / dF, both column by column
  double energy = 0.0;
};

/// A law of finite strain with all its constants.
struct HyperelasticLaw {
  StretchLaw isotropic = StretchLaw::neo_hookean();
  FiberFamilies fibers{};
  PronySeries prony{};  ///< of the isochoric part of the isotropic stress; volume and fibres stay elastic
};

/// Stress and tangent without an element. @pre det F > 0
[[nodiscard]] Hyperelastic hyperelastic_response(const HyperelasticLaw& law, const LameConstants& constants,
                                                 const Matrix3& F, const PointHistoryVariables& memory = {});

[[nodiscard]] MaterialLaw material_of(HyperelasticLaw law);

}  // namespace heelstrike::fem
