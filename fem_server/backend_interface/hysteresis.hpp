/// Hysteresis factors H(c_r) of the pressure or force factor 1 + H d'/v0 that several back-ends use, and the
/// restitution that results from a factor. Derivations: docs/theory/contact_laws.md, sections 3 and 4.
#pragma once

namespace heelstrike::fem {

/// [flores2011] H = 8 (1 - c_r) / (5 c_r). @param c_r  nominal coefficient of restitution in (0, 1]
[[nodiscard]] double flores_factor(double c_r);
/// [gonthier2004] H = d / c_r with (1 + d / c_r) / (1 - d) = exp(d (1 + 1 / c_r)).
[[nodiscard]] double gonthier_factor(double c_r);

/// Restitution e in (0, 1] of an isolated impact under F = K d^n (1 + H d'/v0), the root of
/// H (1 + e) = ln((1 + H) / (1 - H e)); independent of mass, stiffness, exponent and speed. @pre H >= 0, finite
[[nodiscard]] double effective_restitution(double hysteresis_factor);

}  // namespace heelstrike::fem
