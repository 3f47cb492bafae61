/// A helper program that receives one message on standard input and replies with one on standard output.
///
/// Tetrahedral meshing of a closed surface or a ball. Gmsh runs in the program `heelstrike-mesher`, which is started
/// for each request: Gmsh is GPL (docs/developer/licences.md), keeps global state and cannot be interrupted otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/size_field.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Starts `path`, writes `request`, closes the pipe and reads the reply until the process exits. The helper is killed
/// on a stop request, on timeout, or when the reply exceeds `max_reply_bytes` bytes.
/// @param timeout  [s]
/// @param on_wait  called about twenty times per second; may be empty
/// @throws Error{file} when the program is missing or cannot be started; Error{unavailable} without a channel to it;
/// Error{cancelled}; Error{deadline}; Error{limit}; Error{solver_failed} on termination by a signal or with a nonzero
/// exit code
[[nodiscard]] std::string run_helper(const std::string& path, const std::string& request, double timeout,
                                     std::uint64_t max_reply_bytes, const std::stop_token& stop,
                                     const std::function<void()>& on_wait = {});

struct MeshingOptions {
  SizeField size;
  std::uint32_t order = 1;     ///< 1: four nodes; 2: ten nodes, straight edges
  bool remesh_surface = true;  ///< false: the surface triangles are kept and only the interior is meshed
  double feature_angle =
      0.6981317;               ///< [rad] edges with a larger angle between normals are kept (40 degrees), in (0, pi)
  double max_deviation = 0.0;  ///< [m] maximum allowed distance between input and meshed surface; 0 = half of size.size
  MeshLimits limits;
  double timeout = 600.0;  ///< [s] the helper is terminated after this time
  std::stop_token stop;    ///< terminates the helper
  /// Path of heelstrike-mesher; empty = HEELSTRIKE_MESHER, else beside this program, else in the `bin` of the prefix
  /// from which the shared library was loaded.
  std::string helper;
  std::function<void()> on_wait{};  ///< called about twenty times per second while the helper runs; may be empty
};

struct MeshingResult {
  VolumeMesh mesh;         ///< groups of the surface become face sets and node sets
  double deviation = 0.0;  ///< [m] maximum distance between the surfaces in both directions, at vertices and centroids
  std::string mesher;      ///< e.g. "Gmsh 4.8.4", for the digest of dependent products
};

/// Deterministic: one thread, fixed seed; identical bytes for identical request and library version.
/// The surface is checked first.
/// @throws Error{invalid_input} for an invalid surface (all findings are listed), options out of range, or a
/// deviation
///         above the limit; Error{limit} for more elements than allowed; Error{cancelled}; Error{deadline};
///         Error{file} when the helper is missing; Error{solver_failed} when Gmsh fails or crashes
[[nodiscard]] MeshingResult mesh_surface(const SurfaceMesh& surface, const MeshingOptions& options);

/// Triangles of the requested size on an open or closed surface, which may have several pieces (CGAL). Edges of
/// borders, and those next to them, are merged only in part. Deterministic.
/// @throws as mesh_surface
[[nodiscard]] SurfaceMesh remesh_sheet(const SurfaceMesh& surface, const MeshingOptions& options);

/// Ball around the origin. Boundary nodes lie exactly on the sphere, including mid-side nodes of order 2. Face and node
/// set: "surface". `deviation` is zero: flat faces lie inside the sphere by construction.
/// @throws as mesh_surface
[[nodiscard]] MeshingResult mesh_ball(double radius, const MeshingOptions& options);

}  // namespace heelstrike::fem
