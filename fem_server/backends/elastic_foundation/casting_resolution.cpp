#include "fem_server/backends/elastic_foundation/casting_resolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/errors/error.hpp"
#include "fem_server/backends/elastic_foundation/casting_surface.hpp"

namespace heelstrike::fem {

namespace {

/// [-] of the layers' thickness: shapes are resolved by default for contacts down to this depth.
constexpr double min_depth = 1e-3;
constexpr double max_linear_error = 0.3;
/// There are about 1.5 times as many springs; fields of a frame take a few MB.
constexpr std::size_t max_triangles = 20000;
/// [-] Square of the edge of an equilateral triangle over its area.
const double equilateral = 4.0 / std::numbers::sqrt3;

/// [-] Relative error of the force for a gap with this curvature: depths that are linear over triangles are too low by
/// e^2 / (6 R) on average and lose e^2 / (3 R d). Those of the planes of four points lose at most the square of it.
double linear_fraction(double edge, double curvature, double depth) {
  return edge * edge * curvature / (3.0 * depth);
}

}  // namespace

double mean_edge(const SurfaceMesh& mesh) {
  return std::sqrt(equilateral * surface_area(mesh) / static_cast<double>(mesh.triangles.size()));
}

double min_edge_length_of_mesh(const SurfaceMesh& mesh) {
  std::vector<double> areas;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) areas.push_back(0.5 * triangle_cross(mesh, t).norm());
  const auto tenth = areas.begin() + static_cast<std::ptrdiff_t>(areas.size() / 10);
  std::ranges::nth_element(areas, tenth);
  return std::sqrt(equilateral * *tenth);
}

int refine_to_curvature(const ResolvedContact& seen, SurfaceMesh& mesh, std::vector<double>& of_vertices,
                        const SignedDistance& shape) {
  const auto too_coarse = [&] {
    return linear_fraction(mean_edge(mesh), seen.min_curvature, min_depth * seen.layers) > max_linear_error;
  };
  int levels = 0;
  for (; too_coarse() && 4 * mesh.triangles.size() <= max_triangles; ++levels) refine(mesh, of_vertices, 1, &shape);
  return levels;
}

std::optional<std::string> describe_resolution_error(const ResolvedContact& seen, double edge) {
  // No spring lies between the middle of an edge and the centres of the adjacent triangles.
  const double hole = edge / (2.0 * std::numbers::sqrt3);
  const double hidden = 0.5 * hole * hole * seen.curvature;
  if (hidden > seen.layers || hole * seen.min_curvature > 1.0) {
    const double curvature = std::max(seen.curvature, seen.min_curvature);
    throw input_error(
        seen.key,
        fmt::format(
            "{}: expected springs that resolve the partner, found triangles of the casting surface with edges of "
            "{:.3g} m: a partner {:.3g} m in radius penetrates {:.3g} m between their springs before one of them "
            "is in contact, more than the layers' thickness of {:.3g} m; divide the triangles with refine, use a finer "
            "mesh, or let the other body carry the springs with spring_body",
            seen.key, edge, 1.0 / curvature, 0.5 * hole * hole * curvature, seen.layers));
  }
  const double depth = min_resolved_penetration * seen.layers;
  const auto percent = [&](double at) {
    const double share = linear_fraction(edge, seen.curvature, at);
    return 100.0 * std::min(1.0, share * share);
  };
  if (percent(depth) <= 10.0) return std::nullopt;
  return fmt::format(
      "{}: triangles of the casting surface have edges of {:.3g} m, which is long for contact "
      "with a relative radius of {:.3g} m: of the force up to {:.2g} % may be missing at a depth of "
      "{:.3g} m, and {:.2g} % at {:.3g} m; divide them with refine, or use a finer mesh",
      seen.key, edge, 1.0 / seen.curvature, percent(depth), depth, percent(10.0 * depth), 10.0 * depth);
}

}  // namespace heelstrike::fem
