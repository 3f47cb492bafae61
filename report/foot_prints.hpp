/// Maps and tables of the contact pressure of a run folder with fields.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/feet.hpp"
#include "report/pressure_map.hpp"
#include "report/pressure_regions.hpp"

namespace heelstrike::report {

struct FootPrint {
  std::string name;   ///< of the foot, else of the pair
  std::string label;  ///< short
  std::vector<LoadedPart> parts;
  PressureMap map;
  std::vector<std::string> series;  ///< of field files of the parts of the map, by their names in fields.pvd
  CopPath path;
  std::optional<PressureRegions> regions;  ///< if the body is a whole foot according to the scenario
  std::optional<RegionLoads> loads;        ///< if the faces have pressure and loaded area
};

/// One entry per foot, and per pair of other bodies, with contact_pressure.
/// @param model  groups pairs into feet; none = each pair separately
/// @throws Error{file} for fields that cannot be read
[[nodiscard]] std::vector<FootPrint> foot_prints(const std::filesystem::path& folder, const TimeSeries& series,
                                                 const std::optional<Scenario>& model);

/// [{label, bodies, view, path: {time, u, v}}] for the page.
/// @param high  [Pa] upper end of the common scale of all maps of the page
[[nodiscard]] Json foot_prints_json(const std::vector<FootPrint>& prints, double high);

/// Feet of several parts, for the 3D view: [{label, pairs, seams: [{parts, nodes}]}]. A seam is the cut between two
/// parts, given by their series of field files; `nodes` are those of the first and the second part alternating.
[[nodiscard]] Json joined_feet_json(const std::vector<FootPrint>& prints);

/// [Pa] maximum over all prints.
[[nodiscard]] double find_peak_pressure(const std::vector<FootPrint>& prints);

}  // namespace heelstrike::report
