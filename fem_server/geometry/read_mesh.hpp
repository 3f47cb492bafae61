/// Meshes from bytes. The content of a file is passed in, never a path: a server reads nobody's disk.
///
/// Surfaces: STL (binary, ASCII), OBJ, PLY (ASCII, binary), VTP, COLLADA, legacy VTK with polygons (ASCII, binary).
/// Volumes: Gmsh .msh 2.2 and 4.1 (ASCII, binary), Abaqus .inp (C3D4, C3D10, C3D6, C3D8, C3D20, C3D27), VTU, legacy VTK
/// (ASCII, binary). Lines of text end with LF, CR LF or CR; a byte-order mark of UTF-8 or UTF-16 may stand before them.
///
/// Every reader refuses what it does not understand with Error{invalid_input}, naming line or byte offset, what was
/// expected and what was found; Error{limit} when a count passes a limit, before memory is taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Largest sizes a caller accepts.
struct MeshLimits {
  std::uint64_t max_nodes = 5'000'000;            ///< vertices or nodes
  std::uint64_t max_elements = 20'000'000;        ///< triangles, or cells of all kinds
  std::uint64_t max_unpacked_bytes = 4ULL << 30;  ///< [byte] of one compressed array after decompression
};

struct ReadOptions {
  std::string name;           ///< file name, for messages and, when `format` is empty, for its extension
  std::string format;         ///< of mesh_format_names(); empty = from `name`, else from content
  double length_scale = 1.0;  ///< [m per file unit] > 0
  double merge_tolerance =
      0;  ///< [m] >= 0; surfaces: vertices closer than this become one. 0 = only bit-identical ones (STL)
  MeshLimits limits;
};

/// Extension of a file name, or a format's own name, in small letters.
[[nodiscard]] std::string mesh_format(std::string_view name);

/// What a mesh file holds: triangles, or elements that fill a volume.
enum class MeshKind { surface, volume };

/// What files of that name or format hold, upper or lower case; none when the name does not tell (.vtk holds either).
[[nodiscard]] std::optional<MeshKind> kind_of_format(std::string_view name);

/// "stl, obj, ply, vtp": the formats of a kind, for messages.
[[nodiscard]] std::string mesh_format_names(MeshKind kind);

/// Whether a file holds a volume, by its format, its name or, where these do not tell, its content.
/// @throws Error{invalid_input} for an unknown format
[[nodiscard]] bool holds_volume(std::string_view bytes, const ReadOptions& options);

/// Vertices of an STL are merged when their coordinates are equal bit for bit (-0 counts as 0). Polygons of other
/// formats are split into triangles around their first corner.
/// @throws Error{invalid_input, limit}
[[nodiscard]] SurfaceMesh read_surface(std::string_view bytes, const ReadOptions& options);

/// Physical groups and sets become element, node and face sets; a group of boundary triangles becomes a face set and a
/// node set of the same name. Nodes that no element uses are dropped, with a note.
/// @throws Error{invalid_input, limit}
[[nodiscard]] VolumeMesh read_volume(std::string_view bytes, const ReadOptions& options);

}  // namespace heelstrike::fem
