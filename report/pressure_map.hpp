/// Plan view of the contact pressure on the loaded side of a body, in the body frame, as recorded by an insole.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/results/run_folder.hpp"
#include "common/spatial/spatial.hpp"
#include "report/fields_data.hpp"

namespace heelstrike::report {

/// Values on square cells, row by row from the smallest v; NaN outside of the body.
struct PlanView {
  std::array<int, 2> axes = {0, 1};       ///< body axes along the map: 0 = x, 1 = y, 2 = z
  int depth = 2;                          ///< body axis along the view direction
  std::array<double, 2> origin = {0, 0};  ///< [m] centre of the first cell
  double cell = 0.0;                      ///< [m]
  std::array<std::size_t, 2> n = {0, 0};  ///< cells along the axes
  std::vector<double> values;             ///< [Pa]
};

/// {axes: ["x", "y"], depth: "z", origin, cell, n, high, values}: values in u16 from 0 to `high`, 65535 = no body.
[[nodiscard]] Json plan_view_json(const PlanView& view, double high);

/// One of several bodies that are loaded together, with its relative pose.
struct LoadedPart {
  std::string pair;
  std::string body;  ///< main body of the pair
  Pose X_FB;         ///< in the common frame F
};

/// A node of two parts that were cut from one mesh; indices of the parts and in each of them.
struct SharedNode {
  std::array<std::size_t, 2> parts = {0, 0};
  std::array<std::uint32_t, 2> nodes = {0, 0};
};

/// Collects the pressure of one body, or of several parts side by side, frame by frame. The map shows the body's
/// undeformed shape, so that it is fixed while the body moves and deforms; the view is along the body axis with the
/// largest load of peak pressures.
///
/// Parts that were cut from one mesh share the nodes of the cut. The recovery has no pressure there (rim of a cut) and
/// repeats that of the neighbours on its own side, so that the map would jump at the cut; a view interpolates over it:
/// a shared node has the mean of both sides. Peaks are those of the parts.
class PressureMap {
 public:
  /// True if a grid has contact pressure.
  [[nodiscard]] static bool has_pressure(const FieldGrid& grid);

  /// @param first  in the world, with contact_pressure; its points are those of the undeformed body, as in all field
  /// files
  /// @param X_WB   pose of the body at that time
  PressureMap(const FieldGrid& first, const Pose& X_WB);

  /// Adds another part of the map. @param X_WF  pose of the map's frame at that time, according to this part
  /// @returns its index; the first part is 0
  std::size_t add_part(const FieldGrid& first, const Pose& X_WF);
  /// @throws Error{file} for a grid with a different number of points or without pressure
  void add(const FieldGrid& frame, std::size_t part = 0);
  /// Begins a new time: parts without a frame at it are unloaded.
  void clear_latest();

  [[nodiscard]] const std::vector<double>& latest() const { return latest_; }  ///< [Pa] per node
  [[nodiscard]] const std::vector<double>& peak() const { return peak_; }      ///< [Pa] per node, peak so far
  [[nodiscard]] double peak_pressure() const;                                  ///< [Pa] so far

  /// [m] of a node of the undeformed shape, in the body frame.
  [[nodiscard]] Vector3 point(std::uint32_t node) const;
  /// [m] of all nodes.
  [[nodiscard]] std::vector<Vector3> points() const;
  [[nodiscard]] const std::vector<std::uint32_t>& triangles() const { return triangles_; }

  /// Nodes of the cuts between the parts.
  [[nodiscard]] std::vector<SharedNode> shared_nodes() const;

  /// Node values on about `n_cells` cells along the longer side, continuous over the cut between two parts.
  [[nodiscard]] PlanView view(const std::vector<double>& node_values, std::size_t n_cells) const;

 private:
  /// Sum over the triangles of outward area times peak pressure. [N]
  [[nodiscard]] Vector3 load() const;
  /// Appends the nodes from `first` on that coincide with an earlier one to shared_.
  void find_shared_nodes(std::uint32_t first);
  /// The part of a node of the map.
  [[nodiscard]] std::size_t part_of(std::uint32_t node) const;
  /// Values with the mean of both sides at the nodes of a cut.
  [[nodiscard]] std::vector<double> over_cut(std::vector<double> node_values) const;
  std::vector<double> points_;  ///< [m] undeformed, in the body frame
  std::vector<std::uint32_t> triangles_;
  std::vector<double> latest_, peak_;
  std::vector<std::size_t> first_points_;             ///< of the parts
  std::vector<std::array<std::uint32_t, 2>> shared_;  ///< nodes of two parts at the same place: earlier, later part
};

/// The centre of pressure of a pair while it is loaded, in the frame of its main body.
struct CopPath {
  std::vector<double> times;    ///< [s]
  std::vector<Vector3> points;  ///< [m]
  std::vector<double> forces;   ///< [N] resultant
  /// Index of the uninterrupted contact of each point; points of different contacts are not connected.
  std::vector<std::size_t> contacts;
};

/// @param body  main body; one without columns in the series rests in the world
[[nodiscard]] CopPath cop_path(const TimeSeries& series, const std::string& pair, const std::string& body);
/// Path of several parts in their common frame: the mean of their centres weighted by force magnitude.
[[nodiscard]] CopPath cop_path(const TimeSeries& series, std::span<const LoadedPart> parts);

/// Pose of a body in a row of the series; the identity for a body without columns.
[[nodiscard]] Pose pose_in_row(const std::vector<std::string>& columns, std::span<const double> row,
                               const std::string& body);

/// Pair and main body of a series of field files.
struct PartOwner {
  std::string pair;
  std::string body;
};
/// @param part  name in fields.pvd: PAIR_BODY with special characters replaced. @returns none for a partner's part
[[nodiscard]] std::optional<PartOwner> part_owner(const std::string& part, const std::vector<std::string>& columns);

}  // namespace heelstrike::report
