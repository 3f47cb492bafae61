/// Motion capture trials in the C3D format: markers, analog channels, events and parameters.
///
/// The format is public [c3d2020]: a header, a section of grouped parameters, and frames of points with their analog
/// samples. Numbers are little- or big-endian, floats IEEE or DEC; data are scaled 16-bit integers or floats. Debian 12
/// provides no library for the format.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gait/marker_file.hpp"

namespace heelstrike {

struct C3dParameter {
  std::vector<std::size_t> dimensions;  ///< the first one changes fastest
  std::vector<double> numbers;
  std::vector<std::string> texts;  ///< instead of numbers, without trailing blanks
};

struct AnalogChannel {
  std::string name;
  std::string unit;            ///< as in the file; may be empty
  std::vector<double> values;  ///< (sample - OFFSET) * SCALE * GEN_SCALE
};

struct C3dEvent {
  double time = 0.0;  ///< [s]
  std::string label;
  std::string context;  ///< "Left", "Right", or empty
};

struct C3dTrial {
  MarkerTrial markers;  ///< in the laboratory frame; times are (frame - 1) / rate, as for events
  std::size_t first_frame = 1;
  double length = 1.0;       ///< [m] of POINT:UNITS
  double analog_rate = 0.0;  ///< [Hz]; the first samples have the time of the first frame
  std::vector<AnalogChannel> analog;
  std::vector<C3dEvent> events;
  std::map<std::string, C3dParameter> parameters;  ///< by "GROUP:NAME" in capitals
  std::vector<std::string> notes;                  ///< skipped or converted items, one line each

  /// Numbers of a parameter and of its continuations NAME2, NAME3, ...; empty when it is missing.
  [[nodiscard]] std::vector<double> numbers(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> texts(const std::string& name) const;
  [[nodiscard]] std::vector<double> analog_times() const;
};

/// Points that are angles, forces, moments, powers or scalars (POINT:ANGLES, ...) are not markers and are reported in
/// the notes. Missing parameters (rates, scale, counts) are read from the header; where both differ, the file size
/// decides; lengths without POINT:UNITS are assumed to be in mm. Each such decision is noted.
/// @throws Error{invalid_input} "file: ..." for a file that is not C3D, a truncated file, parameters with data outside
/// of their section, unknown units, and values missing in both parameters and header
[[nodiscard]] C3dTrial read_c3d(std::string_view bytes, const std::string& file_name);

/// True if the bytes start like a C3D file.
[[nodiscard]] bool is_c3d(std::string_view bytes);

}  // namespace heelstrike
