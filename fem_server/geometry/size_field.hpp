/// Target edge length of tetrahedra as a function of position.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/geometry/triangle_tree.hpp"

namespace heelstrike::fem {

struct BoxRegion {
  Vector3 low = Vector3::Zero();   ///< [m] lower corner
  Vector3 high = Vector3::Zero();  ///< [m] upper corner
};
struct BallRegion {
  Vector3 center = Vector3::Zero();  ///< [m]
  double radius = 0.0;               ///< [m] >= 0
};
/// All points within `distance` of a set of triangles; a triangle with three equal corners is a point.
struct SetRegion {
  SurfaceMesh set;
  double distance = 0.0;  ///< [m] >= 0
};

struct Refinement {
  std::variant<BoxRegion, BallRegion, SetRegion> region;
  double size = 0.0;  ///< [m] edge length inside the region, > 0
};

/// h(p) = min over refinements of (size + growth * distance of p to the region), never above `size`.
struct SizeField {
  double size = 0.0;  ///< [m] away from refinements, > 0
  std::vector<Refinement> refinements;
  double growth = 0.3;  ///< [-] increase of the edge length per distance, in (0, 2]
};

/// @throws Error{invalid_input} for non-positive sizes, empty boxes or a growth out of range
void check_size_field(const SizeField& field);

/// Evaluates a field with search trees that are built once. The field must outlive the evaluator.
class SizeEvaluator {
 public:
  explicit SizeEvaluator(const SizeField& field);
  /// [m] > 0
  [[nodiscard]] double operator()(const Vector3& p) const;

 private:
  const SizeField& field_;
  std::vector<std::unique_ptr<TriangleTree>> trees_;  ///< one per refinement; null unless the region is a set
};

/// Region around the given points, e.g. the nodes of a set.
[[nodiscard]] SetRegion region_around(const std::vector<Vector3>& points, double distance);

}  // namespace heelstrike::fem
