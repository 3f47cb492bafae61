/// Table of the plantar pressure regions: heel, midfoot, metatarsals, hallux, lesser toes.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "report/fields_data.hpp"
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

// Pressure loads of each named region of a surface, and of the whole surface.

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
