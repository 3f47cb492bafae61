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
  std::string set;              ///< element set it applies to; empty = all
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
struct CylinderSurface {
  double radius = 0.0;                                      ///< [m] > 0
  Vector3 axis = Vector3::UnitZ();                          ///< [-] unit length
  Vector3 center = Vector3::Zero();                         ///< [m] middle of the axis
  double length = std::numeric_limits<double>::infinity();  ///< [m] > 0
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

using Surface = std::variant<SphereSurface, PlaneSurface, CylinderSurface, MeshSurface, PointCloudSurface>;

/// "sphere", "plane", "cylinder", "mesh", "points"
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
