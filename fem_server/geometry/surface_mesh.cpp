#include "fem_server/geometry/surface_mesh.hpp"

#include <utility>

namespace heelstrike::fem {

Vector3 triangle_cross(const SurfaceMesh& mesh, std::size_t t) {
  const Triangle& corners = mesh.triangles[t];
  const Vector3& a = mesh.vertices[corners[0]];
  return (mesh.vertices[corners[1]] - a).cross(mesh.vertices[corners[2]] - a);
}

double surface_area(const SurfaceMesh& mesh) {
  double area = 0.0;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) area += 0.5 * triangle_cross(mesh, t).norm();
  return area;
}

double signed_volume(const SurfaceMesh& mesh) {
  if (mesh.vertices.empty()) return 0.0;
  // Relative to a vertex to avoid cancellation for a body far from the origin.
  const Vector3 base = mesh.vertices.front();
  double volume = 0.0;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    volume += (mesh.vertices[mesh.triangles[t][0]] - base).dot(triangle_cross(mesh, t)) / 6.0;
  }
  return volume;
}

SurfaceMesh mirrored_in_y(const SurfaceMesh& mesh) {
  SurfaceMesh mirrored = mesh;
  for (Vector3& vertex : mirrored.vertices) vertex.y() = -vertex.y();
  for (Triangle& triangle : mirrored.triangles) std::swap(triangle[1], triangle[2]);
  return mirrored;
}

}  // namespace heelstrike::fem
