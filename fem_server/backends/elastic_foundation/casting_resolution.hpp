/// How fine the triangles of a casting surface have to be for its springs to see what they meet.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenario/surfaces/signed_distance.hpp"
#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// [-] of the layers' thickness: contact as deep as that is told of where springs do not see it.
inline constexpr double min_resolved_penetration = 1e-2;

/// What the springs are to see.
struct ResolvedContact {
  std::string key;         ///< the parameter that makes triangles finer, for messages
  double curvature = 0.0;  ///< [1/m] of the gap between the surfaces, where their kinds tell it; 0 = flat, or unknown
  double min_curvature = 0.0;  ///< [1/m] at least so much somewhere: of the balls around meshes and shapes with ends
  double layers = 0.0;           ///< [m] thickness of all layers
};

/// [m] Edge of an equilateral triangle of the mean area; of shapes, whose triangles are alike.
[[nodiscard]] double mean_edge(const SurfaceMesh& mesh);
/// [m] The same of the smallest triangles, but for a tenth of all; of meshes, which may be fine in places.
[[nodiscard]] double min_edge_length_of_mesh(const SurfaceMesh& mesh);

/// Cuts triangles of a shape into four until contact is resolved, or there are very many. @returns how often
int refine_to_curvature(const ResolvedContact& seen, SurfaceMesh& mesh, std::vector<double>& of_vertices,
               const SignedDistance& shape);

/// A sentence about the force that triangles with edges of that length [m] miss; none where that is little.
/// @throws Error{invalid_input} where they miss all of it until the layers are used up
[[nodiscard]] std::optional<std::string> describe_resolution_error(const ResolvedContact& seen, double edge);

}  // namespace heelstrike::fem
