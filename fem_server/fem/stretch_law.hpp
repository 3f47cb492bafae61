/// Isochoric strain energies as functions of the principal stretches, per unit of the shear modulus mu:
///
///     Mooney-Rivlin  w = (1 - s) / 2 (I1 - 3) + s / 2 (I2 - 3)                   [mooney1940, rivlin1948]
///     Yeoh           w = ((I1 - 3) + r2 (I1 - 3)^2 + r3 (I1 - 3)^3) / 2           [yeoh1993]
///     Ogden          w = sum 2 s_p / a_p^2 (l1^a_p + l2^a_p + l3^a_p - 3)         [ogden1984]
///
/// with I1 = sum l_i^2, I2 = sum l_i^-2 where l1 l2 l3 = 1. For small strain all reduce to mu times the squared
/// deviatoric strain.
#pragma once

#include <string>
#include <vector>

#include "common/spatial/spatial.hpp"

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

}  // namespace heelstrike::fem
