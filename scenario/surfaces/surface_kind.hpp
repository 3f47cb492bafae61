/// Kinds of surfaces: one descriptor for each. The scenario file, its reference, the wire, the back-ends and the pages
/// use these; there is no other list of kinds.
///
/// A new kind is one source file in this folder that defines a function returning a SurfaceKind, and one line in
/// registry.hpp. See docs/developer/surfaces.md.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/contact/surface.hpp"
#include "common/spatial/spatial.hpp"
#include "scenario/schema/schema.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike {

/// Vertices and triangles, counterclockwise from outside.
struct Triangles {
  std::vector<Vector3> vertices;                          ///< [m]
  std::vector<std::array<std::uint32_t, 3>> triangles{};  ///< indices into `vertices`
  std::vector<std::string> set_names{};                   ///< named sets of triangles; empty = none
  std::vector<std::uint32_t> sets{};                      ///< of each triangle, into `set_names`; empty = none
};

/// Drawn part of an infinite surface, near a point.
struct DrawnPart {
  Vector3 center = Vector3::Zero();  ///< [m] in the frame of the surface's body
  double extent = 0.0;               ///< [m] > 0 size of the contacting body
};

/// The layer behind the triangles of a sheet, e.g. cartilage on bone.
struct SurfaceLayer {
  Triangles back;          ///< its back; normals have the direction of those of the sheet
  double thickness = 0.0;  ///< [m] > 0 along the normals of the sheet
};

/// Part of a surface with one contact point, for point laws.
struct Compartment {
  std::string name;
  Surface ball;  ///< sphere, or socket, of the mean curvature there
};

/// A direction of the body's frame and the names of its two ends, e.g. "anterior" and "posterior".
struct AnatomicalAxis {
  Vector3 direction = Vector3::Zero();  ///< unit vector
  std::string ahead;
  std::string behind;
};

/// Every function receives a surface of this kind with checked values; an empty function = not available.
struct SurfaceKind {
  config::KeySchema keys;  ///< a `map`: name, meaning and keys of the kind in a scenario file
  std::string place{};     ///< key of the vector [m] that places the surface in its body; empty = none
  bool fills = false;      ///< back-ends can fill a body of this shape with elements
  bool is_cloud = false;   ///< points with areas instead of a surface

  /// Checks beyond single keys.
  /// @param where     dotted key of the surface for messages, e.g. "contact.NAME.main.surface"
  /// @param is_rigid  the body has no material
  /// @throws Error{invalid_input}
  void (*check)(const Surface& surface, bool is_rigid, const std::string& where) = nullptr;

  /// For kinds that can be read from a table, a file of columns: the headings, and the surface with the values of these
  /// columns. Files of other kinds are read by the contact side.
  /// @param file_name  for messages. @throws Error{invalid_input}
  std::vector<std::string> table_headings{};
  Surface (*of_table)(std::span<const std::vector<double>> columns, const std::string& file_name) = nullptr;

  /// Distance of points to the surface of a rigid partner. @throws Error{invalid_input} for values out of range
  std::unique_ptr<SignedDistance> (*distance)(const Surface& surface) = nullptr;

  /// [1/m] 1 / R for a plane (0), a sphere (< 0 concave), or a surface with an inscribed tangent sphere of radius R at
  /// every point; none with ends, edges or corners.
  std::optional<double> (*curvature)(const Surface& surface) = nullptr;

  /// [m] edges of a bounding box in a separate frame; none for an infinite surface.
  std::optional<Vector3> (*extents)(const Surface& surface) = nullptr;

  /// Triangles for field files.
  Triangles (*drawing)(const Surface& surface, const DrawnPart& part) = nullptr;

  /// Closed triangles with edges of about `size` [m], to be filled with tetrahedra. Kinds that fill without it have
  /// dedicated meshing in the finite-element back-ends, e.g. with element sets.
  Triangles (*boundary)(const Surface& surface, double size) = nullptr;

  /// Open triangle mesh of a kind without volume, for back-ends that accept open meshes.
  Triangles (*sheet)(const Surface& surface) = nullptr;

  /// The layer below the sheet, for kinds that fill without a boundary: for its elements and the length of springs.
  /// None for a surface without layer.
  std::optional<SurfaceLayer> (*layer)(const Surface& surface) = nullptr;

  /// Compartments in each of which point laws act; two surfaces of one kind have the same names.
  std::vector<Compartment> (*compartments)(const Surface& surface) = nullptr;

  /// The solid that represents it on a page: "kind" sphere {radius, center}, plane {normal, point}, cylinder {radius,
  /// axis, center, length unless infinite} or block {lengths, center, rough: only the size is right}.
  ParameterMap (*outline)(const Surface& surface) = nullptr;

  /// The anatomical axes of its body's frame, for labels of pages; empty where the scenario does not name them.
  std::vector<AnatomicalAxis> (*axes)(const Surface& surface) = nullptr;

  [[nodiscard]] const std::string& name() const { return keys.name; }
};

/// All kinds, in the order of the scenario reference.
[[nodiscard]] std::span<const SurfaceKind> surface_kinds();

/// @param where  dotted key for messages
/// @throws Error{invalid_input} naming the known kinds and the nearest one
[[nodiscard]] const SurfaceKind& kind_of(const Surface& surface, const std::string& where = "surface");

/// Checks all values against the keys of the kind, and the kind's own conditions, for surfaces from another process.
/// @returns the surface with directions normalised, unless they have unit length up to rounding
/// @throws Error{invalid_input} with the dotted key in `field`
[[nodiscard]] Surface checked_surface(Surface surface, bool is_rigid, const std::string& where);

/// The file of the surface, by digest of its content or by name; none for surfaces without file.
[[nodiscard]] std::optional<AssetKey> asset_of(const Surface& surface);

/// Signed distance to an analytic surface. @throws Error{invalid_input} for kinds that have none, values out of range
[[nodiscard]] std::unique_ptr<SignedDistance> signed_distance(const Surface& surface);

/// Position of the surface in its body [m]; zero for kinds without a position.
[[nodiscard]] Vector3 location_of(const Surface& surface);

}  // namespace heelstrike
