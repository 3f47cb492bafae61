/// Surfaces and volume meshes for `heelstrike mesh`: checking, repairing, filling, converting; no servers involved.
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

/// Finer elements near a place.
struct MeshRefinement {
  std::vector<double> box;   ///< [m] six numbers, low and high corner; empty = not a box
  std::vector<double> ball;  ///< [m] centre and radius; empty = not a ball
  std::string group;         ///< group of the surface; empty = not a group
  double distance = 0.0;     ///< [m] from the group
  double size = 0.0;         ///< [m] > 0 edge length there
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
  std::string content;  ///< of the file; empty when `foot` or `knee` is meant
  bool foot = false;    ///< the parametric foot instead of a file
  bool right = false;   ///< its mirror image
  FootDimensions dimensions;
  std::optional<KneeSurface> knee;  ///< a surface of the parametric knee instead of a file
  double length_scale = 1.0;        ///< [m per file unit]
  double size = 0.0;                ///< [m] edge length of the tetrahedra; 0 = the surface is checked, not filled
  std::uint32_t order = 1;
  double growth = 0.3;        ///< [-]
  bool keep_surface = false;  ///< the triangles stay as they are
  double time_limit = 600.0;  ///< [s] > 0 for the mesher
  std::vector<MeshRefinement> refinements;
  MeshRepairs repairs;
  std::string inner;       ///< content of the file of the inner surface of a layer; empty = not a layer
  std::string inner_name;  ///< its name
  std::uint32_t layers = 2;
  bool keep_prisms = false;       ///< of a layer, instead of cutting them into tetrahedra
  double search_distance = 0.01;  ///< [m] > 0
  double min_thickness = 2e-4;  ///< [m] > 0
  std::string output_format;      ///< "stl", "msh", "vtu"; empty = nothing is written
};

/// One fact with its unit, in the order of the report.
struct MeshQuantity {
  std::string name;
  std::variant<double, std::string, std::vector<std::size_t>> value;
};

struct MeshReport {
  bool sound = false;                 ///< of what was read, after the repairs
  std::string defects;                ///< why not, in one line; empty when it is
  std::vector<std::string> repaired;  ///< one sentence per repair
  std::string surface_report;         ///< for a person; empty when a volume mesh was read
  std::string volume_report;          ///< for a person; empty when nothing was filled or read
  std::vector<MeshQuantity> facts;        ///< the same numbers, for programs
  std::vector<std::string> warnings;    ///< what is allowed but hardly meant, one sentence each
  std::string bytes;                  ///< in the output format
};

/// Whether the input holds a volume. @throws Error{invalid_input} for a file of an unknown format
[[nodiscard]] bool holds_volume(const MeshJob& job);
/// "surface (stl, ...) or volume mesh (msh, ...)", for messages.
[[nodiscard]] std::string readable_formats();

/// @param on_stage  called with what is being done, again and again while it lasts
/// @throws Error{invalid_input} for a file that cannot be read or has more elements than the readers take, an unsound
/// surface that shall be filled, options out of range; and what the mesher throws
[[nodiscard]] MeshReport process_mesh(const MeshJob& job, const std::function<void(const char* stage)>& on_stage,
                                       std::stop_token stop);

/// Triangles of a surface file, in its units; of a volume mesh its boundary is not taken.
/// @throws Error{invalid_input} for what is no surface that can be read
[[nodiscard]] Triangles read_triangles(const std::string& name, const std::string& content);

/// Fills a small ball with tetrahedra. @returns what did it and how many there are
/// @throws what the mesher throws, e.g. Error{file} when it is not there
[[nodiscard]] std::string check_mesher(std::stop_token stop);

}  // namespace heelstrike
