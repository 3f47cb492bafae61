/// Marker trajectories of a motion capture trial, from a `.trc` file.
///
/// The file has five header lines (PathFileType; names of the data values; the values; marker names, one for every
/// three columns after frame number and time; X1 Y1 Z1 ...) and rows separated by tabs. `heelstrike import` converts
/// C3D trials to this format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// Positions in metres, in the axes of the file or, after `rotated`, of the world.
struct MarkerTrial {
  std::string file_name;
  double rate = 0.0;                            ///< [Hz] DataRate of the header if the times agree, otherwise that of
                                                ///< the times
  std::vector<double> times;                    ///< [s] strictly increasing
  std::vector<std::string> names;               ///< unique marker names
  std::vector<std::vector<Vector3>> positions;  ///< [m] of every marker at every time; NaN where it was not seen
  std::vector<std::string> notes = {};          ///< disagreements between header and rows (the rows are used)

  [[nodiscard]] std::size_t frames() const { return times.size(); }
  /// @throws Error{invalid_input} with the closest names
  [[nodiscard]] std::size_t index(const std::string& name) const;
  [[nodiscard]] const std::vector<Vector3>& marker(const std::string& name) const { return positions[index(name)]; }
};

/// True if the marker was seen.
[[nodiscard]] inline bool is_seen(const Vector3& p) {
  return p.allFinite();
}

/// Reads a .trc file as OpenSim does: any number of tabs in the header lines, blanks where there is no tab. A marker
/// whose three entries are empty, NaN or all exactly zero was not seen in that frame. NumFrames, NumMarkers and a
/// DataRate (by more than 5 % off the times) that do not match the rows are noted, and the rows are used; markers after
/// the named ones are skipped, and noted.
/// @throws Error{invalid_input} "file:line: ..." for units other than those of length_of_unit, a number of names that
/// does not match the columns, duplicate names, rows of different length, entries that are not numbers, times
///         that do not increase
[[nodiscard]] MarkerTrial read_trc(std::string_view text, const std::string& file_name);

/// The trial as a .trc file in millimetres of single precision, with empty entries for unseen markers.
/// @param first_frame  number of the first row
[[nodiscard]] std::string trc_text(const MarkerTrial& trial, std::size_t first_frame = 1);

}  // namespace heelstrike
