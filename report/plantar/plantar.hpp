/// Plantar pressure by region, from the fields of a run.
///
/// Regions follow from the outline of the foot, see report::foot_mask; the parts of a foot cut by body_box are combined
/// with straight toes.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/scenario.hpp"

namespace heelstrike {

/// In the order of report::FootRegion.
inline constexpr std::array<std::string_view, 5> plantar_regions = {"heel", "midfoot", "metatarsal", "hallux",
                                                                    "lesser_toes"};

struct PlantarRegion {
  double force = 0.0;  ///< [N] pressure integrated over the undeformed surface
  double area = 0.0;   ///< [m^2] with pressure
  double peak = 0.0;   ///< [Pa]
};

/// One frame with fields of one foot.
struct PlantarFrame {
  double time = 0.0;  ///< [s] of the run
  std::array<PlantarRegion, plantar_regions.size()> regions;

  [[nodiscard]] double force() const;
};

/// Summary of a region over the run.
struct RegionSummary {
  double max_force = 0.0;               ///< [N]
  double peak_pressure = 0.0;           ///< [Pa]
  double max_area = 0.0;                ///< [m^2]
  double impulse = 0.0;                 ///< [N s]
  double pressure_time_integral = 0.0;  ///< [Pa s] of the peak pressure
};

/// The five instants of the source thesis.
struct PlantarInstant {
  std::string_view name;  ///< heel_strike, foot_flat, heel_off, toe_off, swing
  double time = 0.0;      ///< [s]
};

struct PlantarFoot {
  std::string name;                      ///< MOTION.FOOT of a recording, else the contact pair
  std::vector<std::string> series;       ///< of fields.pvd
  std::vector<PlantarFrame> frames;      ///< by time
  std::vector<PlantarInstant> instants;  ///< of the longest stance with a beginning and an end
  std::array<RegionSummary, plantar_regions.size()> summary;
};

/// Reads fields and poses of a run folder.
/// @param toe_line  [-] fraction of the foot's length at which the toes begin
/// @throws Error{file, invalid_input} for a folder without fields of contact_pressure, and for a part of a cut foot
/// without the other parts
[[nodiscard]] std::vector<PlantarFoot> plantar_loads(const std::filesystem::path& run, const Scenario& scenario,
                                                     double toe_line);

/// Writes plantar_regions.csv, plantar_regions.sto, plantar_summary.csv and plantar_instants.pvd into the run folder.
/// @returns their names
std::vector<std::string> write_plantar(const std::filesystem::path& run, const std::vector<PlantarFoot>& feet);

}  // namespace heelstrike
