/// What the name of a column of timeseries.csv says: "ball-ground.fz_N" is the force of pair ball-ground, in N.
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
  std::string quantity;    ///< group drawn in one chart: "force", "cop", "position", "energy", or the short name
};

[[nodiscard]] ColumnName read_column_name(std::string_view name);

/// Of all columns of a table. Those of regions are known by their neighbours: "knee.medial.force_N" belongs to the pair
/// "knee", is called "medial" and drawn with the other regions as "region_force".
[[nodiscard]] std::vector<ColumnName> read_column_names(std::span<const std::string> names);

}  // namespace heelstrike::report
