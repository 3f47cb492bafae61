/// The contact pressure of a run folder with fields, as maps and tables.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/feet.hpp"
#include "report/pressure_map.hpp"
#include "report/pressure_regions.hpp"
#include "report/region_loads.hpp"

namespace heelstrike::report {

struct FootPrint {
  std::string name;   ///< of the foot, else of the pair
  std::string label;  ///< short
  std::vector<LoadedPart> parts;
  PressureMap map;
  CopPath path;
  std::optional<PressureRegions> regions;  ///< where the scenario says that the body is a whole foot
  std::optional<RegionLoads> loads;        ///< where the faces have pressure and loaded area
};

/// One entry per foot, and per pair of other bodies, with contact_pressure.
/// @param model  says which pairs are one foot; none = every pair for itself
/// @throws Error{file} for fields that cannot be read
[[nodiscard]] std::vector<FootPrint> foot_prints(const std::filesystem::path& folder, const TimeSeries& series,
                                                 const std::optional<Scenario>& model);

/// [{label, body, view, path: {time, u, v}}] for the page.
/// @param high  [Pa] upper end of the scale that all maps of the page share
[[nodiscard]] Json foot_prints_json(const std::vector<FootPrint>& prints, double high);

/// [Pa] on any of them.
[[nodiscard]] double find_peak_pressure(const std::vector<FootPrint>& prints);

}  // namespace heelstrike::report
