/// Isochoric strain energies as functions of the principal stretches, per unit of the shear modulus mu:
///
///     Mooney-Rivlin  w = (1 - s) / 2 (I1 - 3) + s / 2 (I2 - 3)                   [mooney1940, rivlin1948]
///     Yeoh           w = ((I1 - 3) + r2 (I1 - 3)^2 + r3 (I1 - 3)^3) / 2           [yeoh1993]
///     Ogden          w = sum 2 s_p / a_p^2 (l1^a_p + l2^a_p + l3^a_p - 3)         [ogden1984]
///
/// with I1 = sum l_i^2, I2 = sum l_i^-2 where l1 l2 l3 = 1. For small strain all reduce to mu times the squared
/// deviatoric strain.
///
/// Isotropic finite strain in principal stretches, with tension-only fibres.
///
///     W = mu w(J^-1/3 l_i) + K / 2 (ln J)^2,    K = lambda + 2/3 mu
///
/// with w of StretchLaw. Stress and stiffness come from the singular values l_i of F = U diag(l) V^T
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

#include <string>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "fem_server/fem/material_law.hpp"
#include "fem_server/fem/prony_series.hpp"

namespace heelstrike::fem {

/// Energy and its derivatives at three principal stretches l_i whose product is one.
struct StretchEnergy {
  double value = 0.0;
  Vector3 slope = Vector3::Zero();      ///< dw / dl_i
  Matrix3 curvature = Matrix3::Zero();  ///< d2w / dl_i dl_j
};

/// Sum of powers: w = sum_p weight_p (sum_i l_i^power_p - 3), plus a polynomial of the first of these sums. This form
/// covers all three laws.
class StretchLaw {
 public:
  /// @param share  [-] fraction of the shear modulus in c01: c01 / (c10 + c01)
  [[nodiscard]] static StretchLaw mooney_rivlin(double share);
  /// @param r2, r3  [-] c20 / c10 and c30 / c10
  [[nodiscard]] static StretchLaw yeoh(double r2, double r3);
  /// @param exponents  [-] a_p, not zero
  /// @param shares     [-] mu_p a_p / (2 mu), one for each exponent, sum 1
  [[nodiscard]] static StretchLaw ogden(const std::vector<double>& exponents, const std::vector<double>& shares);
  /// w = (I1 - 3) / 2.
  [[nodiscard]] static StretchLaw neo_hookean();

  [[nodiscard]] StretchEnergy at(const Vector3& stretches) const;

  /// Description of the law with its constants, for messages: "yeoh with c20/c10 = -0.2, c30/c10 = 0".
  [[nodiscard]] const std::string& description() const { return description_; }

 private:
  struct Term {
    double power = 2.0;
    double weight = 0.0;
  };
  StretchLaw(std::string description, std::vector<Term> terms)
      : description_(std::move(description)), terms_(std::move(terms)) {}

  std::string description_;
  std::vector<Term> terms_;
  double square_ = 0.0;  ///< factors of (I1 - 3)^2 and (I1 - 3)^3
  double cube_ = 0.0;
};

/// Stability limit of an incompressible material.
struct Instability {
  std::string mode;      ///< "uniaxial", "biaxial" or "planar shear"
  double stretch = 1.0;  ///< the tested stretch closest to 1
};

/// Drucker's criterion: d(stress) : d(strain) > 0 for every isochoric increment of the logarithmic strain, for
/// stretches from 1/2 to 2 in uniaxial and equibiaxial tension and compression and in shear.
/// @throws Error{invalid_input} with the law, its constants, and the mode and stretch of the instability
/// @param where  dotted key for the message
void require_stable(const StretchLaw& law, const std::string& where);

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
