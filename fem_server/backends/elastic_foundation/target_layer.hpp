/// Layer of the target surface with a varying thickness.
#pragma once

#include <cstdint>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// Properties of the layer at one point.
struct LayerPoint {
  double thickness = 0.0;              ///< [m] > 0
  Vector3 gradient = Vector3::Zero();  ///< [-] by the position, in the frame of the query
};

/// Linear over each triangle between the thicknesses at its corners, hence continuous. In the frame of the mesh.
/// Thread-safe.
class TargetLayer {
 public:
  /// @param thickness  [m] > 0, one per vertex
  TargetLayer(const SurfaceMesh& mesh, const std::vector<double>& thickness);

  /// [m] maximum thickness.
  [[nodiscard]] double max_thickness() const { return max_thickness_; }
  /// @param p  [m] point of the triangle. The gradient lies in the triangle's plane
  [[nodiscard]] LayerPoint at(std::uint32_t triangle, const Vector3& p) const;
  /// At the point of the triangle nearest to q. The gradient is that by q: the point moves with q over a face and along
  /// an edge, and is fixed on a corner.
  [[nodiscard]] LayerPoint nearest(std::uint32_t triangle, const Vector3& q) const;

 private:
  SurfaceMesh mesh_;
  std::vector<double> thickness_;  ///< [m] of vertices
  std::vector<Vector3> gradient_;  ///< of triangles
  double max_thickness_ = 0.0;
};

}  // namespace heelstrike::fem
