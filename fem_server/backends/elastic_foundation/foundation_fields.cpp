#include "fem_server/backends/elastic_foundation/foundation_fields.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/spatial/extents.hpp"
#include "fem_server/backends/shared/field_request.hpp"
#include "fem_server/geometry/write_fields.hpp"

namespace heelstrike::fem {

namespace {

FieldGrid grid_of(const SurfaceMesh& mesh, const Pose& X_WM) {
  FieldGrid grid;
  for (const Vector3& p : mesh.vertices) grid.points.push_back(X_WM * p);
  for (const Triangle& t : mesh.triangles) grid.connectivity.insert(grid.connectivity.end(), t.begin(), t.end());
  return grid;
}

MeshField scalars(std::string_view name, std::vector<double> values) {
  return {.name = std::string(name), .unit = unit_of(name), .n_components = 1, .values = std::move(values)};
}

}  // namespace

std::string draw_casting(const SpringBed& bed, const BedState& loads, const PairState& state, const Pose& X_WC,
                         double dissipation, const FieldRequest& request) {
  check_quantities(request);
  const CastingSurface& casting = bed.casting();
  const SurfaceMesh& mesh = casting.mesh();
  const bool at_vertices = casting.places() == SpringPlaces::vertices;
  std::vector<double> pressure(casting.springs().size(), 0.0);
  std::vector<double> factor(casting.springs().size(), 0.0);
  for (const LoadedSpring& loaded : loads.springs) {
    factor[loaded.spring] = std::max(0.0, 1.0 + dissipation * loaded.motion.rate.dot(state.V_AB.vector()));
    if (!(loaded.motion.d > 0.0)) continue;
    pressure[loaded.spring] = factor[loaded.spring] * bed.pressure(loaded.spring, loaded.motion.d);
  }
  std::vector<double> of_faces(mesh.triangles.size(), 0.0);
  for (const LoadedFace& face : loads.faces) {
    const auto& [a, b, c] = mesh.triangles[face.triangle];
    const double mean = at_vertices ? (factor[a] + factor[b] + factor[c]) / 3.0 : factor[face.triangle];
    of_faces[face.triangle] = mean * face.pressure;
  }
  std::vector<MeshField> of_points;
  std::vector<MeshField> of_cells{part_of_cells(request.part, mesh.triangles.size())};
  if (wanted(request, "contact_pressure")) {
    of_cells.push_back(scalars("contact_pressure", std::move(of_faces)));
    if (at_vertices) of_points.push_back(scalars("contact_pressure", std::move(pressure)));
  }
  return write_fields(grid_of(mesh, X_WC), of_points, of_cells);
}

std::string draw_target(const SpringBed& bed, const PartnerShape& target, const Pose& X_CT, const Pose& X_WC,
                        const FieldRequest& request) {
  check_quantities(request);
  const SurfaceMesh& mesh = bed.casting().mesh();
  Vector3 low = mesh.vertices.front();
  Vector3 high = low;
  for (const Vector3& p : mesh.vertices) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  const SurfaceMesh shape = target.triangles(X_CT.inverse() * (0.5 * (low + high)), (high - low).maxCoeff());
  return write_fields(grid_of(shape, X_WC * X_CT), {}, {part_of_cells(request.part, shape.triangles.size())});
}

}  // namespace heelstrike::fem
