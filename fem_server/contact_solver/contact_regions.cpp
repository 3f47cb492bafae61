#include "fem_server/contact_solver/contact_regions.hpp"

#include <algorithm>
#include <utility>

#include "common/parameters/parameter.hpp"
#include "fem_server/backend_interface/surface_regions.hpp"
#include "scenario/surfaces/values.hpp"

namespace heelstrike::fem {

namespace {

/// @param chosen  name of the set that these faces are
RegionSurface contact_surface_of(const VolumeMesh& mesh, const PressureRecovery& recovery, const std::string& chosen) {
  SurfaceMesh faces;
  for (const std::uint32_t node : recovery.vertex_nodes()) faces.vertices.push_back(mesh.nodes[node]);
  for (const ElementFace face : recovery.faces()) {
    Triangle corners = face_corners(mesh, face);
    for (std::uint32_t& corner : corners) {
      const auto vertex = std::ranges::lower_bound(recovery.vertex_nodes(), corner);
      corner = static_cast<std::uint32_t>(vertex - recovery.vertex_nodes().begin());
    }
    faces.triangles.push_back(corners);
  }
  RegionSurface surface = cut_surface("contact surface", faces);
  for (const auto& [name, set] : mesh.face_sets) {
    std::vector<bool> triangles;
    for (const ElementFace face : recovery.faces()) triangles.push_back(std::ranges::binary_search(set, face));
    // Sets elsewhere on the body are not part of this surface, and the set that selects it does not divide it.
    if (name != chosen && std::ranges::find(triangles, true) != triangles.end())
      surface.sets.emplace_back(name, std::move(triangles));
  }
  return surface;
}

}  // namespace

std::vector<ContactRegion> contact_regions(const PairSpec& pair, const VolumeMesh& mesh,
                                           const PressureRecovery& recovery) {
  const std::string where = "contact." + pair.name + ".parameters.";
  check_region_center(pair.parameters, where);
  const std::string& names = text(pair.parameters, regions_parameter);
  std::vector<ContactRegion> regions;
  if (names.empty()) return regions;
  for (SurfaceRegion& region : surface_regions(names, numbers(pair.parameters, "region_center"),
                                               contact_surface_of(mesh, recovery, text(pair.parameters, "contact_set")),
                                               where + regions_parameter)) {
    regions.push_back({.name = std::move(region.name),
                       .shares = recovery.shares_of(region.triangles),
                       .vertices = recovery.vertices_of(region.triangles)});
  }
  return regions;
}

}  // namespace heelstrike::fem
