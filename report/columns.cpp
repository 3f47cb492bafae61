#include "report/columns.hpp"

#include <array>
#include <functional>
#include <set>
#include <utility>

namespace heelstrike::report {
namespace {

// Longer suffixes first: "_m_s" also ends with "_s".
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> units = {{{"_rad_s", "rad/s"},
                                                                                  {"_rad", "rad"},
                                                                                  {"_m_s", "m/s"},
                                                                                  {"_Nm", "N m"},
                                                                                  {"_m2", "m²"},
                                                                                  {"_Pa", "Pa"},
                                                                                  {"_m", "m"},
                                                                                  {"_N", "N"},
                                                                                  {"_J", "J"},
                                                                                  {"_W", "W"},
                                                                                  {"_s", "s"}}};

std::string quantity_of(const ColumnName& column) {
  if (column.owner == "energy") return "energy";
  const std::string& name = column.short_name;
  if (name.size() == 2 && column.unit == "N" && name[0] == 'f') return "force";
  if (name.size() == 2 && column.unit == "N m" && name[0] == 't') return "torque";
  // Force of a spring or ligament: not a contact force, and there may be dozens of them.
  if (name == "force" && column.unit == "N") return "tension";
  if (name.size() == 4 && name.starts_with("cop")) return "cop";
  if (column.unit == "m" && (name == "x" || name == "y" || name == "z")) return "position";
  return name;
}

}  // namespace

ColumnName read_column_name(std::string_view name) {
  ColumnName column{.owner = {}, .short_name = {}, .unit = "-", .quantity = {}};
  // Body names may contain dots; the last dot is the separator.
  const std::size_t dot = name.rfind('.');
  if (dot != std::string_view::npos) column.owner = name.substr(0, dot);
  std::string_view rest = dot == std::string_view::npos ? name : name.substr(dot + 1);
  for (const auto& [ending, unit] : units) {
    if (rest.size() > ending.size() && rest.ends_with(ending)) {
      column.unit = unit;
      rest.remove_suffix(ending.size());
      break;
    }
  }
  column.short_name = rest;
  column.quantity = quantity_of(column);
  return column;
}

std::vector<ColumnName> read_column_names(std::span<const std::string> names) {
  const std::set<std::string, std::less<>> all(names.begin(), names.end());
  std::vector<ColumnName> read;
  for (const std::string& name : names) {
    ColumnName& column = read.emplace_back(read_column_name(name));
    // A pair has a gap, a region has none. Region names may contain dots.
    if (!all.contains(column.owner + ".mean_pressure_Pa") || all.contains(column.owner + ".gap_m")) continue;
    std::size_t dot = column.owner.rfind('.');
    while (dot != std::string::npos && dot > 0 && !all.contains(column.owner.substr(0, dot) + ".gap_m")) {
      dot = column.owner.rfind('.', dot - 1);
    }
    if (dot == std::string::npos || dot == 0) continue;
    const bool is_cop = column.quantity == "cop";
    const std::string region = column.owner.substr(dot + 1);
    column.quantity = "region_" + (is_cop ? "cop" : column.short_name);
    column.short_name = is_cop ? region + " " + column.short_name : region;
    column.owner.resize(dot);
  }
  return read;
}

}  // namespace heelstrike::report
