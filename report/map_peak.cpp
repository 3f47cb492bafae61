#include "report/map_peak.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace heelstrike::report {

namespace {

constexpr double equal_peaks = 1e-3;  // relative: differences below are invisible in three digits
constexpr double equal_times = 1e-9;  // [s] times of rows and frames agree except for rounding

}  // namespace

MapPeak compare_map_peak(const FootPrint& print, const TimeSeries& series, std::span<const double> frame_times) {
  MapPeak peak{.of_map = print.map.peak_pressure(), .of_series = 0.0, .time = 0.0, .reason = {}};
  const std::size_t n = series.columns.size();
  for (const LoadedPart& part : print.parts) {
    const auto found = std::ranges::find(series.columns, part.pair + ".peak_pressure_Pa");
    if (found == series.columns.end()) continue;
    const auto column = static_cast<std::size_t>(found - series.columns.begin());
    for (std::size_t row = 0; row < series.rows(); ++row) {
      if (!(series.values[row * n + column] > peak.of_series)) continue;
      peak.of_series = series.values[row * n + column];
      peak.time = series.values[row * n];
    }
  }
  if (peak.of_series == 0.0 || peak.of_map == 0.0) return peak;
  if (std::abs(peak.of_map - peak.of_series) <= equal_peaks * peak.of_series) return peak;
  const bool has_frame =
      std::ranges::any_of(frame_times, [&](double time) { return std::abs(time - peak.time) <= equal_times; });
  if (peak.of_map > peak.of_series) {
    peak.reason = "a frame of the fields between two rows of the time series has the larger pressure";
  } else if (has_frame) {
    peak.reason = "the map averages the pressures of the faces around each node";
  } else {
    peak.reason = "the peak is between two frames of the fields; a shorter output.fields.interval resolves it";
  }
  return peak;
}

}  // namespace heelstrike::report
