/// Force of a point contact law as a pure function of depth, depth rate and approach velocity.
///
/// Generalised stiffness K [N/m^1.5] of two elastic bodies in point contact, after Hertz [goldsmith1960].
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/contact/surface.hpp"

namespace heelstrike::fem {

enum class LawForm {
  elastic,     ///< F = K d^n
  viscous,     ///< F = K d + D d'
  hysteresis,  ///< F = K d^n (1 + H d'/v0)
};

/// One row of the table of laws.
struct LawKind {
  std::string_view name;
  std::string_view summary;
  std::string_view reference;  ///< key in docs/references.bib
  LawForm form;
  bool linear;  ///< n = 1, K in N/m, no exponent
  /// Hysteresis factor H(c_r) >= 0 [-] of the nominal coefficient of restitution c_r in (0, 1], H(1) = 0: elastic; null
  /// for laws without restitution. Derivations and misprints of the sources: docs/theory/contact_laws.md, section 3.
  double (*factor)(double c_r) = nullptr;
  double (*approximate_factor)(double c_r) = nullptr;  ///< an explicit form that may replace an implicit H(c_r)
};

/// All laws, sorted by name. A law is one row.
[[nodiscard]] std::span<const LawKind> law_table();

/// A law with its constants.
struct PointLaw {
  LawForm form = LawForm::elastic;
  double stiffness = 0.0;              ///< [N/m^n] K > 0
  double exponent = 1.5;               ///< [-] n >= 1
  double damping = 0.0;                ///< [N s/m] D >= 0, viscous form
  bool tensile = false;                ///< viscous form: keep the attraction at the end of restitution
  double hysteresis_factor = 0.0;      ///< [-] H >= 0, hysteresis form
  double min_approach_velocity = 0.0;  ///< [m/s] > 0, lower bound of v0, hysteresis form
};

struct LawForce {
  double force = 0.0;          ///< [N] pushing the bodies apart; >= 0 unless `tensile`
  double elastic = 0.0;        ///< [N] K d^n, the conservative part
  double dF_ddepth = 0.0;      ///< [N/m]
  double dF_drate = 0.0;       ///< [N s/m]
  double stored_energy = 0.0;  ///< [J] K d^(n+1) / (n+1)
};

/// The force is cut at zero: where the formula is negative, the surfaces have separated before the undeformed shapes
/// do; force and derivatives are then exactly zero, and (F - F_elastic) d' >= 0 still accounts for the lost stored
/// energy.
/// @param depth           [m]    d >= 0
/// @param rate            [m/s]  d', > 0 during approach
/// @param approach_velocity  [m/s]  v0 latched at onset; none = not latched yet: max(rate, minimum), with derivatives
[[nodiscard]] LawForce law_force(const PointLaw& law, double depth, double rate,
                                 std::optional<double> approach_velocity);

/// sigma = (1 - nu^2) / E [1/Pa]; 0 for a rigid body (no materials).
/// @throws Error{invalid_input}  more than one material, E not > 0, nu outside [0, 0.5)
[[nodiscard]] double material_compliance(const std::vector<Material>& materials, const std::string& where);

/// K = 4 / (3 (sigma_A + sigma_B)) sqrt(R). @pre sum of compliances > 0, effective_radius > 0
/// @param compliances       [1/Pa] sigma_A + sigma_B
/// @param effective_radius  [m] R, or R_A R_B / (R_A + R_B) with signed radii
[[nodiscard]] double hertz_stiffness(double compliances, double effective_radius);

}  // namespace heelstrike::fem
