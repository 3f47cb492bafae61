#include "fem_server/backends/elastic_foundation/foundation_fields.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/spatial/extents.hpp"
#include "fem_server/backend_interface/field_request.hpp"
#include "fem_server/geometry/write_fields.hpp"

namespace heelstrike::fem {

namespace {

FieldGrid grid_of(const SurfaceMesh& mesh, const Pose& X_WM) {
  FieldGrid grid;
  for (const Vector3& p : mesh.vertices) grid.points.push_back(X_WM * p);
  for (const Triangle& t : mesh.triangles) grid.connectivity.insert(grid.connectivity.end(), t.begin(), t.end());
  return grid;
}

MeshField values(std::string name, std::string unit, std::vector<double> values_of_all) {
  return {.name = std::move(name), .unit = std::move(unit), .n_components = 1, .values = std::move(values_of_all)};
}

/// Values in the centres as the area-weighted mean of the faces around each point.
std::vector<double> around_points(const CastingSurface& casting, const std::vector<double>& of_faces) {
  const SurfaceMesh& mesh = casting.mesh();
  std::vector<double> sum(mesh.vertices.size(), 0.0);
  std::vector<double> area(mesh.vertices.size(), 0.0);
  for (std::uint32_t t = 0; t < mesh.triangles.size(); ++t) {
    for (const std::uint32_t v : mesh.triangles[t]) {
      sum[v] += casting.area(t) * of_faces[t];
      area[v] += casting.area(t);
    }
  }
  for (std::size_t v = 0; v < sum.size(); ++v) sum[v] = area[v] > 0.0 ? sum[v] / area[v] : 0.0;
  return sum;
}

/// Values at the springs.
struct SpringValues {
  std::vector<double> pressure;  ///< [Pa]
  std::vector<double> depth;     ///< [m] penetration

  SpringValues(const SpringBed& bed, const BedState& loads, const Vector6& V_CT, double dissipation)
      : pressure(bed.casting().springs().size(), 0.0), depth(pressure) {
    for (std::size_t k = 0; k < loads.springs.size(); ++k) {
      const ActiveSpring& loaded = loads.springs[k];
      const std::uint32_t i = loaded.spring;
      if (!(loaded.motion.d > 0.0)) continue;
      depth[i] = loaded.motion.d;
      pressure[i] = std::max(0.0, 1.0 + dissipation * loaded.motion.rate.dot(V_CT)) * bed.pressure(loads, k);
    }
  }
};

/// Values of triangles.
struct FaceValues {
  std::vector<double> pressure;  ///< [Pa] mean over the whole triangle
  std::vector<double> area;      ///< [m^2] loaded
  std::vector<double> depth;     ///< [m] maximum penetration

  FaceValues(const CastingSurface& casting, const BedState& loads, const SpringValues& springs, double dissipation,
             const Vector6& V_CT)
      : pressure(casting.mesh().triangles.size(), 0.0), area(pressure), depth(pressure) {
    for (std::size_t f = 0; f < loads.faces.size(); ++f) {
      const ActiveFace& face = loads.faces[f];
      const std::uint32_t t = face.triangle;
      const auto& [a, b, c] = casting.mesh().triangles[t];
      const bool at_vertices = casting.places() == SpringPlaces::vertices;
      const std::uint32_t centre = at_vertices ? casting.centre_spring(t) : t;
      pressure[t] = face_factor(loads, f, dissipation, V_CT) * face.pressure;
      area[t] = face.area;
      depth[t] = springs.depth[centre];
      if (at_vertices) depth[t] = std::max({depth[t], springs.depth[a], springs.depth[b], springs.depth[c]});
    }
  }
};

}  // namespace

std::string write_casting_fields(const SpringBed& bed, const BedState& loads, const PairState& state, const Pose& X_WC,
                                 const CastingFields& casting_fields, const FieldRequest& request) {
  check_quantities(request);
  const CastingSurface& casting = bed.casting();
  const SurfaceMesh& mesh = casting.mesh();
  std::vector<MeshField> of_points;
  std::vector<MeshField> of_cells{part_of_cells(request.part, mesh.triangles.size())};
  if (wanted(request, "contact_pressure")) {
    SpringValues springs(bed, loads, state.V_AB.vector(), casting_fields.dissipation);
    FaceValues faces(casting, loads, springs, casting_fields.dissipation, state.V_AB.vector());
    if (casting.places() == SpringPlaces::centres) {
      springs.pressure = around_points(casting, faces.pressure);
      springs.depth = around_points(casting, faces.depth);
    }
    springs.pressure.resize(mesh.vertices.size());
    springs.depth.resize(mesh.vertices.size());
    of_points.push_back(values("contact_pressure", "Pa", std::move(springs.pressure)));
    of_points.push_back(values("penetration", "m", std::move(springs.depth)));
    of_cells.push_back(values("contact_pressure", "Pa", std::move(faces.pressure)));
    of_cells.push_back(values("loaded_area", "m^2", std::move(faces.area)));
    of_cells.push_back(values("penetration", "m", std::move(faces.depth)));
  }
  for (const SurfaceRegion& region : casting_fields.regions) {
    of_cells.push_back(values("region:" + region.name, "", {region.triangles.begin(), region.triangles.end()}));
  }
  return write_fields(grid_of(mesh, X_WC), of_points, of_cells);
}

std::string write_target(const SpringBed& bed, const PartnerShape& target, const Pose& X_CT, const Pose& X_WC,
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
