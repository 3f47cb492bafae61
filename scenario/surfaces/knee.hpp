/// Parametric knee: articular surfaces of femur and tibia, and the bone below their cartilage.
#pragma once

#include <optional>

#include "common/contact/surface.hpp"
#include "common/spatial/spatial.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike {

/// Dimensions of a knee. Defaults: rounded values of an adult, with their sources in docs/theory/geometry.md.
struct KneeDimensions {
  double flexion_radius = 0.022;     ///< [m] of the condyles in the sagittal plane, posterior
  double extension_radius = 0.032;   ///< [m] the same anterior, loaded in extension
  double coronal_radius = 0.022;     ///< [m] of the condyles in the coronal plane
  double condyle_spacing = 0.048;    ///< [m] between the centres of both condyles, and of both plateaus
  double plateau_length = 0.044;     ///< [m] of each plateau, anterior-posterior
  double plateau_breadth = 0.030;    ///< [m] of each plateau, medial-lateral
  double medial_depth = 0.003;       ///< [m] of the medial dish below its rim, in both directions
  double lateral_depth = 0.001;      ///< [m] of the lateral dish
  double femoral_cartilage = 0.002;  ///< [m] thickness
  double tibial_cartilage = 0.0025;  ///< [m] thickness
  bool operator==(const KneeDimensions&) const = default;
};

/// Frames of femur and tibia, y up, x forward, z to the right: at the identity pose the knee is extended and either
/// condyle touches its plateau in one point. Both origins lie on the axis of the flexion facets, which is z, in the
/// middle between the condyles; flexion rotates the femur about -z.
struct KneeSurface {
  KneeDimensions dimensions;
  bool is_tibia = false;
  bool is_bone = false;                ///< the surface below the cartilage instead of the articular one
  bool left = false;                   ///< mirror image: medial is the +z side
  double edge = 0.0015;                ///< [m] of the triangles, > 0
  Vector3 position = Vector3::Zero();  ///< [m] origin of the knee's frame in the body's frame

  static constexpr const char* kind = "knee";
  /// @returns none for another kind of surface.
  [[nodiscard]] static std::optional<KneeSurface> of(const Surface& surface);
  operator Surface() const;  // NOLINT(google-explicit-constructor): it is one

  /// Open triangle mesh, normals out of the bone, with the sets `medial` and `lateral`.
  [[nodiscard]] Triangles triangles() const;
};

}  // namespace heelstrike
