/// The surface that carries the springs: triangles fixed in their body, with the thickness of the layer below them, the
/// normals of its smooth parts, and the resolution at which its springs detect the contact.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

/// [-] Cosine of the maximum angle between an averaged normal and a triangle. A spring along the normal is longer by
/// 1 / cos than one along the triangle's own normal, and its force, the derivative of a square, by 1 / cos^2: by a
/// fiftieth at most, 8.0 degrees. An edge between triangles with more than twice this angle is a crease.
[[nodiscard]] double min_smooth_cosine();

/// [-] With this value every edge is a crease, except those within a plane.
inline constexpr double coplanar_cosine = 1.0 - 1e-9;

/// Vertices on creases are duplicated for each smooth part around them: the first keeps its number, others are
/// appended.
struct SmoothParts {
  std::vector<Vector3> normals;       ///< [-] of each vertex: mean by angle, of unit length
  std::vector<std::uint32_t> origin;  ///< of each appended vertex: the original one
};

/// @param mesh  vertices are appended, corners of triangles renumbered; unchanged without creases
/// @param min_smooth_cosine  [-] as above
[[nodiscard]] SmoothParts split_at_creases(SurfaceMesh& mesh, double min_smooth_cosine);

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

/// A sentence about the error of the force with triangles whose edges have that length [m], after warning_mark; if the
/// error is small, about the depth below which it is not, after note_mark; none if the surfaces may be flat.
/// @throws Error{invalid_input} if they detect no force before the layers are fully compressed
[[nodiscard]] std::optional<std::string> describe_resolution_error(const ResolvedContact& seen, double edge);

/// Positions of the springs: one in the centre of each triangle, as in the literature; or at the vertices, followed by
/// the centres, with the pressure integrated over the loaded part of each triangle.
enum class SpringPlaces { centres, vertices };

/// Base of a spring.
struct Spring {
  Vector3 point = Vector3::Zero();    ///< [m]
  Vector3 normal = Vector3::UnitZ();  ///< [-] out of the casting body
  double thickness = 0.0;             ///< [m] > 0 of the casting body's layer
  /// [m] of the casting body below the triangles around the spring; infinite where measure_body_depth found no end.
  double body_depth = std::numeric_limits<double>::infinity();
};

/// The triangles at sharp convex edges (45 degrees and more), far above the angles between triangles that approximate a
/// curve.
[[nodiscard]] SurfaceMesh sharp_faces(const SurfaceMesh& mesh);

/// [m] from the centre of each triangle along its normal through the body to the opposite side; infinite if there is
/// none within `reach` [m].
[[nodiscard]] std::vector<double> body_depths(const SurfaceMesh& mesh, double reach);

/// Neighbouring springs, in a tree of spheres.
struct SpringGroup {
  Vector3 centre = Vector3::Zero();
  double radius = 0.0;
  std::uint32_t first = 0;  ///< leaf: into CastingSurface::order(); inner: the left child, the next in the list
  std::uint32_t right = 0;  ///< inner: the right child
  std::uint32_t count = 0;  ///< of springs; 0 for inner groups
};

/// Properties of the layer below the surface.
struct CastingOptions {
  SpringPlaces places = SpringPlaces::vertices;
  bool interpolate_normals = true;  ///< within smooth parts, separated at creases (surface_creases); false = normals of
                                    ///< the triangles
  std::vector<double> thickness{};  ///< [m] > 0, one for all or one per vertex
  /// Exact shape approximated by the triangles: springs stand on it, along its normals. Null = on the triangles
  std::shared_ptr<const SignedDistance> shape{};
};

class CastingSurface {
 public:
  /// @pre at least one triangle, none degenerate
  CastingSurface(SurfaceMesh mesh, const CastingOptions& options);

  /// Vertices on creases are duplicated for each smooth part around them.
  [[nodiscard]] const SurfaceMesh& mesh() const { return mesh_; }
  /// For each triangle: connected piece of the surface, from 0; creases do not separate pieces.
  [[nodiscard]] const std::vector<std::uint32_t>& pieces() const { return pieces_; }
  [[nodiscard]] SpringPlaces places() const { return places_; }
  [[nodiscard]] std::span<const Spring> springs() const { return springs_; }
  /// [m^2] of each triangle.
  [[nodiscard]] double area(std::uint32_t triangle) const { return areas_[triangle]; }
  /// [m] mean of its corners.
  [[nodiscard]] double thickness(std::uint32_t triangle) const { return thickness_[triangle]; }
  /// [m] maximum distance of a triangle's centre from its corners.
  [[nodiscard]] double max_reach() const { return max_reach_; }
  /// Triangles loaded by a spring, with springs at the vertices: those around a vertex, or the one of a centre.
  [[nodiscard]] std::span<const std::uint32_t> triangles_of(std::uint32_t spring) const {
    return {around_.data() + begin_[spring], around_.data() + begin_[spring + 1]};
  }
  /// With springs at the vertices: the spring in the centre of a triangle.
  [[nodiscard]] std::uint32_t centre_spring(std::uint32_t triangle) const {
    return static_cast<std::uint32_t>(mesh_.vertices.size()) + triangle;
  }
  /// Sets Spring::body_depth up to `reach` [m]: of a spring at a vertex, the largest of its triangles, because at sharp
  /// edges the body ends at the spring itself.
  void measure_body_depth(double reach);
  [[nodiscard]] std::span<const SpringGroup> groups() const { return groups_; }
  [[nodiscard]] std::span<const std::uint32_t> order() const { return order_; }

 private:
  void find_triangles_around();
  [[nodiscard]] std::vector<Vector3> points_inside_creases(const SmoothParts& smooth) const;
  void place_springs(const CastingOptions& options, std::span<const double> thickness, const SmoothParts& smooth);
  std::uint32_t group(std::size_t begin, std::size_t end);

  SurfaceMesh mesh_;
  SpringPlaces places_;
  std::vector<std::uint32_t> pieces_;
  std::vector<Spring> springs_;
  std::vector<double> areas_;
  std::vector<double> thickness_;
  double max_reach_ = 0.0;
  std::vector<std::uint32_t> begin_;
  std::vector<std::uint32_t> around_;
  std::vector<SpringGroup> groups_;
  std::vector<std::uint32_t> order_;
};

/// Divides each triangle into four, `levels` times; values per vertex are interpolated.
/// @param shape  onto which new vertices are projected; null = they stay at the middle of their edges
void refine(SurfaceMesh& mesh, std::vector<double>& of_vertices, int levels, const SignedDistance* shape);

/// Search of the back of a layer.
struct BackSurfaceSearch {
  double reach = 0.0;  ///< [m] maximum distance below the surface
  double least = 0.0;  ///< [m] minimum thickness, used if the back is nearer, or in front at a rim; 0 = a back in front
                       ///< is rejected
};

/// [m] thickness of a layer between a surface and the bone surface below it, along the negative vertex normal.
/// @param key  of the back surface, for messages
/// @throws Error{invalid_input} for a vertex without a back surface below it, or with one in front of it; with a
///         minimum thickness only if this applies to most vertices
[[nodiscard]] std::vector<double> thickness_over(const SurfaceMesh& surface, const SurfaceMesh& back,
                                                 const BackSurfaceSearch& search, const std::string& key);

}  // namespace heelstrike::fem
