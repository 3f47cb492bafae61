/// Isotropic finite strain in principal stretches, with tension-only fibres.
///
///     W = mu w(J^-1/3 l_i) + K / 2 (ln J)^2,    K = lambda + 2/3 mu
///
/// with w of stretch_law.hpp. Stress and stiffness come from the singular values l_i of F = U diag(l) V^T
/// [ogden1984, section 6.1.4]: P = U diag(W_i) V^T, and in these axes dP_ii = sum W_ij dF_jj, while a pair of shears
/// i != j has the stiffnesses (W_i - W_j) / (l_i - l_j) of its symmetric and (W_i + W_j) / (l_i + l_j) of its
/// antisymmetric part.
///
/// Each fibre family with the reference direction a adds [gasser2006]
///
///     W_f = k1 / (2 k2) (exp(k2 <E>^2) - 1),    E = kappa tr C + (1 - 3 kappa) a.C a - 1,    <E> = max(E, 0)
///
/// with the full C and not its isochoric part, so that stretched fibres are loaded in compressible materials too
/// [nolan2014]. Fibres are slack under compression; the stiffness of the reference state is that of the isotropic part.
///
/// The fibre tension s = 2 dW_f/dE relaxes by a separate series: q = A s + h with A and h of prony_series.hpp. Fibres
/// carry no compression: where q would be negative, because the fibre shortens faster than it recovers, the fibre is
/// slack, and its branches follow the s for which q is zero, i.e. that of the slack fibre length and not of the
/// surrounding body.
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
  double dispersion = 0.0;          ///< [-] kappa in [0, 1/3]: 0 = parallel, 1/3 = isotropic
  std::vector<Vector3> directions;  ///< [-] unit vectors in the frame of the undeformed body; empty = no fibres
  PronySeries prony{};              ///< of the fibre tension; requires stiffness > 0
};

/// [Pa], [Pa] and [J/m^3] of one point.
struct Hyperelastic {
  Matrix3 P = Matrix3::Zero();                                                ///< first Piola-Kirchhoff stress
  Eigen::Matrix<double, 9, 9> tangent = Eigen::Matrix<double, 9, 9>::Zero();  ///< dP / dF, both column-major
  double energy = 0.0;
};

/// A law of finite strain with all its constants.
struct HyperelasticLaw {
  StretchLaw isotropic = StretchLaw::neo_hookean();
  FiberFamilies fibers{};
  PronySeries prony{};  ///< of the isochoric part of the isotropic stress; volumetric part and fibres remain elastic
};

/// Stress and tangent at one point. @pre det F > 0
[[nodiscard]] Hyperelastic hyperelastic_response(const HyperelasticLaw& law, const LameConstants& constants,
                                                 const Matrix3& F, const PointHistoryVariables& memory = {});

[[nodiscard]] MaterialLaw material_of(HyperelasticLaw law);

}  // namespace heelstrike::fem
