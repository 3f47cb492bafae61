/// The contact pressure of a run folder with fields, as maps and tables.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "client/report/pressure_map.hpp"
#include "client/report/pressure_regions.hpp"

namespace heelstrike::client::report {

struct FootPrint {
  std::string pair;
  std::string body;  ///< main body of the pair
  PressureMap map;
  CopPath path;
  std::optional<PressureRegions> regions;  ///< where the scenario says that the body is a foot
};

/// One entry per pair whose main body has contact_pressure. @throws Error{file} for fields that cannot be read
[[nodiscard]] std::vector<FootPrint> foot_prints(const std::filesystem::path& folder, const TimeSeries& series);

/// [{pair, body, view, path: {time, u, v}}] for the page.
[[nodiscard]] Json foot_prints_json(const std::vector<FootPrint>& prints);

}  // namespace heelstrike::client::report
