/// Meshes from bytes. The content of a file is passed in, never a path: the server does not read client disks.
///
/// Surfaces: STL (binary, ASCII), OBJ, PLY (ASCII, binary), VTP, COLLADA, legacy VTK with polygons (ASCII, binary).
/// Volumes: Gmsh .msh 1, 2, 2.1, 2.2, 4 and 4.1 (ASCII, binary), Abaqus .inp (C3D4, C3D10, C3D6, C3D15, C3D8, C3D20,
/// C3D27), VTU, legacy VTK (ASCII, binary). Lines of text end with LF, CR LF or CR; a byte-order mark of UTF-8 or
/// UTF-16 may precede them.
///
/// Every reader rejects unsupported content with Error{invalid_input} that states line or byte offset, expected and
/// found content. A count above a limit raises Error{limit} before memory is allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Maximum sizes that a caller accepts.
struct MeshLimits {
  std::uint64_t max_nodes = 5'000'000;            ///< vertices or nodes
  std::uint64_t max_elements = 20'000'000;        ///< triangles, or cells of all kinds
  std::uint64_t max_unpacked_bytes = 4ULL << 30;  ///< [byte] of one compressed array after decompression
};

struct ReadOptions {
  std::string name;           ///< file name, for messages and, when `format` is empty, for the format by its extension
  std::string format;         ///< one of mesh_format_names(); empty = from `name`, else from content
  double length_scale = 1.0;  ///< [m per file unit] > 0
  double merge_tolerance =
      0;  ///< [m] >= 0; surfaces: vertices closer than this are merged; 0 = only bit-identical ones (STL)
  bool points_suffice = false;  ///< surfaces: vertices without triangles are accepted, for callers that take their hull
  MeshLimits limits;
};

/// Extension of a file name, or the format name, in lower case.
[[nodiscard]] std::string mesh_format(std::string_view name);

/// Content of a mesh file: surface triangles or volume elements.
enum class MeshKind { surface, volume };

/// Content of files with this name or format, case-insensitive; none when ambiguous (.vtk contains either).
[[nodiscard]] std::optional<MeshKind> kind_of_format(std::string_view name);

/// "stl, obj, ply, vtp": formats of a kind, for messages.
[[nodiscard]] std::string mesh_format_names(MeshKind kind);

/// Whether a file contains a volume mesh, by its format, its name or, if these are ambiguous, its content.
/// @throws Error{invalid_input} for an unknown format
[[nodiscard]] bool is_volume_mesh(std::string_view bytes, const ReadOptions& options);

/// Vertices of an STL are merged when their coordinates are equal bit for bit (-0 counts as 0). Polygons of other
/// formats are split into triangles around their first corner.
/// @throws Error{invalid_input, limit}
[[nodiscard]] SurfaceMesh read_surface(std::string_view bytes, const ReadOptions& options);

/// Physical groups and sets become element, node and face sets; a group of boundary triangles becomes a face set and a
/// node set of the same name. Nodes that no element uses are removed with a note.
/// @throws Error{invalid_input, limit}
[[nodiscard]] VolumeMesh read_volume(std::string_view bytes, const ReadOptions& options);

/// The triangles of a surface file, or the outer surface of a volume mesh with a note.
/// @throws Error{invalid_input, limit}
[[nodiscard]] SurfaceMesh read_outer_surface(std::string_view bytes, const ReadOptions& options);

}  // namespace heelstrike::fem
