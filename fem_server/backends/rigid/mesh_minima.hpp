/// Points of a triangle mesh at which the distance from a given point has a local minimum: where a ball touches walls
/// of a groove, a corner or a hole at the same time.
#pragma once

#include <cstdint>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/geometry/triangle_tree.hpp"

namespace heelstrike::fem {

/// Thread-safe.
class MeshMinima {
 public:
  explicit MeshMinima(SurfaceMesh mesh);
  MeshMinima(const MeshMinima&) = delete;
  MeshMinima& operator=(const MeshMinima&) = delete;

  struct Minimum {
    Vector3 point = Vector3::Zero();    ///< [m] on the mesh
    Vector3 normal = Vector3::UnitZ();  ///< [-] from there to the given point
    double distance = 0.0;              ///< [m] > 0
    std::int64_t feature = 0;           ///< of the plane of the face, or of the faces at the edge or corner
    bool on_face = false;               ///< along the normal of a face
  };
  /// Minima in front of the surface, one per direction, in the order of their features.
  /// @param c       [m] outside the body
  /// @param reach   [m] largest distance
  /// @param margin  [m] below which points coincide
  [[nodiscard]] std::vector<Minimum> near(const Vector3& c, double reach, double margin) const;
  /// True if `p` [m], projected onto the plane of a minimum on a face, lies on that plane's faces.
  [[nodiscard]] bool is_over(const Minimum& face, const Vector3& p, double margin) const;

 private:
  struct Candidate {
    std::uint32_t triangle = 0;
    Vector3 point = Vector3::Zero();
  };
  [[nodiscard]] std::vector<Candidate> candidates(const Vector3& c, double reach) const;
  [[nodiscard]] Vector3 closest(std::uint32_t triangle, const Vector3& p) const;

  SurfaceMesh mesh_;
  TriangleTree tree_;
  std::vector<Vector3> normals_;
  std::vector<std::uint32_t> planes_;  ///< per triangle: the first triangle of its plane
};

}  // namespace heelstrike::fem
