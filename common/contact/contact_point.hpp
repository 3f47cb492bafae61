/// Contact of rigid bodies: what the contact partner tells of its geometry, and the laws that hold at its points.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/parameters/parameter.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// A point at which two rigid bodies touch, or would touch if they came nearer.
struct ContactPoint {
  std::int64_t feature = 0;        ///< the same in neighbouring states for what is the same point of a body
  Vector3 p_AC = Vector3::Zero();  ///< [m] in A: middle between the two surfaces along the normal
  Vector3 n_A = Vector3::UnitZ();  ///< [-] unit normal out of A towards B, in A
  double gap = 0.0;                ///< [m] distance of the surfaces along the normal; negative is penetration
  double curvature_A = 0.0;        ///< [1/m] mean curvature of A's surface, positive where convex; 0 at flats and
                                   ///< at corners, which have none
  double curvature_B = 0.0;        ///< [1/m] likewise of B
};

/// What becomes of the approach speed in an impact.
enum class ImpactLaw {
  newton,   ///< every contact leaves with the restitution times its approach speed, at least
  poisson,  ///< the impulse of compression is given back times the restitution
  sequential,  ///< Newton's; a contact that does not approach takes no part until an impact before it sets it in motion
};

/// Laws that hold at all points of a rigid pair.
struct RigidLaw {
  double restitution = 0.0;    ///< [-] in [0, 1]
  double friction = 0.0;       ///< [-] Coulomb coefficient, >= 0
  double restitution_threshold = 0.0;  ///< [m/s] slower approaches are no impacts
  ImpactLaw law = ImpactLaw::newton;
};

/// Names of the parameters in which back-ends tell the laws.
inline constexpr const char* impact_law_parameter = "impact_law";

/// Whether the bodies of a back-end with these parameters are rigid: it then says how they rebound, answers with
/// points, and leaves the forces to who knows the masses.
[[nodiscard]] bool has_rigid_bodies(std::span<const ParameterSchema> schema);

/// The laws of an opened pair; none = its back-end answers with forces. @param parameters  in force
[[nodiscard]] std::optional<RigidLaw> rigid_law(const ParameterMap& parameters);

}  // namespace heelstrike
