/// Surfaces and volume meshes for `heelstrike mesh`: checks, repairs, filling, conversion; no servers are involved.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "common/contact/surface.hpp"
#include "scenario/surfaces/foot.hpp"
#include "scenario/surfaces/knee.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike {

/// Local refinement of the mesh.
struct MeshRefinement {
  std::vector<double> box;   ///< [m] six numbers, low and high corner; empty = no box
  std::vector<double> ball;  ///< [m] centre and radius; empty = no ball
  std::string group;         ///< group of the surface; empty = no group
  double distance = 0.0;     ///< [m] from the group
  double size = 0.0;         ///< [m] > 0 edge length in the refined region
};

struct MeshRepairs {
  double merge_tolerance = 0.0;   ///< [m] 0 = none
  double sliver_thickness = 0.0;  ///< [m] 0 = none
  double sliver_distance = 0.0;   ///< [m] 0 = twice the thickness
  bool remove_degenerate = false;
  bool remove_duplicate = false;
  bool reorient = false;
  std::size_t max_hole_edges = 0;  ///< 0 = none
};

struct MeshJob {
  std::string name;     ///< file name, for messages and the format
  std::string content;  ///< of the file; empty with `foot` or `knee`
  bool foot = false;    ///< the parametric foot instead of a file
  bool right = false;   ///< mirrored
  FootDimensions dimensions;
  std::optional<KneeSurface> knee;  ///< a surface of the parametric knee instead of a file
  double length_scale = 1.0;        ///< [m per file unit]
  double size = 0.0;                ///< [m] edge length of the tetrahedra; 0 = the surface is checked only
  std::uint32_t order = 1;
  double growth = 0.3;        ///< [-]
  bool keep_surface = false;  ///< the triangles stay unchanged
  double time_limit = 600.0;  ///< [s] > 0 for the mesher
  std::vector<MeshRefinement> refinements;
  MeshRepairs repairs;
  bool layer = false;      ///< the surface, open or closed, is the outer one of a layer, remeshed with `size` if > 0
  std::string inner;       ///< content of the file of the inner surface of the layer; empty = `thickness`
  std::string inner_name;  ///< name of that file
  double thickness = 0.0;  ///< [m] constant thickness of a layer without inner surface
  std::uint32_t layers = 2;
  bool keep_prisms = false;       ///< the layer keeps its prisms instead of tetrahedra
  double search_distance = 0.01;  ///< [m] > 0
  double min_thickness = 2e-4;    ///< [m] > 0
  std::string output_format;      ///< "stl", "msh", "vtu"; empty = no output
};

/// One quantity with its unit, in the order of the report.
struct MeshQuantity {
  std::string name;
  std::variant<double, std::string, std::vector<std::size_t>> value;
};

struct MeshReport {
  bool is_valid = false;              ///< the input after the repairs is valid
  std::string defects;                ///< defects in one line; empty when valid
  std::vector<std::string> repaired;  ///< one sentence per repair
  std::string surface_report;         ///< report for the user; empty for a volume mesh
  std::string volume_report;          ///< report for the user; empty when no volume was filled or read
  std::vector<MeshQuantity> facts;    ///< the same numbers, for programs
  std::vector<std::string> warnings;  ///< valid but implausible properties, one sentence each
  std::string bytes;                  ///< in the output format
};

/// Tests whether the input is a volume mesh. @throws Error{invalid_input} for a file of an unknown format
[[nodiscard]] bool is_volume_mesh(const MeshJob& job);
/// "surface (stl, ...) or volume mesh (msh, ...)", for messages.
[[nodiscard]] std::string readable_formats();

/// @param on_stage  called repeatedly with the current stage
/// @throws Error{invalid_input} for an unreadable file or one with more elements than the readers accept, an unsound
/// surface that is to be filled, options out of range; and the errors of the mesher
[[nodiscard]] MeshReport process_mesh(const MeshJob& job, const std::function<void(const char* stage)>& on_stage,
                                      std::stop_token stop);

/// Triangles of a surface file, in its units; the boundary of a volume mesh is not extracted.
/// @throws Error{invalid_input} for a file that is not a readable surface
[[nodiscard]] Triangles read_triangles(const std::string& name, const std::string& content,
                                       bool points_suffice = false);

/// Fills a small ball with tetrahedra. @returns the mesher and the number of elements
/// @throws errors of the mesher, e.g. Error{file} when it is missing
[[nodiscard]] std::string check_mesher(std::stop_token stop);

}  // namespace heelstrike
