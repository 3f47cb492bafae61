#include "fem_server/surfaces/kind_triangles.hpp"

#include <utility>

namespace heelstrike::fem {

SurfaceMesh surface_mesh(Triangles triangles) {
  return {.vertices = std::move(triangles.vertices),
          .triangles = std::move(triangles.triangles),
          .group_names = std::move(triangles.set_names),
          .triangle_groups = std::move(triangles.sets),
          .notes = {}};
}

}  // namespace heelstrike::fem
