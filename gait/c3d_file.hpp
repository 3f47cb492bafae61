/// Motion capture trials in the C3D format: markers, analog channels, events and parameters.
///
/// The format is public [c3d2020]: a header, a section of parameters in groups, and frames of points with the analog
/// samples taken during each. Numbers are little or big endian, floats those of IEEE or of DEC; data are scaled 16-bit
/// integers or floats. Debian 12 has no library for it.
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
  std::vector<std::string> texts;  ///< instead of numbers, without blanks at the end
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
  MarkerTrial markers;  ///< in the laboratory frame; times are (frame - 1) / rate, as those of events are
  std::size_t first_frame = 1;
  double length = 1.0;       ///< [m] of POINT:UNITS
  double analog_rate = 0.0;  ///< [Hz]; the first samples have the time of the first frame
  std::vector<AnalogChannel> analog;
  std::vector<C3dEvent> events;
  std::map<std::string, C3dParameter> parameters;  ///< by "GROUP:NAME" in capitals
  std::vector<std::string> notes;                  ///< what was left out or taken in another way, one line each

  /// Numbers of a parameter and of its continuations NAME2, NAME3, ...; empty when it is not there.
  [[nodiscard]] std::vector<double> numbers(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> texts(const std::string& name) const;
  [[nodiscard]] std::vector<double> analog_times() const;
};

/// Points that are angles, forces, moments, powers or scalars (POINT:ANGLES, ...) are no markers and are noted. What
/// the parameters lack is taken from the header (rates, scale, counts); where both say it and differ, the size of the
/// file decides; lengths without POINT:UNITS are taken as mm. All of it is noted.
/// @throws Error{invalid_input} "file: ..." for what is no C3D file, a file that is cut off, parameters whose data lead
///         out of their section, unknown units, and what neither the parameters nor the header say
[[nodiscard]] C3dTrial read_c3d(std::string_view bytes, const std::string& file_name);

/// Whether the bytes start as those of a C3D file do.
[[nodiscard]] bool is_c3d(std::string_view bytes);

}  // namespace heelstrike
