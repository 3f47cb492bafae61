/// The table of a pressure measurement of a foot: heel, midfoot, metatarsals, hallux, lesser toes.
#pragma once

#include <string>
#include <vector>

#include "client/report/pressure_map.hpp"

namespace heelstrike::client::report {

struct RegionLoad {
  std::string name;
  double peak_pressure = 0.0;      ///< [Pa] largest over region and run
  double peak_time = 0.0;          ///< [s] when
  double mean_pressure = 0.0;      ///< [Pa] over the loaded area, largest over the run
  double force = 0.0;              ///< [N] normal to the sole, largest over the run
  double area = 0.0;               ///< [m^2] loaded, largest over the run
  double pressure_integral = 0.0;  ///< [Pa s] of the region's peak over the run, trapezoidal rule over the frames
};

enum class FootSide { unknown, left, right };

/// Regions are fractions of the length of the body along its x axis, from the heel: heel to 31 %, midfoot to 55 %,
/// metatarsals to 80 %, toes beyond, of which the medial 40 % of the width are the hallux. A convention, not anatomy:
/// with an unknown side the toes are one region. The body looks along x, its sole along -z.
class PressureRegions {
 public:
  PressureRegions(const PressureMap& map, FootSide side);

  /// @param pressure  [Pa] per node; frames in the order of time
  void add(double time, const std::vector<double>& pressure);
  [[nodiscard]] const std::vector<RegionLoad>& rows() const { return rows_; }  ///< the whole foot is the last one

 private:
  std::vector<RegionLoad> rows_;
  std::vector<std::size_t> region_;  ///< of each node
  std::vector<double> area_;         ///< [m^2] of each node, projected onto the ground
  std::vector<double> last_peak_;    ///< [Pa] per row
  double last_time_ = 0.0;
  bool first_ = true;
};

}  // namespace heelstrike::client::report
