/// Contact of rigid bodies: geometry of the contact points and the laws at these points.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/parameters/parameter.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// A point at which two rigid bodies touch or may touch.
struct ContactPoint {
  std::int64_t feature = 0;        ///< identical in neighbouring states for the same point of a body
  Vector3 p_AC = Vector3::Zero();  ///< [m] in A: middle between the two surfaces along the normal
  Vector3 n_A = Vector3::UnitZ();  ///< [-] unit normal out of A towards B, in A
  double gap = 0.0;                ///< [m] distance of the surfaces along the normal; negative is penetration
  double curvature_A = 0.0;        ///< [1/m] mean curvature of A's surface, positive where convex; 0 at flats and
                                   ///< at corners, which have none
  double curvature_B = 0.0;        ///< [1/m] likewise of B
};

/// Relation between approach and separation velocity in an impact.
enum class ImpactLaw {
  newton,      ///< separation velocity is at least restitution times approach velocity
  poisson,     ///< impulse of restitution is at least restitution times that of compression
  sequential,  ///< Newton's law; a contact that does not approach is inactive until a preceding impact sets it in
               ///< motion
};

/// Laws that hold at all points of a rigid pair.
struct RigidLaw {
  double restitution = 0.0;            ///< [-] in [0, 1]
  double friction = 0.0;               ///< [-] Coulomb coefficient, >= 0
  double restitution_threshold = 0.0;  ///< [m/s] slower approaches are not impacts
  ImpactLaw law = ImpactLaw::newton;
};

/// Names of the back-end parameters that define the laws.
inline constexpr const char* impact_law_parameter = "impact_law";

/// True if the bodies of a back-end with these parameters are rigid: it then has an impact law and returns points; the
/// multibody solver resolves the forces.
[[nodiscard]] bool has_rigid_bodies(std::span<const ParameterSchema> schema);

/// The laws of an opened pair; none = its back-end returns forces. @param parameters  effective values
[[nodiscard]] std::optional<RigidLaw> rigid_law(const ParameterMap& parameters);

}  // namespace heelstrike
