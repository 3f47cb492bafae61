/// The peak pressure of a map compared with that of the time series.
#pragma once

#include <span>
#include <string>

#include "report/foot_prints.hpp"

namespace heelstrike::report {

struct MapPeak {
  double of_map = 0.0;     ///< [Pa] over nodes and frames
  double of_series = 0.0;  ///< [Pa] over rows and pairs of the print
  double time = 0.0;       ///< [s] of the latter
  std::string reason;      ///< of the difference; empty when they agree within 0.1 %, or a value is missing
};

/// @param frame_times  [s] of the field files
[[nodiscard]] MapPeak compare_map_peak(const FootPrint& print, const TimeSeries& series,
                                       std::span<const double> frame_times);

}  // namespace heelstrike::report
