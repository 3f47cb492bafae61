/// Required resolution of a casting surface, so that its springs detect the contact.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

/// [-] of the layers' thickness: a contact of this depth must be resolved, otherwise a warning is given.
inline constexpr double min_resolved_penetration = 1e-2;

/// Contact that the springs must resolve.
struct ResolvedContact {
  std::string key;         ///< the parameter that makes triangles finer, for messages
  double curvature = 0.0;  ///< [1/m] of the gap between the surfaces, if known from their kinds; 0 = flat or unknown
  double min_curvature = 0.0;  ///< [1/m] lower bound of the maximum: of the balls around meshes and shapes with ends
  double layers = 0.0;         ///< [m] thickness of all layers
};

/// [m] Edge of an equilateral triangle of the mean area; for shapes, whose triangles are similar.
[[nodiscard]] double mean_edge(const SurfaceMesh& mesh);
/// [m] The same for the smallest triangles, excluding a tenth of all; for meshes, which may be refined locally.
[[nodiscard]] double min_edge_length_of_mesh(const SurfaceMesh& mesh);

/// Divides each triangle of a shape into four until contact is resolved or the limit is reached. @returns the number of
/// divisions
int refine_to_curvature(const ResolvedContact& seen, SurfaceMesh& mesh, std::vector<double>& of_vertices,
                        const SignedDistance& shape);

/// A sentence about the force that triangles with edges of that length [m] miss; none if the error is small.
/// @throws Error{invalid_input} if they detect no force before the layers are fully compressed
[[nodiscard]] std::optional<std::string> describe_resolution_error(const ResolvedContact& seen, double edge);

}  // namespace heelstrike::fem
