/// Pressure loads of each named region of a surface, and of the whole surface.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "report/fields_data.hpp"

namespace heelstrike::report {

/// Load of one region at one time, from its faces.
struct FaceLoad {
  double force = 0.0;                ///< [N] sum of mean pressure times area of the faces
  double area = 0.0;                 ///< [m^2] loaded part of the faces
  double peak = 0.0;                 ///< [Pa]
  double penetration = 0.0;          ///< [m] maximum
  Vector3 center = Vector3::Zero();  ///< [m] centre of pressure in the world; zero without force
  std::size_t active = 0;            ///< loaded faces

  [[nodiscard]] double mean() const { return area > 0.0 ? force / area : 0.0; }  ///< [Pa] over the loaded part
};

/// One pair over the run.
class RegionLoads {
 public:
  /// True if the faces of a grid have the data required for region sums.
  [[nodiscard]] static bool has_faces(const FieldGrid& grid);

  /// @param pair   name, for columns
  /// @param first  defines the regions
  RegionLoads(std::string pair, const FieldGrid& first);

  /// Frames in order of time. @throws Error{file} for a grid with different faces
  void add(double time, const FieldGrid& frame);

  [[nodiscard]] const std::string& pair() const { return pair_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }  ///< the last one is "all"
  [[nodiscard]] const std::vector<double>& times() const { return times_; }
  /// One entry per name of each time.
  [[nodiscard]] const std::vector<std::vector<FaceLoad>>& loads() const { return loads_; }

 private:
  std::string pair_;
  std::vector<std::string> names_;
  std::vector<double> times_;
  std::vector<std::vector<FaceLoad>> loads_;
};

/// Comma-separated: time_s, then PAIR.REGION.force_N, area_m2, mean_pressure_Pa, peak_pressure_Pa, copx_m, copy_m,
/// copz_m (in the world; empty without load), active_faces, penetration_m for each pair and region. Entries are empty
/// at times without a frame of the pair.
[[nodiscard]] std::string region_table(const std::vector<RegionLoads>& pairs);

}  // namespace heelstrike::report
