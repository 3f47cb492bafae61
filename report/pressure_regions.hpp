/// Table of the plantar pressure regions: heel, midfoot, metatarsals, hallux, lesser toes.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "report/pressure_map.hpp"

namespace heelstrike::report {

enum class FootRegion : std::size_t { heel, midfoot, metatarsals, hallux, lesser_toes };
inline constexpr std::size_t n_foot_regions = 5;
/// [-] default fraction of the foot's length at which the toes begin; convention of the project.
inline constexpr double default_toe_line = 0.8;

/// Region and area of every point of a foot's surface. The foot without its toes is divided into equal thirds of its
/// length, as for the arch index (Cavanagh and Rodgers 1987): heel, midfoot, metatarsals. The medial 35 % of the toes'
/// breadth are the hallux, a convention of the project. The medial side is the one on which the foot is longest.
/// Regions follow the outline, not anatomy.
struct FootMask {
  std::vector<FootRegion> region;
  /// [m^2] a third of each adjacent face of the undeformed body, not of its projection: pressure is normal force per
  /// such area, so that pressure times area adds up to the normal force of the pair.
  std::vector<double> area;
};

/// @param points    [m] in the frame of the body: forward along x, sole along -z
/// @param triangles  three points each
/// @param toe_line  [-] fraction of the length at which the toes begin
[[nodiscard]] FootMask foot_mask(std::span<const Vector3> points, std::span<const std::uint32_t> triangles,
                                 double toe_line = default_toe_line);

struct RegionLoad {
  std::string name;
  double peak_pressure = 0.0;      ///< [Pa] over region and run
  double peak_time = 0.0;          ///< [s]
  double mean_pressure = 0.0;      ///< [Pa] over the loaded area, peak over the run
  double force = 0.0;              ///< [N] normal, peak over the run
  double area = 0.0;               ///< [m^2] loaded, of the undeformed surface, peak over the run
  double pressure_integral = 0.0;  ///< [Pa s] of the region's peak over the run, trapezoidal rule over the frames
};

/// Peak values of every region over the frames. Regions peak at different times: their forces sum to that of the foot
/// in every frame, their peak forces to at least its peak force.
class PressureRegions {
 public:
  explicit PressureRegions(const PressureMap& map);

  /// @param pressure  [Pa] per node; frames in order of time
  void add(double time, const std::vector<double>& pressure);
  [[nodiscard]] const std::vector<RegionLoad>& rows() const { return rows_; }  ///< last entry: whole foot

 private:
  std::vector<RegionLoad> rows_;
  FootMask mask_;
  std::vector<double> last_peak_;  ///< [Pa] per row
  double last_time_ = 0.0;
  bool first_ = true;
};

}  // namespace heelstrike::report
