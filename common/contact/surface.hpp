/// Geometry and material of one body of a contact pair, and what has to be known to open the pair.
#pragma once

#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "common/config/parameter.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// Linear elastic material.
struct Material {
  double youngs_modulus = 0.0;  ///< [Pa] > 0
  double poissons_ratio = 0.0;  ///< [-] in [0, 0.5)
  double density = 0.0;         ///< [kg/m^3] >= 0; 0 where not needed
  std::string set;              ///< element set it applies to; empty = all. Where sets overlap the later one holds
};

/// Surfaces are given in the body's frame; normals point out of the body.
struct SphereSurface {
  double radius = 0.0;               ///< [m] > 0 convex; < 0 concave socket
  Vector3 center = Vector3::Zero();  ///< [m]
};
/// Half space below a plane.
struct PlaneSurface {
  Vector3 normal = Vector3::UnitZ();  ///< [-] unit length, towards the free side
  Vector3 point = Vector3::Zero();    ///< [m] any point of the plane
};
/// A slice of a layered cylinder.
struct CylinderLayer {
  std::string name;     ///< element set; not empty, no repetition
  double height = 0.0;  ///< [m] > 0
};
struct CylinderSurface {
  double radius = 0.0;                                      ///< [m] > 0
  Vector3 axis = Vector3::UnitZ();                          ///< [-] unit length
  Vector3 center = Vector3::Zero();                         ///< [m] middle of the axis
  double length = std::numeric_limits<double>::infinity();  ///< [m] > 0; with layers: their sum
  double core_radius = 0.0;             ///< [m] 0 = none, else in (0, radius): element sets "core" and "shell"
  std::vector<CylinderLayer> layers{};  ///< along the axis, from its negative end; element sets by their names
};
/// A mesh file by content (`sha256` of an uploaded asset) or by name in the server's asset folder.
struct MeshSurface {
  std::string sha256;
  std::string asset_name;
  std::string format;         ///< "stl", "obj", ...; empty = from the name
  double length_scale = 1.0;  ///< [m per file unit] > 0
  Pose X_BodyMesh;            ///< placement of the mesh in the body
};
struct PointCloudSurface {
  std::vector<Vector3> points;  ///< [m]
  std::vector<double> areas;    ///< [m^2] tributary area of each point
};

/// Rectangular block with edges along the axes of the body's frame.
struct BlockSurface {
  Vector3 lengths = Vector3::Zero();  ///< [m] > 0 along x, y, z
  Vector3 center = Vector3::Zero();   ///< [m]
};
/// Dimensions of a parametric foot. Defaults: rounded values of an adult male foot, see docs/theory/geometry.md.
struct FootDimensions {
  double length = 0.265;         ///< [m] heel to the longest toe, along x
  double ball_breadth = 0.101;   ///< [m] widest part, across the heads of the metatarsals, along y
  double heel_breadth = 0.068;   ///< [m] widest part of the heel
  double arch_height = 0.018;    ///< [m] height of the sole above the ground in the inner quarter of the middle foot
  double instep_height = 0.066;  ///< [m] height of the back of the foot above the ground at half its length
  double toe_height = 0.023;     ///< [m] height of the big toe above the ground
  double ankle_height = 0.078;   ///< [m] ankle joint centre above the ground
  double heel_to_ankle = 0.055;  ///< [m] horizontal distance from the back of the heel to the ankle joint centre
  double cut_height = 0.010;     ///< [m] flat cut above the ankle joint centre
};
/// The project's own foot; its frame has the origin at the ankle joint centre, x forward, y to the left, z up.
struct FootSurface {
  FootDimensions dimensions;
  bool right = false;               ///< mirror image of the left foot
  Vector3 ankle = Vector3::Zero();  ///< [m] ankle joint centre in the body frame
};

using Surface = std::variant<SphereSurface, PlaneSurface, CylinderSurface, MeshSurface, PointCloudSurface, BlockSurface,
                             FootSurface>;

/// "sphere", "plane", "cylinder", "mesh", "points", "block", "foot"
[[nodiscard]] std::string surface_name(const Surface& surface);

/// One body of a pair; no materials = rigid.
struct ContactBody {
  std::string name;
  Surface surface;
  std::vector<Material> materials;
};

/// All that is needed to open one contact pair.
struct PairSpec {
  std::string name;         ///< e.g. "ball-ground"
  std::string backend;      ///< name in the registry
  ParameterMap parameters;  ///< as given; checked against the back-end's schema when the pair is opened
  ContactBody main;         ///< A
  ContactBody partner;      ///< B
};

}  // namespace heelstrike
