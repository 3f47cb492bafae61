/// Meaning of a column name of timeseries.csv: "ball-ground.fz_N" is the force of pair ball-ground, in N.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heelstrike::report {

struct ColumnName {
  std::string owner;       ///< body, pair or joint: "ball-ground"; "energy" for energies
  std::string short_name;  ///< "fz"
  std::string unit;        ///< "N"; "-" when the name has none
  std::string quantity;    ///< group of one chart: "force", "cop", "position", "energy", or the short name
};

[[nodiscard]] ColumnName read_column_name(std::string_view name);

/// Names of all columns of a table. Columns of regions are identified by their neighbours: "knee.medial.force_N"
/// belongs to the pair "knee", is named "medial" and plotted with the other regions as "region_force".
[[nodiscard]] std::vector<ColumnName> read_column_names(std::span<const std::string> names);

}  // namespace heelstrike::report
