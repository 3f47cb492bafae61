/// What an insole would record: contact pressure on the loaded side of a body, in plan view and in the body's frame.
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

/// Values on square cells, row by row from the smallest v; NaN where the body is not.
struct PlanView {
  std::array<int, 2> axes = {0, 1};       ///< body axes along the map: 0 = x, 1 = y, 2 = z
  int depth = 2;                          ///< the body axis one looks along
  std::array<double, 2> origin = {0, 0};  ///< [m] centre of the first cell
  double cell = 0.0;                      ///< [m]
  std::array<std::size_t, 2> n = {0, 0};  ///< cells along the axes
  std::vector<double> values;             ///< [Pa]
};

/// {axes: ["x", "y"], depth: "z", origin, cell, n, high, values}: values in u16 from 0 to `high`, 65535 = no body.
[[nodiscard]] Json plan_view_json(const PlanView& view, double high);

/// One body of several that are loaded together, and where it is among them.
struct LoadedPart {
  std::string pair;
  std::string body;  ///< main body of the pair
  Pose X_FB;         ///< in the common frame F
};

/// Collects the pressure of one body, or of several parts side by side, frame by frame. The map shows the body's
/// undeformed shape, so that it stays in place while the body moves and bends; one looks along the body axis that the
/// largest pressures load most.
class PressureMap {
 public:
  /// Whether a grid has the pressure of a contact.
  [[nodiscard]] static bool has_pressure(const FieldGrid& grid);

  /// @param first  in the world, with contact_pressure; its points are those of the undeformed body, as in all our
  /// files
  /// @param X_WB   pose of the body at that time
  PressureMap(const FieldGrid& first, const Pose& X_WB);

  /// Another part of what the map shows. @param X_WF  pose of the map's frame at that time, as this part has it
  /// @returns its number; the first part is 0
  std::size_t add_part(const FieldGrid& first, const Pose& X_WF);
  /// @throws Error{file} for a grid with another number of points or without pressure
  void add(const FieldGrid& frame, std::size_t part = 0);
  /// A new time: parts that have no frame at it carry nothing.
  void clear_latest();

  [[nodiscard]] const std::vector<double>& latest() const { return latest_; }  ///< [Pa] per node
  [[nodiscard]] const std::vector<double>& peak() const { return peak_; }      ///< [Pa] per node, largest so far
  [[nodiscard]] double peak_pressure() const;                                  ///< [Pa] so far

  /// [m] of a node of the undeformed shape, in the body frame.
  [[nodiscard]] Vector3 point(std::uint32_t node) const;
  /// [m] all of them.
  [[nodiscard]] std::vector<Vector3> points() const;
  [[nodiscard]] const std::vector<std::uint32_t>& triangles() const { return triangles_; }

  /// Node values on about `n_cells` cells along the longer side.
  [[nodiscard]] PlanView view(const std::vector<double>& node_values, std::size_t n_cells) const;

 private:
  /// Sum over the triangles of outward area times peak pressure. [N]
  [[nodiscard]] Vector3 load() const;
  std::vector<double> points_;  ///< [m] undeformed, in the body frame
  std::vector<std::uint32_t> triangles_;
  std::vector<double> latest_, peak_;
  std::vector<std::size_t> first_points_;  ///< of the parts
};

/// The centre of pressure of a pair while it is loaded, in the frame of its main body.
struct CopPath {
  std::vector<double> times;    ///< [s]
  std::vector<Vector3> points;  ///< [m]
  std::vector<double> forces;   ///< [N] resultant
  /// Number of the uninterrupted contact that each point belongs to: no line leads from one to the next.
  std::vector<std::size_t> contacts;
};

/// @param body  main body; one without columns in the series rests in the world
[[nodiscard]] CopPath cop_path(const TimeSeries& series, const std::string& pair, const std::string& body);
/// Of parts together, in their common frame: the mean of their centres by the size of their forces.
[[nodiscard]] CopPath cop_path(const TimeSeries& series, std::span<const LoadedPart> parts);

/// Pose of a body in a row of the series; the identity for a body without columns.
[[nodiscard]] Pose pose_in_row(const std::vector<std::string>& columns, std::span<const double> row,
                               const std::string& body);

/// Pair and main body that a series of field files belongs to.
struct PartOwner {
  std::string pair;
  std::string body;
};
/// @param part  as fields.pvd names it: PAIR_BODY with odd characters replaced. @returns none for a partner's part
[[nodiscard]] std::optional<PartOwner> part_owner(const std::string& part, const std::vector<std::string>& columns);

}  // namespace heelstrike::report
