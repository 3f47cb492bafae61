/// Hysteresis factors H(c_r) of the dissipative point laws  F = K d^n (1 + H d'/v0)  and the restitution that results
/// from them. Derivations and misprints of the sources: docs/theory/contact_laws.md, sections 3 and 4.
#pragma once

namespace heelstrike::fem {

/// All take the nominal coefficient of restitution c_r in (0, 1] and return H >= 0 [-]; H(1) = 0: elastic.
[[nodiscard]] double hunt_crossley_factor(double c_r);        ///< [hunt1975]       3 (1 - c_r) / 2
[[nodiscard]] double herbert_mcwhannell_factor(double c_r);   ///< [herbert1977]    6 (1 - c_r) / ((2 c_r - 1)^2 + 3)
[[nodiscard]] double lee_wang_factor(double c_r);             ///< [lee1983]        3 (1 - c_r) / 4
[[nodiscard]] double lankarani_nikravesh_factor(double c_r);  ///< [lankarani1990]  3 (1 - c_r^2) / 4
[[nodiscard]] double gonthier_exact_factor(
    double c_r);  ///< [gonthier2004]   d / c_r, (1 + d/c_r)/(1 - d) = e^(d (1 + 1/c_r))
[[nodiscard]] double gonthier_approximate_factor(double c_r);  ///< [gonthier2004]   (1 - c_r^2) / c_r
[[nodiscard]] double zhiying_qishao_factor(double c_r);        ///< [zhiying2006]      3/4 (1 - c_r^2) e^(2 (1 - c_r))
[[nodiscard]] double flores_factor(double c_r);                ///< [flores2011]     8 (1 - c_r) / (5 c_r)

/// Restitution e in (0, 1] of an isolated impact under F = K d^n (1 + H d'/v0), the root of
/// H (1 + e) = ln((1 + H) / (1 - H e)); independent of mass, stiffness, exponent and speed. @pre H >= 0, finite
[[nodiscard]] double effective_restitution(double hysteresis_factor);

}  // namespace heelstrike::fem
